# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Swimmer: what a fluid does to two links, learned from ten trajectories by networks in mechanics, and without any.

.. code-block:: bash

    nerd experiment swimmer --smoke --json figures.json
    nerd experiment swimmer --json figures.json --out plots

MuJoCo moves a swimmer of two links in four media (Heiden et al. 2021, figure 9: two links, water of 25 C). Mechanics
know the links and nothing of the fluid; a network for the force and torque on each link, which sees its velocity, and
one for the torque of the hinge are learned from the first 200 steps of ten trajectories. All models are then rolled out
for 900 steps from the first states: the hybrid, a long short-term memory, a feed-forward network, and mechanics alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from ..dynamics import rollout
from ..files.bounds import SEED, bounded, check_bounds
from ..identification.force_fit import ForceSteps, fit_forces
from ..mechanics.augmentation.augmented_step import AugmentedMechanics
from ..mechanics.augmentation.blueprints import Blueprint
from ..predictor.config import PredictorCfg
from ..predictor.mechanics_prior import MechanicsPrior, MechanicsPriorCfg
from ..predictor.predictor import Predictor
from ..robot.frames import ChangeCfg, ChangeCodec
from .experiment import Experiment, Figure, Result, Say
from .step_networks import FeedForwardStep, FitCfg, LstmStep, StepNetwork, fit, roll_out
from .swimmer_truth import MEDIA, swimmer, trajectories

LINKS = "link_1|link_2"
SEES = "body_lin_vel,body_ang_vel; hidden=16,16; odd"
BLUEPRINTS = (
    f"body_force[{LINKS}]<-{SEES}; scale=0.004",
    f"body_torque[{LINKS}]<-{SEES}",
    "joint_torque[hinge]<-joint_pos,joint_vel[*]; hidden=8,8; scale=0.1",
)
"""What a fluid may do: a force and a torque on each link by its own velocity, and a torque of the hinge. Drag is of the
order of millinewtons."""

LARGEST = 1637
"""Most weights of the hybrid's networks, those of the published one."""

BASELINES: dict[str, Callable[[], StepNetwork]] = {"lstm": LstmStep, "network": FeedForwardStep}


@dataclass(frozen=True)
class SwimmerCfg:
    """Settings of the experiment."""

    seed: int = bounded(0, **SEED)
    """Seed of motion and weights."""
    media: tuple[str, ...] = tuple(MEDIA)
    """Fluids."""
    trajectories: int = bounded(10, at_least=1)
    """Trajectories that are learned from, and as many that are held out."""
    learned_steps: int = bounded(200, at_least=1)
    """Their first steps, which are learned from."""
    steps: int = bounded(900, at_least=1)
    """Steps that are rolled out."""
    iterations: int = bounded(1500, at_least=1)
    """Iterations of L-BFGS for the hybrid, on single steps."""
    baseline: FitCfg = field(default_factory=FitCfg)
    """How the networks without mechanics are trained."""
    many: int = bounded(1000, at_least=0)
    """Trajectories from which the long short-term memory is learned once more, in the first medium that is water; 0 for
    none."""
    many_updates: int = bounded(1500, at_least=1)
    """Updates of that one."""

    def __post_init__(self):
        check_bounds(self)
        unknown = [name for name in self.media if name not in MEDIA]
        if unknown or not self.media:
            raise ValueError(f"got the media {list(self.media)}, expected some of {', '.join(MEDIA)}")
        if self.learned_steps < self.baseline.window or self.steps < self.learned_steps:
            raise ValueError(
                f"got {self.steps} steps of which {self.learned_steps} are learned in windows of "
                f"{self.baseline.window}, expected windows <= learned_steps <= steps"
            )


class Motion(NamedTuple):
    """Measured trajectories."""

    state: Tensor
    """States, shape (N, T + 1, 8)."""
    control: Tensor
    """Torques [N m], shape (N, T, 1)."""

    def first(self, steps: int) -> Motion:
        """Their first steps."""
        return Motion(self.state[:, : steps + 1], self.control[:, :steps])


def run(settings: SwimmerCfg, say: Say) -> Result:
    """Trains and judges all models in all media."""
    figures: dict[str, Figure] = {}
    every: dict[str, dict[str, Tensor]] = {}
    for medium in settings.media:
        seen, unseen = (
            Motion(*trajectories(MEDIA[medium], settings.trajectories, settings.steps, settings.seed + shift))
            for shift in (0, 1000)
        )
        movers = _movers(settings, seen.first(settings.learned_steps), say)
        figures |= {f"parameters_{name}": count for name, count in movers.parameters.items()}
        figures |= {f"processor_s_{name}_{medium}": spent for name, spent in movers.processor_s.items()}
        curves = {}
        for name, move in movers.movers.items():
            curves[name] = errors(move, seen)
            figures[f"error_900_{name}_{medium}"] = float(curves[name].mean())
            figures[f"held_out_900_{name}_{medium}"] = float(errors(move, unseen).mean())
        if medium == "water_25C":
            figures |= {f"error_900_{name}": float(curve.mean()) for name, curve in curves.items()}
            if settings.many:
                move = _learned_from_many(settings, medium)
                figures[f"error_900_lstm_{settings.many}"] = float(errors(move, seen).mean())
                figures[f"held_out_900_lstm_{settings.many}"] = float(errors(move, unseen).mean())
        told = ", ".join(f"{name} {float(curve.mean()):.3g}" for name, curve in curves.items())
        say(f"{medium}: mean squared error over {settings.steps} steps: {told}")
        every[medium] = curves
    return Result(figures, {"swimmer": partial(_plot, every, settings.learned_steps)})


Mover = Callable[[Motion], Tensor]
"""From the first states and torques of trajectories to states, shape (N, T + 1, 8)."""


class Movers(NamedTuple):
    """What rolls out trajectories."""

    movers: dict[str, Mover]
    """By name of the model."""
    parameters: dict[str, int]
    """Numbers of weights that were learned."""
    processor_s: dict[str, float]
    """Time of the processor that learning took [s]."""


def _movers(cfg: SwimmerCfg, motion: Motion, say: Say) -> Movers:
    """All models, learned from motion."""
    begin = time.process_time()
    hybrid = hybrid_of(cfg, motion, say)
    movers: dict[str, Mover] = {"hybrid": partial(_moved_by, hybrid)}
    parameters, spent = {"hybrid": weights_of(hybrid)}, {"hybrid": time.process_time() - begin}
    for name, make in BASELINES.items():
        torch.manual_seed(cfg.seed)
        begin = time.process_time()
        network = fit(make(), *motion, cfg.baseline, cfg.seed)
        spent[name] = time.process_time() - begin
        parameters[name] = sum(each.numel() for each in network.parameters())
        movers[name] = partial(_moved_by_network, network)
    movers["plain"] = partial(_moved_by, mechanics_of(()))
    return Movers(movers, parameters, spent)


def mechanics_of(texts: tuple[str, ...]) -> Predictor:
    """Mechanics of the swimmer in no fluid, with blueprints.

    Args:
        texts: The blueprints.
    """
    prior = MechanicsPriorCfg(substeps=1, hidden=0, blueprints=tuple(map(Blueprint.parse, texts)))
    return Predictor(swimmer(), PredictorCfg(network=None, prior=prior)).eval()


def weights_of(predictor: Predictor) -> int:
    """Number of the weights of networks in mechanics."""
    return sum(each.numel() for name, each in predictor.named_parameters() if ".augmentation." in name)


def hybrid_of(cfg: SwimmerCfg, motion: Motion, say: Say) -> Predictor:
    """Mechanics with networks that are learned from single steps of motion.

    Args:
        cfg: Settings.
        motion: What is learned from.
        say: Told how well it went.
    """
    torch.manual_seed(cfg.seed)
    predictor = mechanics_of(BLUEPRINTS)
    if weights_of(predictor) > LARGEST:
        raise ValueError(f"got {weights_of(predictor)} weights of the hybrid, expected at most {LARGEST}")
    prior = predictor.double().prior
    assert isinstance(prior, MechanicsPrior) and isinstance(prior.mechanics, AugmentedMechanics)
    mechanics, state = prior.mechanics, motion.state
    flat = state[:, :-1].flatten(0, 1), motion.control.flatten(0, 1), state[:, 1:].flatten(0, 1)
    mechanics.update_statistics(*flat[:2])
    mechanics.finalise_statistics()
    left = fit_forces(mechanics, ForceSteps.of(mechanics, *flat), cfg.iterations)
    say(f"hybrid: {left:.2e} of what mechanics leave of a step is left")
    return predictor


def errors(move: Mover, motion: Motion) -> Tensor:
    """Mean squared errors of the states of roll-outs from first states, by step, shape (T,): places [m], angles within
    a turn [rad] and velocities, all with the same weight.

    Args:
        move: What is judged.
        motion: The truth.
    """
    codec = ChangeCodec(swimmer(), ChangeCfg(integration="none"))
    apart = codec.encode(motion.state, move(motion).double())
    return apart[:, 1:].square().mean((0, 2))


@torch.no_grad()
def _moved_by(predictor: Predictor, motion: Motion) -> Tensor:
    return rollout(predictor.double(), motion.state[:, 0], motion.control)


@torch.no_grad()
def _moved_by_network(network: StepNetwork, motion: Motion) -> Tensor:
    return roll_out(network, motion.state[:, 0].float(), motion.control.float())


def _learned_from_many(cfg: SwimmerCfg, medium: str) -> Mover:
    """A long short-term memory that has learned from many trajectories."""
    motion = trajectories(MEDIA[medium], cfg.many, cfg.learned_steps, cfg.seed + 2000)
    torch.manual_seed(cfg.seed)
    how = replace(cfg.baseline, updates=cfg.many_updates)
    return partial(_moved_by_network, fit(LstmStep(), *motion, how, cfg.seed))


def _plot(every: dict[str, dict[str, Tensor]], learned: int, path: Path) -> None:
    """Errors over steps, a panel for each medium."""
    from ..files.figures import BLUE, FAINT, GREEN, ORANGE, TEAL, log_scale, new_figure, save_figure

    shown = {
        "hybrid": (BLUE, "hybrid"),
        "lstm": (ORANGE, "LSTM"),
        "network": (GREEN, "feed-forward network"),
        "plain": (TEAL, "mechanics alone"),
    }
    with new_figure(3.1 * len(every), 3.1, columns=len(every)) as (figure, panels):
        for (medium, curves), axes in zip(every.items(), panels, strict=True):
            for name, curve in curves.items():
                colour, label = shown[name]
                axes.plot(range(1, len(curve) + 1), curve.clamp(min=1.0e-16).tolist(), color=colour, label=label)
            lowest = min(float(curve[len(curve) // 50 :].min()) for curve in curves.values())
            axes.set_ylim(bottom=max(0.1 * lowest, 1.0e-17))  # first steps are exact to rounding
            axes.axvline(learned, color=FAINT, linestyle=":")
            axes.set_title(medium.replace("_", ", ").replace("C", " C"))
            axes.set_xlabel("step")
            log_scale(axes, "y")
        panels[0].set_ylabel("mean squared error of states")
        panels[0].legend()
        save_figure(figure, path)


EXPERIMENT = Experiment(
    run,
    full=SwimmerCfg(),
    smoke=SwimmerCfg(
        media=("water_25C",),
        trajectories=4,
        learned_steps=40,
        steps=80,
        iterations=100,
        baseline=FitCfg(updates=20, window=10, batch=16),
        many=0,
    ),
)

__all__ = ["BLUEPRINTS", "EXPERIMENT", "Motion", "SwimmerCfg", "errors", "hybrid_of", "run"]
