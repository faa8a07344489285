# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""``nerd train --augment``: networks in mechanics, from their texts to the settings of a prior."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..mechanics.augmentation.blueprints import Blueprint
from ..mechanics.config import MechanicsCfg
from ..predictor.config import PredictorCfg
from ..predictor.prior import PriorCfg
from ..training.config import TrainingError


def augmented(cfg: PredictorCfg, texts: Sequence[str]) -> PredictorCfg:
    """Settings of a model with blueprints among those of its mechanics.

    Args:
        cfg: Settings of the model.
        texts: Blueprints as text.
    """
    if not texts:
        return cfg
    prior, blueprints = cfg.prior, tuple(map(Blueprint.parse, texts))
    if not isinstance(prior, PriorCfg) or not isinstance(prior, MechanicsCfg) or prior.blueprints:
        got = "no prior" if prior is None else f"the prior '{prior.kind}'"
        got += " with blueprints" if isinstance(prior, MechanicsCfg) else ""
        raise TrainingError(
            f"got --augment and {got}, expected mechanics without other blueprints: --preset mechanics, or --prior "
            "mechanics"
        )
    return replace(cfg, prior=replace(prior, blueprints=blueprints))


__all__ = ["augmented"]
