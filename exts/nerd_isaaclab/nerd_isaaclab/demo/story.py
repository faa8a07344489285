# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The phases of a recipe: each runs one of the project's commands and keeps what it found."""

from __future__ import annotations

import json
import shlex
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nerd_core.provenance import file_digest
from nerd_core.serialization import to_plain

from ..models import UnknownModel, find_model, shipped_models
from . import motion
from .commands import ENGINE_THREADS, Commands, network_threads
from .phases import Phase, PhaseError
from .recipes import RULES, Collection, Evaluation, Policy, Recipe, Training

COLLECT_RATE, VISIT_RATE = 100_000.0, 10_000.0
"""Control steps that two idle cores record in a second, roughly: from drawn states, and from those of a model."""


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
        for step in _making_steps(recipe):
            if isinstance(step.item, Training):
                phases.append(_train(step.item, step, commands))
            elif isinstance(step.item, Policy):
                model_before = _Model(str(here / str(step.before) / "best"), (str(step.before),))
                phases.append(_learn(step.item, step.item.seeds[0], "neural", commands, model_before, step.name))
            else:
                phases.append(_collect(step.item, step.name, step.before, commands))
        name = training_name(len(recipe.stages) - 1)
        source = _Model(str(here / name / "best"), (name,))
    else:
        path = _given_model(recipe, model)
        source = _Model(str(path), (), file_digest(path / "manifest.json"))
    for item in recipe.evaluations:
        phases.append(_evaluate(item, commands, source))
    for policy in recipe.policies:
        for seed in policy.physx_seeds:
            phases.append(_learn(policy, seed, "physx", commands, source))
        for seed in policy.seeds:
            phases.append(_learn(policy, seed, "neural", commands, source))
            phases.append(_transfer(policy, seed, commands, source))
    phases.append(_motion(recipe, commands, source))
    return phases


@dataclass(frozen=True)
class _Model:
    """The model that the phases measure."""

    path: str
    """Its directory."""
    needs: tuple[str, ...]
    """The phase that makes it, if one does."""
    digest: str = ""
    """Hash over its content, if it is there already: another model at the same place is another one."""


def model_of(phases: list[Phase]) -> Path:
    """Directory of the model that the phases measure."""
    return Path(phases[-1].settings["model"]["path"])


def collection_name(index: int) -> str:
    """Name of the phase that collects the data with a number, from 0 on."""
    return "collect" if index == 0 else f"collect-{index + 1}"


def practice_name(policy: Policy, trained: str) -> str:
    """Name of the phase that trains a policy in the model of a stage, to collect what it does."""
    return f"{trained}-policy-{_short(policy.task)}"


def training_name(index: int) -> str:
    """Name of the phase that trains the model of the stage with a number, from 0 on."""
    return "train" if index == 0 else f"train-{index + 1}"


def evaluation_name(item: Evaluation) -> str:
    """Name of the phase of an evaluation."""
    return f"evaluate-{item.protocol}"


def learning_name(policy: Policy, seed: int, mode: str) -> str:
    """Name of the phase that trains a policy."""
    return f"rl-{_short(policy.task)}-{mode}-{seed}"


def transfer_name(policy: Policy, seed: int) -> str:
    """Name of the phase that scores a policy in both modes."""
    return f"transfer-{_short(policy.task)}-{seed}"


def _short(task: str) -> str:
    return task.removeprefix("NeRD-").lower()


def _given_model(recipe: Recipe, model: str | None) -> Path:
    """Directory of a model that is there already."""
    try:
        return find_model(model or recipe.robot).absolute()
    except UnknownModel as error:
        if model is not None:
            raise
        there = ", ".join(shipped_models()) or "none"
        raise PhaseError(
            f"this installation has no model '{recipe.robot}' (shipped are: {there}): make one with "
            f"'nerd reproduce {recipe.robot}', which takes hours, or name one with --model"
        ) from error


def making_commands(recipe: Recipe) -> list[str]:
    """The commands that make the model of a recipe, with the folders of its phases below the current one.

    Args:
        recipe: The recipe.
    """
    said: list[list[object]] = []
    here = Path()
    for step in _making_steps(recipe):
        if isinstance(step.item, Training):
            said.append(["nerd", "train", *_train_words(step.item, here, step, False)])
        elif isinstance(step.item, Policy):
            words = _learn_words(step.item, step.item.seeds[0], "neural", here / str(step.before) / "best")
            said.append(["nerd", "rl", "train", *words])
        else:
            said.append(["nerd", "generate", *_collect_words(step.item, here, step.name, step.before)])
    return [shlex.join(map(str, words)) for words in said]


@dataclass(frozen=True)
class _Step:
    """A collection, the training of a policy for one, or a training on the way to a model."""

    item: Collection | Policy | Training
    """What is done."""
    name: str
    """Name of its phase."""
    data: tuple[str, ...]
    """Names of the collections to learn from."""
    before: str | None
    """Name of the training of the stage before."""
    built_in: bool
    """Whether the model of the stage before becomes a part of this one, instead of its start."""


def _making_steps(recipe: Recipe) -> Iterator[_Step]:
    """Each collection and training of a recipe in order, and before the first collection that a policy drives its own
    training in the model of the stage before: once, however many collections it drives.
    """
    data: tuple[str, ...] = ()
    before, built_in, collected = None, False, 0
    for number, stage in enumerate(recipe.stages):
        practised: set[str] = set()
        for item in stage.collections:
            trains = "" if item.practised is None else practice_name(item.practised, str(before))
            if item.practised is not None and trains not in practised:
                practised.add(trains)
                yield _Step(item.practised, trains, data, before, built_in)
            name = collection_name(collected)
            yield _Step(item, name, data, before, built_in)
            data, collected = (*data, name), collected + 1
        yield _Step(stage.training, training_name(number), data, before, built_in)
        before, built_in = training_name(number), stage.in_the_air
        data = () if stage.in_the_air else data


def _collect_words(item: Collection, here: Path, name: str, trained: str | None) -> list[object]:
    """Words for ``nerd generate``."""
    words: list[object] = ["--task", item.task, "--out", here / name / "data", "--transitions", item.transitions]
    words += ["--steps", item.steps, "--num-envs", item.num_envs, "--workers", item.workers, "--seed", item.seed]
    words += item.options
    if item.practised is not None:
        trains = here / practice_name(item.practised, str(trained))
        words += ["--policy", _log_folder(trains) if here.is_absolute() else "LOGS"]
    return [*words, "--visited", here / str(trained) / "best"] if item.visited else words


def _train_words(item: Training, here: Path, step: _Step, resume: bool) -> list[object]:
    """Words for ``nerd train``."""
    words: list[object] = [*(here / each / "data" for each in step.data), "--out", here / step.name]
    words += ["--seed", item.seed, *item.options]
    if item.minutes is not None:
        words += ["--minutes", item.minutes]
    if resume:
        return [*words, "--resume"]
    if step.before is not None:
        words += ["--free-motion" if step.built_in else "--start", here / step.before / "best"]
    return [*words, "--overwrite"]


def _collect(item: Collection, name: str, trained: str | None, commands: Commands) -> Phase:
    def run(folder: Path, results: Mapping[str, Any]) -> dict[str, Any]:
        data = folder / "data"
        first = len(commands.said)
        words = _collect_words(item, folder.parent.absolute(), name, trained)
        commands.nerd("generate", *words, threads=ENGINE_THREADS)
        report = json.loads((data / "report.json").read_text(encoding="utf-8"))
        return {"report": report, "commands": commands.said[first:]}

    return Phase(
        name,
        f"Collect {item.transitions:,} transitions",
        "PhysX plays random motions, which are all that the model will ever learn from.",
        8.0 + item.transitions / (VISIT_RATE if item.visited else COLLECT_RATE),
        to_plain(item),
        run,
        (
            *((str(trained),) if item.visited else ()),
            *((practice_name(item.practised, str(trained)),) if item.practised else ()),
        ),
    )


def _train(item: Training, step: _Step, commands: Commands) -> Phase:
    def run(folder: Path, results: Mapping[str, Any]) -> dict[str, Any]:
        from nerd_core import checkpoint

        words = _train_words(item, folder.parent, step, (folder / "last").is_dir())
        first = len(commands.said)
        commands.nerd("train", *words, threads=item.threads)
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
            "commands": commands.said[first:],
        }

    budget = "" if item.minutes is None else f" for {item.minutes:g} minutes"
    what = "A network learns to predict the next state from the state, the control and the contacts."
    if set(RULES) <= set(item.options):
        what = "Mechanics is known. How contacts and stops answer is learned: some constants, and rules that bend them."
    return Phase(
        step.name,
        f"Train the model{budget}",
        what,
        8.0 + (item.seconds if item.minutes is None else 60.0 * item.minutes),
        to_plain(item),
        run,
        (*step.data, *((step.before,) if step.before else ())),
    )


def _evaluate(item: Evaluation, commands: Commands, model: _Model) -> Phase:
    def run(folder: Path, results: Mapping[str, Any]) -> dict[str, Any]:
        words = ["--model", model.path, "--task", item.task, "--protocol", item.protocol, "--seed", item.seed]
        words += ["--trajectories", item.trajectories, "--steps", item.steps, *item.options]
        words += ["--data", folder / "rollouts", "--json", folder / "errors.json"]
        first = len(commands.said)
        commands.nerd("evaluate", *words, threads=network_threads())
        errors = json.loads((folder / "errors.json").read_text(encoding="utf-8"))
        return {**errors, "commands": commands.said[first:]}

    what = {"passive": "without effort", "driven": "driven by random efforts"}[item.protocol]
    return Phase(
        evaluation_name(item),
        f"Evaluate open loop, {item.protocol}",
        f"{item.trajectories} motions {what}, {item.steps} steps each: how far is the model from PhysX, given nothing "
        "but the first state?",
        8.0 + item.trajectories * item.steps / 45_000.0,
        {**to_plain(item), "model": to_plain(model)},
        run,
        model.needs,
    )


def _learn_words(policy: Policy, seed: int, mode: str, model: str | Path) -> list[object]:
    """Words for ``nerd rl train``."""
    words: list[object] = ["--task", policy.task, "--num_envs", policy.num_envs]
    words += ["--max_iterations", policy.iterations, "--seed", seed, *policy.options, f"env.nerd.mode={mode}"]
    return [*words, f"env.nerd.checkpoint={model}"] if mode != "physx" else words


def _learn(policy: Policy, seed: int, mode: str, commands: Commands, model: _Model, name: str | None = None) -> Phase:
    def run(folder: Path, results: Mapping[str, Any]) -> dict[str, Any]:
        from ..programs.runs import load_curve

        shutil.rmtree(folder / "logs", ignore_errors=True)  # of an interrupted training: it starts over
        words = _learn_words(policy, seed, mode, model.path)
        threads = ENGINE_THREADS if mode == "physx" else network_threads()
        first = len(commands.said)
        commands.nerd("rl", "train", *words, threads=threads, log=folder / "log.txt", cwd=folder)
        return {"curve": load_curve(_log_folder(folder)), "commands": commands.said[first:]}

    inside = "the learned model alone" if mode == "neural" else "PhysX, to compare"
    return Phase(
        name or learning_name(policy, seed, mode),
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


def _transfer(policy: Policy, seed: int, commands: Commands, model: _Model) -> Phase:
    def run(folder: Path, results: Mapping[str, Any]) -> dict[str, Any]:
        trained = _log_folder(folder.parent / learning_name(policy, seed, "neural"))
        words = ["--task", policy.task, "--policy", trained, "--checkpoint", model.path, "--episodes", policy.episodes]
        words += ["--json", folder / "transfer.json", "--record", folder / "motion"]
        first = len(commands.said)
        commands.nerd("transfer", *words, threads=ENGINE_THREADS)
        found = json.loads((folder / "transfer.json").read_text(encoding="utf-8"))
        return {**found, "commands": commands.said[first:]}

    return Phase(
        transfer_name(policy, seed),
        f"Score the policy in both modes, {policy.task}, seed {seed}",
        f"Does what was learned in the model hold in PhysX? {policy.episodes} episodes in each.",
        20.0,
        {"episodes": policy.episodes, "seed": seed, "task": policy.task},
        run,
        (learning_name(policy, seed, "neural"),),
    )


def _motion(recipe: Recipe, commands: Commands, model: _Model) -> Phase:
    def run(folder: Path, results: Mapping[str, Any]) -> dict[str, Any]:
        clips = []
        for item in recipe.evaluations:
            rollouts = folder.parent / evaluation_name(item) / "rollouts"
            clips += motion.open_loop_clips(Path(model.path), rollouts, item.protocol, min(item.steps, motion.LONGEST))
        for policy in recipe.policies:
            recorded = folder.parent / transfer_name(policy, policy.seeds[0]) / "motion"
            clips += motion.policy_clips(Path(model.path), recorded, policy.task)
        return {"robot": motion.describe(Path(model.path)), "clips": clips}

    return Phase(
        "motion",
        "Draw the motion",
        "Where every body is, in PhysX and in the model, for the report's animation.",
        3.0,
        {"model": to_plain(model)},
        run,
        (
            *(evaluation_name(item) for item in recipe.evaluations),
            *(transfer_name(policy, policy.seeds[0]) for policy in recipe.policies),
        ),
    )


def _log_folder(folder: Path) -> Path:
    """The one folder that RSL-RL has logged to below a phase's folder."""
    found = sorted(folder.glob("logs/rsl_rl/*/*/params"))
    if not found:
        raise PhaseError(f"the training left no log folder in '{folder.name}'; its output is in {folder.name}/log.txt")
    return found[-1].parent


__all__ = [
    "collection_name",
    "evaluation_name",
    "learning_name",
    "making_commands",
    "model_of",
    "phases_of",
    "practice_name",
    "training_name",
    "transfer_name",
]
