# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""A control step of a robot in PyTorch, by the laws of mechanics, with contacts and stops by rules that are learned.

Newton and Euler say what efforts, gravity and the robot's own motion do to rigid bodies: nothing of that is learned.
In a physics step ``h`` the generalised velocities ``v`` change by applied forces ``f`` and gravity ``g``, by the bias
force ``C``, and by impulses ``p`` of constraints with the Jacobian ``J``::

    dv = inverse(H) (h (f + g) - h C + transpose(J) p)

The rest is how PhysX takes a physics step: accelerations of its beginning, applied forces in equal shares over the
substeps, a solver of contacts, stops and drives (:mod:`nerd_core.mechanics.constraint_solver`), and at the end a
floating robot whose linear and angular velocity are corrected until its momentum and the size of its angular momentum
are kept. What was measured on PhysX stands in ``docs/lab-notebook.md``. Whatever else a simulator knows is left to a
network.

This is the step in PyTorch; :mod:`nerd_core.mechanics.step` leaves it to a kernel where one can take it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Self

import torch
from torch import Tensor, nn

from ..contact.contacts import Contacts
from ..robot.frames import ChangeCodec
from ..robot.physical_parameters import PhysicalParameters
from ..robot.spec import RobotSpec
from .actuators import Actuators
from .altered import altered
from .body_damping import BodyDamping
from .compliant_solver import CompliantSolver
from .config import CompliantCfg, MechanicsCfg
from .constants import MOMENTUM_EPSILON
from .constraint_solver import ConstraintSolver
from .engine_settings import tell_what_is_left_out
from .external_wrench import ExternalWrench
from .forces import ForceRecorder, JointWrenches
from .friction_anchors import FrictionAnchors
from .known_forces import require_known_forces
from .multibody import BodyFrames, BodyMotion, CentroidalMomentum, Multibody
from .precision import exact_products
from .root_pose import RootPose
from .vectors import cross, length, rotate, rotate_inverse


class TorchMechanics(nn.Module):
    """A control step of one robot by mechanics, in PyTorch. All its parameters are those of the solver."""

    solver: ConstraintSolver | CompliantSolver
    """Contacts, stops and drives."""
    _effort_matrix: Tensor
    _actuated: Tensor
    _gravity: Tensor

    def __init__(self, spec: RobotSpec, codec: ChangeCodec, cfg: MechanicsCfg, has_contacts: bool = True):
        """Looks up masses, drives and efforts. Raises ValueError for joints that feel forces it does not know.

        Args:
            spec: The robot, with the inertias of its bodies.
            codec: Writes changes of state.
            cfg: Settings.
            has_contacts: Whether the robot may touch the ground; otherwise the solver looks at joints only.
        """
        super().__init__()
        require_known_forces(spec)
        tell_what_is_left_out(spec, cfg)
        if isinstance(cfg, CompliantCfg) and cfg.physics_steps > 1:
            count = cfg.physics_steps
            spec = replace(spec, physics_dt=spec.physics_dt / count, decimation=count * spec.decimation)
        self.spec, self.codec, self.multibody = spec, codec, Multibody(spec)
        self.damping = BodyDamping(self.multibody)
        self._wrenches, self.physics_dt = JointWrenches(spec), spec.physics_dt
        if isinstance(cfg, CompliantCfg):
            self.solver = CompliantSolver(self.multibody, cfg, has_contacts)
        else:
            self.solver = ConstraintSolver(self.multibody, cfg, has_contacts)
        self._ramp_mean = 0.5 * (1.0 + 1.0 / self.solver.substeps)
        """Share of a change of velocity that acts in the mean over a physics step: applied forces act in each substep,
        so that velocities rise in equal stairs."""
        self._root_dim = self.multibody.root_dim
        place = {name: number for number, name in enumerate(spec.joint_names)}
        self.actuators = Actuators(spec)
        """What makes efforts outside of the engine."""
        efforts = torch.zeros(self.multibody.dim, len(spec.controls))
        for column, control in enumerate(spec.controls):
            if control.kind == "effort" and place[control.joint] not in self.actuators.joints:
                efforts[self._root_dim + place[control.joint], column] = 1.0
        self.register_buffer("_effort_matrix", efforts, persistent=False)
        actuated = torch.tensor([self._root_dim + i for i in self.actuators.joints], dtype=torch.long)
        self.register_buffer("_actuated", actuated, persistent=False)
        self.register_buffer("_gravity", torch.tensor(spec.gravity).unsqueeze(-1), persistent=False)
        self.mass = sum(body.inertia.mass for body in spec.bodies if body.inertia is not None)
        """Mass of all bodies [kg], a number or of shape (M,)."""
        self._gravity_mass = self.damping.gravity_mass if self.damping.is_needed else self.mass
        self._rows: PhysicalParameters | None = None
        """What differs from the specification, for as many states as come."""

    @property
    def gravity(self) -> Tensor:
        """Gravity, environment axes [m/s^2], shape (3, 1 or M)."""
        return self._gravity

    def with_parameters(self, rows: PhysicalParameters) -> Self:
        """The same mechanics with other numbers of the robot; learned constants and rules are shared.

        Args:
            rows: What :meth:`PhysicalParameters.rows` gave for the states to come.
        """
        multibody, damping = self.multibody.with_parameters(rows), self.damping.with_parameters(rows)
        modules = {"multibody": multibody, "damping": damping, "solver": self.solver.with_parameters(rows)}
        tables = {} if rows.gravity is None else {"_gravity": rows.gravity.t()}
        attributes: dict[str, Any] = {"_rows": rows}
        if rows.mass is not None:
            mass = multibody.total_mass
            attributes |= {"mass": mass, "_gravity_mass": damping.gravity_mass if damping.is_needed else mass}
        return altered(self, tables, modules, **attributes)

    def _change(
        self, state: Tensor, next_state: Tensor, encode: Callable[[Tensor, Tensor], Tensor] | None = None
    ) -> Tensor:
        """The change of state to a next one whose root is counted from where it began, by the codec, or by what writes
        it in its place.
        """
        encode = encode or self.codec.encode
        if not self._root_dim:
            return encode(state, next_state)
        # From a root at the origin: differences of places far from it would be rounded.
        pos = self.spec.state.root_pos
        return encode(torch.cat((torch.zeros_like(state[:, pos]), state[:, pos.stop :]), dim=-1), next_state)

    def _next_state(
        self,
        state: Tensor,
        control: Tensor,
        contacts: Contacts | None,
        recorder: ForceRecorder | None = None,
        memory: Tensor | None = None,
    ) -> Tensor:
        """States at the end of a control step, the root's position counted from where it began, shape (M, S). A memory
        is changed in place.
        """
        if memory is None:
            with exact_products(state.device):
                return self._advance(state, control, contacts, recorder, None)[0]
        next_state, after = self._with_memory(state, control, contacts, memory, recorder)
        memory.copy_(after)
        return next_state

    def _with_memory(
        self,
        state: Tensor,
        control: Tensor,
        contacts: Contacts | None,
        memory: Tensor,
        recorder: ForceRecorder | None = None,
    ) -> tuple[Tensor, Tensor]:
        """What :meth:`_next_state` says, and the memory after it, shape (M, K, 15)."""
        anchors = FrictionAnchors.read(memory, state[:, self.spec.state.root_pos] if self._root_dim else None)
        with exact_products(state.device):
            next_state, after = self._advance(state, control, contacts, recorder, anchors)
        assert after is not None  # anchors went in
        return next_state, after.written()

    def _advance(
        self,
        state: Tensor,
        control: Tensor,
        contacts: Contacts | None,
        recorder: ForceRecorder | None,
        anchors: FrictionAnchors | None,
    ) -> tuple[Tensor, FrictionAnchors | None]:
        """What :meth:`_next_state` says, and the anchors of friction at the end."""
        at, multibody, decimation = self.spec.state, self.multibody, self.spec.decimation
        effort, targets = self._joint_effort(state, control), self.solver.drives.targets(control)
        root = RootPose.at_origin(state[:, at.root_quat]) if self._root_dim else None
        rotation, displacement = (None, None) if root is None else (root.rotation, root.displacement)
        joint_pos, velocity = state[:, at.joint_pos], multibody.generalised_velocity(state, rotation)
        frames = multibody.frames(joint_pos)
        jacobian = multibody.mass_weighted_jacobian(frames)
        planes = self.solver.contacts.ground_planes(frames, rotation, contacts)
        outer = ExternalWrench.of(self._rows)
        for physics_step in range(decimation):
            pushed = self._pushed(effort, control, joint_pos, velocity, physics_step)
            velocity = self.solver.drives.slowed(velocity)
            if recorder is not None:
                recorder.keep_start(velocity, joint_pos, None if root is None else root.quat, displacement)
            gravity = self._gravity if rotation is None else rotate_inverse(rotation, self._gravity)
            inverse_mass, motion = multibody.inverse_mass(jacobian), multibody.motion(frames, velocity)
            wrench = None if outer is None else outer.in_root(rotation)
            if wrench is not None:
                pushed = pushed + multibody.wrench_force(frames, *wrench)
            applied, bias, damped = self._free_delta_v(pushed, gravity, inverse_mass, frames, jacobian, motion)
            touching = None
            if planes is not None:
                touching = self.solver.contacts.constraints(frames, motion, planes, rotation, displacement, anchors)
            responses = None
            if self.solver.needs_responses:
                responses = multibody.largest_responses(jacobian, inverse_mass, rotation)
            pushes: list[Tensor] | None = None if recorder is None else []
            held: list[Tensor] | None = None if anchors is None else []
            solved, moved, joint_pos = self.solver(
                velocity + bias, applied, inverse_mass, joint_pos, touching, targets, responses, pushes, held
            )
            if anchors is not None and held and touching is not None and touching.anchoring is not None:
                anchors = touching.anchoring.kept(anchors, held[0])
            if recorder is not None:
                recorder.keep_solved(touching, pushes, frames, rotation, applied + bias + solved)
            before, with_impulses, velocity = velocity, velocity + solved, velocity + applied + bias + solved
            if root is None:
                if physics_step + 1 < decimation:
                    frames = multibody.frames(joint_pos)
                    jacobian = multibody.mass_weighted_jacobian(frames)
                continue
            root, rotation_step = root.moved(self._root_motion(before, applied, bias, damped) + moved[:6])
            with_impulses = with_impulses if damped is None else with_impulses + damped
            momentum = multibody.centroidal_momentum(frames, jacobian, with_impulses)
            if wrench is not None:
                momentum = wrench.added_to(momentum, frames, self.spec.physics_dt)
            rotation, displacement, frames = root.rotation, root.displacement, multibody.frames(joint_pos)
            jacobian = multibody.mass_weighted_jacobian(frames)
            velocity = self._with_kept_momentum(velocity, momentum, rotation_step, gravity, frames, jacobian)
        joint_vel = velocity[self._root_dim :].t()
        if root is None:
            return torch.cat((joint_pos, joint_vel), dim=-1), anchors
        root_vel = rotate(root.rotation, velocity[:6].view(2, 3, -1)).flatten(0, 1).t()
        return torch.cat((root.displacement.t(), root.quat, joint_pos, root_vel, joint_vel), dim=-1), anchors

    def _pushed(
        self, effort: Tensor, control: Tensor, joint_pos: Tensor, velocity: Tensor, physics_step: int
    ) -> Tensor:
        """Generalised efforts of a physics step, shape (dim, M): those that are held, and those of actuators that look
        at the state.
        """
        if not self.actuators.joints:
            return effort
        made = self.actuators(control, joint_pos, velocity[self._root_dim :], physics_step)
        return effort.index_add(0, self._actuated, made)

    def _joint_effort(self, state: Tensor, control: Tensor) -> Tensor:
        """Generalised forces that controls make, held over the control step, shape (dim, M)."""
        return self._effort_matrix @ control.t()

    def _free_delta_v(
        self,
        effort: Tensor,
        gravity: Tensor,
        inverse_mass: Tensor,
        frames: BodyFrames,
        jacobian: Tensor,
        motion: BodyMotion,
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        """What applied forces (efforts and gravity) and what bias forces add to the generalised velocities in a physics
        step, and the part of the latter that damping of bodies adds, each of shape (dim, M); None for a robot without.
        """
        dt, bias_force = self.spec.physics_dt, self.multibody.bias_force(frames, jacobian, motion)
        if not self.damping.is_needed:
            force = effort + (self.multibody.momentum_matrix(jacobian) * gravity).sum(1)
            applied, bias = _products(inverse_mass, dt * force, -dt * bias_force)
            return applied, bias, None
        force = effort + self.damping.gravity_force(jacobian, gravity)
        damping = self.damping.damping_force(frames, jacobian, motion)
        applied, bias, damped = _products(inverse_mass, dt * force, dt * (damping - bias_force), dt * damping)
        return applied, bias, damped

    def _root_motion(self, velocity: Tensor, applied: Tensor, bias: Tensor, damped: Tensor | None) -> Tensor:
        """How far the root goes and turns in a physics step without constraints, shape (6, M): bias forces turn it at
        once, and carry it as applied forces do, in equal stairs; but damping carries it at once.
        """
        linear = self._ramp_mean * (applied + bias)[:3]
        if damped is not None:
            linear = torch.add(linear, damped[:3], alpha=1.0 - self._ramp_mean)
        angular = torch.add(bias[3:6], applied[3:6], alpha=self._ramp_mean)
        return self.spec.physics_dt * (velocity[:6] + torch.cat((linear, angular)))

    def _with_kept_momentum(
        self,
        velocity: Tensor,
        momentum: CentroidalMomentum,
        rotation_step: Tensor,
        gravity: Tensor,
        frames: BodyFrames,
        jacobian: Tensor,
    ) -> Tensor:
        """Generalised velocities in the new axes of the root, its linear and angular velocity corrected so that the
        robot has the momentum that it had with the impulses of constraints, and what gravity added, and the size of its
        angular momentum.

        Args:
            velocity: Generalised velocities in the old axes, shape (dim, M).
            momentum: Momenta with the impulses of constraints, before bodies moved, in the old axes.
            rotation_step: The new axes in the old ones, shape (3, 3, M).
            gravity: Gravity in the old axes [m/s^2], shape (3, M).
            frames: Where the bodies are now, with their mass-weighted ``jacobian``.
        """
        root = rotate_inverse(rotation_step, velocity[:6].view(2, 3, -1)).flatten(0, 1)
        velocity = torch.cat((root, velocity[6:]))
        after = self.multibody.centroidal_momentum(frames, jacobian, velocity)
        lacking = after.angular * (
            length(momentum.angular, MOMENTUM_EPSILON) / length(after.angular, MOMENTUM_EPSILON) - 1.0
        )
        angular = self.multibody.locked_angular_velocity(frames, after.centre_of_mass, lacking)
        target = rotate_inverse(rotation_step, momentum.linear + self.spec.physics_dt * self._gravity_mass * gravity)
        linear = (target - after.linear) / self.mass - cross(angular, after.centre_of_mass)
        return torch.cat((velocity[:3] + linear, velocity[3:6] + angular, velocity[6:]))


def _products(matrix: Tensor, *vectors: Tensor) -> Sequence[Tensor]:
    """Products of symmetric matrices, shape (M, N, N), with vectors, each of shape (N, M)."""
    rows = torch.stack(vectors).permute(2, 0, 1).contiguous()
    return torch.bmm(rows, matrix).permute(1, 2, 0).contiguous().unbind()


__all__ = ["TorchMechanics"]
