# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""A trial of adaptation with an engine as the plant: robots change at a moment that nobody announces.

The task runs in ``mixed`` mode with no neural environment: the solver moves all robots, the model is their shadow. What
was recorded is judged by :mod:`nerd_core.adaptation.trial`.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from nerd_core.adaptation.config import AdaptCfg
from nerd_core.files.bounds import SEED, bounded, check_bounds
from nerd_core.files.serialization import from_plain

from ..launch.engine_process import EngineProcess
from ..launch.task_ids import check_task

Change = Literal["nothing", "payload", "friction", "motor"]
"""What happens to a group of robots: nothing; a fifth of the mass of all is put on the root; a foot's friction with the
ground halves; a motor loses half of its strength."""

CHANGES: tuple[Change, ...] = ("nothing", "payload", "friction", "motor")
"""All of it."""


class AdaptationTrialError(ValueError):
    """A trial that could not be run."""


@dataclass(frozen=True)
class TaskTrialCfg:
    """Which task, and what changes."""

    task: str
    """Id of the task, with drives of the engine where a motor weakens."""
    model: str | None = None
    """Directory of the model, or the name of a shipped one; by default mechanics of the task's robot, untrained."""
    changes: tuple[Change, ...] = CHANGES
    """What changes, each in a group of environments of its own with the same targets."""
    envs: int = bounded(8, at_least=1, at_most=4096)
    """Environments of each group."""
    at: float = bounded(3.0, above=0.0, at_most=1.0e4)
    """When the robots change [s]."""
    seconds: float = bounded(9.0, above=0.0, at_most=1.0e4)
    """Length of the trial [s]."""
    reach: float = bounded(0.15, at_least=0.0, at_most=100.0)
    """Size of the random actions, new ones every sixth of a second and steady between."""
    physics: str = "ovphysx"
    """Physics preset of the task."""
    seed: int = bounded(0, **SEED)
    """Seed of the actions."""
    settings: Annotated[AdaptCfg, tyro.conf.arg(name="")] = field(
        default_factory=lambda: AdaptCfg(("payload", "friction", "motors"))
    )
    """What is followed, and how."""
    overrides: Annotated[tuple[str, ...], tyro.conf.Positional] = ()
    """Changes of the task's configuration, env.<field>=<value>."""

    def __post_init__(self):
        check_bounds(self)
        if self.at >= self.seconds:
            raise AdaptationTrialError(f"got a change at {self.at} s of {self.seconds} s, expected one before the end")


@dataclass(frozen=True)
class Recorded:
    """What the process of the engine tells beside the motion."""

    spec: str
    """The robot's specification as JSON."""
    truth: dict[str, dict[str, float]]
    """By change, the numbers of the robots after it."""
    changed_at: int
    """Step of the change."""
    cost_share: float | None
    """What adaptation adds to a step of the environment, as a share of one without it; both measured in turns."""
    estimates_agree: bool
    """Whether the estimates in the loop were those that come from the recorded motion."""


def run_trial(cfg: TaskTrialCfg) -> tuple[Any, Any, dict[str, slice], Recorded]:
    """Runs a trial, the engine in a process of its own.

    Args:
        cfg: Which task, and what changes.

    Returns:
        The model, the trial, the environments of each change, and what was recorded beside it.
    """
    import torch

    from nerd_core import checkpoint
    from nerd_core.adaptation.directions import Directions
    from nerd_core.adaptation.trial import Motion, try_adaptation
    from nerd_core.checkpoint_names import find_checkpoint
    from nerd_core.contact.grounds import PlaneGround
    from nerd_core.files.safe_files import read_bytes
    from nerd_core.files.safe_tensors import parse_tensors
    from nerd_core.robot.spec import RobotSpec

    from .adaptation_worker import MOTION, shadow_model

    check_task(cfg.task)
    with tempfile.TemporaryDirectory() as scratch:
        order = {"cfg": cfg, "out": scratch}
        process = EngineProcess("nerd_isaaclab.evaluation.adaptation_worker", _plain(order))
        recorded = from_plain(Recorded, process.wait(AdaptationTrialError))
        tensors = parse_tensors(read_bytes(Path(scratch) / MOTION, 2**32), MOTION)
    spec = RobotSpec.from_json(recorded.spec)
    model = shadow_model(spec) if cfg.model is None else checkpoint.load(find_checkpoint(cfg.model)).eval()
    names = Directions(model, cfg.settings.words).names
    groups = {change: slice(i * cfg.envs, (i + 1) * cfg.envs) for i, change in enumerate(cfg.changes)}
    truth = torch.zeros(len(tensors["states"]), len(names))
    for change, rows in groups.items():
        for name, value in recorded.truth[change].items():
            if name in names:
                truth[rows, names.index(name)] = value
    ground = PlaneGround.flat(0.0)
    motion = Motion(tensors["states"], tensors["controls"], ground, recorded.changed_at, truth)
    return model, try_adaptation(model, motion, cfg.settings), groups, recorded


def _plain(order: dict[str, Any]) -> dict[str, Any]:
    from nerd_core.files.serialization import to_plain

    return {"cfg": to_plain(order["cfg"]), "out": order["out"]}


__all__ = ["CHANGES", "AdaptationTrialError", "Change", "Recorded", "TaskTrialCfg", "run_trial"]
