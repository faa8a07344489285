# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The prior of a real robot: mechanics behind a transmission whose losses and torques are learned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, override

from ..files.bounds import bounded, check_bounds
from ..mechanics.config import MechanicsCfg
from ..mechanics.transmission import TransmissionMechanics
from ..robot.frames import ChangeCodec
from ..robot.spec import RobotSpec
from .mechanics_prior import MechanicsPrior
from .prior import PriorCfg, PriorTraits


@dataclass(frozen=True)
class TransmissionCfg(MechanicsCfg, PriorCfg):
    """Settings of mechanics behind a transmission."""

    kind: Literal["transmission"] = "transmission"
    """Names the prior in files."""
    torque_hidden: int = bounded(0, at_least=0, at_most=1024)
    """Features of the two hidden layers of a network of joint torques; 0 for none."""

    def __post_init__(self):
        super().__post_init__()
        check_bounds(self)

    @override
    def build(self, spec: RobotSpec, codec: ChangeCodec, contacts: bool) -> TransmissionPrior:
        return TransmissionPrior(TransmissionMechanics(spec, codec, self, self.torque_hidden, contacts))


class TransmissionPrior(MechanicsPrior):
    """A control step by mechanics behind a transmission. A network behind it may add something at any time: what it
    leaves is not only due to contacts and stops.
    """

    traits = PriorTraits(scaled_by_error=True, takes_parameters=True, gives_forces=True)


__all__ = ["TransmissionCfg", "TransmissionPrior"]
