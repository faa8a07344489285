# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The experiment of discovery: its truth is what it says, and its smoke tier finds joint damping."""

from __future__ import annotations

import pytest
import torch

from nerd_core.experiments.discovery import (
    COULOMB,
    DAMPING,
    EXPERIMENT,
    PLAY,
    STIFFNESS,
    double_pendulum,
    law,
    measured,
    sample_curves,
)


def test_the_smoke_tier_discovers_damping(tmp_path):
    """Velocities alone survive, the damping is within five percent, mechanics need fewer samples than a network, and
    the plots are drawn.
    """
    said: list[str] = []
    result = EXPERIMENT.run(EXPERIMENT.smoke, said.append)
    figures = result.figures
    assert figures["surviving_inputs"] == (
        "joint_vel[elbow] -> joint_torque[elbow]; joint_vel[shoulder] -> joint_torque[shoulder]"
    )
    assert figures["right_damping"] == figures["seeds_damping"] == 1
    assert isinstance(figures["damping_error"], float) and figures["damping_error"] < 0.05
    assert figures["damping"] == pytest.approx(DAMPING, rel=0.05)
    assert figures["test_error_hybrid"][-1] < 0.1 * figures["test_error_network"][-1]
    assert any("held-out error" in each for each in said)
    assert all(path.stat().st_size > 1000 for path in result.write_plots(tmp_path))


def test_damping_is_the_engines():
    """Damping of the truth is that of the engine's drives, and not a law of the experiment; mechanics know none."""
    assert [each.damping for each in double_pendulum("damping").joints] == list(DAMPING)
    assert not bool(law("damping", torch.ones(2, 4)).any())
    assert all(each.damping == each.friction == 0.0 for each in double_pendulum().joints)


def test_coulomb_friction_is_as_large_at_any_speed():
    """Coulomb friction brakes a joint by the same effort however fast it is."""
    vel = torch.tensor([[0.0, 0.0, 1.0, -9.0]])
    torch.testing.assert_close(law("coulomb", vel), torch.tensor([[-COULOMB[0], COULOMB[1]]]))


def test_a_spring_with_play_does_nothing_within():
    """The spring of the elbow begins beyond its play, pulls back, and the shoulder has none."""
    state = torch.tensor([[3.0, 0.5 * PLAY, 1.0, 1.0], [3.0, PLAY + 0.2, 1.0, 1.0], [0.0, -PLAY - 0.2, 0.0, 0.0]])
    expected = torch.tensor([[0.0, 0.0], [0.0, -0.2 * STIFFNESS], [0.0, 0.2 * STIFFNESS]])
    torch.testing.assert_close(law("play", state), expected)


def test_steps_lead_from_one_state_to_the_next():
    """Measured steps come in an order of their seed, and a drag takes energy from them."""
    first, again, other = (measured("drag", EXPERIMENT.smoke, seed) for seed in (0, 0, 1))
    assert torch.equal(first.state, again.state) and not torch.equal(first.state, other.state)
    assert len(first.state) == len(first.control) == len(first.next_state)
    dt = double_pendulum().physics_dt
    moved = first.next_state[:, :2] - first.state[:, :2]
    wrapped = torch.remainder(moved + torch.pi, 2.0 * torch.pi) - torch.pi
    torch.testing.assert_close(wrapped, dt * first.next_state[:, 2:], rtol=1e-6, atol=1e-9)


def test_curves_use_other_motion():
    """Test errors of both models are shares of a variance on motion of another seed, and are finite."""
    hybrid, network = sample_curves(EXPERIMENT.smoke, lambda _: None)
    assert len(hybrid) == len(network) == len(EXPERIMENT.smoke.sizes)
    assert all(0.0 < each < 10.0 for each in hybrid) and all(each > 0.0 for each in network)
