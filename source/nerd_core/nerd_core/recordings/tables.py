# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Tables of logs, and the map that says which column is what: from named columns to recordings.

A CSV file is one table. A log of messages has one for each topic, with stamps of its own; what drives or moves the
robot on other stamps is brought to those of its positions, held signals by what they held, the others along lines.

A map is a JSON file (docs/real-data.md)::

    {"time": "t_ms", "time_unit": "ms", "joint_pos": ["q1", "q2"], "angle_unit": "deg",
     "controls": {"measured": ["tau1", "tau2"]}, "run": "episode"}
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np

from ..files.messages import printable, shortened
from ..files.safe_files import UnsafeFile, parse_json, read_bytes
from ..files.serialization import StructureError, from_plain
from ..robot.spec import RobotSpec
from .physics import into_world
from .recording import Recording, RecordingError, RecordingSet

MAX_MAP_BYTES = 2**18
"""Largest map of columns [bytes]."""

LONGEST_LABEL = 60
"""Longest name of a run [characters]."""

SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
ANGLES = {"rad": 1.0, "deg": math.pi / 180.0}
LENGTHS = {"m": 1.0, "mm": 1e-3, "cm": 1e-2}
"""Units and what they are in SI."""


@dataclass(frozen=True)
class ColumnMap:
    """Which columns of a log are what, and in which units."""

    time: str = ""
    """Column of the stamps; empty for frames at :attr:`rate`, and for logs of messages, which have their own."""
    time_unit: Literal["s", "ms", "us", "ns"] = "s"
    """Unit of the stamps."""
    rate: float | None = None
    """Frames in a second, where there are no stamps [Hz]; else control steps in a second of the trajectories."""
    run: str = ""
    """Column with the number or name of the run; empty for one run a file."""
    split: str = ""
    """Column with the split of the run; empty where there is none."""
    joint_pos: tuple[str, ...] = ()
    """Columns of the joint positions, in the order of the robot's joints."""
    joint_vel: tuple[str, ...] = ()
    """Columns of the joint velocities; empty where they were not recorded."""
    angle_unit: Literal["rad", "deg"] = "rad"
    """Unit of angles and angular velocities."""
    root_pos: tuple[str, ...] = ()
    """Three columns of the position of the root; empty for a fixed base."""
    root_quat: tuple[str, ...] = ()
    """Four columns of its orientation."""
    quat_order: Literal["xyzw", "wxyz"] = "xyzw"
    """Order of these columns."""
    length_unit: Literal["m", "mm", "cm"] = "m"
    """Unit of lengths and linear velocities."""
    root_lin_vel: tuple[str, ...] = ()
    """Three columns of its velocity; empty where it was not recorded."""
    root_ang_vel: tuple[str, ...] = ()
    """Three columns of its angular velocity."""
    linear_axes: Literal["world", "body"] = "world"
    """Axes of the velocity."""
    angular_axes: Literal["world", "body"] = "world"
    """Axes of the angular velocity."""
    controls: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Columns of each signal that drives the robot, in the order of its controls, by the name of the signal."""
    held: tuple[str, ...] = ()
    """Signals that are held from frame to frame (commands); the others are samples."""
    control: str = ""
    """Signal that a model gets, unless another is asked for; by default the first."""
    control_kind: Literal["effort", "position", "velocity"] = "effort"
    """What the signals are, for a robot from a URDF file."""
    controlled: tuple[str, ...] = ()
    """Joints that they act on, for a robot from a URDF file; by default all that move by themselves."""
    missing: Literal["refuse", "drop"] = "refuse"
    """What to do with rows in which a number is missing: refuse the file, or leave these rows out."""
    unsorted: Literal["refuse", "sort"] = "refuse"
    """What to do with rows that are not in the order of their stamps: refuse the file, or sort them."""

    @classmethod
    def load(cls, path: str | Path) -> ColumnMap:
        """Reads a map. Raises :class:`RecordingError` for keys and values that it does not have.

        Args:
            path: The JSON file.
        """
        name = Path(path).name
        try:
            return from_plain(cls, parse_json(read_bytes(Path(path), MAX_MAP_BYTES), name))
        except (UnsafeFile, StructureError) as error:
            raise RecordingError(f"the map of columns '{name}': {printable(str(error)[:600])}") from None

    def __post_init__(self):
        lengths = {"root_pos": 3, "root_quat": 4, "root_lin_vel": 3, "root_ang_vel": 3}
        for name, count in lengths.items():
            if len(getattr(self, name)) not in (0, count):
                raise RecordingError(f"the map of columns: '{name}' names {len(getattr(self, name))}, expected {count}")
        if bool(self.root_pos) != bool(self.root_quat):
            raise RecordingError("the map of columns: got one of 'root_pos' and 'root_quat', expected both or none")
        if not self.root_pos and not self.joint_pos:
            raise RecordingError("the map of columns: got neither 'joint_pos' nor 'root_pos', expected one of them")
        if self.joint_vel and len(self.joint_vel) != len(self.joint_pos):
            raise RecordingError("the map of columns: 'joint_vel' and 'joint_pos' differ in length")
        if self.rate is not None and not 0.0 < self.rate <= 1e5:
            raise RecordingError(
                f"the map of columns: got the rate {self.rate}, expected more than 0 and at most 1e5 Hz"
            )
        unknown = ({*self.held} | ({self.control} - {""})) - set(self.controls)
        if unknown:
            raise RecordingError(f"the map of columns: {shortened(sorted(unknown))} are no signals in 'controls'")


@dataclass(frozen=True, eq=False)
class Table:
    """Columns of numbers or words on the same stamps."""

    columns: Mapping[str, np.ndarray]
    """Columns by name, each of shape (T,): float64, or texts."""
    time: np.ndarray | None = None
    """Stamps of the rows [s], where the log has its own; shape (T,)."""


def recordings_of(
    tables: list[Table], columns: ColumnMap, spec: RobotSpec, name: str, schema: str, rate: float | None = None
) -> RecordingSet:
    """The recordings of a log.

    Args:
        tables: Its tables.
        columns: Which columns are what.
        spec: The robot.
        name: Name of the log, for runs and messages.
        schema: Name of its format.
        rate: Control steps in a second [Hz]; by default that of the map, or else of the stamps.
    """
    _require_robot(columns, spec)
    base = _table_with(tables, (columns.root_pos or columns.joint_pos)[0])
    stamps = _stamps(base, columns)
    keep = np.ones(len(stamps), bool)
    needed = [*columns.joint_pos, *columns.joint_vel, *columns.root_pos, *columns.root_quat]
    needed += [
        *columns.root_lin_vel,
        *columns.root_ang_vel,
        *(each for row in columns.controls.values() for each in row),
    ]
    held = {each for signal in columns.held for each in columns.controls[signal]}
    values = {each: _at(stamps, _table_with(tables, each), each, columns, base, each in held) for each in needed}
    if columns.missing == "drop":
        keep &= np.isfinite(stamps) & np.all([np.isfinite(value) for value in values.values()], axis=0)
    labels = _labels(base, columns.run, len(stamps), name)
    splits = _labels(base, columns.split, len(stamps), "")
    runs = []
    for label in dict.fromkeys(labels[keep].tolist()):
        rows = np.flatnonzero(keep & (labels == label))
        if columns.unsorted == "sort":
            rows = rows[np.argsort(stamps[rows], kind="stable")]
        runs.append(
            _run(
                {key: value[rows] for key, value in values.items()}, stamps[rows], columns, label, str(splits[rows[0]])
            )
        )
    if not runs:
        raise RecordingError("no row is complete: nothing is left of it")
    rate = rate or columns.rate or float(1.0 / np.median(np.concatenate([np.diff(run.time) for run in runs])))
    rate = min(max(rate, 1e-3), 1e5)
    target = RecordingSet(
        schema,
        spec,
        tuple(runs),
        time_base="stamps",
        rate=rate,
        facts={"title": name},
        effort=columns.control or next(iter(columns.controls), ""),
        velocities="recorded where the map names columns, else rates of local cubic polynomials over 15 frames",
    )
    return target.at_rate(rate)


def _run(values: dict[str, np.ndarray], stamps: np.ndarray, columns: ColumnMap, label: str, split: str) -> Recording:
    rows = len(stamps)

    def table(names: tuple[str, ...], unit: float = 1.0) -> np.ndarray | None:
        return unit * np.stack([values[each] for each in names], axis=1) if names else None

    angle, length = ANGLES[columns.angle_unit], LENGTHS[columns.length_unit]
    quat = table(columns.root_quat)
    if quat is not None and columns.quat_order == "wxyz":
        quat = np.roll(quat, -1, axis=1)
    lin_vel, ang_vel = table(columns.root_lin_vel, length), table(columns.root_ang_vel, angle)
    if quat is not None and lin_vel is not None and columns.linear_axes == "body":
        lin_vel = into_world(quat, lin_vel)
    if quat is not None and ang_vel is not None and columns.angular_axes == "body":
        ang_vel = into_world(quat, ang_vel)
    joint_pos = table(columns.joint_pos, angle)
    joint_vel = table(columns.joint_vel, angle)
    has_joints = joint_pos is not None
    return Recording(
        name=label,
        time=stamps - stamps[0],
        joint_pos=np.unwrap(joint_pos, axis=0) if has_joints else np.zeros((rows, 0)),
        joint_vel=joint_vel if has_joints else np.zeros((rows, 0)),
        root_pos=table(columns.root_pos, length),
        root_quat=quat,
        root_lin_vel=lin_vel,
        root_ang_vel=ang_vel,
        efforts={name: found for name, row in columns.controls.items() if (found := table(row)) is not None},
        held=frozenset(columns.held),
        split=split,
    )


def _require_robot(columns: ColumnMap, spec: RobotSpec) -> None:
    """Raises :class:`RecordingError` unless a map has what the state and the controls of a robot are made of."""
    if len(columns.joint_pos) != len(spec.joints):
        raise RecordingError(
            f"the map of columns names {len(columns.joint_pos)} joint positions, expected {len(spec.joints)} for the "
            f"joints {shortened(list(spec.joint_names), 200)} of '{spec.name}'"
        )
    if bool(columns.root_pos) != spec.floating_base:
        kind = (
            "a free root, expected 'root_pos' and 'root_quat'" if spec.floating_base else "a fixed base, expected none"
        )
        raise RecordingError(f"the map of columns and '{spec.name}' do not agree on the root: the robot has {kind}")
    if any(joint.kind == "prismatic" for joint in spec.joints) and (columns.angle_unit, columns.length_unit) != (
        "rad",
        "m",
    ):
        raise RecordingError(f"'{spec.name}' has sliding joints: convert columns to rad and m first")
    for name, row in columns.controls.items():
        if len(row) != spec.control_dim:
            raise RecordingError(
                f"the signal '{shortened(name)}' has {len(row)} columns, expected {spec.control_dim} for the controls "
                f"of '{spec.name}'"
            )
    if spec.controls and not columns.controls:
        raise RecordingError(f"'{spec.name}' has {spec.control_dim} controls, expected a signal in 'controls'")


def _table_with(tables: list[Table], column: str) -> Table:
    for table in tables:
        if column in table.columns:
            return table
    names = [name for table in tables for name in table.columns]
    near = ", ".join(printable(shortened(name)) for name in sorted(names)[:40])
    raise RecordingError(f"there is no column {shortened(column)}; there are {len(names)}: {near}")


def _stamps(base: Table, columns: ColumnMap) -> np.ndarray:
    """Times of the rows [s]."""
    if columns.time:
        return SECONDS[columns.time_unit] * numbers(_table_with([base], columns.time), columns.time)
    if base.time is not None:
        return base.time
    if columns.rate is None:
        raise RecordingError("the map of columns: got neither 'time' nor 'rate', expected one of them")
    count = len(next(iter(base.columns.values())))
    return np.arange(count) / columns.rate


def _at(stamps: np.ndarray, table: Table, column: str, columns: ColumnMap, base: Table, is_held: bool) -> np.ndarray:
    """A column at the stamps of the positions."""
    values = numbers(table, column)
    if table is base:
        return values
    own = table.time
    if own is None or len(own) < 2 or not (np.diff(own) > 0).all():
        raise RecordingError(f"the stamps of the table with {shortened(column)} do not increase")
    if is_held:
        return values[np.clip(np.searchsorted(own, stamps, side="right") - 1, 0, len(own) - 1)]
    return np.interp(stamps, own, values)


def numbers(table: Table, column: str) -> np.ndarray:
    """A column as float64; an error names the first row that holds something else."""
    values = table.columns[column]
    if values.dtype.kind in "fiub":
        return values.astype(np.float64)
    try:
        return values.astype(np.float64)
    except ValueError:
        for row, value in enumerate(values.tolist()):
            try:
                float(value or "nan")
            except ValueError:
                said = printable(shortened(value))
                raise RecordingError(
                    f"column {shortened(column)} holds {said} in row {row + 1}, expected a number"
                ) from None
    return np.array([float(value or "nan") for value in values.tolist()])


def _labels(base: Table, column: str, rows: int, default: str) -> np.ndarray:
    if not column:
        return np.array([default] * rows, dtype=object)
    values = _table_with([base], column).columns[column].tolist()
    texts = [f"{value:g}" if isinstance(value, float) else str(value) for value in values]
    return np.array([printable(text[:LONGEST_LABEL]) for text in texts], object)


__all__ = ["ColumnMap", "Table", "numbers", "recordings_of"]
