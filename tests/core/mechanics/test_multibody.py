# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""How points of a robot move, its inverse mass matrix, and its momenta."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch

from nerd_core.mechanics.multibody import Multibody
from nerd_core.mechanics.tree import depth_first
from nerd_core.robot.frames import quat_from_rotvec, quat_mul, quat_rotate_inverse
from nerd_core.robot.kinematics import ForwardKinematics
from nerd_core.robot.spec import Body, Inertia, Joint, RobotSpec
from support.robots import ant, cartpole, random_tree, with_inertias

TREES = [
    pytest.param(with_inertias(spec), id=spec.name + ("" if spec.floating_base else "-fixed"))
    for spec in (ant(), cartpole(), random_tree(1), random_tree(2), random_tree(3, floating=False))
]


def moved(spec: RobotSpec, state: torch.Tensor, velocity: torch.Tensor, time: float) -> torch.Tensor:
    """States after a short time at the given velocities (root in its own axes), shape (M, S)."""
    at, state = spec.state, state.clone()
    joints = len(spec.joints)
    state[:, at.joint_pos] += time * velocity[:, velocity.shape[1] - joints :]
    if spec.floating_base:
        state[:, at.root_pos] += time * velocity[:, :3]
        state[:, at.root_quat] = quat_mul(quat_from_rotvec(time * velocity[:, 3:6]), state[:, at.root_quat])
    return state


def at_origin(spec: RobotSpec, batch: int, generator: torch.Generator) -> torch.Tensor:
    """States with the root at the origin, not turned, and joints anywhere."""
    state = torch.zeros(batch, spec.state.dim, dtype=torch.double)
    if spec.floating_base:
        state[:, spec.state.root_quat.stop - 1] = 1.0
    state[:, spec.state.joint_pos] = torch.randn(batch, len(spec.joints), generator=generator, dtype=torch.double)
    return state


@pytest.mark.parametrize("spec", TREES)
def test_jacobian_is_the_derivative_of_forward_kinematics(spec: RobotSpec):
    """Velocities of points are what differences of their places after and before a moment say."""
    generator = torch.Generator().manual_seed(0)
    multibody, kinematics = Multibody(spec).double(), ForwardKinematics(spec).double()
    state = at_origin(spec, 3, generator)
    count = len(spec.bodies)
    points = 0.3 * torch.randn(count, 3, 3, generator=generator, dtype=torch.double)
    velocity = torch.randn(3, multibody.dim, generator=generator, dtype=torch.double)
    frames = multibody.frames(state[:, spec.state.joint_pos])
    everybody = torch.arange(count).unsqueeze(-1).expand(count, 3)
    table = multibody.point_jacobian(frames, everybody, points)
    said = (table * velocity.t().view(multibody.dim, 1, 1, 3)).sum(0)

    poses = kinematics(state)
    inside = quat_rotate_inverse(poses.quat, points.permute(2, 0, 1) - poses.pos)
    assert torch.allclose(
        multibody.place_points(frames, torch.arange(count), inside.permute(1, 2, 0)), points, atol=1e-6
    )
    later, before = (kinematics(moved(spec, state, velocity, time)) for time in (1e-5, -1e-5))
    ends = [pose.pos - _back(pose.quat, inside) for pose in (later, before)]
    assert torch.allclose(said.permute(2, 0, 1), (ends[0] - ends[1]) / 2e-5, atol=1e-5)


def _back(quat: torch.Tensor, inside: torch.Tensor) -> torch.Tensor:
    """Minus the vectors of bodies in the outer axes."""
    conjugate = torch.cat((-quat[..., :3], quat[..., 3:]), -1)
    return -quat_rotate_inverse(conjugate, inside)


@pytest.mark.parametrize("spec", TREES)
def test_the_inverse_mass_inverts_the_kinetic_energy(spec: RobotSpec):
    """The inverse of the inverse mass matrix gives each body's kinetic energy, as its points move, and that of the
    rotors.
    """
    generator = torch.Generator().manual_seed(1)
    multibody, batch = Multibody(spec).double(), 2
    frames = multibody.frames(at_origin(spec, batch, generator)[:, spec.state.joint_pos])
    mass = torch.linalg.inv(multibody.inverse_mass(multibody.mass_weighted_jacobian(frames)))
    velocity = torch.randn(batch, multibody.dim, generator=generator, dtype=torch.double)
    energy = (velocity.unsqueeze(1) @ mass @ velocity.unsqueeze(-1)).flatten()
    joints = velocity[:, multibody.dim - len(spec.joints) :]
    rotor = torch.tensor([j.armature for j in spec.joints], dtype=torch.double)
    expected = (rotor * joints.square()).sum(-1)
    for number, body in enumerate(spec.bodies):
        assert body.inertia is not None
        # Eight equal points with the body's mass, centre and moments: at plus and minus the roots along its axes.
        (xx, yy, zz), share = body.inertia.moments, body.inertia.mass / 6.0
        spans = [0.5 * (yy + zz - xx), 0.5 * (xx + zz - yy), 0.5 * (xx + yy - zz)]
        for axis, span in enumerate(spans):
            for sign in (1.0, -1.0):
                point = torch.tensor(body.inertia.centre, dtype=torch.double).view(1, 3, 1).repeat(1, 1, batch)
                point[:, axis] += sign * (span / (2.0 * share)) ** 0.5
                which = torch.full((1, batch), number)
                table = multibody.point_jacobian(frames, which, multibody.place_points(frames, which[:, 0], point))
                speed = (table * velocity.t().view(multibody.dim, 1, 1, batch)).sum(0)
                expected = expected + share * speed.square().sum((0, 1))
    assert torch.allclose(energy, expected, rtol=1e-6)


@pytest.mark.parametrize("spec", TREES)
def test_the_locked_angular_velocity_gives_the_angular_momentum(spec: RobotSpec):
    """The angular velocity for an angular momentum gives it to a robot that turns about its root as one, and momentum
    and centre of mass are those of all its multibody.
    """
    if not spec.floating_base:
        pytest.skip("a fixed base does not turn")
    generator = torch.Generator().manual_seed(2)
    multibody, batch = Multibody(spec).double(), 3
    frames = multibody.frames(at_origin(spec, batch, generator)[:, spec.state.joint_pos])
    jacobian = multibody.mass_weighted_jacobian(frames)
    momentum = multibody.centroidal_momentum(
        frames, jacobian, torch.randn(multibody.dim, batch, generator=generator, dtype=torch.double)
    )
    velocity = torch.zeros(multibody.dim, batch, dtype=torch.double)
    velocity[3:6] = multibody.locked_angular_velocity(frames, momentum.centre_of_mass, momentum.angular)
    alone = multibody.centroidal_momentum(frames, jacobian, velocity)
    mass = sum(body.inertia.mass for body in spec.bodies if body.inertia is not None)
    assert torch.allclose(alone.angular, momentum.angular, rtol=1e-9, atol=1e-12)
    assert torch.allclose(
        alone.linear, mass * torch.linalg.cross(velocity[3:6], momentum.centre_of_mass, dim=0), atol=1e-9
    )


def test_a_robot_without_inertias_is_refused():
    """The error names bodies that lack an inertia and says where they come from."""
    spec = with_inertias(ant())
    spec = replace(spec, bodies=(replace(spec.bodies[0], inertia=None), *spec.bodies[1:]))
    with pytest.raises(ValueError, match=r"no inertia for the bodies \['torso'\].*data collected by this version"):
        Multibody(spec)


@pytest.mark.parametrize("number", [math.nan, math.inf])
def test_a_robot_that_is_nowhere_does_not_stop_the_others(number: float):
    """Where a joint is at no number, the inverse mass matrix is none; robots beside it have theirs, to the last bit."""
    spec = with_inertias(cartpole())
    multibody = Multibody(spec)
    joint_pos = torch.tensor([[0.1, 0.2], [number, number], [0.3, -0.4]])

    def inverse(positions: torch.Tensor) -> torch.Tensor:
        return multibody.inverse_mass(multibody.mass_weighted_jacobian(multibody.frames(positions)))

    found = inverse(joint_pos)
    assert torch.equal(found[[0, 2]], inverse(joint_pos[[0, 2]]))
    assert not found[1].isfinite().all()


@pytest.mark.parametrize("inertia", [Inertia(0.0), Inertia(1e-300)])
def test_robots_without_masses_are_refused(inertia):
    """Where a motion moves no mass the mass matrix has no inverse: a sentence says so when the tables are made."""
    spec = with_inertias(ant())
    bodies = tuple(replace(body, inertia=inertia) for body in spec.bodies)
    joints = tuple(replace(joint, armature=0.0) for joint in spec.joints)
    with pytest.raises(ValueError, match="moves no mass"):
        Multibody(replace(spec, bodies=bodies, joints=joints))


def test_long_chains_are_walked():
    """The order of a chain of two thousand bodies, deeper than Python's recursion goes, is that of the chain."""
    count = 2000
    spec = RobotSpec(
        name="chain",
        floating_base=False,
        joints=tuple(Joint(f"j{i}", "revolute", (0.0, 1.0, 0.0)) for i in range(1, count)),
        bodies=(Body("b0"), *(Body(f"b{i}", f"b{i - 1}", f"j{i}") for i in range(1, count))),
        controls=(),
        physics_dt=0.01,
        decimation=1,
    )
    assert depth_first(spec) == tuple(range(count))
