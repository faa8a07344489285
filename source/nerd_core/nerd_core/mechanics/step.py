# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""One control step of a robot by the laws of mechanics, with contacts and stops by rules that are learned.

Newton and Euler say what efforts, gravity and the robot's own motion do to rigid bodies: nothing of that is learned.
In a physics step ``h`` the generalised velocities ``v`` change by applied forces ``f`` and gravity ``g``, by the bias
force ``C``, and by impulses ``p`` of constraints with the Jacobian ``J``::

    dv = inverse(H) (h (f + g) - h C + transpose(J) p)

The rest is how PhysX takes a physics step: accelerations of its beginning, applied forces in equal shares over the
substeps, a solver of contacts, stops and drives (:mod:`nerd_core.mechanics.constraint_solver`), and at the end a
floating robot whose linear and angular velocity are corrected until its momentum and the size of its angular momentum
are kept. What was measured on PhysX stands in ``docs/lab-notebook.md``. Whatever else a simulator knows is left to a
network.

In single precision one kernel takes the same step, and another pulls gradients back through it
(:mod:`nerd_core.mechanics.kernel`).

Example::

    mechanics = Mechanics(spec, ChangeCodec(spec), MechanicsCfg(substeps=4))
    change = mechanics(state, control, contacts)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

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
from .constraint_laws import smooth_share
from .constraint_solver import ConstraintSolver
from .engine_settings import tell_what_is_left_out
from .external_wrench import ExternalWrench
from .forces import BodyForces, ForceRecorder, JointWrenches
from .friction_anchors import ANCHOR_DIM, ANCHORS, FrictionAnchors
from .kernel.adjoint.verification import verified_gradient
from .kernel.verification import (
    OF_DRIVES,
    TRIAL_STATES,
    Step,
    differentiated_otherwise,
    trial_parameters,
    verified_kernel,
    warn_once,
)
from .known_forces import require_known_forces
from .multibody import BodyFrames, BodyMotion, CentroidalMomentum, Multibody
from .precision import exact_products
from .root_pose import RootPose
from .vectors import cross, length, rotate, rotate_inverse

if TYPE_CHECKING:
    from .kernel.adjoint.robot import RobotGradient
    from .kernel.robot import RobotKernel


class Mechanics(nn.Module):
    """The mechanics of one robot. All its parameters are those of the solver."""

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
        if self.solver.contacts.own is not None:
            warn_once(f"the kernel does not know contact between the bodies of '{spec.name}'")
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
        self._kernels: dict[tuple[torch.device, bool | None], RobotKernel | None] = {}
        """Kernels by device, and by whether drives are other than the specification's; None for one without parameters
        at all."""
        self._gradients: dict[tuple[torch.device, bool | None], RobotGradient | None] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Copies make kernels of their own."""
        return {**self.__dict__, "_kernels": {}, "_gradients": {}}

    def forward(
        self,
        state: Tensor,
        control: Tensor,
        contacts: Contacts | None = None,
        parameters: PhysicalParameters | None = None,
    ) -> Tensor:
        """The change of state, not normalised.

        Args:
            state: States, shape (..., S).
            control: Efforts held over the step [N m or N], shape (..., C).
            contacts: Contacts of ``state`` of all slots. None only for a robot that touches nothing.
            parameters: What differs from the specification.

        Returns:
            Shape (..., D).
        """
        lead, state, control, contacts, rows = self._flat(state, control, contacts, parameters)
        next_state = self._step_for(state, control, contacts, rows)(state, control, contacts)
        return self._change(state, next_state).reshape(*lead, self.codec.dim)

    def with_forces(
        self,
        state: Tensor,
        control: Tensor,
        contacts: Contacts | None = None,
        parameters: PhysicalParameters | None = None,
        joints: bool = True,
        memory: Tensor | None = None,
    ) -> tuple[Tensor, BodyForces]:
        """The change of state, and the forces that made it, with what joints carry if that is asked for; the other
        arguments are those of :meth:`forward` and :meth:`remembering`. Forces have no gradients where the kernel takes
        the step.
        """
        lead, state, control, contacts, rows = self._flat(state, control, contacts, parameters)
        next_state, forces = self._taken_with_forces(state, control, contacts, rows, joints, memory)
        change = self._change(state, next_state).reshape(*lead, self.codec.dim)
        return change, forces.map(lambda each: each.reshape(*lead, *each.shape[1:]))

    @property
    def has_memory(self) -> bool:
        """Whether friction keeps its anchors from step to step, see :mod:`nerd_core.mechanics.friction_anchors`."""
        return isinstance(self.solver, ConstraintSolver) and self.solver.has_memory

    def new_memory(self, count: int, like: Tensor) -> Tensor:
        """The memory of friction of so many environments that nothing has touched yet, shape (count, K, 12).

        Args:
            count: Environments.
            like: A tensor on the device and of the type of states.
        """
        return like.new_zeros(count, len(self.solver.contacts.slots), ANCHORS * ANCHOR_DIM)

    @torch.no_grad()
    def remembering(
        self,
        state: Tensor,
        control: Tensor,
        contacts: Contacts | None,
        memory: Tensor,
        parameters: PhysicalParameters | None = None,
    ) -> Tensor:
        """The change of state with a memory of friction, which is changed in place. Without gradients.

        Args:
            state: States, shape (M, S).
            control: Efforts held over the step [N m or N], shape (M, C).
            contacts: Contacts of ``state`` of all slots.
            memory: What the step before left, or :meth:`new_memory`, shape (M, K, 12).
            parameters: What differs from the specification.
        """
        _, state, control, contacts, rows = self._flat(state, control, contacts, parameters)
        kernel = self._kernel_for(state, control, contacts, rows)
        if kernel is not None:
            return self._change(state, kernel(state, control, contacts, rows, memory))
        own = self if rows is None else self.with_parameters(rows)
        return self._change(state, own._next_state(state, control, contacts, memory=memory))

    def smoothed(self, smoothing_time: float) -> Mechanics:
        """The same mechanics with smoother contacts, see :attr:`MechanicsCfg.smoothing_time`; weights are shared."""
        if not isinstance(self.solver, ConstraintSolver):
            return self  # contacts that give way are smooth
        share = smooth_share(self.spec.physics_dt / self.solver.substeps, smoothing_time)
        return altered(self, {}, {"solver": altered(self.solver, {}, smooth_share=share)}, _kernels={}, _gradients={})

    def update_statistics(self, state: Tensor, control: Tensor, contacts: Contacts | None) -> None:
        """Takes transitions of the training data into the units of what networks inside see: here there are none."""

    def finalise_statistics(self) -> None:
        """Fixes those units."""

    def penalty(self) -> Tensor | float:
        """What networks inside add to the loss."""
        return 0.0

    @property
    def gravity(self) -> Tensor:
        """Gravity, environment axes [m/s^2], shape (3, 1 or M)."""
        return self._gravity

    def with_parameters(self, rows: PhysicalParameters) -> Mechanics:
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

    def _flat(
        self, state: Tensor, control: Tensor, contacts: Contacts | None, parameters: PhysicalParameters | None
    ) -> tuple[torch.Size, Tensor, Tensor, Contacts | None, PhysicalParameters | None]:
        """The leading dimensions of states, and everything with one of them; parameters as rows, None for none."""
        lead, rows = state.shape[:-1], None
        if parameters is not None and parameters.given:
            rows = parameters.rows(self.spec, lead, state)
        state = state.reshape(-1, self.spec.state.dim)
        return lead, state, self._flat_control(control, state.shape[0]), self._contacts_of(state, contacts), rows

    def _flat_control(self, control: Tensor, count: int) -> Tensor:
        """Controls as a step takes them, shape (M, C), of ``count`` states."""
        return control.reshape(count, self._effort_matrix.shape[1])

    def _contacts_of(self, state: Tensor, contacts: Contacts | None) -> Contacts | None:
        """Contacts with the leading dimension of states (M, S); None for a robot that touches nothing."""
        if not self.solver.max_contacts:
            return None
        count, slots, name = state.shape[0], len(self.spec.slots), self.spec.name
        if contacts is None:
            raise ValueError(f"got no contacts for the solver of '{name}', expected those of its {slots} slots")
        if contacts.distance.shape[-1:] != (slots,) or contacts.distance.numel() not in (slots, slots * count):
            raise ValueError(
                f"got contacts of shape {tuple(contacts.distance.shape)} for {count} states of '{name}', expected one "
                f"of {slots} slots for each state, or one for all"
            )
        contacts = contacts.reshape(-1)
        return contacts.map(lambda each: each.expand(count, *each.shape[1:])) if contacts.lead != (count,) else contacts

    def _step_for(
        self, state: Tensor, control: Tensor, contacts: Contacts | None, rows: PhysicalParameters | None
    ) -> Step:
        """What takes this step: the kernel where it can, with its adjoint where gradients are asked for, else
        PyTorch.
        """
        inputs = [state, control, *self.solver.parameters(), *(() if contacts is None else contacts.tensors()[:2])]
        inputs += [] if rows is None else [getattr(rows, name) for name in rows.given]
        wants_gradient = torch.is_grad_enabled() and any(each.requires_grad for each in inputs)
        kernel, kind = self._kernel_for(state, control, contacts, rows), _kind(state, rows)
        if kernel is None:
            return self._torch_step(rows)
        if not wants_gradient:
            return partial(kernel, rows=rows)
        if kind not in self._gradients:
            states, controls = _finite(state, control)
            if not len(states):
                return self._torch_step(rows)  # there will be other states
            parameters = self._trial_parameters(state, kind)
            args = self.spec, kernel, states, controls, self._torch_step, parameters
            self._gradients[kind] = verified_gradient(*args)
        gradient = self._gradients[kind]
        return self._torch_step(rows) if gradient is None else partial(gradient, rows=rows)

    def _torch_step(self, rows: PhysicalParameters | None) -> Step:
        """The step in PyTorch."""
        return (self if rows is None else self.with_parameters(rows))._next_state

    def _trial_parameters(self, state: Tensor, kind: tuple[torch.device, bool | None]) -> PhysicalParameters | None:
        """Parameters by which kernels of a kind are tried."""
        drives = kind[1]
        return None if drives is None else trial_parameters(self.spec, drives).map(lambda each: each.to(state))

    def _taken_with_forces(
        self,
        state: Tensor,
        control: Tensor,
        contacts: Contacts | None,
        rows: PhysicalParameters | None,
        joints: bool,
        memory: Tensor | None = None,
    ) -> tuple[Tensor, BodyForces]:
        """The states at the end of a control step, and the forces in it, of M environments."""
        own, kernel = self if rows is None else self.with_parameters(rows), None
        if not torch.is_grad_enabled():
            kernel = self._kernel_for(state, control, contacts, rows)
        if kernel is not None:
            next_state, kept = kernel.with_forces(state, control, contacts, rows, memory)
        else:
            recorder = ForceRecorder(self.spec)
            next_state, kept = own._next_state(state, control, contacts, recorder, memory), recorder.kept()
        joint_wrenches = self._wrenches(own, kept, rows) if joints else ()
        return next_state, BodyForces(kept.normal, kept.friction, *joint_wrenches)

    def _kernel_for(
        self, state: Tensor, control: Tensor, contacts: Contacts | None, rows: PhysicalParameters | None
    ) -> RobotKernel | None:
        """The kernel, if there is one and it can take this step: in single precision, and differentiated backwards at
        most.
        """
        if self.actuators.source is not None or self.actuators.remembering:
            return None
        if torch.compiler.is_compiling() or differentiated_otherwise():
            return None
        if not isinstance(self.solver, ConstraintSolver) or self.solver.contacts.own is not None:
            return None  # contacts that give way are not in the kernel
        if self.solver.smooth_share < 1.0:
            return None  # nor are smooth ones
        tensors = [state, control, self.solver.constants, *(() if contacts is None else contacts.tensors()[:2])]
        if any(each.dtype != torch.float32 or each.device != state.device for each in tensors):
            return None
        kind = _kind(state, rows)
        if kind not in self._kernels:
            states, controls = _finite(state, control)
            if not len(states):
                return None  # there will be other states
            parameters = self._trial_parameters(state, kind)
            args = self.spec, self.solver, self._ramp_mean, states, controls
            self._kernels[kind] = verified_kernel(*args, self._torch_step(parameters), parameters)
        return self._kernels[kind]

    def _change(self, state: Tensor, next_state: Tensor) -> Tensor:
        """The change of state to a next one whose root is counted from where it began."""
        if not self._root_dim:
            return self.codec.encode(state, next_state)
        # From a root at the origin: differences of places far from it would be rounded.
        pos = self.spec.state.root_pos
        return self.codec.encode(torch.cat((torch.zeros_like(state[:, pos]), state[:, pos.stop :]), dim=-1), next_state)

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
        anchors = None
        if memory is not None:
            anchors = FrictionAnchors.read(memory, state[:, self.spec.state.root_pos] if self._root_dim else None)
        with exact_products(state.device):
            next_state, anchors = self._advance(state, control, contacts, recorder, anchors)
        if memory is not None and anchors is not None:
            memory.copy_(anchors.written())
        return next_state

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


def _kind(state: Tensor, rows: PhysicalParameters | None) -> tuple[torch.device, bool | None]:
    """Which kernel a step takes: of a device, and whether drives are other than the specification's."""
    return state.device, None if rows is None else bool(OF_DRIVES & set(rows.given))


def _finite(state: Tensor, control: Tensor) -> tuple[Tensor, Tensor]:
    """The first of the states that are finite with their controls, for a trial."""
    finite = (state.isfinite().all(-1) & control.isfinite().all(-1)).nonzero().flatten()[:TRIAL_STATES]
    return state[finite].detach(), control[finite].detach()


def _products(matrix: Tensor, *vectors: Tensor) -> Sequence[Tensor]:
    """Products of symmetric matrices, shape (M, N, N), with vectors, each of shape (N, M)."""
    rows = torch.stack(vectors).permute(2, 0, 1).contiguous()
    return torch.bmm(rows, matrix).permute(1, 2, 0).contiguous().unbind()


__all__ = ["Mechanics"]
