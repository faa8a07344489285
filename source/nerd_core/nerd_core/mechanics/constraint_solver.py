# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""A solver of contacts, joint stops and drives, of which the constants and the rules are learned.

What a contact does to a robot depends on the whole robot, and masses and geometry say it: the Delassus matrix
``A = J inverse(H) transpose(J)`` with the Jacobian ``J`` of all constraints and the mass matrix ``H`` (Featherstone,
*Rigid Body Dynamics Algorithms*, 2008, chapter 11). How strongly a contact answers does not follow from the robot. So
this solver computes the first and learns the second.

It works as PhysX does: projected Gauss-Seidel with substeps (Macklin et al., *Small Steps in Physics Simulation*,
2019). In each substep applied forces add their share to the velocities, and then one constraint after the other is
solved: contacts between bodies of the robot, then link by link its joint and its contacts with the ground, each branch
of the robot to its end before the next (:mod:`~nerd_core.mechanics.contact_turns`; without ``links_in_turn`` all joints
first). A joint is braked by its drive and held by its stop. A contact is held by its normal impulse, which never pulls,
and by friction, which never exceeds its cone. Impulses are accumulated over the substeps. A penetration is taken back
at a rate (Baumgarte, *Stabilization of constraints and integrals of motion in dynamical systems*, 1972), and so is a
drift along the ground; compliance mixes a share of the Delassus diagonal into each constraint, so that each solution
falls short of it (constraint force mixing).

Learned are the constants of :class:`~nerd_core.mechanics.constants.Constant`, and, if asked for, rules that change them
from substep to substep (:mod:`nerd_core.mechanics.rules`). Untrained rules change nothing, and what rests, rests.

Example::

    solver = ConstraintSolver(multibody, MechanicsCfg(substeps=4))
    delta_v, displacement, joint_pos = solver(velocity, applied_delta_v, inverse_mass, joint_pos, contacts)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from ..robot.physical_parameters import PhysicalParameters
from ..robot.stops import Stops
from .altered import altered
from .config import MechanicsCfg
from .constants import CONTACT_COUNT_UNIT, EPSILON, TRAIT_CENTRE, UNREACHABLE, Constant, Factor
from .constraint_laws import law_of, smooth_share
from .contact_constraints import ContactConstraints, ContactSlots
from .contact_turns import ContactTurns, joint_order
from .engine_settings import initial_constants, sliding_share, substeps_of
from .gauss_seidel import GaussSeidel, Terms
from .joint_drives import JointDrives, JointTerms, Targets
from .mimic_joints import MimicJoints
from .multibody import Multibody
from .rules import Rules
from .vectors import length


class _Rows(NamedTuple):
    """All constraints in a physics step: normals of contacts, then joints, which are the unilateral ones; then friction
    along the first direction for all contacts, then along the second.
    """

    jacobian: Tensor
    """Velocity of each row per generalised velocity, shape (dim, R, M)."""
    gap: Tensor
    """Gaps of unilateral constraints at the beginning [m or rad], shape (U, M)."""
    in_reach: Tensor
    """One for those that the solver looks at, else zero, shape (U, M)."""
    correction_rate: Tensor
    """Velocity per open gap that may be closed, or per penetration that is taken back [1/s], shape (U, M)."""
    at_upper: Tensor
    """Whether joints look at their upper stop, shape (J, M)."""
    sign: Tensor
    """Minus one for these joints, else one, shape (J, M)."""


class ConstraintSolver(nn.Module):
    """What contacts, stops and drives add to the free motion of one robot in a physics step."""

    contacts: ContactSlots
    """The slots that can touch the ground."""
    substeps: int
    """Substeps in a physics step."""
    sliding_share: float
    """Friction of a contact that slides, as a share of that of one at rest."""
    smooth_share: float
    """Share of what is to be closed or taken back in a substep that is, one but for smooth contacts."""
    joints: Tensor
    """Joints in the order in which they are solved, shape (J,). What follows is in the same order."""
    has_stop: list[bool]
    """Whether each joint has a stop."""
    lower: Tensor
    """Lower stops [rad or m], minus infinity where there is none, shape (J, 1)."""
    upper: Tensor
    """Upper stops [rad or m], infinity where there is none, shape (J, 1)."""
    typical_delassus: Tensor
    """Delassus diagonal in the middle of all joint ranges: contacts in the mean, joints each, shape (P + J, 1)."""
    _joint_jacobian: Tensor
    _place_of_joint: Tensor

    def __init__(self, multibody: Multibody, cfg: MechanicsCfg, has_contacts: bool = True):
        """Looks for what can touch, and makes constants and rules.

        Args:
            multibody: The robot, with the inertias of its bodies.
            cfg: Settings of mechanics.
            has_contacts: Whether the robot may touch the ground; otherwise only joints are looked at.
        """
        super().__init__()
        self.spec, self.cfg, self.multibody = multibody.spec, cfg, multibody
        self.law, self.contacts = law_of(cfg, multibody.spec), ContactSlots(multibody, cfg, has_contacts)
        self.substeps, self.sliding_share = substeps_of(cfg, multibody.spec), sliding_share(multibody.spec)
        spec, stops, root_dim = multibody.spec, Stops(multibody.spec), multibody.root_dim
        joints = joint_order(spec, multibody.depth_first)
        self._turns = ContactTurns(*self.contacts.in_turn, self.contacts.ground_contacts, len(joints))
        self.smooth_share = smooth_share(self.spec.physics_dt / self.substeps, cfg.smoothing_time)
        self._unilateral = self.max_contacts + len(joints)
        self.drives, self.mimics = JointDrives(spec, joints, cfg), MimicJoints(spec, joints, cfg)
        self._order, self.has_stop = joints, [i in stops.joints for i in joints]
        buffers = {
            "joints": torch.tensor(joints, dtype=torch.long),
            "_joint_jacobian": torch.eye(multibody.dim)[:, [root_dim + i for i in joints]].unsqueeze(-1),
            "_place_of_joint": torch.tensor([joints.index(i) for i in range(len(joints))], dtype=torch.long),
            "lower": stops.lower[joints].unsqueeze(-1),
            "upper": stops.upper[joints].unsqueeze(-1),
        }
        for name, value in buffers.items():
            self.register_buffer(name, value, persistent=False)
        self.register_buffer("typical_delassus", self._typical_delassus(), persistent=False)
        self.constants = nn.Parameter(torch.tensor(initial_constants(spec, self.substeps, cfg.constraint_law)).log())
        """Logarithms of the constants, by :class:`~nerd_core.mechanics.constants.Constant`."""
        self.rules = nn.ModuleList(
            Rules(cfg.hidden, cfg.feature_scales) for _ in range(self.substeps if cfg.hidden else 0)
        )

    def with_parameters(self, rows: PhysicalParameters) -> ConstraintSolver:
        """The same solver for a robot with other stops, drives and friction. Constants and rules are the same.

        Args:
            rows: What :meth:`PhysicalParameters.rows` gave.
        """
        attributes: dict[str, list[bool]] = {}
        tables: dict[str, Tensor] = {}
        for name, value, none in (("lower", rows.lower_limit, -math.inf), ("upper", rows.upper_limit, math.inf)):
            if value is not None:
                turning = value.new_tensor([bool(joint.wraps) for joint in self.spec.joints], dtype=torch.bool)
                tables[name] = value.masked_fill(turning, none).t().index_select(0, self.joints)
                attributes["has_stop"] = [not self.spec.joints[i].wraps for i in self._order]
        modules = {"contacts": self.contacts.with_parameters(rows), "drives": self.drives.with_parameters(rows)}
        return altered(self, tables, modules, **attributes)

    @property
    def friction(self) -> Tensor:
        """The learned coefficient of friction of contacts at rest, shape ()."""
        return self.constants[Constant.FRICTION_COEFFICIENT].exp()

    @property
    def needs_responses(self) -> bool:
        """Whether the solver asks how much bodies give way."""
        return self.drives.needs_responses or bool(self.law.body_compliance and self._unilateral)

    @property
    def has_memory(self) -> bool:
        """Whether friction keeps its anchors from step to step: of articulations."""
        by_law, wanted = self.cfg.constraint_law == "engine", self.cfg.friction_memory
        return (by_law if wanted is None else wanted) and self.max_contacts > 0 and not self.law.has_patches

    @property
    def max_contacts(self) -> int:
        """Most contacts that are looked at in a physics step."""
        return self.contacts.max_contacts

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
        """What the impulses of one physics step add to the generalised velocities and what these have moved the robot
        by at its end, each of shape (dim, M), and where the joints are then, shape (M, J).

        Joints are moved from substep to substep, as PhysX moves them: four metres from zero it matters in which order
        numbers of single precision are added.

        Args:
            velocity: Generalised velocities at the beginning, shape (dim, M).
            applied_delta_v: What applied forces add to them, in equal shares in each substep, shape (dim, M).
            inverse_mass: Inverse of the mass matrix, shape (M, dim, dim).
            joint_pos: Positions of the joints, shape (M, J).
            contacts: Constraints of contacts; None for a robot that touches nothing.
            targets: Where drives lead the joints; None where they lead none.
            body_responses: What :meth:`Multibody.largest_responses` gave; None where :attr:`needs_responses` is not.
            contact_impulses: Takes the impulses of contacts [N s]: normals, then both directions of friction, (3 P, M).
            held_contacts: Takes which contacts did not slip in the last substep, one or zero, (P, M).
        """
        if not self._unilateral:
            return torch.zeros_like(velocity), torch.zeros_like(velocity), joint_pos
        count, unilateral, substeps = self.max_contacts, self._unilateral, self.substeps
        constants, substep_dt = self.constants.exp().unbind(), self.spec.physics_dt / substeps
        pos = joint_pos.t().index_select(0, self.joints)
        rows = self._rows(pos, contacts, constants)
        response, delassus = _delassus(rows.jacobian, inverse_mass)
        diagonal = delassus.diagonal().t().clamp(min=EPSILON)
        masses = self._masses(diagonal, rows, contacts, body_responses)
        row_velocity, gain = self._row_velocities(velocity, applied_delta_v / substeps, rows, contacts, constants)
        joint_terms, drive_velocity = self.drives.terms(diagonal[count:unilateral], body_responses), None
        displacement, sweep = torch.zeros_like(row_velocity), GaussSeidel(row_velocity, delassus, count, unilateral)
        impulse_sum = impulse = torch.zeros_like(row_velocity)
        if contacts is not None:
            sweep.patches, sweep.lower_ends = contacts.patches, contacts.lower_ends
        sweep.least_pressed = self._least_pressed(row_velocity[:count], rows.gap[:count], masses[0][:count])
        own_motion = self._own_motion(contacts, constants) if self.law.way_is_bent else None
        traits = self._traits(diagonal, contacts) if self.rules else None
        of_joints, dt = slice(count, unilateral), self.spec.physics_dt
        bounces = None if contacts is None else contacts.bounces(row_velocity[:count], dt)
        for substep in range(substeps):
            sweep.velocity = sweep.velocity + gain
            gap = torch.cat((rows.gap[:count] + displacement[:count], self._stop_gap(pos, rows.at_upper)))
            factors = None
            if traits is not None:
                factors = self.rules[substep](self._features(gap, rows.gap, diagonal, sweep), traits)
            terms = self._terms(gap, displacement[unilateral:], rows, masses, constants, factors, contacts)
            if bounces is not None:
                of_contacts = torch.where(*bounces, terms.correction[:count])
                terms = terms._replace(correction=torch.cat((of_contacts, terms.correction[count:])))
            sweep.solve_contacts(terms, range(self.contacts.ground_contacts, count))
            if self.mimics.constraints:
                self.mimics.solve(sweep, self.mimics.errors(pos), rows.sign, delassus[of_joints, of_joints])
            if targets is not None:
                drive_velocity = (rows.sign * self.drives.velocities(pos, targets, substep)).unbind()
            self._solve(sweep, terms, joint_terms, drive_velocity, None if contacts is None else contacts.turns)
            displacement = torch.add(displacement, sweep.velocity, alpha=substep_dt)
            if own_motion is not None:
                ahead = substep_dt * (1.0 - (substep + 0.5) / substeps)
                displacement = torch.sub(displacement, own_motion, alpha=ahead)
            pos = torch.add(pos, rows.sign * sweep.velocity[count:unilateral], alpha=substep_dt)
            impulse = sweep.impulses()
            impulse_sum = impulse_sum + impulse
        if contact_impulses is not None:
            contact_impulses.append(torch.cat((impulse[:count], impulse[unilateral:])))
        if held_contacts is not None:
            held_contacts.append(torch.stack(sweep.holds) * rows.in_reach[:count])
        impulses = torch.stack((impulse, substep_dt * impulse_sum)).permute(2, 0, 1).contiguous()
        delta_v, moved = (impulses @ response).permute(1, 2, 0).contiguous().unbind()
        return delta_v, moved, pos.index_select(0, self._place_of_joint).t()

    def _rows(self, pos: Tensor, contacts: ContactConstraints | None, constants: tuple[Tensor, ...]) -> _Rows:
        """All constraints at the beginning of a physics step; joints look at the stop that is nearer."""
        count, substep_dt = self.max_contacts, self.spec.physics_dt / self.substeps
        at_upper = self.upper - pos < pos - self.lower
        sign = torch.where(at_upper, -1.0, 1.0).to(pos)
        jacobian, gap = self._joint_jacobian * sign, self._stop_gap(pos, at_upper)
        in_reach = (gap < UNREACHABLE).to(gap.dtype)
        share = torch.where(gap > 0, 1.0, constants[Constant.STOP_BAUMGARTE])
        if contacts is not None:
            jacobian = torch.cat((contacts.jacobian[:, :count], jacobian, contacts.jacobian[:, count:]), 1)
            share = torch.cat((torch.where(contacts.gap > 0, 1.0, constants[Constant.CONTACT_BAUMGARTE]), share))
            gap, in_reach = torch.cat((contacts.gap, gap)), torch.cat((contacts.in_reach, in_reach))
        return _Rows(jacobian, gap, in_reach, share / substep_dt, at_upper, sign)

    def _masses(
        self, diagonal: Tensor, rows: _Rows, contacts: ContactConstraints | None, body_responses: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """Impulses per missing velocity of unilateral constraints, zero for those out of reach, and of friction."""
        law, softened = self.law, (1.0 + self.law.own_compliance) * diagonal
        if law.body_compliance and body_responses is not None:
            softer = self.drives.softer(body_responses)
            if contacts is not None:
                of_contacts = body_responses.gather(0, contacts.bodies)
                if contacts.other_bodies is not None:
                    of_contacts = of_contacts.maximum(body_responses.gather(0, contacts.other_bodies))
                softer = torch.cat((of_contacts, softer, of_contacts, of_contacts))
            softened = torch.add(softened, softer, alpha=law.body_compliance)
        return rows.in_reach / softened[: self._unilateral], law.friction_share / softened[self._unilateral :]

    def _least_pressed(self, velocity: Tensor, gap: Tensor, mass: Tensor) -> Tensor | None:
        """Normal impulses for which friction holds at least, shape (P, M); None for none.

        Args:
            velocity: Velocities of contact normals at the beginning of the physics step, shape (P, M).
            gap: Gaps there, same shape.
            mass: Impulses per missing velocity, same shape.
        """
        if not self.law.friction_floor:
            return None
        approach = torch.add(-velocity, gap, alpha=-1.0 / self.spec.physics_dt)
        return self.law.friction_floor * (mass * approach).clamp(min=0.0)

    def _own_motion(self, contacts: ContactConstraints | None, constants: tuple[Tensor, ...]) -> Tensor | None:
        """What the linear bias accelerations of bodies add to the velocities of all rows in a physics step, (R, M)."""
        if contacts is None:
            return None
        linear = constants[Constant.LINEAR_BIAS_SHARE] * contacts.linear_bias_velocity
        count, of_joints = self.max_contacts, linear.new_zeros(len(self.joints), linear.shape[1])
        return torch.cat((linear[:count], of_joints, linear[count:]))

    def _row_velocities(
        self,
        velocity: Tensor,
        gain: Tensor,
        rows: _Rows,
        contacts: ContactConstraints | None,
        constants: tuple[Tensor, ...],
    ) -> tuple[Tensor, Tensor]:
        """Velocities of all rows at the beginning and what applied forces add to them in a substep, each (R, M)."""
        count = self.max_contacts
        speeds, gains = ((rows.jacobian * each.unsqueeze(1)).sum(0) for each in (velocity, gain))
        if contacts is not None:
            bias = (
                constants[Constant.LINEAR_BIAS_SHARE] * contacts.linear_bias_velocity
                + constants[Constant.ANGULAR_BIAS_SHARE] * contacts.angular_bias_velocity
            )
            speeds = speeds + torch.cat((bias[:count], torch.zeros_like(rows.gap[count:]), bias[count:]))
        return speeds, gains

    def _terms(
        self,
        gap: Tensor,
        drift: Tensor,
        rows: _Rows,
        masses: tuple[Tensor, Tensor],
        constants: tuple[Tensor, ...],
        factors: Tensor | None,
        contacts: ContactConstraints | None,
    ) -> Terms:
        """How constraints answer in a substep: what the constants say, times the factors of the rules."""
        count, substep_dt = self.max_contacts, self.spec.physics_dt / self.substeps
        rate, is_open, (mass, friction_mass) = rows.correction_rate, rows.gap > 0, masses
        if self.law.stops_release:
            of_stops = torch.where(gap[count:] > 0, 1.0, constants[Constant.STOP_BAUMGARTE]) / substep_dt
            rate, is_open = torch.cat((rate[:count], of_stops)), torch.cat((is_open[:count], gap[count:] > 0))
        friction_return = constants[Constant.FRICTION_RETURN] / substep_dt
        friction, dynamic = constants[Constant.FRICTION_COEFFICIENT].expand_as(gap[:count]), None
        if self.sliding_share < 1.0:
            dynamic = self.sliding_share * friction
        if contacts is not None and contacts.static_friction is not None:
            friction, dynamic = contacts.static_friction, None
        if contacts is not None and contacts.dynamic_friction is not None:
            dynamic = contacts.dynamic_friction
        if factors is not None:
            mass = mass * factors[Factor.NORMAL_RELAXATION]
            rate = rate * torch.where(is_open, factors[Factor.OPEN_GAP_RATE], factors[Factor.PENETRATION_RATE])
            of_friction = factors[:, :count].repeat(1, 2, 1)
            friction_mass = friction_mass * of_friction[Factor.FRICTION_RELAXATION]
            friction_return = friction_return * of_friction[Factor.FRICTION_RETURN]
            friction = friction * factors[Factor.FRICTION_COEFFICIENT, :count]
            dynamic = None if dynamic is None else dynamic * factors[Factor.FRICTION_COEFFICIENT, :count]
        correction, fastest = rate * gap, -constants[Constant.MAX_CORRECTION_SPEED]
        if self.law.stops_release:
            correction = torch.cat((correction[:count].maximum(fastest), correction[count:]))
        else:
            correction = correction.maximum(fastest)
        if self.smooth_share < 1.0:
            correction, friction_return = self.smooth_share * correction, self.smooth_share * friction_return
        terms = Terms(correction, mass, friction_return * drift, friction_mass, friction, dynamic)
        if contacts is None or contacts.anchoring is None:
            return terms
        others = (0, 0, 0, count - len(contacts.anchoring.chosen))
        first, second = nn.functional.pad(contacts.anchoring.drift, others).flatten(1, 2)
        return terms._replace(
            friction_correction=friction_return * (drift + first),
            second_correction=friction_return * (drift + second),
            has_second=nn.functional.pad(contacts.anchoring.anchors.exist[1].to(drift.dtype), others),
        )

    def _solve(
        self,
        sweep: GaussSeidel,
        terms: Terms,
        joint_terms: list[JointTerms | None],
        drive_velocity: Sequence[Tensor] | None,
        turns: Tensor | None,
    ) -> None:
        """One sweep over joints and the ground: each joint and then the contacts after it, or all joints first."""
        count = self.max_contacts
        corrections, masses = terms.correction.unbind(), terms.effective_mass.unbind()
        for joint, (of_joint, has_stop) in enumerate(zip(joint_terms, self.has_stop, strict=True)):
            if turns is not None:
                self._turns.take(joint, turns, sweep, masses, corrections, terms)
            if has_stop or of_joint is not None:
                row, target = count + joint, None
                if drive_velocity is not None and self.drives.has_target[joint]:
                    target = drive_velocity[joint]
                sweep.solve_joint(joint, masses[row], corrections[row], of_joint, target, self.law.stops_release)
        if turns is not None:
            self._turns.take(len(self.has_stop), turns, sweep, masses, corrections, terms)
        else:
            sweep.solve_contacts(terms, range(self.contacts.ground_contacts))

    def _stop_gap(self, pos: Tensor, at_upper: Tensor) -> Tensor:
        """How far joints are before the stops that they look at; :data:`UNREACHABLE` where there is none."""
        return torch.where(at_upper, self.upper - pos, pos - self.lower).clamp(max=UNREACHABLE)

    def _traits(self, diagonal: Tensor, contacts: ContactConstraints | None) -> Tensor:
        """Traits of all unilateral constraints, by :class:`~nerd_core.mechanics.constants.Trait`."""
        count, unilateral = self.max_contacts, self._unilateral
        tangent = 0.5 * (diagonal[unilateral : unilateral + count] + diagonal[unilateral + count :])
        normal, typical = diagonal[:unilateral], self.typical_delassus
        joint = torch.ones_like(normal[count:])
        near = TRAIT_CENTRE * joint
        if contacts is not None:
            near = torch.cat(((CONTACT_COUNT_UNIT * contacts.count).expand_as(contacts.gap), near))
        is_joint = torch.cat((torch.zeros_like(normal[:count]), joint))
        tangent = _padded(tangent / (tangent + typical[:count]), unilateral)
        return torch.stack((normal / (normal + typical), tangent, near, is_joint)) - TRAIT_CENTRE

    def _features(self, gap: Tensor, initial_gap: Tensor, diagonal: Tensor, sweep: GaussSeidel) -> Tensor:
        """Features of all unilateral constraints, by :class:`~nerd_core.mechanics.constants.Feature`."""
        unilateral, pair, per_dt = self._unilateral, (2, self.max_contacts), 1.0 / self.spec.physics_dt
        velocity = sweep.velocity
        impulse = torch.stack((*sweep.normal_impulse, *sweep.all_friction())) * diagonal
        slip, friction = velocity[unilateral:].unflatten(0, pair), impulse[unilateral:].unflatten(0, pair)
        speed = length(slip, EPSILON)
        of_friction = torch.stack((speed, length(friction, EPSILON), (friction * slip).sum(0) / speed))
        of_normal = torch.stack((gap * per_dt, initial_gap * per_dt, velocity[:unilateral], impulse[:unilateral]))
        return torch.cat((of_normal, _padded(of_friction, unilateral)))

    @torch.no_grad()
    def _typical_delassus(self) -> Tensor:
        """Delassus diagonal in the middle of all joint ranges: contacts in the mean, joints each, shape (P + J, 1)."""
        middle = [0.5 * (j.lower + j.upper) if math.isfinite(j.upper - j.lower) else 0.0 for j in self.spec.joints]
        frames = self.multibody.frames(torch.tensor([middle]))
        inverse_mass = self.multibody.inverse_mass(self.multibody.mass_weighted_jacobian(frames))[0]
        joints = inverse_mass.diagonal()[self.multibody.root_dim :][self.joints]
        if not self.max_contacts:
            return joints.unsqueeze(-1)
        jacobian = self.contacts.normal_jacobian(frames)
        contacts = ((inverse_mass @ jacobian) * jacobian).sum(0).mean()
        return torch.cat((contacts.expand(self.max_contacts), joints)).unsqueeze(-1)


def _delassus(jacobian: Tensor, inverse_mass: Tensor) -> tuple[Tensor, Tensor]:
    """Change of the generalised velocities per impulse on each row, shape (M, R, dim), and the Delassus matrix: change
    of the velocities of rows per impulse on rows, shape (R, R, M).
    """
    rows = jacobian.permute(2, 1, 0).contiguous()
    response = rows @ inverse_mass
    return response, (response @ rows.transpose(1, 2)).permute(1, 2, 0).contiguous()


def _padded(values: Tensor, count: int) -> Tensor:
    """Values of contacts, shape (..., P, M), followed by zeros for joints up to ``count`` rows."""
    return nn.functional.pad(values, (0, 0, 0, count - values.shape[-2]))


__all__ = ["ConstraintSolver"]
