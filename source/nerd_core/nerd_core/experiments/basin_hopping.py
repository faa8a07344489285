# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Lengths of a double pendulum's links from its motion: local search against basin hopping over a grid of starts.

Two unknowns in a box from .1 to 10 m, the truth at (3, 4), fifty steps of joint positions (Heiden et al. 2021, figure
4). The links are uniform rods of 1 kg: their lengths decide where the elbow is, and their centres and moments. Every
start has a local search (Levenberg and Marquardt), and a chain of hops behind it that knows nothing of the others.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ..dynamics import rollout
from ..files.bounds import SEED, bounded, check_bounds
from ..identification.many_starts import Box, Ends, ManyStartsCfg, descend_many, hop_many
from ..identification.motion_data import completed
from ..predictor.config import PredictorCfg
from ..predictor.mechanics_prior import MechanicsPriorCfg
from ..predictor.predictor import Predictor
from ..recordings.mechanisms import double_pendulum
from ..robot.physical_parameters import PhysicalParameters
from .experiment import Experiment, Result, Say

MASS = 1.0
"""Mass of a link [kg]."""

FIRST = (0.5 * math.pi, 0.5, 0.0, 0.0)
"""Positions and velocities of the joints at the beginning [rad, rad/s]."""

FOUND = 0.01
"""Largest error of both lengths at which the truth counts as found, as a share of them."""


@dataclass(frozen=True)
class BasinHoppingCfg:
    """Which pendulum, and how to look for it."""

    seed: int = bounded(0, **SEED)
    """Seed of the hops."""
    truth: tuple[float, float] = bounded((3.0, 4.0), above=0.0)
    """Lengths of the links [m]."""
    box: tuple[float, float] = bounded((0.1, 10.0), above=0.0)
    """Shortest and longest length that is looked at [m]."""
    grid: int = bounded(20, at_least=2, at_most=200)
    """Starts along each length."""
    steps: int = bounded(50, at_least=1)
    """Steps of motion that are compared."""
    dt: float = bounded(0.05, above=0.0, at_most=1.0)
    """Time of a step [s]."""
    substeps: int = bounded(5, at_least=1, at_most=100)
    """Physics steps in a step."""
    landscape: int = bounded(80, at_least=2, at_most=1000)
    """Lengths along each side of the plotted landscape."""
    search: ManyStartsCfg = field(default_factory=ManyStartsCfg)
    """How to search; its seed is that of the experiment."""

    def __post_init__(self):
        check_bounds(self)
        if not self.box[0] < min(self.truth) <= max(self.truth) < self.box[1]:
            raise ValueError(f"got the truth {self.truth} and a box from {self.box[0]:g} to {self.box[1]:g}, expected "
                             "the truth within the box")  # fmt: skip


class Pendulums:
    """Errors of the joint positions of pendulums with other lengths than the true ones."""

    def __init__(self, cfg: BasinHoppingCfg):
        """Rolls the truth out.

        Args:
            cfg: The pendulum.
        """
        lengths = cfg.truth
        spec = double_pendulum(
            "rods",
            1.0 / cfg.dt,
            lengths,
            (MASS, MASS),
            [0.5 * length for length in lengths],
            [MASS * length**2 / 3.0 for length in lengths],
            driven=False,
        )
        spec = completed(replace(spec, physics_dt=cfg.dt / cfg.substeps, decimation=cfg.substeps))
        self.predictor = Predictor(spec, PredictorCfg(network=None, prior=MechanicsPriorCfg(hidden=0, substeps=1)))
        self.predictor.eval()
        self.cfg = cfg
        self.truth = self.motion(torch.tensor([lengths]))

    @torch.no_grad()
    def motion(self, lengths: Tensor) -> Tensor:
        """Positions of the joints [rad], shape (P, steps, 2).

        Args:
            lengths: Lengths of the links [m], shape (P, 2).
        """
        state, control = torch.tensor(FIRST).expand(len(lengths), -1), torch.zeros(len(lengths), self.cfg.steps, 0)
        states = rollout(self.predictor, state, control, parameters=rods(lengths))
        return states[:, 1:, self.predictor.spec.state.joint_pos]

    def errors(self, lengths: Tensor) -> Tensor:
        """Errors of the positions [rad], shape (P, 2 * steps), arguments as of :meth:`motion`."""
        return (self.motion(lengths) - self.truth).flatten(1)


def rods(lengths: Tensor) -> PhysicalParameters:
    """Parameters of pendulums of two uniform rods.

    Args:
        lengths: Their lengths [m], shape (P, 2).
    """
    upper, lower = lengths.unbind(-1)
    none = torch.zeros_like(upper)
    down = torch.stack((none, none, -torch.ones_like(upper)), -1)
    still = torch.zeros_like(down)
    moments = MASS * lengths.square() / 12.0
    base = torch.full_like(moments[:, :1], 0.01)
    return PhysicalParameters(
        centre_of_mass=torch.stack((still, 0.5 * upper[:, None] * down, 0.5 * lower[:, None] * down), 1),
        inertia=torch.cat((base, moments), 1)[..., None, None] * torch.eye(3),
        parent_pos=torch.stack((still, still, upper[:, None] * down), 1),
    )


def run(settings: BasinHoppingCfg, say: Say) -> Result:
    """Searches from every start.

    Args:
        settings: Settings.
        say: Told of the progress.
    """
    pendulums = Pendulums(settings)
    low, high = settings.box
    box = Box(torch.tensor([low, low]), torch.tensor([high, high]))
    side = torch.linspace(low, high, settings.grid)
    starts = torch.cartesian_prod(side, side)
    cfg = ManyStartsCfg(**{**settings.search.__dict__, "seed": settings.seed})
    begin = time.perf_counter()
    local = descend_many(pendulums.errors, starts, box, cfg)
    between = time.perf_counter()
    say(f"local search: {_share(local, settings):.1%} of {len(starts)} starts find the truth")
    hopped = hop_many(pendulums.errors, local, box, cfg, say)
    end = time.perf_counter()
    plotted = torch.linspace(low, high, settings.landscape)
    costs = pendulums.errors(torch.cartesian_prod(plotted, plotted)).square().mean(-1)
    found = _found(local, settings), _found(hopped, settings)
    return Result(
        {
            "found_share_hopping": _share(hopped, settings),
            "found_share_local": _share(local, settings),
            "starts": len(starts),
            "local_s": between - begin,
            "hopping_s": end - begin,
            "largest_error_found_m": _largest_error(hopped, settings),
        },
        {"basin-hopping": partial(_draw, settings, plotted, costs, starts, found)},
    )


def _found(ends: Ends, settings: BasinHoppingCfg) -> Tensor:
    """Which searches ended at the truth, shape (P,)."""
    truth = torch.tensor(settings.truth)
    return ((ends.places - truth).abs() <= FOUND * truth).all(-1)


def _share(ends: Ends, settings: BasinHoppingCfg) -> float:
    return int(_found(ends, settings).sum()) / len(ends.places)


def _largest_error(ends: Ends, settings: BasinHoppingCfg) -> float | None:
    """Largest error of a length where the truth was found [m]; None where it was nowhere."""
    found = _found(ends, settings)
    return float((ends.places[found] - torch.tensor(settings.truth)).abs().max()) if bool(found.any()) else None


def _draw(
    settings: BasinHoppingCfg, side: Tensor, costs: Tensor, starts: Tensor, found: tuple[Tensor, Tensor], path: Path
) -> None:
    """The landscape, and which starts lead to the truth."""
    from ..files.figures import BLUE, INK, RED, new_figure, save_figure

    image = costs.view(len(side), len(side)).t().clamp(min=1e-6).log10().nan_to_num(6.0, 6.0)
    extent: Any = (*settings.box, *settings.box)
    with new_figure(8.4, 4.2, 1, 2, sharey=True) as (figure, panels):
        for axes, which, name in zip(panels, found, ("local search", "basin hopping"), strict=True):
            axes.imshow(image, origin="lower", extent=extent, cmap="Greys_r", aspect="equal")
            axes.grid(False)
            for reached, colour in ((False, RED), (True, BLUE)):
                rows = starts[which == reached]
                label = "starts that find the truth" if reached else "starts that do not"
                axes.scatter(rows[:, 0], rows[:, 1], s=5, color=colour, label=label, linewidths=0)
            axes.scatter(*[[each] for each in settings.truth], marker="*", s=90, color="white", edgecolors=INK)
            axes.set_title(f"{name}: {float(which.float().mean()):.1%}", fontsize=9)
            axes.set_xlabel("length of the upper link [m]")
        panels[0].set_ylabel("length of the lower link [m]")
        panels[1].legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
        save_figure(figure, path)


EXPERIMENT = Experiment(
    run,
    full=BasinHoppingCfg(),
    smoke=BasinHoppingCfg(grid=4, landscape=12, search=ManyStartsCfg(hops=4, iterations=20)),
)

__all__ = ["EXPERIMENT", "BasinHoppingCfg", "Pendulums", "rods", "run"]
