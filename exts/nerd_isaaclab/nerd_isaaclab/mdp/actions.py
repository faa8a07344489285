# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Actions that are joint positions, turned into torques once in a control step.

The published robots are moved like that: the controller is no part of the dynamics, so a model of the robot under
torques serves tasks of positions and of torques alike. What a drive of the engine would do in every physics step is
done here once, and held.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from isaaclab.envs.mdp.actions import JointEffortAction, JointEffortActionCfg
from isaaclab.utils import configclass
from isaaclab.utils.string import resolve_matching_names_values

if TYPE_CHECKING:
    from isaaclab.envs import ManagerBasedEnv


class HeldPdAction(JointEffortAction):
    """Torques ``stiffness (target - q) - damping qd`` of the state before the control step."""

    cfg: HeldPdActionCfg

    def __init__(self, cfg: HeldPdActionCfg, env: ManagerBasedEnv):
        super().__init__(cfg, env)
        self._stiffness = self._by_joint(cfg.stiffness)
        self._damping = self._by_joint(cfg.damping)
        self._limit = self._by_joint(cfg.effort_limit)
        self._default = None if cfg.relative else self._asset.data.default_joint_pos.torch[:, self._joint_ids].clone()

    def process_actions(self, actions: torch.Tensor) -> None:
        """Turns actions into the torques that hold until the next ones.

        Args:
            actions: Actions, shape (N, J).
        """
        super().process_actions(actions)
        data = self._asset.data
        joint_pos = data.joint_pos.torch[:, self._joint_ids]
        error = (
            self._processed_actions if self._default is None else self._processed_actions + self._default - joint_pos
        )
        effort = self._stiffness * error - self._damping * data.joint_vel.torch[:, self._joint_ids]
        self._processed_actions = effort.clamp(-self._limit, self._limit)

    def _by_joint(self, value: float | dict[str, float]) -> torch.Tensor:
        """A number of each joint, shape (J,)."""
        if not isinstance(value, dict):
            return torch.full((self._num_joints,), float(value), device=self.device)
        indices, _, values = resolve_matching_names_values(value, self._joint_names)
        if len(indices) != self._num_joints:
            raise ValueError(f"got values for {len(indices)} joints, expected one for each of {self._joint_names}")
        by_joint = torch.zeros(self._num_joints, device=self.device)
        by_joint[indices] = torch.tensor(values, device=self.device)
        return by_joint


@configclass
class HeldPdActionCfg(JointEffortActionCfg):
    """Settings of :class:`HeldPdAction`; the scale of an action is in radians."""

    class_type: type = HeldPdAction
    stiffness: float | dict[str, float] = 0.0
    """Torque for each radian off the target [N m/rad]."""
    damping: float | dict[str, float] = 0.0
    """Torque for each radian a second [N m s/rad]."""
    effort_limit: float | dict[str, float] = float("inf")
    """Largest torque to either side [N m]."""
    relative: bool = False
    """Whether the target is counted from where the joint is now, as published for the Franka, instead of from its
    default position."""
