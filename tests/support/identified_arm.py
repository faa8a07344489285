# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""A driven double pendulum whose true parameters are known, and its motion, for tests of identification."""

from __future__ import annotations

from dataclasses import replace

import torch

from nerd_core.dynamics import rollout
from nerd_core.identification.cost import Windows
from nerd_core.predictor.config import PredictorCfg
from nerd_core.predictor.mechanics_prior import MechanicsPriorCfg
from nerd_core.predictor.predictor import Predictor
from nerd_core.predictor.prior import PriorCfg
from nerd_core.robot.spec import Body, Control, Inertia, Joint, RobotSpec


def arm(mass: float = 0.6, friction: float = 0.05, viscous: float = 0.01) -> RobotSpec:
    """Two links that hang from a fixed point, a motor in each hinge.

    Args:
        mass: Mass of the lower link [kg].
        friction: Dry friction of both joints [N m].
        viscous: Viscous friction of both joints [N m s/rad].
    """
    joints = tuple(
        Joint(
            name,
            "revolute",
            (0.0, -1.0, 0.0),
            friction=friction,
            dynamic_friction=friction,
            viscous_friction=viscous,
            armature=0.002,
        )
        for name in ("shoulder", "elbow")
    )
    bodies = (
        Body("base", inertia=Inertia(1.0, (0.0, 0.0, 0.0), (0.01, 0.01, 0.01))),
        Body("upper", "base", "shoulder", inertia=Inertia(0.5, (0.0, 0.0, -0.1), (0.002, 0.002, 0.001))),
        Body(
            "lower", "upper", "elbow", (0.0, 0.0, -0.2), inertia=Inertia(mass, (0.0, 0.0, -0.15), (0.005, 0.005, 0.001))
        ),
    )
    return RobotSpec(
        name="arm",
        floating_base=False,
        joints=joints,
        bodies=bodies,
        controls=tuple(Control(joint.name, "effort") for joint in joints),
        physics_dt=0.01,
        decimation=1,
    )


def model(spec: RobotSpec, prior: PriorCfg | None = None) -> Predictor:
    """Mechanics of an arm.

    Args:
        spec: The arm.
        prior: The prior; by default mechanics.
    """
    return Predictor(spec, PredictorCfg(network=None, prior=prior or MechanicsPriorCfg(hidden=0, substeps=1))).eval()


@torch.no_grad()
def motion(predictor: Predictor, count: int = 24, steps: int = 30, seed: int = 0) -> Windows:
    """Motion of a model under random efforts, in double precision.

    Args:
        predictor: The model.
        count: Number of windows.
        steps: Steps of each.
        seed: Seed of first states and efforts.
    """
    random = torch.Generator().manual_seed(seed)
    state = torch.randn(count, 4, generator=random, dtype=torch.float64) * torch.tensor([1.0, 1.0, 3.0, 3.0])
    effort = torch.randn(count, 1, 2, generator=random, dtype=torch.float64).expand(-1, steps, -1) * 0.5
    return Windows(rollout(predictor.double(), state, effort), effort, tuple(f"run {i}" for i in range(count)))


def heavier(spec: RobotSpec, factor: float) -> RobotSpec:
    """An arm whose links weigh more, with the same inertias.

    Args:
        spec: The arm.
        factor: How much more.
    """
    bodies = [
        body if body.parent is None or body.inertia is None
        else replace(body, inertia=replace(body.inertia, mass=factor * body.inertia.mass))
        for body in spec.bodies
    ]  # fmt: skip
    return replace(spec, bodies=tuple(bodies))
