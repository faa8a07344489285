# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Forces of the feet by convex model-predictive control.

The robot is one rigid body that is nearly level, whose inertia does not change and whose feet are where they are
planned to be (Di Carlo, Wensing, Katz, Bledt, Kim 2018, *Dynamic Locomotion in the MIT Cheetah 3 Through Convex
Model-Predictive Control*). Then angular and linear acceleration are linear in the forces of the feet, positions and
velocities over the horizon are linear in accelerations, and the forces that follow a wanted motion best are a quadratic
programme::

    minimise    sum over steps of |position - wanted|^2_P + |velocity - wanted|^2_V + effort |force - weight|^2
    subject to  |f_x| <= mu f_z,  |f_y| <= mu f_z,  0 <= f_z <= largest force

Its matrices come from two constant ones. Accelerations held over steps of the horizon give positions by ``G_p`` and
velocities by ``G_v``, so that the cost of accelerations has the Hessian ``M = G_p' P G_p + G_v' V G_v`` for each
direction, whatever the robot does. Accelerations come from forces by ``S``, one small block for each step; so the
Hessian of the forces is ``S' M S``. Forces of feet in the air are left out: in a trot 60 numbers are left of 120.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import osqp
from numpy.typing import NDArray
from scipy import sparse

from nerd_core.files.bounds import bounded, check_bounds

from . import Array
from .gait import Gait
from .problem import ForceProblem, Horizon, contacts_ahead, feet_ahead, reference
from .quadruped import Quadruped

GRAVITY = 9.81
"""Acceleration of gravity [m/s^2]."""


@dataclass(frozen=True)
class MpcCfg:
    """Weights and limits of the quadratic programme."""

    horizon: Horizon = Horizon()
    """Steps over which the controller looks ahead."""
    height: float = bounded(0.29, above=0.0)
    """Wanted height of the centre of mass [m]."""
    friction: float = bounded(0.45, above=0.0)
    """Coefficient of friction that forces keep to."""
    max_force: float = bounded(250.0, above=0.0)
    """Largest normal force of a foot [N]."""
    position_weight: tuple[float, ...] = bounded((20.0, 20.0, 10.0, 20.0, 20.0, 100.0), at_least=0.0)
    """Weights of roll, pitch, heading [1/rad^2], forward, left and up [1/m^2]."""
    velocity_weight: tuple[float, ...] = bounded((0.2, 0.2, 0.5, 6.0, 6.0, 0.5), at_least=0.0)
    """Weights of their velocities."""
    effort: float = bounded(2.0e-5, above=0.0)
    """Weight of what forces are beside the robot's weight in equal parts on the feet that stand [1/N^2]."""
    tolerance: float = bounded(1.0e-3, above=0.0)
    """Tolerance of OSQP, absolute and relative."""
    keeps_swinging: bool = False
    """Whether forces of feet in the air stay in the programme, with zero as their limit, as in the published one: 120
    numbers and 200 constraints."""

    def __post_init__(self):
        check_bounds(self)


class ConvexMpc:
    """Solves problems one after the other, each from the solution of the one before."""

    def __init__(self, body: Quadruped, gait: Gait, cfg: MpcCfg, count: int = 1):
        """Computes what is the same in all problems.

        Args:
            body: The robot.
            gait: Which feet stand when.
            cfg: Settings.
            count: Number of robots; each has a solver of its own, which goes on from its last solution.
        """
        self.body, self.gait, self.cfg = body, gait, cfg
        steps, dt = cfg.horizon.steps, cfg.horizon.dt
        number = np.arange(steps)
        since = number[:, None] - number + 0.0
        self._to_velocity = np.where(since >= 0.0, dt, 0.0)
        self._to_position = np.where(since >= 0.0, dt * dt * (since + 0.5), 0.0)
        position, velocity = np.array(cfg.position_weight), np.array(cfg.velocity_weight)
        p_squared, v_squared = self._to_position.T @ self._to_position, self._to_velocity.T @ self._to_velocity
        hessians = position[:, None, None] * p_squared + velocity[:, None, None] * v_squared
        # (steps, 6, steps, 6), diagonal in the directions
        self._hessian = np.einsum("dij,de->idje", hessians, np.eye(6)).reshape(6 * steps, 6 * steps)
        self._position_weight, self._velocity_weight = position, velocity
        # a torque about the centre of mass is arm x force; (3, 9) gives angular acceleration by force for an arm
        turning = np.einsum("de,egf->gdf", np.linalg.inv(body.inertia), _LEVI_CIVITA)
        self._turning = turning.reshape(3, 9)
        self._programmes: list[dict[int, _Programme]] = [{} for _ in range(count)]
        self._last = np.zeros((count, steps, 4, 3))
        self._last_dual = np.zeros((count, steps, 4, 5))
        self.solver_seconds = 0.0
        """Time that OSQP has taken so far [s]."""

    def __call__(self, problem: ForceProblem) -> Array:
        """Forces on the feet now, in the heading frame [N], shape (N, 4, 3); zero for feet that swing."""
        return self.plan(problem)[:, 0]

    def plan(self, problem: ForceProblem) -> Array:
        """Forces on the feet in all steps of the horizon, in the heading frame [N], shape (N, steps, 4, 3)."""
        stands = contacts_ahead(problem, self.gait, self.cfg.horizon)
        arms = feet_ahead(problem, self.gait, self.cfg.horizon, self.body)
        gradient = self._gradient(problem)
        return np.stack([self._solve(i, stands[i], arms[i], gradient[i]) for i in range(len(problem))])

    def _gradient(self, problem: ForceProblem) -> Array:
        """Gradient of the cost by accelerations when no foot pushes, shape (N, steps, 6)."""
        ends = self.cfg.horizon.ends[:, None]
        position, velocity = reference(problem, self.cfg.height, self.cfg.horizon)
        speed = np.concatenate((problem.ang_vel, problem.lin_vel), axis=-1)[:, None]
        position = speed * ends - position
        position[..., :2] += problem.tilt[:, None]
        position[..., 5] += problem.height[:, None] - 0.5 * GRAVITY * ends[:, 0] ** 2
        velocity = speed - velocity
        velocity[..., 5] -= GRAVITY * ends[:, 0]
        return self._to_position.T @ (position * self._position_weight) + self._to_velocity.T @ (
            velocity * self._velocity_weight
        )

    def _solve(self, robot: int, stands: NDArray[np.bool_], arms: Array, gradient: Array) -> Array:
        """Forces of one robot, shape (steps, 4, 3).

        Args:
            robot: Number of the robot.
            stands: Which feet stand, shape (steps, 4).
            arms: Feet from the centre of mass [m], shape (steps, 4, 3).
            gradient: Gradient of the cost by accelerations, shape (steps, 6).
        """
        step, foot = np.nonzero(stands | self.cfg.keeps_swinging)
        count = len(step)
        number = np.arange(count)
        of_forces = np.zeros((len(stands), 6, count, 3))
        of_forces[step, :3, number] = (arms[step, foot] @ self._turning).reshape(count, 3, 3)
        for axis in range(3):
            of_forces[step, 3 + axis, number, axis] = 1.0 / self.body.mass
        of_forces = of_forces.reshape(-1, 3 * count)
        hessian = of_forces.T @ (self._hessian @ of_forces)
        hessian.flat[:: 3 * count + 1] += self.cfg.effort
        programmes = self._programmes[robot]
        if count not in programmes:
            programmes[count] = _Programme(count, self.cfg)
        first, dual = self._last[robot][step, foot], self._last_dual[robot][step, foot]
        linear = gradient.ravel() @ of_forces
        pushes = stands[step, foot]
        linear[2::3] -= self.cfg.effort * pushes * (GRAVITY * self.body.mass / stands.sum(1))[step]
        begin = time.perf_counter()
        forces, dual = programmes[count].solve(hessian, linear, first, dual, pushes)
        self.solver_seconds += time.perf_counter() - begin
        plan = np.zeros_like(arms)
        plan[step, foot] = forces * pushes[:, None]
        self._last[robot], self._last_dual[robot][step, foot] = plan, dual
        return plan


_LEVI_CIVITA = np.cross(np.eye(3)[:, None], np.eye(3)[None]).transpose(2, 0, 1)
"""Component e of (axis g) x (axis f), shape (3, 3, 3), in the order e, g, f."""


class _Programme:
    """The programme for a number of feet in steps, prepared by OSQP once: its numbers change, and not its pattern."""

    def __init__(self, count: int, cfg: MpcCfg):
        rows, columns = np.triu_indices(3 * count)
        # OSQP stores the upper triangle column by column
        order = np.lexsort((rows, columns))
        self._upper_triangle = rows[order], columns[order]
        mu, inf = cfg.friction, np.inf
        pyramid = np.array([[1.0, 0, -mu], [1.0, 0, mu], [0, 1.0, -mu], [0, 1.0, mu], [0, 0, 1.0]])
        self._constraints = sparse.block_diag([pyramid] * count, format="csc")
        self._lower = np.tile([-inf, 0.0, -inf, 0.0, 0.0], count)
        self._limit = np.tile([0.0, inf, 0.0, inf, cfg.max_force], count)
        self._settings = {
            "eps_abs": cfg.tolerance,
            "eps_rel": cfg.tolerance,
            "verbose": False,
            "warm_starting": True,
            "scaling": 0,  # the programme is well scaled, and scaling it anew costs as much as solving it
            "check_termination": 10,
        }
        self._solver: osqp.OSQP | None = None

    def solve(
        self, hessian: Array, linear: Array, first: Array, dual: Array, pushes: NDArray[np.bool_]
    ) -> tuple[Array, Array]:
        """Forces and multipliers, shapes (count, 3) and (count, 5).

        Args:
            hessian: Hessian of the cost by forces, shape (3 count, 3 count).
            linear: Gradient at no force, shape (3 count,).
            first: Forces to begin with [N], shape (count, 3).
            dual: Multipliers to begin with, shape (count, 5).
            pushes: Which of the feet may push, shape (count,).
        """
        values, limit = hessian[self._upper_triangle], self._limit
        if not pushes.all():
            limit = limit.copy()
            limit[4::5] *= pushes
        if self._solver is None:
            triangle = sparse.csc_matrix((values, self._upper_triangle), shape=hessian.shape)
            self._solver = osqp.OSQP()
            self._solver.setup(triangle, linear, self._constraints, self._lower, limit, **self._settings)
        else:
            self._solver.update(Px=values, q=linear, u=limit)
        self._solver.warm_start(x=first.ravel(), y=dual.ravel())
        found = self._solver.solve(raise_error=False)
        if found.info.status_val not in (1, 2):  # solved, or solved less accurately
            raise ValueError(f"OSQP ended with '{found.info.status}', expected a solution: is a state not finite?")
        return np.asarray(found.x).reshape(-1, 3), np.asarray(found.y).reshape(-1, 5)
