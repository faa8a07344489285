# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What a kernel reads: the tables of a robot, what a control step begins with, and for which sizes it is compiled."""

from dataclasses import dataclass

import warp as wp

from .actuators import ActuatorParameters
from .body_damping import DampingParameters
from .constraint_solver import SolverParameters
from .contact_constraints import SlotParameters
from .joint_drives import DriveParameters
from .joint_stops import JointParameters
from .mimic_joints import MimicParameters
from .multibody import BodyParameters
from .shape_pairs import PairParameters, PartParameters


@wp.struct
class StateLayout:
    """Where the parts of a state begin."""

    root_quat: int
    joint_pos: int
    root_lin_vel: int
    root_ang_vel: int
    joint_vel: int


@wp.struct
class RobotTables:
    """What stays the same of a robot."""

    floating: int
    """Whether the root floats."""
    layout: StateLayout
    """Where the parts of a state begin."""
    decimation: int
    """Physics steps in a control step."""
    ramp_mean: float
    """Share of a change of velocity by applied forces that acts in the mean over a physics step."""
    gravity: wp.vec3
    """Gravity, environment axes [m/s^2]."""
    tree: wp.array[BodyParameters]
    """The bodies."""
    joints: wp.array[JointParameters]
    """The joints in the order of the solver."""
    drives: wp.array[DriveParameters]
    """What acts in them, in the same order; empty for a robot whose joints are braked at most."""
    actuators: wp.array[ActuatorParameters]
    """What makes efforts outside of the engine; empty for most robots."""
    effort_tables: wp.array[wp.vec2]
    """Tables of their largest efforts over positions, one after the other."""
    mimics: wp.array[MimicParameters]
    """The joints that follow another one."""
    damping: wp.array[DampingParameters]
    """Gravity and damping of all bodies; empty for a robot whose bodies all feel gravity and nothing else."""
    gravity_mass: float
    """Mass on which gravity acts [kg]."""
    slots: wp.array[SlotParameters]
    """The slots that can touch the ground, in the order of the solver; none for a robot that touches nothing."""
    pairs: wp.array[PairParameters]
    """Shapes of the robot that may meet each other; none for most robots."""
    parts: wp.array[PartParameters]
    """Their parts, pair after pair."""
    controlled: wp.array[int]
    """Number of the velocity on which each control is an effort; -1 for one that is a target."""
    solver: SolverParameters
    """Numbers of the solver."""


@wp.struct
class Inputs:
    """What a control step begins with, each with the environments first."""

    state: wp.array2d[float]
    """States."""
    control: wp.array2d[float]
    """Efforts held over the step [N m or N]."""
    distance: wp.array2d[float]
    """Distances of slots from the ground [m]."""
    normal: wp.array2d[wp.vec3]
    """Normals of the ground, environment axes."""
    active: wp.array2d[bool]
    """Whether there is any ground."""
    memory: wp.array3d[wp.vec3]
    """Anchors of friction by slot, which a step changes in place; empty for a step without memory."""


@dataclass(frozen=True)
class Sizes:
    """Numbers for which a kernel is compiled."""

    velocities: int
    """Generalised velocities."""
    bodies: int
    """Bodies."""
    joints: int
    """Joints."""
    drives: int
    """Joints again, or none for a robot whose joints are braked at most."""
    is_coupled: bool
    """Whether any joint follows another."""
    is_actuated: bool
    """Whether any effort is made outside of the engine, from the state of its joint."""
    is_damped: bool
    """Whether any body is damped, slowed, or not pulled by gravity."""
    slots: int
    """Slots that can touch the ground."""
    max_contacts: int
    """Most slots that the solver looks at."""
    max_meetings: int
    """Most contacts between bodies of the robot that it looks at."""
    hidden: int
    """Hidden features of the rules, at least one."""
    has_parameters: bool = False
    """Whether environments may have physical parameters of their own."""
    has_patches: bool = False
    """Whether the contacts of a shape are one patch."""
    has_capsules: bool = False
    """Whether both ends of a capsule may be one patch."""


@wp.func
def copy_numbers(nominal: RobotTables):
    """A copy of the tables of a robot that has none of those that physical parameters change, yet."""
    robot = RobotTables()
    robot.floating = nominal.floating
    robot.layout = nominal.layout
    robot.decimation = nominal.decimation
    robot.ramp_mean = nominal.ramp_mean
    robot.gravity = nominal.gravity
    robot.actuators = nominal.actuators
    robot.effort_tables = nominal.effort_tables
    robot.mimics = nominal.mimics
    robot.damping = nominal.damping
    robot.gravity_mass = nominal.gravity_mass
    robot.pairs = nominal.pairs
    robot.parts = nominal.parts
    robot.controlled = nominal.controlled
    robot.solver = nominal.solver
    return robot


__all__ = ["Inputs", "RobotTables", "Sizes", "StateLayout", "copy_numbers"]
