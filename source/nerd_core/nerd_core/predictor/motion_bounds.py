# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""How far a step may change a state, and which states it may lead to: the ranges of the training data, widened.

A network says anything where it was not trained, and a roll-out that is led there does not come back. So a bounded
predictor (:attr:`~nerd_core.predictor.config.PredictorCfg.within_data`) changes no number of a state by more than the
data do, and leads to no speed and no joint position far from all that they hold. Robots whose motion is as in the data
never meet these bounds; a roll-out that does has left what the model knows, and counts as one that diverged.

Positions of a floating root have no bounds, nor have joints that turn without end or have no stops: dynamics do not
depend on them, and short trajectories do not show how far they go.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from ..robot.frames import ChangeCodec
from ..robot.guard import StateGuard
from ..robot.spec import Joint, RobotSpec
from ..robot.stops import stop_band

CHANGE_REACH = 0.25
"""How much more than in the data a number may change in a step, as a share of the range of its changes."""

POSITION_REACH = 0.25
"""How far joints may go beyond their positions in the data, as a share of the range of these."""

SPEED_REACH = 2.0
"""Speeds may be this many times the largest in the data."""

LEAST_SPEED = 1.0e-3
"""Smallest bound of a speed, as a share of the guard's: for what never moved in the data."""

MOST_ROWS = 2**18
"""Most states or changes that are kept to find the outliers among them."""

LARGEST = torch.finfo(torch.float32).max
"""Stands for no bound: checkpoints hold finite numbers only."""

VELOCITIES = ("root_lin_vel", "root_ang_vel")
"""Parts of a state that are vectors whose length is bounded, not their single numbers: bounds turn with the robot."""


class MotionBounds(nn.Module):
    """Bounds of changes and states. Lets everything through until :meth:`finalise` or a state that is loaded."""

    change_lower: Tensor
    """Smallest change of each number in a step, shape (D,)."""
    change_upper: Tensor
    """Largest change of each number in a step, shape (D,)."""
    state_lower: Tensor
    """Smallest value of each number of a state, shape (S,)."""
    state_upper: Tensor
    """Largest value of each number of a state, shape (S,)."""
    speed: Tensor
    """Largest speed of the root [m/s] and its largest angular velocity [rad/s], shape (2,)."""
    _columns: Tensor

    def __init__(self, spec: RobotSpec, codec: ChangeCodec, outliers: float = 0.0):
        """Starts without bounds.

        Args:
            spec: The robot.
            codec: Writes changes of state.
            outliers: Share of the data at either end of each number that sets no bounds.
        """
        super().__init__()
        self.spec, self._outliers = spec, outliers
        self._guard = StateGuard(spec)
        for name, length in (("change", codec.dim), ("state", spec.state.dim)):
            self.register_buffer(f"{name}_lower", torch.full((length,), -LARGEST))
            self.register_buffer(f"{name}_upper", torch.full((length,), LARGEST))
        self.register_buffer("speed", torch.full((2,), LARGEST))
        columns = torch.zeros(2, spec.state.dim)
        for row, name in enumerate(VELOCITIES):
            columns[row, getattr(spec.state, name)] = 1.0
        self.register_buffer("_columns", columns, persistent=False)
        self._seen: dict[str, Tensor] = {}
        self._kept: dict[str, Tensor] = {}

    @torch.no_grad()
    def update(self, state: Tensor, change: Tensor) -> None:
        """Takes states and changes of the data into their ranges.

        Args:
            state: States, shape (..., S).
            change: Changes of state, not normalised, shape (..., D).
        """
        rows = {"speed": self._root_speeds(state), "change": change, "state": state}
        rows = {name: values.flatten(0, -2) for name, values in rows.items()}
        if self._outliers:
            self._kept = {name: _thinned(torch.cat((self._kept.get(name, x[:0]), x))) for name, x in rows.items()}
            return
        found = {"speed": rows.pop("speed").amax(0)}
        for name, values in rows.items():
            found |= {f"{name}_lower": -values.amin(0), f"{name}_upper": values.amax(0)}
        seen = self._seen
        self._seen = {name: torch.maximum(value, seen.get(name, value)) for name, value in found.items()}

    @torch.no_grad()
    def finalise(self) -> None:
        """Sets the bounds from the ranges that were seen, within the robot's guard."""
        if self._kept:
            self._seen = self._without_outliers()
        if not self._seen:
            return
        at, guard, seen = self.spec.state, self._guard, self._seen
        low, high = -seen["change_lower"], seen["change_upper"]
        reach = CHANGE_REACH * (high - low)
        self.change_lower.copy_(low - reach)
        self.change_upper.copy_(high + reach)

        low, high = -seen["state_lower"], seen["state_upper"]
        lower, upper = torch.full_like(low, -LARGEST), torch.full_like(high, LARGEST)
        fastest = SPEED_REACH * torch.maximum(-low, high)[at.joint_vel]
        fastest = fastest.maximum(LEAST_SPEED * guard.upper[at.joint_vel])
        lower[at.joint_vel], upper[at.joint_vel] = -fastest, fastest
        for joint, place in zip(self.spec.joints, range(at.joint_pos.start, at.joint_pos.stop), strict=True):
            lower[place], upper[place] = _position_range(joint, float(low[place]), float(high[place]))
        self.state_lower.copy_(lower.maximum(guard.lower).where(lower > -LARGEST, lower))
        self.state_upper.copy_(upper.minimum(guard.upper).where(upper < LARGEST, upper))
        limits = self.speed.new_tensor([self.spec.guard.max_lin_vel, self.spec.guard.max_ang_vel])
        self.speed.copy_((SPEED_REACH * seen["speed"]).maximum(LEAST_SPEED * limits).minimum(limits))

    def _without_outliers(self) -> dict[str, Tensor]:
        """The ranges of what was kept, without the share at either end of each number."""
        found = {}
        for name, rows in self._kept.items():
            place = int(self._outliers * len(rows)) + 1
            found[f"{name}_lower"] = -rows.kthvalue(place, 0).values
            found[f"{name}_upper"] = -(-rows).kthvalue(place, 0).values
        self._kept = {}
        return found | {"speed": found["speed_upper"]}

    def bound_change(self, change: Tensor) -> Tensor:
        """The change of a step within its bounds, shape (..., D)."""
        return change.maximum(self.change_lower).minimum(self.change_upper)

    def bound_state(self, state: Tensor) -> Tensor:
        """The nearest state within the bounds, shape (..., S)."""
        state = state.maximum(self.state_lower).minimum(self.state_upper)
        if not self.spec.floating_base:
            return state
        share = (self.speed / self._root_speeds(state).clamp(min=1.0e-6)).clamp(max=1.0)
        return state * (1.0 + (share - 1.0) @ self._columns)

    def within(self, state: Tensor) -> Tensor:
        """Which states are strictly within the bounds: what :meth:`bound_state` had to move is not. Shape (...)."""
        inside = ((state > self.state_lower) & (state < self.state_upper)).all(-1)
        if self.spec.floating_base:
            # A length is rounded when it is scaled.
            inside &= (self._root_speeds(state) < (1.0 - 1.0e-5) * self.speed).all(-1)
        return inside

    def _root_speeds(self, state: Tensor) -> Tensor:
        """Lengths of the root's two velocities, shape (..., 2); zero for a fixed base."""
        if not self.spec.floating_base:
            return state.new_zeros(*state.shape[:-1], 2)
        at = self.spec.state
        return torch.stack([torch.linalg.vector_norm(state[..., getattr(at, name)], dim=-1) for name in VELOCITIES], -1)


def _thinned(rows: Tensor) -> Tensor:
    """Every second of some rows as often as there are too many."""
    while len(rows) > MOST_ROWS:
        rows = rows[::2]
    return rows


def _position_range(joint: Joint, low: float, high: float) -> tuple[float, float]:
    """Between which positions a joint may be that was between ``low`` and ``high`` in the data [rad or m]."""
    reach = max(POSITION_REACH * (high - low), stop_band(joint))
    low, high = low - reach, high + reach
    if joint.wraps:
        return (low, high) if max(-low, high) < math.pi else (-LARGEST, LARGEST)
    # Beyond a stop a robot goes hardly further than in the data; where there is none, it may go on for ever.
    return (
        low if math.isfinite(joint.lower) else -LARGEST,
        high if math.isfinite(joint.upper) else LARGEST,
    )


__all__ = ["CHANGE_REACH", "SPEED_REACH", "MotionBounds"]
