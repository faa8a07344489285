# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Smooth contacts beside hard ones: gradients through motions of some steps, and what the motion pays for them.

    python benchmarks/smooth_contacts.py --json smooth_contacts.json      # some minutes
    python benchmarks/smooth_contacts.py --model runs/ant/best --ants 4 --horizons 1 8 --times 0 0.05

Ants land on their feet at 1 m/s with random efforts. *Gradients*: the size of that of a random sum of the last state by
the first one, after each number of control steps, median and largest. *Cost*: how far the base is from the motion of
hard contacts at the end, and by how much the base's velocity differs after one step from states of that motion.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import tyro
from torch import Tensor

from nerd_core import checkpoint
from nerd_core.contact.grounds import PlaneGround
from nerd_core.dynamics import rollout
from nerd_core.files.provenance import describe_run
from nerd_core.predictor.mechanics_prior import smoothed
from nerd_core.predictor.predictor import Predictor


@dataclass(frozen=True)
class Options:
    """Smooth contacts: gradients and cost."""

    model: str = "ant"
    """Checkpoint of a floating robot whose prior is mechanics, a directory or the name of a shipped model."""
    ants: int = 8
    """Robots that land."""
    horizons: tuple[int, ...] = (1, 2, 4, 8, 16, 32)
    """Control steps through which gradients are taken."""
    times: tuple[float, ...] = (0.0, 0.02, 0.05)
    """Times in which contacts close gaps at least [s]; 0 for hard ones."""
    seed: int = 3
    """Seed of the first states, of the efforts, and of the sum that is differentiated."""
    json: Path | None = None
    """File to write the numbers to."""


def main(options: Options) -> dict[str, Any]:
    """Measures, prints and writes."""
    from nerd_core.checkpoint_names import find_checkpoint

    predictor = checkpoint.load(find_checkpoint(options.model)).eval()
    state, controls = landing(predictor, options.ants, max(options.horizons), options.seed)
    with torch.no_grad():
        hard = rollout(smoothed(predictor, 0.0), state, controls, PlaneGround.flat())
    numbers: dict[str, Any] = {
        f"{time:g}": measure(smoothed(predictor, time), state, controls, hard, options) for time in options.times
    }
    print(json.dumps(numbers, indent=1))
    if options.json is not None:
        numbers["run"] = describe_run(seeds={"states": options.seed})
        options.json.write_text(json.dumps(numbers, indent=1) + "\n", encoding="utf-8")
    return numbers


def landing(predictor: Predictor, count: int, steps: int, seed: int) -> tuple[Tensor, Tensor]:
    """Robots that fall onto their feet, and efforts: shapes (count, S) and (count, steps, C)."""
    spec, generator = predictor.spec, torch.Generator().manual_seed(seed)
    if not spec.floating_base:
        raise ValueError(f"got the model of '{spec.name}', whose base is fixed, expected a robot that can land")
    state = torch.zeros(count, spec.state.dim)
    state[:, spec.state.root_quat.stop - 1] = 1.0
    state[:, 2] = torch.linspace(0.35, 0.6, count)
    state[:, spec.state.joint_pos] = 0.3 * torch.randn(count, len(spec.joints), generator=generator)
    state[:, spec.state.root_lin_vel] = torch.tensor([0.3, 0.2, -1.0])
    return state, torch.randn(count, steps, spec.control_dim, generator=generator)


def measure(predictor: Predictor, state: Tensor, controls: Tensor, hard: Tensor, options: Options) -> dict[str, Any]:
    """Gradients and cost of contacts that take some time.

    Args:
        predictor: The model with them.
        state: First states, shape (N, S).
        controls: Efforts, shape (N, T, C).
        hard: The motion of hard contacts, the first state included, shape (N, T + 1, S).
        options: Horizons and seed.
    """
    ground, spec = PlaneGround.flat(), predictor.spec
    weights = torch.randn(spec.state.dim, generator=torch.Generator().manual_seed(options.seed))
    sizes = {}
    for horizon in options.horizons:
        first = state.clone().requires_grad_()
        last = rollout(predictor, first, controls[:, :horizon], ground)[:, -1]
        (found,) = torch.autograd.grad((last * weights).sum(), first)
        size = found.norm(dim=-1)
        sizes[str(horizon)] = {"median": float(size.median()), "largest": float(size.max())}
    with torch.no_grad():
        end = rollout(predictor, state, controls, ground)[:, -1]
        begin, after = hard[:, :-1].flatten(0, 1), hard[:, 1:].flatten(0, 1)
        driven = controls.flatten(0, 1).unsqueeze(1)
        stepped = rollout(predictor, begin, driven, ground)[:, -1]
    velocity = spec.state.root_lin_vel
    off = (stepped - after)[:, velocity].norm(dim=-1)
    return {
        "gradient": sizes,
        "base_position_m": float((end - hard[:, -1])[:, spec.state.root_pos].norm(dim=-1).median()),
        "one_step_base_velocity_m_s": {
            "median": float(off.median()),
            "root_mean_square": float(off.square().mean().sqrt()),
        },
    }


if __name__ == "__main__":
    main(tyro.cli(Options))
