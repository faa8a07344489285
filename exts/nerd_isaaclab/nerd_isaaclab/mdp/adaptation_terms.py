# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What adaptation has found out, as an observation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from isaaclab.envs import ManagerBasedEnv


def adapted_numbers(env: ManagerBasedEnv, size: int) -> torch.Tensor:
    """Estimates of what has changed of each robot, zero where it is as specified, shape (N, size).

    Args:
        env: The environment, with ``env.nerd.adapt``. Zeros before a model is loaded.
        size: How many numbers there are: one for ``payload``, one a foot for ``friction``, one a joint for ``motors``.
    """
    running: Any = env
    physics = running.nerd
    adaptation = None if physics is None else physics.adaptation
    if adaptation is None:
        return torch.zeros(env.num_envs, size, device=env.device)
    if adaptation.directions.dim != size:
        raise ValueError(
            f"got {adaptation.directions.dim} numbers of env.nerd.adapt, expected {size}: they are "
            f"{', '.join(adaptation.directions.names)}"
        )
    return adaptation.estimate
