# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Commands that Isaac Lab does not have: a point to reach."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import MISSING
from typing import TYPE_CHECKING

import torch
from isaaclab.managers import CommandTerm, CommandTermCfg, SceneEntityCfg
from isaaclab.utils import configclass

from .body_terms import point_of_body

if TYPE_CHECKING:
    from isaaclab.envs import ManagerBasedRLEnv


class TargetPointCommand(CommandTerm):
    """A point in a box, drawn anew when an episode begins."""

    cfg: TargetPointCommandCfg

    def __init__(self, cfg: TargetPointCommandCfg, env: ManagerBasedRLEnv):
        super().__init__(cfg, env)
        self._target = torch.zeros(self.num_envs, 3, device=self.device)
        self._low = torch.tensor(cfg.low, device=self.device)
        self._high = torch.tensor(cfg.high, device=self.device)
        self._body = SceneEntityCfg(cfg.asset_name, body_names=[cfg.body])
        self._body.resolve(env.scene)
        self.metrics["distance"] = torch.zeros(self.num_envs, device=self.device)

    @property
    def command(self) -> torch.Tensor:
        """The point, relative to the origin of the environment [m], shape (N, 3)."""
        return self._target

    def _update_metrics(self) -> None:
        reached = point_of_body(self._env, self._body, self.cfg.offset)
        self.metrics["distance"][:] = (reached - self._target).norm(dim=-1)

    def _resample_command(self, env_ids: Sequence[int]) -> None:
        share = torch.rand_like(self._target[env_ids])
        self._target[env_ids] = self._low + (self._high - self._low) * share

    def _update_command(self) -> None:
        pass


@configclass
class TargetPointCommandCfg(CommandTermCfg):
    """Settings of :class:`TargetPointCommand`."""

    class_type: type = TargetPointCommand
    resampling_time_range: tuple[float, float] = (1.0e9, 1.0e9)
    asset_name: str = "robot"
    """The robot in the scene."""
    body: str = MISSING  # pyright: ignore[reportAssignmentType]
    """Body with the point that should be there."""
    offset: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """That point in the frame of the body [m]."""
    low: tuple[float, float, float] = MISSING  # pyright: ignore[reportAssignmentType]
    """Corner of the box with the smallest coordinates, relative to the origin of the environment [m]."""
    high: tuple[float, float, float] = MISSING  # pyright: ignore[reportAssignmentType]
    """Corner with the largest [m]."""
