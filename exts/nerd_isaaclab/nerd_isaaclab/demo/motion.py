# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Motion for the report's animation: body poses of true and predicted states, small enough to stand in a page."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import torch

from nerd_core import checkpoint
from nerd_core.contact.grounds import PlaneGround
from nerd_core.data.dataset import TrajectoryDataset
from nerd_core.robot.kinematics import ForwardKinematics
from nerd_core.robot.spec import ContactSlot, RobotSpec
from nerd_core.training.metrics import predict, state_errors

LONGEST = 1000
"""Longest clip [control steps]."""

CANDIDATES = 128
"""Roll-outs among which the shown ones are chosen by their errors."""

SHOWN = {"typical (median error)": 0.5, "hard (90th percentile)": 0.9, "worst": 1.0}
"""Which roll-outs are shown: by the share of others with a smaller mean error. The best ones prove nothing."""

STRIDE = 2
"""Control steps between two frames of a clip."""

POS_UNIT = 1.0e-3
"""Positions are stored in millimetres, which reaches 32 m from the origin."""


def describe(model: Path) -> dict[str, Any]:
    """What the page needs to draw a robot.

    Args:
        model: Directory of the model.
    """
    spec = checkpoint.load(model).spec
    return {
        "name": spec.name,
        "bodies": list(spec.body_names),
        "shapes": list(_shapes(spec)),
        "floating": spec.floating_base,
        "follow": _followed_body(spec),
        "frame_dt": spec.control_dt * STRIDE,
        "pos_unit": POS_UNIT,
    }


def open_loop_clips(model: Path, rollouts: Path, protocol: str, steps: int) -> list[dict[str, Any]]:
    """Clips of recorded roll-outs and the model's roll-outs from the same first states, with the same controls.

    Args:
        model: Directory of the model.
        rollouts: Roll-outs of the solver.
        protocol: Name of the protocol, for the labels.
        steps: Length of the clips [control steps].
    """
    predictor = checkpoint.load(model)
    dataset = TrajectoryDataset.open(rollouts, spec=predictor.spec)
    which = (dataset.length >= steps).nonzero()[0][:CANDIDATES]
    batch = dataset.gather(which, 0 * which, steps)
    ground = None if batch.ground is None else PlaneGround.from_vector(batch.ground)
    states = predict(predictor, batch.state[:, 0], batch.control, ground)
    errors = state_errors(predictor.spec, states, batch.state)
    score = torch.stack([torch.nan_to_num(value, nan=torch.inf).mean(-1) for value in errors.values()]).sum(0)
    order = score.argsort()
    clips = []
    for label, share in SHOWN.items():
        row = int(order[min(round(share * len(order)), len(order) - 1)])
        clips.append(
            _clip(predictor.spec, f"{protocol}, {label}", states[row], batch.state[row], open_loop=True),
        )
    return clips


def policy_clips(model: Path, recorded: Path, task: str) -> list[dict[str, Any]]:
    """Clips of a policy's first episodes in both modes.

    Args:
        model: Directory of the model.
        recorded: Folder that ``nerd transfer --record`` has written.
        task: Id of the task, for the labels.
    """
    spec = checkpoint.load(model).spec
    both = [json.loads((recorded / f"{mode}.json").read_text(encoding="utf-8")) for mode in ("neural", "physx")]
    clips = []
    for number, (neural, physx) in enumerate(zip(*(each["episodes"] for each in both), strict=True), start=1):
        length = min(len(neural), len(physx), LONGEST)
        if length > STRIDE:
            pair = (torch.tensor(episode[:length]) for episode in (neural, physx))
            clips.append(_clip(spec, f"policy on {task}, episode {number}", *pair, open_loop=False))
    return clips


def _clip(spec: RobotSpec, label: str, states: torch.Tensor, truth: torch.Tensor, open_loop: bool) -> dict[str, Any]:
    """One pair of motions.

    Args:
        spec: The robot.
        label: What the clip is called.
        states: Predicted states, shape (T, S).
        truth: True states, shape (T, S).
        open_loop: Whether the two differ by the model alone; in a closed loop the policy reacts to what it sees.
    """
    finite = states.isfinite().all(-1)
    count = len(states) if bool(finite.all()) else max(1, int(finite.int().argmin()))
    states, truth = states[:count:STRIDE], truth[:count:STRIDE]
    kinematics = ForwardKinematics(spec)
    errors = state_errors(spec, states, truth)
    return {
        "label": label,
        "open_loop": open_loop,
        "frames": len(states),
        "physx": _packed(kinematics(truth)),
        "neural": _packed(kinematics(states)),
        "errors": {name: [_short(value) for value in values.tolist()] for name, values in errors.items()},
    }


def _packed(poses: Any) -> str:
    """Poses as little-endian int16 in base64: position and quaternion of each body of each frame."""
    pos = (poses.pos / POS_UNIT).round().clamp(-32767, 32767)
    values = torch.cat((pos, (poses.quat * 32767).round()), dim=-1).numpy().astype("<i2")
    return base64.b64encode(np.ascontiguousarray(values).tobytes()).decode()


def _shapes(spec: RobotSpec) -> Iterator[dict[str, Any]]:
    """The collision shapes that the contact slots stand for."""
    points_of = {"sphere": 1, "capsule": 2, "box": 8}
    for (body, kind), group in groupby(spec.slots, key=lambda slot: (slot.body, slot.shape)):
        slots = list(group)
        size = points_of.get(kind, len(slots))
        for first in range(0, len(slots), size):
            yield _shape(spec, kind, body, slots[first : first + size])


def _shape(spec: RobotSpec, kind: str, body: str, slots: list[ContactSlot]) -> dict[str, Any]:
    return {
        "kind": kind,
        "body": spec.body_names.index(body),
        "points": [[round(value, 5) for value in slot.point] for slot in slots],
        "radius": slots[0].radius,
    }


def _followed_body(spec: RobotSpec) -> int:
    """The body that the camera follows: the root, or on a fixed base what slides along."""
    slides = {joint.name for joint in spec.joints if joint.kind == "prismatic"}
    if spec.floating_base:
        return 0
    return next((index for index, body in enumerate(spec.bodies) if body.joint in slides), 0)


def _short(value: float) -> float:
    """A number with four digits, which are enough to read."""
    return float(f"{value:.4g}")
