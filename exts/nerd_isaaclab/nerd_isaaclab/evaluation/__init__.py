# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""How good a model and a policy are, measured against the solver.

``open_loop`` compares the motion of a model with fresh motion of the solver, ``score`` lets a policy play whole
episodes, and ``transfer`` compares the scores of a policy in the model and in the solver::

    from nerd_isaaclab.evaluation.open_loop import EvaluateCfg, evaluate
    result = evaluate(EvaluateCfg("cartpole", trajectories=64, steps=100, horizons=(100,)))
    print(result.horizons["100"]["joint_rad"])
"""
