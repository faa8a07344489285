# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Motion to identify from: recordings or datasets of trajectories, in parts to train on and to judge.

Example::

    motion = read_motion([Path("pendulum_train.h5"), Path("pendulum_val.h5")], spec=None, leave_out=("swing_up",))
    windows = motion.windows("train", seconds=0.5)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from ..data.dataset import SplitName, TrajectoryDataset
from ..recordings.conversion import ConversionCfg, motions
from ..recordings.reading import read_recordings
from ..robot.spec import Inertia, RobotSpec
from .cost import Windows, joint_windows
from .parameterisation import IdentificationError

Part = Literal["train", "held-out"]

HELD_OUT = 5
"""Where the data know no validation split, one run out of so many is held out."""

BASE_INERTIA = Inertia(1.0, (0.0, 0.0, 0.0), (0.01, 0.01, 0.01))
"""Inertia of the root of a fixed base where none is given: it does not move, so nothing depends on it."""


@dataclass(frozen=True, eq=False)
class Run:
    """The motion of one run at equal steps."""

    name: str
    """Its name."""
    family: str
    """Family of runs that it belongs to; empty where there are none."""
    split: str
    """Split that the data give it; empty where they give none."""
    state: Tensor
    """States, shape (T + 1, S)."""
    control: Tensor
    """Controls held over each step, shape (T, C)."""


@dataclass(frozen=True, eq=False)
class MotionData:
    """Runs of one robot."""

    spec: RobotSpec
    """The robot as the data describe it."""
    runs: tuple[Run, ...]
    """Its runs."""
    left_out: tuple[str, ...] = ()
    """Families whose runs are not trained on."""
    emphasis: Mapping[str, int] = field(default_factory=dict)
    """How many times the windows of a family count when they are trained on; once by default."""

    def part(self, part: Part) -> list[Run]:
        """Runs to train on, or held out: those of the validation split, where there is one, and families left out.

        Args:
            part: Which.
        """
        if any(run.split == "val" for run in self.runs):
            held = [run for run in self.runs if run.split == "val"]
            rest = [run for run in self.runs if run.split not in ("val", "test")]
        else:
            order = [run for run in self.runs if run.split != "test"]
            held = [run for number, run in enumerate(order) if number % HELD_OUT == HELD_OUT - 1] or order[-1:]
            rest = [run for run in order if run not in held] or order
        if part == "held-out":
            return held
        return [run for run in rest if run.family not in self.left_out]

    def windows(self, part: Part, seconds: float, stride: float | None = None, limit: int | None = None) -> Windows:
        """Windows of a part.

        Args:
            part: Which.
            seconds: Length of a window [s].
            stride: Time from the beginning of one window to that of the next [s]; half a window by default.
            limit: Most windows; None for all.
        """
        dt = self.spec.control_dt
        steps = max(1, round(seconds / dt))
        every = max(1, round((0.5 * seconds if stride is None else stride) / dt))
        runs = self.part(part)
        if part == "train":
            runs = [run for run in runs for _ in range(self.emphasis.get(run.family, 1))]
        if not runs:
            raise IdentificationError(
                f"got no run to {'train on' if part == 'train' else 'hold out'}: expected runs that are neither of the "
                f"test split nor of the families left out ({', '.join(self.left_out) or 'none'})"
            )
        return joint_windows([(run.name, run.state, run.control) for run in runs], steps, every, limit)


def read_motion(
    paths: Sequence[Path],
    spec: RobotSpec | None = None,
    leave_out: Sequence[str] = (),
    emphasis: Mapping[str, int] | None = None,
) -> MotionData:
    """Motion out of files of recordings or folders of datasets, all of one robot.

    Args:
        paths: Files or folders.
        spec: The robot, whose control step is that of the motion; by default as the data describe it.
        leave_out: Families of runs not to train on.
        emphasis: How many times the windows of a family count; once by default.
    """
    emphasis = dict(emphasis or {})
    if not paths:
        raise IdentificationError("got no data, expected a file of recordings or a folder of a dataset")
    found = [_read_folder(path) if path.is_dir() else _read_file(path, spec) for path in paths]
    spec = completed(spec or found[0].spec)
    for path, each in zip(paths, found, strict=True):
        if each.spec.state.dim != spec.state.dim or each.spec.control_dim != spec.control_dim:
            raise IdentificationError(
                f"'{path}' holds motion of '{each.spec.name}' with {each.spec.state.dim} numbers of state and "
                f"{each.spec.control_dim} controls, expected those of '{spec.name}': {spec.state.dim} and "
                f"{spec.control_dim}"
            )
    runs = tuple(run for each in found for run in each.runs)
    unknown = sorted({*leave_out, *emphasis} - {run.family for run in runs})
    if unknown:
        raise IdentificationError(
            f"got the unknown families {', '.join(name[:60] for name in unknown)}, expected some of "
            f"{', '.join(sorted({run.family for run in runs if run.family})) or 'none: these data have no families'}"
        )
    return MotionData(spec, runs, tuple(leave_out), emphasis)


def completed(spec: RobotSpec) -> RobotSpec:
    """The specification, with an inertia of the root of a fixed base.

    Args:
        spec: The robot.
    """
    bodies = tuple(
        replace(body, inertia=BASE_INERTIA)
        if body.inertia is None and body.parent is None and not spec.floating_base
        else body
        for body in spec.bodies
    )
    return replace(spec, bodies=bodies)


def _read_file(path: Path, spec: RobotSpec | None) -> MotionData:
    recordings = read_recordings(path)
    family = {each.name: each.family for each in recordings.recordings}
    rate = None if spec is None or recordings.time_base == "frames" else 1.0 / spec.control_dt
    runs = []
    for motion in motions(recordings, ConversionCfg(rate=rate, piece=0.0)):
        state, control = torch.from_numpy(motion.state), torch.from_numpy(motion.control)
        runs.append(Run(motion.name, family[motion.name], motion.split, state.double(), control.double()))
    made = recordings.spec if rate is None else recordings.at_rate(rate).spec
    return MotionData(made, tuple(runs))


def _read_folder(path: Path) -> MotionData:
    dataset, runs = TrajectoryDataset.open(path), []
    splits: tuple[tuple[SplitName, str], ...] = (("train", ""), ("valid", "val"))
    for split, name in splits:
        part = dataset.split(split)
        for number, length in enumerate(part.length.tolist()):
            batch = part.gather(np.array([number]), np.array([0]), length)
            run = Run(f"{path.name} {split} {number}", "", name, batch.state[0].double(), batch.control[0].double())
            runs.append(run)
    return MotionData(dataset.spec, tuple(runs))


__all__ = ["MotionData", "Part", "Run", "completed", "read_motion"]
