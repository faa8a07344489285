# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What the paper reports (NeRD, arXiv 2508.15755), to be drawn beside what was measured here."""

from __future__ import annotations

from typing import Any

SOURCE = "NeRD, arXiv 2508.15755"
"""The paper."""

PASSIVE: dict[str, dict[int, dict[str, float]]] = {
    "cartpole": {
        100: {"base_position_m": 0.0002, "joint_rad": 0.0004},
        500: {"base_position_m": 0.004, "joint_rad": 0.013},
        1000: {"base_position_m": 0.033, "joint_rad": 0.075},
    },
    "ant": {500: {"base_position_m": 0.057, "base_orientation_rad": 0.095, "joint_rad": 0.077}},
}
"""Figure 3: mean errors of 2048 passive motions over all steps up to a horizon, by model here and horizon."""
PASSIVE |= {f"{robot}-network": PASSIVE[robot] for robot in ("cartpole", "ant")}

TRANSFER: dict[str, dict[str, Any]] = {
    "NeRD-Cartpole": {"physics": 1212.5, "neural": 1212.6, "gap": 0.0001},
    "NeRD-Ant-Run": {"physics": 2541.5, "neural": 2649.5, "gap": 0.0425},
    "NeRD-Ant-Spin": {"physics": 2624.7, "neural": 3076.2, "gap": 0.1721},
    "NeRD-Ant-Spin-Track": {"physics": 1630.2, "neural": 1670.5, "gap": 0.0247},
}
"""Table 1: returns of policies trained in the learned model, in the solver and in the model, 3 seeds of 2048 episodes.
Their robots have other masses and efforts than those here, so gaps can be compared, returns only roughly."""
