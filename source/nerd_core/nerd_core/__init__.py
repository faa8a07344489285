# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Learned robot dynamics, free of any simulator.

Rooms, lower to higher; each may import those before it. ``files``: reading and writing without trust in what is read.
``robot``: the specification of a robot, frames, kinematics. ``contact``: grounds, and which points of a robot are near
them. Side by side ``mechanics`` (rigid bodies, contacts and stops by learned rules), ``network`` (tokens and networks)
and ``data`` (recorded trajectories). ``predictor``: a prior and what a network adds, all that a checkpoint holds.
``dynamics``: stepping a predictor for many environments, and the differentiable roll-out. ``checkpoint`` and
``export``: to disk and back. ``training``: fitting a predictor, and judging it in metres and radians. ``cli``: the
command ``nerd``.

Example::

    from nerd_core import checkpoint
    from nerd_core.dynamics import NeuralDynamics, rollout

    checkpoint.save(folder / "model", predictor)
    predictor = checkpoint.load(folder / "model")
    motion = rollout(predictor, state, controls, ground)  # (N, S), (N, T, C) to (N, T + 1, S), differentiable
    dynamics = NeuralDynamics(predictor, num_envs=8, ground=ground)  # or step by step, with a guard
    next_state = dynamics.step(state, control)
"""

__version__ = "0.1.0"
