# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The prior that is mechanics: rigid bodies by their masses, contacts and stops by rules that are learned."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, override

import torch
from torch import Tensor

from ..contact.contacts import Contacts
from ..mechanics.altered import altered
from ..mechanics.augmentation.augmented_step import make_mechanics
from ..mechanics.config import MechanicsCfg
from ..mechanics.forces import BodyForces
from ..mechanics.step import Mechanics
from ..robot.frames import ChangeCodec
from ..robot.physical_parameters import PhysicalParameters
from ..robot.spec import RobotSpec
from .prior import Prior, PriorCfg, PriorTraits

if TYPE_CHECKING:
    from .predictor import Predictor


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
    is_unrolled = True

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
        memory: Tensor | None = None,
    ) -> tuple[Tensor, BodyForces]:
        return self.mechanics.with_forces(state, control, contacts, parameters, joints, memory)

    @override
    def new_memory(self, batch: int, device: torch.device | str | None = None) -> Tensor | None:
        if not self.mechanics.has_memory:
            return None
        like = self.mechanics.gravity
        return self.mechanics.new_memory(batch, like if device is None else like.to(device))

    @override
    def remembering(
        self,
        state: Tensor,
        control: Tensor,
        contacts: Contacts | None,
        memory: Tensor,
        parameters: PhysicalParameters | None = None,
    ) -> Tensor:
        return self.mechanics.remembering(state, control, contacts, memory, parameters)

    @override
    def with_memory(
        self,
        state: Tensor,
        control: Tensor,
        contacts: Contacts | None,
        memory: Tensor,
        parameters: PhysicalParameters | None = None,
    ) -> tuple[Tensor, Tensor]:
        return self.mechanics.with_memory(state, control, contacts, memory, parameters)

    @override
    def update_input_statistics(self, state: Tensor, control: Tensor, contacts: Contacts | None) -> None:
        self.mechanics.update_statistics(state, control, contacts)

    @override
    def finalise_statistics(self) -> None:
        self.mechanics.finalise_statistics()

    @override
    def export_obstacle(self) -> str:
        asked = self.mechanics.actuators.remembering
        if not asked:
            return ""
        return (
            f"the actuators of {asked[:4]}, whose efforts objects of a running task give (delays, networks): export a "
            "model of efforts, and let the program that uses it make them"
        )

    @override
    def penalty(self) -> Tensor | float:
        return self.mechanics.penalty()


def smoothed(predictor: Predictor, smoothing_time: float) -> Predictor:
    """The same model with smooth contacts, for optimisation over long motions. Weights are shared.

    Args:
        predictor: A model with mechanics.
        smoothing_time: Time in which contacts and stops close gaps at least [s], see
            :attr:`~nerd_core.mechanics.config.MechanicsCfg.smoothing_time`; some .02 for an Ant.
    """
    if not isinstance(predictor.prior, MechanicsPrior):
        raise ValueError(
            f"got a model of '{predictor.spec.name}' without mechanics, expected one whose contacts it knows"
        )
    if not (math.isfinite(smoothing_time) and smoothing_time >= 0.0):
        raise ValueError(f"got a smoothing time of {smoothing_time} s, expected a finite number >= 0")
    mechanics = predictor.prior.mechanics.smoothed(smoothing_time)
    return altered(predictor, {}, {"prior": altered(predictor.prior, {}, {"mechanics": mechanics})})


__all__ = ["MechanicsPrior", "MechanicsPriorCfg", "smoothed"]
