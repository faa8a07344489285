# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The steps that make a recipe's model, in order, and the names of all phases, which are also names of folders."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .recipe import Collection, Evaluation, PolicyTraining, Recipe, Training


@dataclass(frozen=True)
class Step:
    """A collection, a model training, or the training of a policy that drives the robot in a collection."""

    item: Collection | PolicyTraining | Training
    """What is done."""
    name: str
    """Name of its phase."""
    data: tuple[str, ...]
    """Names of the collections to learn from."""
    recorded: tuple[str, ...]
    """Names of those that hold the solver's motion."""
    previous: str | None
    """Name of the model training of the stage before."""
    built_in: bool
    """Whether the model of the stage before becomes a part of this one, instead of its first weights."""


def making_steps(recipe: Recipe) -> Iterator[Step]:
    """Each collection and training of a recipe, in order.

    The training of a policy that drives collections comes before the first of them, once in a stage.

    Args:
        recipe: The recipe.
    """
    data: tuple[str, ...] = ()
    recorded: tuple[str, ...] = ()
    previous, built_in, collected = None, False, 0
    for number, stage in enumerate(recipe.stages):
        trained: set[str] = set()
        for item in stage.collections:
            if item.driven_by is not None:
                policy = driver_name(item.driven_by, previous)
                if policy not in trained:
                    trained.add(policy)
                    yield Step(item.driven_by, policy, data, recorded, previous, built_in)
            name = collection_name(collected)
            yield Step(item, name, data, recorded, previous, built_in)
            data, collected = (*data, name), collected + 1
            recorded = recorded if item.teacher else (*recorded, name)
        yield Step(stage.training, training_name(number), data, recorded, previous, built_in)
        previous, built_in = training_name(number), stage.free_motion
        data, recorded = ((), ()) if stage.free_motion else (data, recorded)


def collection_name(index: int) -> str:
    """Name of the phase that collects the data with a number, from 0 on."""
    return "collect" if index == 0 else f"collect-{index + 1}"


def driver_name(policy: PolicyTraining, model: str | None) -> str:
    """Name of the phase that trains a policy in the model of a stage, to drive the robot in a collection."""
    return f"{model}-policy-{_short(policy.task)}"


UNTRAINED_NAME = "init"
"""Name of the phase that makes a model without data."""


def training_name(index: int) -> str:
    """Name of the phase that trains the model of the stage with a number, from 0 on."""
    return "train" if index == 0 else f"train-{index + 1}"


def evaluation_name(item: Evaluation) -> str:
    """Name of the phase of an evaluation."""
    return f"evaluate-{item.protocol}" + (f"-{item.name}" if item.name else "")


def policy_name(policy: PolicyTraining, seed: int, mode: str) -> str:
    """Name of the phase that trains a policy."""
    return f"rl-{_short(policy.task)}-{mode}-{seed}"


def transfer_name(policy: PolicyTraining, seed: int) -> str:
    """Name of the phase that scores a policy in both modes."""
    return f"transfer-{_short(policy.task)}-{seed}"


def _short(task: str) -> str:
    return task.removeprefix("NeRD-").lower()
