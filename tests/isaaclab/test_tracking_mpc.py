# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The controller of the experiment brings a point to its target, and needs the right numbers for it."""

from __future__ import annotations

import pytest
import torch

from nerd_core.adaptation.directions import Directions
from nerd_isaaclab.experiments.adapted_control.tracking_mpc import TrackingCfg, TrackingMpc
from support.adapting_arm import adapting_arm

STEPS = 150
CFG = TrackingCfg(knots=2, held=8, velocity_weight=0.1, posture_weight=0.0, change_weight=0.01, largest_change=2.0)


def reach(known: float, true: float) -> torch.Tensor:
    """Distances of the ends of two double pendulums from their targets [m], shape (STEPS, 2); mechanics with a payload
    moves them, and they are controlled as if it were another.
    """
    arm = adapting_arm()
    directions = Directions(arm, ("payload",))
    # angles count from hanging straight down
    state = torch.tensor([[0.4, 0.2, 0.0, 0.0], [-0.3, -0.3, 0.0, 0.0]])
    mpc = TrackingMpc(arm, directions, (2, torch.tensor([0.0, 0.0, -0.3])), torch.zeros(2), torch.zeros(2, 2), CFG)
    target = mpc.tool(torch.tensor([[0.7, 0.5, 0.0, 0.0], [-0.8, -0.2, 0.0, 0.0]]))
    distances = []
    for _ in range(STEPS):
        parameters, control = directions(torch.full((2, 1), true), mpc(state, target, torch.full((2, 1), known)))
        with torch.no_grad():
            prediction, _ = arm.extend(state, control, None, None, parameters)
            state = arm.next_state(state, prediction)
        distances.append((mpc.tool(state) - target).norm(dim=-1))
    return torch.stack(distances)


@pytest.mark.parametrize("payload", [0.0, 0.2])
def test_a_controller_that_knows_its_robot_reaches_the_target(payload: float):
    """Within a second and a half the point is within three millimetres, with a payload and without."""
    assert reach(payload, payload)[-10:].max() < 3e-3


def test_a_payload_that_nobody_knows_of_keeps_the_point_away():
    """Gravity pulls at what the model does not know: the point stays several times further away."""
    apart = reach(0.0, 0.2)[-10:].mean(0)
    assert apart.min() > 1e-2 and apart.max() < 0.2
