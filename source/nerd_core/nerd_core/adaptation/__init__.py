# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Adaptation while a robot runs: what of it has changed, seen from the last seconds of its motion?

``directions`` are a few numbers that stand for a payload, the friction of feet and the strength of motors,
``follower`` estimates them for each environment with an extended Kalman filter at the control rate, ``trial`` says on
recorded motion what that is worth, ``report`` writes and draws it.

Example::

    import torch

    from nerd_core.adaptation.config import AdaptCfg
    from nerd_core.adaptation.follower import Follower
    from nerd_core.identification.motion_data import completed
    from nerd_core.predictor.config import PredictorCfg
    from nerd_core.predictor.mechanics_prior import MechanicsPriorCfg
    from nerd_core.predictor.predictor import Predictor
    from nerd_core.recordings.mechanisms import double_pendulum

    arm = completed(double_pendulum("arm", 100.0, (0.3, 0.3), (1.0, 1.0), (0.2, 0.2), (0.05, 0.05)))
    predictor = Predictor(arm, PredictorCfg(network=None, prior=MechanicsPriorCfg(hidden=0)))
    follower = Follower(predictor, AdaptCfg(("payload",), every=1), num_envs=8)
    state = torch.randn(8, 4)
    follower.look(state, torch.zeros(8, 2), state)
    parameters, control = follower.parameters(torch.zeros(8, 2))
"""
