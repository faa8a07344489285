# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What is collected, trained and measured for each robot. One table, so that a number in a card has one origin."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal


@dataclass(frozen=True)
class Policy:
    """A policy trained with RSL-RL and scored in both modes."""

    task: str
    """The task."""
    iterations: int
    """Iterations of PPO."""
    seeds: tuple[int, ...] = (0,)
    """Seeds trained in neural mode."""
    physx_seeds: tuple[int, ...] = ()
    """Seeds also trained in PhysX mode, to compare curves and time."""
    num_envs: int = 512
    """Environments while training."""
    episodes: int = 512
    """Episodes of the score, in each mode."""
    seconds: float = 180.0
    """How long one training takes on two idle cores, roughly [s]."""
    options: tuple[str, ...] = ()
    """Further words for ``nerd rl train``."""


@dataclass(frozen=True)
class Collection:
    """Trajectories to learn from."""

    task: str
    """Task whose robot and solver are used."""
    transitions: int
    """Control steps to record."""
    steps: int = 100
    """Length of a trajectory [control steps]."""
    num_envs: int = 512
    """Environments of each worker."""
    workers: int = 2
    """Processes."""
    seed: int = 0
    """Seed of everything that is drawn."""
    visited: bool = False
    """Whether the trajectories begin where roll-outs of the model of the stage before lead."""
    practised: Policy | None = None
    """Policy that is trained in the model of the stage before, and then drives the robot in the solver."""
    options: tuple[str, ...] = ()
    """Further words for ``nerd generate``: shares, ranges, teacher mode."""


@dataclass(frozen=True)
class Training:
    """How the network is fitted."""

    minutes: float | None
    """Budget [min]; None: the updates of the options decide, and the result is a function of the seed."""
    seed: int = 0
    """Seed of weights and batches."""
    threads: int = 1
    """OpenMP threads. Small networks train slower with two than with one."""
    options: tuple[str, ...] = ()
    """Further words for ``nerd train``: preset, loss, optimiser."""
    seconds: float = 60.0
    """How long it takes on one idle core without a budget of minutes, roughly [s]."""


@dataclass(frozen=True)
class Stage:
    """Data, and a training on them and on all data of the stages before, from the model of the stage before."""

    collections: tuple[Collection, ...]
    """Data that this stage adds."""
    training: Training
    """How to learn."""
    in_the_air: bool = False
    """Whether the robot touches nothing in these data, or stays away from its stops. Only as the first stage: its model
    is that of free motion, which the next stage builds in, and its data are used for nothing else."""


@dataclass(frozen=True)
class Evaluation:
    """Open-loop errors on fresh roll-outs."""

    task: str
    """Task whose resets are the first states."""
    protocol: Literal["passive", "driven"] = "passive"
    """No effort, or controls drawn anew at each step."""
    trajectories: int = 512
    """Number of roll-outs."""
    steps: int = 1000
    """Their length [control steps]."""
    seed: int = 500
    """Their seed; training data have others."""
    options: tuple[str, ...] = ()
    """Further words for ``nerd evaluate``."""


@dataclass(frozen=True)
class Recipe:
    """Everything that is done for one robot."""

    robot: str
    """Short name of the robot, and of its shipped model."""
    title: str
    """Title of the report."""
    stages: tuple[Stage, ...]
    """How the model is made; without stages the shipped one is used."""
    evaluations: tuple[Evaluation, ...]
    """Open-loop measurements; the first is the one that the animation shows."""
    policies: tuple[Policy, ...]
    """Policies trained in the model."""


CARTPOLE = "NeRD-Cartpole"
ANT_RUN, ANT_SPIN, ANT_SPIN_TRACK = "NeRD-Ant-Run", "NeRD-Ant-Spin", "NeRD-Ant-Spin-Track"

OFTEN_QUIET = ("--shares", "zero=0.4", "random=0.2", "held=0.15", "ou=0.15", "spline=0.1")
"""Efforts of all kinds, four tenths of the time none."""
FALLS = ("--initial", "task", "--shares", "zero=1")
"""From the task's resets without effort, as passive roll-outs begin."""
QUIET_CARTPOLE = (*OFTEN_QUIET, "--ranges", "slide=4.0", "slide_vel=3.0", "joint_vel=10")
"""From everywhere on the rail, often without effort: the cart then meets its stops at the speeds that matter."""
FREE_CARTPOLE = (
    *("--shares", "random=.3", "held=.2", "ou=.15", "spline=.1", "zero=.25"),
    *("--ranges", "slide=2.0", "slide_vel=5.0", "joint_vel=12"),
)
"""Ten steps that end before any stop, faster than a pole falls."""
RESETS_ANT = ("--initial", "task", "--shares", "zero=0.5", "random=0.15", "held=0.15", "ou=0.1", "spline=0.1")
"""From the task's own resets, half of them without effort: falls, and robots at rest."""
FAST_ANT = ("--ranges", "root_lin_vel=3", "root_ang_vel=6", "root_height=0.3,0.9", "root_tilt=0.7")
"""Upright and as fast as policies run and spin."""
SLOW_ANT = (
    *("--shares", "zero=.6", "held=.2", "ou=.2"),
    *("--ranges", "root_lin_vel=0.2", "root_ang_vel=0.5", "joint_vel=0.5", "root_height=0.2,0.6", "root_tilt=1.0"),
)
"""Near the ground and nearly at rest, in any pose."""
HIGH_UP = ("root_height=6,7", "root_lin_vel=3", "root_ang_vel=7")
"""Ranges in which an Ant touches nothing for 24 steps."""
AIR_ANT = ("--shares", "random=.35", "held=.25", "ou=.15", "spline=.1", "zero=.15", "--ranges", *HIGH_UP)
"""In the air, with all kinds of efforts."""
STOPS_ANT = ("--shares", "bang=.7", "random=.15", "held=.15", "--ranges", *HIGH_UP, "joint_vel=8")
"""In the air, with legs that are thrown against their stops, as trained policies do."""
QUIET_AIR_ANT = (
    *("--shares", "zero=.5", "held=.25", "ou=.25"),
    *("--ranges", "root_height=6,7", "root_lin_vel=1", "root_ang_vel=.3", "joint_vel=.3"),
)
"""In the air, with little motion."""
STILL_AIR_ANT = (
    *("--shares", "zero=1"),
    *("--ranges", "root_height=6,7", "root_lin_vel=.5", "root_ang_vel=.05", "joint_vel=.2"),
)
"""In the air, with hardly any motion, as a robot falls that the task has just reset."""
ANT_TRAINING = ("--optimiser.lr", "3e-3", "--regime-power", "1.0")
"""Training of the Ant."""
ANT_AIR_NETWORK = (
    *("--model.width", "96", "--model.hidden", "128", "--model.kinks", "64", "--model.layers", "2"),
    *("--token.no-contacts", "--token.falling", "--token.symmetric"),
    *("--optimiser.lr", "5e-3", "--regime-power", "1.0", "--updates", "32000"),
)
"""Network of the Ant's free motion and its training."""
ANT_NETWORK = (
    *("--model.width", "160", "--model.hidden", "224", "--model.kinks", "96", "--token.contact-motion"),
    *("--token.contact-fine", "--token.symmetric", "--token.told-view", "--token.distinct-slots"),
    *ANT_TRAINING,
)
"""Network of the Ant and its training."""
CARTPOLE_FREE_NETWORK = (
    *("--token.no-contacts", "--token.no-limits", "--token.ignored-joint-pos", "slider_to_cart", "--token.symmetric"),
    *("--model.width", "64", "--model.hidden", "96", "--model.layers", "3"),
)
"""Network of the Cartpole's motion between its stops, which neither sees stops nor where on the rail it is."""
CARTPOLE_NETWORK = ("--token.symmetric", "--model.width", "96", "--model.hidden", "128", "--model.kinks", "96")
"""Network of what the stops of the Cartpole add."""
RULES = ("--preset", "rules")
"""Mechanics, of which only the rules of contacts and stops are learned."""
RESTS_ANT = (*FALLS, "--visited-steps", "400")
"""Three steps from where the model leads without effort: robots that should come to rest. More would tell little: after
three steps the solver has them where it would have led them itself."""
VISITS_ANT = (
    *("--initial", "task", "--shares", "zero=.4", "random=.15", "held=.2", "ou=.15", "spline=.1"),
    *("--visited-steps", "300"),
)
"""The same with efforts of all kinds."""
CAREFUL = ("env.nerd.noise=0.2",)
"""Noise on the model while a policy learns, so that it cannot count on what only the model would do. For tasks that pay
for speed without bounds, in which a fall costs much."""


ONE_LOOK = ("--validations", "1", "--trajectories", "64", "--horizons", "10", "100")
"""One validation, at the end: rules hardly overfit, and which of many short roll-outs looks best is chance."""


def _at_stops(transitions: int, steps: int, seed: int, *ranges: str) -> Collection:
    """Short trajectories of the Cartpole from just before its stops."""
    options = (*OFTEN_QUIET, "--ranges", "at_stops=1", *ranges)
    return Collection(CARTPOLE, transitions, steps, num_envs=1024, workers=1, seed=seed, options=options)


def _visits(seed: int) -> tuple[Collection, Collection]:
    """What the solver does where the model before leads an Ant, and should not have."""
    return (
        Collection(ANT_RUN, 900_000, 3, num_envs=2048, workers=1, seed=seed, visited=True, options=RESTS_ANT),
        Collection(ANT_RUN, 400_000, 3, num_envs=2048, workers=1, seed=seed + 1, visited=True, options=VISITS_ANT),
    )


def _practice(task: str, seed: int) -> tuple[Collection, Collection]:
    """What a policy trained in the model does in the solver: whole runs, and pieces that begin where the policy leads
    in the model. Both with noise, so that what is near its motion is seen too.
    """
    policy, noise = Policy(task, iterations=200, seconds=300.0), ("--policy-noise", "0.5")
    takeover = (*noise, "--visited-steps", "300")
    return (
        Collection(task, 600_000, steps=300, num_envs=256, workers=1, seed=seed, practised=policy, options=noise),
        Collection(task, 300_000, steps=16, workers=1, seed=seed + 1, practised=policy, visited=True, options=takeover),
    )


CARTPOLE_AT_STOPS = (
    _at_stops(2_000_000, 24, 9, "slide_vel=1.5", "joint_vel=10"),
    _at_stops(1_500_000, 16, 10, "slide_vel=4", "joint_vel=10"),
    _at_stops(250_000, 12, 93, "slide_vel=8", "joint_vel=22"),
)
"""What the Cartpole's stops are learned from."""
ANT_IN_THE_AIR = (
    Collection(ANT_RUN, transitions=2_400_000, steps=24, seed=71, options=AIR_ANT),
    Collection(ANT_RUN, transitions=1_200_000, steps=24, seed=73, options=STOPS_ANT),
    Collection(ANT_RUN, transitions=500_000, steps=24, seed=74, options=QUIET_AIR_ANT),
    Collection(ANT_RUN, transitions=300_000, steps=24, seed=76, options=STILL_AIR_ANT),
)
"""What the Ant's free motion is learned from."""
ANT_ON_THE_GROUND = (
    Collection(ANT_RUN, transitions=800_000, steps=200, seed=32, options=RESETS_ANT),
    Collection(ANT_RUN, transitions=800_000, seed=34, options=SLOW_ANT),
    Collection(ANT_RUN, transitions=1_500_000, steps=80, seed=33, options=FAST_ANT),
    Collection(ANT_RUN, transitions=1_500_000, steps=32, num_envs=2048, seed=65, options=FALLS),
)
"""What the Ant's contacts are learned from, beside wide ranges."""

DEMO = {
    "cartpole": Recipe(
        robot="cartpole",
        title="Cartpole",
        stages=(
            Stage(
                (Collection(CARTPOLE, transitions=1_500_000, steps=60, seed=8, options=QUIET_CARTPOLE),),
                Training(minutes=4.0, options=("--model.kinks", "64")),
            ),
        ),
        evaluations=(Evaluation(CARTPOLE),),
        policies=(Policy(CARTPOLE, iterations=200, seconds=135.0),),
    ),
    "ant": Recipe(
        robot="ant",
        title="Ant",
        stages=(),
        evaluations=(Evaluation(ANT_RUN, steps=500), Evaluation(ANT_RUN, "driven", steps=500)),
        policies=(Policy(ANT_RUN, iterations=150, seconds=150.0),),
    ),
}
"""What ``nerd demo`` does: minutes."""

REPRODUCE = {
    "cartpole": Recipe(
        robot="cartpole",
        title="Cartpole",
        stages=(
            Stage(
                CARTPOLE_AT_STOPS,
                Training(
                    minutes=None,
                    options=(*RULES, *ONE_LOOK, "--token.no-contacts", "--batch", "2048", "--updates", "20000"),
                    seconds=200.0,
                ),
            ),
        ),
        evaluations=(Evaluation(CARTPOLE), Evaluation(CARTPOLE, "driven")),
        policies=(Policy(CARTPOLE, iterations=200, seeds=(0, 1, 2), physx_seeds=(0,)),),
    ),
    "ant": Recipe(
        robot="ant",
        title="Ant",
        stages=(
            Stage(
                (
                    Collection(ANT_RUN, transitions=1_000_000, steps=150, num_envs=256, seed=31),
                    *ANT_ON_THE_GROUND,
                ),
                Training(
                    minutes=None,
                    options=(*RULES, *ONE_LOOK, "--solver.slots", "5", "--updates", "3000"),
                    seconds=360.0,
                ),
            ),
        ),
        evaluations=(
            Evaluation(ANT_RUN, steps=500),
            Evaluation(ANT_RUN, "driven", steps=500),
        ),
        policies=(
            Policy(ANT_RUN, iterations=200, seeds=(0, 1, 2), physx_seeds=(0,), seconds=180.0),
            Policy(ANT_SPIN, iterations=200, seeds=(0, 1, 2), seconds=180.0),
            Policy(ANT_SPIN_TRACK, iterations=200, seeds=(0, 1, 2), seconds=180.0),
        ),
    ),
    "cartpole-network": Recipe(
        robot="cartpole-network",
        title="Cartpole, network",
        stages=(
            Stage(
                (Collection(CARTPOLE, 2_000_000, steps=10, num_envs=1024, workers=1, seed=91, options=FREE_CARTPOLE),),
                Training(minutes=14.0, options=CARTPOLE_FREE_NETWORK),
                in_the_air=True,
            ),
            Stage(
                CARTPOLE_AT_STOPS,
                Training(minutes=27.0, options=CARTPOLE_NETWORK),
            ),
        ),
        evaluations=(Evaluation(CARTPOLE), Evaluation(CARTPOLE, "driven")),
        policies=(Policy(CARTPOLE, iterations=200, seeds=(0, 1, 2), physx_seeds=(0,)),),
    ),
    "ant-network": Recipe(
        robot="ant-network",
        title="Ant, network",
        stages=(
            Stage(
                ANT_IN_THE_AIR,
                Training(minutes=None, options=ANT_AIR_NETWORK, seconds=1500.0),
                in_the_air=True,
            ),
            Stage(
                (
                    Collection(ANT_RUN, transitions=2_000_000, steps=150, num_envs=256, seed=31),
                    *ANT_ON_THE_GROUND,
                ),
                Training(minutes=11.0, options=ANT_NETWORK),
            ),
            Stage(
                (
                    *_visits(910),
                    *_practice(ANT_RUN, 101),
                    *_practice(ANT_SPIN, 103),
                ),
                Training(minutes=30.0, options=ANT_TRAINING),
            ),
            Stage(
                (
                    *_visits(930),
                    *_practice(ANT_RUN, 121),
                    *_practice(ANT_SPIN, 123),
                    *_practice(ANT_SPIN_TRACK, 125),
                ),
                Training(minutes=30.0, options=ANT_TRAINING),
            ),
        ),
        evaluations=(Evaluation(ANT_RUN, steps=500), Evaluation(ANT_RUN, "driven", steps=500)),
        policies=(
            Policy(ANT_RUN, iterations=200, seeds=(0, 1, 2), physx_seeds=(0,), seconds=300.0, options=CAREFUL),
            Policy(ANT_SPIN, iterations=200, seeds=(0, 1, 2), seconds=300.0),
            Policy(ANT_SPIN_TRACK, iterations=200, seeds=(0, 1, 2), seconds=300.0),
        ),
    ),
}
"""What ``nerd reproduce`` does: the shipped models and all their numbers."""


def smoke(recipe: Recipe) -> Recipe:
    """The same recipe in a minute or two: every phase, with sizes that prove nothing but that it runs.

    Args:
        recipe: The recipe.
    """
    # The rate is small, because twenty updates at a full one lead anywhere, and roll-outs off to infinity.
    tiny = ("--updates", "20", "--batch", "64", "--validations", "1", "--optimiser.lr", "1e-4")
    narrow = ("--model.width", "16", "--model.hidden", "16")
    few = ("--solver.hidden", "4")
    new = {number for number in range(len(recipe.stages)) if number == 0 or recipe.stages[number - 1].in_the_air}
    stages = [
        replace(
            stage,
            collections=tuple(
                replace(
                    item,
                    transitions=6_400,
                    num_envs=64,
                    steps=min(item.steps, 50),
                    workers=1,
                    practised=item.practised and replace(item.practised, iterations=3, num_envs=32),
                    options=(*item.options, *(("--visited-steps", "20") if item.visited else ())),
                )
                for item in stage.collections
            ),
            training=Training(
                minutes=None,
                options=(
                    *stage.training.options,
                    *((few if "rules" in stage.training.options else narrow) if number in new else ()),
                    *tiny,
                ),
            ),
        )
        for number, stage in enumerate(recipe.stages)
    ]
    return replace(
        recipe,
        stages=tuple(stages),
        evaluations=tuple(replace(item, trajectories=16, steps=100) for item in recipe.evaluations),
        policies=tuple(
            replace(item, iterations=3, seeds=(0,), physx_seeds=(0,)[: len(item.physx_seeds)], num_envs=32, episodes=16)
            for item in recipe.policies[:1]
        ),
    )
