# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Records state, control and next state of every control step of a task, resets included.

A recorder term of Isaac Lab: it sees the state after the action was processed and before physics, what the actuators
hold once actions are applied, and the state after physics and before anything is reset. Whatever else moves the robot
between two steps (resets, pushes, teleports) shows as a state that is not the one the last step ended with, and begins
a new trajectory.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from isaaclab.managers import RecorderManagerBaseCfg, RecorderTerm, RecorderTermCfg
from isaaclab.managers.recorder_manager import DatasetExportMode
from isaaclab.utils import configclass

from nerd_core.data.layout import ShardMeta
from nerd_core.data.shards import ShardWriter
from nerd_core.robot.guard import StateGuard

from ..physics.ground import GroundError, find_ground
from ..physics.robot_state import RobotState
from ..recorders.transitions import Transitions, planes_of, to_trajectories

if TYPE_CHECKING:
    from ..envs.nerd_env import NerdDynamics
    from ..recorders.contact_probe import ContactProbe


class TransitionRecorder(RecorderTerm):
    """Keeps the last steps of all environments; writes them to a shard if a folder is set."""

    cfg: TransitionRecorderCfg

    def __init__(self, cfg: TransitionRecorderCfg, env: Any):
        super().__init__(cfg, env)
        self._nerd: NerdDynamics = env
        self._robot: RobotState | None = None
        self._writer: ShardWriter | None = None
        self.probe: ContactProbe | None = None
        """Reads contacts after each physics step, when set."""
        self.dropped: dict[str, int] = {}
        """Trajectories that were not written, by reason."""
        self._time = 0

    def record_pre_step(self) -> tuple[None, None]:
        """Reads the state before the step, and finds the environments that were moved since the last one."""
        if self._robot is None:
            self._robot = self._begin()
        if self._time == self.cfg.steps:
            self._make_room()
        state = self._robot.read()
        self._before[self._time] = state
        torch.any(state != self._last, dim=-1, out=self._begins[self._time])
        self._begins[self._time] |= self._is_reset
        self._is_reset.zero_()
        self._physics_steps = 0
        return None, None

    def record_post_physics_decimation_step(self) -> tuple[None, None]:
        """Reads what the actuators hold, and the contacts."""
        assert self._robot is not None
        if self._physics_steps == 0:
            self._control[self._time] = self._robot.read_control()
        if self.probe is not None:
            self.probe.after_physics_step(self._physics_steps)
        self._physics_steps += 1
        return None, None

    def record_post_step(self) -> tuple[None, None]:
        """Reads the state after the step."""
        assert self._robot is not None
        state = self._robot.read()
        self._after[self._time] = state
        self._last = self._after[self._time]
        self._time += 1
        return None, None

    def record_post_reset(self, env_ids: Sequence[int] | None) -> tuple[None, None]:
        """Begins new trajectories."""
        if self._robot is not None:
            self._is_reset[slice(None) if env_ids is None else env_ids] = True
        return None, None

    def take(self) -> Transitions:
        """The steps since the last call, on the CPU. At least one step must have been made."""
        parts = (self._before, self._control, self._after, self._begins)
        before, control, after, begins = (part[: self._time].transpose(0, 1).cpu().contiguous() for part in parts)
        self.clear()
        return Transitions(before, control, after, begins, {"ground": self._planes})

    def clear(self) -> None:
        """Discards the steps since the last call of :meth:`take`; the next step begins new trajectories."""
        if self._robot is not None:
            self._time = 0
            self._last = torch.full_like(self._last, torch.nan)

    def close(self, file_path: str) -> None:
        """Writes what is left."""
        if self._writer is not None:
            self._make_room()
            self._writer.close()
            self._writer = None

    def _begin(self) -> RobotState:
        """Lays out memory. The robot is there only once the simulation plays."""
        env, spec, steps = self._nerd, self._nerd.robot_spec, self.cfg.steps
        size = (steps, env.num_envs)
        self._before = torch.empty(*size, spec.state.dim, device=env.device)
        self._after = torch.empty(*size, spec.state.dim, device=env.device)
        self._control = torch.empty(*size, spec.control_dim, device=env.device)
        self._begins = torch.zeros(size, dtype=torch.bool, device=env.device)
        self._last = torch.full((env.num_envs, spec.state.dim), torch.nan, device=env.device)
        self._is_reset = torch.zeros(env.num_envs, dtype=torch.bool, device=env.device)
        self._guard = StateGuard(spec)
        self._planes = None
        if spec.slots:
            with contextlib.suppress(GroundError):  # then the data tell nothing of the ground
                self._planes = planes_of(find_ground(env), env.num_envs)
        if self.cfg.out is not None:
            meta = ShardMeta(task=self.cfg.task, seed=env.cfg.seed or 0, excitation="what ran", versions={})
            self._writer = ShardWriter(Path(self.cfg.out), spec, meta, shard=self.cfg.shard)
        return RobotState(env.robot, spec, env.scene.env_origins)

    def _make_room(self) -> None:
        """Writes the kept steps, or discards them if no folder is set."""
        if self._writer is None or self._time == 0:
            self.clear()
            return
        trajectories, dropped = to_trajectories(self.take(), self._guard)
        for reason, number in dropped.items():
            self.dropped[reason] = self.dropped.get(reason, 0) + number
        if trajectories is not None:
            self._writer.append_trajectories(trajectories)


@configclass
class TransitionRecorderCfg(RecorderTermCfg):
    """Configuration of :class:`TransitionRecorder`."""

    class_type: type[RecorderTerm] = TransitionRecorder

    steps: int = 100
    """Most steps of a trajectory, and number of steps that are kept in memory."""

    out: str | None = None
    """Folder of a dataset to write to whenever :attr:`steps` are full. None: the owner calls
    :meth:`TransitionRecorder.take` in time."""

    shard: str = "recorded"
    """Name of the shard. Each process needs its own."""

    task: str = ""
    """Name to write into the shard."""


@configclass
class TransitionRecordersCfg(RecorderManagerBaseCfg):
    """What to put into a task's ``recorders``: the transitions alone, in shards instead of Isaac Lab's own files."""

    dataset_export_mode: DatasetExportMode = DatasetExportMode.EXPORT_NONE

    transitions: TransitionRecorderCfg = TransitionRecorderCfg()
    """The recorder."""


def find_recorder(env: Any) -> TransitionRecorder:
    """The recorder of an environment that was made with :class:`TransitionRecordersCfg`."""
    for term in env.recorder_manager._terms.values():  # the manager has no public way to a term
        if isinstance(term, TransitionRecorder):
            return term
    raise LookupError("the environment has no TransitionRecorder: set cfg.recorders = TransitionRecordersCfg()")
