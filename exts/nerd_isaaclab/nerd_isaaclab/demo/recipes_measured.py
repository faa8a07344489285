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
        *("--preset", "measured", "--prior.inertia-axes", "--prior.slots", "8", "--prior.substeps", "4"),
        *("--prior.physics-steps", "2", "--rollout.steps", "40", "--minutes", "8", "--seed", "0"),
    ),
    seconds=480.0,
    judges=(WINDOWS, FLIGHTS),
    limits=(*LIMITS, "From the second impact on nobody can say on which sides the boxes fall."),
)
"""The shipped model ``elbow-real``."""

SEARCH = ("--descent.driver", "least_squares", "--cost.velocity-weight", "0", "--cost.chunk", "1024")
"""How the pendulums are identified: least squares on positions."""

DRIVEN = (
    *("--learn-weights", "--learn", "load", "stribeck", "--emphasis", "sysid_both_driven=8", "--windows", "300"),
    *("--parameters", "masses", "centres", "armatures", "frictions", *SEARCH, "--cost.precision", "single"),
)
"""What of a driven pendulum is identified: few numbers, and excitation that counts eight times, carry over to motion of
another kind."""

DFKI = MeasuredRecipe(
    name="dfki-pendulum",
    title="The torque-driven double pendulum of the DFKI (design C.1): rigid bodies behind a transmission with losses.",
    recordings="dfki_double_pendulum_train.h5",
    held_out="dfki_double_pendulum_val.h5",
    training=(),
    identification=(
        (
            *("--transmission", *DRIVEN, "--substeps", "4", "--cost.robust", "0.5"),
            *("--descent.iterations", "5", "--descent.growth", "0.2", "1.0"),
        ),
        (*DRIVEN, "--descent.iterations", "3", "--descent.growth", "1.0", "--cost.robust", "0.1"),
    ),
    seconds=110.0,
    judges=(("--protocol", "windows", "--seconds", "0.5"),),
    limits=(
        "Only combinations of masses and inertias are determined; single values are not those of the parts.",
        "While the pendubot is held upright, the measured torque lags the motion by 28 ms, and the model takes it.",
        "Near the upright pose small errors grow by a factor of 30 in half a second.",
    ),
)
"""The shipped model ``dfki-pendulum``."""

PASSIVE = ("--parameters", "masses", "centres", "inertias", "frictions", "viscous_frictions", "gravity")
"""What of a passive pendulum is identified."""

IBM = MeasuredRecipe(
    name="ibm-pendulum",
    title="A passive double pendulum on camera (IBM): rigid bodies with friction, one frame (1/502 s) a step.",
    recordings="ibm_double_pendulum_trainval.h5",
    training=(),
    identification=(
        (
            *(*PASSIVE, *SEARCH, "--descent.iterations", "4", "--descent.growth", "0.3", "1.0", "--seconds", "0.1"),
            *("--stride", "5", "--windows", "100", "--substeps", "2"),
        ),
        (
            *(*PASSIVE, *SEARCH, "--descent.iterations", "3", "--descent.growth", "1.0", "--seconds", "0.24"),
            *("--stride", "3", "--windows", "110", "--cost.robust", "0.05"),
        ),
    ),
    seconds=60.0,
    judges=(("--protocol", "windows"),),
    limits=(
        "Masses are known up to a common factor, and so are friction and inertias.",
        "The motion is chaotic: from first states that a camera sees a model without any error lasts .8 s.",
        "Recordings stand under the Community Data License Agreement - Sharing - Version 1.0.",
    ),
)
"""The shipped model ``ibm-pendulum``."""

MEASURED = {recipe.name: recipe for recipe in (CUBE, ELBOW, DFKI, IBM)}
"""The recipes by name."""

__all__ = ["MEASURED"]
