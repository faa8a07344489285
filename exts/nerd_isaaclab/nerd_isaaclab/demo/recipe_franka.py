# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What is collected, trained and measured for the Franka: one model for joint positions and joint torques."""

from __future__ import annotations

from .recipe import MECHANICS, ONE_VALIDATION, Collection, Evaluation, PolicyTraining, Recipe, Stage, Training

TORQUE, POSITION = "NeRD-Franka-Reach-Torque", "NeRD-Franka-Reach-Position"

DATA = (
    Collection(TORQUE, transitions=51_200, num_envs=256, workers=1, seed=81),
    Collection(POSITION, transitions=51_200, num_envs=256, workers=1, seed=82),
)
"""Torques of both tasks, which have one robot: wide ones, and those that small steps of positions ask for."""
EVALUATIONS = (
    Evaluation(TORQUE, "driven", steps=100, name="torque"),
    Evaluation(POSITION, "driven", steps=100, name="position"),
)
POLICIES = (
    PolicyTraining(POSITION, iterations=600, num_envs=256, seconds=200.0),
    PolicyTraining(TORQUE, iterations=600, num_envs=256, seconds=200.0),
)

REPRODUCE = Recipe(
    name="franka",
    title="Franka",
    stages=(
        Stage(
            DATA,
            Training(
                minutes=None,
                options=(*MECHANICS, *ONE_VALIDATION, "--token.no-contacts", "--updates", "50"),
                seconds=60.0,
            ),
        ),
    ),
    evaluations=EVALUATIONS,
    policies=POLICIES,
)
"""The shipped model ``franka``: mechanics with learned rules of its stops."""
