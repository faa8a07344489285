# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Results of the phases of a tiny demo and of a transfer, as if they had been run."""

from __future__ import annotations

import math
from typing import Any

from nerd_isaaclab.demo import recipes, steps
from nerd_isaaclab.demo.recipe import smoke


def phase_results() -> dict[str, Any]:
    """Results of the phases of the tiny Cartpole recipe."""
    recipe = smoke(recipes.DEMO["cartpole"])
    policy = recipe.policies[0]
    curves = {"joint_m": [0.01 * (i + 1) for i in range(500)], "joint_rad": [0.02] * 499 + [math.inf]}
    return {
        "collect": {"report": {"transitions": 12_800}, "commands": ["nerd generate --task T"], "seconds": 1.0},
        "train": {"results": {"validation": {"minutes": 3.25}}, "commands": [], "seconds": 2.0},
        steps.evaluation_name(recipe.evaluations[0]): {
            "protocol": "passive",
            "initial": "task",
            "task": "NeRD-Cartpole",
            "trajectories": 16,
            "diverged": 1,
            "horizons": {
                "100": {"base_position_m": 0.505, "base_orientation_rad": None, "joint_rad": 0.02},
                "500": {"base_position_m": 2.5, "base_orientation_rad": None, "joint_rad": math.inf},
            },
            "curves": curves,
            "seconds": 3.0,
        },
        steps.policy_name(policy, 0, "neural"): {
            "curve": {"iteration": [0.0, 1.0], "seconds": [0.0, 6.0], "length": [9.0, 9.0], "return": [1.0, 2.0]},
            "seconds": 4.0,
        },
        steps.transfer_name(policy, 0): {
            "episodes": 16,
            "reward_gap": 0.0123,
            "modes": {"neural": score(101.23), "physx": score(100.0)},
            "seconds": 5.0,
        },
    }


def score(mean: float) -> dict[str, Any]:
    """The mode of a transfer, with a given return."""
    return {
        "scores": {"return": {"unit": "1", "mean": mean, "std": 2.0}, "length": {"unit": "steps", "mean": 9, "std": 0}},
        "terms": {"alive": {"mean": mean, "std": 1.0}},
        "commands": {},
        "ends": {"time_out": 1.0, "cart_out": 0.0},
    }


def scored(physx: float, neural: float, error: float | None = 0.0, spread: float = 0.0) -> dict[str, Any]:
    """What ``nerd transfer`` writes of two mean returns and the standard error of their difference."""
    modes = {
        name: {"scores": {"return": {"mean": mean, "std": spread}}}
        for name, mean in (("physx", physx), ("neural", neural))
    }
    return {"modes": modes, "differences": {"return": {"mean": neural - physx, "standard_error": error}}}
