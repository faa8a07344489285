# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""PPO for the DFKI's double pendulum."""

from isaaclab.utils import configclass

from ..ppo_cfg import SwingUpPPORunnerCfg


@configclass
class DfkiPendulumPPORunnerCfg(SwingUpPPORunnerCfg):
    """As the family, for longer: a swing-up by one of two motors takes a second, and a reflex to stay."""

    max_iterations = 400
