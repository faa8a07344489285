# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What a batch of trajectories is: which arrays, of which shapes, and where they came from.

Trajectories differ in length, so a batch stores them *flat*: one after another along the first dimension. A trajectory
of ``T`` transitions has ``T + 1`` states and ``T`` of everything that belongs to a step (controls, contacts, forces).
"""

from __future__ import annotations

import platform
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal

import numpy as np

from ..provenance import without_folder
from ..spec import RobotSpec

ContactSource = Literal["none", "geometry", "sensor"]
TeacherMode = Literal["continuous", "rewritten", "measured"]

CONTACT_FIELDS = ("contact_distance", "contact_normal", "contact_point", "contact_active")
"""Recorded contacts come together or not at all."""


class DataError(ValueError):
    """Data that are missing, damaged, contradictory, or made for something else."""


@dataclass(frozen=True)
class ShardMeta:
    """Where the trajectories of a shard came from. Holds no time stamps and no paths: the same run writes it again."""

    task: str = ""
    """Name of the task, or of the generator."""
    seed: int = 0
    """Seed of the run that wrote this shard."""
    teacher: str = ""
    """What moved the robot, with its version, for instance ``"physx (ovphysx 0.3)"``."""
    teacher_mode: TeacherMode = "continuous"
    """``continuous``: the teacher ran on undisturbed; ``rewritten``: its state was written back before every step;
    ``measured``: a real robot."""
    excitation: str = ""
    """Where the controls came from, for instance ``"uniform"`` or ``"policy + held noise"``."""
    contact_source: ContactSource = "none"
    """What recorded the contacts: geometry queries, contact sensors, or nothing (to be computed from the state)."""
    command: str = ""
    """Command that wrote the shard; see :func:`command_line`."""
    host: str = ""
    """Name of the machine, or a hash of it; see :func:`host_name`."""
    versions: dict[str, str] = field(default_factory=dict)
    """Versions of the packages that matter."""
    notes: dict[str, str] = field(default_factory=dict)
    """Anything else worth keeping."""


@dataclass(frozen=True)
class Trajectories:
    """A batch of trajectories in memory, flat. ``N`` trajectories, ``R`` transitions in total."""

    length: np.ndarray
    """Number of transitions of each trajectory, int64, shape (N,)."""
    state: np.ndarray
    """States (see :class:`~nerd_core.spec.StateLayout`), float32, shape (R + N, S)."""
    control: np.ndarray
    """Controls held during each step [units of the channel], float32, shape (R, C)."""
    ground: np.ndarray | None = None
    """Plane under each trajectory: unit normal (3) and offset [m] with ``normal . p = offset`` on the plane, relative
    to the origin of the environment, float32, shape (N, 4)."""
    contact_distance: np.ndarray | None = None
    """Distance of each slot's point to the ground before the step [m], float32, shape (R, K)."""
    contact_normal: np.ndarray | None = None
    """Normal of the ground at its closest point, environment axes, float32, shape (R, K, 3)."""
    contact_point: np.ndarray | None = None
    """Closest point of the ground [m], relative to the origin of the environment, float32, shape (R, K, 3)."""
    contact_active: np.ndarray | None = None
    """Which slots are near something, 0 or 1, uint8, shape (R, K)."""
    body_force: np.ndarray | None = None
    """Contact force on each body over the step [N], environment axes, float32, shape (R, B, 3)."""

    @property
    def count(self) -> int:
        """Number of trajectories."""
        return len(self.length)

    @property
    def transitions(self) -> int:
        """Number of transitions of all trajectories together."""
        return int(self.length.sum())

    def arrays(self) -> dict[str, np.ndarray]:
        """The arrays that are there, by name."""
        named = ((item.name, getattr(self, item.name)) for item in fields(self))
        return {name: value for name, value in named if value is not None}

    def rows(self, name: str) -> np.ndarray:
        """First row of each trajectory in one array, and one past the last: int64, shape (N + 1,)."""
        return np.concatenate(([0], np.cumsum(_rows_per_trajectory(name, self.length))))

    def part(self, begin: int, end: int) -> Trajectories:
        """Trajectories ``begin`` to ``end`` (excluded), as views."""
        cut = {}
        for name, value in self.arrays().items():
            rows = self.rows(name)
            cut[name] = value[rows[begin] : rows[end]]
        return Trajectories(**cut)


def dtype_of(name: str) -> np.dtype:
    """Element type of one array of :class:`Trajectories`."""
    return np.dtype({"length": "<i8", "contact_active": "|u1"}.get(name, "<f4"))


def shape_of(name: str, spec: RobotSpec, length: np.ndarray) -> tuple[int, ...]:
    """Shape that one array of :class:`Trajectories` must have."""
    slots, bodies = len(spec.slots), len(spec.bodies)
    tail = {
        "length": (),
        "state": (spec.state.dim,),
        "control": (spec.control_dim,),
        "ground": (4,),
        "contact_distance": (slots,),
        "contact_normal": (slots, 3),
        "contact_point": (slots, 3),
        "contact_active": (slots,),
        "body_force": (bodies, 3),
    }[name]
    return (int(_rows_per_trajectory(name, length).sum()), *tail)


def check_trajectories(spec: RobotSpec, batch: Trajectories, what: str) -> None:
    """Raises :class:`DataError` unless the arrays fit the specification and each other."""
    if batch.length.ndim != 1 or batch.length.dtype != dtype_of("length"):
        raise DataError(f"{what}: got lengths of {_describe(batch.length)}, expected int64 of shape (N,)")
    if batch.count == 0 or int(batch.length.min()) < 1:
        raise DataError(f"{what}: got a trajectory without transitions, expected at least one trajectory of one step")
    if int(batch.length.max()) > 2**40:
        raise DataError(f"{what}: got a trajectory of {int(batch.length.max())} steps, more than a file can hold")
    arrays = batch.arrays()
    for name, value in arrays.items():
        expected = shape_of(name, spec, batch.length)
        if value.shape != expected or value.dtype != dtype_of(name):
            raise DataError(
                f"{what}: '{name}' is {_describe(value)}, expected {dtype_of(name)} of shape {expected} for the robot "
                f"'{spec.name}' and {batch.count} trajectories with {batch.transitions} transitions"
            )
    contacts = [name for name in CONTACT_FIELDS if name in arrays]
    if contacts and len(contacts) != len(CONTACT_FIELDS):
        raise DataError(f"{what}: got only {contacts} of the contacts, expected all of {list(CONTACT_FIELDS)} or none")


def pack_trajectories(
    spec: RobotSpec,
    state: Any,
    control: Any,
    *,
    length: Any = None,
    ground: Any = None,
    contacts: Any = None,
    body_force: Any = None,
) -> Trajectories:
    """Flat trajectories from padded arrays or tensors, as a simulator with ``N`` environments gives them.

    Args:
        spec: The robot.
        state: States, shape (N, T + 1, S).
        control: Controls held during each step, shape (N, T, C).
        length: Number of transitions of each trajectory, shape (N,); all ``T`` when left out. The rest is padding.
        ground: Plane under each trajectory (normal, offset [m]), shape (N, 4) or (4,) for all.
        contacts: Contacts before each step: an object or a mapping with ``distance`` (N, T, K), ``normal``
            (N, T, K, 3), ``point`` (N, T, K, 3) and ``active`` (N, T, K).
        body_force: Contact force on each body [N], shape (N, T, B, 3).
    """
    state, control = _as_numpy(state), _as_numpy(control)
    if state.ndim != 3 or control.ndim != 3 or state.shape[:2] != (control.shape[0], control.shape[1] + 1):
        raise DataError(
            f"got states of shape {state.shape} and controls of shape {control.shape}, "
            "expected (N, T + 1, S) and (N, T, C)"
        )
    count, steps = control.shape[:2]
    lengths = np.full(count, steps, dtype=np.int64) if length is None else _as_numpy(length).astype(np.int64)
    if lengths.shape != (count,) or (count and (lengths.min() < 1 or lengths.max() > steps)):
        raise DataError(
            f"got lengths of shape {lengths.shape} in [{lengths.min(initial=steps)}, {lengths.max(initial=0)}], "
            f"expected shape ({count},) in [1, {steps}]"
        )
    per_step: dict[str, np.ndarray] = {"control": control}
    if contacts is not None:
        pick = contacts.__getitem__ if isinstance(contacts, Mapping) else lambda name: getattr(contacts, name)
        per_step |= {name: _as_numpy(pick(name.removeprefix("contact_"))) for name in CONTACT_FIELDS}
    if body_force is not None:
        per_step["body_force"] = _as_numpy(body_force)
    columns = np.arange(steps + 1)
    inside = columns <= lengths[:, None]
    flat = {name: _flatten(name, value, inside[:, 1:]) for name, value in per_step.items()}
    if ground is not None:
        ground = _as_numpy(ground).astype(np.float32)
        if ground.shape not in ((4,), (count, 4)):
            raise DataError(f"the ground has shape {ground.shape}, expected (4,) or ({count}, 4)")
        flat["ground"] = np.broadcast_to(ground, (count, 4)).copy()
    batch = Trajectories(length=lengths, state=_flatten("state", state, inside), **flat)
    check_trajectories(spec, batch, "the trajectories")
    if contacts is not None:
        # What is not active means nothing: it must not reach a statistic by accident.
        far = flat["contact_active"] == 0
        for name in CONTACT_FIELDS:
            flat[name][far] = 0
    return batch


def command_line(argv: list[str] | None = None) -> str:
    """The command of this process (or ``argv``) with every path that is not relative cut down to its last part."""
    words = list(sys.argv if argv is None else argv)
    return shlex.join(without_folder(word) for word in words)


def host_name() -> str:
    """Name of this machine."""
    return platform.node()


def _rows_per_trajectory(name: str, length: np.ndarray) -> np.ndarray:
    if name in ("length", "ground"):
        return np.ones_like(length)
    return length + 1 if name == "state" else length


def _flatten(name: str, value: np.ndarray, inside: np.ndarray) -> np.ndarray:
    """Rows of a padded array that belong to trajectories, always a copy."""
    value = value.astype(dtype_of(name), copy=False)
    if value.shape[:2] != inside.shape:
        raise DataError(f"'{name}' has shape {value.shape}, expected {inside.shape} first")
    if inside.all():
        return value.reshape(inside.size, *value.shape[2:]).copy()
    return value[inside]


def _as_numpy(value: Any) -> np.ndarray:
    detach = getattr(value, "detach", None)
    return np.asarray(value if detach is None else detach().cpu())


def _describe(value: np.ndarray) -> str:
    return f"{value.dtype} of shape {value.shape}"


__all__ = [
    "CONTACT_FIELDS",
    "ContactSource",
    "DataError",
    "ShardMeta",
    "TeacherMode",
    "Trajectories",
    "check_trajectories",
    "command_line",
    "dtype_of",
    "host_name",
    "pack_trajectories",
    "shape_of",
]
