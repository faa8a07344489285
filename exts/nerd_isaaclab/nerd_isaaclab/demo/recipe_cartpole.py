# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What is collected, trained and measured for the Cartpole."""

from __future__ import annotations

from .recipe import MECHANICS, ONE_VALIDATION, Collection, Evaluation, PolicyTraining, Recipe, Stage, Training

CARTPOLE = "NeRD-Cartpole"

OFTEN_NO_EFFORT = ("--shares", "zero=0.4", "random=0.2", "held=0.15", "ou=0.15", "spline=0.1")
"""Efforts of all kinds, four tenths of the time none."""
WHOLE_RAIL = (*OFTEN_NO_EFFORT, "--ranges", "slide=4.0", "slide_vel=3.0", "joint_vel=10")
"""From everywhere on the rail, often without effort: the cart then meets its stops at the speeds that matter."""
AWAY_FROM_STOPS = (
    *("--shares", "random=.3", "held=.2", "ou=.15", "spline=.1", "zero=.25"),
    *("--ranges", "slide=2.0", "slide_vel=5.0", "joint_vel=12"),
)
"""Ten steps that end before any stop, faster than a pole falls."""
FREE_MOTION_NETWORK = (
    *("--token.no-contacts", "--token.no-limits", "--token.ignored-joint-pos", "slider_to_cart", "--token.symmetric"),
    *("--network.width", "64", "--network.hidden", "96", "--network.layers", "3"),
)
"""Network of the Cartpole's motion between its stops, which neither sees stops nor where on the rail it is."""
STOPS_NETWORK = ("--token.symmetric", "--network.width", "96", "--network.hidden", "128", "--network.kinks", "96")
"""Network of what the stops of the Cartpole add."""


def _at_stops(transitions: int, steps: int, seed: int, *ranges: str) -> Collection:
    """Short trajectories of the Cartpole from just before its stops."""
    options = (*OFTEN_NO_EFFORT, "--ranges", "at_stops=1", *ranges)
    return Collection(CARTPOLE, transitions, steps, num_envs=1024, workers=1, seed=seed, options=options)


STOP_DATA = (
    _at_stops(2_000_000, 24, 9, "slide_vel=1.5", "joint_vel=10"),
    _at_stops(1_500_000, 16, 10, "slide_vel=4", "joint_vel=10"),
    _at_stops(250_000, 12, 93, "slide_vel=8", "joint_vel=22"),
)
"""What the Cartpole's stops are learned from."""

DEMO = Recipe(
    name="cartpole",
    title="Cartpole",
    stages=(
        Stage(
            (Collection(CARTPOLE, transitions=1_500_000, steps=60, seed=8, options=WHOLE_RAIL),),
            Training(minutes=4.0, options=("--network.kinks", "64")),
        ),
    ),
    evaluations=(Evaluation(CARTPOLE),),
    policies=(PolicyTraining(CARTPOLE, iterations=200, seconds=135.0),),
)
"""``nerd demo``: a network, in minutes."""
REPRODUCE = Recipe(
    name="cartpole",
    title="Cartpole",
    stages=(
        Stage(
            STOP_DATA,
            Training(
                minutes=None,
                options=(
                    *MECHANICS,
                    *ONE_VALIDATION,
                    "--token.no-contacts",
                    *("--prior.constraint-law", "fitted"),
                    *("--batch-size", "2048", "--updates", "20000"),
                ),
                seconds=200.0,
            ),
        ),
    ),
    evaluations=(Evaluation(CARTPOLE), Evaluation(CARTPOLE, "driven")),
    policies=(PolicyTraining(CARTPOLE, iterations=200, seeds=(0, 1, 2), physx_seeds=(0,)),),
)
"""The shipped model ``cartpole``: mechanics with learned rules of its stops."""
NETWORK = Recipe(
    name="cartpole-network",
    title="Cartpole, network",
    stages=(
        Stage(
            (Collection(CARTPOLE, 2_000_000, steps=10, num_envs=1024, workers=1, seed=91, options=AWAY_FROM_STOPS),),
            Training(minutes=14.0, options=FREE_MOTION_NETWORK),
            free_motion=True,
        ),
        Stage(
            STOP_DATA,
            Training(minutes=27.0, options=STOPS_NETWORK),
        ),
    ),
    evaluations=(Evaluation(CARTPOLE), Evaluation(CARTPOLE, "driven")),
    policies=(PolicyTraining(CARTPOLE, iterations=200, seeds=(0, 1, 2), physx_seeds=(0,)),),
)
"""The shipped model ``cartpole-network``, which knows no mechanics."""
