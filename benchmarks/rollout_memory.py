# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Memory and time of a gradient through a long roll-out of many robots, by the cost that identification has.

    python benchmarks/rollout_memory.py --json rollout_memory.json
    python benchmarks/rollout_memory.py --precision double --steps 50 --wanted parameters

Robots are thrown on the ground, if they can be, with random efforts; the cost compares their way with a shifted one.
``weights`` asks for gradients to what the mechanics have learned and to the first states: in single precision those of
the kernel's adjoint. ``parameters`` asks for those to masses and friction, which flow through PyTorch. Only one segment
of steps is in memory, so that it does not grow with the length of the roll-out. ``peak_gb`` is all that the process
ever held, PyTorch included.
"""

from __future__ import annotations

import json
import resource
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
import tyro

from nerd_core import checkpoint
from nerd_core.contact.grounds import PlaneGround
from nerd_core.dynamics import rollout
from nerd_core.files.provenance import describe_run
from nerd_core.identification.cost import CostCfg, RolloutCost, Windows
from nerd_core.identification.parameterisation import Parameterisation


@dataclass(frozen=True)
class Options:
    """Memory and time of a gradient through a long roll-out."""

    model: str = "ant"
    """Checkpoint whose prior is mechanics, a directory or the name of a shipped model."""
    envs: int = 256
    """Robots."""
    steps: int = 1000
    """Steps."""
    segment: int = 25
    """Steps in memory at once."""
    precision: Literal["double", "single"] = "single"
    """Of the roll-out."""
    wanted: Literal["weights", "parameters"] = "weights"
    """What gradients are asked for."""
    seed: int = 0
    """Seed of first states and efforts."""
    json: Path | None = None
    """File for the numbers."""


def main(options: Options) -> dict[str, Any]:
    """Measures, prints and writes."""
    from nerd_core.checkpoint_names import find_checkpoint

    torch.set_num_threads(1)
    predictor, ground = checkpoint.load(find_checkpoint(options.model)).eval(), PlaneGround.flat()
    spec, random = predictor.spec, torch.Generator().manual_seed(options.seed)
    state = torch.zeros(options.envs, spec.state.dim)
    if spec.floating_base:
        state[:, spec.state.root_pos] = torch.tensor([0.0, 0.0, 0.7])
        state[:, spec.state.root_quat] = torch.tensor([0.0, 0.0, 0.0, 1.0])
    state[:, spec.state.joint_vel] = torch.randn(options.envs, len(spec.joints), generator=random)
    held = 5.0 * torch.randn(options.envs, -(-options.steps // 25), spec.control_dim, generator=random)
    control = held.repeat_interleave(25, 1)[:, : options.steps]
    with torch.no_grad():
        states = rollout(predictor, state, control, ground)
    states[:, 1:, spec.state.joint_pos] += 0.01
    of_weights = options.wanted == "weights"
    cost = RolloutCost(
        predictor,
        Parameterisation(spec, () if of_weights else ("masses", "frictions")),
        Windows(states, control),
        CostCfg(precision=options.precision, segment=options.segment, chunk=options.envs),
        learn_weights=of_weights,
        first_state_noise=(0.001, 0.01) if of_weights else None,
        ground=ground,
    )
    before, begin = _peak(), time.process_time()
    value = cost.backward()
    numbers = {
        "envs": options.envs,
        "steps": options.steps,
        "precision": options.precision,
        "wanted": options.wanted,
        "cost": value,
        "gradient_is_finite": all(bool(each.grad.isfinite().all()) for each in cost.variables.leaves()),  # type: ignore[union-attr]
        "processor_s": time.process_time() - begin,
        "peak_before_gb": before,
        "peak_gb": _peak(),
    }
    print(json.dumps(numbers, indent=1))
    if options.json is not None:
        told = numbers | describe_run(seeds={"first states and efforts": options.seed})
        options.json.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    return numbers


def _peak() -> float:
    """Most memory that this process held so far [GB]."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


if __name__ == "__main__":
    main(tyro.cli(Options, description=__doc__))
