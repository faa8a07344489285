# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What is collected, trained and measured for the Ant."""

from __future__ import annotations

from .recipe import Collection, Evaluation, PolicyTraining, Recipe, Stage, Training, Untrained

ANT_RUN, ANT_SPIN, ANT_SPIN_TRACK = "NeRD-Ant-Run", "NeRD-Ant-Spin", "NeRD-Ant-Spin-Track"

FALLS = ("--initial", "task", "--shares", "zero=1")
"""From the task's resets without effort, as passive roll-outs begin."""
FROM_RESETS = ("--initial", "task", "--shares", "zero=0.5", "random=0.15", "held=0.15", "ou=0.1", "spline=0.1")
"""From the task's own resets, half of them without effort: falls, and robots at rest."""
FAST = ("--ranges", "root_lin_vel=3", "root_ang_vel=6", "root_height=0.3,0.9", "root_tilt=0.7")
"""Upright and as fast as policies run and spin."""
SLOW = (
    *("--shares", "zero=.6", "held=.2", "ou=.2"),
    *("--ranges", "root_lin_vel=0.2", "root_ang_vel=0.5", "joint_vel=0.5", "root_height=0.2,0.6", "root_tilt=1.0"),
)
"""Near the ground and nearly at rest, in any pose."""
HIGH_UP = ("root_height=6,7", "root_lin_vel=3", "root_ang_vel=7")
"""Ranges in which an Ant touches nothing for 24 steps."""
IN_THE_AIR = ("--shares", "random=.35", "held=.25", "ou=.15", "spline=.1", "zero=.15", "--ranges", *HIGH_UP)
"""In the air, with all kinds of efforts."""
IN_THE_AIR_AT_STOPS = ("--shares", "bang=.7", "random=.15", "held=.15", "--ranges", *HIGH_UP, "joint_vel=8")
"""In the air, with efforts that drive the legs fast against their stops, as trained policies do."""
IN_THE_AIR_SLOW = (
    *("--shares", "zero=.5", "held=.25", "ou=.25"),
    *("--ranges", "root_height=6,7", "root_lin_vel=1", "root_ang_vel=.3", "joint_vel=.3"),
)
"""In the air, with little motion."""
IN_THE_AIR_STILL = (
    *("--shares", "zero=1"),
    *("--ranges", "root_height=6,7", "root_lin_vel=.5", "root_ang_vel=.05", "joint_vel=.2"),
)
"""In the air, with hardly any motion, like a robot that the task has just reset."""
OPTIMISER = ("--optimiser.lr", "3e-3", "--regime-power", "1.0")
"""Optimiser for the Ant's networks of contacts."""
FREE_MOTION_NETWORK = (
    *("--network.width", "96", "--network.hidden", "128", "--network.kinks", "64", "--network.layers", "2"),
    *("--prior", "free_fall", "--token.no-contacts", "--token.symmetric"),
    *("--optimiser.lr", "5e-3", "--regime-power", "1.0", "--updates", "32000"),
)
"""Network of the Ant's free motion and its training."""
CONTACT_NETWORK = (
    *("--network.width", "160", "--network.hidden", "224", "--network.kinks", "96", "--token.contact-motion"),
    *("--token.contact-fine", "--token.symmetric", "--token.told-view", "--token.distinct-slots"),
    *OPTIMISER,
)
"""Network of what contacts add to free motion, and its training."""
VISITED_AT_REST = (*FALLS, "--visited-steps", "400")
"""Three steps of the solver from states that the model reaches without effort: robots that should come to rest. Longer
trajectories would add little: after three steps the solver's motion hardly depends on what the model did before."""
VISITED_DRIVEN = (
    *("--initial", "task", "--shares", "zero=.4", "random=.15", "held=.2", "ou=.15", "spline=.1"),
    *("--visited-steps", "300"),
)
"""The same with efforts of all kinds."""
MODEL_NOISE = ("env.nerd.noise=0.2",)
"""Noise on the model while a policy learns, so that the policy cannot use motion that only the model allows. For tasks
that reward speed without bounds, where a fall costs much."""


def _visited(seed: int) -> tuple[Collection, Collection]:
    """What the solver does in states that the model of the stage before reaches by mistake."""
    return (
        Collection(ANT_RUN, 900_000, 3, num_envs=2048, workers=1, seed=seed, visited=True, options=VISITED_AT_REST),
        Collection(ANT_RUN, 400_000, 3, num_envs=2048, workers=1, seed=seed + 1, visited=True, options=VISITED_DRIVEN),
    )


def _driven_by_policy(task: str, seed: int) -> tuple[Collection, Collection]:
    """What a policy trained in the model does in the solver: whole runs, and short ones from states that the policy
    reaches in the model. Both with noise on the actions, so that the neighbourhood of its motion is recorded too.
    """
    policy, noise = PolicyTraining(task, iterations=200, seconds=300.0), ("--policy-noise", "0.5")
    from_model = (*noise, "--visited-steps", "300")
    return (
        Collection(task, 600_000, steps=300, num_envs=256, workers=1, seed=seed, driven_by=policy, options=noise),
        Collection(
            task, 300_000, steps=16, workers=1, seed=seed + 1, driven_by=policy, visited=True, options=from_model
        ),
    )


FREE_MOTION_DATA = (
    Collection(ANT_RUN, transitions=2_400_000, steps=24, seed=71, options=IN_THE_AIR),
    Collection(ANT_RUN, transitions=1_200_000, steps=24, seed=73, options=IN_THE_AIR_AT_STOPS),
    Collection(ANT_RUN, transitions=500_000, steps=24, seed=74, options=IN_THE_AIR_SLOW),
    Collection(ANT_RUN, transitions=300_000, steps=24, seed=76, options=IN_THE_AIR_STILL),
)
"""What the Ant's free motion is learned from."""
CONTACT_DATA = (
    Collection(ANT_RUN, transitions=800_000, steps=200, seed=32, options=FROM_RESETS),
    Collection(ANT_RUN, transitions=800_000, seed=34, options=SLOW),
    Collection(ANT_RUN, transitions=1_500_000, steps=80, seed=33, options=FAST),
    Collection(ANT_RUN, transitions=1_500_000, steps=32, num_envs=2048, seed=65, options=FALLS),
)
"""What the Ant's contacts are learned from, beside wide ranges."""

DEMO = Recipe(
    name="ant",
    title="Ant",
    stages=(),
    evaluations=(Evaluation(ANT_RUN, steps=500), Evaluation(ANT_RUN, "driven", steps=500)),
    policies=(PolicyTraining(ANT_RUN, iterations=150, seconds=150.0),),
)
"""``nerd demo --robot ant``: the shipped model takes the place of the long training."""
REPRODUCE = Recipe(
    name="ant",
    title="Ant",
    # Rules that are trained add nothing: see the lab notebook, "Friction that remembers, in gradients and training".
    stages=(),
    untrained=Untrained(ANT_RUN, ("--slots", "5", "--hidden", "0")),
    evaluations=(
        Evaluation(ANT_RUN, steps=500),
        Evaluation(ANT_RUN, steps=500, seed=777, name="777"),
        Evaluation(ANT_RUN, "driven", steps=500),
    ),
    policies=(
        PolicyTraining(ANT_RUN, iterations=200, seeds=(0, 1, 2), physx_seeds=(0,), seconds=180.0),
        PolicyTraining(ANT_SPIN, iterations=200, seeds=(0, 1, 2), seconds=180.0),
        PolicyTraining(ANT_SPIN_TRACK, iterations=200, seeds=(0, 1, 2), seconds=180.0),
    ),
)
"""The shipped model ``ant``: mechanics with the constants of the engine."""
NETWORK = Recipe(
    name="ant-network",
    title="Ant, network",
    stages=(
        Stage(
            FREE_MOTION_DATA,
            Training(minutes=None, options=FREE_MOTION_NETWORK, seconds=1500.0),
            free_motion=True,
        ),
        Stage(
            (
                Collection(ANT_RUN, transitions=2_000_000, steps=150, num_envs=256, seed=31),
                *CONTACT_DATA,
            ),
            Training(minutes=11.0, options=CONTACT_NETWORK),
        ),
        Stage(
            (
                *_visited(910),
                *_driven_by_policy(ANT_RUN, 101),
                *_driven_by_policy(ANT_SPIN, 103),
            ),
            Training(minutes=30.0, options=OPTIMISER),
        ),
        Stage(
            (
                *_visited(930),
                *_driven_by_policy(ANT_RUN, 121),
                *_driven_by_policy(ANT_SPIN, 123),
                *_driven_by_policy(ANT_SPIN_TRACK, 125),
            ),
            Training(minutes=30.0, options=OPTIMISER),
        ),
    ),
    evaluations=(Evaluation(ANT_RUN, steps=500), Evaluation(ANT_RUN, "driven", steps=500)),
    policies=(
        PolicyTraining(ANT_RUN, iterations=200, seeds=(0, 1, 2), physx_seeds=(0,), seconds=300.0, options=MODEL_NOISE),
        PolicyTraining(ANT_SPIN, iterations=200, seeds=(0, 1, 2), seconds=300.0),
        PolicyTraining(ANT_SPIN_TRACK, iterations=200, seeds=(0, 1, 2), seconds=300.0),
    ),
)
"""The shipped model ``ant-network``, which knows no mechanics."""
