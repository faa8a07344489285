# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Opening a log, whatever its format: HDF5 of known schemas, CSV, MCAP, bags of ROS, LeRobot data sets.

HDF5 files say what they hold and which robot it is of. Other formats need a map of columns (a file, or one that lies
beside the log as ``<name>.columns.json``), and a robot: a specification, a URDF file, or the model that is judged.

Example::

    recordings = read_recordings("cube.h5").of_split("val")
    recordings = read_recordings("run.csv", columns="run.columns.json", robot="arm.urdf")
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

from ..files.messages import printable
from ..files.safe_files import UnsafeFile, read_bytes
from ..robot.spec import Control, RobotSpec, SpecError
from .csv_files import read_csv
from .hdf5 import MAX_FILE_BYTES
from .lerobot import is_lerobot, read_lerobot
from .message_logs import read_bag, read_mcap
from .recording import RecordingError, RecordingSet
from .schemas import read_schema
from .tables import ColumnMap, Table, recordings_of
from .urdf import read_urdf

HDF5, CSV, BAGS = (".h5", ".hdf5"), (".csv", ".tsv"), (".bag", ".db3")
"""Endings of files."""

FORMATS = (*HDF5, *CSV, ".mcap", *BAGS)
"""Endings of all files that are read."""

SIDECAR = ".columns.json"
"""Ending of a map of columns that lies beside a log."""

DEFAULT_RATE = 100.0
"""Control steps in a second of a robot from a URDF file, until the stamps are known [Hz]."""


def read_recordings(
    path: str | Path, columns: str | Path | None = None, robot: str | Path | RobotSpec | None = None
) -> RecordingSet:
    """The recordings of a log. Raises :class:`RecordingError` with what is wrong with it.

    Args:
        path: The log: a file; a folder of CSV files, each a run; the folder of a bag or of a LeRobot data set.
        columns: Map of its columns; by default one that lies beside it. Not for HDF5.
        robot: Specification (``.json``), URDF file, or a :class:`RobotSpec`. Not for HDF5.
    """
    path = Path(path)
    if not path.exists():
        raise RecordingError(f"'{path.name}' is not there: expected a file of recordings")
    if path.suffix.lower() in HDF5:
        if columns is not None:
            raise RecordingError(f"got a map of columns for '{path.name}': an HDF5 file says itself what it holds")
        return read_schema(path)
    tables, kind, given = _tables(path)
    map_file = Path(columns) if columns is not None else path.with_name(path.name.removesuffix(path.suffix) + SIDECAR)
    found = ColumnMap.load(map_file) if columns is not None or map_file.is_file() else given
    if found is None:
        raise RecordingError(
            f"'{path.name}' does not say what its columns are: give a map with --columns, or put one beside it as "
            f"'{map_file.name}' (docs/real-data.md)"
        )
    if robot is None:
        raise RecordingError(f"'{path.name}' does not say which robot it is of: give a URDF file or a specification")
    spec = robot if isinstance(robot, RobotSpec) else read_robot(robot, found)
    # A URDF file knows no control step; a specification has the one of its task.
    is_urdf = not isinstance(robot, RobotSpec) and Path(robot).suffix.lower() == ".urdf"
    rate = None if is_urdf else 1.0 / spec.control_dt
    try:
        if len(tables) > 1 and kind == "csv":
            runs = [recordings_of([table], found, spec, name, kind, rate) for name, table in tables.items()]
            return replace(runs[0], recordings=tuple(each for run in runs for each in run.recordings))
        return recordings_of(list(tables.values()), found, spec, path.stem, kind, rate)
    except RecordingError as error:
        raise RecordingError(f"'{path.name}': {error}") from None


def read_robot(path: str | Path, columns: ColumnMap) -> RobotSpec:
    """The specification of a robot whose log has such columns.

    Args:
        path: Specification (``.json``) or URDF file.
        columns: Map of the log's columns.
    """
    path = Path(path)
    if path.suffix.lower() == ".json":
        return read_specification(path)
    if path.suffix.lower() != ".urdf":
        raise RecordingError(
            f"got the robot '{path.name}', expected a URDF file or a specification (.json). Of a USD or MJCF file take "
            "the specification that 'nerd models init' writes for a task of the robot: spec.json of the model"
        )
    spec = read_urdf(path, floating=bool(columns.root_pos), rate=columns.rate or DEFAULT_RATE)
    if not columns.controls:
        return replace(spec, controls=())
    moved = columns.controlled or tuple(control.joint for control in spec.controls)
    try:
        return replace(spec, controls=tuple(Control(name, columns.control_kind) for name in moved))
    except SpecError as error:
        raise RecordingError(f"the map of columns and '{path.name}': {error}") from None


def read_specification(path: str | Path) -> RobotSpec:
    """The specification in a file.

    Args:
        path: Specification (``.json``).
    """
    try:
        return RobotSpec.load(path)
    except SpecError as error:
        raise RecordingError(printable(str(error)[:1000])) from None


def is_recording(path: str | Path) -> bool:
    """Whether a path is a log, by its name and what lies in it, and not a dataset of trajectories."""
    path = Path(path)
    if path.is_dir():
        return is_lerobot(path) or (path / "metadata.yaml").is_file() or any(path.glob("*.csv"))
    return path.is_file() and path.suffix.lower() in FORMATS and not path.parent.name.startswith("shard-")


def file_digest(path: str | Path) -> str:
    """SHA-256 of a file in hexadecimal; empty for a folder.

    Args:
        path: The file.
    """
    if Path(path).is_dir():
        return ""
    try:
        return hashlib.sha256(read_bytes(Path(path), MAX_FILE_BYTES)).hexdigest()
    except UnsafeFile as error:
        raise RecordingError(str(error)) from None


def _tables(path: Path) -> tuple[dict[str, Table], str, ColumnMap | None]:
    """Tables of a log by name, the name of its format, and what its columns are, where the format says it."""
    ending = path.suffix.lower()
    if path.is_dir():
        if is_lerobot(path):
            table, columns = read_lerobot(path)
            return {path.name: table}, "lerobot", columns
        if (path / "metadata.yaml").is_file():
            return {str(number): table for number, table in enumerate(read_bag(path))}, "bag", None
        files = sorted(path.glob("*.csv"))
        if not files:
            raise RecordingError(f"the folder '{path.name}' holds no CSV files, no bag and no LeRobot data set")
        return {file.stem: read_csv(file) for file in files}, "csv", None
    if ending in CSV:
        return {path.stem: read_csv(path)}, "csv", None
    if ending == ".mcap":
        return {str(number): table for number, table in enumerate(read_mcap(path))}, "mcap", None
    if ending in BAGS:
        return {str(number): table for number, table in enumerate(read_bag(path))}, "bag", None
    raise RecordingError(f"got '{path.name}', expected a file that ends with {', '.join(FORMATS)}")


__all__ = ["HDF5", "file_digest", "is_recording", "read_recordings", "read_robot", "read_specification"]
