# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What was measured on a mechanism: time stamps, positions, velocities, efforts, as they were recorded.

A recording is not yet a trajectory: its stamps may be irregular, velocities may be missing, and controls may come in
several versions (commanded, measured). :mod:`nerd_core.recordings.conversion` makes trajectories of it.

All quantities are SI, axes of the world have z up, quaternions are ``xyzw`` and turn body axes into world axes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from ..files.messages import printable, shortened
from ..robot.spec import RobotSpec

TimeBase = Literal["stamps", "rate", "frames"]
"""What the times of a recording are: stamps of a clock; frames at a known rate; or frames whose rate is not known, so
that only the number of frames has a meaning, and the rate belongs to the model."""

QUAT_TOLERANCE = 1.0e-2
"""How far the length of a quaternion may be from one."""

ENDS_SHOWN = 12
"""Names of a long list that are shown."""


class RecordingError(ValueError):
    """A recording that is missing, damaged, contradictory, or not of the kind that is asked for."""


@dataclass(frozen=True, eq=False)
class Recording:
    """One run of a mechanism: ``T`` frames of ``J`` joints, with or without a free root."""

    name: str
    """Name of the run."""
    time: np.ndarray
    """Time of each frame [s], strictly increasing, float64, shape (T,)."""
    joint_pos: np.ndarray
    """Joint positions [rad or m], not wrapped, shape (T, J); J is 0 for a free body."""
    joint_vel: np.ndarray | None
    """Joint velocities [rad/s or m/s], shape (T, J); None where they were not recorded."""
    root_pos: np.ndarray | None = None
    """Position of the root link's origin, world [m], shape (T, 3); None for a fixed base."""
    root_quat: np.ndarray | None = None
    """Orientation of the root link, body to world, xyzw, shape (T, 4)."""
    root_lin_vel: np.ndarray | None = None
    """Velocity of the root link's origin, world axes [m/s], shape (T, 3)."""
    root_ang_vel: np.ndarray | None = None
    """Angular velocity of the root link, world axes [rad/s], shape (T, 3)."""
    efforts: Mapping[str, np.ndarray] = field(default_factory=dict)
    """Efforts on the joints by the name of the signal [N m or N], each of shape (T, C)."""
    held: frozenset[str] = frozenset()
    """Names of those signals that are held from one frame to the next (commands); the others are samples."""
    split: str = ""
    """Split to which the run belongs: ``train``, ``val``, ``test``, or empty where nobody said."""
    family: str = ""
    """Kind of the motion, for errors by family."""

    def __post_init__(self):
        frames = len(self.time)
        if self.time.shape != (frames,) or frames < 2:
            raise RecordingError(f"{self._say()} has {frames} frames, expected at least two")
        for name, value, columns in self._arrays():
            if value is not None and (value.ndim != 2 or len(value) != frames or columns not in (None, value.shape[1])):
                raise RecordingError(
                    f"{self._say()}: '{name}' has the shape {value.shape}, expected ({frames}, {columns or 'any'})"
                )
            if value is not None and not np.isfinite(value).all():
                row = int(np.flatnonzero(~np.isfinite(value).all(1))[0])
                raise RecordingError(
                    f"{self._say()}: '{name}' is NaN or infinite in {int((~np.isfinite(value)).any(1).sum())} of "
                    f"{frames} frames, the first is frame {row}: cut the recording there, or fill the gap and say so"
                )
        steps = np.diff(self.time)
        if not np.isfinite(self.time).all() or not (steps > 0).all():
            row = int(np.flatnonzero(~(steps > 0))[0]) if np.isfinite(self.time).all() else 0
            raise RecordingError(
                f"{self._say()}: time does not increase after frame {row} (at {self.time[row]:.6g} s): are the rows "
                "shuffled, repeated, or of two runs? Sort them by their stamps first"
            )
        if self.root_quat is not None:
            length = np.linalg.norm(self.root_quat, axis=1)
            wrong = np.abs(length - 1.0) > QUAT_TOLERANCE
            if wrong.any():
                row = int(wrong.argmax())
                raise RecordingError(
                    f"{self._say()}: got a quaternion of length {length[row]:.4g} in frame {row}, expected 1"
                )

    @property
    def frames(self) -> int:
        """Number of frames."""
        return len(self.time)

    @property
    def duration(self) -> float:
        """From the first frame to the last [s]."""
        return float(self.time[-1] - self.time[0])

    def part(self, begin: int, end: int, name: str | None = None) -> Recording:
        """Frames ``begin`` to ``end`` (excluded).

        Args:
            begin: First frame.
            end: One past the last frame.
            name: Name of the part; that of the whole by default.
        """
        cut = {key: value[begin:end] for key, value, _ in self._arrays() if value is not None and key in _FIELDS}
        efforts = {key: value[begin:end] for key, value in self.efforts.items()}
        return replace(self, name=name or self.name, time=self.time[begin:end], efforts=efforts, **cut)

    def _arrays(self) -> list[tuple[str, np.ndarray | None, int | None]]:
        joints = self.joint_pos.shape[1] if self.joint_pos.ndim == 2 else None
        rows: list[tuple[str, np.ndarray | None, int | None]] = [
            ("joint_pos", self.joint_pos, None),
            ("joint_vel", self.joint_vel, joints),
            ("root_pos", self.root_pos, 3),
            ("root_quat", self.root_quat, 4),
            ("root_lin_vel", self.root_lin_vel, 3),
            ("root_ang_vel", self.root_ang_vel, 3),
        ]
        return rows + [(name, value, None) for name, value in self.efforts.items()]

    def _say(self) -> str:
        return f"recording '{printable(self.name[:80])}'"


_FIELDS = ("joint_pos", "joint_vel", "root_pos", "root_quat", "root_lin_vel", "root_ang_vel")


@dataclass(frozen=True, eq=False)
class RecordingSet:
    """The recordings of a file, of one mechanism, and what the file says of them."""

    schema: str
    """Name of the format."""
    spec: RobotSpec
    """The mechanism, with the numbers that the file gives, at :attr:`rate`."""
    recordings: tuple[Recording, ...]
    """The runs."""
    time_base: TimeBase
    """What the times of the recordings are."""
    rate: float
    """Control steps in a second of trajectories made from it, unless another is asked for [Hz]."""
    facts: Mapping[str, str]
    """What the file says of itself: title, source, licence, citation, notes."""
    effort: str = ""
    """Name of the signal that drives the joints, unless another is asked for; empty where nothing does."""
    width: float | None = None
    """Width of a tossed object, the longest edge of its root's box [m]; errors are given as shares of it."""
    velocities: str = ""
    """Where the velocities come from, in words."""
    stated_rate: float | None = None
    """Rate of the frames that the file states, where :attr:`rate` is another [Hz]."""
    piece: float | None = None
    """Length of the trajectories that long runs are cut into [s], unless another is asked for; None for whole runs."""

    def __post_init__(self):
        if not self.recordings:
            raise RecordingError("got no recordings, expected at least one run")
        names = [each.name for each in self.recordings]
        if len(set(names)) != len(names):
            raise RecordingError(f"got two recordings of the name {shortened(max(names, key=names.count))}")

    @property
    def splits(self) -> tuple[str, ...]:
        """Names of the splits that are there, sorted."""
        return tuple(sorted({each.split for each in self.recordings}))

    @property
    def families(self) -> tuple[str, ...]:
        """Names of the families that are there, sorted."""
        return tuple(sorted({each.family for each in self.recordings}))

    def where(self, keep: Callable[[Recording], bool], what: str) -> RecordingSet:
        """Those recordings that are wanted.

        Args:
            keep: Says of each whether it is.
            what: What was asked for, for the message where there are none.
        """
        kept = tuple(each for each in self.recordings if keep(each))
        if not kept:
            splits = ", ".join(printable(name[:40] or "(none)") for name in self.splits[:ENDS_SHOWN])
            families = ", ".join(printable(name[:60] or "(none)") for name in self.families[:ENDS_SHOWN])
            raise RecordingError(f"no recording is of {what}; the file holds the splits {splits}; families {families}")
        return replace(self, recordings=kept)

    def of_split(self, split: str) -> RecordingSet:
        """The recordings of one split; ``all`` for all of them.

        Args:
            split: Name of the split.
        """
        if split == "all":
            return self
        return self.where(lambda each: each.split == split, f"the split {shortened(split)}")

    def first(self, count: int) -> RecordingSet:
        """The first recordings, in the order of the file.

        Args:
            count: How many.
        """
        if not 1 <= count <= len(self.recordings):
            raise RecordingError(f"got a count of {count} recordings, expected 1 to {len(self.recordings)}")
        return replace(self, recordings=self.recordings[:count])

    def at_rate(self, rate: float) -> RecordingSet:
        """The same for trajectories of another rate.

        Args:
            rate: Control steps in a second [Hz].
        """
        if abs(rate * self.spec.control_dt - 1.0) < 1.0e-9:  # how it is divided into physics steps stays
            return replace(self, rate=rate)
        return replace(self, rate=rate, spec=replace(self.spec, physics_dt=1.0 / rate, decimation=1))


__all__ = ["Recording", "RecordingError", "RecordingSet", "TimeBase"]
