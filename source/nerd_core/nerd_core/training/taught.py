# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Data that one model makes for another: a teacher, as mechanics, goes on from given states.

A simulator is slow beside a kernel of mechanics, and where these move nearly as it does, a network can learn from them
first, from as many states as wanted, and from the simulator's own motion last. Trajectories begin in recorded states
under the controls of others, or in states that a student reaches: its own roll-outs, which begin and are driven as
recorded ones, are left at a drawn step, and the teacher shows what should have happened (DAgger, Ross et al. 2011).
Friction has no history at the beginning of a trajectory, as after a write of the state to a simulator.

A batch depends on the settings and its own number alone, so that data that were interrupted go on::

    manifest = teach(mechanics, TrajectoryDataset.open("data/anymal"), TeachCfg(), "data/taught", "mechanics")
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from ..contact.grounds import PlaneGround
from ..data.dataset import TrajectoryDataset
from ..data.layout import ShardMeta
from ..data.manifest import Manifest, write_manifest
from ..data.shards import ShardWriter
from ..dynamics import rollout_states
from ..files.bounds import SEED, bounded, check_bounds
from ..files.provenance import versions
from ..predictor.predictor import Predictor
from ..robot.guard import StateGuard
from .config import TrainingError

TIMES = 32
"""States that are taken of each roll-out of a student."""

EMPTY_BATCHES = 5
"""Batches in a row without a usable trajectory after which a teacher is given up."""


@dataclass(frozen=True)
class TeachCfg:
    """What a teacher is asked for."""

    transitions: int = bounded(1_000_000, at_least=1)
    """Control steps to write, rounded up to whole batches."""
    steps: int = bounded(8, at_least=1, at_most=100_000)
    """Length of a trajectory [control steps]. After a few, motion hardly depends on where the student was wrong."""
    visited_steps: int = bounded(100, at_least=1, at_most=100_000)
    """Length of a student's roll-outs [control steps]."""
    batch: int = bounded(2048, at_least=1, at_most=2**20)
    """Trajectories of a batch."""
    seed: int = bounded(0, **SEED)
    """Seed of everything that is drawn."""

    def __post_init__(self):
        check_bounds(self, TrainingError)


def teach(
    teacher: Predictor,
    starts: TrajectoryDataset,
    cfg: TeachCfg,
    out: str | Path,
    name: str,
    student: Predictor | None = None,
    progress: Callable[[int], None] | None = None,
    models: Mapping[str, str] | None = None,
) -> Manifest:
    """Writes what a teacher does, and declares the dataset complete.

    Args:
        teacher: Moves the robot.
        starts: Recorded trajectories of the same robot, whose states, controls and grounds are begun with.
        cfg: What is asked for.
        out: Folder of the dataset; one of the same settings that is there is continued.
        name: Name of the teacher, for the origin of the data.
        student: Model whose own states are begun with; None to begin with recorded ones.
        progress: Told how many transitions are written, after each batch.
        models: Digests of ``teacher`` and ``student``, by these names: data of others are not continued.
    """
    spec = starts.spec
    notes = {
        "first states": "recorded" if student is None else "visited by a student",
        "starts": starts.dataset_hash,
        "steps": str(cfg.steps),
        "batch": str(cfg.batch),
        **{f"digest of the {name}": digest for name, digest in (models or {}).items()},
    }
    if student is not None:
        notes["visited_steps"] = str(cfg.visited_steps)
    meta = ShardMeta(
        task=", ".join(sorted({each.task for each in starts.meta if each.task})),
        seed=cfg.seed,
        teacher=f"model '{name}'",
        excitation="as recorded",
        versions=versions(),
        notes=notes,
    )
    lessons = _Lessons(teacher.eval(), starts, cfg, None if student is None else student.eval())
    with ShardWriter(out, spec, meta) as writer, torch.no_grad():
        while writer.transitions < cfg.transitions:
            writer.append(**lessons.batch(writer.batches))
            if progress is not None:
                progress(writer.transitions)
    return write_manifest(out)


class _Lessons:
    """Batches of a teacher's trajectories."""

    def __init__(self, teacher: Predictor, starts: TrajectoryDataset, cfg: TeachCfg, student: Predictor | None):
        self._teacher, self._starts, self._cfg, self._student = teacher, starts, cfg, student
        self._guard = StateGuard(starts.spec)

    def batch(self, number: int) -> dict[str, Tensor]:
        """Trajectories by their fields; those that leave the robot's guard are left out."""
        for attempt in range(EMPTY_BATCHES):
            text = f"{self._cfg.seed}/{number}/{attempt}"
            rng = np.random.default_rng(int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big"))
            state, control, plane = self._roll(rng)
            sane = self._guard(state).all(-1)
            if sane.any():
                ground = {} if plane is None else {"ground": plane[sane]}
                return {"state": state[sane], "control": control[sane], **ground}
        raise TrainingError(
            f"no trajectory of {EMPTY_BATCHES} batches stayed within the guard of '{self._starts.spec.name}': the "
            "teacher does not know these states, ask for fewer --steps or begin with others"
        )

    def _roll(self, rng: np.random.Generator) -> tuple[Tensor, Tensor, Tensor | None]:
        """States, controls and grounds of a batch that the teacher has moved."""
        if self._student is None:
            trajectory, time, state = self._recorded(rng, self._cfg.batch)
            # with its own controls the teacher would only repeat the record
            other, then, _ = self._recorded(rng, self._cfg.batch)
            control = self._controls(other, then, self._cfg.steps, rng)
        else:
            trajectory, time, state = self._visited(rng, self._student)
            control = self._controls(trajectory, time, self._cfg.steps, rng)
        plane = self._planes(trajectory)
        return torch.stack([state, *self._along(self._teacher, state, control, plane)], 1), control, plane

    def _recorded(self, rng: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray, Tensor]:
        """Trajectories, times in them and the states there, each transition as likely as any other."""
        data = self._starts
        number = rng.integers(data.transitions, size=count)
        ends = np.cumsum(data.length)
        trajectory = np.searchsorted(ends, number, side="right")
        time = number - (ends - data.length)[trajectory]
        return trajectory, time, self._at(trajectory, time)

    def _visited(self, rng: np.random.Generator, student: Predictor) -> tuple[np.ndarray, np.ndarray, Tensor]:
        """As :meth:`_recorded`, with states of a student's roll-outs that begin where recorded ones do. What has left
        the guard or the student's bounds by then is replaced by recorded states.
        """
        cfg = self._cfg
        trajectory = rng.integers(len(self._starts), size=-(-cfg.batch // TIMES))
        first = np.zeros_like(trajectory)
        state, control = self._at(trajectory, first), self._controls(trajectory, first, cfg.visited_steps, rng)
        path = torch.stack(self._along(student, state, control, self._planes(trajectory)))
        step = rng.integers(cfg.visited_steps, size=(TIMES, len(trajectory)))
        drawn = path[torch.from_numpy(step), torch.arange(len(trajectory))].flatten(0, 1)[: cfg.batch]
        trajectory, time = np.tile(trajectory, TIMES)[: cfg.batch], step.flatten()[: cfg.batch] + 1
        good = self._guard(drawn)
        if student.bounds is not None:
            good &= student.bounds.within(drawn)
        recorded, then, instead = self._recorded(rng, cfg.batch)
        kept = good.numpy()
        return (
            np.where(kept, trajectory, recorded),
            np.where(kept, time, then),
            torch.where(good.unsqueeze(-1), drawn, instead),
        )

    def _along(self, model: Predictor, state: Tensor, control: Tensor, plane: Tensor | None) -> list[Tensor]:
        """The states that a model leads to, each of shape (N, S)."""
        ground = None if plane is None else PlaneGround.from_vector(plane)
        held, cache = control.unbind(1), model.init_cache(len(state))
        states = rollout_states(model, state, lambda step, _: held[step], len(held), ground, cache=cache)
        return list(states)

    def _at(self, trajectory: np.ndarray, time: np.ndarray) -> Tensor:
        """Recorded states, shape (N, S)."""
        return self._starts.arrays["state"][torch.from_numpy(self._starts.first_row[trajectory] + time)]

    def _planes(self, trajectory: np.ndarray) -> Tensor | None:
        """The grounds of trajectories, shape (N, 4); None where the data tell of none."""
        planes = self._starts.arrays.get("ground")
        return None if planes is None else planes[torch.from_numpy(self._starts.number[trajectory])]

    def _controls(self, trajectory: np.ndarray, time: np.ndarray, steps: int, rng: np.random.Generator) -> Tensor:
        """The recorded controls from a time on, and past the end of a trajectory those of others from their beginning,
        shape (N, steps, C).
        """
        data, rows = self._starts, []
        trajectory, time = trajectory.copy(), time.copy()
        for _ in range(steps):
            over = time >= data.length[trajectory]
            trajectory[over], time[over] = rng.integers(len(data), size=int(over.sum())), 0
            rows.append(data.first_row[trajectory] + time)
            time += 1
        return data.arrays["control"][torch.from_numpy(np.stack(rows, 1))]


__all__ = ["TeachCfg", "teach"]
