# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The kernel of one robot on one device: the tables that it reads, and how it is launched."""

from __future__ import annotations

import math
from typing import Any

import torch
import warp as wp
from torch import Tensor

from ...contact.contacts import Contacts
from ...robot.frames import rotation_matrix
from ...robot.kinematics import local_transforms
from ...robot.physical_parameters import PhysicalParameters
from ...robot.slots import shapes_of_slots
from ...robot.spec import IDENTITY_QUAT, RobotSpec
from ..actuators import Actuators
from ..body_damping import BodyDamping, is_special
from ..constants import LEARNED, UNLIMITED, VERY_FAR
from ..constraint_solver import ConstraintSolver
from ..forces import StepForces
from ..joint_drives import has_friction, slows_others
from ..rules import Rules
from .actuators import ActuatorParameters
from .body_damping import DampingParameters
from .constraint_solver import SolverParameters
from .contact_constraints import SlotParameters
from .forces import ForceArrays, new_forces
from .friction_anchors import VECTORS
from .joint_drives import DriveParameters
from .joint_stops import JointParameters
from .launcher import Launcher
from .mimic_joints import MimicParameters
from .multibody import BodyParameters
from .physical_parameters import ReadRows, parameter_rows
from .rules import FACTORS_PADDED, Factors
from .shape_pairs import PairParameters, PartParameters, pair_tables
from .step import make_kernel
from .structures import make_types
from .tables import Inputs, RobotTables, Sizes, StateLayout
from .verification import OF_DRIVES


class RobotKernel:
    """Steps one robot on one device, without gradients. Weights are read anew in each call."""

    def __init__(
        self,
        spec: RobotSpec,
        solver: ConstraintSolver,
        ramp_mean: float,
        device: torch.device,
        parameters: PhysicalParameters | None = None,
    ):
        """Makes the tables and compiles the kernel, which takes seconds, or finds it in Warp's cache.

        Args:
            spec: The robot.
            solver: Its solver of contacts, stops and drives.
            ramp_mean: Share of a change of velocity by applied forces that acts in the mean over a physics step.
            device: Where states live.
            parameters: Some of what will differ from the specification, if anything will.
        """
        with wp.ScopedLogLevel(wp.LOG_WARNING):
            wp.init()
        self.solver, self.device = solver, wp.device_from_torch(device)
        self._actuators = Actuators(spec)
        self._is_driven = any(solver.drives.is_driven) or (
            parameters is not None and bool(OF_DRIVES & set(parameters.given))
        )
        self.no_parameters, self._read_rows = parameter_rows(None, self.device), ReadRows(self.device)
        slots = _slots(spec, solver) if solver.max_contacts else []
        self._has_slots = bool(slots)
        self.sizes = sizes = Sizes(
            velocities=solver.multibody.dim,
            bodies=len(spec.bodies),
            joints=len(spec.joints),
            drives=len(spec.joints) if self._is_driven else 0,
            is_coupled=bool(solver.mimics.constraints),
            is_actuated=bool(self._actuators.joints),
            is_damped=any(map(is_special, spec.bodies)),
            slots=len(slots),
            max_contacts=solver.contacts.ground_contacts,
            max_meetings=solver.max_contacts - solver.contacts.ground_contacts,
            hidden=max(1, solver.cfg.hidden),
            has_parameters=parameters is not None,
            has_patches=solver.law.has_patches,
            has_capsules=solver.law.links_in_turn and bool(solver.contacts.lower_ends.any()),
        )
        self.types = make_types(sizes)
        self._kernel, self._no_trace = make_kernel(sizes, self.types), self.types.trace()
        self._telling: wp.Kernel | None = None
        self.no_forces = ForceArrays()
        self.load(self._kernel)
        self.tables = self._tables(spec, ramp_mean, slots, parameters is not None)
        self._feature_scales = wp.array(solver.cfg.feature_scales, dtype=wp.float32, device=self.device)
        none = torch.zeros(1, 0, dtype=torch.float32, device=device)
        self._no_contacts = none, none.new_zeros(1, 0, 3), none.bool()
        self._launcher = Launcher(self.device)
        wp.synchronize_device(self.device)  # the tables were sent on a stream of Warp's own

    def _tables(self, spec: RobotSpec, ramp_mean: float, slots: list[Any], limits_matter: bool) -> Any:
        """What stays the same of the robot, on the device."""
        root_dim, solver = self.solver.multibody.root_dim, self.solver
        supporting = [spec.joint_names.index(body.joint) for body in spec.bodies if body.joint is not None]
        velocities = {joint: root_dim + number for number, joint in enumerate(supporting)}
        controlled = [
            velocities[number] if control.kind == "effort" and number not in self._actuators.joints else -1
            for control in spec.controls
            for number in [spec.joint_names.index(control.joint)]
        ]
        drives = _drives(spec, solver, limits_matter) if self._is_driven else []
        robot, device = RobotTables(), self.device
        robot.floating, robot.layout, robot.solver = int(spec.floating_base), _layout(spec), _numbers(spec, solver)
        robot.decimation, robot.ramp_mean, robot.gravity = spec.decimation, ramp_mean, wp.vec3(*spec.gravity)
        robot.tree = wp.array(_bodies(spec, velocities), dtype=BodyParameters, device=device)
        robot.joints = wp.array(_joints(spec, solver, velocities), dtype=JointParameters, device=device)
        robot.drives = wp.array(drives, dtype=DriveParameters, device=device)
        laws, tables = _actuators(spec, self._actuators, velocities)
        robot.actuators = wp.array(laws, dtype=ActuatorParameters, device=device)
        robot.effort_tables = wp.array(tables, dtype=wp.vec2, device=device)
        robot.mimics = wp.array(_mimics(solver), dtype=MimicParameters, device=device)
        damping = _damping(spec) if any(map(is_special, spec.bodies)) else []
        robot.damping = wp.array(damping, dtype=DampingParameters, device=device)
        robot.gravity_mass = BodyDamping(solver.multibody).gravity_mass
        robot.slots = wp.array(slots, dtype=SlotParameters, device=device)
        own = solver.contacts.own
        pairs, parts = ([], []) if own is None else pair_tables(own, solver.contacts.place_of_slot.tolist())
        robot.pairs = wp.array(pairs, dtype=PairParameters, device=device)
        robot.parts = wp.array(parts, dtype=PartParameters, device=device)
        robot.controlled = wp.array(controlled, dtype=wp.int32, device=device)
        return robot

    @torch.no_grad()
    def __call__(
        self,
        state: Tensor,
        control: Tensor,
        contacts: Contacts | None,
        rows: PhysicalParameters | None = None,
        memory: Tensor | None = None,
    ) -> Tensor:
        """States at the end of a control step, the root's position counted from where it began.

        Args:
            state: States, shape (M, S).
            control: Efforts held over the step [N m or N], shape (M, C).
            contacts: Contacts of ``state`` of all slots, leading dimension (M,). None for a robot that touches nothing.
            rows: What :meth:`PhysicalParameters.rows` gave, for a kernel that was made for parameters.
            memory: The memory of friction, shape (M, K, 15), which is changed in place; None for none.
        """
        next_state = torch.empty_like(state)
        arguments = [*self._given(state, control, contacts, rows, memory), self._no_trace, next_state, self.no_forces]
        self.launch(self._kernel, len(state), arguments)
        return next_state

    def with_memory(
        self,
        state: Tensor,
        control: Tensor,
        contacts: Contacts | None,
        memory: Tensor,
        rows: PhysicalParameters | None = None,
    ) -> tuple[Tensor, Tensor]:
        """The next states, and the memory after the step; that before it is kept."""
        after = memory.detach().clone(memory_format=torch.contiguous_format)
        return self(state, control, contacts, rows, after), after

    @torch.no_grad()
    def with_forces(
        self,
        state: Tensor,
        control: Tensor,
        contacts: Contacts | None,
        rows: PhysicalParameters | None = None,
        memory: Tensor | None = None,
    ) -> tuple[Tensor, StepForces]:
        """The next states, and what the step keeps of its forces. The first call compiles a kernel of its own."""
        if self._telling is None:
            self._telling = make_kernel(self.sizes, self.types, tells_forces=True)
            self.load(self._telling)
        next_state, robot = torch.empty_like(state), self.tables
        kept, forces = new_forces(len(state), robot.decimation, self.sizes.bodies, self.sizes.velocities, state)
        arguments = [*self._given(state, control, contacts, rows, memory), self._no_trace, next_state, forces]
        self.launch(self._telling, len(state), arguments)
        return next_state, kept

    def _given(
        self,
        state: Tensor,
        control: Tensor,
        contacts: Contacts | None,
        rows: PhysicalParameters | None,
        memory: Tensor | None,
    ) -> list[Any]:
        """What a kernel reads; arguments as of :meth:`__call__`."""
        distance, normal, active = self.contact_tensors(contacts)
        inner, outer = self.rules()
        tensors = state, control, distance, normal, self.solver.constants.exp(), inner, outer
        tables, weights, inputs, parameters = self.arguments(tensors, active, rows)
        if memory is not None and self._has_slots:
            inputs.memory = anchors_in(memory)
        return [tables, weights, inputs, parameters]

    def load(self, kernel: wp.Kernel) -> None:
        """Compiles a kernel, or finds it in Warp's cache."""
        with wp.ScopedLogLevel(wp.LOG_WARNING):
            kernel.module.load(self.device, block_dim=1 if self.device.is_cpu else None)

    def contact_tensors(self, contacts: Contacts | None) -> tuple[Tensor, Tensor, Tensor]:
        """Distances, normals and whether there is any ground, of no slots for a robot that touches nothing."""
        if contacts is None or not self._has_slots:
            return self._no_contacts
        return contacts.distance, contacts.normal.contiguous(), contacts.active

    def arguments(
        self, tensors: tuple[Tensor, ...], active: Tensor, rows: PhysicalParameters | None = None
    ) -> list[Any]:
        """What the kernels read, as they read it.

        Args:
            tensors: States, controls, distances, normals, constants, and the layers of :meth:`rules`.
            active: Whether there is any ground below slots.
            rows: Physical parameters.
        """
        parameters = self.no_parameters
        if rows is not None and rows.given:
            parameters = self._read_rows(rows)
        state, control, distance, normal, constants, inner, outer = (each.detach() for each in tensors)
        weights, inputs = self.types.weights(), Inputs()
        weights.constants, weights.feature_scales = wp.from_torch(constants), self._feature_scales
        weights.inner = wp.from_torch(inner, dtype=self.types.features)
        weights.outer = wp.from_torch(outer, dtype=Factors)
        inputs.state, inputs.control = wp.from_torch(state), wp.from_torch(control)
        inputs.distance, inputs.normal = wp.from_torch(distance), wp.from_torch(normal, dtype=wp.vec3)
        inputs.active = wp.from_torch(active)
        return [self.tables, weights, inputs, parameters]

    def launch(self, kernel: wp.Kernel, count: int, arguments: list[Any]) -> None:
        """Runs a kernel for so many environments."""
        self._launcher(kernel, count, [wp.from_torch(each) if isinstance(each, Tensor) else each for each in arguments])

    def rules(self) -> tuple[Tensor, Tensor]:
        """Weights of the rules of all substeps with their biases behind them, as the kernel reads them."""
        rules = [each for each in self.solver.rules if isinstance(each, Rules)]
        if not rules:
            none = self.solver.constants.new_zeros(1, 1, FACTORS_PADDED)
            return none[:, :, :1].contiguous(), none
        layers = ([each.inner for each in rules], [each.outer for each in rules])
        inner, outer = (
            torch.stack([torch.cat((layer.weight.t(), layer.bias.unsqueeze(0))) for layer in of_all])
            for of_all in layers
        )
        return inner, torch.nn.functional.pad(outer, (0, FACTORS_PADDED - outer.shape[-1]))


def anchors_in(memory: Tensor) -> wp.array:
    """A memory of friction, shape (M, K, 15), as kernels read and change it."""
    return wp.from_torch(memory.detach().unflatten(2, (VECTORS, 3)), dtype=wp.vec3)


def _bodies(spec: RobotSpec, velocities: dict[int, int]) -> list[Any]:
    """What stays the same of each body."""
    index, bodies = {name: number for number, name in enumerate(spec.body_names)}, []
    transforms = local_transforms(spec)
    for row, body in enumerate(spec.bodies):
        number = None if body.joint is None else spec.joint_names.index(body.joint)
        joint = None if number is None else spec.joints[number]
        local = {name: of_bodies[row] for name, of_bodies in transforms.items()}
        if body.parent is None:  # a root that floats stands at the origin of its own axes
            pose = (IDENTITY_QUAT, (0.0, 0.0, 0.0)) if spec.floating_base else (spec.root_quat, spec.root_pos)
            quat, pos = (torch.tensor(each, dtype=torch.double) for each in pose)
            local["_constant"] = torch.cat((rotation_matrix(quat), pos[:, None]), -1)
        inertia = body.inertia
        assert inertia is not None  # Multibody has looked
        (xx, yy, zz), (xy, xz, yz) = inertia.moments, inertia.products
        child = rotation_matrix(torch.tensor(body.child_quat, dtype=torch.double))
        found = BodyParameters()
        found.parent = -1 if body.parent is None else index[body.parent]
        found.joint = -1 if number is None else number
        found.velocity = -1 if number is None else velocities[number]
        found.is_prismatic = int(joint is not None and joint.kind == "prismatic")
        found.rotation, found.position = _matrix(local["_constant"]), _vector(local["_constant"])
        found.rotation_cos, found.position_cos = _matrix(local["_cosine"]), _vector(local["_cosine"])
        found.rotation_sin, found.position_sin = _matrix(local["_sine"]), _vector(local["_sine"])
        found.slide = _vector(local["_slide"])
        if joint is not None:
            found.axis = wp.vec3(*(child @ torch.tensor(joint.axis, dtype=torch.double)).tolist())
            found.armature = joint.armature
        found.anchor, found.parent_pos = wp.vec3(*body.child_pos), wp.vec3(*body.parent_pos)
        found.mass, found.centre_of_mass = inertia.mass, wp.vec3(*inertia.centre)
        found.inertia = wp.mat33(xx, xy, xz, xy, yy, yz, xz, yz, zz)
        bodies.append(found)
    return bodies


def _joints(spec: RobotSpec, solver: ConstraintSolver, velocities: dict[int, int]) -> list[Any]:
    """What stays the same of each joint, in the order of the solver."""
    joints = []
    for row, number in enumerate(solver.joints.tolist()):
        lower, upper = solver.lower[row].item(), solver.upper[row].item()
        joint = JointParameters()
        joint.place, joint.velocity = number, velocities[number]
        joint.has_stop = int(solver.has_stop[row])
        joint.lower, joint.upper = max(lower, -VERY_FAR), min(upper, VERY_FAR)
        joint.damping, joint.turns_freely = spec.joints[number].damping, int(bool(spec.joints[number].wraps))
        joint.body = next(i for i, body in enumerate(spec.bodies) if body.joint == spec.joints[number].name)
        joint.typical_delassus = solver.typical_delassus[solver.max_contacts + row].item()
        joints.append(joint)
    return joints


def _drives(spec: RobotSpec, solver: ConstraintSolver, limits_matter: bool) -> list[Any]:
    """What stays the same of what acts in each joint, in the order of the solver; with effort limits also where the
    specification's drive would not reach them, if they matter.
    """
    drives, substep_dt = [], spec.physics_dt / solver.substeps
    for row, number in enumerate(solver.joints.tolist()):
        joint, drive = spec.joints[number], DriveParameters()
        drive.body = next(i for i, body in enumerate(spec.bodies) if body.joint == joint.name)
        drive.stiffness, drive.damping = joint.stiffness, joint.damping
        drive.of_acceleration, drive.fixed_target = int(joint.drive == "acceleration"), joint.target
        limit = joint.effort_limit * spec.physics_dt if limits_matter or solver.drives.is_limited[row] else UNLIMITED
        drive.max_impulse, drive.max_speed = min(limit, UNLIMITED), min(joint.velocity_limit, UNLIMITED)
        drive.slows_others = int(slows_others(joint))
        drive.has_friction = int(has_friction(joint))
        drive.static_friction, drive.dynamic_friction = substep_dt * joint.friction, substep_dt * joint.dynamic_friction
        drive.viscous_friction = substep_dt * joint.viscous_friction
        columns = {control.kind: i for i, control in enumerate(spec.controls) if control.joint == joint.name}
        drive.position_control = columns.get("position", -1)
        drive.velocity_control = columns.get("velocity", -1)
        drives.append(drive)
    return drives


def _actuators(spec: RobotSpec, actuators: Actuators, velocities: dict[int, int]) -> tuple[list[Any], list[Any]]:
    """What stays the same of actuators outside of the engine, and their tables one after the other."""
    found, tables = [], []
    for number, law in zip(actuators.joints, actuators.laws, strict=True):
        joint, each = spec.joints[number], ActuatorParameters()
        columns = {control.kind: i for i, control in enumerate(spec.controls) if control.joint == joint.name}
        each.place, each.velocity = number, velocities[number]
        each.stiffness, each.damping, each.effort_limit = law.stiffness, law.damping, min(law.effort_limit, UNLIMITED)
        each.has_motor = int(law.saturation_effort < math.inf and law.velocity_limit < math.inf)
        each.stall_effort, each.no_load_speed = (
            min(law.saturation_effort, UNLIMITED),
            min(law.velocity_limit, UNLIMITED),
        )
        each.fixed_target = joint.target
        each.effort_control, each.position_control, each.velocity_control = (
            columns.get(kind, -1) for kind in ("effort", "position", "velocity")
        )
        each.table_begin, each.table_rows = len(tables), len(law.effort_table)
        tables += [wp.vec2(*row) for row in law.effort_table]
        found.append(each)
    return found, tables


def _mimics(solver: ConstraintSolver) -> list[Any]:
    """What stays the same of each joint that follows another one."""
    mimics = []
    for each in solver.mimics.constraints:
        mimic = MimicParameters()
        for name, value in each._asdict().items():
            setattr(mimic, name, value)
        mimics.append(mimic)
    return mimics


def _damping(spec: RobotSpec) -> list[Any]:
    """What stays the same of gravity and damping of each body."""
    damping = []
    for body in spec.bodies:
        each, fastest = DampingParameters(), 1.0 / spec.physics_dt
        each.linear_damping, each.angular_damping = (
            min(body.linear_damping, fastest),
            min(body.angular_damping, fastest),
        )
        each.gravity_share = float(body.has_gravity) * (1.0 - each.linear_damping * spec.physics_dt)
        each.max_linear_velocity = min(body.max_linear_velocity, UNLIMITED)
        each.max_angular_velocity = min(body.max_angular_velocity, UNLIMITED)
        damping.append(each)
    return damping


def _slots(spec: RobotSpec, solver: ConstraintSolver) -> list[Any]:
    """What stays the same of each slot, in the order of the solver."""
    slots, shapes = [], shapes_of_slots(spec.slots)
    for row, number in enumerate(solver.contacts.slots.tolist()):
        of_spec, slot = spec.slots[number], SlotParameters()
        slot.place, slot.body = number, spec.body_names.index(of_spec.body)
        slot.point, slot.radius, slot.shape = wp.vec3(*of_spec.point), of_spec.radius, shapes[number]
        slot.reach = solver.contacts.reach[row].item()
        slot.turn = len(spec.joints)
        if solver.law.links_in_turn:
            slot.turn, slot.is_lower_end = int(solver.contacts.turns[row]), int(solver.contacts.lower_ends[row])
        if solver.contacts.order is not None:
            slot.has_rivals = int(solver.contacts.order.has_rivals[row])
        slot.static_friction = slot.dynamic_friction = LEARNED
        slots.append(slot)
    return slots


def _numbers(spec: RobotSpec, solver: ConstraintSolver) -> Any:
    """Numbers of the solver."""
    cfg, numbers = solver.cfg, SolverParameters()
    numbers.dt, numbers.substeps, numbers.compliance = spec.physics_dt, solver.substeps, cfg.compliance
    numbers.softening, numbers.body_compliance = 1.0 + solver.law.own_compliance, solver.law.body_compliance
    numbers.friction_share, numbers.friction_floor = solver.law.friction_share, solver.law.friction_floor
    numbers.sliding_speed_squared = solver.law.sliding_speed_squared
    numbers.stops_release, numbers.way_is_bent = int(solver.law.stops_release), int(solver.law.way_is_bent)
    numbers.typical_delassus = solver.typical_delassus[0].item() if solver.max_contacts else 1.0
    numbers.hidden, numbers.sliding_share = cfg.hidden, solver.sliding_share
    numbers.has_patches = int(solver.law.has_patches)
    numbers.touch_order = int(solver.contacts.order is not None)
    return numbers


def _layout(spec: RobotSpec) -> Any:
    """Where the parts of a state begin."""
    at, layout = spec.state, StateLayout()
    layout.root_quat, layout.joint_pos, layout.joint_vel = at.root_quat.start, at.joint_pos.start, at.joint_vel.start
    layout.root_lin_vel, layout.root_ang_vel = at.root_lin_vel.start, at.root_ang_vel.start
    return layout


def _matrix(local: Tensor) -> Any:
    """The rotation in a matrix of shape (3, 4)."""
    return wp.mat33(*local[:, :3].flatten().tolist())


def _vector(local: Tensor) -> Any:
    """The position in a matrix of shape (3, 4)."""
    return wp.vec3(*local[:, 3].tolist())


__all__ = ["RobotKernel", "anchors_in"]
