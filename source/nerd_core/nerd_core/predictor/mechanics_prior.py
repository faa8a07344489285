# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The prior that is mechanics: rigid bodies by their masses, contacts and stops by rules that are learned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, override

from torch import Tensor

from ..contact.contacts import Contacts
from ..mechanics.augmentation.augmented_step import AugmentedMechanics, make_mechanics
from ..mechanics.config import MechanicsCfg
from ..mechanics.forces import BodyForces
from ..mechanics.step import Mechanics
from ..robot.frames import ChangeCodec
from ..robot.physical_parameters import PhysicalParameters
from ..robot.spec import RobotSpec
from .prior import Prior, PriorCfg, PriorTraits


@dataclass(frozen=True)
class MechanicsPriorCfg(MechanicsCfg, PriorCfg):
    """Settings of mechanics as a prior."""

    kind: Literal["mechanics"] = "mechanics"
    """Names the prior in files."""

    @override
    def build(self, spec: RobotSpec, codec: ChangeCodec, contacts: bool) -> MechanicsPrior:
        return MechanicsPrior(make_mechanics(spec, codec, self, contacts))


class MechanicsPrior(Prior):
    """A control step by mechanics. A network behind it says what they miss, in units of what they usually miss."""

    traits = PriorTraits(only_near_contact=True, scaled_by_error=True, takes_parameters=True, gives_forces=True)
    exportable = False

    def __init__(self, mechanics: Mechanics):
        """Keeps the mechanics.

        Args:
            mechanics: The mechanics of the robot.
        """
        super().__init__()
        self.mechanics = mechanics

    @override
    def forward(
        self,
        state: Tensor,
        control: Tensor,
        contacts: Contacts | None = None,
        parameters: PhysicalParameters | None = None,
    ) -> Tensor:
        return self.mechanics(state, control, contacts, parameters)

    @override
    def with_forces(
        self,
        state: Tensor,
        control: Tensor,
        contacts: Contacts | None = None,
        parameters: PhysicalParameters | None = None,
        joints: bool = True,
    ) -> tuple[Tensor, BodyForces]:
        return self.mechanics.with_forces(state, control, contacts, parameters, joints)

    @override
    def update_input_statistics(self, state: Tensor, control: Tensor, contacts: Contacts | None) -> None:
        if isinstance(self.mechanics, AugmentedMechanics):
            self.mechanics.update_statistics(state, control, contacts)

    @override
    def finalise_statistics(self) -> None:
        if isinstance(self.mechanics, AugmentedMechanics):
            self.mechanics.finalise_statistics()

    @override
    def penalty(self) -> Tensor | float:
        return self.mechanics.augmentation.penalty() if isinstance(self.mechanics, AugmentedMechanics) else 0.0


__all__ = ["MechanicsPrior", "MechanicsPriorCfg"]
