# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Collecting datasets: what moves the robots, from which first states, and the processes that record the solver.

``run`` is the function to call; it starts ``worker`` processes. ``collector`` writes batches to a shard: with
``lean_rollouts`` the robot alone is stepped, under the signals of ``excitation`` and from ``initial_states``; with
``managed_rollouts`` the task runs with all its managers. docs/collecting.md says what the choices mean::

    from nerd_isaaclab.collect.collect_cfg import CollectCfg
    from nerd_isaaclab.collect.run import collect
    result = collect(CollectCfg("NeRD-Cartpole", seed=1), out="data/cartpole", transitions=200_000)
"""
