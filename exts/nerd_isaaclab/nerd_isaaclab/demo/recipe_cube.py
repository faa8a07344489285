# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What is collected, trained and measured for the tossed cube. Nothing acts on it, so that there are no policies."""

from __future__ import annotations

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

NETWORK = Recipe(
    name="cube-network",
    title="Tossed cube, network",
    stages=(
        Stage(
            (TOSSES,),
            Training(
                minutes=6.0,
                options=("--token.contact-motion", "--token.contact-fine", "--regime-power", "1.0"),
            ),
        ),
    ),
    evaluations=(PASSIVE,),
    policies=(),
)
"""A network that knows no mechanics. It is not shipped yet: in the few hundred updates of a first trial a third of its
roll-outs left the guard."""
