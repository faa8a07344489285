# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Errors of windows by hand: distances, angles, means over the steps that a window has, horizons."""

from __future__ import annotations

import math

import pytest
import torch

from nerd_core.judging.errors import (
    angle_errors,
    horizons,
    position_errors,
    rotation_errors,
    spread,
    window_means,
    window_rms,
)
from nerd_core.robot.frames import quat_from_rotvec, quat_mul

VALID = torch.tensor([[True, True, True, True], [True, True, False, False]])


def test_positions_differ_by_their_distance():
    """All three axes count."""
    assert position_errors(torch.tensor([1.0, 2.0, 3.0]), torch.tensor([0.0, 0.0, 1.0])) == 3.0


def test_orientations_differ_by_the_angle_between_them():
    """The angle of the turn from one to the other, whatever both are, and whatever the sign of a quaternion."""
    truth = quat_from_rotvec(torch.tensor([0.4, -1.0, 2.0], dtype=torch.float64))
    turn = quat_from_rotvec(torch.tensor([0.0, 0.3, -0.4], dtype=torch.float64))
    for sign in (1.0, -1.0):
        torch.testing.assert_close(rotation_errors(sign * quat_mul(turn, truth), truth).item(), 0.5)
        torch.testing.assert_close(rotation_errors(sign * quat_mul(truth, turn), truth).item(), 0.5)


def test_angles_differ_the_short_way_round():
    """Across half a turn, and over many turns."""
    assert angle_errors(torch.tensor(3.1), torch.tensor(-3.1)).item() == pytest.approx(6.2 - 2 * math.pi, abs=1e-6)
    assert angle_errors(torch.tensor(0.1 + 4 * math.pi), torch.tensor(0.3)).item() == pytest.approx(-0.2, abs=1e-5)


def test_means_are_over_the_steps_that_a_window_has():
    """What stands in padding does not count, not even if it is no number."""
    errors = torch.tensor([[1.0, 2.0, 3.0, 6.0], [1.0, 3.0, math.nan, 100.0]])
    assert window_means(errors, VALID).tolist() == [3.0, 2.0]


def test_a_window_that_leaves_the_numbers_has_an_infinite_error():
    """One step that is not finite is enough, and the other windows keep theirs."""
    errors = torch.tensor([[1.0, math.nan, 3.0, 6.0], [1.0, 3.0, 0.0, 0.0]])
    assert window_means(errors, VALID).tolist() == [math.inf, 2.0]


def test_joints_are_summed_up_as_root_of_the_mean_square():
    """Over steps and joints of the window together."""
    errors = torch.tensor(
        [[[3.0, -3.0], [1.0, 1.0], [0.0, 0.0], [0.0, 0.0]], [[2.0, 0.0], [2.0, 0.0], [9.0, 9.0], [9.0, 9.0]]]
    )
    torch.testing.assert_close(window_rms(errors, VALID), torch.tensor([math.sqrt(20 / 8), math.sqrt(8 / 4)]))


def test_a_horizon_ends_where_the_error_first_passes_the_limit():
    """Steps that stay within it before; a window that never passes it counts with the steps that it has."""
    errors = torch.tensor([[0.1, 0.2, 0.3, 0.1], [0.1, 0.1, 5.0, 5.0], [0.3, 0.0, 0.0, 0.0], [0.1, math.nan, 0.0, 0.0]])
    steps, ends = horizons(errors, VALID[[0, 1, 0, 0]], 0.2)
    assert steps.tolist() == [2, 2, 0, 1] and ends.tolist() == [True, False, True, True]


def test_a_spread_says_mean_median_and_tail():
    """Of the numbers one to hundred."""
    found = spread(torch.arange(1.0, 101.0))
    assert found["mean"] == 50.5 and found["median"] == 50.0 and found["q90"] == 90.0
    assert found["standard_error"] == pytest.approx(math.sqrt(100 * 101 / 12) / 10)
    assert spread(torch.tensor([1.0, math.inf]))["median"] == 1.0
