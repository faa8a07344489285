# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""A judgement: a model predicts windows of recordings, and its errors are summed up.

==========================  ========================================================================================
``position_m``              distance of the root (the cube's centre), mean over the steps of a window, then over windows
``rotation_rad``            angle between predicted and measured orientation, likewise
``position_share_of_width``  ``position_m`` over the longest edge of the root's box
``joint_rmse_rad``          root of the mean square over steps and joints of a window, mean over windows
``horizon_steps``           steps until the largest error of a link's angle passes 0.2 rad, mean over windows
==========================  ========================================================================================

Windows weigh the same, however long they are. A window whose prediction leaves the finite numbers has an infinite
error, and so has the mean; medians and the numbers of windows that were lost stand beside it.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..contact.grounds import Ground, PlaneGround
from ..dynamics import rollout_states
from ..predictor.predictor import Predictor
from ..recordings.conversion import stands_on_ground
from ..recordings.recording import RecordingError, RecordingSet
from ..robot.guard import StateGuard
from ..robot.spec import RobotSpec
from .config import HORIZON_RAD, JudgeCfg, Protocol
from .errors import (
    angle_errors,
    horizons,
    position_errors,
    rotation_errors,
    spread,
    window_means,
    window_rms,
)
from .windows import Window, at_steps_of, judged_recordings, window_steps, windows

CHUNK = 8192
"""Windows that are predicted at a time."""

MAX_WINDOWS = 500_000
"""Most windows of a judgement."""


@dataclass(frozen=True)
class JudgeResult:
    """Errors of a model on recordings. Quantities that the mechanism does not have are None."""

    robot: str
    """Name of the model's robot."""
    protocol: str
    """Protocol of the windows."""
    split: tuple[str, ...]
    """Splits of the recordings."""
    window: int | None
    """Steps of a window; None for whole runs."""
    stride: int | None
    """Steps between the beginnings of two windows; None for whole runs."""
    step_s: float
    """Control step of the model [s]."""
    counts: dict[str, int]
    """``recordings`` with windows, ``recordings_too_short``, ``windows``, ``steps``; ``diverged``: windows that left
    the finite numbers; ``left_guard``: windows that left the guard of the robot, those included."""
    position_m: float | None
    """See the table of the module."""
    rotation_rad: float | None
    """See the table of the module."""
    rotation_deg: float | None
    """``rotation_rad`` in degrees."""
    position_share_of_width: float | None
    """See the table of the module."""
    joint_rmse_rad: float | None
    """See the table of the module."""
    joint_rmse_by_joint_rad: dict[str, float]
    """The same of each joint."""
    horizon_steps: float | None
    """See the table of the module; windows that never pass the limit count with their length. For fixed bases."""
    horizon_s: float | None
    """``horizon_steps`` in seconds of the model's steps."""
    horizon_open: int | None
    """Windows that never pass the limit."""
    width_m: float | None
    """Width of the object [m]."""
    spread: dict[str, dict[str, float]]
    """By quantity ``mean``, ``standard_error``, ``median`` and ``q90`` over the windows."""
    families: dict[str, dict[str, float]] = field(default_factory=dict)
    """By family of runs: number of ``windows`` and mean of each quantity."""
    phases: dict[str, dict[str, float]] = field(default_factory=dict)
    """By phase of a pendulum, likewise: ``held`` for windows in which all links stay within 0.5 rad of upright,
    ``moving`` for the others."""

    def plain(self) -> dict[str, Any]:
        """All of it as values that :mod:`json` can write."""
        return dataclasses.asdict(self)


@torch.no_grad()
def judge(
    predictor: Predictor, recordings: RecordingSet, cfg: JudgeCfg | None = None, protocol: Protocol = "windows"
) -> JudgeResult:
    """Lets a model predict windows of recordings.

    Args:
        predictor: The model.
        recordings: The recordings, of all splits.
        cfg: Which windows.
        protocol: Whether windows of equal length or whole runs.
    """
    cfg, spec = cfg or JudgeCfg(), predictor.spec
    recordings = judged_recordings(recordings, cfg.split)
    found = []
    for window in windows(recordings, spec, protocol, cfg):
        found.append(window)
        if len(found) > MAX_WINDOWS:
            raise RecordingError(f"got more than {MAX_WINDOWS:,} windows: ask for a longer --stride")
    steps, stride = window_steps(at_steps_of(recordings, spec), cfg, spec.control_dt)
    if not found:
        raise RecordingError(
            f"none of the {len(recordings.recordings)} recordings is as long as a window of {steps} steps"
        )
    was_training = predictor.training
    predictor.eval()
    # Windows of like length together: whole runs differ in theirs.
    order = sorted(range(len(found)), key=lambda index: len(found[index].truth))
    parts = []
    for first in range(0, len(order), CHUNK):
        chosen = [found[index] for index in order[first : first + CHUNK]]
        parts.append(_errors_of(predictor, chosen, recordings))
    predictor.train(was_training)
    ordered = [found[index] for index in order]
    columns = {name: torch.cat([part[name] for part in parts]) for name in parts[0]}
    too_short = len(recordings.recordings) - len({each.recording for each in ordered})
    return _summary(spec, recordings, protocol, (steps, stride), ordered, columns, too_short)


def predicted(predictor: Predictor, first: Tensor, control: Tensor, ground: Ground | None) -> Tensor:
    """States after each step, from first states and efforts, shapes (W, S) and (W, H, C) to (W, H, S)."""
    cache = predictor.init_cache(len(first), first.device)
    states = rollout_states(predictor, first, lambda step, _: control[:, step], control.shape[1], ground, cache=cache)
    return torch.stack(list(states), dim=1)


def window_errors(spec: RobotSpec, states: Tensor, truth: Tensor, valid: Tensor) -> dict[str, Tensor]:
    """Errors of each window by quantity, each of shape (W,).

    Args:
        spec: The robot.
        states: Predicted states after each step, shape (W, H, S).
        truth: Measured states, shape (W, H, S); velocities do not count.
        valid: Which steps a window has, bool, shape (W, H).
    """
    at, found = spec.state, {}
    if spec.floating_base:
        found["position_m"] = window_means(position_errors(states[..., at.root_pos], truth[..., at.root_pos]), valid)
        found["rotation_rad"] = window_means(
            rotation_errors(states[..., at.root_quat], truth[..., at.root_quat]), valid
        )
    turning = [number for number, joint in enumerate(spec.joints) if joint.kind == "revolute"]
    if turning:
        angles, true_angles = states[..., at.joint_pos][..., turning], truth[..., at.joint_pos][..., turning]
        errors = angle_errors(angles, true_angles)
        found["joint_rmse_rad"] = window_rms(errors, valid)
        for place, number in enumerate(turning):
            found[f"joint/{spec.joints[number].name}"] = window_rms(errors[..., place : place + 1], valid)
        if not spec.floating_base:
            # Angles of the links against the vertical, of a chain of hinges that hangs.
            links = angle_errors(angles.cumsum(-1), true_angles.cumsum(-1)).abs().amax(-1)
            found["horizon_steps"], ends = horizons(links, valid, HORIZON_RAD)
            found["horizon_open"] = ~ends
    finite = (states.isfinite().all(-1) | ~valid).all(1)
    inside = (StateGuard(spec).to(states.device)(states) | ~valid).all(1)
    return found | {"diverged": ~finite, "left_guard": ~inside}


def _errors_of(predictor: Predictor, chosen: Sequence[Window], recordings: RecordingSet) -> dict[str, Tensor]:
    spec, device = predictor.spec, predictor.device
    longest = max(len(window.truth) for window in chosen)
    truth = np.zeros((len(chosen), longest, spec.state.dim), np.float32)
    control = np.zeros((len(chosen), longest, spec.control_dim), np.float32)
    valid = np.zeros((len(chosen), longest), bool)
    for row, window in enumerate(chosen):
        steps = len(window.truth)
        truth[row, :steps], control[row, :steps], valid[row, :steps] = window.truth, window.control, True
    first = torch.from_numpy(np.stack([window.first for window in chosen])).float().to(device)
    ground = PlaneGround.flat(device=device) if stands_on_ground(recordings) else None
    states = predicted(predictor, first, torch.from_numpy(control).to(device), ground)
    return {
        name: values.cpu()
        for name, values in window_errors(
            spec, states, torch.from_numpy(truth).to(device), torch.from_numpy(valid).to(device)
        ).items()
    }


def _summary(
    spec: RobotSpec,
    recordings: RecordingSet,
    protocol: Protocol,
    steps: tuple[int, int],
    found: Sequence[Window],
    columns: dict[str, Tensor],
    too_short: int,
) -> JudgeResult:
    quantities = [name for name in ("position_m", "rotation_rad", "joint_rmse_rad", "horizon_steps") if name in columns]
    means = {name: float(columns[name].double().mean()) for name in quantities}
    position, rotation, horizon = (means.get(name) for name in ("position_m", "rotation_rad", "horizon_steps"))

    def by(labels: list[str]) -> dict[str, dict[str, float]]:
        tables = {}
        for label in sorted(set(labels) - {""}):
            rows = torch.tensor([each == label for each in labels])
            tables[label] = {"windows": float(rows.sum())}
            tables[label] |= {name: float(columns[name][rows].double().mean()) for name in quantities}
        return tables

    return JudgeResult(
        robot=spec.name,
        protocol=protocol,
        split=recordings.splits,
        window=steps[0] if protocol == "windows" else None,
        stride=steps[1] if protocol == "windows" else None,
        step_s=spec.control_dt,
        counts={
            "recordings": len({each.recording for each in found}),
            "recordings_too_short": too_short,
            "windows": len(found),
            "steps": sum(len(each.truth) for each in found),
            "diverged": int(columns["diverged"].sum()),
            "left_guard": int(columns["left_guard"].sum()),
        },
        position_m=position,
        rotation_rad=rotation,
        rotation_deg=None if rotation is None else math.degrees(rotation),
        position_share_of_width=None if position is None or not recordings.width else position / recordings.width,
        joint_rmse_rad=means.get("joint_rmse_rad"),
        joint_rmse_by_joint_rad={
            name.removeprefix("joint/"): float(values.double().mean())
            for name, values in columns.items()
            if name.startswith("joint/")
        },
        horizon_steps=horizon,
        horizon_s=None if horizon is None else horizon * spec.control_dt,
        horizon_open=int(columns["horizon_open"].sum()) if "horizon_open" in columns else None,
        width_m=recordings.width,
        spread={name: spread(columns[name]) for name in quantities},
        families=by([each.family for each in found]),
        phases={} if spec.floating_base else by(["held" if each.is_held else "moving" for each in found]),
    )


__all__ = ["JudgeResult", "judge", "predicted", "window_errors"]
