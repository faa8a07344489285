# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Networks, and what stands between them and a robot.

``architectures`` holds the networks, one a file, behind the interface of ``architectures.base``; ``config`` their
common settings and the table of kinds. ``tokens`` writes a control step as numbers in the robot's frame, those that
``token_config`` asks for; ``normalisation`` brings them to mean zero and deviation one, ``drive_scale`` to units of
what drives the robot, and ``symmetry`` with ``equivalent_views`` turns them into the canonical one of a symmetric
robot's views.

Example::

    from nerd_core.network.architectures.residual import ResidualMlpCfg
    from nerd_core.network.token_config import TokenCfg
    from nerd_core.network.tokens import Tokenizer

    tokenizer = Tokenizer(spec, TokenCfg(contact_motion=True))
    network = ResidualMlpCfg(width=96).build(tokenizer.dim, (28,))
    output = network(tokenizer(state, control, contacts).unsqueeze(1))  # windows of one step: (N, 1, dim) to (N, 1, 28)
"""
