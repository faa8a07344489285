# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""A robot that stands in PhysX stands in mechanics: in neural mode and in mixed mode, and only with a memory of where
its feet were put down.
"""

from __future__ import annotations

from typing import Any

import torch

from nerd_core.predictor.config import PredictorCfg
from nerd_core.predictor.mechanics_prior import MechanicsPriorCfg
from nerd_core.predictor.predictor import Predictor
from support.seam import make_env, use_predictor

ENVS, STEPS = 8, 150


def _standing(cfg: Any) -> None:
    """Lets episodes go on, and nobody pushes."""
    cfg.events.push_robot = None
    for name in list(vars(cfg.terminations)):
        setattr(cfg.terminations, name, None)


def _heights(env: Any) -> torch.Tensor:
    """Heights of the bases after standing under default targets for a while from a seeded reset [m], shape (N,)."""
    env.reset(seed=0)
    for _ in range(STEPS):
        env.step(torch.zeros(ENVS, env.action_manager.total_action_dim))
    return env.robot.data.root_link_pose_w.torch[:, 2].clone()


def _use_mechanics(env: Any, remembers: bool) -> None:
    """Lets mechanics of which nothing is learned step all environments, with a memory of friction or without."""
    prior = MechanicsPriorCfg(hidden=0, friction_memory=remembers)
    use_predictor(env, Predictor(env.robot_spec, PredictorCfg(network=None, prior=prior)).eval())


def test_an_anymal_that_stands_does_not_sag():
    """After three seconds an ANYmal C whose drives hold it has PhysX's height to two millimetres, untrained, in neural
    mode and where half of the environments are PhysX's; without memory it is two centimetres lower.
    """
    env = make_env("NeRD-Velocity-AnymalC", ENVS, change=_standing)
    try:
        truth = _heights(env)
        _use_mechanics(env, remembers=True)
        neural = _heights(env)
        env.set_nerd_mode("mixed", torch.arange(ENVS) < ENVS // 2)
        mixed = _heights(env)
        _use_mechanics(env, remembers=False)
        forgetful = _heights(env)
        assert float((neural - truth).abs().mean()) < 2.0e-3
        assert float((mixed - truth).abs().mean()) < 2.0e-3
        assert float((truth - forgetful).mean()) > 0.02
    finally:
        env.close()
