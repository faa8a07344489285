# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Stretches of recordings that a model has to predict: its first state, the efforts, and what was measured then.

What a model may see is the same for all: the state at the first frame, with the velocities that were recorded there.
Where velocities were not recorded, position and velocity are the end of a cubic polynomial through the last 15 frames
up to the first one of the window; such windows begin at the 15th frame of a run at the earliest. Histories are empty.

Frames at a known rate are the model's steps. Runs with stamps are interpolated at the steps of the model. Where the
rate of the frames is not known, a step of the model is a frame, however long it says it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from ..recordings.conversion import ConversionCfg, mean_effort, motion_of, signal_of, without_gaps
from ..recordings.derivatives import FIT_FRAMES, end_fit
from ..recordings.fitting import at_steps_of
from ..recordings.recording import Recording, RecordingError, RecordingSet
from ..robot.spec import RobotSpec
from .config import DEFAULT_SECONDS, DEFAULT_WINDOW, STRIDES, JudgeCfg, Protocol

HOLD_RAD = 0.5
"""A link that stays within this of upright is held there [rad]."""


@dataclass(frozen=True, eq=False)
class Window:
    """A stretch of a recording."""

    recording: str
    """Name of the run."""
    family: str
    """Kind of its motion."""
    is_held: bool
    """Whether both links of a pendulum stand nearly upright all the time."""
    first: np.ndarray
    """First state, shape (S,)."""
    control: np.ndarray
    """Efforts over each step, shape (H, C)."""
    truth: np.ndarray
    """States that were measured after each step, shape (H, S); velocities may be missing (NaN)."""


def judged_recordings(recordings: RecordingSet, split: str) -> RecordingSet:
    """The recordings that are judged; see :attr:`JudgeCfg.split`."""
    if split:
        return recordings.of_split(split)
    others = [name for name in recordings.splits if name != "train"]
    return recordings.where(lambda each: each.split in others, "a split") if others else recordings


def window_steps(recordings: RecordingSet, cfg: JudgeCfg, dt: float) -> tuple[int, int]:
    """Steps of a window, and between the beginnings of two.

    Args:
        recordings: The recordings.
        cfg: What was asked for.
        dt: Control step of the model [s].
    """
    steps = cfg.window
    if steps is None and cfg.seconds is None and recordings.time_base in DEFAULT_WINDOW:
        steps = DEFAULT_WINDOW[recordings.time_base]
    elif steps is None:
        seconds = DEFAULT_SECONDS if cfg.seconds is None else cfg.seconds
        steps = max(1, round(seconds * (recordings.rate if recordings.time_base == "rate" else 1.0 / dt)))
    tossed = recordings.time_base == "rate"
    return steps, cfg.stride or (1 if tossed else max(1, steps // STRIDES))


def windows(recordings: RecordingSet, spec: RobotSpec, protocol: Protocol, cfg: JudgeCfg) -> Iterator[Window]:
    """All windows of recordings, in their order.

    Args:
        recordings: The recordings to judge on.
        spec: The robot of the model.
        protocol: Which windows.
        cfg: What was asked for.
    """
    recordings = at_steps_of(recordings, spec)
    recordings = replace(recordings, effort=cfg.effort or recordings.effort)
    steps, stride = window_steps(recordings, cfg, spec.control_dt)
    for recording in recordings.recordings:
        for part in without_gaps(recording, ConversionCfg().max_gap):
            states, firsts, control = _run(part, recordings, spec, cfg.delay)
            usable = np.flatnonzero(np.isfinite(firsts).all(1))
            if protocol == "flights":
                starts, length = usable[:1], len(control)
            else:
                starts, length = usable[::stride], steps
            for start in starts[starts + (1 if protocol == "flights" else length) <= len(control)]:
                end = min(start + length, len(control))
                truth = states[start + 1 : end + 1]
                held = _is_held(spec, truth)
                yield Window(recording.name, recording.family, held, firsts[start], control[start:end], truth)


def _run(part: Recording, recordings: RecordingSet, spec: RobotSpec, delay: float) -> tuple[np.ndarray, ...]:
    """Measured states (T + 1, S), states to begin with (T + 1, S), NaN where none is known, and efforts (T, C)."""
    at, dt = spec.state, spec.control_dt
    if part.joint_vel is not None:
        frames_of = replace(recordings, spec=recordings.spec)
        motion = motion_of(part, frames_of, ConversionCfg(delay=delay))
        if motion is None:
            return np.zeros((1, at.dim)), np.full((1, at.dim), np.nan), np.zeros((0, spec.control_dim))
        return motion.state, motion.state, motion.control
    if spec.floating_base or recordings.time_base == "rate":
        raise RecordingError("got a free body without velocities: import the file, and judge on what was imported")
    pos, time = part.joint_pos, dt * np.arange(part.frames)
    control = np.zeros((part.frames - 1, 0))
    if recordings.time_base == "stamps":
        time = np.arange(part.time[0], part.time[-1] + 1e-9, dt)
        pos = np.stack([np.interp(time, part.time, column) for column in pos.T], axis=1)
        if spec.controls:
            control = mean_effort(part, signal_of(part, recordings.effort), time, delay)
        else:
            control = np.zeros((len(time) - 1, 0))
    states, firsts = np.full((len(pos), at.dim), np.nan), np.full((len(pos), at.dim), np.nan)
    states[:, at.joint_pos] = pos
    if len(pos) >= FIT_FRAMES:
        before = np.lib.stride_tricks.sliding_window_view(pos, FIT_FRAMES, axis=0).swapaxes(1, 2)
        value, rate = end_fit(before, dt * np.arange(FIT_FRAMES))
        firsts[FIT_FRAMES - 1 :, at.joint_pos], firsts[FIT_FRAMES - 1 :, at.joint_vel] = value, rate
    return states, firsts, control


def _is_held(spec: RobotSpec, truth: np.ndarray) -> bool:
    """Whether all links of a hanging chain of hinges stand upright within :data:`HOLD_RAD` all the time."""
    if spec.floating_base or not spec.joints:
        return False
    absolute = np.cumsum(truth[:, spec.state.joint_pos], axis=1)
    return bool((np.cos(absolute) < -np.cos(HOLD_RAD)).all())


__all__ = ["Window", "judged_recordings", "window_steps", "windows"]
