# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Robots and states for tests of geometry: random trees, and one with the shape of Ant."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from nerd_core.robot.frames import quat_from_rotvec, quat_mul, quat_rotate
from nerd_core.robot.slots import box_slots, capsule_slots, sphere_slots
from nerd_core.robot.spec import Body, ContactSlot, Control, ControlKind, Inertia, Joint, Quaternion, RobotSpec, Vector


def ant() -> RobotSpec:
    """Nine bodies, eight hinges and 25 slots, as Ant has them."""
    joints, bodies, slots = [], [Body("torso")], [*sphere_slots("torso", 0.25)]
    for i in range(4):
        x, y = (0.2 if i in (0, 3) else -0.2), (0.2 if i < 2 else -0.2)
        joints += [Joint(f"hip_{i}", "revolute", (0.0, 0.0, 1.0), -0.7, 0.7)]
        bodies += [Body(f"leg_{i}", "torso", f"hip_{i}", (x, y, 0.0))]
        slots += capsule_slots("torso", 0.08, 0.14, (0.7071068, 0.7071068, 0.0), (x / 2, y / 2, 0.0))
        slots += capsule_slots(f"leg_{i}", 0.08, 0.14, (0.7071068, 0.7071068, 0.0), (x / 2, y / 2, 0.0))
    for i in range(4):
        joints += [Joint(f"ankle_{i}", "revolute", (0.7071068, -0.7071068, 0.0), 0.5, 1.7)]
        bodies += [Body(f"foot_{i}", f"leg_{i}", f"ankle_{i}", bodies[1 + i].parent_pos)]
        slots += capsule_slots(f"foot_{i}", 0.08, 0.28, (0.7071068, 0.7071068, 0.0), bodies[1 + i].parent_pos)
    return RobotSpec(
        name="ant",
        floating_base=True,
        joints=tuple(joints),
        bodies=tuple(bodies),
        controls=tuple(Control(joint.name, "effort") for joint in joints),
        physics_dt=1 / 120,
        decimation=2,
        slots=tuple(slots),
    )


def cube() -> RobotSpec:
    """One free body with a slot at each of its eight corners, as the tossed cube has them."""
    return RobotSpec(
        name="cube",
        floating_base=True,
        joints=(),
        bodies=(Body("cube"),),
        controls=(),
        physics_dt=1 / 296,
        decimation=2,
        slots=tuple(box_slots("cube", (0.05, 0.05, 0.05))),
    )


def with_inertias(spec: RobotSpec) -> RobotSpec:
    """The same robot with masses that differ from body to body, and rotors."""
    inertias = [
        Inertia(0.3 + 0.1 * number, (0.02 * number, -0.01, 0.03), (0.011, 0.012 + 1e-3 * number, 0.013 + 1e-3 * number))
        for number in range(len(spec.bodies))
    ]
    return replace(
        spec,
        bodies=tuple(replace(body, inertia=inertia) for body, inertia in zip(spec.bodies, inertias, strict=True)),
        joints=tuple(replace(joint, armature=0.01, damping=0.1) for joint in spec.joints),
    )


def driven(spec: RobotSpec, **joint: object) -> RobotSpec:
    """The same robot with drives to position and velocity targets, with efforts beside them, in all joints.

    Args:
        spec: The robot.
        **joint: More fields of all joints.
    """
    fields = {"stiffness": 30.0, "damping": 2.0, "target": 0.2} | joint
    kinds: tuple[ControlKind, ...] = ("effort", "position", "velocity")
    controls = tuple(Control(each.name, kind) for kind in kinds for each in spec.joints)
    joints = tuple(replace(each, **fields) for each in spec.joints)  # pyright: ignore[reportArgumentType]
    return replace(spec, joints=joints, controls=controls)


def symmetric_ant() -> RobotSpec:
    """An Ant with one leg along each diagonal, its ankles all turning the same way: it has eight symmetries."""
    base, share = ant(), 0.5**0.5
    joints, slots = list(base.joints), [*sphere_slots("torso", 0.25)]
    for i in range(4):
        x, y, _ = base.bodies[1 + i].parent_pos
        along = (math.copysign(share, x), math.copysign(share, y), 0.0)
        joints[4 + i] = replace(joints[4 + i], axis=(-along[1], along[0], 0.0))
        for body in ("torso", f"leg_{i}"):
            slots += capsule_slots(body, 0.08, 0.1 * 2**0.5, along, (x / 2, y / 2, 0.0))
        slots += capsule_slots(f"foot_{i}", 0.08, 0.2 * 2**0.5, along, (x, y, 0.0))
    return replace(base, joints=tuple(joints), slots=tuple(slots))


def cartpole() -> RobotSpec:
    """A slide and a hinge that wraps, with an effort channel on each, as the published Cartpole."""
    return RobotSpec(
        name="cartpole",
        floating_base=False,
        joints=(Joint("slide", "prismatic", (1.0, 0.0, 0.0), -4.0, 4.0), Joint("hinge", "revolute", (0.0, 1.0, 0.0))),
        bodies=(Body("rail"), Body("cart", "rail", "slide"), Body("pole", "cart", "hinge")),
        controls=(Control("slide", "effort"), Control("hinge", "effort")),
        physics_dt=1 / 120,
        decimation=2,
    )


def random_tree(seed: int, bodies: int = 12, floating: bool = True) -> RobotSpec:
    """A tree of hinges, slides and fixed bodies with frames turned anyhow, and a few slots."""
    rng = np.random.default_rng(seed)
    made, joints = [Body("body_0")], []
    for i in range(1, bodies):
        draw = rng.random()
        joint = None if draw < 0.2 else f"joint_{i}"
        if joint is not None:
            limit = math.inf if rng.random() < 0.3 else 2.0
            joints.append(Joint(joint, "revolute" if draw < 0.8 else "prismatic", _axis(rng), -limit, limit))
        parent = made[rng.integers(len(made))].name
        made.append(Body(f"body_{i}", parent, joint, _near(rng), _turn(rng), _near(rng), _turn(rng)))
    order = rng.permutation(len(joints))
    return RobotSpec(
        name=f"tree_{seed}",
        floating_base=floating,
        joints=tuple(joints[i] for i in order),
        bodies=tuple(made),
        controls=tuple(Control(joints[i].name, "effort") for i in order),
        physics_dt=0.005,
        decimation=4,
        slots=tuple(ContactSlot(body.name, _near(rng), float(rng.uniform(0, 0.2)), "sphere") for body in made[::2]),
        root_pos=_near(rng),
        root_quat=_turn(rng),
    )


def random_state(spec: RobotSpec, count: int, seed: int, spread: float = 1.0, dtype=torch.float32) -> Tensor:
    """States with every part about ``spread`` in size, shape (count, S); angles that wrap are in [-pi, pi)."""
    generator = torch.Generator().manual_seed(seed)
    state = spread * torch.randn(count, spec.state.dim, generator=generator, dtype=torch.float64)
    if spec.floating_base:
        quat = torch.randn(count, 4, generator=generator, dtype=torch.float64)
        state[:, spec.state.root_quat] = torch.nn.functional.normalize(quat, dim=-1)
    return state.to(dtype)


def move_state(spec: RobotSpec, state: Tensor, turn: Tensor, shift: Tensor) -> Tensor:
    """The state after the whole scene was turned by a quaternion and then shifted [m]."""
    at, moved = spec.state, state.clone()
    moved[..., at.root_pos] = quat_rotate(turn, state[..., at.root_pos]) + shift
    moved[..., at.root_quat] = quat_mul(turn.expand_as(state[..., at.root_quat]), state[..., at.root_quat])
    moved[..., at.root_lin_vel] = quat_rotate(turn, state[..., at.root_lin_vel])
    moved[..., at.root_ang_vel] = quat_rotate(turn, state[..., at.root_ang_vel])
    return moved


def yaw(angle: float) -> Tensor:
    """Quaternion of a turn about the vertical."""
    return quat_from_rotvec(torch.tensor([0.0, 0.0, angle]))


def _axis(rng: np.random.Generator) -> Vector:
    x, y, z = rng.standard_normal(3).tolist()
    length = math.hypot(x, y, z)
    return (x / length, y / length, z / length)


def _turn(rng: np.random.Generator) -> Quaternion:
    x, y, z, w = rng.standard_normal(4).tolist()
    length = math.hypot(x, y, z, w)
    return (x / length, y / length, z / length, w / length)


def _near(rng: np.random.Generator) -> Vector:
    x, y, z = rng.uniform(-0.3, 0.3, 3).tolist()
    return (x, y, z)
