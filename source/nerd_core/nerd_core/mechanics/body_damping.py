# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Gravity and damping of single bodies: what a simulator does to a body whatever it is joined to.

A body of mass ``m`` and inertia ``I`` with the linear damping ``a``, the angular damping ``b`` and the largest speeds
``v*`` and ``w*`` feels in a physics step ``h``::

    force  = m g (1 - a h) - m (a + max(1 - v*/|v|, 0) / h) v
    torque = -I (b + max(1 - w*/|w|, 0) / h) w

with the velocities of the step's beginning. That is PhysX's way (``docs/lab-notebook.md``).

Example::

    damping = BodyDamping(multibody)
    force = damping.gravity_force(jacobian, gravity) + damping.damping_force(frames, jacobian, motion)
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from ..robot.physical_parameters import PhysicalParameters
from ..robot.spec import Body
from .altered import altered
from .constants import EPSILON
from .multibody import BodyFrames, BodyMotion, Multibody

UNLIMITED = 1.0e30
"""A speed where there is no largest one [m/s or rad/s]."""


class BodyDamping(nn.Module):
    """Gravity and damping of one robot's bodies. Has no parameters."""

    is_needed: bool
    """Whether any body is damped, or not pulled by gravity."""
    is_damped: bool
    """Whether any body is damped, or slowed beyond some speed."""
    gravity_mass: float | Tensor
    """Mass on which gravity acts, and what damping leaves of its impulse taken off [kg]."""
    _mass_root: Tensor
    _shares: Tensor
    _pulled: Tensor
    _linear: Tensor
    _angular: Tensor
    _max_speed: Tensor
    _max_angular_speed: Tensor

    def __init__(self, multibody: Multibody):
        """Looks up what bodies have.

        Args:
            multibody: The robot.
        """
        super().__init__()
        spec = multibody.spec
        self.physics_dt, fastest = spec.physics_dt, 1.0 / spec.physics_dt
        self.is_needed, self.is_damped = any(map(is_special, spec.bodies)), any(map(_is_damped, spec.bodies))
        pulled = [
            float(body.has_gravity) * (1.0 - min(body.linear_damping, fastest) * spec.physics_dt)
            for body in spec.bodies
        ]
        masses = [0.0 if body.inertia is None else body.inertia.mass for body in spec.bodies]
        self.gravity_mass = sum(share * mass for share, mass in zip(pulled, masses, strict=True))
        buffers = {
            "_mass_root": [math.sqrt(mass) for mass in masses],
            "_shares": pulled,
            "_pulled": [share * math.sqrt(mass) for share, mass in zip(pulled, masses, strict=True)],
            "_linear": [min(body.linear_damping, fastest) for body in spec.bodies],
            "_angular": [min(body.angular_damping, fastest) for body in spec.bodies],
            "_max_speed": [min(body.max_linear_velocity, UNLIMITED) for body in spec.bodies],
            "_max_angular_speed": [min(body.max_angular_velocity, UNLIMITED) for body in spec.bodies],
        }
        for name, values in buffers.items():
            self.register_buffer(name, torch.tensor(values).view(-1, 1, 1), persistent=False)

    def with_parameters(self, rows: PhysicalParameters) -> BodyDamping:
        """The same for bodies with other masses.

        Args:
            rows: What :meth:`PhysicalParameters.rows` gave.
        """
        if rows.mass is None:
            return self
        root = rows.mass.t().unsqueeze(1).sqrt()
        tables = {"_mass_root": root, "_pulled": self._shares * root}
        return altered(self, tables, gravity_mass=rows.mass @ self._shares.flatten().to(rows.mass))

    @property
    def body_mass(self) -> Tensor:
        """Masses of all bodies [kg], shape (B, 1, 1 or M)."""
        return self._mass_root.square()

    def gravity_force(self, jacobian: Tensor, gravity: Tensor) -> Tensor:
        """Generalised forces of gravity, shape (dim, M).

        Args:
            jacobian: What :meth:`Multibody.mass_weighted_jacobian` gave.
            gravity: Gravity in the axes of the root [m/s^2], shape (3, M).
        """
        return ((self._pulled * jacobian[:, :, :3]).sum(1) * gravity).sum(1)

    def slowing(self, motion: BodyMotion) -> tuple[Tensor, Tensor]:
        """Linear [m/s^2] and angular [rad/s^2] accelerations that damping takes from bodies, each of shape (B, 3, M).

        Args:
            motion: How they move.
        """
        linear = _slowing(motion.linear_velocity, self._linear, self._max_speed, self.physics_dt)
        return linear, _slowing(motion.angular_velocity, self._angular, self._max_angular_speed, self.physics_dt)

    def damping_force(self, frames: BodyFrames, jacobian: Tensor, motion: BodyMotion) -> Tensor:
        """Generalised forces of damping, shape (dim, M).

        Args:
            frames: Where the bodies are.
            jacobian: What :meth:`Multibody.mass_weighted_jacobian` gave for them.
            motion: How they move.
        """
        linear, angular = self.slowing(motion)
        # A force -m a v at the centre of mass, a torque -I b w: in the units of the Jacobian.
        weighted = torch.cat((self._mass_root * linear, (frames.inertia_roots * angular.unsqueeze(1)).sum(2)), dim=1)
        return -(jacobian * weighted).sum((1, 2))


def is_special(body: Body) -> bool:
    """Whether a body is damped, slowed, or not pulled by gravity."""
    return not body.has_gravity or _is_damped(body)


def _is_damped(body: Body) -> bool:
    """Whether a body is damped, or slowed beyond some speed."""
    limited = min(body.max_linear_velocity, body.max_angular_velocity) < math.inf
    return limited or bool(body.linear_damping or body.angular_damping)


def _slowing(velocity: Tensor, damping: Tensor, largest: Tensor, physics_dt: float) -> Tensor:
    """Acceleration that damping and the largest speed take from a velocity, shape (B, 3, M)."""
    speed = (velocity.square().sum(1, keepdim=True) + EPSILON).sqrt()
    # Not 1 - largest / speed: for a body at rest without a limit its derivative is the product of zero and infinity.
    excess = (speed - largest).clamp(min=0.0) / speed
    return (damping + excess / physics_dt) * velocity


__all__ = ["UNLIMITED", "BodyDamping", "is_special"]
