# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Looks at a dataset: is it of this robot, is it enough, and does it hold what a policy does?"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch

from nerd_core.data.dataset import TrajectoryDataset
from nerd_core.data.inspection import control_coordinates, state_coordinates
from nerd_core.robot.spec import RobotSpec

from .diagnosis import Diagnosis, fine, obstacle, warning

FEW = 100_000
"""Transitions below which a network learns little."""

ROWS = 200_000
"""Rows of a dataset that are looked at, at most."""

INNER, OUTER = 0.02, 0.001
"""The middle of a policy's motion (2 % to 98 %) shall lie within nearly all of the data's (.1 % to 99.9 %)."""

SLACK = 0.05
"""By how much it may stick out, as a share of the data's width."""

NAMED = 4
"""Coordinates that are named, the worst first."""


@dataclass(frozen=True)
class Motion:
    """The middle of the values that a policy's motion takes, by coordinate."""

    low: dict[str, float]
    """2 % of the values lie below."""
    high: dict[str, float]
    """2 % of the values lie above."""


def coordinates(spec: RobotSpec, state: torch.Tensor, control: torch.Tensor) -> dict[str, torch.Tensor]:
    """The values that dynamics depend on, by name; where the robot is and where it looks are left out.

    Args:
        spec: The robot.
        state: States, shape (..., S).
        control: Controls, shape (..., C).
    """
    at = spec.state
    placed = set(range(at.dim)[at.root_pos]) | set(range(at.dim)[at.root_quat]) if spec.floating_base else set()
    angles = {at.joint_pos.start + i for i, joint in enumerate(spec.joints) if joint.wraps}
    names = [name for name, *_ in state_coordinates(spec)]
    found = {name: state[..., i] for i, name in enumerate(names) if i not in placed | angles}
    driven = [f"control {name}" for name, *_ in control_coordinates(spec)]
    return found | {name: control[..., i] for i, name in enumerate(driven)}


def motion_of(spec: RobotSpec, state: torch.Tensor, control: torch.Tensor) -> Motion:
    """The middle of a motion.

    Args:
        spec: The robot.
        state: States, shape (..., S).
        control: Controls, shape (..., C).
    """
    values = coordinates(spec, state, control)
    low, high = (
        {name: float(value.flatten().quantile(share)) for name, value in values.items()}
        for share in (INNER, 1.0 - INNER)
    )
    return Motion(low, high)


def check_data(path: str | Path, spec: RobotSpec, motion: Motion | None) -> list[Diagnosis]:
    """Whether a dataset is of a robot, large enough, and wide enough for a policy.

    Args:
        path: Folder of the dataset.
        spec: The robot of the task.
        motion: What a policy does; None where none was given.
    """
    again = "nerd generate --task TASK --out NEW_FOLDER"
    try:
        data = TrajectoryDataset.open(path, spec=spec)
    except (ValueError, OSError) as error:
        return [obstacle("data", str(error), again)]
    if data.transitions < FEW:
        text = f"{data.transitions} transitions, a network wants {FEW} and more"
        found = [warning("data", text, f"nerd generate --task TASK --out {path} --transitions {10 * FEW}")]
    else:
        found = [fine("data", f"{data.transitions} transitions of this robot")]
    return found + ([] if motion is None else [_of_coverage(data, spec, motion)])


def _of_coverage(data: TrajectoryDataset, spec: RobotSpec, motion: Motion) -> Diagnosis:
    state, control = data.arrays["state"], data.arrays["control"]
    step = max(1, len(state) // ROWS)
    beyond = {}
    for name, value in coordinates(spec, state[::step], control[::step]).items():
        values = value[value.isfinite()].double()
        low, high = (float(values.quantile(share)) for share in (OUTER, 1.0 - OUTER))
        width = max(high - low, 1e-6)
        beyond[name] = max(low - motion.low[name], motion.high[name] - high) / width
    worst = sorted((name for name, share in beyond.items() if share > SLACK), key=lambda name: -beyond[name])
    if not worst:
        return fine("coverage", "the data hold what the policy does")
    named = ", ".join(f"{name} by {100 * beyond[name]:.0f} %" for name in worst[:NAMED])
    more = f" and {len(worst) - NAMED} more" if len(worst) > NAMED else ""
    return warning(
        "coverage",
        f"the policy leaves the data's range (share of its width): {named}{more}",
        "nerd generate ... --policy POLICY --out MORE_DATA, then nerd train DATA MORE_DATA",
    )
