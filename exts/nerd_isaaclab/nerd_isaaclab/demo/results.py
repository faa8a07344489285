# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The numbers of a run in one place: what the report shows and what is written as JSON."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nerd_core.files.messages import shortened
from nerd_core.files.provenance import describe_run
from nerd_core.files.safe_files import MAX_JSON_BYTES, UnsafeFile, parse_json, read_bytes
from nerd_core.files.serialization import to_plain

from ..robots.record import PublishedFigures
from ..robots.registry import all_robots, robot_of_spec
from .phases import PhaseError
from .recipe import PolicyTraining, Recipe
from .steps import collection_name, evaluation_name, policy_name, training_name, transfer_name

MAX_PARTS = 100
"""Most parts of a step whose times are shown."""

MAX_COST = 1.0e9
"""Largest time of a step [ms]."""

SCHEMA = "nerd.report/2"
"""Name and version of the JSON form."""


def gather(
    recipe: Recipe,
    found: Mapping[str, Any],
    model: Path,
    commands: list[str],
    step_cost: Path | None = None,
    made_with: Sequence[str] = (),
) -> dict[str, Any]:
    """Plain values from the results of all phases.

    Args:
        recipe: What was done.
        found: Result of each phase by name.
        model: Directory of the model.
        commands: The commands of the run, and the one that ran them first.
        step_cost: JSON that ``benchmarks/step_cost.py`` has written, if any.
        made_with: The commands by which a given model was made.
    """
    from nerd_core import checkpoint

    predictor = checkpoint.load(model)
    config = checkpoint.read_config(model)
    collections = [item for stage in recipe.stages for item in stage.collections]
    seeds: dict[str, Any] = {"collections": [item.seed for item in collections]} if collections else {}
    seeds |= {"trainings": [stage.training.seed for stage in recipe.stages]} if recipe.stages else {}
    seeds |= {
        f"roll-outs ({item.protocol}{f', {item.name}' if item.name else ''})": item.seed for item in recipe.evaluations
    }
    seeds |= {f"policies, {item.task}": list(item.seeds) for item in recipe.policies}
    robot = robot_of_spec(predictor.spec.name)
    published = (robot and robot.published) or PublishedFigures("")
    return {
        "schema": SCHEMA,
        "name": recipe.name,
        "title": recipe.title,
        "recipe": to_plain(recipe),
        "model": {
            "name": model.name if model.name != "best" else recipe.name,
            "network": "none" if config.predictor.network is None else config.predictor.network.kind,
            "parameters": sum(param.numel() for param in predictor.parameters()),
            "spec": predictor.spec.content_hash,
            "control_dt": predictor.spec.control_dt,
            "made_by": config.provenance,
        },
        "made_with": list(made_with),
        "collections": [found[collection_name(index)] for index in range(len(collections))],
        "trainings": [found[training_name(index)] for index in range(len(recipe.stages))],
        "evaluations": [found[evaluation_name(item)] for item in recipe.evaluations],
        "policies": [
            _policy(policy, found, predictor.spec.control_dt, published.returns.get(policy.task))
            for policy in recipe.policies
        ],
        "published": {
            "source": published.source,
            "passive": {str(horizon): dict(errors) for horizon, errors in published.passive_errors.items()},
        },
        "step_cost": None if step_cost is None else read_step_cost(step_cost),
        "seconds": {name: result["seconds"] for name, result in found.items()},
        "commands": commands + [word for result in found.values() for word in result.get("commands", ())],
        "provenance": {**describe_run(command=commands[0].split(), seeds=seeds), **_host_facts()},
    }


def read_step_cost(path: Path) -> dict[str, Any]:
    """Reads what ``benchmarks/step_cost.py`` has written.

    Raises:
        PhaseError: The file cannot be read, or holds something else.
    """
    try:
        plain = parse_json(read_bytes(path, MAX_JSON_BYTES), path.name)
    except UnsafeFile as error:
        raise PhaseError(f"the step costs '{path}' cannot be read: {error}") from None
    wrong = _wrong_step_cost(plain)
    if wrong is not None:
        raise PhaseError(
            f"'{path}' holds no step costs ({wrong}): expected what 'benchmarks/step_cost.py --json FILE' writes"
        )
    return plain


def _wrong_step_cost(plain: Any) -> str | None:
    """What of the step costs that the report shows is not what it should be; None if all is well."""
    if not isinstance(plain, dict) or "num_envs" not in plain:
        return "no 'num_envs'"
    if type(plain["num_envs"]) is not int or not 0 < plain["num_envs"] < 2**31:
        return f"got num_envs={shortened(plain['num_envs'])}"
    numbers = {"load_before": plain.get("load_before", 0.0)}
    for robot in (record.name for record in all_robots()):
        times, parts = plain.get(f"{robot}_ms"), plain.get(f"{robot}_parts_ms", {})
        if times is None:
            continue
        if not isinstance(times, dict) or not isinstance(parts, dict) or len(parts) > MAX_PARTS:
            return f"got {shortened(times)} and {shortened(parts)} as the times of {robot}"
        numbers |= {f"{robot}_ms.{mode}": times.get(mode) for mode in ("physx", "neural")}
        numbers |= {f"{robot}_{plain['num_envs']}": plain.get(f"{robot}_{plain['num_envs']}", 0.0)}
        numbers |= {f"{robot}_parts_ms.{name}": value for name, value in parts.items()}
        if not isinstance(plain.get(f"{robot}_model", ""), str):
            return f"got {robot}_model={shortened(plain[f'{robot}_model'])}"
    for name, value in numbers.items():
        if type(value) not in (int, float) or not abs(value) < MAX_COST:
            return f"got {name[:80]}={shortened(value)}"
    return None


def _policy(policy: PolicyTraining, found: Mapping[str, Any], control_dt: float, published: Any) -> dict[str, Any]:
    """Curves and scores of the policies of one task, and what was published of it."""
    runs = []
    for mode, seeds in (("neural", policy.seeds), ("physx", policy.physx_seeds)):
        for seed in seeds:
            result = found[policy_name(policy, seed, mode)]
            runs.append({"mode": mode, "seed": seed, "curve": _published_scale(result["curve"], control_dt)})
    kept = kept_curve(policy.task)
    if kept is not None and not policy.physx_seeds:
        runs.append({"mode": "physx", "seed": "kept", "curve": _published_scale(kept, control_dt)})
    transfers = [found[transfer_name(policy, seed)] for seed in policy.seeds]
    return {
        "task": policy.task,
        "num_envs": policy.num_envs,
        "runs": runs,
        "transfers": [{"seed": seed, **_whole(each)} for seed, each in zip(policy.seeds, transfers, strict=True)],
        "published": published,
    }


def _whole(transfer: Mapping[str, Any]) -> dict[str, Any]:
    """A transfer without the numbers of each episode, which stand in its own file."""
    modes = transfer["modes"].items()
    kept = {mode: {key: value for key, value in said.items() if key != "per_episode"} for mode, said in modes}
    return {**transfer, "modes": kept}


def kept_curve(task: str) -> dict[str, list[float]] | None:
    """Learning curve of the policy that the repository keeps for a task, trained in PhysX mode; None if there is none.

    Args:
        task: Id of the task.
    """
    path = Path(__file__).resolve().parents[4] / "policies" / task / "curve.csv"
    try:
        with open(path, newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
    except OSError:
        return None
    return {name: [float(row[name]) for row in rows] for name in rows[0]} if rows else None


def _published_scale(curve: dict[str, list[float]], control_dt: float) -> dict[str, list[float]]:
    """A curve with returns as published: Isaac Lab multiplies rewards by the control step, the paper does not."""
    return {**curve, "return": [round(value / control_dt, 2) for value in curve["return"]]}


def _host_facts() -> dict[str, Any]:
    """Versions of the simulator beside those of the library."""
    from nerd_core.files.provenance import versions

    from ..launch.host import host_facts

    return {"versions": versions() | host_facts()["versions"]}
