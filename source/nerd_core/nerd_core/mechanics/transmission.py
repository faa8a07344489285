# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What a transmission makes of the efforts that are measured at its motors, and learned torques of the joints.

A motor's current says less than the torque on the joint: gears lose a share of what they carry, belts pass a share of
one joint's torque on to another, friction is larger at rest than in motion (Stribeck 1902). With ``u`` for the efforts
that are given, ``v`` for joint velocities and ``s = tanh(v / v0)`` for the direction of motion, a joint feels::

    (1 + gain) u + coupling u + bias - s (load |u| + stribeck exp(-|v| / v1)) - drag v |v| + network(q, v, u)

All of it is zero at the beginning, so that mechanics with a new transmission are mechanics without. Constant dry and
viscous friction are left to the specification's joints.

Example::

    mechanics = TransmissionMechanics(spec, ChangeCodec(spec), TransmissionCfg(torque_hidden=16))
"""

from __future__ import annotations

from typing import override

import torch
from torch import Tensor, nn

from ..robot.frames import ChangeCodec
from ..robot.spec import RobotSpec
from .augmentation.augmented_step import AugmentedMechanics
from .augmentation.readings import Readings
from .config import MechanicsCfg

REST_SPEED = 0.1
"""Speed around which the direction of motion changes over [rad/s or m/s]."""

STRIBECK_SPEED = 1.0
"""Speed over which more friction at rest fades [rad/s or m/s]."""

DRAG_UNIT = 0.005
"""Unit of the drag [effort per squared speed]: what grows with the square of the speed is looked for in small steps."""

NETWORK_SPEEDS = (0.2, 5.0)
"""Speeds at which what the network sees of velocities begins to saturate [rad/s or m/s]."""


class Transmission(nn.Module):
    """Efforts on the joints from what is given, per joint, in the order of the specification. All parts are zero at
    first.
    """

    _off_diagonal: Tensor

    def __init__(self, spec: RobotSpec, hidden: int):
        """Makes the weights.

        Args:
            spec: The robot.
            hidden: Features of the two hidden layers of the network of torques; 0 for none.
        """
        super().__init__()
        count = len(spec.joints)
        self.gain = nn.Parameter(torch.zeros(count))
        self.coupling = nn.Parameter(torch.zeros(count, count))
        self.bias = nn.Parameter(torch.zeros(count))
        self.load = nn.Parameter(torch.zeros(count))
        self.stribeck = nn.Parameter(torch.zeros(count))
        self.drag = nn.Parameter(torch.zeros(count))
        self.register_buffer("_off_diagonal", 1.0 - torch.eye(count), persistent=False)
        self.network: nn.Sequential | None = None
        if hidden:
            inner, last = nn.Linear((3 + len(NETWORK_SPEEDS)) * count, hidden), nn.Linear(hidden, count)
            nn.init.zeros_(last.weight)
            nn.init.zeros_(last.bias)
            self.network = nn.Sequential(inner, nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh(), last)

    def forward(self, pos: Tensor, vel: Tensor, effort: Tensor) -> Tensor:
        """Efforts on the joints, shape (M, J).

        Args:
            pos: Joint positions [rad or m], shape (M, J).
            vel: Joint velocities [rad/s or m/s], shape (M, J).
            effort: Efforts that are given [N m or N], shape (M, J).
        """
        direction = torch.tanh(vel / REST_SPEED)
        size = (effort.square() + 1.0e-6).sqrt()
        friction = self.load * size + self.stribeck * torch.exp(-vel.abs() / STRIBECK_SPEED)
        found = effort * (1.0 + self.gain) + effort @ (self.coupling * self._off_diagonal).t() + self.bias
        found = found - direction * friction - DRAG_UNIT * self.drag * vel * vel.abs()
        if self.network is None:
            return found
        speeds = [torch.tanh(vel / speed) for speed in NETWORK_SPEEDS]
        return found + self.network(torch.cat((pos.sin(), pos.cos(), *speeds, torch.tanh(effort)), dim=-1))


class TransmissionMechanics(AugmentedMechanics):
    """Mechanics whose joints feel what a transmission makes of their efforts."""

    def __init__(self, spec: RobotSpec, codec: ChangeCodec, cfg: MechanicsCfg, hidden: int, has_contacts: bool = True):
        """Puts the transmission before the mechanics.

        Args:
            spec: The robot, with the inertias of its bodies.
            codec: Writes changes of state.
            cfg: Settings of mechanics.
            hidden: Features of the network of torques; 0 for none.
            has_contacts: Whether the robot may touch the ground.
        """
        super().__init__(spec, codec, cfg, has_contacts)
        self.transmission = Transmission(spec, hidden)

    @override
    def _augment(self, readings: Readings) -> None:
        pos, vel, given = (readings[name].squeeze(-1) for name in ("joint_pos", "joint_vel", "effort_target"))
        lost = self.transmission(pos, vel, given) - given
        readings["joint_torque"] = readings["joint_torque"] + lost.unsqueeze(-1)
        super()._augment(readings)


__all__ = ["Transmission", "TransmissionMechanics"]
