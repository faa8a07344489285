# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""``nerd refine``: rounds of a policy that learns in a model, PhysX's motion under that policy, and a better model.

:mod:`.config` says what can be asked for, :mod:`.rounds` is the phases of a round, each one command of the project,
:mod:`.stopping` judges the measured gaps, and :mod:`.run` goes on until they are closed::

    from nerd_isaaclab.refine.config import RefineCfg
    from nerd_isaaclab.refine.run import refine

    refined = refine(RefineCfg("NeRD-Cartpole", model="runs/cartpole/best"), out="runs/refined", command="by hand")
    print(refined.reason, refined.model, refined.policy)
"""
