# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Friction and restitution of a tossed cube from its path, from wrong starts.

.. code-block:: bash

    nerd experiment tossed-cube --smoke --json figures.json
    nerd experiment tossed-cube --json figures.json --out plots

A cube is thrown on the ground, tumbles and slides. The same tosses with wrong contact parameters end elsewhere; a
search (Levenberg and Marquardt with differences, and hops) moves them until the paths match. A tumbling cube multiplies
errors, so the search begins with the first part of each path, and goes on with more of it; beside it stands a search
that looks at whole paths from the beginning. Judged on other tosses.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import torch
from torch import Tensor

from ..contact.grounds import PlaneGround
from ..dynamics import rollout
from ..files.bounds import SEED, bounded, check_bounds
from ..identification.many_starts import Box, Ends, ManyStartsCfg, descend_many, hop_many
from ..predictor.config import PredictorCfg
from ..predictor.mechanics_prior import MechanicsPriorCfg
from ..predictor.predictor import Predictor
from ..recordings.mechanisms import tossed_box
from ..robot.frames import ChangeCfg, ChangeCodec
from ..robot.physical_parameters import PhysicalParameters
from .experiment import Experiment, Result, Say

EDGE, MASS = 0.1, 0.37
"""Edge [m] and mass [kg] of the cube."""

RATE = 150.0
"""Steps in a second [Hz]."""

NAMES = ("friction", "restitution")
"""What is looked for."""

LOWEST, HIGHEST = (0.02, 0.0), (1.2, 0.9)
"""Where it is looked for."""

UNITS = (1.0 / EDGE, 1.0)
"""Weights of errors of places and of directions: an edge and a radian count alike."""


@dataclass(frozen=True)
class TossedCubeCfg:
    """Which tosses, and how to search."""

    seed: int = bounded(0, **SEED)
    """Seed of tosses and hops."""
    truth: tuple[float, float] = bounded((0.2, 0.35), at_least=0.0, at_most=1.5)
    """Friction and restitution of the cube."""
    starts: int = bounded(9, at_least=1, at_most=10_000)
    """Wrong starts, spread evenly over the box."""
    tosses: int = bounded(4, at_least=1)
    """Tosses to search with, and as many to judge by."""
    steps: int = bounded(75, at_least=2)
    """Steps of a toss."""
    growth: tuple[float, ...] = bounded((0.6, 0.8, 1.0), above=0.0, at_most=1.0)
    """Shares of the paths that are looked at, one after the other; hops are made with the first."""
    matching: float = bounded(1.0e-3, above=0.0)
    """Mean square error of whole paths [edge^2 and rad^2] below which they match: three hundredths of an edge or of a
    radian, which is what a thousandth more friction makes of a tumbling cube."""
    search: ManyStartsCfg = field(default_factory=lambda: ManyStartsCfg(hops=6, iterations=20, enough=1.0e-5))
    """How to search; its seed is that of the experiment."""

    def __post_init__(self):
        check_bounds(self)
        if list(self.growth) != sorted(self.growth) or self.growth[-1:] != (1.0,):
            raise ValueError(f"got the shares {self.growth} of paths, expected rising ones, the last of them 1")
        if not all(low < value < high for low, value, high in zip(LOWEST, self.truth, HIGHEST, strict=True)):
            raise ValueError(
                f"got the truth {self.truth}, expected friction and restitution between {LOWEST} and {HIGHEST}"
            )


class Tosses:
    """Paths of tossed cubes."""

    def __init__(self, cfg: TossedCubeCfg):
        """Draws the tosses and rolls the truth out.

        Args:
            cfg: Which.
        """
        moment, half = MASS * EDGE**2 / 6.0, 0.5 * EDGE
        spec = tossed_box("cube", RATE, MASS, (moment, moment, moment), (half, half, half), 9.81)
        self.predictor = Predictor(spec, PredictorCfg(network=None, prior=MechanicsPriorCfg(hidden=0))).eval()
        self._codec = ChangeCodec(spec, ChangeCfg(integration="none"))
        self._steps, self._ground = cfg.steps, PlaneGround.flat()
        self.first = self._drawn(2 * cfg.tosses, cfg.seed)
        truth = torch.tensor([cfg.truth])
        self.searched, self.judged = slice(0, cfg.tosses), slice(cfg.tosses, 2 * cfg.tosses)
        self.truth = self.paths(truth, slice(None))

    def _drawn(self, count: int, seed: int) -> Tensor:
        """First states: a hand's breadth above the ground, tumbling, and fast enough to slide."""
        random, at = torch.Generator().manual_seed(seed), self.predictor.spec.state
        state = torch.zeros(count, at.dim)
        state[:, at.root_pos] = torch.tensor([0.0, 0.0, 0.2])
        quat = torch.randn(count, 4, generator=random)
        state[:, at.root_quat] = torch.nn.functional.normalize(quat, dim=-1)
        state[:, at.root_lin_vel] = torch.tensor([1.2, 0.0, 0.0]) + 0.4 * torch.randn(count, 3, generator=random)
        state[:, at.root_ang_vel] = 4.0 * torch.randn(count, 3, generator=random)
        return state

    @torch.no_grad()
    def paths(self, contacts: Tensor, which: slice, steps: int | None = None) -> Tensor:
        """States behind the first, shape (P, tosses, steps, S).

        Args:
            contacts: Friction and restitution, shape (P, 2).
            which: Tosses that are rolled out.
            steps: Steps that are rolled out; all by default.
        """
        first = self.first[which]
        slots = len(self.predictor.spec.slots)
        friction, restitution = (
            each.repeat_interleave(len(first))[:, None].expand(-1, slots) for each in contacts.unbind(-1)
        )
        parameters = PhysicalParameters(static_friction=friction, dynamic_friction=friction, restitution=restitution)
        count = len(contacts) * len(first)
        control = torch.zeros(count, self._steps if steps is None else steps, 0)
        states = rollout(self.predictor, first.repeat(len(contacts), 1), control, self._ground, parameters=parameters)
        return states[:, 1:].unflatten(0, (len(contacts), len(first)))

    def apart(self, paths: Tensor, which: slice) -> tuple[Tensor, Tensor]:
        """Differences of places [m] and directions [rad] from the truth's, each of shape (P, tosses, steps, 3).

        Args:
            paths: What :meth:`paths` gave for ``which``.
            which: Tosses.
        """
        change = self._codec.encode(self.truth[:, which, : paths.shape[2]].expand_as(paths), paths)
        return change[..., self._codec.slices["root_pos"]], change[..., self._codec.slices["root_rot"]]

    def errors(self, contacts: Tensor, steps: int | None = None) -> Tensor:
        """Errors of the tosses to search with, in edges and radians, shape (P, E).

        Args:
            contacts: Friction and restitution, shape (P, 2).
            steps: Steps that are looked at; all by default.
        """
        both = self.apart(self.paths(contacts, self.searched, steps), self.searched)
        return torch.cat([unit * each.flatten(1) for unit, each in zip(UNITS, both, strict=True)], dim=1)


def run(settings: TossedCubeCfg, say: Say) -> Result:
    """Searches from wrong starts, and judges on tosses that were not searched with.

    Args:
        settings: Settings.
        say: Told of the progress.
    """
    tosses = Tosses(settings)
    box = Box(torch.tensor(LOWEST), torch.tensor(HIGHEST))
    side = round(settings.starts**0.5) or 1
    shares = (torch.arange(side) + 0.5) / side
    starts = box.lower + box.size * torch.cartesian_prod(shares, shares)
    cfg = replace(settings.search, seed=settings.seed)
    begin = time.perf_counter()
    whole = descend_many(tosses.errors, starts, box, cfg)
    middle_time = time.perf_counter()
    ends = grown(tosses, starts, box, settings, cfg, say)
    seconds = middle_time - begin, time.perf_counter() - middle_time
    truth = torch.tensor(settings.truth)
    errors = (ends.places - truth).abs()
    middle = int(ends.values.argsort()[len(starts) // 2])  # a usual search, not the best
    before, after = (_off(tosses, each[middle : middle + 1]) for each in (starts, ends.places))
    figures = {
        "starts": len(starts),
        "matching_share_local": float((whole.values <= settings.matching).float().mean()),
        "matching_share": float((ends.values <= settings.matching).float().mean()),
        "path_error_start_m": before[0],
        "path_error_found_m": after[0],
        "path_error_start_rad": before[1],
        "path_error_found_rad": after[1],
        "search_local_s": seconds[0],
        "search_s": seconds[1],
    }
    for number, name in enumerate(NAMES):
        figures |= {
            f"{name}_start": float(starts[middle, number]),
            f"{name}_found": float(ends.places[middle, number]),
            f"{name}_true": settings.truth[number],
            f"{name}_error_median": float(errors[:, number].median()),
            f"{name}_error_median_local": float((whole.places - truth).abs()[:, number].median()),
        }
    pair = starts[middle : middle + 1], ends.places[middle : middle + 1]
    return Result(figures, {"tossed-cube": partial(_draw, tosses, pair)})


def grown(tosses: Tosses, starts: Tensor, box: Box, settings: TossedCubeCfg, cfg: ManyStartsCfg, say: Say) -> Ends:
    """A search from each start that looks at more and more of the paths, and hops while it looks at the least.

    Args:
        tosses: Tosses to search with.
        starts: Where to begin, shape (P, 2).
        box: Where to look.
        settings: Settings of the experiment.
        cfg: How to search.
        say: Told of the progress.
    """
    ends = Ends(starts, starts.new_full((len(starts),), torch.inf))
    for number, share in enumerate(settings.growth):
        steps = round(share * settings.steps)
        errors = partial(tosses.errors, steps=steps)
        ends = descend_many(errors, ends.places, box, cfg)
        if number == 0:
            ends = hop_many(errors, ends, box, cfg, say)
        say(f"{steps} steps: mean square error {float(ends.values.median()):.2e} in the median of the starts")
    return ends


def _off(tosses: Tosses, contacts: Tensor) -> tuple[float, float]:
    """Mean distances [m] and angles [rad] from the truth on tosses that were not searched with."""
    places, turns = tosses.apart(tosses.paths(contacts, tosses.judged), tosses.judged)
    return float(places.norm(dim=-1).mean()), float(turns.norm(dim=-1).mean())


def _draw(tosses: Tosses, contacts: tuple[Tensor, Tensor], path: Path) -> None:
    """The way and the height of a toss that was not searched with: the truth, the start and what was found."""
    from ..files.figures import BLUE, INK, RED, new_figure, save_figure

    at = tosses.predictor.spec.state.root_pos
    judged = tosses.truth[0, tosses.judged][0][:, at]
    others = [tosses.paths(each, tosses.judged)[0, 0][:, at] for each in contacts]
    with new_figure(6.4, 2.8) as (figure, panels):
        for points, label, colour, style in (
            (judged, "truth", INK, "-"),
            (others[0], "wrong start", RED, "-"),
            (others[1], "found", BLUE, "--"),
        ):
            panels[0].plot(points[:, 0], points[:, 2], style, color=colour, label=label)
        panels[0].set_xlabel("way [m]")
        panels[0].set_ylabel("height of the centre [m]")
        panels[0].legend()
        save_figure(figure, path)


EXPERIMENT = Experiment(
    run,
    full=TossedCubeCfg(),
    smoke=TossedCubeCfg(
        starts=4,
        tosses=2,
        steps=40,
        growth=(1.0,),
        search=ManyStartsCfg(hops=2, iterations=12, enough=1.0e-5),
    ),
)

__all__ = ["EXPERIMENT", "Tosses", "TossedCubeCfg", "run"]
