# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Drives, friction and limits of joints: what follows from their laws, and that the kernel and gradients know them."""

from __future__ import annotations

import copy
import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from nerd_core.mechanics.config import MechanicsCfg
from nerd_core.mechanics.multibody import Multibody
from nerd_core.mechanics.step import Mechanics
from nerd_core.robot.frames import ChangeCodec, out_of_frame, rotation_matrix
from nerd_core.robot.spec import Body, Control, ControlKind, Inertia, Joint, Mimic, RobotSpec
from support.robots import ant, cartpole, driven, random_state, random_tree, with_inertias

UNTRAINED = MechanicsCfg(substeps=4, hidden=0)
MASS = 2.0
STEP = 0.01
"""Physics step, and control step, of the slider [s]."""
ENVS = 96


def slider(kinds: tuple[ControlKind, ...] = ("position", "velocity"), **joint: object) -> RobotSpec:
    """A mass of two kilograms on a rail, without gravity."""
    joint = {"lower": -math.inf, "upper": math.inf} | joint
    return RobotSpec(
        name="slider",
        floating_base=False,
        joints=(Joint("slide", "prismatic", (1.0, 0.0, 0.0), **joint),),  # pyright: ignore[reportArgumentType]
        bodies=(Body("rail", inertia=Inertia(1.0)), Body("cart", "rail", "slide", inertia=Inertia(MASS))),
        controls=tuple(Control("slide", kind) for kind in kinds),
        physics_dt=STEP,
        decimation=1,
        gravity=(0.0, 0.0, 0.0),
    )


def moved(spec: RobotSpec, pos: float, speed: float, *control: float, steps: int = 1) -> tuple[float, float]:
    """Position and speed of the slider after some steps, in double precision."""
    codec, state = ChangeCodec(spec), torch.tensor([[pos, speed]], dtype=torch.double)
    mechanics = Mechanics(spec, codec, UNTRAINED, has_contacts=False).double()
    for _ in range(steps):
        state = codec.apply(state, mechanics(state, torch.tensor([control], dtype=torch.double)).detach())
    return float(state[0, 0]), float(state[0, 1])


@given(st.floats(0.0, 1.0e4), st.floats(0.1, 1.0e3), st.floats(-1.0, 1.0), st.floats(-5.0, 5.0), st.floats(-1.0, 1.0))
@settings(deadline=None, max_examples=30)
def test_a_spring_and_a_damper_are_integrated_implicitly(
    stiffness: float, damping: float, pos: float, speed: float, target: float
):
    """With a target at rest each substep is one of the implicit Euler method, however stiff the drive is."""
    after = moved(slider(stiffness=stiffness, damping=damping), pos, speed, target, 0.0)
    h = STEP / 4
    for _ in range(4):
        speed = (MASS * speed + h * stiffness * (target - pos)) / (MASS + h * damping + h * h * stiffness)
        pos = pos + h * speed
    assert after == pytest.approx((pos, speed), rel=1e-6, abs=1e-6), "the solver's tables are in single precision"


def test_a_position_target_is_reached_at_the_end_of_the_step():
    """A very stiff drive has the joint at its target when the step ends, and there with the target's velocity."""
    spec = slider(stiffness=1.0e9, damping=1.0)
    assert moved(spec, 0.0, 0.0, 0.02, 2.0) == pytest.approx((0.02, 2.0), rel=1e-3)


def test_a_damper_leads_to_a_velocity():
    """Without stiffness the drive leads to the velocity target; a position target changes nothing."""
    spec = slider(damping=1.0e6)
    assert moved(spec, 0.3, -1.0, 9.0, 1.5)[1] == pytest.approx(1.5, rel=1e-6)
    assert moved(spec, 0.3, -1.0, 9.0, 1.5) == moved(spec, 0.3, -1.0, -9.0, 1.5)


def test_a_joint_without_a_control_is_led_to_its_own_target():
    """The target of the specification counts where no control says one, and only there."""
    held = moved(slider(("effort",), stiffness=1.0e9, damping=1.0, target=0.3), 0.0, 0.0, 0.0)
    assert held[0] == pytest.approx(0.3, rel=1e-3)
    assert moved(slider(("position",), stiffness=1.0e9, damping=1.0, target=9.0), 0.0, 0.0, 0.3) == (
        pytest.approx(held, abs=1e-6)
    )


@given(st.floats(-100.0, 100.0), st.floats(0.0, 50.0))
@settings(deadline=None, max_examples=30)
def test_a_drive_gives_no_more_than_its_limit_and_efforts_are_not_limited(effort: float, limit: float):
    """The impulse of a drive that is far from its target is its effort limit times the length of the step; an effort
    beside it acts as a whole.
    """
    spec = slider(("effort", "position"), stiffness=1.0e9, damping=10.0, effort_limit=limit)
    speed = moved(spec, 0.0, 0.0, effort, 1.0e3)[1]
    assert speed == pytest.approx(STEP * (effort + limit) / MASS, rel=1e-6, abs=1e-9)


def test_a_drive_of_accelerations_does_not_feel_the_mass():
    """A drive of accelerations gives a joint with twice the mass the same velocity; compliance does not change that."""
    spec = slider(stiffness=50.0, damping=3.0, drive="acceleration")
    heavy = replace(spec, bodies=(spec.bodies[0], replace(spec.bodies[1], inertia=Inertia(2.0 * MASS))))
    got = moved(spec, 0.1, 1.0, 0.5, 0.2)
    assert got == pytest.approx(moved(heavy, 0.1, 1.0, 0.5, 0.2), rel=1e-9)
    pos, speed, h = 0.1, 1.0, STEP / 4
    for number in range(4):
        missing = 0.5 - (3 - number) * h * 0.2 - pos
        pull = h * (3.0 * (0.2 - speed) + 50.0 * (missing - h * speed)) / (1.0 + h * (3.0 + h * 50.0))
        speed += pull / (1.0 + UNTRAINED.compliance)
        pos += h * speed
    assert got == pytest.approx((pos, speed), rel=1e-9)


def test_static_friction_holds_and_dynamic_friction_brakes():
    """An effort below static friction does not get the joint going; one above it accelerates it by what dynamic and
    viscous friction leave.
    """
    spec = slider(("effort",), friction=5.0, dynamic_friction=3.0, viscous_friction=0.0)
    assert abs(moved(spec, 0.0, 0.0, 4.9, steps=50)[1]) < 1e-3
    assert moved(spec, 0.0, 0.0, 9.0)[1] == pytest.approx(STEP * (9.0 - 3.0) / MASS, rel=1e-9)
    assert moved(spec, 0.0, 2.0, 0.0)[1] == pytest.approx(2.0 - STEP * 3.0 / MASS, rel=1e-9)
    viscous, speed = replace(spec.joints[0], viscous_friction=0.5), 2.0
    for _ in range(4):
        speed -= STEP / 4 * (3.0 + 0.5 * speed) / MASS
    assert moved(replace(spec, joints=(viscous,)), 0.0, 2.0, 0.0)[1] == pytest.approx(speed, rel=1e-9)


def test_dynamic_friction_alone_does_nothing():
    """As in PhysX, dynamic friction without static or viscous friction does nothing."""
    assert moved(slider(("effort",), dynamic_friction=3.0), 0.0, 2.0, 0.0)[1] == pytest.approx(2.0, rel=1e-12)


@given(st.floats(-50.0, 50.0), st.floats(-1.0e5, 1.0e5), st.floats(0.1, 10.0))
@settings(deadline=None, max_examples=30)
def test_no_joint_is_faster_than_its_limit(speed: float, effort: float, limit: float):
    """A joint keeps its limit, up to the compliance of what an effort adds in a substep, whatever drives it. It is
    slower only by what an effort against its motion takes.
    """
    after = moved(slider(("effort",), velocity_limit=limit), 0.0, speed, effort)[1]
    slack = UNTRAINED.compliance * abs(effort) * STEP / 4 / MASS
    assert abs(after) <= 1.03 * (limit + slack) + 1e-9
    braked = STEP * abs(effort) / MASS if speed * effort < 0.0 else 0.0
    assert abs(after) >= min(0.97 * limit - braked, abs(speed + STEP * effort / MASS)) - 1e-9


def test_a_joint_that_begins_too_fast_slows_all_joints():
    """Where one joint begins faster than its limit, all joints are slowed by the same share, as in PhysX."""
    spec = with_inertias(cartpole())
    free = [replace(joint, damping=0.0, lower=-math.inf, upper=math.inf) for joint in spec.joints]
    limited = replace(spec, joints=(free[0], replace(free[1], velocity_limit=2.0)), decimation=1)
    codec, control = ChangeCodec(limited), torch.zeros(1, 2).double()
    fast, slow = (torch.tensor([[0.0, 0.4, 3.0 * k, 4.0 * k]]).double() for k in (1.0, 0.5))
    mechanics = Mechanics(limited, codec, UNTRAINED, has_contacts=False).double()
    after = [codec.apply(state, mechanics(state, control).detach()) for state in (fast, slow)]
    assert torch.allclose(*after, rtol=1e-12, atol=1e-12)


def near_double_precision(spec: RobotSpec, state: torch.Tensor) -> bool:
    """Whether the kernel is about as far from double precision as PyTorch is, for random controls."""
    control = 0.5 * torch.randn(len(state), spec.control_dim, generator=torch.Generator().manual_seed(5))
    mechanics = Mechanics(spec, ChangeCodec(spec), UNTRAINED, has_contacts=False)
    by_pytorch = mechanics._change(state, mechanics._next_state(state, control, None)).detach()
    with torch.no_grad():
        said = mechanics(state, control)
    assert next(iter(mechanics._kernels.values())) is not None
    truth = copy.deepcopy(mechanics).double()(state.double(), control.double()).detach()
    size = 1.0 + truth.abs().amax(-1)
    ours, theirs = (
        ((each - truth).abs().amax(-1) / size).quantile(torch.tensor([0.5, 0.9]).to(truth))
        for each in (said, by_pytorch)
    )
    return bool((ours < 3.0 * theirs + 2.0e-6).all())


DRIVEN = {
    "targets": {},
    "limited": {"effort_limit": 1.0},
    "friction": {"friction": 0.4, "dynamic_friction": 0.3, "viscous_friction": 0.05},
    "friction alone": {"stiffness": 0.0, "viscous_friction": 0.3},
    "fast": {"velocity_limit": 0.3},
    "accelerations": {"drive": "acceleration"},
    "all": {"effort_limit": 2.0, "friction": 0.2, "dynamic_friction": 0.1, "velocity_limit": 1.0},
}


@pytest.mark.parametrize("name", DRIVEN)
@pytest.mark.parametrize("robot", ["ant", "tree", "cartpole"])
def test_the_kernel_knows_drives(name: str, robot: str):
    """For joints with targets, limits, friction, drives of accelerations and all together, floating or not, with stops
    and contacts, the kernel is as near to double precision as PyTorch is.
    """
    pytest.importorskip("warp", reason="needs Warp, which Isaac Lab brings")
    base = {"ant": ant(), "tree": random_tree(3, floating=False), "cartpole": cartpole()}[robot]
    spec = driven(with_inertias(base), lower=-0.5, upper=0.8, wraps=False, **DRIVEN[name])
    state = random_state(spec, ENVS, seed=4, spread=0.5)
    if spec.floating_base:
        state[:, 2] += 5.0
    assert near_double_precision(spec, state)


def finger_tree(mimic: Mimic) -> RobotSpec:
    """A tree with a fixed base in which the third joint follows the first, whatever the mimic says."""
    spec = driven(with_inertias(random_tree(3, floating=False)), lower=-math.inf, upper=math.inf, wraps=False)
    mimic = replace(mimic, joint=spec.joint_names[0])
    follower = replace(spec.joints[2], mimic=mimic, stiffness=0.0, damping=0.0)
    joints = (*spec.joints[:2], follower, *spec.joints[3:])
    return replace(spec, joints=joints, controls=tuple(Control(joint.name, "effort") for joint in joints))


@pytest.mark.parametrize("ratio", [1.0, -0.5])
def test_a_follower_follows(ratio: float):
    """A joint that follows another is led to where it should be within a few steps and stays there, in all motion."""
    spec = finger_tree(Mimic("", ratio, 0.1))
    spec = replace(spec, joints=tuple(replace(each, armature=0.5) for each in spec.joints))
    codec = ChangeCodec(spec)
    state = random_state(spec, 8, seed=1, spread=0.3).double()
    mechanics = Mechanics(spec, codec, UNTRAINED, has_contacts=False).double()
    for _ in range(10):
        state = codec.apply(state, mechanics(state, torch.zeros(8, spec.control_dim).double()).detach())
    pos = state[:, spec.state.joint_pos]
    assert (pos[:, 2] - ratio * pos[:, 0] - 0.1).abs().max() < 2e-3
    assert state[:, spec.state.joint_vel].abs().max() > 0.1


@pytest.mark.parametrize("mimic", [Mimic("", 0.7, 0.1), Mimic("", -1.0, 0.0, frequency=30.0, damping_ratio=0.7)])
def test_the_kernel_knows_followers(mimic: Mimic):
    """Joints that follow others, firmly or by a spring, are led by the kernel as by PyTorch."""
    pytest.importorskip("warp", reason="needs Warp, which Isaac Lab brings")
    spec = finger_tree(mimic)
    assert near_double_precision(spec, random_state(spec, ENVS, seed=4, spread=0.5))


BODIES = {
    "damped": {"linear_damping": 0.5, "angular_damping": 0.7},
    "slowed": {"max_linear_velocity": 0.4, "max_angular_velocity": 0.5},
    "weightless": {"has_gravity": False},
}


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("robot", ["ant", "tree"])
def test_the_kernel_knows_damped_bodies(name: str, robot: str):
    """Bodies that are damped, slowed or weightless move in the kernel as in PyTorch, and otherwise than others."""
    pytest.importorskip("warp", reason="needs Warp, which Isaac Lab brings")
    plain = with_inertias({"ant": ant(), "tree": random_tree(3, floating=False)}[robot])
    bodies = tuple(replace(body, **BODIES[name]) if i % 2 else body for i, body in enumerate(plain.bodies))
    spec, state = replace(plain, bodies=bodies), random_state(plain, ENVS, seed=4, spread=0.5)
    assert near_double_precision(spec, state)
    control = torch.zeros(ENVS, spec.control_dim)
    said = [Mechanics(each, ChangeCodec(each), UNTRAINED, False)(state, control).detach() for each in (plain, spec)]
    assert (said[0] - said[1]).abs().max() > 1e-2


def test_a_damped_body_in_the_air_loses_momentum_as_it_should():
    """All bodies damped alike, a robot in the air loses that share of its momentum, and falls by what is left of
    gravity; a weightless one keeps its momentum.
    """
    spec = replace(with_inertias(ant()), decimation=1)
    state, control = random_state(spec, 8, seed=3).double(), torch.zeros(8, spec.control_dim).double()

    def momentum(spec: RobotSpec, x: torch.Tensor) -> torch.Tensor:
        multibody = Multibody(spec).double()
        frames = multibody.frames(x[:, spec.state.joint_pos])
        turn = rotation_matrix(x[:, spec.state.root_quat])
        velocity = multibody.generalised_velocity(x, turn.permute(1, 2, 0))
        jacobian = multibody.mass_weighted_jacobian(frames)
        return out_of_frame(turn, multibody.centroidal_momentum(frames, jacobian, velocity).linear.t())

    for fields, kept, falls in (
        ({"linear_damping": 3.0}, 1.0 - 3.0 / 120, 1.0 - 3.0 / 120),
        ({"has_gravity": False}, 1.0, 0.0),
    ):
        bodies = tuple(replace(body, **fields) for body in spec.bodies)
        damped, codec = replace(spec, bodies=bodies), ChangeCodec(spec)
        mechanics = Mechanics(damped, codec, UNTRAINED, has_contacts=False).double()
        after = codec.apply(state, mechanics(state, control).detach())
        expected = kept * momentum(spec, state)
        expected[:, 2] -= falls * 9.81 / 120 * mechanics.mass
        assert torch.allclose(momentum(spec, after), expected, rtol=1e-6, atol=1e-6)


REGIMES = {
    "free": ({"stiffness": 30.0}, 0.0, 0.4),
    "saturated": ({"stiffness": 3.0e4, "effort_limit": 0.5}, 0.0, 0.4),
    "at a stop": ({"stiffness": 30.0, "lower": 0.0, "upper": 5.0}, -0.01, -0.5),
    "sliding": ({"stiffness": 30.0, "friction": 0.01, "dynamic_friction": 0.01, "viscous_friction": 0.1}, 0.0, 0.4),
    "held": ({"stiffness": 3.0, "friction": 50.0, "dynamic_friction": 1.0}, 0.0, 0.01),
    "fast": ({"stiffness": 30.0, "velocity_limit": 0.2}, 0.0, 0.4),
    "accelerations": ({"stiffness": 30.0, "drive": "acceleration"}, 0.0, 0.4),
}


@pytest.mark.parametrize("regime", REGIMES)
@pytest.mark.parametrize("seed", [0, 1])
def test_gradients_are_those_of_central_differences(regime: str, seed: int):
    """In double precision, gradients of a step by state and control are those of central differences: where drives
    are free, saturated, at a stop, where friction brakes or holds, where speeds are limited.
    """
    fields, pos, speed = REGIMES[regime]
    tree = with_inertias(random_tree(5, bodies=5, floating=False))
    spec = replace(driven(tree, **{"lower": -math.inf, "upper": math.inf, "wraps": False} | fields), decimation=1)
    generator, joints = torch.Generator().manual_seed(seed), len(spec.joints)
    state = torch.full((1, spec.state.dim), pos).double()
    state[:, spec.state.joint_vel] = speed
    state += 0.005 * torch.rand(state.shape, generator=generator).double() * math.copysign(1.0, speed)
    control = 0.1 * torch.randn(1, spec.control_dim, generator=generator).double()
    if regime == "saturated":
        control[:, joints : 2 * joints] = 3.0
    weights = torch.randn(1, spec.state.dim, generator=generator).double()
    mechanics = Mechanics(spec, ChangeCodec(spec), UNTRAINED, has_contacts=False).double()

    def value(x: torch.Tensor) -> torch.Tensor:
        return (weights * mechanics(x[:, : spec.state.dim], x[:, spec.state.dim :])).sum()

    x = torch.cat((state, control), -1).requires_grad_()
    (gradient,) = torch.autograd.grad(value(x), x)
    differences, eps = torch.zeros_like(x), 1.0e-6
    with torch.no_grad():
        for i in range(x.shape[1]):
            shift = torch.zeros_like(x)
            shift[0, i] = eps
            differences[0, i] = (value(x + shift) - value(x - shift)) / (2.0 * eps)
    assert torch.allclose(gradient, differences, rtol=1e-5, atol=1e-6)
    assert gradient.isfinite().all()


@pytest.mark.parametrize("limits", [{}, {"max_linear_velocity": 0.4}, {"max_angular_velocity": 0.5}])
def test_gradients_of_bodies_at_rest_are_finite(limits: dict[str, float]):
    """A damped robot on a base that never moves has finite gradients, whichever speeds of its bodies are limited: the
    first update of a Franka's mechanics made all weights NaN.
    """
    plain = with_inertias(random_tree(3, floating=False))
    bodies = tuple(replace(body, linear_damping=0.05, **limits) for body in plain.bodies)
    spec = replace(plain, bodies=bodies)
    state, control = torch.zeros(2, spec.state.dim), torch.zeros(2, spec.control_dim)
    mechanics = Mechanics(spec, ChangeCodec(spec), UNTRAINED, has_contacts=False)
    x = torch.cat((state, control), -1).requires_grad_()
    mechanics(x[:, : spec.state.dim], x[:, spec.state.dim :]).sum().backward()
    assert x.grad is not None and x.grad.isfinite().all()
