# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What a batch of trajectories is: which arrays, of which shapes, and where they came from.

Trajectories differ in length, so a batch stores them *flat*: one after another along the first dimension. A trajectory
of ``T`` transitions has ``T + 1`` states and ``T`` of everything that belongs to a step (controls, contacts, forces).
"""

from __future__ import annotations

import functools
import platform
import shlex
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from ..files.provenance import without_folder
from ..robot.spec import RobotSpec
from .fields import FIELDS, dtype_of, group_members, rows_per_trajectory, shape_of

ContactSource = Literal["none", "geometry", "sensor"]
TeacherMode = Literal["continuous", "rewritten", "measured"]


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


class Trajectories:
    """A batch of trajectories in memory, flat. ``N`` trajectories, ``R`` transitions in total.

    Each field of :data:`~nerd_core.data.fields.FIELDS` is an attribute; one that was not recorded is None.
    """

    arrays: dict[str, np.ndarray]
    """The arrays that are there, by name."""
    length: np.ndarray
    """Number of transitions of each trajectory, int64, shape (N,)."""
    state: np.ndarray
    """States (see :class:`~nerd_core.robot.spec.StateLayout`), float32, shape (R + N, S)."""
    control: np.ndarray
    """Controls held during each step [units of the channel], float32, shape (R, C)."""

    def __init__(self, *, length: np.ndarray, state: np.ndarray, control: np.ndarray, **recorded: np.ndarray | None):
        """Takes arrays as they are; :func:`check_trajectories` checks them.

        Args:
            length: See :attr:`length`.
            state: See :attr:`state`.
            control: See :attr:`control`.
            recorded: Other fields by name, see :data:`~nerd_core.data.fields.FIELDS`.
        """
        given = {"length": length, "state": state, "control": control, **recorded}
        require_known(given)
        self.arrays = {name: value for name in FIELDS if (value := given.get(name)) is not None}

    def __getattr__(self, name: str) -> Any:
        if name in FIELDS:
            return self.arrays.get(name)
        raise AttributeError(f"trajectories have no field '{name}'")

    @property
    def count(self) -> int:
        """Number of trajectories."""
        return len(self.length)

    @property
    def transitions(self) -> int:
        """Number of transitions of all trajectories together."""
        return int(self.length.sum())

    def rows(self, name: str) -> np.ndarray:
        """First row of each trajectory in one array, and one past the last: int64, shape (N + 1,)."""
        return np.concatenate(([0], np.cumsum(rows_per_trajectory(name, self.length))))

    def part(self, begin: int, end: int) -> Trajectories:
        """Trajectories ``begin`` to ``end`` (excluded), as views."""
        cut = {}
        for name, value in self.arrays.items():
            rows = self.rows(name)
            cut[name] = value[rows[begin] : rows[end]]
        return Trajectories(**cut)


def require_known(names: Iterable[str]) -> None:
    """Raises :class:`DataError` for a name that is not in the table of fields."""
    unknown = sorted(set(names) - set(FIELDS))
    if unknown:
        raise DataError(f"got the unknown fields {unknown}, expected some of {sorted(FIELDS)}")


def split_groups(recorded: Mapping[str, Any]) -> dict[str, Any]:
    """Fields by name, with an object that holds a whole group (``contacts``) taken apart.

    Args:
        recorded: Values by the name of a field or of a group; None where there is nothing. The object of a group is a
            mapping, or has attributes.
    """
    fields: dict[str, Any] = {}
    for key, value in recorded.items():
        if value is None:
            continue
        pick = value.__getitem__ if isinstance(value, Mapping) else functools.partial(getattr, value)
        fields |= {name: pick(member) for name, member in group_members(key).items()} or {key: value}
    require_known(fields)
    return fields


def check_trajectories(spec: RobotSpec, batch: Trajectories, what: str) -> None:
    """Raises :class:`DataError` unless the arrays fit the specification and each other."""
    if batch.length.ndim != 1 or batch.length.dtype != dtype_of("length"):
        raise DataError(f"{what}: got lengths of {_describe(batch.length)}, expected int64 of shape (N,)")
    if batch.count == 0 or int(batch.length.min()) < 1:
        raise DataError(f"{what}: got a trajectory without transitions, expected at least one trajectory of one step")
    if int(batch.length.max()) > 2**40:
        raise DataError(f"{what}: got a trajectory of {int(batch.length.max())} steps, more than a file can hold")
    arrays = batch.arrays
    for name, value in arrays.items():
        expected = shape_of(name, spec, batch.length)
        if value.shape != expected or value.dtype != dtype_of(name):
            raise DataError(
                f"{what}: '{name}' is {_describe(value)}, expected {dtype_of(name)} of shape {expected} for the robot "
                f"'{spec.name}' and {batch.count} trajectories with {batch.transitions} transitions"
            )
    for group in dict.fromkeys(row.group for row in FIELDS.values() if row.group):
        members = list(group_members(group))
        found = [name for name in members if name in arrays]
        if found and found != members:
            raise DataError(f"{what}: got only {found} of the {group}, expected all of {members} or none")


def pack_trajectories(
    spec: RobotSpec, state: Any, control: Any, *, length: Any = None, **recorded: Any
) -> Trajectories:
    """Flat trajectories from padded arrays or tensors, as a simulator with ``N`` environments gives them.

    Args:
        spec: The robot.
        state: States, shape (N, T + 1, S).
        control: Controls held during each step, shape (N, T, C).
        length: Number of transitions of each trajectory, shape (N,); all ``T`` when left out. The rest is padding.
        recorded: Other fields of :data:`~nerd_core.data.fields.FIELDS` by name: those of a step have the shape
            (N, T, ...), those of a state (N, T + 1, ...), those of a trajectory (N, ...), or (...) for all alike.
            ``contacts`` is an object or a mapping with ``distance``, ``normal``, ``point`` and ``active``.
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
    inside = np.arange(steps + 1) <= lengths[:, None]
    flat = {}
    for name, value in {"state": state, "control": control, **split_groups(recorded)}.items():
        value = _as_numpy(value)
        if FIELDS[name].rows == "trajectory":
            flat[name] = _one_each(name, value, FIELDS[name].shape(spec), count)
        else:
            flat[name] = _flatten(name, value, inside if FIELDS[name].rows == "state" else inside[:, 1:])
    batch = Trajectories(length=lengths, **flat)
    check_trajectories(spec, batch, "the trajectories")
    if "contact_active" in flat:
        # What is not active means nothing: it must not reach a statistic by accident.
        far = flat["contact_active"] == 0
        for name in group_members("contacts"):
            flat[name][far] = 0
    return batch


def command_line(argv: list[str] | None = None) -> str:
    """The command of this process (or ``argv``) with every path that is not relative cut down to its last part."""
    words = list(sys.argv if argv is None else argv)
    return shlex.join(without_folder(word) for word in words)


def host_name() -> str:
    """Name of this machine."""
    return platform.node()


def _one_each(name: str, value: np.ndarray, shape: tuple[int, ...], count: int) -> np.ndarray:
    """One row for each trajectory, always a copy; a single row is that of all."""
    if value.shape not in (shape, (count, *shape)):
        raise DataError(f"'{name}' has shape {value.shape}, expected {shape} or {(count, *shape)}")
    return np.broadcast_to(value.astype(dtype_of(name)), (count, *shape)).copy()


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
    "ContactSource",
    "DataError",
    "ShardMeta",
    "TeacherMode",
    "Trajectories",
    "check_trajectories",
    "command_line",
    "host_name",
    "pack_trajectories",
    "require_known",
    "split_groups",
]
