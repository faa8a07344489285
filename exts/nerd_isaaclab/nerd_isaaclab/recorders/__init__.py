# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What records a running environment: states, controls and contacts, and how they are cut into trajectories.

``transition_recorder`` is a recorder term of Isaac Lab, for any task with all its managers; ``contact_probe`` reads the
contacts of the solver; ``transitions`` turns control steps into trajectories of a dataset::

    from nerd_isaaclab.recorders.transition_recorder import TransitionRecordersCfg
    env_cfg.recorders = TransitionRecordersCfg()
    env_cfg.recorders.transitions.out = "data/my-task"
"""
