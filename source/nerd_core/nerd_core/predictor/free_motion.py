# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The prior that is a network of its own: how the robot moves when nothing touches it.

That is a smooth function, learned fast from robots in the air, and not trained any more. The network around it adds
only what contacts change (and stops, if this one was trained far from them).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, override

from torch import Tensor

from ..contact.contacts import Contacts
from ..network.architectures.residual import ResidualMlpCfg
from ..network.token_config import TokenCfg
from ..robot.frames import ChangeCodec
from ..robot.spec import RobotSpec
from .config import PredictorCfg
from .free_fall import FreeFallCfg
from .predictor import Predictor
from .prior import Prior, PriorCfg, PriorTraits


@dataclass(frozen=True)
class FreeMotionCfg(PriorCfg):
    """A network that was trained on the robot in the air."""

    network: ResidualMlpCfg
    """The network, without memory."""
    token: TokenCfg
    """What it sees; no contacts. One that sees no stops of joints either has been taught far from them: stops are then
    left to the network around it."""
    prior: FreeFallCfg | None = None
    """The fall, if that network was trained to add to it."""
    kind: Literal["free_motion"] = "free_motion"
    """Names the prior in files."""

    def __post_init__(self):
        if self.token.contacts or self.network.has_memory:
            raise ValueError(
                f"got a network of free motion with contacts={self.token.contacts} and window={self.network.window}, "
                "expected one that sees no contacts and has no memory (nerd train --token.no-contacts)"
            )

    @classmethod
    def of(cls, cfg: PredictorCfg) -> FreeMotionCfg:
        """A predictor's settings as those of a prior. Raises ValueError if it has more than a prior may have.

        Args:
            cfg: Settings of a predictor of the robot in the air.
        """
        network, prior, more = cfg.network, cfg.prior, cfg.ensemble > 1 or cfg.force_head or cfg.variance_head
        if more or not isinstance(network, ResidualMlpCfg) or not isinstance(prior, FreeFallCfg | None):
            raise ValueError(
                f"got {network} with the prior {prior}, {cfg.ensemble} members, force_head={cfg.force_head} and "
                f"variance_head={cfg.variance_head} for the free motion, expected a single residual one without heads"
            )
        return cls(network, cfg.token, prior)

    @override
    def build(self, spec: RobotSpec, codec: ChangeCodec, contacts: bool) -> FreeMotion:
        alone = PredictorCfg(network=self.network, prior=self.prior, token=self.token, change=codec.cfg)
        return FreeMotion(Predictor(spec, alone))


class FreeMotion(Prior):
    """A predictor of the robot in the air, which is not trained any more."""

    trainable = False

    def __init__(self, predictor: Predictor):
        """Freezes the predictor.

        Args:
            predictor: Predicts the robot that touches nothing.
        """
        super().__init__()
        self.predictor = predictor.requires_grad_(False)
        self.traits = PriorTraits(
            ignores_ground=True, leaves_stops=not predictor.cfg.token.limits, only_near_contact=True
        )

    @override
    def forward(self, state: Tensor, control: Tensor, contacts: Contacts | None = None) -> Tensor:
        flat = state.flatten(0, -2), control.flatten(0, -2)
        prediction, _ = self.predictor.extend(*flat)
        return self.predictor.change_normaliser.inverse(prediction.change).reshape(*state.shape[:-1], -1)


__all__ = ["FreeMotion", "FreeMotionCfg"]
