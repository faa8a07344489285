# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Kinds of motion that a solver treats apart: free, touching the ground (moving, slow, at rest), at a stop.

An impact changes velocities a hundred times as much as free motion does in the same time, and its error is as much
larger. In one mean over all transitions impacts are all that counts, and free motion, which is most of what a robot
does, stays as inaccurate as they are. So losses take a mean within each regime.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ..contact.contacts import Contacts
from ..robot.spec import RobotSpec
from ..robot.stops import LEANING, Stops

CONTACT_GAP = 0.01
"""Gap between a slot and the ground below which they may touch within a control step [m]."""

REST_SPEED, SLOW_SPEED = 0.01, 0.1
"""Speeds below which a robot in contact is at rest, and slow [m/s]. Friction holds what rests. A model that lets it
creep by a few centimetres a second, little beside the errors of impacts, is a metre off after half a minute."""

LEVER_ARM = 0.3
"""Distance from an axis at which an angular velocity counts as a speed [m]."""

STOP_BAND_SHARE = 0.25
"""Share of the band before a stop (see :data:`nerd_core.robot.stops.STOP_BAND`) in which a joint may meet the stop."""


class Regimes(nn.Module):
    """Tells regimes apart. Has no parameters."""

    count: int
    """Number of regimes."""
    _lever_arm: Tensor
    _radius: Tensor

    def __init__(self, spec: RobotSpec, contact_counts: tuple[int, ...] = (1, 2, 3)):
        """Looks for what the robot can meet.

        Args:
            spec: The robot.
            contact_counts: Numbers of touching slots from which on a new regime begins, rising.
        """
        super().__init__()
        self.spec = spec
        self._contact_counts = contact_counts if spec.slots else ()
        self._stops = Stops(spec)
        self.count = (3 if self._stops.joints else 1) * (1 + 3 * len(self._contact_counts))
        lever_arm = [1.0 if joint.kind == "prismatic" else LEVER_ARM for joint in spec.joints]
        self.register_buffer("_lever_arm", torch.tensor(lever_arm), persistent=False)
        self.register_buffer("_radius", torch.tensor([slot.radius for slot in spec.slots]), persistent=False)

    def forward(self, state: Tensor, contacts: Contacts | None) -> Tensor:
        """Number of the regime that each state is in.

        Args:
            state: States, shape (..., S).
            contacts: Contacts of the states with the same leading dimensions; None counts as touching nothing.

        Returns:
            Shape (...,), long, from 0 for free motion to :attr:`count` - 1.
        """
        at = self.spec.state
        regime = torch.zeros(state.shape[:-1], dtype=torch.long, device=state.device)
        if self._contact_counts and contacts is not None:
            near = contacts.active & (contacts.distance - self._radius < CONTACT_GAP)
            touching = near.sum(-1)
            for least in self._contact_counts:
                regime += 3 * (touching >= least)
            speed = self.speed(state)
            regime -= (regime > 0) * ((speed < SLOW_SPEED).long() + (speed < REST_SPEED).long())
        if self._stops.joints:
            now = state[..., at.joint_pos]
            after = now + self.spec.control_dt * state[..., at.joint_vel]
            at_stop = self._stops.near(now, LEANING)
            arriving = self._stops.near(now, STOP_BAND_SHARE) | self._stops.near(after, STOP_BAND_SHARE)
            regime = regime * 3 + torch.where(at_stop, 2, arriving.long())
        return regime

    def speed(self, state: Tensor) -> Tensor:
        """Largest speed of the root and the joints [m/s], shape (...,).

        Args:
            state: States, shape (..., S).
        """
        at = self.spec.state
        parts = [state[..., at.joint_vel] * self._lever_arm]
        if self.spec.floating_base:
            parts += [state[..., at.root_lin_vel], LEVER_ARM * state[..., at.root_ang_vel]]
        return torch.cat(parts, -1).abs().amax(-1)


__all__ = ["Regimes"]
