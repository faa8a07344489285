# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Model-predictive control that brings a point of an arm to a target, with mechanics as the model.

In each control step one Gauss-Newton step improves the plan of the step before (the real-time iteration of Diehl, Bock,
Schloeder 2005): a plan is a few knots of controls, each held for a part of the horizon, and derivatives are differences
of roll-outs, all in one batch. What is minimised is the sum of squares of::

    position_weight (tool - target)             in each step of the horizon
    velocity_weight joint velocity              in each step
    posture_weight  (joints - those at first)   in each step: it keeps joints off their stops
    change_weight   (knot - knot before)

The robots of the model may differ from the specification by the numbers of :class:`Directions`: none, those that
adaptation estimates, or the true ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from nerd_core.adaptation.directions import Directions
from nerd_core.contact.grounds import Ground
from nerd_core.dynamics import rollout_states
from nerd_core.files.bounds import bounded, check_bounds
from nerd_core.predictor.predictor import Predictor
from nerd_core.robot.frames import quat_rotate
from nerd_core.robot.kinematics import ForwardKinematics

DIFFERENCE = 1.0e-2
"""Differences of controls with which derivatives are taken [rad or N m]."""

SHARES = (1.0, 0.5, 0.2)
"""Shares of a Gauss-Newton step that are tried; the best is taken, or none if all are worse than the plan before."""


@dataclass(frozen=True)
class TrackingCfg:
    """Horizon and weights."""

    knots: int = bounded(2, at_least=1, at_most=100)
    """Controls of a plan, one after the other."""
    held: int = bounded(6, at_least=1, at_most=1000)
    """Control steps for which each is held."""
    position_weight: float = bounded(10.0, above=0.0)
    """Weight of the distance from the target [1/m]."""
    velocity_weight: float = bounded(0.1, at_least=0.0)
    """Weight of the velocities of the joints [s/rad]."""
    posture_weight: float = bounded(0.02, at_least=0.0)
    """Weight of the joints' distance from where they were at first [1/rad]."""
    change_weight: float = bounded(0.3, above=0.0)
    """Weight of changes of the controls [1/rad or 1/(N m)]."""
    largest_change: float = bounded(0.3, above=0.0)
    """Largest change of a control in one improvement [rad or N m]."""

    def __post_init__(self):
        check_bounds(self)


class TrackingMpc:
    """Plans for many robots, each from its plan of the step before."""

    def __init__(
        self,
        predictor: Predictor,
        directions: Directions,
        tool: tuple[int, Tensor],
        posture: Tensor,
        first: Tensor,
        cfg: TrackingCfg,
        ground: Ground | None = None,
    ):
        """Begins with plans that hold the controls.

        Args:
            predictor: The model.
            directions: What its robots may differ in.
            tool: Body with the point, and the point in its frame [m], shape (3,).
            posture: Joints that a robot may return to where the tool allows it, shape (J,).
            first: Controls to begin with, shape (N, C).
            cfg: Settings.
            ground: What the robots stand on; None only if the model sees no contacts.
        """
        self.predictor, self.directions, self.cfg, self.ground = predictor, directions, cfg, ground
        self._body, self._offset = tool
        self._kinematics = ForwardKinematics(predictor.spec)
        self._last, self._posture = first.clone(), posture
        self.plan = first[:, None].repeat(1, cfg.knots, 1)
        """Knots of the plans, shape (N, K, C)."""

    @torch.no_grad()
    def __call__(self, state: Tensor, target: Tensor, numbers: Tensor) -> Tensor:
        """Controls for the coming step, shape (N, C).

        Args:
            state: States, shape (N, S).
            target: Where the tools should be, relative to the origins of the environments [m], shape (N, 3).
            numbers: In what the robots differ from the specification, shape (N, P).
        """
        count, knots, width = self.plan.shape
        size = knots * width
        moved = DIFFERENCE * torch.eye(size).reshape(size, 1, knots, width)
        tried = torch.cat((self.plan[None], self.plan + moved))  # (1 + size, N, K, C)
        missing = self._residuals(state, target, numbers, tried)  # (1 + size, N, R)
        slope = ((missing[1:] - missing[0]) / DIFFERENCE).permute(1, 2, 0)  # (N, R, size)
        hessian = slope.transpose(1, 2) @ slope
        step = torch.linalg.solve(hessian, slope.transpose(1, 2) @ missing[0][..., None])[..., 0]
        step = step.nan_to_num().clamp(-self.cfg.largest_change, self.cfg.largest_change).reshape(self.plan.shape)
        plans = torch.stack([self.plan, *(self.plan - share * step for share in SHARES)])
        costs = torch.cat((missing[:1], self._residuals(state, target, numbers, plans[1:]))).square().sum(-1)
        self.plan = plans[costs.nan_to_num(nan=torch.inf).argmin(0), torch.arange(count)]
        self._last = self.plan[:, 0].clone()
        return self._last

    def tool(self, state: Tensor) -> Tensor:
        """Where the tools are, relative to the origins of the environments [m], shape (..., 3)."""
        poses = self._kinematics(state)
        quat = poses.quat[..., self._body, :]
        return poses.pos[..., self._body, :] + quat_rotate(quat, self._offset.expand(*quat.shape[:-1], 3))

    def _residuals(self, state: Tensor, target: Tensor, numbers: Tensor, plans: Tensor) -> Tensor:
        """What is squared and summed, shape (B, N, R), for plans of shape (B, N, K, C)."""
        cfg, (batch, count) = self.cfg, plans.shape[:2]
        every = torch.arange(count).repeat(batch)
        flat, numbers = plans.flatten(0, 1), numbers[every]
        parameters, _ = self.directions(numbers, flat[:, 0])
        states = rollout_states(
            self.predictor,
            state[every],
            lambda step, _: self.directions(numbers, flat[:, step // cfg.held])[1],
            cfg.knots * cfg.held,
            self.ground,
            env_ids=every,
            parameters=parameters,
        )
        passed = torch.stack(list(states), 1)  # (B N, H, S)
        apart = cfg.position_weight * (self.tool(passed) - target[every][:, None])
        at = self.predictor.spec.state
        speed = cfg.velocity_weight * passed[..., at.joint_vel]
        posture = cfg.posture_weight * (passed[..., at.joint_pos] - self._posture)
        before = torch.cat((self._last[every][:, None], flat[:, :-1]), 1)
        rows = (apart.flatten(1), speed.flatten(1), posture.flatten(1), cfg.change_weight * (flat - before).flatten(1))
        return torch.cat(rows, 1).unflatten(0, (batch, count))


__all__ = ["TrackingCfg", "TrackingMpc"]
