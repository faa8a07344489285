# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The arguments of ``nerd generate``, ``data teach``, ``train``, ``models init``, ``evaluate``, ``rl train`` and
``transfer`` for the items of a recipe.

The phases run these commands, and a model's card shows them: both take them from here.
"""

from __future__ import annotations

import shlex
from pathlib import Path

from .recipe import Collection, Evaluation, PolicyTraining, Recipe, Training, Untrained
from .steps import UNTRAINED_NAME, Step, making_steps

Arguments = list[str]
"""What stands behind ``nerd``."""


def making_commands(recipe: Recipe) -> list[str]:
    """The commands that make the model of a recipe, with the folders of its phases below the current one.

    Args:
        recipe: The recipe.
    """
    commands: list[Arguments] = []
    here = Path()
    if recipe.untrained is not None and not recipe.stages:
        commands.append(init(recipe.untrained, here / UNTRAINED_NAME / "best"))
    for step in making_steps(recipe):
        if isinstance(step.item, Training):
            commands.append(train(step.item, here, step))
        elif isinstance(step.item, PolicyTraining):
            commands.append(rl_train(step.item, step.item.seeds[0], "neural", here / str(step.previous) / "best"))
        else:
            commands.append(generate(step.item, here, step, "LOGS"))
    return [f"nerd {shlex.join(arguments)}" for arguments in commands]


def init(item: Untrained, out: Path) -> Arguments:
    """Arguments for a model of which nothing is learned.

    Args:
        item: The model.
        out: Its directory, which must not exist.
    """
    return ["models", "init", "--task", item.task, *item.options, "--out", str(out)]


def generate(item: Collection, here: Path, step: Step, policy: Path | str | None) -> Arguments:
    """Arguments for a collection.

    Args:
        item: The collection.
        here: Folder of the run.
        step: Its place in the recipe.
        policy: Log folder of the policy that drives the robot, if one does.
    """
    if item.teacher:
        return _teach(item, here, step)
    words: list[object] = ["--task", item.task, "--out", here / step.name / "data", "--transitions", item.transitions]
    words += ["--steps", item.steps, "--num-envs", item.num_envs, "--workers", item.workers, "--seed", item.seed]
    words += item.options
    if item.driven_by is not None:
        words += ["--policy", policy]
    if item.visited:
        words += ["--visited", here / str(step.previous) / "best"]
    return ["generate", *map(str, words)]


def _teach(item: Collection, here: Path, step: Step) -> Arguments:
    """Arguments for a collection of what a model does in states of the solver's motion."""
    words: list[object] = [*(here / each / "data" for each in step.recorded), "--teacher", item.teacher]
    words += ["--out", here / step.name / "data", "--transitions", item.transitions, "--steps", item.steps]
    words += ["--seed", item.seed, *item.options]
    if item.visited:
        words += ["--visited", here / str(step.previous) / "best"]
    return ["data", "teach", *map(str, words)]


def train(item: Training, here: Path, step: Step, resume: bool = False) -> Arguments:
    """Arguments for the training of a model.

    Args:
        item: The training.
        here: Folder of the run.
        step: Its place in the recipe.
        resume: Whether to go on with what an interrupted training has saved.
    """
    words: list[object] = [*(here / each / "data" for each in step.data), "--out", here / step.name]
    words += ["--seed", item.seed, *item.options]
    if item.minutes is not None:
        words += ["--minutes", item.minutes]
    if resume:
        words += ["--resume"]
    else:
        if step.previous is not None:
            words += ["--free-motion" if step.built_in else "--start", here / step.previous / "best"]
        words += ["--overwrite"]
    return ["train", *map(str, words)]


def evaluate(item: Evaluation, model: str, folder: Path) -> Arguments:
    """Arguments for open-loop errors.

    Args:
        item: The evaluation.
        model: Directory of the model.
        folder: Folder for the roll-outs and the errors.
    """
    words: list[object] = ["--model", model, "--task", item.task, "--protocol", item.protocol, "--seed", item.seed]
    words += ["--trajectories", item.trajectories, "--steps", item.steps, *item.options]
    words += ["--data", folder / "rollouts", "--json", folder / "errors.json"]
    return ["evaluate", *map(str, words)]


def rl_train(item: PolicyTraining, seed: int, mode: str, model: str | Path) -> Arguments:
    """Arguments for the training of a policy.

    Args:
        item: The training.
        seed: Its seed.
        mode: ``"neural"`` or ``"physx"``.
        model: Directory of the model, for neural mode.
    """
    words: list[object] = ["--task", item.task, "--num_envs", item.num_envs]
    words += ["--max_iterations", item.iterations, "--seed", seed, *item.options, f"env.nerd.mode={mode}"]
    if mode != "physx":
        words += [f"env.nerd.checkpoint={model}"]
    return ["rl", "train", *map(str, words)]


def transfer(item: PolicyTraining, policy: Path, model: str, folder: Path) -> Arguments:
    """Arguments for the score of a policy in both modes.

    Args:
        item: How the policy was trained.
        policy: Log folder of its training.
        model: Directory of the model.
        folder: Folder for the scores and the recorded motion.
    """
    words: list[object] = ["--task", item.task, "--policy", policy, "--checkpoint", model]
    words += ["--episodes", item.episodes, "--json", folder / "transfer.json", "--record", folder / "motion"]
    return ["transfer", *map(str, words)]
