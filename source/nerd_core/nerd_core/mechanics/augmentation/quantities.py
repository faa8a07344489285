# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The named quantities of a physics step: what a blueprint may read, and what it may change.

A physics step goes through the stages of :class:`Stage` in this order. What is solved for, impulses of contacts, stops
and drives, is no quantity: what it is solved from can be changed, and forces of own be added at every slot.

Example::

    print(table())
    quantity("joint_torque").unit    # "N m or N"
"""

from __future__ import annotations

import math
from enum import Enum
from typing import Literal, NamedTuple

from ...robot.physical_parameters import OWN_SHAPES
from ...robot.spec import RobotSpec

Element = Literal["joint", "body", "slot", "robot"]
"""What a quantity belongs to, each or as a whole."""


class Stage(Enum):
    """Where in a physics step quantities arise, in the order of the step."""

    STATE = "state: where the robot is and how it moves"
    CONTROL = "control: what the controls ask for"
    BODIES = "bodies: mass matrix and gravity"
    FORCES = "forces: what pushes bodies and joints before the solver"
    CONTACTS = "contacts: what the solver of contacts is given"
    JOINTS = "joints: what the solver of drives, friction and stops is given"


class Quantity(NamedTuple):
    """A named quantity."""

    name: str
    """Its name."""
    per: Element
    """What it belongs to."""
    width: int
    """Numbers for each of them."""
    unit: str
    """Unit."""
    stage: Stage
    """Where in the step it arises."""
    meaning: str
    """What it is, with its axes."""
    is_output: bool = False
    """Whether a blueprint may change it."""
    least: float = -math.inf
    """Least value that makes sense."""


def _quantities() -> tuple[Quantity, ...]:
    state, control, bodies, forces, contacts, joints = Stage
    pos, vel, effort = "rad or m", "rad/s or m/s", "N m or N"
    return (
        Quantity("joint_pos", "joint", 1, pos, state, "position of a joint"),
        Quantity("joint_vel", "joint", 1, vel, state, "velocity of a joint"),
        Quantity("root_lin_vel", "robot", 3, "m/s", state, "velocity of the root's origin, axes of the root"),
        Quantity("root_ang_vel", "robot", 3, "rad/s", state, "angular velocity of the root, its axes"),
        Quantity("body_pos", "body", 3, "m", state, "centre of mass from the root's origin, axes of the root"),
        Quantity("body_down", "body", 3, "1", state, "direction of gravity, axes of the body"),
        Quantity("body_lin_vel", "body", 3, "m/s", state, "velocity of the centre of mass, axes of the body"),
        Quantity("body_ang_vel", "body", 3, "rad/s", state, "angular velocity, axes of the body"),
        Quantity("slot_vel", "slot", 3, "m/s", state, "velocity of a contact slot's centre, environment axes"),
        Quantity("effort_target", "joint", 1, effort, control, "effort that the controls ask for; 0 where none do"),
        Quantity("position_target", "joint", 1, pos, control, "position that the controls ask for; 0 where none do"),
        Quantity("velocity_target", "joint", 1, vel, control, "velocity that the controls ask for; 0 where none do"),
        Quantity("gravity", "robot", 3, "m/s^2", bodies, "gravity, environment axes", True),
        Quantity("mass", "body", 1, "kg", bodies, "mass of a body", True, 0.0),
        Quantity("centre_of_mass", "body", 3, "m", bodies, "centre of mass, frame of the body", True),
        Quantity(
            "inertia", "body", 3, "kg m^2", bodies, "moments about the centre of mass, axes of the body", True, 0.0
        ),
        Quantity("armature", "joint", 1, "kg m^2 or kg", bodies, "inertia added to a joint", True, 0.0),
        Quantity("joint_torque", "joint", 1, effort, forces, "effort on a joint, by controls and actuators", True),
        Quantity("body_force", "body", 3, "N", forces, "force on the centre of mass, axes of the body", True),
        Quantity("body_torque", "body", 3, "N m", forces, "torque on a body, axes of the body", True),
        Quantity("external_force", "body", 3, "N", forces, "force on the centre of mass, environment axes", True),
        Quantity("external_torque", "body", 3, "N m", forces, "torque on a body, environment axes", True),
        Quantity("slot_force", "slot", 3, "N", forces, "force at the point of a contact slot next to the ground", True),
        Quantity("contact_distance", "slot", 1, "m", contacts, "gap from slot to ground; its gate where far", True),
        Quantity("static_friction", "slot", 1, "1", contacts, "friction coefficient of a slot at rest", True, 0.0),
        Quantity("dynamic_friction", "slot", 1, "1", contacts, "friction coefficient of a slot that slides", True, 0.0),
        Quantity("restitution", "slot", 1, "1", contacts, "share of the speed of an impact that is left", True, 0.0),
        Quantity("stiffness", "joint", 1, "N m/rad or N/m", joints, "stiffness of a drive", True, 0.0),
        Quantity("damping", "joint", 1, "N m s/rad or N s/m", joints, "damping of a drive", True, 0.0),
        Quantity("effort_limit", "joint", 1, effort, joints, "largest effort of a drive", True, 0.0),
        Quantity("velocity_limit", "joint", 1, vel, joints, "largest speed of a joint", True, 0.0),
        Quantity("joint_friction", "joint", 1, effort, joints, "static friction of a joint", True, 0.0),
        Quantity("joint_dynamic_friction", "joint", 1, effort, joints, "friction of a joint that moves", True, 0.0),
        Quantity("joint_viscous_friction", "joint", 1, "N m s/rad or N s/m", joints, "more of it by speed", True, 0.0),
        Quantity("lower_limit", "joint", 1, pos, joints, "lower stop of a joint", True),
        Quantity("upper_limit", "joint", 1, pos, joints, "upper stop of a joint", True),
    )


QUANTITIES = {each.name: each for each in _quantities()}
"""All quantities by name, in the order of the step."""

PARAMETERS = tuple(name for name in QUANTITIES if name in OWN_SHAPES)
"""Quantities that are fields of :class:`~nerd_core.robot.physical_parameters.PhysicalParameters`."""


def quantity(name: str) -> Quantity:
    """The quantity of a name. Raises ValueError for one that there is not."""
    found = QUANTITIES.get(name)
    if found is None:
        raise ValueError(f"got the quantity '{name[:60]}', expected one of {', '.join(QUANTITIES)}")
    return found


def element_names(spec: RobotSpec, per: Element) -> tuple[str, ...]:
    """Names of what a quantity of a robot belongs to, in the order of the specification; slots by their body with
    their number on it, as ``foot.0``.

    Args:
        spec: The robot.
        per: What it belongs to.
    """
    if per == "joint":
        return tuple(spec.joint_names)
    if per == "body":
        return tuple(spec.body_names)
    if per == "robot":
        return ("robot",)
    counts: dict[str, int] = {}
    names = []
    for slot in spec.slots:
        names.append(f"{slot.body}.{counts.setdefault(slot.body, 0)}")
        counts[slot.body] += 1
    return tuple(names)


def plural(per: Element) -> str:
    """What quantities belong to, of more than one."""
    return "bodies" if per == "body" else f"{per}s"


def table() -> str:
    """All quantities as a table for people, in Markdown."""
    rows = ["| quantity | shape | unit | changed by a blueprint | what it is |", "|---|---|---|---|---|"]
    stage = None
    for each in QUANTITIES.values():
        if each.stage is not stage:
            stage = each.stage
            rows.append(f"| **{stage.value}** | | | | |")
        shape = f"({each.width},)" if each.per == "robot" else f"({plural(each.per)}, {each.width})"
        rows.append(f"| `{each.name}` | {shape} | {each.unit} | {'yes' if each.is_output else ''} | {each.meaning} |")
    return "\n".join(rows)


__all__ = ["PARAMETERS", "QUANTITIES", "Element", "Quantity", "Stage", "element_names", "plural", "quantity", "table"]
