# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Motions of a policy in the solver, and the same ones in a model that is given less and less of them.

Efforts that a policy made in the solver say nothing of how a model's own motion would be corrected: nothing holds a
gait up that only efforts are left of. So a model may also be given the policy's actions, which the task's controllers
turn into efforts at the model's own state, or nothing but the first state, the policy acting on what it sees there.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch

from nerd_core.checkpoint_names import find_checkpoint
from nerd_core.training.feasibility import choose_device
from nerd_core.training.metrics import OpenLoopErrors, compare

from ..launch.engine_process import EngineProcess

if TYPE_CHECKING:
    from nerd_core.predictor.predictor import Predictor

    from .open_loop import EvaluateCfg

STATES = "states.npz"
"""File in which the process of the engine leaves both runs."""


class PolicyDrivenError(ValueError):
    """Motions of a policy that could not be made, or of which nothing is left."""


@dataclass(frozen=True)
class PolicyDriven:
    """The order to the process of the engine."""

    task: str
    """Task to play."""
    policy: str | Path
    """Policy file, folder that ``nerd rl export`` has written, or log folder of a run."""
    model: str | Path
    """Directory of the model, or the name of a shipped one."""
    actions: bool
    """Whether the model is given the actions of the solver's run; otherwise the policy acts on the model's states."""
    trajectories: int
    """Number of motions."""
    steps: int
    """Their length [control steps]."""
    seed: int
    """Seed of the starts."""
    physics: str
    """Physics preset."""
    overrides: tuple[str, ...]
    """Changes of the task's configuration."""
    out: str | Path = ""
    """Folder for :data:`STATES`."""
    device: str = "cpu"
    """Device of the simulation."""


@dataclass(frozen=True)
class Motions:
    """The same motions in the solver and in the model."""

    truth: torch.Tensor
    """States in the solver, the first included, shape (B, H + 1, S)."""
    states: torch.Tensor
    """States in the model, shape (B, H + 1, S). A motion that ended stays where it ended."""
    ended: torch.Tensor
    """Step at which the episode ended in the model, from 1 on; 0 where it did not. Shape (B,)."""


def order_of(cfg: EvaluateCfg) -> PolicyDriven:
    """What is to be played for an evaluation.

    Args:
        cfg: What to measure, with a task and a policy.
    """
    return PolicyDriven(
        task=cfg.task or "",
        policy=cfg.policy or "",
        model=find_checkpoint(cfg.model),
        actions=cfg.given == "actions",
        trajectories=cfg.trajectories,
        steps=cfg.steps,
        seed=cfg.seed,
        physics=cfg.physics,
        overrides=cfg.overrides,
    )


def play(order: PolicyDriven) -> Motions:
    """Plays the policy in the solver and in the model, in a process of its own.

    Motions whose episodes end in the solver are left out.

    Args:
        order: What to play.
    """
    with tempfile.TemporaryDirectory() as folder:
        asked = replace(order, out=folder, device=str(choose_device("auto")))
        EngineProcess("nerd_isaaclab.evaluation.policy_driven_worker", asked).wait(PolicyDrivenError)
        with np.load(Path(folder, STATES), allow_pickle=False) as file:
            truth, states, ended, whole = (
                torch.from_numpy(file[name]) for name in ("truth", "states", "ended", "whole")
            )
    if not whole.any():
        raise PolicyDrivenError(
            f"got a policy whose {order.trajectories} episodes all end within {order.steps} steps in the solver, "
            "expected one that goes on: ask for fewer --steps, or train it for longer"
        )
    return Motions(truth[whole], states[whole], ended[whole])


def judge(motions: Motions, predictor: Predictor) -> OpenLoopErrors:
    """Errors of the motions in the model. An episode that ended there counts as one that left the guard.

    Args:
        motions: What was played.
        predictor: The model.
    """
    errors = compare(predictor.spec, motions.states, motions.truth, predictor.bounds)
    goes_on = motions.ended == 0
    left, at_bounds = motions.ended[~goes_on].tolist(), ()
    if goes_on.any():  # each motion is lost once
        others = compare(predictor.spec, motions.states[goes_on], motions.truth[goes_on], predictor.bounds)
        left, at_bounds = [*left, *others.left_guard], others.at_bounds
    return replace(errors, left_guard=tuple(sorted(left)), at_bounds=at_bounds)
