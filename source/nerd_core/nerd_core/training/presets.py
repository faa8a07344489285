# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Models by name, each with settings of the training that suit it: what ``nerd train --preset`` offers.

Example::

    chosen = PRESETS["mechanics"]
    train(Predictor(data.spec, chosen.predictor), data, None, replace(chosen.training, minutes=8.0))
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from ..network.architectures.mlp import MlpCfg
from ..network.architectures.recurrent import RecurrentCfg
from ..network.architectures.residual import ResidualMlpCfg
from ..network.architectures.transformer import transformer_cfg
from ..network.token_config import TokenCfg
from ..predictor.calibrated_mechanics import CalibratedMechanicsCfg
from ..predictor.config import PredictorCfg
from ..predictor.mechanics_prior import MechanicsPriorCfg
from .config import RolloutCfg, TrainCfg
from .optimiser import OptimiserCfg

DEFAULT_MINUTES = 5.0
"""Budget of a run for which none was given [min]."""

PresetName = Literal[
    "residual",
    "bounded",
    "bounded-mlp",
    "tiny",
    "small",
    "paper-192",
    "paper-384",
    "mlp",
    "gru",
    "lstm",
    "mechanics",
    "measured",
]

SEES_STOPS, AS_PUBLISHED = TokenCfg(limits=True), TokenCfg(limits=False)
"""What networks see. Those that repeat or vary the published models see what these see: no stops of joints."""

SINGLE_STEPS = TrainCfg(minutes=DEFAULT_MINUTES)
"""Training of a network without memory."""

SEES_TOUCHING = TokenCfg(limits=True, contact_motion=True)
"""What networks see that serve robots which nobody has looked at."""

# With equal weights for all regimes a robot that hardly knows most of them learns its usual motion last. Roll-outs
# through its own predictions teach a network to come back: for ANYmal C nothing does as much for hundreds of steps.
STEADY = TrainCfg(
    minutes=DEFAULT_MINUTES,
    regime_power=1.0,
    normaliser_transitions=200_000,
    rollout=RolloutCfg(weight=0.5, start=0.3, steps=8, ramp=0.4, batch_size=256),
)
"""Training of a network without memory for a robot that nobody has looked at."""

# Windows of three times the network's own: most tokens then see a full one.
WINDOWS = TrainCfg(minutes=DEFAULT_MINUTES, window_length=30, batch_size=256, optimiser=OptimiserCfg(lr=3.0e-3))
"""Training of a network with memory."""

# A few thousand weights, which all regimes and speeds teach the same.
# Their roll-outs are slow, and cannot run away as those of a network do: they end where the recorded ones do.
RULES = TrainCfg(
    minutes=DEFAULT_MINUTES,
    batch_size=1024,
    regime_power=1.0,
    speed_weighting=0.3,
    normaliser_transitions=100_000,
    validation_steps=0,
)
"""Training of mechanics whose rules of contacts and stops are learned."""


# A dozen numbers, and long roll-outs: no velocity is believed, and no step is judged by itself.
MEASURED = TrainCfg(
    minutes=DEFAULT_MINUTES,
    batch_size=256,
    optimiser=OptimiserCfg(kind="adamw", lr=4.0e-2, final_lr=0.02, betas=(0.9, 0.98), eps=1.0e-8),
    rollout=RolloutCfg(weight=1.0, start=0.0, ramp=0.6, first_steps=15, steps=50, batch_size=192, errors="pose"),
    max_grad_norm=1.0,
    normaliser_transitions=100_000,
    validations=8,
    validation_horizons=(20, 80),
    validation_windows=400,
    validation_steps=0,
)
"""Training of mechanics on what was measured of tossed or passive bodies."""


@dataclass(frozen=True)
class Preset:
    """A model, and how to train it."""

    predictor: PredictorCfg
    """The model."""
    training: TrainCfg = field(default_factory=lambda: SINGLE_STEPS)
    """The training."""


PRESETS: dict[PresetName, Preset] = {
    "residual": Preset(PredictorCfg(network=ResidualMlpCfg(), token=SEES_STOPS)),
    "bounded": Preset(PredictorCfg(network=ResidualMlpCfg(), token=SEES_TOUCHING, within_data=True), STEADY),
    "bounded-mlp": Preset(PredictorCfg(network=MlpCfg(), token=SEES_TOUCHING, within_data=True), STEADY),
    "tiny": Preset(PredictorCfg(network=transformer_cfg("tiny"), token=SEES_STOPS), WINDOWS),
    "small": Preset(PredictorCfg(network=transformer_cfg("small"), token=SEES_STOPS), WINDOWS),
    "paper-192": Preset(PredictorCfg(network=transformer_cfg("paper-192"), token=AS_PUBLISHED), WINDOWS),
    "paper-384": Preset(PredictorCfg(network=transformer_cfg("paper-384"), token=AS_PUBLISHED), WINDOWS),
    "mlp": Preset(PredictorCfg(network=MlpCfg(), token=AS_PUBLISHED)),
    "gru": Preset(PredictorCfg(network=RecurrentCfg(cell="gru"), token=AS_PUBLISHED), WINDOWS),
    "lstm": Preset(PredictorCfg(network=RecurrentCfg(cell="lstm"), token=AS_PUBLISHED), WINDOWS),
    "mechanics": Preset(PredictorCfg(network=None, prior=MechanicsPriorCfg()), RULES),
    "measured": Preset(PredictorCfg(network=None, prior=CalibratedMechanicsCfg(hidden=0, reach=0.05)), MEASURED),
}
"""The presets by name."""

__all__ = ["DEFAULT_MINUTES", "PRESETS", "Preset", "PresetName"]
