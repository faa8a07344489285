# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Looks at every number of a dataset for what would harm a training, one segment at a time."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import torch

from ..robot.frames import ChangeCodec
from ..robot.guard import StateGuard
from ..robot.spec import RobotSpec
from .flat import finite_trajectories, require_unchanged
from .layout import DataError, Trajectories
from .manifest import ManifestError, find_segments
from .segment import read_segment

PIECE = 2**16
"""Transitions that are judged at a time, if no trajectory is longer."""

Level = Literal["error", "warning"]


@dataclass(frozen=True)
class Finding:
    """Something that is not as it should be."""

    level: Level
    """Errors make data useless or dangerous; warnings may be meant."""
    what: str
    """Short name of the finding."""
    count: int
    """How many."""
    first: str
    """Where the first one is."""
    advice: str
    """What it means, and what to do."""


ADVICE: dict[str, tuple[Level, str]] = {
    "unreadable segments": ("error", "restore the file from a copy, or remove it and collect its data again"),
    "wrong manifest": (
        "error",
        "restore the files from a copy, or run 'nerd data seal' to declare what is there the dataset",
    ),
    "no manifest": ("warning", "the collection goes on or was interrupted; finish it, or run 'nerd data seal'"),
    "trajectories with NaN": ("warning", "they are left out of training; the teacher diverged there"),
    "constant trajectories": ("warning", "nothing moves in them; were the controls applied?"),
    "duplicate trajectories": ("warning", "the same content twice; did two shards use one seed?"),
    "quaternions that are not unit": ("error", "root orientations must be unit quaternions, xyzw"),
    "states beyond the guard": ("warning", "positions or rates that no sane robot has; the teacher diverged there"),
    "jumps in time": (
        "error",
        "a state does not follow from the one before: a teleport or a reset inside a trajectory",
    ),
    "jumps in measured motion": (
        "warning",
        "a state does not follow from the one before: the tracking slipped, or stamps are missing there",
    ),
    "normals that are not unit": ("error", "normals of grounds and active contacts must be unit vectors"),
}


def check(path: str | Path, progress: Callable[[int, int], None] = lambda done, total: None) -> list[Finding]:
    """Reads a dataset completely and lists what is wrong with it, errors first; empty when all is well.

    Args:
        path: Folder of a dataset, of a shard, or a segment.
        progress: Called with the number of segments that were read and their total.
    """
    counts: dict[str, int] = {}
    first: dict[str, str] = {}

    def note(what: str, mask: np.ndarray, name: Callable[[int], str]) -> None:
        bad = np.flatnonzero(mask)
        if len(bad):
            counts[what] = counts.get(what, 0) + len(bad)
            first.setdefault(what, name(int(bad[0])))

    try:
        contents = find_segments(path)
        if not contents.complete:
            note("no manifest", np.ones(1, bool), lambda _: Path(path).name)
    except ManifestError as error:
        note("wrong manifest", np.ones(1, bool), lambda _, error=error: str(error))
        contents = find_segments(path, use_manifest=False)
    seen: dict[bytes, str] = {}
    for index, segment in enumerate(contents.segments):
        file = f"{segment.header.shard}/{segment.path.name}"
        try:
            read, batch = read_segment(segment.path)
            require_unchanged(segment, read)
        except DataError as error:
            note("unreadable segments", np.ones(1, bool), lambda _, error=error: str(error))
        else:
            for first_one, part in _pieces(batch):

                def name(i: int, file: str = file, first_one: int = first_one) -> str:
                    return f"{file}, trajectory {first_one + i}"

                twins = _duplicates(part, seen, name)
                note(
                    "duplicate trajectories",
                    np.array([twin is not None for twin in twins]),
                    lambda i, twins=twins: str(twins[i]),
                )
                finite = finite_trajectories(part)
                note("trajectories with NaN", ~finite, name)
                measured = segment.header.meta.teacher_mode == "measured"
                for what, mask in _wrong_trajectories(segment.header.spec, part, finite).items():
                    note("jumps in measured motion" if measured and what == "jumps in time" else what, mask, name)
        progress(index + 1, len(contents.segments))
    order = sorted(counts, key=lambda what: (ADVICE[what][0], list(ADVICE).index(what)))
    return [Finding(ADVICE[what][0], what, counts[what], first[what], ADVICE[what][1]) for what in order]


def _pieces(batch: Trajectories) -> Iterator[tuple[int, Trajectories]]:
    """A batch in pieces, each with the number of its first trajectory: judging a state takes many times its memory."""
    count = max(1, PIECE // max(1, batch.transitions // batch.count))
    for begin in range(0, batch.count, count):
        yield begin, batch.part(begin, min(begin + count, batch.count))


def _duplicates(batch: Trajectories, seen: dict[bytes, str], name: Callable[[int], str]) -> list[str | None]:
    """For each trajectory, which earlier one has the same states and controls."""
    state_rows, control_rows = batch.rows("state"), batch.rows("control")
    twins: list[str | None] = []
    for i in range(batch.count):
        digest = hashlib.blake2b(batch.state[state_rows[i] : state_rows[i + 1]], digest_size=16)
        digest.update(batch.control[control_rows[i] : control_rows[i + 1]])
        earlier = seen.setdefault(digest.digest(), name(i))
        twins.append(None if earlier == name(i) else f"{name(i)} = {earlier}")
    return twins


def _wrong_trajectories(spec: RobotSpec, batch: Trajectories, finite: np.ndarray) -> dict[str, np.ndarray]:
    """Masks over the trajectories, by finding. Trajectories with NaN are judged for nothing else."""
    rows = batch.rows("state")
    state = torch.from_numpy(batch.state)
    inside = np.ones(len(state), bool)
    inside[rows[1:] - 1] = False  # a step begins at every state but the last of a trajectory
    before = np.flatnonzero(inside)

    def of_states(mask: np.ndarray) -> np.ndarray:
        return np.logical_or.reduceat(mask, rows[:-1]) & finite

    def of_steps(mask: np.ndarray) -> np.ndarray:
        return np.logical_or.reduceat(mask, batch.rows("control")[:-1]) & finite

    moves = (batch.state[before] != batch.state[before + 1]).any(axis=1)
    found = {
        "states beyond the guard": of_states(_beyond_guard(spec, state)),
        "jumps in time": of_steps(_jumps(spec, state[before], state[before + 1])),
        "constant trajectories": ~of_steps(moves) & finite,
    }
    if spec.floating_base:
        norm = np.linalg.norm(batch.state[:, spec.state.root_quat], axis=1)
        found["quaternions that are not unit"] = of_states(~(np.abs(norm - 1) < 1e-3))
    slanted = np.zeros(batch.count, bool)
    if batch.ground is not None:
        slanted |= ~(np.abs(np.linalg.norm(batch.ground[:, :3], axis=1) - 1) < 1e-3)
    if batch.contact_normal is not None and batch.contact_active is not None and batch.contact_active.size:
        norm = np.linalg.norm(batch.contact_normal, axis=-1)
        slanted |= of_steps(((batch.contact_active > 0) & ~(np.abs(norm - 1) < 1e-3)).any(axis=1))
    found["normals that are not unit"] = slanted & finite
    return found


def _beyond_guard(spec: RobotSpec, state: torch.Tensor) -> np.ndarray:
    """Which states the guard refuses for another reason than their quaternion, which is a finding of its own."""
    guard, judged = StateGuard(spec), state.clone()
    judged[:, spec.state.root_quat] = guard.neutral[spec.state.root_quat]
    return ~guard(judged).numpy()


def _jumps(spec: RobotSpec, state: torch.Tensor, following: torch.Tensor) -> np.ndarray:
    """Steps over which the robot moved further than the velocities at both ends can explain, with a generous margin.

    What remains of a change of position after integrating the mean velocity is at most ``dt |v' - v| / 2`` while the
    velocity goes straight from one to the other. ``2 dt (|v| + |v'| + 1)`` is allowed, for impacts inside a step.
    """
    codec = ChangeCodec(spec)
    change = codec.encode(state, following)
    at = spec.state

    def allowed(which: slice, norm: bool) -> torch.Tensor:
        one, other = state[:, which], following[:, which]
        speed = one.norm(dim=1) + other.norm(dim=1) if norm else one.abs() + other.abs()
        return 2.0 * spec.control_dt * (speed + 1.0)

    jump = (change[:, codec.slices["joint_pos"]].abs() > allowed(at.joint_vel, norm=False)).any(dim=1)
    if spec.floating_base:
        jump |= change[:, codec.slices["root_pos"]].norm(dim=1) > allowed(at.root_lin_vel, norm=True)
        jump |= change[:, codec.slices["root_rot"]].norm(dim=1) > allowed(at.root_ang_vel, norm=True)
    return jump.numpy()


__all__ = ["Finding", "check"]
