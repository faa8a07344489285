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
LARGER_REWARDS = ("env.rewards.distance.weight=-30", "env.rewards.nearness.weight=30")
"""Isaac Lab multiplies rewards by the control step: values of a tenth, beside which a critic's noise is large. The
curve of a training is thirty times the return; scores have the task's own weights."""
POLICIES = (
    PolicyTraining(
        POSITION,
        iterations=300,
        seeds=(0, 1, 2),
        physx_seeds=(0,),
        num_envs=256,
        episodes=256,
        seconds=100.0,
        options=LARGER_REWARDS,
    ),
    PolicyTraining(
        TORQUE,
        iterations=200,
        seeds=(0, 1, 2),
        physx_seeds=(0,),
        num_envs=256,
        episodes=256,
        seconds=70.0,
        options=LARGER_REWARDS,
    ),
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

NETWORK = Recipe(
    name="franka-network",
    title="Franka, network",
    stages=(
        Stage(
            (
                Collection(TORQUE, transitions=512_000, workers=1, seed=81),
                Collection(POSITION, transitions=307_200, workers=1, seed=82),
            ),
            Training(
                minutes=None,
                options=(
                    *("--preset", "residual", "--within-data", "--precompute", "400000", "--token.no-contacts"),
                    *("--normaliser-transitions", "200000", "--batch-size", "1024"),
                    *("--network.width", "64", "--network.hidden", "128", "--network.kinks", "32"),
                    *("--network.layers", "3", "--optimiser.lr", "5e-3", "--regime-power", "0.5"),
                    *("--updates", "9400", "--validations", "2", "--validation-horizons", "10", "100"),
                    *("--validation-trajectories", "96"),
                ),
                seconds=120.0,
            ),
        ),
    ),
    evaluations=EVALUATIONS,
    policies=POLICIES,
)
"""The shipped model ``franka-network``, which knows no mechanics."""
