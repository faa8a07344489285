# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Examines a task, with data and a model where they are given, before hours are spent on it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from nerd_core.checkpoint_names import find_checkpoint
from nerd_core.files.bounds import bounded, check_bounds
from nerd_core.files.serialization import from_plain
from nerd_core.robot.spec import RobotSpec

from ..collect.collect_cfg import MAX_ENVS
from ..launch.engine_process import EngineProcess
from ..launch.task_ids import check_task
from ..policies.load import load_policy
from .data_checks import Motion, check_data
from .diagnosis import Diagnosis
from .rehearsal import rehearse


class DoctorError(ValueError):
    """A task that could not even be started."""


@dataclass(frozen=True)
class DoctorCfg:
    """What to examine."""

    task: str
    """Id of the task; see ``nerd list-envs``."""
    model: str | Path | None = None
    """Model that shall step it, its directory or the name of a shipped one."""
    data: str | Path | None = None
    """Dataset that shall teach a model."""
    policy: str | Path | None = None
    """Policy whose motion the data shall hold, a file or the log folder of a run."""
    num_envs: int = bounded(64, at_least=1, at_most=MAX_ENVS)
    """Environments that are looked at."""
    rehearse: bool = True
    """Whether a few seconds of data are collected, too."""
    physics: str = "ovphysx"
    """Physics preset of the task."""
    device: str = "cpu"
    """Device of the simulation."""
    overrides: Annotated[tuple[str, ...], tyro.conf.Positional] = ()
    """Changes of the task's configuration, env.<field>=<value>."""

    def __post_init__(self):
        check_bounds(self, DoctorError)


@dataclass(frozen=True)
class Examined:
    """What the process with the engine has found."""

    diagnoses: tuple[Diagnosis, ...]
    """Of the task, and of the model."""
    spec: str | None
    """The robot's specification as JSON; None where it cannot be made."""
    motion: Motion | None
    """What the policy does; None where none was given."""


def examine(cfg: DoctorCfg) -> list[Diagnosis]:
    """Examines a task: robot, actions, events, ground, terms, and model, data and a rehearsal of a collection.

    Engines run in processes of their own, so this may be called any number of times in one Python session.

    Args:
        cfg: What to examine.

    Raises:
        ValueError: There is no such task, model or policy, or the task cannot be started.
    """
    check_task(cfg.task)
    if cfg.model is not None:
        find_checkpoint(cfg.model)
    if cfg.policy is not None:
        load_policy(cfg.policy)
    plain = EngineProcess("nerd_isaaclab.doctor.worker", cfg, environment={"OMP_NUM_THREADS": "1"}).wait(DoctorError)
    examined = from_plain(Examined, plain)
    found = list(examined.diagnoses)
    if examined.spec is None:
        return found
    if cfg.data is not None:
        found += check_data(cfg.data, RobotSpec.from_json(examined.spec), examined.motion)
    if cfg.rehearse:
        found += rehearse(cfg.task, cfg.physics, cfg.device, cfg.overrides)
    return found
