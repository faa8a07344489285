# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The phases of a recipe. Each runs one of the project's commands and keeps what it found.

Commands run in processes of their own: PhysX starts only once in a process, each command needs another number of
threads, and ctrl-C lets the one that runs save what it has.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nerd_core.checkpoint_names import UnknownCheckpoint, find_checkpoint, shipped_checkpoints
from nerd_core.files.provenance import file_digest
from nerd_core.files.serialization import to_plain

from . import arguments, motion
from .commands import ENGINE_THREADS, Commands, network_threads
from .phases import Phase, PhaseError
from .recipe import MECHANICS, Collection, Evaluation, PolicyTraining, Recipe, Training, Untrained
from .steps import (
    UNTRAINED_NAME,
    Step,
    driver_name,
    evaluation_name,
    making_steps,
    policy_name,
    training_name,
    transfer_name,
)

COLLECT_RATE, VISIT_RATE = 100_000.0, 10_000.0
"""Control steps that two idle cores record in a second, roughly: from drawn states, and from those of a model."""

EVALUATE_RATE = 45_000.0
"""Control steps that two idle cores record and predict in a second, roughly."""

START_S = 8.0
"""How long a command takes to start, roughly [s]."""


@dataclass(frozen=True)
class ModelSource:
    """The model that phases use."""

    path: str
    """Its directory."""
    needs: tuple[str, ...]
    """The phase that makes it, if one does."""
    digest: str = ""
    """Hash over its content, if it is there already: another model at the same place is another one."""


def phases_of(recipe: Recipe, commands: Commands, model: str | None = None) -> list[Phase]:
    """The phases of a recipe, in order.

    Args:
        recipe: What to do.
        commands: What runs the commands.
        model: Model of a recipe that makes none; by default the shipped one of its robot.
    """
    phases = []
    if recipe.stages:
        here = commands.out.absolute()
        for step in making_steps(recipe):
            if isinstance(step.item, Training):
                phases.append(_train(step.item, step, commands))
            elif isinstance(step.item, PolicyTraining):
                source = ModelSource(str(here / str(step.previous) / "best"), (str(step.previous),))
                phases.append(_train_policy(step.item, step.item.seeds[0], "neural", commands, source, step.name))
            else:
                phases.append(_collect(step.item, step, commands))
        name = training_name(len(recipe.stages) - 1)
        source = ModelSource(str(here / name / "best"), (name,))
    elif recipe.untrained is not None and model is None:
        phases.append(_init(recipe.untrained, commands))
        source = ModelSource(str(commands.out.absolute() / UNTRAINED_NAME / "best"), (UNTRAINED_NAME,))
    else:
        path = _given_model(recipe, model)
        source = ModelSource(str(path), (), file_digest(path / "manifest.json"))
    for item in recipe.evaluations:
        phases.append(_evaluate(item, commands, source))
    for policy in recipe.policies:
        for seed in policy.physx_seeds:
            phases.append(_train_policy(policy, seed, "physx", commands, source))
        for seed in policy.seeds:
            phases.append(_train_policy(policy, seed, "neural", commands, source))
            phases.append(_transfer(policy, seed, commands, source))
    phases.append(_motion(recipe, source))
    return phases


def model_of(phases: list[Phase]) -> Path:
    """Directory of the model that the phases measure."""
    return Path(phases[-1].settings["model"]["path"])


def _given_model(recipe: Recipe, model: str | None) -> Path:
    """Directory of a model that is there already."""
    try:
        return find_checkpoint(model or recipe.name).absolute()
    except UnknownCheckpoint as error:
        if model is not None:
            raise
        there = ", ".join(shipped_checkpoints()) or "none"
        raise PhaseError(
            f"this installation has no model '{recipe.name}' (shipped are: {there}): make one with "
            f"'nerd reproduce {recipe.name}', which takes hours, or name one with --model"
        ) from error


def _collect(item: Collection, step: Step, commands: Commands) -> Phase:
    driver = None if item.driven_by is None else driver_name(item.driven_by, step.previous)

    def run(folder: Path, results: Mapping[str, Any]) -> dict[str, Any]:
        policy = None if driver is None else log_folder(folder.parent.absolute() / driver)
        words = arguments.generate(item, folder.parent.absolute(), step, policy)
        said = commands.nerd(words, threads=network_threads() if item.teacher else ENGINE_THREADS)
        if item.teacher:
            made = _read(folder / "data/manifest.json")
            return {"report": {name: made[name] for name in ("transitions", "trajectories")}, "commands": [said]}
        return {"report": _read(folder / "data/report.json"), "commands": [said]}

    purpose = "PhysX moves the robot from random states with random efforts; the model learns from these data alone."
    if item.teacher:
        purpose = f"The model '{item.teacher}' moves the robot from states of PhysX's motion, or near them, many times."
    previous = (str(step.previous),) if item.visited else ()
    return Phase(
        step.name,
        f"Collect {item.transitions:,} transitions",
        purpose,
        START_S + item.transitions / (VISIT_RATE if item.visited else COLLECT_RATE),
        to_plain(item),
        run,
        (*(step.recorded if item.teacher else ()), *previous, *(() if driver is None else (driver,))),
    )


def _init(item: Untrained, commands: Commands) -> Phase:
    def run(folder: Path, results: Mapping[str, Any]) -> dict[str, Any]:
        return {"commands": [commands.nerd(arguments.init(item, folder / "best"), threads=ENGINE_THREADS)]}

    return Phase(
        UNTRAINED_NAME,
        "Make the model",
        "Mechanics with what the engine says of the robot and of its own solver: no data, nothing is learned.",
        START_S,
        to_plain(item),
        run,
    )


def _train(item: Training, step: Step, commands: Commands) -> Phase:
    def run(folder: Path, results: Mapping[str, Any]) -> dict[str, Any]:
        from nerd_core import checkpoint
        from nerd_core.training.run_folder import can_go_on

        words = arguments.train(item, folder.parent, step, resume=can_go_on(folder))
        said = commands.nerd(words, threads=item.threads)
        if not (folder / "best").is_dir():
            raise PhaseError(
                "the training ended without a usable model: roll-outs left the finite numbers at every validation; "
                "train longer (--minutes) or with other settings, from the beginning (--fresh)"
            )
        found = checkpoint.read_config(folder / "best")
        return {
            "results": found.results,
            "provenance": found.provenance,
            "settings": found.training,
            "commands": [said],
        }

    budget = "" if item.minutes is None else f" for {item.minutes:g} minutes"
    what = "A network learns to predict the next state from the state, the control and the contacts."
    if set(MECHANICS) <= set(item.options):
        what = "Mechanics is given; a few constants and a small network of rules for contacts and stops are learned."
    return Phase(
        step.name,
        f"Train the model{budget}",
        what,
        START_S + (item.seconds if item.minutes is None else 60.0 * item.minutes),
        to_plain(item),
        run,
        (*step.data, *((step.previous,) if step.previous else ())),
    )


def _evaluate(item: Evaluation, commands: Commands, model: ModelSource) -> Phase:
    def run(folder: Path, results: Mapping[str, Any]) -> dict[str, Any]:
        said = commands.nerd(arguments.evaluate(item, model.path, folder), threads=network_threads())
        return {**_read(folder / "errors.json"), "commands": [said]}

    what = {"passive": "without effort", "driven": "driven by random efforts"}[item.protocol]
    return Phase(
        evaluation_name(item),
        f"Evaluate open loop, {item.protocol}" + (f", {item.name}" if item.name else ""),
        f"{item.trajectories} motions {what}, {item.steps} steps each: how far is the model from PhysX, given nothing "
        "but the first state and the efforts?",
        START_S + item.trajectories * item.steps / EVALUATE_RATE,
        {**to_plain(item), "model": to_plain(model)},
        run,
        model.needs,
    )


def _train_policy(
    policy: PolicyTraining, seed: int, mode: str, commands: Commands, model: ModelSource, name: str | None = None
) -> Phase:
    def run(folder: Path, results: Mapping[str, Any]) -> dict[str, Any]:
        from ..policies.runs import load_curve

        shutil.rmtree(folder / "logs", ignore_errors=True)  # of an interrupted training: it starts over
        words = arguments.rl_train(policy, seed, mode, model.path)
        threads = ENGINE_THREADS if mode == "physx" else network_threads()
        said = commands.nerd(words, threads=threads, log=folder / "log.txt", cwd=folder)
        return {"curve": load_curve(log_folder(folder)), "commands": [said]}

    inside = "the learned model alone" if mode == "neural" else "PhysX, to compare"
    return Phase(
        name or policy_name(policy, seed, mode),
        f"Train a policy, {policy.task}, {mode} mode, seed {seed}",
        f"RSL-RL learns the task in {inside}: {policy.iterations} iterations with {policy.num_envs} environments.",
        policy.seconds,
        {
            "task": policy.task,
            "iterations": policy.iterations,
            "num_envs": policy.num_envs,
            "options": list(policy.options),
            "seed": seed,
            "mode": mode,
            "model": to_plain(model) if mode == "neural" else None,
        },
        run,
        model.needs if mode == "neural" else (),
    )


def _transfer(policy: PolicyTraining, seed: int, commands: Commands, model: ModelSource) -> Phase:
    def run(folder: Path, results: Mapping[str, Any]) -> dict[str, Any]:
        trained = log_folder(folder.parent / policy_name(policy, seed, "neural"))
        said = commands.nerd(arguments.transfer(policy, trained, model.path, folder), threads=ENGINE_THREADS)
        return {**_read(folder / "transfer.json"), "commands": [said]}

    return Phase(
        transfer_name(policy, seed),
        f"Score the policy in both modes, {policy.task}, seed {seed}",
        f"Does a policy trained in the model work in PhysX? {policy.episodes} episodes in each.",
        20.0,
        {"episodes": policy.episodes, "seed": seed, "task": policy.task},
        run,
        (policy_name(policy, seed, "neural"),),
    )


def _motion(recipe: Recipe, model: ModelSource) -> Phase:
    def run(folder: Path, results: Mapping[str, Any]) -> dict[str, Any]:
        path, clips = Path(model.path), []
        for item in recipe.evaluations:
            rollouts = folder.parent / evaluation_name(item) / "rollouts"
            label = f"{item.protocol}, {item.name}" if item.name else item.protocol
            clips += motion.open_loop_clips(path, rollouts, label, min(item.steps, motion.LONGEST))
        for policy in recipe.policies:
            recorded = folder.parent / transfer_name(policy, policy.seeds[0]) / "motion"
            clips += motion.policy_clips(path, recorded, policy.task)
        return {"robot": motion.describe(path), "clips": clips}

    return Phase(
        "motion",
        "Compute the motion to show",
        "Where every body is, in PhysX and in the model, for the report's animation.",
        3.0,
        {"model": to_plain(model)},
        run,
        (
            *(evaluation_name(item) for item in recipe.evaluations),
            *(transfer_name(policy, policy.seeds[0]) for policy in recipe.policies),
        ),
    )


def log_folder(folder: Path) -> Path:
    """The one folder that RSL-RL has logged to below a phase's folder.

    Raises:
        PhaseError: There is none.
    """
    found = sorted(folder.glob("logs/rsl_rl/*/*/params"))
    if not found:
        raise PhaseError(f"the training left no log folder in '{folder.name}'; its output is in {folder.name}/log.txt")
    return found[-1].parent


def _read(path: Path) -> dict[str, Any]:
    """What a command has written as JSON."""
    return json.loads(path.read_text(encoding="utf-8"))
