# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What the guard refused, with the steps that led there, as a directory that ``nerd replay`` reads.

A dump is a directory of three files: ``spec.json``, ``dump.json`` and ``steps.safetensors``. None can carry code, and
sizes are checked before memory is allocated, so dumps of unknown origin can be read.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from nerd_core.files.atomic import replace_directory
from nerd_core.files.messages import shortened
from nerd_core.files.safe_files import UnsafeFile, json_bytes, parse_json, read_bytes
from nerd_core.files.safe_tensors import parse_tensors, tensor_bytes
from nerd_core.robot.guard import StateGuard
from nerd_core.robot.spec import RobotSpec

SCHEMA = "nerd-guard-dump-1"
"""Format of the directory."""

SPEC, FACTS, STEPS = "spec.json", "dump.json", "steps.safetensors"

MAX_FACTS_BYTES = 2**20
"""Largest ``dump.json`` that is read [bytes]."""

MAX_STEPS_BYTES = 16 * 2**20
"""Largest ``steps.safetensors`` that is read [bytes]. Shown as text, a number takes twenty times its size."""


@dataclass(frozen=True)
class GuardDump:
    """Some environments at the moment when the guard held them."""

    spec: RobotSpec
    """The robot."""
    facts: dict[str, Any]
    """What is known of the run: task, model, step, number of environments held. Plain values."""
    env_ids: torch.Tensor
    """The environments, int64, shape (E,)."""
    length: torch.Tensor
    """Steps known of each, since its history was last emptied, int64, shape (E,). At most ``facts["memory"]``; of a
    longer past the beginning is not known."""
    state: torch.Tensor
    """States that came in, the last one last, zero before the known ones, shape (E, K, S)."""
    control: torch.Tensor
    """Controls held from those states on, shape (E, K, C)."""
    refused: torch.Tensor
    """What the model predicted from the last state, shape (E, S)."""
    plane: torch.Tensor | None = None
    """Normal and offset of the ground below each environment, shape (E, 4); None for other grounds, or none."""


@dataclass(frozen=True)
class BoundViolation:
    """A number of a state that is outside its bounds."""

    coordinate: str
    """Its name, for instance ``joint_vel.hinge``."""
    index: int | None
    """Where it stands in the state; None for the length of a vector."""
    value: float
    """What it was."""
    lower: float
    """Smallest value that the guard accepts."""
    upper: float
    """Largest value that the guard accepts."""

    @property
    def what(self) -> str:
        """In words, which bound was left."""
        if not math.isfinite(self.value):
            return "is not finite"
        return "below the bound" if self.value < self.lower else "above the bound"


def find_violations(spec: RobotSpec, state: torch.Tensor) -> list[BoundViolation]:
    """The numbers of one state that its robot's guard refuses.

    Args:
        spec: The robot.
        state: A state, shape (S,).
    """
    guard, names, values = StateGuard(spec), state_names(spec), state.tolist()
    found = [
        BoundViolation(names[i], i, values[i], float(guard.lower[i]), float(guard.upper[i]))
        for i in range(len(values))
        if not guard.lower[i] <= values[i] <= guard.upper[i]
    ]
    if found or bool(guard(state)):
        return found
    # Every number is within its own bounds, so a vector is too long, or a quaternion of no unit length.
    for part, (shortest, longest) in guard.lengths.items():
        length = float(state[getattr(spec.state, part)].norm())
        if not shortest <= length <= longest:
            found.append(BoundViolation(f"|{part}|", None, length, shortest, longest))
    return found


def state_names(spec: RobotSpec) -> list[str]:
    """A name for every number of a state."""
    axes = {"root_pos": "xyz", "root_quat": "xyzw", "root_lin_vel": "xyz", "root_ang_vel": "xyz"}
    names = [""] * spec.state.dim
    for group in ("root_pos", "root_quat", "joint_pos", "root_lin_vel", "root_ang_vel", "joint_vel"):
        part: slice = getattr(spec.state, group)
        for index, label in zip(range(part.start, part.stop), axes.get(group, spec.joint_names), strict=False):
            names[index] = f"{group}.{label}"
    return names


def save(path: Path, dump: GuardDump) -> None:
    """Writes a dump as a directory that is either whole or not there."""
    tensors = {name: getattr(dump, name) for name in ("env_ids", "length", "state", "control", "refused")}
    if dump.plane is not None:
        tensors["plane"] = dump.plane
    with replace_directory(path) as folder:
        (folder / SPEC).write_text(dump.spec.to_json())
        (folder / FACTS).write_bytes(json_bytes({"schema": SCHEMA, **dump.facts}))
        (folder / STEPS).write_bytes(tensor_bytes(tensors))


def load(path: Path) -> GuardDump:
    """Reads a dump.

    Raises:
        UnsafeFile: It is missing, damaged, or not of the format.
        SpecError: The robot in it makes no sense.
    """
    if not path.is_dir():
        raise UnsafeFile(f"got '{path}', expected the directory of a dump, as written below env.nerd.dump_dir")
    facts = parse_json(read_bytes(path / FACTS, MAX_FACTS_BYTES), FACTS)
    if not isinstance(facts, dict) or facts.pop("schema", None) != SCHEMA:
        raise UnsafeFile(f"'{path / FACTS}' is not of the format '{SCHEMA}', which this version reads")
    spec = RobotSpec.load(path / SPEC)
    tensors = parse_tensors(read_bytes(path / STEPS, MAX_STEPS_BYTES), STEPS)
    _check(spec, tensors)
    return GuardDump(spec=spec, facts=facts, **tensors)


def _check(spec: RobotSpec, tensors: dict[str, torch.Tensor]) -> None:
    """Refuses tensors that do not fit each other or the robot."""
    needed = {"env_ids", "length", "state", "control", "refused"}
    if not needed <= set(tensors) <= needed | {"plane"}:
        raise UnsafeFile(f"'{STEPS}': got the tensors {shortened(sorted(tensors), 200)}, expected {sorted(needed)}")
    state = tensors["state"]
    if state.ndim != 3 or 0 in state.shape:
        raise UnsafeFile(f"'{STEPS}': got states of shape {list(state.shape)}, expected environments, steps, numbers")
    count, steps, _ = state.shape
    expected: dict[str, tuple[tuple[int, ...], torch.dtype]] = {
        "env_ids": ((count,), torch.int64),
        "length": ((count,), torch.int64),
        "state": ((count, steps, spec.state.dim), torch.float32),
        "control": ((count, steps, spec.control_dim), torch.float32),
        "refused": ((count, spec.state.dim), torch.float32),
        "plane": ((count, 4), torch.float32),
    }
    for name, tensor in tensors.items():
        if (tuple(tensor.shape), tensor.dtype) != expected[name]:
            raise UnsafeFile(
                f"'{STEPS}': '{name}' has shape {list(tensor.shape)} of {tensor.dtype}, expected "
                f"{list(expected[name][0])} of {expected[name][1]}"
            )
    if int(tensors["length"].min()) < 1 or int(tensors["length"].max()) > steps:
        raise UnsafeFile(f"'{STEPS}': got lengths from {int(tensors['length'].min())}, expected 1 to {steps}")
