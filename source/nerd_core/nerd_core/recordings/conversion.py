# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""From recordings to trajectories at equal steps of time: resampling, missing velocities, efforts over each step.

- Positions and velocities at irregular stamps are interpolated linearly (orientations along the shortest arc). Frames
  at a known rate that is asked for are taken as they are.
- Velocities that were not recorded are rates of local cubic polynomials (:mod:`nerd_core.recordings.derivatives`), and
  the positions are then those of the polynomials, too. With ``smooth`` this holds for all positions and velocities.
- The effort of a step is the mean over the step: of the held signal for commands, of the linear interpolation for
  measured efforts; both later by ``delay``.
- Runs are cut at gaps between stamps longer than ``max_gap``, and into trajectories of at most ``piece`` seconds.

Example::

    dataset = write_dataset(read_recordings(path).of_split("train"), folder, ConversionCfg(rate=100.0))
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch

from ..data.dataset import TrajectoryDataset
from ..data.layout import ShardMeta, command_line
from ..data.manifest import Manifest, write_manifest
from ..data.shards import ShardWriter
from ..files.bounds import bounded, check_bounds
from ..robot.frames import wrap_to_pi
from ..robot.spec import RobotSpec
from .derivatives import FIT_FRAMES, angular_velocity, centred_fit
from .recording import Recording, RecordingError, RecordingSet

RATE_TOLERANCE = 1.0e-3
"""Frames whose step differs from the one asked for by less than this share are taken as they are."""

LEVEL_GROUND = (0.0, 0.0, 1.0, 0.0)
"""Plane under what is tossed: normal and offset."""

MAX_STEPS = 10_000_000
"""Most steps of a trajectory."""


@dataclass(frozen=True)
class ConversionCfg:
    """How recordings become trajectories."""

    rate: float | None = bounded(None, above=0.0, at_most=1.0e5)
    """Control steps in a second [Hz]; by default what suits the file. Where a file knows frames alone, it says how many
    of them a second has."""
    effort: str = ""
    """Signal that drives the joints, for instance ``measured`` or ``commanded``; by default as the file says."""
    delay: float = bounded(0.0, at_least=0.0, at_most=1.0)
    """How much later efforts act than they were recorded [s]."""
    piece: float | None = bounded(None, at_least=0.0)
    """Longest trajectory [s]: runs are cut into such pieces; 0 for whole runs. By default as suits the file."""
    max_gap: float = bounded(0.05, above=0.0)
    """Longest time between two stamps [s]: runs are cut where it is longer."""
    smooth: int = bounded(0, at_least=0, at_most=1001)
    """Frames of the local polynomials by which positions and velocities are smoothed, odd and at least 5; 0 to leave
    them as they are."""

    def __post_init__(self):
        check_bounds(self, RecordingError)
        if self.smooth and (self.smooth < 5 or self.smooth % 2 == 0):
            raise RecordingError(f"got smooth={self.smooth}, expected 0 or an odd number of at least 5 frames")


@dataclass(frozen=True, eq=False)
class Motion:
    """A trajectory at equal steps of time."""

    name: str
    """Name of the recording."""
    split: str
    """Split of the recording."""
    state: np.ndarray
    """States, see :class:`~nerd_core.robot.spec.StateLayout`, float64, shape (T + 1, S). Joints that wrap are not
    wrapped."""
    control: np.ndarray
    """Efforts held over each step, float64, shape (T, C)."""


def converted(recordings: RecordingSet, cfg: ConversionCfg) -> RecordingSet:
    """The recordings with the rate and the signal that are asked for."""
    if cfg.rate is not None and cfg.rate != recordings.rate:
        if recordings.time_base == "frames":
            scale = recordings.rate / cfg.rate
            stretched = tuple(replace(each, time=scale * each.time) for each in recordings.recordings)
            recordings = replace(recordings, recordings=stretched)
        recordings = recordings.at_rate(cfg.rate)
    return replace(recordings, effort=cfg.effort or recordings.effort)


def motions(recordings: RecordingSet, cfg: ConversionCfg | None = None) -> Iterator[Motion]:
    """Trajectories of all recordings, one after the other.

    Args:
        recordings: The recordings.
        cfg: How to convert them.
    """
    cfg = cfg or ConversionCfg()
    recordings = converted(recordings, cfg)
    piece = recordings.piece if cfg.piece is None else cfg.piece
    dt = recordings.spec.control_dt
    longest = max(1, round(piece / dt)) if piece else MAX_STEPS
    for recording in recordings.recordings:
        for part in without_gaps(recording, cfg.max_gap):
            motion = motion_of(part, recordings, cfg)
            if motion is None:
                continue
            for begin in range(0, len(motion.control), longest):
                end = min(begin + longest, len(motion.control))
                yield replace(motion, state=motion.state[begin : end + 1], control=motion.control[begin:end])


def motion_of(recording: Recording, recordings: RecordingSet, cfg: ConversionCfg) -> Motion | None:
    """One recording as one trajectory; None if it is shorter than a step.

    Args:
        recording: The recording.
        recordings: What it belongs to, as :func:`converted` gave it.
        cfg: How to convert.
    """
    spec = recordings.spec
    dt = spec.control_dt
    steps = np.diff(recording.time)
    regular = float(np.abs(steps / dt - 1.0).max()) < RATE_TOLERANCE
    if regular:
        time = recording.time
    else:
        count = math.floor((recording.time[-1] - recording.time[0]) / dt * (1.0 + 1e-9))
        if count > MAX_STEPS:
            raise RecordingError(
                f"recording '{recording.name[:80]}' has {count:,} steps, expected at most {MAX_STEPS:,}"
            )
        time = recording.time[0] + dt * np.arange(count + 1)
    if len(time) < 2:
        return None
    state = np.concatenate(_columns(recording if regular else resampled(recording, time), spec, dt, cfg.smooth), axis=1)
    control = np.zeros((len(time) - 1, 0))
    if spec.controls:
        control = mean_effort(recording, signal_of(recording, recordings.effort), time, cfg.delay)
    if control.shape[1] != spec.control_dim:
        raise RecordingError(
            f"'{recordings.effort}' of recording '{recording.name[:80]}' has {control.shape[1]} columns, expected "
            f"{spec.control_dim} for the controls of '{spec.name}'"
        )
    return Motion(recording.name, recording.split, state, control)


def signal_of(recording: Recording, name: str) -> str:
    """The name of a signal of efforts that the recording has. Raises :class:`RecordingError` if it has no such."""
    if name not in recording.efforts:
        have = ", ".join(sorted(recording.efforts)) or "none"
        raise RecordingError(f"recording '{recording.name[:80]}' has no effort '{name[:60]}', expected one of: {have}")
    return name


def mean_effort(recording: Recording, signal: str, time: np.ndarray, delay: float = 0.0) -> np.ndarray:
    """Mean of a signal over each step between times.

    Args:
        recording: The recording.
        signal: Name of the signal.
        time: Ends of the steps [s], shape (K + 1,).
        delay: How much later the signal acts than it was recorded [s].

    Returns:
        Shape (K, C).
    """
    stamps, values = recording.time, recording.efforts[signal]
    lengths = np.diff(stamps)[:, None]
    areas = values[:-1] if signal in recording.held else 0.5 * (values[:-1] + values[1:])
    integral = np.concatenate((np.zeros((1, values.shape[1])), np.cumsum(lengths * areas, axis=0)))
    at = time - delay
    place = np.clip(np.searchsorted(stamps, at, side="right") - 1, 0, len(stamps) - 2)
    beyond = np.clip(at, stamps[0], stamps[-1])
    since = (beyond - stamps[place])[:, None]
    within = values[place] * since
    if signal not in recording.held:
        within = within + 0.5 * (values[place + 1] - values[place]) / lengths[place] * since**2
    # Before the first stamp and behind the last one the signal is held.
    outside = (
        np.minimum(at - stamps[0], 0.0)[:, None] * values[0] + np.maximum(at - stamps[-1], 0.0)[:, None] * values[-1]
    )
    return np.diff(integral[place] + within + outside, axis=0) / np.diff(time)[:, None]


def resampled(recording: Recording, time: np.ndarray) -> Recording:
    """A recording at other times within it, without its efforts.

    Args:
        recording: The recording.
        time: The times [s], shape (K,).
    """

    def linear(values: np.ndarray | None) -> np.ndarray | None:
        if values is None:
            return None
        columns = [np.interp(time, recording.time, column) for column in values.T]
        return np.stack(columns, axis=1) if columns else np.zeros((len(time), 0))

    quat = recording.root_quat
    if quat is not None:
        flips = np.cumprod(np.where((quat[1:] * quat[:-1]).sum(1) < 0.0, -1.0, 1.0))
        quat = linear(np.concatenate((quat[:1], quat[1:] * flips[:, None])))
        assert quat is not None
        quat = quat / np.linalg.norm(quat, axis=1, keepdims=True)
    joint_pos = linear(recording.joint_pos)
    assert joint_pos is not None
    return replace(
        recording,
        time=time,
        joint_pos=joint_pos,
        joint_vel=linear(recording.joint_vel),
        root_pos=linear(recording.root_pos),
        root_quat=quat,
        root_lin_vel=linear(recording.root_lin_vel),
        root_ang_vel=linear(recording.root_ang_vel),
        efforts={},
    )


def write_dataset(recordings: RecordingSet, folder: str | Path, cfg: ConversionCfg | None = None) -> Manifest:
    """Writes a dataset of trajectories, a shard for each split, and declares it complete.

    Args:
        recordings: The recordings.
        folder: Folder of the dataset, which holds none yet.
        cfg: How to convert them.
    """
    cfg = cfg or ConversionCfg()
    folder = Path(folder)
    if folder.exists() and any(folder.iterdir()):
        raise RecordingError(f"'{folder.name}' holds files already: choose another folder, or remove it")
    by_split: dict[str, list[Motion]] = {}
    for motion in motions(recordings, cfg):
        by_split.setdefault(motion.split, []).append(motion)
    if not by_split:
        raise RecordingError("no recording is as long as a step: ask for a higher --rate")
    target = converted(recordings, cfg)
    meta = _origin(target, cfg)
    for split, found in sorted(by_split.items()):
        shard = "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in split)[:60] or "all"
        with ShardWriter(folder, target.spec, meta, shard=shard) as writer:
            writer.append(**_padded(target, found))
    return write_manifest(folder)


def in_memory(recordings: RecordingSet, cfg: ConversionCfg | None = None) -> TrajectoryDataset:
    """The trajectories of recordings as a dataset that is written nowhere.

    Args:
        recordings: The recordings.
        cfg: How to convert them.
    """
    cfg = cfg or ConversionCfg()
    target = converted(recordings, cfg)
    return TrajectoryDataset.from_tensors(target.spec, **_padded(target, list(motions(recordings, cfg))))


def stands_on_ground(recordings: RecordingSet) -> bool:
    """Whether the mechanism can touch the level ground at height zero."""
    return recordings.spec.floating_base and bool(recordings.spec.slots)


def _columns(recording: Recording, spec: RobotSpec, dt: float, smooth: int) -> list[np.ndarray]:
    """Parts of the states in the order of the layout."""
    frames = smooth or FIT_FRAMES
    joint_pos, joint_vel = recording.joint_pos, recording.joint_vel
    if smooth or joint_vel is None:
        joint_pos, joint_vel = centred_fit(joint_pos, dt, frames)
    if joint_pos.shape[1] != len(spec.joints):
        raise RecordingError(f"got {joint_pos.shape[1]} joints, expected {len(spec.joints)} for '{spec.name}'")
    if not spec.floating_base:
        return [joint_pos, joint_vel]
    pos, quat = recording.root_pos, recording.root_quat
    lin_vel, ang_vel = recording.root_lin_vel, recording.root_ang_vel
    if pos is None or quat is None:
        raise RecordingError(f"recording '{recording.name[:80]}' has no pose of the root, which '{spec.name}' needs")
    if smooth or lin_vel is None:
        pos, lin_vel = centred_fit(pos, dt, frames)
    if smooth or ang_vel is None:
        ang_vel = angular_velocity(quat, dt, frames)
    return [pos, quat / np.linalg.norm(quat, axis=1, keepdims=True), joint_pos, lin_vel, ang_vel, joint_vel]


def without_gaps(recording: Recording, max_gap: float) -> Iterator[Recording]:
    """Parts of a recording between gaps, those of one frame left out.

    Args:
        recording: The recording.
        max_gap: Longest time between two stamps [s].
    """
    cuts = [0, *(np.flatnonzero(np.diff(recording.time) > max_gap) + 1).tolist(), recording.frames]
    for begin, end in zip(cuts[:-1], cuts[1:], strict=True):
        if end - begin > 1:
            yield recording if len(cuts) == 2 else recording.part(begin, end)


def _padded(target: RecordingSet, found: list[Motion]) -> dict:
    """Trajectories of several lengths as padded arrays, with the ground where there is one."""
    if not found:
        raise RecordingError("no recording is as long as a step: ask for a higher rate")
    spec, length = target.spec, np.array([len(each.control) for each in found])
    state = np.zeros((len(found), length.max() + 1, spec.state.dim), np.float32)
    control = np.zeros((len(found), length.max(), spec.control_dim), np.float32)
    wraps = np.array([bool(joint.wraps) for joint in spec.joints], bool)
    for row, each in enumerate(found):
        # Angles are wrapped before they lose digits.
        values, at = each.state.copy(), spec.state.joint_pos
        joints = values[:, at]
        joints[:, wraps] = wrap_to_pi(torch.from_numpy(joints[:, wraps])).numpy()
        state[row, : len(values)], control[row, : len(each.control)] = values, each.control
    ground = {"ground": np.array(LEVEL_GROUND, np.float32)} if stands_on_ground(target) else {}
    return {"state": state, "control": control, "length": length, **ground}


def _origin(target: RecordingSet, cfg: ConversionCfg) -> ShardMeta:
    notes = {name: text[:2000] for name, text in target.facts.items()}
    notes |= {
        "schema": target.schema,
        "velocities": f"local cubic polynomials over {cfg.smooth} frames" if cfg.smooth else target.velocities,
        "times": {
            "stamps": "irregular stamps, interpolated linearly",
            "rate": "frames at the rate that the file says",
            "frames": "frames; their rate is that of the control steps",
        }[target.time_base],
        "delay": f"{cfg.delay:g} s",
    }
    return ShardMeta(
        task="recording",
        teacher=target.facts.get("title", target.schema)[:200],
        teacher_mode="measured",
        excitation=f"effort: {target.effort}" if target.effort else "none",
        command=command_line(),
        notes=notes,
    )


__all__ = [
    "ConversionCfg",
    "Motion",
    "converted",
    "in_memory",
    "mean_effort",
    "motion_of",
    "motions",
    "resampled",
    "signal_of",
    "stands_on_ground",
    "without_gaps",
    "write_dataset",
]
