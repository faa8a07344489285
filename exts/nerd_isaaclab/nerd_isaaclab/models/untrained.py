# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""A model of a task's robot before any data: the preset ``mechanics`` with its initial constants, as a checkpoint.

Masses, joints, drives and contact slots are those of the robot's specification, which the task's engine gives. The
constants and rules of contacts and stops are those with which training begins; the rules change nothing yet. Mechanics
works in units of its own, so normalisers stay the identity, with a count of zero: a training that starts from here
(``nerd train --start``) sets them from its data, which leaves what the model predicts as it is.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from nerd_core.files.bounds import bounded, check_bounds
from nerd_core.files.outputs import require_folder
from nerd_core.files.serialization import from_plain

from ..launch.engine_process import EngineProcess
from ..launch.task_ids import check_task

if TYPE_CHECKING:
    from nerd_core.predictor.predictor import Predictor
    from nerd_core.robot.spec import RobotSpec


class InitError(ValueError):
    """A model that cannot be made, or may not be written where it was asked for."""


@dataclass(frozen=True)
class InitModelCfg:
    """Whose robot to make a model of."""

    task: str
    """Id of the task; see ``nerd list-envs``."""
    physics: str = "ovphysx"
    """Physics preset of the task."""
    device: str = "auto"
    """Device of the simulation; ``auto`` takes the GPU where there is one."""
    slots: int = bounded(8, at_least=1)
    """Most contact slots that are looked at, those that come nearest to the ground."""
    hidden: int = bounded(16, at_least=0)
    """Features of the network of rules that a training could fill; 0 for constants alone, which step faster."""
    overrides: Annotated[tuple[str, ...], tyro.conf.Positional] = ()
    """Changes of the task's configuration, env.<field>=<value>."""

    def __post_init__(self):
        check_bounds(self, InitError)


@dataclass(frozen=True)
class TaskRobot:
    """What the process with the engine has read."""

    spec: str
    """The robot's specification as JSON."""
    sees_ground: bool
    """Whether the model is to see contacts with the ground."""


def init_model(cfg: InitModelCfg, out: str | Path) -> Path:
    """Makes a model of a task's robot without data, and saves it. The engine runs in a process of its own.

    Args:
        cfg: Whose robot.
        out: Directory of the checkpoint, which must not exist.

    Returns:
        That directory.

    Raises:
        ValueError: There is no such task, it cannot be started, ``out`` exists, or mechanics does not know all forces
            at the robot's joints. Nothing is written then.
    """
    from nerd_core import checkpoint
    from nerd_core.files.provenance import describe_run
    from nerd_core.robot.spec import RobotSpec

    out = Path(out)
    check_task(cfg.task)
    if out.exists() or out.is_symlink():
        raise InitError(f"'{out}' exists: name a folder that does not, nothing is overwritten")
    require_folder(out, "--out")
    found = robot_of_task(cfg)
    predictor = untrained_model(RobotSpec.from_json(found.spec), found.sees_ground, cfg.slots, cfg.hidden)
    return checkpoint.save(out, predictor, provenance=describe_run(), card=card_of(cfg.task, predictor))


def robot_of_task(cfg: InitModelCfg) -> TaskRobot:
    """Reads the specification of a task's robot, in a process with an engine of its own.

    Args:
        cfg: Whose robot.

    Raises:
        ValueError: The task cannot be started.
    """
    from nerd_core.training.feasibility import choose_device

    order = dataclasses.replace(cfg, device=str(choose_device(cfg.device)))
    plain = EngineProcess("nerd_isaaclab.models.worker", order, environment={"OMP_NUM_THREADS": "1"}).wait(InitError)
    return from_plain(TaskRobot, plain)


def untrained_model(spec: RobotSpec, sees_ground: bool = True, slots: int = 8, hidden: int = 16) -> Predictor:
    """The preset ``mechanics`` for a robot as training would begin with it, always with the same weights.

    Args:
        spec: The robot.
        sees_ground: Whether it may touch the ground.
        slots: See :attr:`InitModelCfg.slots`.
        hidden: See :attr:`InitModelCfg.hidden`.

    Raises:
        ValueError: Mechanics does not know the robot's bodies, or all forces at its joints.
    """
    import torch

    from nerd_core.predictor.mechanics_prior import MechanicsPriorCfg
    from nerd_core.predictor.predictor import Predictor
    from nerd_core.training.presets import PRESETS

    preset = PRESETS["mechanics"]
    prior = MechanicsPriorCfg(slots=slots, hidden=hidden)
    token = dataclasses.replace(preset.predictor.token, contacts=sees_ground)
    cfg = dataclasses.replace(preset.predictor, prior=prior, token=token)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(preset.training.seed)
        return Predictor(spec, cfg).eval()


def card_of(task: str, predictor: Predictor) -> str:
    """What the card says first.

    Args:
        task: Id of the task.
        predictor: The model.
    """
    contacts = "It sees contacts with the ground." if predictor.needs_contacts else "It sees no contacts."
    return (
        f"Nothing was learned: no data were seen, this is mechanics with the constants that training begins with.\n\n"
        f"Masses, joints and drives are those of the robot of `{task}`. {contacts} Normalisers are the identity. "
        "`nerd train DATA --start DIR` goes on from here."
    )
