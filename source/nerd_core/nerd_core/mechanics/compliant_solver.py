# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Contacts that give way: a stiff spring with damping at every slot, whose constants and rules are learned.

A solver of rigid contacts stops an impact within one substep. A tossed body that is filmed takes several frames to
bounce: its corners sink by millimetres, and how fast it leaves again depends on how it came. So each slot has the
normal force of Hunt and Crossley, *Coefficient of Restitution Interpreted as Damping in Vibroimpact*, 1975, with a
linear damping beside it, and Coulomb's friction that is smooth at rest::

    f = m max(0, k d (1 - a v) - c v)         d: penetration, v: velocity away from the ground, m: mass of the robot
    t = -mu f s / sqrt(|s|^2 + s0^2)          s: velocity along the ground

Both are taken implicitly along their own direction, so that no substep is too long for them. There is no order among
contacts, and no stops and drives of joints: for robots that are tossed, or whose joints nothing drives.

Example::

    solver = CompliantSolver(multibody, CompliantCfg(substeps=8))
    delta_v, displacement, joint_pos = solver(velocity, applied_delta_v, inverse_mass, joint_pos, contacts)
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ..robot.physical_parameters import PhysicalParameters
from ..robot.spec import RobotSpec
from ..robot.stops import Stops
from .altered import altered
from .config import CompliantCfg
from .constants import CONTACT_COUNT_UNIT, EPSILON, TRAIT_CENTRE, Factor, Feature, LearnedConstant
from .contact_constraints import ContactConstraints, ContactSlots
from .joint_drives import JointDrives, Targets, has_drive
from .multibody import Multibody
from .rules import Rules
from .vectors import length


class Compliance(LearnedConstant):
    """What contacts that give way learn."""

    STIFFNESS = 5.0e4, "1/s^2", "force per penetration, per mass of the robot (k)"
    DAMPING = 80.0, "1/s", "force per speed of a slot that touches, per mass (c)"
    DISSIPATION = 1.0, "s/m", "share by which a spring is harder per speed towards the ground (a)"
    FRICTION_COEFFICIENT = 0.2, "1", "Coulomb's coefficient of friction (mu)"
    SLIP_SPEED = 0.02, "m/s", "speed at which friction has seven tenths of its size (s0)"


class CompliantSolver(nn.Module):
    """What contacts that give way add to the free motion of one robot in a physics step."""

    contacts: ContactSlots
    """The slots that can touch the ground."""
    substeps: int
    """Substeps in a physics step."""
    constants: Tensor
    """Logarithms of the constants, by :class:`Compliance`."""

    def __init__(self, multibody: Multibody, cfg: CompliantCfg, has_contacts: bool = True):
        """Looks for what can touch. Raises ValueError for a robot with driven or stopped joints.

        Args:
            multibody: The robot, with the inertias of its bodies.
            cfg: Settings.
            has_contacts: Whether the robot may touch the ground.
        """
        super().__init__()
        require_free_joints(multibody.spec)
        self.spec, self.cfg, self.multibody = multibody.spec, cfg, multibody
        self.contacts, self.substeps = ContactSlots(multibody, cfg, has_contacts), cfg.substeps or 8
        self.drives = JointDrives(multibody.spec, list(range(len(multibody.spec.joints))), cfg)
        self.mass = sum(body.inertia.mass for body in multibody.spec.bodies if body.inertia is not None)
        """Mass of the robot [kg]."""
        self.constants = nn.Parameter(torch.tensor([each.initial for each in Compliance]).log())
        self.rules = Rules(cfg.hidden, cfg.feature_scales) if cfg.hidden else None

    @property
    def max_contacts(self) -> int:
        """Most contacts that are looked at in a physics step."""
        return self.contacts.max_contacts

    @property
    def needs_responses(self) -> bool:
        """Whether the solver asks how much bodies give way."""
        return self.drives.needs_responses

    def with_parameters(self, rows: PhysicalParameters) -> CompliantSolver:
        """The same solver for a robot with other slots. Constants and rules are the same.

        Args:
            rows: What :meth:`PhysicalParameters.rows` gave.
        """
        modules = {"contacts": self.contacts.with_parameters(rows), "drives": self.drives.with_parameters(rows)}
        return altered(self, {}, modules)

    def forward(
        self,
        velocity: Tensor,
        applied_delta_v: Tensor,
        inverse_mass: Tensor,
        joint_pos: Tensor,
        contacts: ContactConstraints | None,
        targets: Targets | None = None,
        body_responses: Tensor | None = None,
        contact_impulses: list[Tensor] | None = None,
        held_contacts: list[Tensor] | None = None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """What the contact forces of one physics step add to the generalised velocities and what these have moved the
        robot by at its end, each of shape (dim, M), and where the joints are then, shape (M, J).

        Args:
            velocity: Generalised velocities at the beginning, shape (dim, M).
            applied_delta_v: What applied forces add to them, in equal shares in each substep, shape (dim, M).
            inverse_mass: Inverse of the mass matrix, shape (M, dim, dim).
            joint_pos: Positions of the joints, shape (M, J).
            contacts: Constraints of contacts; None for a robot that touches nothing.
            targets: None: no drive leads a joint.
            body_responses: Not looked at.
            contact_impulses: Takes the impulses of contacts, see :class:`ConstraintSolver`.
            held_contacts: Not filled: friction of these contacts has no memory.
        """
        del targets, body_responses, held_contacts
        substep_dt, ramp = self.spec.physics_dt / self.substeps, 0.5 * (1.0 + 1.0 / self.substeps)
        delta_v = moved = torch.zeros_like(velocity)
        if contacts is not None:
            delta_v, moved = self._pushed(
                velocity, applied_delta_v, inverse_mass, contacts, substep_dt, contact_impulses
            )
        carried = self.spec.physics_dt * (velocity + ramp * applied_delta_v) + moved
        return delta_v, moved, joint_pos + carried[self.multibody.root_dim :].t()

    def _pushed(
        self,
        velocity: Tensor,
        applied_delta_v: Tensor,
        inverse_mass: Tensor,
        contacts: ContactConstraints,
        substep_dt: float,
        contact_impulses: list[Tensor] | None,
    ) -> tuple[Tensor, Tensor]:
        """What the contact forces add to the generalised velocities and to the way, each of shape (dim, M)."""
        count, constants = self.max_contacts, self.constants.exp().unbind()
        rows = contacts.jacobian.permute(2, 1, 0).contiguous()
        response = rows @ inverse_mass
        delassus = (response @ rows.transpose(1, 2)).permute(1, 2, 0).contiguous()
        diagonal = delassus.diagonal().t().clamp(min=EPSILON)
        along = torch.maximum(diagonal[count : 2 * count], diagonal[2 * count :])
        row_velocity, gain = (
            (contacts.jacobian * each.unsqueeze(1)).sum(0) for each in (velocity, applied_delta_v / self.substeps)
        )
        gap, impulse = contacts.gap, torch.zeros_like(row_velocity)
        total = weighted = impulse
        traits = None if self.rules is None else self._traits(diagonal, along, contacts)
        for _ in range(self.substeps):
            row_velocity = row_velocity + gain
            factors = None
            if self.rules is not None and traits is not None:
                factors = self.rules(self._features(gap, contacts.gap, row_velocity, total, diagonal, along), traits)
            impulse = self._impulse(gap, row_velocity, diagonal[:count], along, constants, factors, substep_dt)
            row_velocity = row_velocity + (delassus * impulse).sum(1)
            gap = gap + substep_dt * row_velocity[:count]
            total = total + impulse
            weighted = weighted + total
        if contact_impulses is not None:
            contact_impulses.append(total)
        both = torch.stack((total, substep_dt * weighted)).permute(2, 0, 1).contiguous()
        delta_v, moved = (both @ response).permute(1, 2, 0).contiguous().unbind()
        return delta_v, moved

    def _impulse(
        self,
        gap: Tensor,
        row_velocity: Tensor,
        normal_delassus: Tensor,
        along: Tensor,
        constants: tuple[Tensor, ...],
        factors: Tensor | None,
        substep_dt: float,
    ) -> Tensor:
        """Impulses of all rows in a substep [N s], shape (3 P, M)."""
        count, depth, speed = self.max_contacts, (-gap).clamp(min=0.0), row_velocity[: self.max_contacts]
        stiffness, friction = self.mass * constants[Compliance.STIFFNESS], constants[Compliance.FRICTION_COEFFICIENT]
        if factors is not None:
            stiffness, friction = (
                stiffness * factors[Factor.PENETRATION_RATE],
                friction * factors[Factor.FRICTION_COEFFICIENT],
            )
        spring = stiffness * depth
        damping = self.mass * constants[Compliance.DAMPING] + constants[Compliance.DISSIPATION] * spring
        if factors is not None:
            damping = damping * factors[Factor.OPEN_GAP_RATE]
        # Implicit along the normal: at the end of the substep the slot is deeper, and moves at another speed.
        answer = 1.0 + substep_dt * normal_delassus * (damping + substep_dt * stiffness)
        force = ((spring - (damping + substep_dt * stiffness) * speed) / answer).clamp(min=0.0) * (depth > 0)
        slip = row_velocity[count:].unflatten(0, (2, count))
        smooth = (slip.square().sum(0) + constants[Compliance.SLIP_SPEED].square()).sqrt()
        share = friction * force / smooth
        share = share / (1.0 + substep_dt * along * share)
        return substep_dt * torch.cat((force, (-share * slip).flatten(0, 1)))

    def _traits(self, diagonal: Tensor, along: Tensor, contacts: ContactConstraints) -> Tensor:
        """Traits of contacts, by :class:`~nerd_core.mechanics.constants.Trait`, shape (TRAITS, P, M)."""
        normal = diagonal[: self.max_contacts]
        typical = 4.0 / self.mass
        near = (CONTACT_COUNT_UNIT * contacts.count).expand_as(normal)
        no_joint = torch.zeros_like(normal)
        return torch.stack((normal / (normal + typical), along / (along + typical), near, no_joint)) - TRAIT_CENTRE

    def _features(
        self, gap: Tensor, initial_gap: Tensor, row_velocity: Tensor, total: Tensor, diagonal: Tensor, along: Tensor
    ) -> Tensor:
        """Features of contacts, by :class:`~nerd_core.mechanics.constants.Feature`, shape (FEATURES, P, M)."""
        count, per_dt = self.max_contacts, 1.0 / self.spec.physics_dt
        slip, friction = (each[count:].unflatten(0, (2, count)) for each in (row_velocity, total))
        friction = friction * along
        speed = length(slip, EPSILON)
        features: dict[Feature, Tensor] = {
            Feature.GAP: gap * per_dt,
            Feature.INITIAL_GAP: initial_gap * per_dt,
            Feature.SPEED: row_velocity[:count],
            Feature.NORMAL_IMPULSE: total[:count] * diagonal[:count],
            Feature.SLIP_SPEED: speed,
            Feature.FRICTION_IMPULSE: length(friction, EPSILON),
            Feature.FRICTION_ALONG_SLIP: (friction * slip).sum(0) / speed,
        }
        return torch.stack([features[each] for each in Feature])


def require_free_joints(spec: RobotSpec) -> None:
    """Raises ValueError for a robot with joints that something drives, brakes or stops.

    Args:
        spec: The robot.
    """
    stopped = {spec.joint_names[index] for index in Stops(spec).joints}
    held = [
        joint.name
        for joint in spec.joints
        if joint.name in stopped or has_drive(joint) or joint.mimic is not None or joint.friction
    ]
    if held:
        raise ValueError(
            f"got the joints {held[:4]} of '{spec.name}' with stops, drives or friction, expected joints that nothing "
            "holds for contacts that give way: use --prior mechanics"
        )


__all__ = ["Compliance", "CompliantSolver", "require_free_joints"]
