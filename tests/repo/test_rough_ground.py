# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Frames on rough ground are counted as touching and uneven where they are, on surfaces made here; no engine."""

from __future__ import annotations

import importlib
import math
from pathlib import Path
from types import ModuleType

import pytest
import torch

from nerd_core.contact.grounds import PlaneGround, UnionGround
from support.checkpoints import crawler

pytestmark = pytest.mark.unit
RADIUS, REACH = 0.1, 0.3
"""Of the crawler's trunk, and from its root to the tip of its shin [m]."""


@pytest.fixture
def program(repo_root: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The benchmark, imported as it is when it runs."""
    monkeypatch.syspath_prepend(str(repo_root / "benchmarks"))
    return importlib.import_module("rough_ground")


def plane(*normal: float, offset: float = 0.0) -> PlaneGround:
    """A plane for one environment."""
    up = torch.nn.functional.normalize(torch.tensor([normal]), dim=-1)
    return PlaneGround(up, torch.tensor([offset]))


def lying(height: float) -> torch.Tensor:
    """A frame of the crawler with its trunk's centre at a height and its shin straight, shape (1, 1, S)."""
    spec = crawler()
    state = torch.zeros(1, 1, spec.state.dim)
    state[..., spec.state.root_pos.start + 2] = height
    state[..., spec.state.root_quat.stop - 1] = 1.0
    return state


def test_flat_ground_is_touched_and_never_uneven(program: ModuleType):
    """A trunk that rests on a plane touches it; a centimetre above it does not."""
    flat = plane(0.0, 0.0, 1.0)
    assert program.frames(crawler(), lying(RADIUS), flat) == {"touching": 1.0, "uneven": 0.0}
    assert program.frames(crawler(), lying(RADIUS + 0.01), flat) == {"touching": 0.0, "uneven": 0.0}


def test_a_slope_is_uneven_from_two_degrees_on(program: ModuleType):
    """The tilt of the surface counts where it is touched."""
    for degrees, expected in ((1.0, 0.0), (5.0, 1.0)):
        slope = plane(-math.sin(math.radians(degrees)), 0.0, math.cos(math.radians(degrees)), offset=-0.0)
        found = program.frames(crawler(), lying(0.0), slope)
        assert found == {"touching": 1.0, "uneven": expected}


def test_a_step_is_uneven_though_both_sides_are_flat(program: ModuleType):
    """Two slots that touch flat surfaces at different heights are on uneven ground."""
    spec = crawler()
    state = lying(RADIUS)
    low, high = plane(0.0, 0.0, 1.0), plane(0.0, 0.0, 1.0, offset=RADIUS)
    assert program.frames(spec, state, low)["uneven"] == 0.0

    class Step(torch.nn.Module):
        """Flat at zero, and flat as high as the shin's tip where that is."""

        def query(self, points, env_ids=None, reach=math.inf):
            behind = points[..., 0] < 0.5 * REACH
            hits = [each.query(points, env_ids, reach) for each in (low, high)]
            picked = [
                torch.where(behind if one.ndim == behind.ndim else behind[..., None], one, other)
                for one, other in zip(*hits, strict=True)
            ]
            return type(hits[0])(*picked)

    assert program.frames(spec, state, Step()) == {"touching": 1.0, "uneven": 1.0}


def test_rows_of_other_terrains_stay(program: ModuleType):
    """Those that the same options gave; a terrain that runs again, a failure and a run with other options go."""
    run = {"task": "T", "model": "m", "steps": 100, "seeds": {"seed": 0}}
    rows = [{"terrain": "plane", "robots": 8}, {"terrain": "boxes", "robots": 8}, {"terrain": "waves", "failure": "no"}]
    assert program.kept_rows({**run, "terrains": rows}, run, 8, ("boxes",)) == rows[:1]
    assert program.kept_rows({**run, "terrains": rows}, run, 9, ("boxes",)) == []
    for other in ({"task": "U"}, {"model": "n"}, {"steps": 50}, {"seeds": {"seed": 1}}):
        assert program.kept_rows({**run, **other, "terrains": rows}, run, 8, ("boxes",)) == []
    assert program.kept_rows({}, run, 8, ("boxes",)) == []


def test_the_ground_is_found_from_the_sky(program: ModuleType):
    """Its height above the origin of each environment, also where it is tilted and where there are two surfaces."""
    slope = plane(-0.3, 0.0, 1.0, offset=0.4)
    expected = 0.4 * math.hypot(0.3, 1.0)
    assert program.heights(slope, 1).tolist() == pytest.approx([expected], abs=1e-3)
    assert program.heights(UnionGround([slope, plane(0.0, 0.0, 1.0, offset=1.5)]), 1).tolist() == pytest.approx([1.5])
