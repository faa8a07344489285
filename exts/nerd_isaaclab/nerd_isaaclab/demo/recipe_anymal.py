# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What is collected, trained and measured for ANYmal C under torques."""

from __future__ import annotations

from .recipe import MECHANICS, ONE_VALIDATION, Collection, Evaluation, PolicyTraining, Recipe, Stage, Training

FORWARD, SIDEWAYS = "NeRD-AnymalC-Forward", "NeRD-AnymalC-Sideways"

FROM_RESETS = ("--initial", "task", "--shares", "zero=.2", "pd=.4", "random=.2", "ou=.2")
"""From the task's own starts: falls, and stances held by a controller that is drawn for each trajectory."""
DATA = (
    Collection(FORWARD, transitions=150_000, num_envs=256, workers=1, seed=61),
    Collection(FORWARD, transitions=100_000, num_envs=256, workers=1, seed=62, options=FROM_RESETS),
)
"""What ANYmal's contacts are learned from."""
EVALUATIONS = (Evaluation(FORWARD, "driven", steps=100), Evaluation(FORWARD, steps=500))
POLICIES = (
    PolicyTraining(FORWARD, iterations=200, seconds=400.0),
    PolicyTraining(SIDEWAYS, iterations=200, seconds=400.0),
)

REPRODUCE = Recipe(
    name="anymal",
    title="ANYmal C",
    robot="anymal_c",
    stages=(
        Stage(
            DATA,
            Training(minutes=4.0, options=(*MECHANICS, *ONE_VALIDATION)),
        ),
    ),
    evaluations=EVALUATIONS,
    policies=POLICIES,
)
"""The shipped model ``anymal``: mechanics with learned rules of contacts and stops."""
