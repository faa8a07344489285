# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Rotations, origins of environments, and the change of state."""

from __future__ import annotations

import math
from functools import partial
from itertools import product

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from nerd_core.robot.frames import (
    ChangeCfg,
    ChangeCodec,
    into_frame,
    out_of_frame,
    quat_canonical,
    quat_conjugate,
    quat_from_rotvec,
    quat_mul,
    quat_normalize,
    quat_rotate,
    quat_rotate_inverse,
    rotation_matrix,
    rotvec_from_quat,
    wrap_to_pi,
)
from support.robots import ant, cartpole, move_state, random_state, random_tree, yaw

CHANGES = [
    ChangeCfg(rotation, integration)
    for rotation, integration in product(("rotvec", "quaternion"), ("none", "trapezoid"))
]
seeds = st.integers(0, 10_000)


def states_differ_by(spec, a, b) -> float:
    """Largest difference of two states, with angles on the circle and quaternions up to their sign."""
    at, difference = spec.state, (a - b).clone()
    if spec.floating_base:
        sign = torch.sign((a[..., at.root_quat] * b[..., at.root_quat]).sum(-1, keepdim=True))
        difference[..., at.root_quat] = a[..., at.root_quat] - sign * b[..., at.root_quat]
    wraps = torch.tensor([bool(joint.wraps) for joint in spec.joints])
    joint_pos = difference[..., at.joint_pos]
    difference[..., at.joint_pos] = torch.where(wraps, wrap_to_pi(joint_pos), joint_pos)
    return float(difference.abs().max())


def successor(spec, state, seed, size):
    """A state one step later: velocities and positions changed by about ``size``, rotated by as much."""
    at = spec.state
    other = state + size * random_state(spec, state.shape[0], seed).to(state)
    if spec.floating_base:
        turn = quat_from_rotvec(size * torch.randn(state.shape[0], 3, generator=torch.Generator().manual_seed(seed)))
        other[..., at.root_quat] = quat_mul(state[..., at.root_quat], turn.to(state))
    return other


@settings(deadline=None, max_examples=25)
@given(seed=seeds, floating=st.booleans(), size=st.sampled_from([0.0, 1e-4, 0.05, 0.5]), cfg=st.sampled_from(CHANGES))
def test_change_round_trip(seed, floating, size, cfg):
    """A change that is read from two states leads from the first to the second, to 1e-5."""
    spec = random_tree(seed, 8, floating)
    state = random_state(spec, 16, seed)
    next_state = successor(spec, state, seed + 1, size)
    codec = ChangeCodec(spec, cfg)
    change = codec.encode(state, next_state)
    assert change.shape == (16, codec.dim)
    assert states_differ_by(spec, codec.apply(state, change), next_state) < 1e-5


def test_change_dimensions():
    """A rotation vector gives two numbers a degree of freedom, a quaternion one more; the slices tile the change."""
    spec = ant()
    assert ChangeCodec(spec).dim == 2 * (6 + len(spec.joints)) == 28
    codec = ChangeCodec(spec, ChangeCfg(rotation="quaternion", integration="none"))
    assert codec.dim == 29  # the output of the published Ant
    assert [where.start for where in codec.slices.values()] == [0, 3, 7, 15, 18, 21]
    assert codec.resolution.shape == (29,)


@settings(deadline=None, max_examples=25)
@given(seed=seeds, cfg=st.sampled_from(CHANGES))
def test_change_does_not_depend_on_where_the_scene_stands(seed, cfg):
    """Turning and shifting both states by any rigid motion leaves the change alone, and applying it commutes."""
    spec = ant()
    state = random_state(spec, 16, seed)
    next_state = successor(spec, state, seed + 1, 0.05)
    generator = torch.Generator().manual_seed(seed)
    turn = quat_normalize(torch.randn(4, generator=generator))
    shift = torch.randn(3, generator=generator)
    codec = ChangeCodec(spec, cfg)
    moved = move_state(spec, state, turn, shift)
    change = codec.encode(state, next_state)
    torch.testing.assert_close(
        codec.encode(moved, move_state(spec, next_state, turn, shift)), change, rtol=0, atol=1e-5
    )
    expected = move_state(spec, codec.apply(state, change), turn, shift)
    assert states_differ_by(spec, codec.apply(moved, change), expected) < 1e-5


def test_change_ignores_signs_of_quaternions():
    """The change is the same, and its quaternion has w >= 0, whichever of q and -q describes either state."""
    spec = ant()
    state = random_state(spec, 64, 0)
    next_state = successor(spec, state, 1, 0.5)
    at = spec.state.root_quat
    for rotation in ("rotvec", "quaternion"):
        codec = ChangeCodec(spec, ChangeCfg(rotation=rotation))
        change = codec.encode(state, next_state)
        for flip_first, flip_second in ((True, False), (False, True), (True, True)):
            first, second = state.clone(), next_state.clone()
            first[:, at] *= -1.0 if flip_first else 1.0
            second[:, at] *= -1.0 if flip_second else 1.0
            torch.testing.assert_close(codec.encode(first, second), change, rtol=0, atol=1e-6)
        if rotation == "quaternion":
            assert bool((change[:, codec.slices["root_rot"].stop - 1] >= 0).all())


def test_trapezoid_leaves_only_what_velocities_do_not_explain():
    """A body that moves and turns steadily has a change of zero in its positions, whatever its velocity."""
    spec = ant()
    state = random_state(spec, 32, 3)
    at, dt = spec.state, spec.control_dt
    next_state = state.clone()
    next_state[:, at.root_pos] += dt * state[:, at.root_lin_vel]
    next_state[:, at.joint_pos] += dt * state[:, at.joint_vel]
    turn = quat_from_rotvec(dt * state[:, at.root_ang_vel])
    next_state[:, at.root_quat] = quat_mul(turn, state[:, at.root_quat])
    assert float(ChangeCodec(spec).encode(state, next_state).abs().max()) < 1e-6
    assert float(ChangeCodec(spec, ChangeCfg(integration="none")).encode(state, next_state).abs().max()) > 1e-2


def test_wrapping_joint_crosses_the_cut():
    """A pole that passes pi changes by the short way round and ends in [-pi, pi); a slide does not wrap."""
    spec = cartpole()
    codec = ChangeCodec(spec, ChangeCfg(integration="none"))
    state = torch.tensor([[3.5, math.pi - 0.01, 0.0, 0.0]])
    next_state = torch.tensor([[3.6, -math.pi + 0.01, 0.0, 0.0]])
    change = codec.encode(state, next_state)
    torch.testing.assert_close(change[0, :2], torch.tensor([0.1, 0.02]), rtol=0, atol=1e-5)
    torch.testing.assert_close(codec.apply(state, change), next_state, rtol=0, atol=1e-5)


@settings(deadline=None, max_examples=50)
@given(seed=seeds)
def test_rotations_agree(seed):
    """Quaternion products, vector turns, matrices and rotation vectors are one group, in double precision."""
    generator = torch.Generator().manual_seed(seed)
    a, b = (quat_normalize(torch.randn(8, 4, generator=generator, dtype=torch.double)) for _ in range(2))
    v = torch.randn(8, 3, generator=generator, dtype=torch.double)
    assert_close = partial(torch.testing.assert_close, rtol=0.0, atol=1e-12)
    assert_close(quat_rotate(quat_mul(a, b), v), quat_rotate(a, quat_rotate(b, v)))
    assert_close(quat_rotate_inverse(a, quat_rotate(a, v)), v)
    assert_close((rotation_matrix(3.0 * a) @ v.unsqueeze(-1)).squeeze(-1), quat_rotate(a, v))
    assert_close(out_of_frame(rotation_matrix(a), v), quat_rotate(a, v))
    assert_close(into_frame(rotation_matrix(a), v), quat_rotate_inverse(a, v))
    assert_close(quat_from_rotvec(rotvec_from_quat(a)), quat_canonical(a))
    assert_close(rotvec_from_quat(-a), rotvec_from_quat(a), atol=0.0)
    assert_close(quat_conjugate(quat_mul(a, b)), quat_mul(quat_conjugate(b), quat_conjugate(a)))


@pytest.mark.parametrize("angle", [0.0, 1e-9, 1e-4, 9.99e-4, 1.01e-3, 0.1, 3.0, math.pi - 1e-3])
def test_rotation_vector_is_exact_and_smooth_at_every_angle(angle):
    """Both ways are exact and have the right, finite derivatives, where series take over included."""
    rotvec = (torch.nn.functional.normalize(torch.tensor([1.0, -2.0, 0.5], dtype=torch.double), dim=0) * angle)[None]
    rotvec.requires_grad_()
    quat = quat_from_rotvec(rotvec)
    torch.testing.assert_close(rotvec_from_quat(quat), rotvec, rtol=1e-12, atol=1e-15)
    torch.testing.assert_close(quat.square().sum(-1), torch.ones(1, dtype=torch.double), rtol=0, atol=1e-14)
    assert torch.autograd.gradcheck(quat_from_rotvec, (rotvec,), eps=1e-7)
    free = quat.detach().requires_grad_()
    assert torch.autograd.gradcheck(rotvec_from_quat, (free,), eps=1e-7)


@pytest.mark.parametrize(
    "quat", [(0.0, 0.0, 0.0, -1.0), (1.0, 0.0, 0.0, 0.0), (0.0, -1.0, 0.0, 0.0), (0.0, 0.0, 0.0, 0.0)]
)
def test_special_quaternions_have_finite_derivatives(quat):
    """Minus one, half turns and four zeros give finite values and gradients; q and -q still agree."""
    value = torch.tensor([quat], requires_grad=True)
    for function in (quat_normalize, quat_canonical, *([rotvec_from_quat] if any(quat) else [])):
        (gradient,) = torch.autograd.grad(function(value).square().sum() + function(value).sum(), value)
        assert bool(gradient.isfinite().all()), function.__name__
        assert bool(function(value).isfinite().all())
    assert torch.equal(
        rotvec_from_quat(value) if any(quat) else value, rotvec_from_quat(-value) if any(quat) else value
    )
    assert torch.equal(quat_normalize(torch.zeros(4)), torch.tensor([0.0, 0.0, 0.0, 1.0]))


def test_codec_gradients():
    """Both directions of the codec pass gradcheck, at rest included, where nothing turns."""
    spec = random_tree(4, 4)
    state = random_state(spec, 2, 0, dtype=torch.double)
    state[0, spec.state.root_ang_vel] = 0.0
    for cfg in CHANGES:
        codec = ChangeCodec(spec, cfg)
        change = codec.encode(state, successor(spec, state, 1, 0.1).double()).requires_grad_()
        assert torch.autograd.gradcheck(
            lambda s, c, codec=codec: codec.apply(s, c), (state.clone().requires_grad_(), change)
        )
        other = state.clone().requires_grad_()
        value = codec.encode(state, other).sum()
        (gradient,) = torch.autograd.grad(value, other)
        assert bool(gradient.isfinite().all())


def test_angles_wrap_into_the_half_open_circle():
    """Wrapped angles are in [-pi, pi) and differ from the given ones by whole turns."""
    angle = torch.linspace(-20.0, 20.0, 4001, dtype=torch.double)
    wrapped = wrap_to_pi(angle)
    assert float(wrapped.min()) >= -math.pi and float(wrapped.max()) < math.pi
    turns = (angle - wrapped) / (2 * math.pi)
    torch.testing.assert_close(turns, turns.round(), rtol=0, atol=1e-12)
    assert float(yaw(0.0)[3]) == 1.0
