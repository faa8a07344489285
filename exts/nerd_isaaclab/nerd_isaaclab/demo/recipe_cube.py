# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What is collected, trained and measured for the tossed cube. Nothing acts on it, so that there are no policies."""

from __future__ import annotations

from dataclasses import replace

from .recipe import MECHANICS, Collection, Evaluation, Recipe, Stage, Training

TOSS = "NeRD-Cube-Toss"
"""The task."""

TOSSES = Collection(
    TOSS,
    transitions=409_600,
    steps=100,
    num_envs=512,
    workers=1,
    seed=1,
    options=("--initial", "task", "--shares", "zero=1"),
)
"""Throws as the task makes them, from the air to rest."""

VALIDATION = (
    *("--validations", "1", "--validation-trajectories", "32"),
    *("--validation-horizons", "10", "80", "--normaliser-transitions", "20000"),
)
"""One validation, at the end."""

PASSIVE = Evaluation(TOSS, trajectories=1000, steps=80)
"""A thousand tosses over 80 steps, as the publication judges its cube."""

REPRODUCE = Recipe(
    name="cube",
    title="Tossed cube",
    stages=(
        Stage(
            (TOSSES,),
            Training(
                minutes=None,
                options=(*MECHANICS, *VALIDATION, "--batch-size", "256", "--updates", "60", "--optimiser.lr", "1e-4"),
                seconds=60.0,
            ),
        ),
    ),
    evaluations=(PASSIVE,),
    policies=(),
)
"""The shipped model ``cube``: mechanics with learned rules of contacts. Untrained it is at PhysX's own chaos already,
so that there is little to learn."""

IN_THE_AIR = Collection(
    TOSS,
    transitions=100_000,
    steps=12,
    num_envs=1024,
    workers=1,
    seed=2,
    options=("--shares", "zero=1", "--ranges", "root_height=6,7", "root_ang_vel=30", "task_poses=0"),
)
"""Turning as fast as it may, and touching nothing."""

MORE_TOSSES = replace(TOSSES, transitions=614_400, num_envs=1024)
LOW = Collection(
    TOSS,
    transitions=409_600,
    steps=20,
    num_envs=1024,
    workers=1,
    seed=3,
    options=("--shares", "zero=1", "--ranges", "root_height=.05,.16", "root_lin_vel=1.5", "root_ang_vel=12"),
)
"""From just above the ground, so that most of it is impacts and slides."""

FREE_MOTION_NETWORK = (
    *("--preset", "residual", "--prior", "free_fall", "--token.no-contacts"),
    *("--network.width", "16", "--network.hidden", "16", "--network.layers", "1", "--updates", "400"),
    *("--validations", "1", "--validation-horizons", "10", "--validation-trajectories", "64"),
    *("--validation-steps", "0"),
)
"""Network of the cube that touches nothing, which has hardly anything to learn, and its training."""
CONTACT_NETWORK = (
    *("--preset", "residual", "--within-data", "--precompute", "500000", "--normaliser-transitions", "200000"),
    *("--network.width", "80", "--network.hidden", "112", "--network.kinks", "80", "--network.layers", "3"),
    *("--token.contact-motion", "--token.contact-fine", "--token.symmetric", "--token.told-view"),
    *("--batch-size", "1024", "--optimiser.lr", "5e-3", "--regime-power", "0.5", "--updates", "5300"),
    *("--validations", "2", "--validation-horizons", "10", "80", "--validation-trajectories", "96"),
)
"""Network of what the ground adds, and its training."""

NETWORK = Recipe(
    name="cube-network",
    title="Tossed cube, network",
    stages=(
        Stage((IN_THE_AIR,), Training(minutes=None, options=FREE_MOTION_NETWORK, seconds=15.0), free_motion=True),
        Stage((MORE_TOSSES, LOW), Training(minutes=None, options=CONTACT_NETWORK, seconds=180.0)),
    ),
    evaluations=(PASSIVE,),
    policies=(),
)
"""The shipped model ``cube-network``, which knows no mechanics."""
