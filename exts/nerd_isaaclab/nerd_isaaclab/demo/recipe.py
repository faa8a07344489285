# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What a recipe says: data, trainings, evaluations and policies of one robot, as plain data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

MECHANICS = ("--preset", "mechanics")
"""Options of a training in which mechanics is given, and only the rules of contacts and stops are learned."""

ONE_VALIDATION = ("--validations", "1", "--validation-trajectories", "64", *("--validation-horizons", "10", "100"))
"""Options for one validation, at the end: rules hardly overfit, and the best of many short validations is chance."""


@dataclass(frozen=True)
class PolicyTraining:
    """A policy trained with RSL-RL and scored in both modes."""

    task: str
    """The task."""
    iterations: int
    """Iterations of PPO."""
    seeds: tuple[int, ...] = (0,)
    """Seeds trained in neural mode."""
    physx_seeds: tuple[int, ...] = ()
    """Seeds also trained in PhysX mode, to compare curves and time."""
    num_envs: int = 512
    """Environments while training."""
    episodes: int = 512
    """Episodes of the score, in each mode."""
    seconds: float = 180.0
    """How long one training takes on two idle cores, roughly [s]."""
    options: tuple[str, ...] = ()
    """Further words for ``nerd rl train``."""


@dataclass(frozen=True)
class Collection:
    """Trajectories to learn from."""

    task: str
    """Task whose robot and solver are used."""
    transitions: int
    """Control steps to record."""
    steps: int = 100
    """Length of a trajectory [control steps]."""
    num_envs: int = 512
    """Environments of each worker."""
    workers: int = 2
    """Processes."""
    seed: int = 0
    """Seed of everything that is drawn."""
    visited: bool = False
    """Whether the trajectories begin in states that roll-outs of the model of the stage before reach."""
    teacher: str = ""
    """Shipped model that moves the robot instead of the solver, in states of what the stages so far have collected of
    the solver's motion, or near them (``nerd data teach``); empty for the solver."""
    driven_by: PolicyTraining | None = None
    """Policy that is trained in the model of the stage before, and then drives the robot in the solver."""
    options: tuple[str, ...] = ()
    """Further words for ``nerd generate``: shares, ranges, teacher mode."""


@dataclass(frozen=True)
class Training:
    """How a model is fitted to data."""

    minutes: float | None
    """Budget [min]; None: the updates of the options decide, and the result is a function of the seed."""
    seed: int = 0
    """Seed of weights and batches."""
    threads: int = 1
    """OpenMP threads. Small networks train slower with two than with one."""
    options: tuple[str, ...] = ()
    """Further words for ``nerd train``: preset, loss, optimiser."""
    seconds: float = 60.0
    """How long it takes on one idle core without a budget of minutes, roughly [s]."""


@dataclass(frozen=True)
class Stage:
    """Data, and a training on them and on all data of the stages before, from the model of the stage before."""

    collections: tuple[Collection, ...]
    """Data that this stage adds."""
    training: Training
    """How to learn."""
    free_motion: bool = False
    """Whether the robot touches nothing in these data, or stays away from its stops. For the first stage alone: its
    model becomes the model of free motion inside of the next one, and its data are used for nothing else."""


@dataclass(frozen=True)
class Untrained:
    """A model of which nothing is learned: mechanics as a task's engine describes its robot."""

    task: str
    """The task."""
    options: tuple[str, ...] = ()
    """Further words for ``nerd models init``."""


@dataclass(frozen=True)
class Evaluation:
    """Open-loop errors on fresh roll-outs."""

    task: str
    """Task whose resets are the first states."""
    protocol: Literal["passive", "driven"] = "passive"
    """No effort, or controls drawn anew at each step."""
    trajectories: int = 512
    """Number of roll-outs."""
    steps: int = 1000
    """Their length [control steps]."""
    seed: int = 500
    """Their seed; training data have others."""
    name: str = ""
    """What tells it from others of the same protocol."""
    options: tuple[str, ...] = ()
    """Further words for ``nerd evaluate``."""


@dataclass(frozen=True)
class Recipe:
    """All that is done for one model of a robot."""

    name: str
    """Name of the recipe, and of the shipped model that it makes or uses."""
    title: str
    """Title of the report."""
    stages: tuple[Stage, ...]
    """How the model is trained; without stages it is an untrained one, or the shipped one is used."""
    evaluations: tuple[Evaluation, ...]
    """Open-loop measurements; the first is the one that the animation shows."""
    policies: tuple[PolicyTraining, ...]
    """Policies trained in the model."""
    robot: str = ""
    """Name of the robot's record, where it is not that of the recipe."""
    untrained: Untrained | None = None
    """How a model is made without data, for a recipe without stages."""

    @property
    def robot_name(self) -> str:
        """Name of the robot's record."""
        return self.robot or self.name.removesuffix("-network")


def smoke(recipe: Recipe) -> Recipe:
    """The same recipe in a minute or two: every phase, in sizes that only show that it runs.

    Args:
        recipe: The recipe.
    """
    # The learning rate is small: after twenty updates with a large one, roll-outs would not stay finite.
    tiny = ("--updates", "20", "--batch-size", "64", "--validations", "1", "--optimiser.lr", "1e-4")
    narrow = ("--network.width", "16", "--network.hidden", "16")
    few = ("--prior.hidden", "4")
    new = {number for number in range(len(recipe.stages)) if number == 0 or recipe.stages[number - 1].free_motion}
    stages = [
        replace(
            stage,
            collections=tuple(
                replace(
                    item,
                    transitions=6_400,
                    num_envs=64,
                    steps=min(item.steps, 50),
                    workers=1,
                    driven_by=item.driven_by and replace(item.driven_by, iterations=3, num_envs=32),
                    options=(
                        *item.options,
                        *(("--visited-steps", "20") if item.visited else ()),
                        *(("--batch", "128") if item.teacher else ()),
                    ),
                )
                for item in stage.collections
            ),
            training=Training(
                minutes=None,
                options=(
                    *stage.training.options,
                    *((few if "mechanics" in stage.training.options else narrow) if number in new else ()),
                    *tiny,
                ),
            ),
        )
        for number, stage in enumerate(recipe.stages)
    ]
    return replace(
        recipe,
        stages=tuple(stages),
        evaluations=tuple(replace(item, trajectories=16, steps=100) for item in recipe.evaluations),
        policies=tuple(
            replace(item, iterations=3, seeds=(0,), physx_seeds=(0,)[: len(item.physx_seeds)], num_envs=32, episodes=16)
            for item in recipe.policies[:1]
        ),
    )
