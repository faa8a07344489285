# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Models of a task's robot that need no data: mechanics as it is before any training.

:mod:`.untrained` makes and saves them; what needs an engine, to read the robot's specification, runs in :mod:`.worker`.

.. code-block:: python

    from nerd_isaaclab.models.untrained import InitModelCfg, init_model

    path = init_model(InitModelCfg("NeRD-Cartpole"), "models/cartpole-mechanics")
"""
