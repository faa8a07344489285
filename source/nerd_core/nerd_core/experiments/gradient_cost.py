# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What gradients cost: by hand-written adjoints, by PyTorch's graph, by finite differences.

Three cases (Heiden et al. 2021, figure 5): a network of 175 parameters alone; a pendulum of five links that falls on
the ground, 5,000 steps; a double pendulum, 500 steps. Of the pendulums derivatives by 175 pieces of the efforts (176
of the double pendulum) are taken, for some trajectories at once. The time of the processor counts, on one thread.

The adjoint of the kernel keeps what it needs of all steps. PyTorch's graph would not fit into memory for 5,000 steps: a
part of the steps is timed and the rest follows, without what checkpointing would add. Of central differences one
roll-out by the kernel is timed, of two for each unknown. Efforts are held for five steps at least, which the kernel
takes at once.
"""

from __future__ import annotations

import copy
import math
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ..contact.grounds import PlaneGround
from ..files.bounds import SEED, bounded, check_bounds
from ..identification.motion_data import completed
from ..mechanics.kernel.verification import SWITCH
from ..predictor.config import PredictorCfg
from ..predictor.mechanics_prior import MechanicsPriorCfg
from ..predictor.predictor import Predictor
from ..robot.slots import sphere_slots
from ..robot.spec import Body, Control, Guard, Inertia, Joint, RobotSpec
from .experiment import Experiment, Figure, Result, Say

LINK, MASS, RADIUS = 0.3, 0.3, 0.03
"""Length [m] and mass [kg] of a link, and radius of the ball at its end [m]."""

HEIGHT = 0.9
"""Height of the pivot of the pendulum that falls on the ground [m]; five links are longer."""

VISCOUS = 0.02
"""Viscous friction of the joints [N m s/rad]."""

EFFORT = 0.3
"""Standard deviation of the efforts [N m]."""

NETWORK = (6, 12, 7)
"""Inputs, hidden features and outputs of the network: 175 weights and biases."""

UNKNOWNS = 175
"""Fewest unknowns of a pendulum."""

CHECKED_STEPS = 50
"""Steps of the roll-outs on which gradients of kernel and graph are compared: longer ones of a chaotic motion are not
the same."""


HELD_STEPS = 5
"""Steps over which an effort is held at least: the physics steps of a control step."""

COUNTED_STEPS = 10
"""Control steps between states that are counted in the cost."""


@dataclass(frozen=True)
class GradientCostCfg:
    """How long, and how often."""

    seed: int = bounded(0, **SEED)
    """Seed of efforts, weights and data."""
    ground_steps: int = bounded(5000, at_least=CHECKED_STEPS)
    """Steps of the pendulum that falls on the ground."""
    free_steps: int = bounded(500, at_least=CHECKED_STEPS)
    """Steps of the double pendulum."""
    graph_steps: int = bounded(100, at_least=HELD_STEPS)
    """Steps of a roll-out of which the graph is timed; the rest costs as much for each step."""
    trajectories: int = bounded(8, at_least=1)
    """Trajectories at once."""
    samples: int = bounded(256, at_least=1)
    """Samples of the network."""
    turns: int = bounded(3, at_least=1)
    """How often each side is timed; the fastest counts."""

    def __post_init__(self):
        check_bounds(self)


def run(settings: GradientCostCfg, say: Say) -> Result:
    """Times all cases.

    Args:
        settings: Settings.
        say: Told of the progress.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        figures = _of_network(settings)
        for name, links, steps in (("ground", 5, settings.ground_steps), ("free", 2, settings.free_steps)):
            say(f"a pendulum of {links} links, {steps} steps")
            figures |= {f"{key}_{name}": value for key, value in _of_pendulum(links, steps, settings).items()}
    finally:
        torch.set_num_threads(threads)
    # The shares that the bars are about: differences at 175 parameters, and the graph where it is the cheapest.
    figures["cost_over_fd"] = figures["cost_over_fd_network"]
    figures["cost_over_graph"] = min(float(figures[f"cost_over_graph_{name}"]) for name in ("ground", "free"))  # type: ignore[arg-type]
    return Result(figures, {"gradient-cost": partial(_draw, figures)})


# -- the network alone -----------------------------------------------------------------------------------------


class SmallNetwork:
    """A perceptron with one hidden layer, and the mean square of its errors with gradients in two ways."""

    def __init__(self, samples: int, seed: int):
        """Draws weights and data.

        Args:
            samples: Number of samples.
            seed: Seed of both.
        """
        random = torch.Generator().manual_seed(seed)
        inputs, hidden, outputs = NETWORK
        self.x = torch.randn(samples, inputs, generator=random)
        self.y = torch.randn(samples, outputs, generator=random)
        shapes = (hidden, inputs), (hidden,), (outputs, hidden), (outputs,)
        self.weights = [0.3 * torch.randn(*shape, generator=random) for shape in shapes]

    @torch.no_grad()
    def loss(self) -> Tensor:
        """The mean square error."""
        return self._loss(self.weights)

    def graph(self) -> list[Tensor]:
        """Its gradient by PyTorch's graph."""
        leaves = [each.detach().requires_grad_() for each in self.weights]
        return list(torch.autograd.grad(self._loss(leaves), leaves))

    @torch.no_grad()
    def adjoint(self) -> list[Tensor]:
        """Its gradient by the adjoint, written by hand."""
        inner, inner_bias, outer, outer_bias = self.weights
        hidden = torch.addmm(inner_bias, self.x, inner.t()).tanh_()
        by_output = torch.addmm(outer_bias, hidden, outer.t()).sub_(self.y).mul_(2.0 / self.y.numel())
        by_hidden = (by_output @ outer).mul_(torch.addcmul(torch.ones(()), hidden, hidden, value=-1.0))
        return [by_hidden.t() @ self.x, by_hidden.sum(0), by_output.t() @ hidden, by_output.sum(0)]

    @torch.no_grad()
    def differences(self, step: float = 1.0e-2) -> list[Tensor]:
        """Its gradient by central differences, two losses for each number."""
        found = []
        for weight in self.weights:
            flat, by = weight.view(-1), torch.empty_like(weight).view(-1)
            for number in range(len(flat)):
                kept = flat[number].item()
                flat[number] = kept + step
                above = self.loss()
                flat[number] = kept - step
                by[number] = (above - self.loss()) / (2.0 * step)
                flat[number] = kept
            found.append(by.view_as(weight))
        return found

    def _loss(self, weights: list[Tensor]) -> Tensor:
        inner, inner_bias, outer, outer_bias = weights
        hidden = torch.addmm(inner_bias, self.x, inner.t()).tanh()
        return (torch.addmm(outer_bias, hidden, outer.t()) - self.y).square().mean()


def _of_network(settings: GradientCostCfg) -> dict[str, Figure]:
    network = SmallNetwork(settings.samples, settings.seed)
    ours, exact = (torch.cat([each.flatten() for each in way()]) for way in (network.adjoint, network.differences))
    differences = _seconds(network.differences, settings.turns)
    graph = _seconds(network.graph, settings.turns, calls=100)
    adjoint = _seconds(network.adjoint, settings.turns, calls=100)
    return {
        "unknowns_network": sum(each.numel() for each in network.weights),
        "adjoint_s_network": adjoint,
        "cost_over_fd_network": differences / adjoint,
        "cost_over_graph_network": graph / adjoint,
        "gradient_difference_network": _apart(ours, exact),
    }


# -- pendulums -------------------------------------------------------------------------------------------------


def chain(links: int, touches: bool) -> RobotSpec:
    """A pendulum of equal rods with a motor in each joint; with a ball at the end of each that may touch the ground.

    Args:
        links: Number of links.
        touches: Whether there are balls.
    """
    names = [f"link_{number}" for number in range(links)]
    moment = MASS * LINK**2 / 12.0
    inertia = Inertia(MASS, (0.0, 0.0, -0.5 * LINK), (moment, moment, 0.1 * moment))
    above = ["base", *names]
    bodies = [
        Body(name, above[row], f"joint_{row}", (0.0, 0.0, -LINK if row else 0.0), inertia=inertia)
        for row, name in enumerate(names)
    ]
    joints = tuple(
        Joint(f"joint_{row}", "revolute", (0.0, -1.0, 0.0), viscous_friction=VISCOUS) for row in range(links)
    )
    return completed(
        RobotSpec(
            name=f"chain_{links}",
            floating_base=False,
            root_pos=(0.0, 0.0, HEIGHT),
            joints=joints,
            bodies=(Body("base"), *bodies),
            controls=tuple(Control(joint.name, "effort") for joint in joints),
            physics_dt=0.002,
            decimation=HELD_STEPS,
            slots=tuple(slot for name in names for slot in sphere_slots(name, RADIUS, (0.0, 0.0, -LINK)) if touches),
            guard=Guard(max_ang_vel=1000.0),
        )
    )


class Trajectories:
    """Roll-outs of a pendulum under efforts that are held in pieces, and a cost of where they go."""

    def __init__(self, links: int, steps: int, settings: GradientCostCfg):
        """Draws the efforts.

        Args:
            links: Number of links; with more than two of them the pendulum falls on the ground.
            steps: Steps of the roll-out.
            settings: Settings.
        """
        spec = chain(links, touches=links > 2)
        prior = MechanicsPriorCfg(hidden=0, substeps=1)
        self.predictor = Predictor(spec, PredictorCfg(network=None, prior=prior)).eval().requires_grad_(False)
        self.ground = PlaneGround.flat() if spec.slots else None
        self.control_steps = steps // HELD_STEPS
        random, pieces = torch.Generator().manual_seed(settings.seed), math.ceil(UNKNOWNS / links)
        self.efforts = EFFORT * torch.randn(settings.trajectories, pieces, links, generator=random)
        self.first = torch.zeros(settings.trajectories, spec.state.dim)
        self.first[:, 0] = 0.5 * math.pi  # level: it falls

    @property
    def unknowns(self) -> int:
        """Numbers of a trajectory by which derivatives are taken."""
        return self.efforts[0].numel()

    def cost(self, predictor: Predictor, efforts: Tensor, steps: int) -> Tensor:
        """Mean square of the joint positions, every :data:`COUNTED_STEPS` control steps and at the end, shape (N,).

        Args:
            predictor: Who steps, by its mechanics alone.
            efforts: Pieces of efforts [N m], shape (N, pieces, links).
            steps: Steps that are rolled out, of all.
        """
        mechanics: Any = predictor.prior.get_submodule("mechanics")
        state, at, chosen = self.first, predictor.spec.state.joint_pos, []
        held = steps // HELD_STEPS
        for step in range(held):
            contacts = None if self.ground is None else predictor.contact_model(state, self.ground)
            effort = efforts[:, step * efforts.shape[1] // self.control_steps]
            state = predictor.codec.apply(state, mechanics(state, effort, contacts))
            if step % COUNTED_STEPS == 0 or step == held - 1:
                chosen.append(state[:, at])
        return torch.stack(chosen).square().mean((0, 2))

    def gradient(self, predictor: Predictor, steps: int) -> Tensor:
        """Derivatives of the cost by the efforts, arguments as of :meth:`cost`."""
        efforts = self.efforts.clone().requires_grad_()
        return torch.autograd.grad(self.cost(predictor, efforts, steps).sum(), efforts)[0]

    @torch.no_grad()
    def forward(self, predictor: Predictor, steps: int) -> Tensor:
        """The cost without a gradient, of which finite differences take two for each unknown."""
        return self.cost(predictor, self.efforts, steps)


def _of_pendulum(links: int, steps: int, settings: GradientCostCfg) -> dict[str, Figure]:
    trajectories = Trajectories(links, steps, settings)
    kernel, graph = trajectories.predictor, copy.deepcopy(trajectories.predictor)
    with _without_kernel():
        theirs = trajectories.gradient(graph, CHECKED_STEPS)
    ours = trajectories.gradient(kernel, CHECKED_STEPS)
    trajectories.forward(kernel, HELD_STEPS)
    mechanics = kernel.prior.get_submodule("mechanics")
    if not any(mechanics._gradients.values()):  # type: ignore[union-attr]
        raise ValueError(f"got no adjoint of the kernel for '{kernel.spec.name}', expected one: see the warning above")
    timed = min(settings.graph_steps, steps)
    roll_out = _seconds(partial(trajectories.forward, kernel, steps), settings.turns)
    adjoint = _seconds(partial(trajectories.gradient, kernel, steps), settings.turns)
    by_graph = _seconds(partial(trajectories.gradient, graph, timed), 1) * steps / timed
    differences = 2.0 * trajectories.unknowns * roll_out
    return {
        "unknowns": trajectories.unknowns,
        "steps": steps,
        "roll_out_s": roll_out,
        "adjoint_s": adjoint,
        "graph_s": by_graph,
        "adjoint_over_roll_out": adjoint / roll_out,
        "cost_over_fd": differences / adjoint,
        "cost_over_graph": by_graph / adjoint,
        "gradient_difference": _apart(ours, theirs),
    }


@contextmanager
def _without_kernel() -> Iterator[None]:
    """Within it, models that step for the first time leave their mechanics to PyTorch, for good."""
    before = os.environ.get(SWITCH)
    os.environ[SWITCH] = "0"
    try:
        yield
    finally:
        if before is None:
            del os.environ[SWITCH]
        else:
            os.environ[SWITCH] = before


def _seconds(function: Callable[[], object], turns: int, calls: int = 1) -> float:
    """Time of the processor that a call takes, the least of some turns [s]."""
    found = []
    for _ in range(turns):
        begin = time.process_time()
        for _ in range(calls):
            function()
        found.append((time.process_time() - begin) / calls)
    return min(found)


def _apart(ours: Tensor, theirs: Tensor) -> float:
    """Difference of gradients as a share of their size."""
    return float((ours - theirs).norm() / theirs.norm())


def _draw(figures: dict[str, Figure], path: Path) -> None:
    """How many times more each way costs than the adjoint."""
    from ..files.figures import BLUE, ORANGE, log_scale, new_figure, save_figure

    cases = {"network": "network alone", "ground": "five links, ground", "free": "two links"}
    with new_figure(5.6, 2.8) as (figure, panels):
        axes = panels[0]
        log_scale(axes, "y")
        for offset, way, label, colour in (
            (-0.2, "fd", "central differences", ORANGE),
            (0.2, "graph", "PyTorch's graph", BLUE),
        ):
            above_one = [figures[f"cost_over_{way}_{case}"] - 1.0 for case in cases]  # type: ignore[operator]
            places = [place + offset for place in range(len(cases))]
            bars = axes.bar(places, above_one, 0.38, bottom=1.0, color=colour, label=label)
            axes.bar_label(bars, [f"{height + 1.0:.3g}" for height in above_one])
        axes.set_xticks(range(len(cases)), list(cases.values()))
        axes.set_ylabel("time beside the adjoint's")
        axes.legend()
        save_figure(figure, path)


EXPERIMENT = Experiment(
    run,
    full=GradientCostCfg(),
    smoke=replace(
        GradientCostCfg(), ground_steps=50, free_steps=50, graph_steps=10, trajectories=4, samples=64, turns=1
    ),
)

__all__ = ["EXPERIMENT", "GradientCostCfg", "SmallNetwork", "Trajectories", "chain", "run"]
