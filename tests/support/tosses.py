# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""A simulated cube that is tossed on level ground, with constants that are known."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from nerd_core.contact.grounds import PlaneGround
from nerd_core.data.dataset import TrajectoryDataset
from nerd_core.mechanics.compliant_solver import Compliance
from nerd_core.predictor.calibrated_mechanics import CalibratedMechanics, CalibratedMechanicsCfg, Calibration
from nerd_core.predictor.config import PredictorCfg
from nerd_core.predictor.predictor import Predictor
from nerd_core.recordings.mechanisms import tossed_box
from nerd_core.robot.spec import RobotSpec
from nerd_core.training.metrics import predict

HALF = 0.05
"""Half the edge of the cube [m]."""

CUBE: RobotSpec = tossed_box("cube", 148.0, 0.37, (8.1e-4, 8.1e-4, 8.1e-4), (HALF, HALF, HALF), 9.81)
"""The cube."""

LEVEL = PlaneGround.flat(0.0)
"""The ground."""


def cube_model(**constants: float) -> Predictor:
    """A calibrated cube without rules, with constants by the names of ``Compliance`` and ``Calibration``.

    Args:
        constants: Some of them, in lower case, in their units.
    """
    predictor = Predictor(CUBE, PredictorCfg(network=None, prior=CalibratedMechanicsCfg(hidden=0, reach=0.05)))
    set_constants(predictor, **constants)
    return predictor


@torch.no_grad()
def set_constants(predictor: Predictor, **constants: float) -> None:
    """Sets constants, see :func:`cube_model`."""
    prior = prior_of(predictor)
    for name, value in constants.items():
        if name.upper() in Compliance.__members__:
            prior.mechanics.solver.constants[Compliance[name.upper()]] = math.log(value)
        else:
            number = Calibration[name.upper()]
            prior.learned[number] = value / number.size


def prior_of(predictor: Predictor) -> CalibratedMechanics:
    """The calibrated mechanics of a predictor."""
    assert isinstance(predictor.prior, CalibratedMechanics)
    return predictor.prior


def first_states(count: int, seed: int, height: float = 0.12) -> Tensor:
    """States of a cube that is tossed, turned at random, shape (count, 13)."""
    generator = torch.Generator().manual_seed(seed)

    def uniform(low: float, high: float, columns: int) -> Tensor:
        return low + (high - low) * torch.rand(count, columns, generator=generator)

    place = torch.cat((uniform(-0.1, 0.1, 2), uniform(height, height + 0.05, 1)), 1)
    turn = torch.nn.functional.normalize(torch.randn(count, 4, generator=generator), dim=-1)
    return torch.cat((place, turn, uniform(-0.6, 0.6, 2), uniform(-0.5, 0.2, 1), uniform(-5.0, 5.0, 3)), 1)


def tossed(predictor: Predictor, count: int, steps: int, seed: int) -> TrajectoryDataset:
    """Tosses as a model moves them.

    Args:
        predictor: The model.
        count: Number of tosses.
        steps: Control steps of each.
        seed: Seed of the first states.
    """
    state = first_states(count, seed)
    none = torch.zeros(count, steps, 0)
    states = predict(predictor, state, none, LEVEL)
    ground = torch.tensor([0.0, 0.0, 1.0, 0.0]).expand(count, 4)
    return TrajectoryDataset.from_tensors(CUBE, states, none, ground=ground)
