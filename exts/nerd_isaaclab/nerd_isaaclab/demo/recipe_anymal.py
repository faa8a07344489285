# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What is collected, trained and measured for ANYmal C under torques."""

from __future__ import annotations

from .recipe import MECHANICS, ONE_VALIDATION, Collection, Evaluation, PolicyTraining, Recipe, Stage, Training

FORWARD, SIDEWAYS = "NeRD-AnymalC-Forward", "NeRD-AnymalC-Sideways"

FROM_RESETS = ("--initial", "task", "--shares", "zero=.2", "pd=.4", "random=.2", "ou=.2")
"""From the task's own starts: falls, and stances held by a controller that is drawn for each trajectory."""
DATA = (Collection(FORWARD, transitions=100_000, num_envs=256, workers=1, seed=62, options=FROM_RESETS),)
"""What ANYmal's contacts are learned from."""
EVALUATIONS = (Evaluation(FORWARD, "driven", steps=100), Evaluation(FORWARD, steps=100))
MUCH_NOISE = ("agent.actor.distribution_cfg.init_std=1.0",)
"""Exploration with which the kept policy learned, before the agent had less."""
POLICIES = (
    PolicyTraining(
        FORWARD, iterations=240, seeds=(0, 1, 2), physx_seeds=(0,), num_envs=256, episodes=256, seconds=240.0
    ),
    PolicyTraining(SIDEWAYS, iterations=150, num_envs=256, episodes=128, seconds=120.0, options=MUCH_NOISE),
)

REPRODUCE = Recipe(
    name="anymal",
    title="ANYmal C",
    robot="anymal_c",
    stages=(
        Stage(
            DATA,
            # more than a touch spoils it: after 204 updates at the preset's rate it is a tenth worse than untrained
            Training(
                minutes=None,
                options=(*MECHANICS, *ONE_VALIDATION, "--optimiser.lr", "1e-3", "--updates", "30"),
                seconds=15.0,
            ),
        ),
    ),
    evaluations=EVALUATIONS,
    policies=POLICIES,
)
"""The shipped model ``anymal``: mechanics with learned rules of contacts and stops."""
