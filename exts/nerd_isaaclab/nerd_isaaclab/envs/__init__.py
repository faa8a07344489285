# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Environments whose physics step can be taken over by a learned model.

``nerd_env`` has the environment, ``nerd_env_cfg`` the choice of the dynamics, which every task of this package holds as
``cfg.nerd``, and ``unsupported_terms`` finds the terms of a task that a model cannot serve::

    env = gymnasium.make("NeRD-Cartpole", cfg=cfg).unwrapped  # a NerdEnv of nerd_isaaclab.envs.nerd_env
    env.load_nerd_checkpoint("cartpole")
    env.set_nerd_mode("neural")
"""
