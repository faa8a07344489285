# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The recipes of models of real mechanisms, by name."""

from __future__ import annotations

from .measured import MeasuredRecipe

WINDOWS, FLIGHTS = ("--protocol", "windows", "--window", "80"), ("--protocol", "flights")
"""Sub-trajectories of 80 steps, and whole tosses."""

LIMITS = (
    "One body on one board: another friction, ground or size is not in it.",
    "Velocities are those of the recordings, backward differences; its positions are what was fitted.",
    "An impact decides on which side a body falls: there the error of one toss is large, whatever the mean is.",
)

CUBE = MeasuredRecipe(
    name="cube-real",
    title="A real cube, tossed on a board (ContactNets): mechanics whose contacts give way, calibrated on 400 tosses.",
    recordings="contactnets_cube_trainval.h5",
    training=("--preset", "measured", "--prior.substeps", "10", "--minutes", "10", "--seed", "0"),
    seconds=600.0,
    judges=(WINDOWS, FLIGHTS),
    limits=LIMITS,
)
"""The shipped model ``cube-real``."""

ELBOW = MeasuredRecipe(
    name="elbow-real",
    title="Two real hinged boxes, tossed on a board: mechanics whose contacts give way, calibrated on 380 tosses.",
    recordings="contactnets_elbow_trainval.h5",
    training=(
        *("--preset", "measured", "--prior.slots", "6", "--rollout.steps", "40"),
        *("--minutes", "8", "--seed", "0"),
    ),
    seconds=480.0,
    judges=(WINDOWS, FLIGHTS),
    limits=LIMITS,
)
"""The shipped model ``elbow-real``."""

MEASURED = {recipe.name: recipe for recipe in (CUBE, ELBOW)}
"""The recipes by name."""

__all__ = ["MEASURED"]
