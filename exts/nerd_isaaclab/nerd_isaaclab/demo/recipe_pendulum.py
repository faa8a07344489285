# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What is collected, trained and measured for the double pendulum: one model for the seven grounds of the paper."""

from __future__ import annotations

from .recipe import MECHANICS, ONE_VALIDATION, Collection, Evaluation, Recipe, Stage, Training

GROUND = "NeRD-Double-Pendulum-Ground-{}"
PLANES = ("--ground", "random-planes", "--shares", "zero=.8", "random=.05", "held=.05", "ou=.1")
"""A plane of any tilt a trajectory, as published, mostly without efforts."""
FALLS = ("--initial", "task", "--shares", "zero=1")
"""From the task's own starts, without effort."""

RANDOM_PLANES = Collection(
    GROUND.format(1), transitions=153_600, steps=60, num_envs=512, workers=1, seed=41, options=PLANES
)
EVALUATIONS = tuple(Evaluation(GROUND.format(column), steps=100, name=f"ground-{column}") for column in range(7))

REPRODUCE = Recipe(
    name="pendulum",
    title="Double pendulum",
    robot="double_pendulum",
    stages=(
        Stage(
            (
                RANDOM_PLANES,
                *(
                    Collection(GROUND.format(k), 102_400, num_envs=512, workers=1, seed=50 + k, options=FALLS)
                    for k in (2, 3, 6)
                ),
            ),
            Training(
                minutes=None,
                options=(
                    *MECHANICS,
                    *ONE_VALIDATION,
                    "--prior.slots",
                    "4",
                    "--optimiser.lr",
                    "2e-3",
                    "--updates",
                    "150",
                ),
                seconds=15.0,
            ),
        ),
    ),
    evaluations=EVALUATIONS,
    policies=(),
)
"""The shipped model ``pendulum``: mechanics with learned rules of contacts."""
