# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""``nerd data import``: measurements of a real mechanism become a dataset that ``nerd train`` takes.

.. code-block:: bash

    nerd data import cube.h5 --split train --out data/cube
    nerd data import cube.h5 --robot simulated/spec.json --out data/cube   # for a model of a simulated cube
    nerd data import logs/run.csv --columns map.json --robot arm.urdf --out data/arm
    nerd data import pendulum.h5 --rate 100 --effort commanded --delay 0.008 --out data/pendulum
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated

import tyro

from ..files.bounds import bounded, check_bounds
from ..files.outputs import require_folder
from ..recordings.conversion import ConversionCfg, converted, write_dataset
from ..recordings.fitting import STEP_TOLERANCE, for_robot
from ..recordings.reading import HDF5, read_recordings, read_specification
from ..recordings.recording import RecordingError
from ..robot.spec import RobotSpec
from .terminal import say


@dataclass
class Import:
    """Make a dataset of trajectories from a file of measurements."""

    path: tyro.conf.Positional[Path]
    """The measurements: HDF5 of the schemas ``realdata.*``, CSV (or a folder of such files, each a run), MCAP, a bag of
    ROS, a folder of LeRobot."""
    out: Path
    """Folder of the new dataset."""
    columns: Path | None = None
    """Map of the columns, for all but HDF5; by default ``<name>.columns.json`` beside the log."""
    robot: Path | None = None
    """The robot: a URDF file, or a specification such as the ``spec.json`` of a model. HDF5 files say themselves which
    robot they are of; for them a specification of the same mechanism makes data that a model of it can go on with."""
    split: str = "all"
    """Split to take, for instance ``train`` or ``val``; ``all`` for all, each in a shard of its name."""
    family: tuple[str, ...] = ()
    """Families of runs to take; all by default."""
    without_family: tuple[str, ...] = ()
    """Families of runs to leave out."""
    count: int | None = bounded(None, at_least=1)
    """Runs to take, the first of them in the order of the file; all by default."""
    conversion: Annotated[ConversionCfg, tyro.conf.arg(name="")] = field(default_factory=ConversionCfg)
    """How measurements become trajectories."""

    def __post_init__(self):
        check_bounds(self)


def import_recordings(command: Import) -> int:
    """Does what ``nerd data import`` was told.

    Args:
        command: What it was told.
    """
    require_folder(command.out, "--out")
    recordings = read_recordings(command.path, command.columns, command.robot).of_split(command.split)
    conversion = command.conversion
    if command.robot is not None and command.path.suffix.lower() in HDF5:
        spec = read_specification(command.robot)
        _require_rate_of(spec, conversion.rate)
        recordings, conversion = for_robot(converted(recordings, conversion), spec), replace(conversion, rate=None)
    if command.family:
        recordings = recordings.where(lambda each: each.family in command.family, f"families {command.family}")
    if command.without_family:
        left = command.without_family
        recordings = recordings.where(lambda each: each.family not in left, f"families other than {left}")
    if command.count is not None:
        recordings = recordings.first(command.count)
    manifest = write_dataset(recordings, command.out, conversion)
    spec = converted(recordings, conversion).spec
    runs = len(recordings.recordings)
    say(
        f"{runs:,} runs of '{spec.name}': {manifest.trajectories:,} trajectories, {manifest.transitions:,} transitions "
        f"of {spec.control_dt * 1e3:.4g} ms in {command.out}"
    )
    return 0


def _require_rate_of(spec: RobotSpec, rate: float | None) -> None:
    """Raises :class:`RecordingError` for a rate that is not that of a robot's control steps."""
    if rate is not None and abs(rate * spec.control_dt - 1.0) > STEP_TOLERANCE:
        raise RecordingError(
            f"got --rate {rate:g} for a robot with {1.0 / spec.control_dt:.6g} control steps in a second, expected the "
            "same: give its rate, or leave --robot out"
        )


__all__ = ["Import", "import_recordings"]
