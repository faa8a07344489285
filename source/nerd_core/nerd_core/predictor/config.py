# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What a predictor is made of."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..files.bounds import bounded, check_bounds
from ..network.architectures.transformer import TransformerCfg
from ..network.config import NetworkCfg
from ..network.token_config import TokenCfg
from ..robot.frames import ChangeCfg
from .prior import PriorCfg


@dataclass(frozen=True)
class PredictorCfg:
    """What a predictor is made of: a prior, a network that adds the rest, or both."""

    network: NetworkCfg | None = field(default_factory=TransformerCfg)
    """The network; None to leave everything to the prior."""
    prior: PriorCfg | None = None
    """What predicts the change of state without the network; None to leave everything to the network."""
    token: TokenCfg = field(default_factory=TokenCfg)
    """What the network sees. Its ``contacts`` also say whether a prior is given contacts."""
    change: ChangeCfg = field(default_factory=ChangeCfg)
    """How the change of state is written."""
    within_data: bool = False
    """Whether what the network sees, the change of a step and the next state stay near the ranges of the training data
    and within the robot's guard (see :mod:`nerd_core.predictor.motion_bounds`). A network that was never told what lies
    outside then cannot run away there."""
    outliers: float = bounded(0.0, at_least=0.0, below=0.5)
    """Share of the training data at either end of each number that sets no bounds of motion. A solver now and then
    throws a robot, as at stops that two feet press it against; bounds of such throws hold nothing back. Without
    ``within_data`` it says nothing."""
    ensemble: int = bounded(1, at_least=1)
    """Number of networks, evaluated as one; their mean is the prediction, their spread says what was never seen."""
    force_head: bool = False
    """Whether to predict the contact force on each body, for sensors in neural mode."""
    variance_head: bool = False
    """Whether to predict how far off the change of state may be."""

    def __post_init__(self):
        check_bounds(self)
        if self.network is None:
            more = [name for name in ("force_head", "variance_head") if getattr(self, name)]
            more += ["ensemble"] if self.ensemble > 1 else []
            more += ["token.symmetric"] if self.token.symmetric else []
            if self.prior is None:
                raise ValueError("got neither a network nor a prior, expected one of them, for instance mechanics")
            if more:
                options = " ".join(f"--{name.replace('_', '-')}" for name in more)
                raise ValueError(
                    f"got {options} without a network, expected a network, which alone has them: leave {options} out, "
                    "or put a network behind the prior (nerd train --network residual --prior mechanics)"
                )


__all__ = ["PredictorCfg"]
