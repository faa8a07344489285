# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Builds the specification of a robot from the running simulation.

Names, order, limits and drives are read from the articulation, the kinematic tree and the collision shapes from the
USD stage. What is read from the stage is checked against the engine: forward kinematics of the specification must give
the link poses that the engine reports, or the specification is refused.
"""

from __future__ import annotations

import dataclasses
import hashlib
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from nerd_core.robot.kinematics import ForwardKinematics
from nerd_core.robot.parts import DriveKind
from nerd_core.robot.spec import Body, ContactSlot, Control, ControlKind, Inertia, Joint, Mimic, RobotSpec, SpecError

from .actuators import nominal_values, read_actuators
from .authored_properties import body_damping, drive_kind, mimic_of, other_forces, solver_iterations
from .collision_slots import shapes_of_body, slots_by_shape, slots_of_body
from .engine_numbers import NO_LIMIT, six_digits
from .free_body import FreeBody
from .self_collisions import touching_bodies
from .surface_materials import ground_material, shape_materials

if TYPE_CHECKING:
    from isaaclab.assets import Articulation
    from isaaclab.envs import ManagerBasedEnv
    from pxr import Usd

CONTROL_KINDS: tuple[ControlKind, ...] = ("effort", "position", "velocity")
"""Kinds of control channels, in the order in which they stand in a specification made here."""

REPORTING_SCHEMAS = ("PhysxContactReportAPI",)
"""Schemas that change what the engine tells and not what it does: a task with contact sensors has the same robot as one
without."""

TRIALS = 3
"""Random actions that are tried to find the controls: each after the first shows which targets respond."""

JOINT_DATA = {
    "stiffness": "joint_stiffness",
    "damping": "joint_damping",
    "armature": "joint_armature",
    "friction": "joint_friction_coeff",
    "effort_limit": "joint_effort_limits",
    "target": "joint_pos_target",
    "dynamic_friction": "joint_dynamic_friction_coeff",
    "viscous_friction": "joint_viscous_friction_coeff",
    "velocity_limit": "joint_vel_limits",
}
"""Fields of a joint in a specification, and where Isaac Lab has them."""

SETTINGS = {"effort_limit": "joint_effort_limit", "velocity_limit": "joint_velocity_limit"}
"""Fields that have another name in the configuration of an actuator."""

LIMITS = ("effort_limit", "velocity_limit")
"""Those of them that may be infinite."""

KINEMATICS_TOLERANCE = 2.0e-3
"""Largest distance between a link's position by the specification and by the engine [m]."""


@dataclass
class _JointPrim:
    """A joint as the USD stage describes it, seen from parent to child."""

    name: str
    axis: str
    parent: str
    child: str
    parent_pos: tuple
    parent_quat: tuple
    child_pos: tuple
    child_quat: tuple
    is_flipped: bool
    drive: DriveKind
    mimic: Mimic | None
    prim: Usd.Prim


def describe_robot(env: ManagerBasedEnv, robot: Articulation, name: str, controls: tuple[Control, ...]) -> RobotSpec:
    """The specification of a robot as it stands in a running environment.

    Args:
        env: Environment whose simulation is playing.
        robot: Articulation in its scene.
        name: Name for the robot.
        controls: Control channels, see :func:`find_controls`.

    Raises:
        SpecError: The stage and the engine disagree, or the robot has joints that a specification cannot express.
    """
    stage, root_path = env.sim.stage, _first_prim_path(robot)
    prims = _bodies_by_name(stage, root_path, robot.body_names)
    joint_prims = _joint_prims(stage, root_path, {prim.GetPath(): body for body, prim in prims.items()})
    bodies, axes = _kinematic_tree(name, robot, joint_prims)
    others = {body: [prim for other, prim in prims.items() if other != body] for body in robot.body_names}
    shapes = [shape for body in robot.body_names for shape in shapes_of_body(prims[body], others[body])]
    materials, slots = iter(shape_materials(robot, shapes)), list[ContactSlot]()
    for body in robot.body_names:
        slots += slots_of_body(body, prims[body], others[body], materials)
    iterations = solver_iterations(stage, root_path, isinstance(robot, FreeBody))
    pose = robot.data.root_link_pose_w.torch[0].cpu()
    origin = env.scene.env_origins[0].cpu()
    spec = RobotSpec(
        name=name,
        floating_base=not robot.is_fixed_base,
        joints=_joints(robot, axes, joint_prims),
        bodies=tuple(
            dataclasses.replace(body, inertia=inertia, **body_damping(prims[body.name]))
            for body, inertia in zip(bodies, _inertias(robot), strict=True)
        ),
        controls=controls,
        physics_dt=float(env.physics_dt),
        decimation=int(env.cfg.decimation),
        slots=tuple(dataclasses.replace(slot, point=_rounded(slot.point)) for slot in slots),
        gravity=_rounded(env.cfg.sim.gravity),
        root_pos=place_in_env(pose[:3], origin) if robot.is_fixed_base else (0.0, 0.0, 0.0),
        root_quat=_rounded(pose[3:].tolist()) if robot.is_fixed_base else (0.0, 0.0, 0.0, 1.0),
        asset_hash=_asset_hash(stage, root_path),
        tendons=(*getattr(robot, "fixed_tendon_names", ()), *getattr(robot, "spatial_tendon_names", ())),
        other_forces=other_forces(each.prim for each in joint_prims.values()),
        ground=ground_material(env),
        position_iterations=iterations[0],
        velocity_iterations=iterations[1],
        touching_bodies=touching_bodies(stage, root_path, bodies, slots, prims),
    )
    _check_kinematics(env, robot, spec)
    return spec


def shape_of_slots(env: ManagerBasedEnv, robot: Articulation) -> list[int]:
    """Number of the collision shape, in the order of the engine, to which each slot of a specification belongs.

    Args:
        env: Environment whose simulation is playing.
        robot: Articulation in its scene.
    """
    prims = _bodies_by_name(env.sim.stage, _first_prim_path(robot), robot.body_names)
    counts: list[int] = []
    for body, prim in prims.items():
        counts += slots_by_shape(prim, [each for other, each in prims.items() if other != body])
    return [shape for shape, count in enumerate(counts) for _ in range(count)]


def find_controls(env: ManagerBasedEnv, robot: Articulation) -> tuple[Control, ...]:
    """The control channels that the task's action terms move, found by trying.

    Random actions are processed and applied, without stepping physics, and the targets of the actuators that respond
    are the channels. So every action term works, those of other packages included. Targets, action terms and random
    states are put back as they were.
    """
    targets = {
        "effort": robot.data.joint_effort_target.torch,
        "position": robot.data.joint_pos_target.torch,
        "velocity": robot.data.joint_vel_target.torch,
    }
    kept = {kind: target.clone() for kind, target in targets.items()}
    shape = (env.num_envs, env.action_manager.total_action_dim)
    generator = torch.Generator().manual_seed(0)
    moved = {kind: torch.zeros(len(robot.joint_names), dtype=torch.bool, device=env.device) for kind in targets}
    seen: dict[str, torch.Tensor] = {}
    with torch.random.fork_rng(devices=[]):
        for _ in range(TRIALS):
            action = torch.rand(shape, generator=generator).to(env.device) * 2.0 - 1.0
            env.action_manager.process_action(action)
            env.action_manager.apply_action()
            for kind, target in targets.items():
                if kind in seen:
                    moved[kind] |= (target != seen[kind]).any(dim=0)
                seen[kind] = target.clone()
    env.action_manager.reset()
    for kind, target in targets.items():
        target.copy_(kept[kind])
    return tuple(
        Control(joint, kind)
        for kind in CONTROL_KINDS
        for joint, is_moved in zip(robot.joint_names, moved[kind].tolist(), strict=True)
        if is_moved
    )


def control_range(
    env: ManagerBasedEnv, robot: Articulation, spec: RobotSpec, reach: float = 1.0
) -> tuple[torch.Tensor, torch.Tensor]:
    """Smallest and largest value of each control that actions up to a size lead to, each of shape (C,).

    Found by applying the smallest and the largest action in the present state, so it is exact for terms that scale each
    action by itself, and a first guess for others. Targets and action terms are put back as they were.

    Args:
        env: Environment whose simulation is playing.
        robot: Articulation in its scene.
        spec: Its specification.
        reach: Largest action to either side.
    """
    from .robot_state import RobotState

    reader = RobotState(robot, spec, env.scene.env_origins)
    kept, found = reader.read_control(), []
    for value in (-reach, reach):
        action = torch.full((env.num_envs, env.action_manager.total_action_dim), value, device=env.device)
        env.action_manager.process_action(action)
        env.action_manager.apply_action()
        found.append(reader.read_control())
    env.action_manager.reset()
    reader.write_control(kept)
    both = torch.cat(found)
    return both.amin(dim=0), both.amax(dim=0)


def _joints(robot: Articulation, axes: dict[str, tuple], joint_prims: dict[str, _JointPrim]) -> tuple[Joint, ...]:
    """Degrees of freedom with the limits, drives and friction that the engine holds."""
    data = robot.data
    limits = data.joint_pos_limits.torch[0].tolist()
    columns = {  # not every engine knows every one of them
        field: nominal_values(robot, SETTINGS.get(field, field), getattr(data, name).torch)
        for field, name in JOINT_DATA.items()
        if hasattr(data, name)
    }
    actuators = read_actuators(robot)
    joints = []
    for i, joint in enumerate(robot.joint_names):
        values: dict[str, Any] = {
            field: (_bound if field in LIMITS else _round)(column[i]) for field, column in columns.items()
        }
        joints.append(
            Joint(
                name=joint,
                kind="prismatic" if axes[joint][0] else "revolute",
                axis=axes[joint][1],
                lower=_bound(limits[i][0]),
                upper=_bound(limits[i][1]),
                drive=joint_prims[joint].drive,
                mimic=joint_prims[joint].mimic,
                actuator=actuators[joint],
                **values,
            )
        )
    return tuple(joints)


def _inertias(robot: Articulation) -> list[Inertia]:
    """Inertias of the bodies as the engine holds them in the first environment."""
    data = robot.data
    masses, centres = data.body_mass.torch[0].tolist(), data.body_com_pose_b.torch[0, :, :3].tolist()
    matrices = data.body_inertia.torch[0].reshape(-1, 9).tolist()
    return [
        Inertia(
            six_digits(mass),
            _rounded(centre),
            (six_digits(m[0]), six_digits(m[4]), six_digits(m[8])),
            (six_digits(m[1]), six_digits(m[2]), six_digits(m[5])),
        )
        for mass, centre, m in zip(masses, centres, matrices, strict=True)
    ]


def _kinematic_tree(
    name: str, robot: Articulation, joint_prims: dict[str, _JointPrim]
) -> tuple[tuple[Body, ...], dict[str, tuple[bool, tuple]]]:
    """Bodies in the order of the engine, and for each joint whether it slides and its axis."""
    by_child = {joint.child: joint for joint in joint_prims.values()}
    bodies, axes = [], {}
    for i, body in enumerate(robot.body_names):
        joint = by_child.get(body)
        if i == 0:
            bodies.append(Body(body))
            continue
        if joint is None:
            raise SpecError(f"robot '{name}': no joint of the stage carries the body '{body}'")
        is_dof = joint.name in robot.joint_names
        if is_dof:
            kind, letter = joint.axis.split(":")
            sign = -1.0 if joint.is_flipped else 1.0
            axes[joint.name] = (kind == "prismatic", tuple(sign * (letter == axis) + 0.0 for axis in "XYZ"))
        bodies.append(
            Body(
                body,
                parent=joint.parent,
                joint=joint.name if is_dof else None,
                parent_pos=joint.parent_pos,
                parent_quat=joint.parent_quat,
                child_pos=joint.child_pos,
                child_quat=joint.child_quat,
            )
        )
    missing = sorted(set(robot.joint_names) - set(axes))
    if missing:
        raise SpecError(
            f"robot '{name}': the joints {missing} are neither revolute nor prismatic on the stage; "
            "a specification knows one degree of freedom a joint"
        )
    return tuple(bodies), axes


def _joint_prims(stage: Usd.Stage, root_path: str, body_by_path: dict) -> dict[str, _JointPrim]:
    """Joints between two bodies of the robot, by name."""
    from pxr import Usd, UsdPhysics

    found: dict[str, _JointPrim] = {}
    order = list(body_by_path.values())
    for prim in Usd.PrimRange(stage.GetPrimAtPath(root_path), Usd.TraverseInstanceProxies()):
        if not prim.IsA(UsdPhysics.Joint):
            continue
        joint = UsdPhysics.Joint(prim)
        ends = [_target_body(rel, body_by_path) for rel in (joint.GetBody0Rel(), joint.GetBody1Rel())]
        if ends[0] is None or ends[1] is None:
            continue
        frames = [
            (_rounded(joint.GetLocalPos0Attr().Get() or (0, 0, 0)), _quat(joint.GetLocalRot0Attr().Get())),
            (_rounded(joint.GetLocalPos1Attr().Get() or (0, 0, 0)), _quat(joint.GetLocalRot1Attr().Get())),
        ]
        is_flipped = order.index(ends[0]) > order.index(ends[1])
        if is_flipped:
            ends.reverse()
            frames.reverse()
        axis = ""
        if prim.IsA(UsdPhysics.RevoluteJoint):
            axis = "revolute:" + UsdPhysics.RevoluteJoint(prim).GetAxisAttr().Get()
        elif prim.IsA(UsdPhysics.PrismaticJoint):
            axis = "prismatic:" + UsdPhysics.PrismaticJoint(prim).GetAxisAttr().Get()
        found[prim.GetName()] = _JointPrim(
            prim.GetName(),
            axis,
            ends[0],
            ends[1],
            *frames[0],
            *frames[1],
            is_flipped,
            drive_kind(prim),
            mimic_of(prim),
            prim,
        )
    return found


def _target_body(relationship, body_by_path: dict) -> str | None:
    targets = relationship.GetTargets()
    return body_by_path.get(targets[0]) if targets else None


def _bodies_by_name(stage: Usd.Stage, root_path: str, names: list[str]) -> dict[str, Usd.Prim]:
    """Prims of the robot's rigid bodies, in the order of the engine."""
    from pxr import Usd, UsdPhysics

    prims = {
        prim.GetName(): prim
        for prim in Usd.PrimRange(stage.GetPrimAtPath(root_path), Usd.TraverseInstanceProxies())
        if prim.HasAPI(UsdPhysics.RigidBodyAPI)
    }
    missing = [name for name in names if name not in prims]
    if missing:
        raise SpecError(f"the bodies {missing} are not on the stage under '{root_path}'; it has {sorted(prims)}")
    return {name: prims[name] for name in names}


def _first_prim_path(robot: Articulation) -> str:
    from isaaclab.sim.utils import find_first_matching_prim

    prim = find_first_matching_prim(robot.cfg.prim_path)
    if prim is None:
        raise SpecError(f"no prim matches the robot's path '{robot.cfg.prim_path}'")
    return prim.GetPath().pathString


def _asset_hash(stage: Usd.Stage, root_path: str) -> str:
    """SHA-256 of the robot's description: the flattened prims below its root, without where it stands."""
    from pxr import Sdf, Usd

    flat = stage.Flatten(False)
    digest = hashlib.sha256()
    layer = Sdf.Layer.CreateAnonymous(".usda")
    Sdf.CreatePrimInLayer(layer, "/Robot")
    Sdf.CopySpec(flat, Sdf.Path(root_path), layer, Sdf.Path("/Robot"))
    copy = Usd.Stage.Open(layer)
    for prim in copy.Traverse():
        if prim.GetPath() == Sdf.Path("/Robot"):
            continue
        schemas = [schema for schema in prim.GetAppliedSchemas() if schema not in REPORTING_SCHEMAS]
        digest.update(f"{prim.GetPath()} {prim.GetTypeName()} {schemas}\n".encode())
        for attribute in sorted(prim.GetAuthoredAttributes(), key=lambda a: a.GetName()):
            if attribute.GetNamespace().split(":")[0] in ("physics", "physxJoint", "drive", "xformOp", "physxLimit"):
                digest.update(f"  {attribute.GetName()} {attribute.Get()}\n".encode())
    return digest.hexdigest()


def _check_kinematics(env: ManagerBasedEnv, robot: Articulation, spec: RobotSpec) -> None:
    """Raises :class:`SpecError` unless the specification's kinematics agree with the engine's."""
    from .robot_state import RobotState

    env.sim.physics_manager.forward()
    state = RobotState(robot, spec, env.scene.env_origins).read()[:1].cpu()
    poses = ForwardKinematics(spec)(state)
    actual = robot.data.body_link_pose_w.torch[:1, :, :3].cpu() - env.scene.env_origins[:1, None].cpu()
    error = (poses.pos - actual).norm(dim=-1)[0]
    worst = int(error.argmax())
    if not float(error[worst]) < KINEMATICS_TOLERANCE:
        raise SpecError(
            f"robot '{spec.name}': the kinematic tree read from the stage puts the body '{spec.body_names[worst]}' "
            f"{float(error[worst]):.4f} m from where the engine has it (tolerated: {KINEMATICS_TOLERANCE} m). "
            "Closed loops and scaled joint frames are not supported"
        )


def place_in_env(position: torch.Tensor, origin: torch.Tensor) -> tuple[float, float, float]:
    """Where a robot stands beside the origin of its environment [m], to a hundredth of a millimetre. The origins of
    large scenes are tens of metres away, where single precision tells no micrometres: a robot must not have another
    specification because it stands among more of its kind.

    Args:
        position: Position in the world [m], shape (3,).
        origin: Origin of the environment [m], shape (3,).
    """
    x, y, z = (round(value, 5) + 0.0 for value in (position - origin).tolist())
    return x, y, z


def _quat(value) -> tuple[float, float, float, float]:
    """A USD quaternion as xyzw."""
    if value is None:
        return (0.0, 0.0, 0.0, 1.0)
    imaginary = value.GetImaginary()
    return _rounded((imaginary[0], imaginary[1], imaginary[2], value.GetReal()))


def _round(value: float) -> float:
    """Six significant digits and seven decimals: the noise of single precision must not change a hash."""
    return round(six_digits(value), 7) + 0.0


def _rounded(values) -> tuple:
    return tuple(_round(value) for value in values)


def _bound(value: float) -> float:
    """A limit, infinite where the engine writes 'no limit' as a huge number."""
    return math.inf if value > NO_LIMIT else -math.inf if value < -NO_LIMIT else _round(value)
