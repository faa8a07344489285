# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What is collected, trained and measured for ANYmal C under torques."""

from __future__ import annotations

from dataclasses import replace

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
IN_THE_AIR = (
    *("--shares", "random=.5", "ou=.15", "pd=.2", "zero=.15", "--ranges", "root_height=6,7", "root_lin_vel=1"),
    *("root_ang_vel=5", "joint_pos_share=.25", "task_poses=0"),
)
"""In the air, with all kinds of torques."""
FALLS_AND_TORQUES = ("--initial", "task", "--shares", "zero=.25", "pd=.2", "random=.45", "ou=.1")
"""From the task's own starts, much of it under torques drawn anew in each step."""
WIDE = ("--shares", "zero=.3", "pd=.2", "random=.4", "ou=.1")
"""From wide ranges."""
TAUGHT = Collection(FORWARD, transitions=0, steps=8, teacher="anymal", options=("--batch", "4096"))
"""What mechanics do from recorded states under the torques of others."""
VISITED = ("--visited-steps", "100", "--batch", "8192")
"""What mechanics do in states that the network's own roll-outs reach."""
FREE_MOTION_NETWORK = (
    *("--preset", "residual", "--prior", "free_fall", "--token.no-contacts", "--precompute", "1300000"),
    *("--normaliser-transitions", "200000", "--batch-size", "768", "--network.width", "96", "--network.hidden", "96"),
    *("--network.kinks", "96", "--network.layers", "2", "--optimiser.lr", "6e-3", "--regime-power", "0.5"),
    *("--updates", "6000", "--validations", "1", "--validation-horizons", "10", "20"),
    *("--validation-trajectories", "64", "--validation-steps", "0"),
)
"""Network of the free motion, and its training. Joints reach their limits of speed in a fifth of the steps: kinks."""
CONTACT_NETWORK = (
    *("--preset", "residual", "--within-data", "--outliers", "0.004", "--precompute", "700000"),
    *("--normaliser-transitions", "100000"),
    *("--batch-size", "512", "--network.width", "96", "--network.hidden", "112", "--network.kinks", "80"),
    *("--network.layers", "3", "--token.contact-motion", "--token.distinct-slots", "--optimiser.lr", "5e-3"),
    *("--optimiser.final-lr", "0.4", "--regime-power", "1.0", "--updates", "7000", "--validations", "3"),
    *("--validation-horizons", "10", "100", "--validation-trajectories", "128", "--validation-steps", "0"),
)
"""Network of what contacts add, and the first part of its training."""
ON_VISITED_STATES = (
    *("--precompute", "900000", "--batch-size", "512", "--optimiser.lr", "4e-3", "--regime-power", "1.0"),
    *("--ema-decay", "0.995", "--updates", "12000", "--validations", "4", "--validation-horizons", "10", "100"),
    *("--validation-trajectories", "128", "--validation-steps", "0"),
)
"""The second part: the learning rate goes on falling."""

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

NETWORK = Recipe(
    name="anymal-network",
    title="ANYmal C, network",
    robot="anymal_c",
    stages=(
        Stage(
            (
                Collection(FORWARD, 409_600, steps=24, workers=1, seed=60, options=IN_THE_AIR),
                replace(TAUGHT, transitions=1_500_000, steps=6, seed=601),
            ),
            Training(minutes=None, options=FREE_MOTION_NETWORK, seconds=110.0),
            free_motion=True,
        ),
        Stage(
            (
                Collection(FORWARD, 512_000, workers=1, seed=62, options=FALLS_AND_TORQUES),
                Collection(FORWARD, 204_800, steps=30, workers=1, seed=61, options=WIDE),
                replace(TAUGHT, transitions=800_000, seed=611),
            ),
            Training(minutes=None, options=CONTACT_NETWORK, seconds=150.0),
        ),
        Stage(
            (replace(TAUGHT, transitions=800_000, steps=4, seed=631, visited=True, options=VISITED),),
            Training(minutes=None, options=ON_VISITED_STATES, seconds=200.0),
        ),
    ),
    evaluations=(Evaluation(FORWARD, steps=100), Evaluation(FORWARD, "driven", steps=100)),
    policies=(),
)
"""The shipped model ``anymal-network``, which is told no masses: what it knows it saw ``anymal`` do, and PhysX."""
