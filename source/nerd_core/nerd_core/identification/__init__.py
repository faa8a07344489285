# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Identification from trajectories: which robot moves like that?

``parameterisation`` makes physical parameters out of free numbers, ``cost`` compares roll-outs with motion and gives
gradients, ``drivers`` searches (L-BFGS or Adam with windows that grow, basin hopping over processes),
``identifiability`` says what the data tell and what not, ``replay`` judges on held-out motion, ``run`` does all of it,
and ``report`` says what was found.

Example::

    import torch

    from nerd_core.identification.cost import RolloutCost, Windows
    from nerd_core.identification.drivers import DescentCfg, descend
    from nerd_core.identification.parameterisation import Parameterisation
    from nerd_core.predictor.config import PredictorCfg
    from nerd_core.predictor.mechanics_prior import MechanicsPriorCfg
    from nerd_core.predictor.predictor import Predictor
    from nerd_core.recordings.mechanisms import double_pendulum
    from nerd_core.identification.motion_data import completed

    arm = completed(double_pendulum("arm", 100.0, (0.3, 0.3), (1.0, 1.0), (0.2, 0.2), (0.05, 0.05)))
    predictor = Predictor(arm, PredictorCfg(network=None, prior=MechanicsPriorCfg(hidden=0)))
    windows = Windows(0.1 * torch.randn(4, 11, 4), torch.zeros(4, 10, 2))
    cost = RolloutCost(predictor, Parameterisation(arm, ["masses"]), windows)
    value = descend(cost, DescentCfg(iterations=2))
"""
