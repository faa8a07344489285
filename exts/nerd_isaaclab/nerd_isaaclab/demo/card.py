# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The card of a shipped model: how it was made, its errors, and its limits. Written from measured results alone."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nerd_core import checkpoint
from nerd_core.files.atomic import replace_directory

from .report import QUANTITIES

NEEDED = ("spec.json", "config.json", "model.safetensors", "manifest.json")
"""Files of a checkpoint that are needed to use it; the state of the training is not."""


def write_model(model: Path, results: Mapping[str, Any], out: Path) -> Path:
    """Copies a model, without the state of its training, and gives it a card.

    Args:
        model: Directory of the model.
        results: What :func:`nerd_isaaclab.demo.results.gather` gave for it.
        out: Where to write it, whole or not at all; what is there is replaced.

    Returns:
        The new directory, which has been read back.
    """
    with replace_directory(out) as folder:
        for name in NEEDED:
            shutil.copyfile(model / name, folder / name)
        (folder / "card.md").write_text(write_card(results), encoding="utf-8")
    checkpoint.load(out)
    return out


def write_card(results: Mapping[str, Any]) -> str:
    """The card as Markdown. Its first sentence is what ``nerd models list`` shows.

    Args:
        results: What :func:`nerd_isaaclab.demo.results.gather` gave.
    """
    model, origin = results["model"], results["provenance"]
    kind = _kind(model, bool(results["recipe"].get("untrained")))
    parts = [
        f"# {results['title']}",
        _summary(results),
        f"{kind} that predicts the state of the robot one control step ({model['control_dt']:.4g} s) ahead. "
        f"Robot specification `{model['spec']}`.",
        "## Made by",
        "```bash\n" + "\n".join(_made_by(results)) + "\n```",
        *(_evaluation(evaluation) for evaluation in results["evaluations"]),
        *(_policy(policy) for policy in results["policies"]),
        "## Limits",
        "\n".join(f"- {limit}" for limit in _limits(results)),
        "## Origin",
        f"{origin['host']['cpu']}, {origin['host']['cores']} cores, {origin['host']['gpu'] or 'no GPU'}; "
        + ", ".join(f"{name} {version}" for name, version in origin["versions"].items() if version)
        + f"; seeds: {', '.join(f'{name} {seed}' for name, seed in origin['seeds'].items())}; {origin['finished']}.",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _kind(model: Mapping[str, Any], untrained: bool) -> str:
    """What the model is, trained or not, as the beginning of a sentence."""
    if untrained:
        return (
            f"Mechanics with the constants of the engine's solver ({model['parameters']:,}), of which nothing was "
            "learned, no network,"
        )
    if model["network"] == "none":
        return f"Mechanics with learned rules of contacts and stops ({model['parameters']:,} weights), no network,"
    return f"A network of the kind `{model['network']}` with {model['parameters']:,} parameters"


def _summary(results: Mapping[str, Any]) -> str:
    for evaluation in results["evaluations"]:
        if evaluation["horizons"]:
            horizon, errors = list(evaluation["horizons"].items())[-1]
            said = ", ".join(
                f"{errors[name]:.2g} {unit}" for name, (_, unit) in QUANTITIES.items() if errors.get(name) is not None
            )
            return f"{evaluation['protocol'].capitalize()}, {horizon} steps: {said}."
    return "Not measured."


def _made_by(results: Mapping[str, Any]) -> list[str]:
    """The command that does everything, then what it ran."""
    commands = list(results["commands"])
    made_here = results["recipe"].get("untrained") and not results["made_with"]
    if not results["trainings"] and not made_here:
        earlier = results["model"]["made_by"].get("command")
        commands = (results["made_with"] or ([str(earlier)] if earlier else [])) + commands
    return commands


def _evaluation(evaluation: Mapping[str, Any]) -> str:
    """Table of the open-loop errors."""
    names = {
        name: f"{title} [{unit}]"
        for name, (title, unit) in QUANTITIES.items()
        if any(errors.get(name) is not None for errors in evaluation["horizons"].values())
    }
    rows = [
        [f"{horizon} steps", *(f"{errors[name]:.3g}" for name in names)]
        for horizon, errors in evaluation["horizons"].items()
    ]
    lost = f", {evaluation['diverged']} of them diverged" if evaluation["diverged"] else ""
    return (
        f"## Open loop, {evaluation['protocol']}\n\nMean errors against PhysX over all steps up to the horizon, "
        f"{evaluation['trajectories']} trajectories{lost}, task {evaluation['task']}.\n\n"
        + _table(["horizon", *names.values()], rows)
    )


def _policy(policy: Mapping[str, Any]) -> str:
    """Table of the transfers of a task."""
    rows = []
    for each in policy["transfers"]:
        returns = [each["modes"][mode]["scores"]["return"] for mode in ("neural", "physx")]
        gap = "-" if each["reward_gap"] is None else f"{100 * each['reward_gap']:+.2f} %"
        rows.append([str(each["seed"]), *(f"{value['mean']:.4g} ± {value['std']:.3g}" for value in returns), gap])
    episodes = policy["transfers"][0]["episodes"] if policy["transfers"] else 0
    return (
        f"## Policies trained in the model alone: {policy['task']}\n\n"
        f"Return of the mean action, {episodes} episodes in each mode.\n\n"
        + _table(["seed", "in the model", "in PhysX", "gap"], rows)
    )


def _limits(results: Mapping[str, Any]) -> list[str]:
    """What the model must not be expected to do, as far as it follows from how it was made."""
    recipe = results["recipe"]
    limits = [
        "One robot, one control step, the gravity and the ground of its specification; another robot is refused.",
        "Nothing was learned: what the engine does and mechanics do not know is missing."
        if recipe.get("untrained")
        else "Far from the recorded states its motion can be wrong; the guard stops only values that are impossible.",
        "A reward that agrees in both modes does not prove that the motion does: read the open-loop errors beside it.",
    ]
    for taught in [item for stage in recipe["stages"] for item in stage["collections"]]:
        options = f", {' '.join(taught['options'])}" if taught["options"] else ""
        source = f"what the model `{taught['teacher']}` does" if taught.get("teacher") else taught["task"]
        seen = f"It has seen {taught['transitions']:,} transitions of {source} in pieces of {taught['steps']} steps"
        limits.insert(1, f"{seen}{options}.")
    return limits


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
