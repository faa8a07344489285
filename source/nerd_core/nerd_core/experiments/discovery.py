# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Discovery: which forces the mechanics of a double pendulum lack, and what they depend on, by sparse group lasso.

.. code-block:: bash

    nerd experiment discovery --smoke --json figures.json
    nerd experiment discovery --json figures.json --out plots

The truth is a double pendulum with something in its joints; mechanics know all but that. A network for the torque of
each joint sees positions, velocities and efforts of both, and the lasso takes away what is not worth its price. Cases
are joint damping (.2 and .1 N m s/rad), and what was not in the paper (Heiden et al. 2021, figure 10): quadratic drag,
a spring with play on one joint alone, and Coulomb friction. How many samples that takes is compared with a feed-forward
network.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple, get_args

import torch
from torch import Tensor, nn

from ..files.bounds import SEED, bounded, check_bounds
from ..identification.discovery import Discovery, LassoCfg, discover, in_own_units, refit, response_of
from ..mechanics.augmentation.augmentation import BlueprintNetworks
from ..mechanics.augmentation.augmented_step import AugmentedMechanics
from ..mechanics.augmentation.blueprints import Blueprint
from ..mechanics.config import MechanicsCfg
from ..mechanics.step import Mechanics
from ..robot.frames import ChangeCodec
from ..robot.spec import Body, Control, Inertia, Joint, RobotSpec
from .experiment import Experiment, Figure, Result, Say

Case = Literal["damping", "drag", "play", "coulomb"]
"""What the joints of the truth have."""

JOINTS = ("shoulder", "elbow")
DAMPING = (0.2, 0.1)
"""Damping of the joints [N m s/rad]."""
DRAG = (0.05, 0.03)
"""Drag of the joints [N m s^2/rad^2]."""
PLAY, STIFFNESS = 0.6, 3.0
"""The spring of the elbow: angle within which it does nothing [rad], and its stiffness beyond [N m/rad]."""
COULOMB, REST = (0.3, 0.2), 0.1
"""Coulomb friction of the joints [N m], and the speed around which its direction changes over [rad/s]: what holds a
joint at rest would depend on everything else that pulls at it."""

OWN_SPEED = frozenset((joint, f"joint_vel[{joint}]") for joint in JOINTS)
EXPECTED: dict[str, frozenset[tuple[str, str]]] = {
    "damping": OWN_SPEED,
    "drag": OWN_SPEED,
    "coulomb": OWN_SPEED,
    "play": frozenset({("elbow", "joint_pos[elbow]")}),
}
"""What has to survive: joint, and what its torque depends on."""

CANDIDATE = "joint_torque<-joint_pos[*],joint_vel[*],effort_target[*]; sharing=separate"
"""Torques that may be lacking, and all that they may depend on."""


@dataclass(frozen=True)
class DiscoveryCfg:
    """Settings of the experiment."""

    seed: int = bounded(0, **SEED)
    """Seed of the first of :attr:`seeds` runs."""
    seeds: int = bounded(10, at_least=1, at_most=1000)
    """Runs with joint damping, with other motion and first weights."""
    other_seeds: int = bounded(10, at_least=1, at_most=1000)
    """The same of each other case."""
    cases: tuple[Case, ...] = get_args(Case)
    """What the joints have."""
    trajectories: int = bounded(5, at_least=1)
    """Trajectories of each run."""
    seconds: float = bounded(2.0, above=0.0, at_most=1000.0)
    """Length of each [s]."""
    samples: int = bounded(1000, at_least=50)
    """Steps of them that are looked at."""
    hidden: int = bounded(8, at_least=1, at_most=1024)
    """Features of both hidden layers."""
    noise: float = bounded(0.0, at_least=0.0)
    """Standard deviation of the noise of measured velocities [rad/s]."""
    sizes: tuple[int, ...] = bounded((10, 30, 100, 300, 1000), at_least=10)
    """Numbers of samples that are compared with a feed-forward network."""
    lasso: LassoCfg = field(default_factory=LassoCfg)
    """How groups are chosen; its seed is that of the run."""

    def __post_init__(self):
        check_bounds(self)
        if not self.cases:
            raise ValueError(f"got no cases, expected some of {', '.join(get_args(Case))}")


class Steps(NamedTuple):
    """Measured steps."""

    state: Tensor
    """States, shape (N, 4)."""
    control: Tensor
    """Efforts [N m], shape (N, 2)."""
    next_state: Tensor
    """States one step later, shape (N, 4)."""

    def pick(self, index: slice) -> Steps:
        """Some of them."""
        return Steps(*(each[index] for each in self))


def double_pendulum(case: Case | None = None) -> RobotSpec:
    """Two links of half a metre and a kilogram that hang from a fixed point, with a motor in each hinge.

    Args:
        case: What the joints have, if the specification can say it; None for nothing.
    """
    damping = DAMPING if case == "damping" else (0.0, 0.0)
    joints = tuple(
        Joint(name, "revolute", (0.0, 1.0, 0.0), damping=each) for name, each in zip(JOINTS, damping, strict=True)
    )
    link = Inertia(1.0, (0.0, 0.0, -0.25), (0.021, 0.021, 0.001))
    return RobotSpec(
        name="double_pendulum",
        floating_base=False,
        joints=joints,
        bodies=(
            Body("base", inertia=Inertia(1.0, moments=(0.1, 0.1, 0.1))),
            Body("upper", "base", "shoulder", inertia=link),
            Body("lower", "upper", "elbow", (0.0, 0.0, -0.5), inertia=link),
        ),
        controls=tuple(Control(joint.name, "effort") for joint in joints),
        physics_dt=0.002,
        decimation=1,
    )


def law(case: Case, state: Tensor) -> Tensor:
    """What the joints of a case feel beside what their specification says [N m], shape (M, 2).

    Args:
        case: The case.
        state: States, shape (M, 4).
    """
    pos, vel = state[:, :2], state[:, 2:]
    if case == "drag":
        return -state.new_tensor(DRAG) * vel * vel.abs()
    if case == "coulomb":
        return -state.new_tensor(COULOMB) * (vel / REST).tanh()
    if case == "play":
        beyond = pos.sign() * (pos.abs() - PLAY).clamp(min=0.0)
        return -STIFFNESS * beyond * state.new_tensor((0.0, 1.0))
    return torch.zeros_like(pos)


@torch.no_grad()
def measured(case: Case, cfg: DiscoveryCfg, seed: int) -> Steps:
    """Steps of the truth in random order, under random efforts from random states, in double precision.

    Args:
        case: What the joints have.
        cfg: Settings.
        seed: Seed of states, efforts and order.
    """
    spec = double_pendulum(case)
    truth = Mechanics(spec, ChangeCodec(spec), MechanicsCfg(substeps=1, hidden=0)).double()
    random = torch.Generator().manual_seed(seed)
    steps, hold = round(cfg.seconds / spec.physics_dt), 100
    draw = partial(torch.randn, generator=random, dtype=torch.float64)
    state = draw(cfg.trajectories, 4) * torch.tensor([1.0, 1.0, 1.0, 1.0], dtype=torch.float64)
    effort = draw(steps // hold + 1, cfg.trajectories, 2)
    states = [state]
    for step in range(steps):
        control = effort[step // hold]
        state = truth.codec.apply(state, truth(state, control + law(case, state)))
        states.append(state)
    path = torch.stack(states)
    control = effort.repeat_interleave(hold, dim=0)[:steps]
    noisy = path[..., 2:] + cfg.noise * draw(path[..., 2:].shape)
    path = torch.cat((path[..., :2], noisy), dim=-1)
    found = Steps(path[:-1].flatten(0, 1), control.flatten(0, 1), path[1:].flatten(0, 1))
    order = torch.randperm(len(found.state), generator=random)
    return Steps(*(each[order] for each in found))


def candidates(cfg: DiscoveryCfg, steps: Steps) -> tuple[AugmentedMechanics, BlueprintNetworks]:
    """Mechanics that know nothing of what the joints have, with networks that could say it."""
    spec, blueprint = double_pendulum(), replace(Blueprint.parse(CANDIDATE), hidden=(cfg.hidden, cfg.hidden))
    settings = MechanicsCfg(substeps=1, hidden=0, blueprints=(blueprint,))
    mechanics = AugmentedMechanics(spec, ChangeCodec(spec), settings).double()
    mechanics.update_statistics(steps.state, steps.control)
    mechanics.finalise_statistics()
    return mechanics, mechanics.augmentation.networks_of()[0]


def run(settings: DiscoveryCfg, say: Say) -> Result:
    """Runs all cases with all seeds, and the curves over samples."""
    figures: dict[str, Figure] = {}
    plots: dict[str, Callable[[Path], None]] = {}
    found: Discovery | None = None
    for case in settings.cases:
        right, dampings, names = 0, [], []
        seeds = settings.seeds if case == "damping" else settings.other_seeds
        for number in range(seeds):
            seed = settings.seed + number
            steps = measured(case, settings, seed).pick(slice(settings.samples))
            mechanics, networks = candidates(settings, steps)
            response = response_of(mechanics, networks, *steps)
            found = discover(networks, response, replace(settings.lasso, seed=seed))
            right += found.groups == EXPECTED[case]
            names.append(_named(found))
            if case == "damping":
                dampings.append(_damping(networks, found, response.features, steps))
            if number == 0:
                say(f"{case}, seed {seed}:\n{found.table()}")
                plots[f"path_{case}"] = partial(_plot_path, found, settings.lasso)
        say(f"{case}: {right} of {seeds} seeds leave what is there alone")
        figures |= {
            f"surviving_inputs_{case}": names[0],
            f"surviving_inputs_{case}_by_seed": " | ".join(names),
            f"right_{case}": right,
            f"seeds_{case}": seeds,
            f"share_right_{case}": right / seeds,
        }
        if case == "damping":
            values = torch.tensor(dampings, dtype=torch.float64)
            errors = (values / torch.tensor(DAMPING, dtype=torch.float64) - 1.0).abs()
            figures |= {
                "surviving_inputs": names[0],
                "damping": values[0].tolist(),
                "damping_error": float(errors.amax()),
                "damping_error_by_seed": errors.amax(1).tolist(),
                "damping_error_mean": float(errors.mean()),
            }
    if "damping" in settings.cases:
        hybrid, network = sample_curves(settings, say)
        sizes = [float(size) for size in settings.sizes]
        figures |= {"samples": sizes, "test_error_hybrid": hybrid, "test_error_network": network}
        plots["samples"] = partial(_plot_samples, sizes, hybrid, network)
    return Result(figures, plots)


def sample_curves(cfg: DiscoveryCfg, say: Say) -> tuple[list[float], list[float]]:
    """Mean squared errors of changes of velocities on other motion, as a share of their variance, after so many samples
    each: of mechanics with the discovered networks, and of a feed-forward network of the same inputs.

    Args:
        cfg: Settings.
        say: Told of the progress.
    """
    steps, test = (measured("damping", cfg, cfg.seed + shift).pick(slice(max(cfg.sizes))) for shift in (0, 7777))
    hybrid, network = [], []
    for size in cfg.sizes:
        learned = steps.pick(slice(size))
        mechanics, networks = candidates(cfg, learned)
        response = response_of(mechanics, networks, *learned)
        fitted = refit(networks, response, replace(cfg.lasso, seed=cfg.seed), EXPECTED["damping"])
        fitted = in_own_units(fitted, response)
        networks.networks.load_state_dict(fitted.state_dict())
        change = test.next_state[:, 2:] - test.state[:, 2:]
        variance = change.var(0)
        with torch.no_grad():
            predicted = (
                mechanics.codec.apply(test.state, mechanics(test.state, test.control))[:, 2:] - test.state[:, 2:]
            )
        hybrid.append(float(((predicted - change).square().mean(0) / variance).mean()))
        network.append(_feed_forward(cfg, learned, test))
        say(f"{size} samples: hybrid {hybrid[-1]:.2e}, network {network[-1]:.2e}")
    return hybrid, network


def _feed_forward(cfg: DiscoveryCfg, learned: Steps, test: Steps) -> float:
    """Error of a network of two layers of 32 features from sines and cosines, velocities and efforts to the change of
    velocities, fitted by L-BFGS, as a share of the variance.
    """

    def inputs(steps: Steps) -> Tensor:
        pos = steps.state[:, :2]
        return torch.cat((pos.sin(), pos.cos(), steps.state[:, 2:] / 3.0, steps.control / 2.0), dim=-1)

    torch.manual_seed(cfg.seed)
    net = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 2)).double()
    change = learned.next_state[:, 2:] - learned.state[:, 2:]
    unit = change.square().mean(0).sqrt()
    iterations = 2 * cfg.lasso.refit_iterations
    optimiser = torch.optim.LBFGS(net.parameters(), max_iter=iterations, line_search_fn="strong_wolfe")

    def closure() -> Tensor:
        optimiser.zero_grad()
        squares = torch.stack([each.square().sum() for each in net.parameters()]).sum()
        cost = (net(inputs(learned)) - change / unit).square().mean() + 1.0e-5 * squares
        cost.backward()
        return cost

    optimiser.step(closure)  # type: ignore[arg-type]
    wanted = test.next_state[:, 2:] - test.state[:, 2:]
    with torch.no_grad():
        return float(((net(inputs(test)) * unit - wanted).square().mean(0) / wanted.var(0)).mean())


def _damping(networks: BlueprintNetworks, found: Discovery, features: Tensor, steps: Steps) -> list[float]:
    """Damping that the networks say [N m s/rad]: the slope of least squares of a torque over its joint's velocity."""
    with torch.no_grad():
        torque = (found.networks(features) * networks.unit).squeeze(-1)
    vel = steps.state[:, 2:]
    return (-(torque * vel).sum(0) / vel.square().sum(0)).tolist()


def _named(found: Discovery) -> str:
    """Groups as one text for programs."""
    return "; ".join(f"{label} -> joint_torque[{joint}]" for joint, label in sorted(found.groups)) or "none"


def _plot_path(found: Discovery, cfg: LassoCfg, path: Path) -> None:
    """Groups that are left and errors over prices."""
    from ..files.figures import log_scale, new_figure, save_figure

    with new_figure(4.2, 4.4, rows=2, sharex=True) as (figure, (above, below)):
        for ridge in cfg.ridges:
            points = [each for each in found.path if each.ridge == ridge]
            kappas = [each.kappa for each in points]
            above.plot(kappas, [len(each.groups) for each in points], marker="o", label=f"ridge {ridge:g}")
            below.plot(kappas, [each.error for each in points], marker="o")
        above.set_ylabel("groups left")
        above.legend()
        below.set_ylabel("error of the fit")
        below.set_xlabel("price of a group")
        log_scale(below, "x")
        log_scale(below, "y")
        save_figure(figure, path)


def _plot_samples(sizes: list[float], hybrid: list[float], network: list[float], path: Path) -> None:
    """Errors over samples."""
    from ..files.figures import BLUE, ORANGE, log_scale, new_figure, save_figure

    with new_figure(4.2, 3.2) as (figure, (axes,)):
        axes.plot(sizes, hybrid, marker="o", color=BLUE, label="mechanics, discovered networks")
        axes.plot(sizes, network, marker="s", color=ORANGE, label="feed-forward network")
        axes.set_xlabel("samples")
        axes.set_ylabel("test error, share of the variance")
        axes.legend()
        log_scale(axes, "x")
        log_scale(axes, "y")
        save_figure(figure, path)


EXPERIMENT = Experiment(
    run,
    full=DiscoveryCfg(),
    smoke=DiscoveryCfg(
        seeds=1,
        cases=("damping",),
        trajectories=3,
        seconds=1.0,
        samples=300,
        sizes=(10, 100),
        lasso=LassoCfg(kappas=(0.01, 0.03, 0.1), ridges=(3.0e-3,), iterations=120, folds=3, refit_iterations=60),
    ),
)

__all__ = ["EXPECTED", "EXPERIMENT", "DiscoveryCfg", "double_pendulum", "measured", "run", "sample_curves"]
