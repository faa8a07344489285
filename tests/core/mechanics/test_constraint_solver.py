# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The learned solver of contacts and stops: what holds whatever its rules are."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from nerd_core import checkpoint
from nerd_core.contact.contacts import ContactModel
from nerd_core.contact.grounds import PlaneGround
from nerd_core.mechanics.config import MechanicsCfg
from nerd_core.mechanics.contact_constraints import contact_axes, outer_slots
from nerd_core.mechanics.multibody import Multibody
from nerd_core.mechanics.step import Mechanics
from nerd_core.network.architectures.residual import ResidualMlpCfg
from nerd_core.network.token_config import TokenCfg
from nerd_core.predictor.config import PredictorCfg
from nerd_core.predictor.mechanics_prior import MechanicsPriorCfg
from nerd_core.predictor.predictor import Predictor
from nerd_core.robot.frames import ChangeCodec
from nerd_core.robot.slots import sphere_slots
from nerd_core.robot.spec import Body, Inertia, RobotSpec
from support.robots import ant, cartpole, move_state, random_state, with_inertias, yaw

CFG = MechanicsCfg(substeps=4, hidden=8)
PRIOR = MechanicsPriorCfg(substeps=4, hidden=8)
UNTRAINED = MechanicsCfg(substeps=4, hidden=0)
SMALL = ResidualMlpCfg(width=8, hidden=8, layers=1)


def ball() -> RobotSpec:
    """A ball of 2 kg and half a metre, without joints."""
    return RobotSpec(
        name="ball",
        floating_base=True,
        joints=(),
        bodies=(Body("ball", inertia=Inertia(2.0, moments=(0.2, 0.2, 0.2))),),
        controls=(),
        physics_dt=1 / 120,
        decimation=2,
        slots=sphere_slots("ball", 0.5),
    )


def mechanics_of(spec: RobotSpec, size: float = 0.0, cfg: MechanicsCfg = CFG) -> Mechanics:
    """Mechanics with rules and constants that are ``size`` away from untrained ones."""
    torch.manual_seed(0)
    mechanics = Mechanics(spec, ChangeCodec(spec), cfg)
    with torch.no_grad():
        for param in mechanics.parameters():
            param.add_(size * torch.randn_like(param))
    return mechanics


def solve(mechanics: Mechanics, state: torch.Tensor, ground: PlaneGround | None = None) -> torch.Tensor:
    """The states that mechanics leads to without efforts."""
    spec, ground = mechanics.spec, PlaneGround.flat() if ground is None else ground
    contacts = ContactModel(spec).to(state.dtype)(state, ground.to(state.dtype)) if spec.slots else None
    control = state.new_zeros(len(state), spec.control_dim)
    with torch.set_grad_enabled(state.requires_grad):
        return ChangeCodec(spec).apply(state, mechanics(state, control, contacts))


def fall(spec: RobotSpec, state: torch.Tensor) -> torch.Tensor:
    """The states to which mechanics leads above a ground that is out of reach."""
    return solve(mechanics_of(spec), state, PlaneGround(torch.tensor([[0.0, 0.0, 1.0]]), torch.tensor([-100.0])))


def test_a_ball_at_rest_stays_and_one_that_falls_is_caught():
    """Untrained rules hold a resting ball to a millimetre a second and catch a falling one at the ground."""
    spec = ball()
    state = torch.zeros(2, spec.state.dim)
    state[:, spec.state.root_quat.stop - 1] = 1.0
    state[:, 2] = torch.tensor([0.5, 0.51])
    state[1, spec.state.root_lin_vel.stop - 1] = -2.0
    after = solve(mechanics_of(spec), state)
    assert after[:, 2].sub(0.5).abs().max() < 1e-3
    assert after[0, spec.state.root_lin_vel].abs().max() < 1e-3
    assert after[1, spec.state.root_lin_vel].abs().max() < 0.05


def test_friction_brakes_a_sliding_ball_and_makes_it_roll():
    """A ball that slides loses speed by friction and gains the spin that friction gives, of opposite signs in x."""
    spec = ball()
    state = torch.zeros(1, spec.state.dim)
    state[:, spec.state.root_quat.stop - 1] = 1.0
    state[:, 2] = 0.5
    state[:, spec.state.root_lin_vel.start] = 3.0
    after = solve(mechanics_of(spec), state)
    assert 2.5 < float(after[0, spec.state.root_lin_vel.start]) < 3.0
    lost = 3.0 - after[0, spec.state.root_lin_vel.start]
    spin = after[0, spec.state.root_ang_vel.start + 1]
    assert torch.allclose(spin, 2.0 * 0.5 * lost / 0.2, rtol=0.02)


@settings(deadline=None, max_examples=8)
@given(seed=st.integers(0, 10_000), size=st.floats(0.0, 2.0))
def test_what_is_far_is_left_alone(seed: int, size: float):
    """Whatever the rules are, a robot high up with joints in the middle moves freely, to the last bit."""
    spec = with_inertias(ant())
    mechanics, state = mechanics_of(spec, size), random_state(spec, 3, seed, 0.1)
    state[:, spec.state.joint_pos] = torch.tensor([0.5 * (joint.lower + joint.upper) for joint in spec.joints])
    state[:, 2] = 5.0
    assert torch.equal(solve(mechanics, state), solve(mechanics_of(spec, cfg=UNTRAINED), state))


@settings(deadline=None, max_examples=12)
@given(seed=st.integers(0, 10_000), size=st.floats(0.0, 1.0))
def test_impulses_never_pull(seed: int, size: float):
    """Whatever the rules are, the ground only takes away from a ball's fall, and friction stays in a cone. With the
    fitted law: in the engine's, friction holds before its normal impulse does.
    """
    spec = ball()
    state = random_state(spec, 8, seed)
    state[:, 2] = 0.5 + 0.02 * torch.randn(8, generator=torch.Generator().manual_seed(seed))
    mechanics = mechanics_of(spec, size, replace(CFG, constraint_law="fitted"))
    given_ = (solve(mechanics, state) - fall(spec, state))[:, spec.state.root_lin_vel]
    assert (given_[:, 2] >= -1e-5).all()
    assert (given_[:, :2].norm(dim=-1) <= 60.0 * given_[:, 2].clamp(min=0.0) + 1e-4).all()


@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 10_000), quarters=st.integers(1, 3), more=st.floats(-1.5, 1.5), fast=st.booleans())
def test_a_turned_scene_gives_the_turned_answer(seed: int, quarters: int, more: float, fast: bool):
    """Turning and shifting everything about the vertical turns and shifts the answer: by quarters, or, with the
    fitted law, by any angle in a physics step in which all bodies are fast. Friction of slow ones has directions of the
    environment, and so has what bodies answer, as in PhysX.
    """
    angle = quarters * 0.5 * math.pi + (more if fast else 0.0)
    spec = replace(with_inertias(ant()), decimation=1 if fast else 2)
    cfg = replace(CFG, constraint_law="fitted" if fast else "engine")
    mechanics, state = mechanics_of(spec, 0.1, cfg).double(), random_state(spec, 4, seed, 0.3, torch.double)
    state[:, 2] = 0.3
    if fast:
        state[:, spec.state.root_lin_vel] += torch.tensor([15.0, 5.0, 0.0], dtype=torch.double)
    shift = torch.tensor([3.0, -1.0, 0.0], dtype=torch.double)
    turn = yaw(angle).double()
    turn = turn / turn.norm()
    image = move_state(spec, state, turn, shift)
    after, other = (solve(mechanics, each).detach() for each in (state, image))
    expected = move_state(spec, after, turn, shift)
    assert torch.allclose(other, expected, rtol=1e-4, atol=1e-4)


def test_a_stop_holds_a_slide():
    """A cart that runs into its stop is held there by untrained rules, and one in the middle is not."""
    spec = with_inertias(cartpole())
    state = torch.tensor([[3.99, 0.0, 2.0, 0.0], [0.0, 0.0, 2.0, 0.0]])
    after = solve(mechanics_of(spec), state)
    assert abs(float(after[0, 0]) - 4.0) < 2e-3
    assert abs(float(after[0, 2])) < 0.1
    joints = tuple(replace(joint, lower=-math.inf, upper=math.inf) for joint in spec.joints)
    assert torch.equal(after[1], solve(mechanics_of(replace(spec, joints=joints)), state)[1])


def test_what_touched_before_does_not_pull_back():
    """A ball that is pushed out of the ground in the first physics step keeps its speed in the second: impulses begin
    anew.
    """
    spec = replace(ball(), gravity=(0.0, 0.0, 0.0))
    state = torch.zeros(1, spec.state.dim)
    state[:, spec.state.root_quat.stop - 1] = 1.0
    state[:, 2] = 0.49
    once = replace(spec, decimation=1)
    up = spec.state.root_lin_vel.stop - 1
    assert float(solve(mechanics_of(spec), state)[0, up]) >= float(solve(mechanics_of(once), state)[0, up]) > 0.005


def test_a_slope_is_met_along_its_normal():
    """A ball that falls on a slope is pushed along the slope's normal."""
    spec = ball()
    normal = torch.tensor([[0.6, 0.0, 0.8]])
    state = torch.zeros(1, spec.state.dim)
    state[:, spec.state.root_quat.stop - 1] = 1.0
    state[:, :3] = 0.505 * normal
    state[:, spec.state.root_lin_vel] = -2.0 * normal
    after = solve(mechanics_of(spec), state, PlaneGround(normal, torch.zeros(1)))
    assert abs(float((after[0, :3] * normal).sum()) - 0.5) < 2e-3


def test_gradients_reach_the_rules_and_the_state():
    """A loss on what the solver says has finite gradients in all rules and in the state."""
    spec = with_inertias(ant())
    mechanics, state = mechanics_of(spec, 0.3), random_state(spec, 4, 3, 0.3)
    state[:, 2] = 0.3
    state.requires_grad_(True)
    solve(mechanics, state).square().sum().backward()
    for tensor in (state, *mechanics.parameters()):
        assert tensor.grad is not None
        assert bool(tensor.grad.isfinite().all())
        assert bool(tensor.grad.any())


@pytest.mark.parametrize("scales", [(), (0.0,), (-1.0, 0.5), (float("inf"),)])
def test_feature_scales_are_velocities(scales: tuple[float, ...]):
    """Feature scales that no velocity can have are refused, and named."""
    with pytest.raises(ValueError, match="feature_scales"):
        MechanicsCfg(substeps=4, feature_scales=scales)


def test_outer_slots_leave_out_what_is_inside_another():
    """Of the Ant's 25 slots the four ends of capsules in the middle of its ball can touch nothing."""
    spec = ant()
    slots = (*spec.slots, *sphere_slots("torso", 0.1), *sphere_slots("torso", 0.25))
    assert outer_slots(replace(spec, slots=slots)) == list(range(len(spec.slots)))


@given(x=st.floats(-1, 1), y=st.floats(-1, 1), z=st.floats(-1, 1))
def test_contact_axes_are_orthonormal(x: float, y: float, z: float):
    """Axes of a normal are at right angles and of length one, whatever moves; of a normal of zero they are zero."""
    normal = torch.tensor([x, y, z], dtype=torch.double).view(1, 3, 1)
    if float(normal.norm()) < 1e-3:
        normal = torch.zeros_like(normal)
    else:
        normal = normal / normal.norm()
    for moving in (torch.zeros_like(normal), torch.ones_like(normal)):
        _assert_axes(normal, moving)


def _assert_axes(normal: torch.Tensor, moving: torch.Tensor) -> None:
    """What the test above says, for one motion."""
    axes = torch.cat(contact_axes(normal, moving)).squeeze(-1)
    expected = torch.eye(3, dtype=torch.double) if bool(normal.any()) else torch.zeros(3, 3, dtype=torch.double)
    assert torch.allclose(axes @ axes.T, expected, atol=1e-9)


def test_friction_is_solved_along_the_motion_of_what_slides():
    """The second axis is the direction of a fast body, and does not change with the motion of a slow one."""
    normal = torch.tensor([0.0, 0.0, 1.0]).view(1, 3, 1)
    fast, slow = (torch.tensor([3.0 * size, -4.0 * size, 7.0]).view(1, 3, 1) for size in (1.0, 0.001))
    assert torch.allclose(contact_axes(normal, fast)[1].flatten(), torch.tensor([0.6, -0.8, 0.0]))
    still = contact_axes(normal, torch.zeros_like(normal))
    assert all(torch.equal(*pair) for pair in zip(contact_axes(normal, slow), still, strict=True))


def test_a_slot_beyond_its_reach_is_not_looked_at():
    """A fast ball whose gap is just below what its solver reaches is held; just above it falls through, as in PhysX."""
    spec = replace(ball(), gravity=(0.0, 0.0, 0.0), decimation=1)
    state = torch.zeros(2, spec.state.dim)
    state[:, spec.state.root_quat.stop - 1] = 1.0
    reach = UNTRAINED.reach + 0.5 * UNTRAINED.reach_by_radius
    state[:, 2] = 0.5 + reach + torch.tensor([-1e-4, 1e-4])
    state[:, spec.state.root_lin_vel.stop - 1] = -20.0
    after = solve(mechanics_of(spec, cfg=UNTRAINED), state)
    assert float(after[0, 2]) == pytest.approx(0.5, abs=1e-3)
    assert torch.equal(after[1], fall(spec, state)[1])


def test_a_drive_brakes_what_it_can():
    """A cart on a drive that only damps slows down as its equation of motion says, if it is braked in small steps."""
    spec = with_inertias(cartpole())
    joints = (replace(spec.joints[0], damping=2.0), *spec.joints[1:])
    spec = replace(spec, joints=joints, gravity=(0.0, 0.0, 0.0))
    after = solve(mechanics_of(spec, cfg=UNTRAINED), torch.tensor([[0.0, 0.0, 1.0, 0.0]]))
    multibody = Multibody(spec).double()
    frames = multibody.frames(torch.zeros(1, 2, dtype=torch.double))
    slide = float(multibody.inverse_mass(multibody.mass_weighted_jacobian(frames))[0, 0, 0])
    assert float(after[0, 2]) == pytest.approx(math.exp(-2.0 * slide * spec.control_dt), rel=5e-3)


def test_a_solver_without_anything_to_solve_adds_nothing():
    """A robot without slots, stops and damping is left to its free motion."""
    spec = replace(ball(), slots=())
    state = random_state(spec, 3, 0)
    after, at = solve(mechanics_of(spec), state), spec.state
    fallen = state[:, at.root_lin_vel] + spec.control_dt * torch.tensor(spec.gravity)
    assert torch.allclose(after[:, at.root_lin_vel], fallen, atol=1e-5)


def test_a_checkpoint_keeps_the_solver(tmp_path):
    """A predictor with a solver says the same after it was saved and read."""
    spec = with_inertias(ant())
    cfg = PredictorCfg(network=SMALL, token=TokenCfg(contact_motion=True, contact_fine=True), prior=PRIOR)
    torch.manual_seed(0)
    predictor = Predictor(spec, cfg)
    assert predictor.prior is not None
    with torch.no_grad():
        for param in predictor.prior.parameters():
            param.add_(0.1 * torch.randn_like(param))
    checkpoint.save(tmp_path / "model", predictor)
    again = checkpoint.load(tmp_path / "model", expected_spec=spec)
    state = random_state(spec, 4, 0, 0.3)
    state[:, 2] = 0.3
    control = torch.zeros(4, spec.control_dim)
    said = []
    for each in (predictor.eval(), again):
        contacts = each.contacts(state, PlaneGround.flat())
        said.append(each.next_state(state, each.extend(state, control, contacts)[0]))
    assert torch.equal(*said)
