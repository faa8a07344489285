# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What is collected, trained and measured for the double pendulum: one model for the seven grounds of the paper."""

from __future__ import annotations

from dataclasses import replace

from .recipe import MECHANICS, ONE_VALIDATION, Collection, Evaluation, Recipe, Stage, Training

GROUND = "NeRD-Double-Pendulum-Ground-{}"
PLANES = ("--ground", "random-planes", "--shares", "zero=.8", "random=.05", "held=.05", "ou=.1")
"""A plane of any tilt a trajectory, as published, mostly without efforts."""
MOSTLY_PASSIVE_PLANES = ("--ground", "random-planes", "--shares", "zero=.9", "random=.03", "held=.03", "ou=.04")
"""The same, with still fewer efforts."""
FALLS = ("--initial", "task", "--shares", "zero=1")
"""From the task's own starts, without effort."""

SOME_EFFORTS = ("--shares", "zero=.7", "random=.1", "held=.1", "ou=.1")
"""Mostly without efforts, from any angles."""
FREE_MOTION_NETWORK = (
    *("--preset", "residual", "--token.no-contacts", "--token.no-limits", "--token.symmetric"),
    *("--network.width", "64", "--network.hidden", "96", "--network.layers", "3", "--updates", "15600"),
    *("--validations", "3", "--validation-horizons", "10", "50", "--validation-trajectories", "64"),
    *("--validation-steps", "0"),
)
"""Network of the pendulum that touches nothing, and its training."""
CONTACT_NETWORK = (
    *("--preset", "residual", "--within-data", "--precompute", "1600000", "--batch-size", "1024"),
    *("--network.width", "96", "--network.hidden", "128", "--network.kinks", "96", "--network.layers", "3"),
    *("--token.contact-motion", "--token.contact-fine", "--token.symmetric", "--token.told-view"),
    *("--token.distinct-slots", "--optimiser.lr", "5e-3", "--regime-power", "0.5", "--updates", "25500"),
    *("--validations", "6", "--validation-horizons", "10", "100", "--validation-trajectories", "256"),
)
"""Network of what a ground adds, and its training."""

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

NETWORK = Recipe(
    name="pendulum-network",
    title="Double pendulum, network",
    robot="double_pendulum",
    stages=(
        Stage(
            (
                Collection(
                    GROUND.format(0),
                    800_000,
                    steps=12,
                    num_envs=1024,
                    workers=1,
                    seed=40,
                    options=(*SOME_EFFORTS, "--ranges", "joint_vel=9"),
                ),
                Collection(
                    GROUND.format(0),
                    600_000,
                    steps=60,
                    num_envs=1024,
                    workers=1,
                    seed=50,
                    options=("--initial", "task", "--shares", "zero=.8", "random=.05", "held=.05", "ou=.1"),
                ),
            ),
            Training(minutes=None, options=FREE_MOTION_NETWORK, seconds=220.0),
            free_motion=True,
        ),
        Stage(
            (
                replace(RANDOM_PLANES, transitions=600_000),
                replace(RANDOM_PLANES, transitions=2_000_000, num_envs=1024, seed=141, options=MOSTLY_PASSIVE_PLANES),
                *(
                    Collection(GROUND.format(k), count, num_envs=1024, workers=1, seed=seed + k, options=FALLS)
                    for count, seed in ((204_800, 50), (512_000, 150))
                    for k in range(1, 7)
                ),
            ),
            Training(minutes=None, options=CONTACT_NETWORK, seconds=720.0),
        ),
    ),
    evaluations=EVALUATIONS,
    policies=(),
)
"""The shipped model ``pendulum-network``, which knows no mechanics: without a ground it is nearer than the paper's
network, over a ground up to ten times as far."""
