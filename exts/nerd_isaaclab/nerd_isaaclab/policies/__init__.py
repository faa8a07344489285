# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Trained policies: their files, how they are loaded, trained, kept and played.

``policy`` is the network and its file, ``load`` finds a policy wherever it may stand, ``runs`` reads the log folders of
RSL-RL, ``training`` trains with RSL-RL, ``export`` keeps a run as small files, and ``play`` lets a policy play whole
episodes of a running environment::

    from nerd_isaaclab.policies.load import load_policy
    policy = load_policy("policies/NeRD-Cartpole")
    action = policy(observations)  # shape (..., O) to (..., A)
"""
