# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The prior of a robot in the air: it falls.

In the axes of its root a falling robot moves as if there were no gravity, whatever the velocity of the root is, and it
does not move at all while nothing drives it: joints and root do not turn, there is no effort, and no joint is beyond
its stop. A network that has to learn this is wrong by a little everywhere, and in a fall of a fifth of a second that
is enough to land on another foot. Behind this prior it sees neither the velocity of the root nor the direction of
gravity, and what it adds is proportional to what drives the robot.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, override

import torch
from torch import Tensor

from ..contact.contacts import Contacts
from ..robot.frames import ChangeCodec, into_frame, rotation_matrix
from ..robot.spec import RobotSpec
from .prior import Prior, PriorCfg, PriorTraits


@dataclass(frozen=True)
class FreeFallCfg(PriorCfg):
    """The fall of a floating robot under efforts that touches nothing."""

    kind: Literal["free_fall"] = "free_fall"
    """Names the prior in files."""

    @override
    def build(self, spec: RobotSpec, codec: ChangeCodec, contacts: bool) -> FreeFall:
        driven = [joint.name for joint in spec.joints if joint.stiffness]
        if not spec.floating_base or contacts or driven:
            raise ValueError(
                f"got '{spec.name}' with contacts={contacts}, floating_base={spec.floating_base}, springs at {driven} "
                "for a free fall, expected a floating robot under efforts that touches nothing (--token.no-contacts)"
            )
        if codec.cfg.integration != "trapezoid":
            raise ValueError(
                f"got changes with integration='{codec.cfg.integration}' for a falling robot, expected 'trapezoid': "
                "others depend on the velocity of the root, which the network does not see"
            )
        return FreeFall(codec)


class FreeFall(Prior):
    """The fall. Nothing in it is trained; one number is found in the data."""

    traits = PriorTraits(
        looks_ahead=False,
        scaled_by_drive=True,
        hidden_parts=("root_pos", "root_quat", "root_lin_vel", "gravity"),
    )
    integration_offset: Tensor
    """How much further the simulator falls in a control step than at the mean velocity, per gravity [s^2], shape ():
    semi-implicit Euler does so by half the product of control step and physics step. Found in the data."""
    _gravity: Tensor
    _sums: Tensor

    def __init__(self, codec: ChangeCodec):
        """Looks where things stand.

        Args:
            codec: Writes changes of state.
        """
        super().__init__()
        self.spec, self._codec = codec.spec, codec
        self.register_buffer("integration_offset", torch.zeros(()))
        self.register_buffer("_sums", torch.zeros(2, dtype=torch.float64), persistent=False)
        self.register_buffer("_gravity", torch.tensor(self.spec.gravity), persistent=False)

    @override
    def forward(self, state: Tensor, control: Tensor, contacts: Contacts | None = None) -> Tensor:
        gravity = self._gravity_in_root(state)
        change = state.new_zeros(*state.shape[:-1], self._codec.dim)
        change[..., self._codec.slices["root_lin_vel"]] = self.spec.control_dt * gravity
        change[..., self._codec.slices["root_pos"]] = self.integration_offset * gravity
        return change

    @override
    def update_statistics(self, state: Tensor, change: Tensor) -> None:
        gravity = self._gravity_in_root(state)
        along = (gravity * change[..., self._codec.slices["root_pos"]]).double().sum()
        self._sums += torch.stack((along, gravity.double().square().sum()))

    @override
    def finalise_statistics(self) -> None:
        self.integration_offset.copy_(self._sums[0] / self._sums[1].clamp(min=1.0e-12))

    def _gravity_in_root(self, state: Tensor) -> Tensor:
        """Gravity in the axes of the root [m/s^2], shape (..., 3)."""
        return into_frame(rotation_matrix(state[..., self.spec.state.root_quat]), self._gravity)


__all__ = ["FreeFall", "FreeFallCfg"]
