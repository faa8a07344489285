# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Writes a :class:`~nerd_isaaclab.usd.model.UsdRobot` as USDA text that PhysX accepts without a warning.

What the engine wants, and so what every file has: an articulation root above the links; every link a child of it with
mass, centre of mass, principal inertia and principal axes written out (nothing is left to be guessed from shapes);
joints with both local frames; a fixed joint with only ``body1`` for a fixed base; a drive on each joint, silent until a
task gives it gains. No ground and no physics scene: those belong to the task.
"""

from __future__ import annotations

import math

from . import inertia
from .model import NO_ROTATION, Quat, Shape, UsdBody, UsdJoint, UsdRobot, Vec, multiply, turning

_AXES: dict[Vec, str] = {(1.0, 0.0, 0.0): "X", (0.0, 1.0, 0.0): "Y", (0.0, 0.0, 1.0): "Z"}


def header(default_prim: str, facts: dict[str, str]) -> str:
    """Return the head of a USDA file in metres and kilograms, z up.

    Args:
        default_prim: Name of the prim that a reference to the file brings in.
        facts: What the reader of the file should know (source, licence, ...), stored as custom layer data.
    """
    data = "".join(f"        string {key} = {text(value)}\n" for key, value in facts.items())
    return (
        "#usda 1.0\n(\n"
        f"    customLayerData = {{\n{data}    }}\n"
        f"    defaultPrim = {text(default_prim)}\n"
        "    kilogramsPerUnit = 1\n    metersPerUnit = 1\n"
        '    upAxis = "Z"\n)\n'
    )


def robot_text(robot: UsdRobot, facts: dict[str, str]) -> str:
    """Return the USDA text of a robot.

    Args:
        robot: The robot; the poses of its bodies are computed from its joints.
        facts: Source, licence and whatever else the file should say about itself.
    """
    robot = robot.placed()
    lines = [header(robot.name, facts), f"def Xform {text(robot.name)}"]
    metadata = []
    if robot.joints:  # a free body is no articulation: the engine finds none without a joint
        metadata += ['    prepend apiSchemas = ["PhysicsArticulationRootAPI", "PhysxArticulationAPI"]']
    if robot.variants:
        chosen = "".join(f"        string {name} = {text(next(iter(of)))}\n" for name, of in robot.variants.items())
        names = ", ".join(text(name) for name in robot.variants)
        metadata += ["    variants = {", chosen.rstrip("\n"), "    }", f"    prepend variantSets = [{names}]"]
    lines += ["(", *metadata, ")", "{"] if metadata else ["{"]
    if robot.joints:
        lines += ["    bool physxArticulation:enabledSelfCollisions = 0"]
    for body in robot.bodies:
        lines += _indent(_body(body))
    if robot.joints or robot.fixed_base:
        lines += ['    def Scope "joints"', "    {"]
        if robot.fixed_base:
            lines += _indent(_root_joint(robot), 2)
        for joint in robot.joints:
            lines += _indent(_joint(robot, joint), 2)
        lines += ["    }"]
    for name, variants in robot.variants.items():
        lines += _indent(_variant_set(name, variants))
    lines += ["}", ""]
    return "\n".join(lines)


def number(value: float) -> str:
    """Return a number with nine digits, enough to name every float32, and without a negative zero."""
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    shown = f"{0.0 if abs(value) < 1e-15 else value:.9g}"
    return "0" if shown == "-0" else shown


def vector(values: tuple[float, ...]) -> str:
    """Return numbers as a USDA tuple."""
    return f"({', '.join(number(value) for value in values)})"


def quaternion(quat: Quat) -> str:
    """Return a rotation (xyzw) as USDA wants it: the real part first."""
    return vector((quat[3], quat[0], quat[1], quat[2]))


def text(value: str) -> str:
    """Return a string in quotes."""
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def shape_lines(shape: Shape, name: str) -> list[str]:
    """Return the USDA lines of one primitive."""
    kind = {"sphere": "Sphere", "capsule": "Capsule", "box": "Cube"}[shape.kind]
    schemas = ' (\n    prepend apiSchemas = ["PhysicsCollisionAPI"]\n)' if shape.collides else ""
    lines = [*f"def {kind} {text(name)}{schemas}".split("\n"), "{"]
    if shape.kind == "sphere":
        lines += [f"    double radius = {number(shape.size[0])}"]
    elif shape.kind == "capsule":
        lines += [
            '    uniform token axis = "Z"',
            f"    double height = {number(shape.size[1])}",
            f"    double radius = {number(shape.size[0])}",
        ]
    else:
        lines += ["    double size = 1"]
    lines += [
        f"    color3f[] primvars:displayColor = [{vector(shape.color)}]",
        *_indent(_transform(shape.pos, shape.quat, shape.size if shape.kind == "box" else None)),
        "}",
    ]
    return lines


def _body(body: UsdBody) -> list[str]:
    """Return the USDA lines of one link."""
    moments, axes = inertia.principal(body.mass.inertia)
    lines = [
        f"def Xform {text(body.name)} (",
        '    prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"]',
        ")",
        "{",
        f"    point3f physics:centerOfMass = {vector(body.mass.com)}",
        f"    float3 physics:diagonalInertia = {vector(moments)}",
        f"    float physics:mass = {number(body.mass.mass)}",
        f"    quatf physics:principalAxes = {quaternion(axes)}",
        *_indent(_transform(body.pos, body.quat)),
    ]
    for scope, collides in (("collisions", True), ("visuals", False)):
        shapes = [shape for shape in body.shapes if shape.collides == collides]
        if shapes:
            lines += [f'    def Xform "{scope}"', "    {"]
            for place, shape in enumerate(shapes):
                lines += _indent(shape_lines(shape, shape.name or f"{shape.kind}_{place}"), 2)
            lines += ["    }"]
    return [*lines, "}"]


def _variant_set(name: str, variants: dict[str, tuple[str, ...]]) -> list[str]:
    """Return the USDA lines of a variant set whose variants take the collision shapes off some bodies."""
    lines = [f"variantSet {text(name)} = {{"]
    for variant, bare in variants.items():
        lines += [f"    {text(variant)} {{"]
        for body in bare:
            lines += [
                f"        over {text(body)}",
                "        {",
                '            over "collisions" (',
                "                active = false",
                "            )",
                "            {",
                "            }",
                "        }",
            ]
        lines += ["    }"]
    return [*lines, "}"]


def _root_joint(robot: UsdRobot) -> list[str]:
    """Return the USDA lines that bolt the root body to the world."""
    root = robot.bodies[0]
    return [
        'def PhysicsFixedJoint "root_joint"',
        "{",
        f"    rel physics:body1 = </{robot.name}/{root.name}>",
        f"    point3f physics:localPos0 = {vector(root.pos)}",
        "    point3f physics:localPos1 = (0, 0, 0)",
        f"    quatf physics:localRot0 = {quaternion(root.quat)}",
        f"    quatf physics:localRot1 = {quaternion(NO_ROTATION)}",
        "}",
    ]


def _joint(robot: UsdRobot, joint: UsdJoint) -> list[str]:
    """Return the USDA lines of one joint."""
    ends = [
        f"    rel physics:body0 = </{robot.name}/{joint.parent}>",
        f"    rel physics:body1 = </{robot.name}/{joint.child}>",
        f"    point3f physics:localPos0 = {vector(joint.pos)}",
        "    point3f physics:localPos1 = (0, 0, 0)",
    ]
    if joint.kind == "fixed":
        turns = [("0", joint.quat), ("1", NO_ROTATION)]
        rotations = [f"    quatf physics:localRot{end} = {quaternion(turn)}" for end, turn in turns]
        return [f"def PhysicsFixedJoint {text(joint.name)}", "{", *ends, *rotations, "}"]
    revolute = joint.kind == "revolute"
    drive = "angular" if revolute else "linear"
    # USD joints turn about a named axis of the joint's frame; any other axis is the frame's x, turned there
    axis, frame = _AXES.get(joint.axis), NO_ROTATION
    if axis is None:
        axis, frame = "X", turning((1.0, 0.0, 0.0), joint.axis)
    schemas = [f"PhysicsDriveAPI:{drive}", f"PhysicsJointStateAPI:{drive}", "PhysxJointAPI"]
    schemas += ["NewtonMimicAPI"] if joint.mimics else []
    unit = math.degrees if revolute else float
    per_unit = math.radians if revolute else float  # gains are per degree in USD
    lines = [
        f"def {'PhysicsRevoluteJoint' if revolute else 'PhysicsPrismaticJoint'} {text(joint.name)} (",
        f"    prepend apiSchemas = [{', '.join(text(schema) for schema in schemas)}]",
        ")",
        "{",
        f'    uniform token physics:axis = "{axis}"',
        *ends,
        f"    quatf physics:localRot0 = {quaternion(multiply(joint.quat, frame))}",
        f"    quatf physics:localRot1 = {quaternion(frame)}",
    ]
    if joint.limits is not None:
        lines += [
            f"    float physics:lowerLimit = {number(unit(joint.limits[0]))}",
            f"    float physics:upperLimit = {number(unit(joint.limits[1]))}",
        ]
    lines += [
        f"    float drive:{drive}:physics:damping = {number(per_unit(joint.damping))}",
        f"    float drive:{drive}:physics:stiffness = {number(per_unit(joint.stiffness))}",
        f'    uniform token drive:{drive}:physics:type = "force"',
    ]
    if joint.max_effort is not None:
        lines += [f"    float drive:{drive}:physics:maxForce = {number(joint.max_effort)}"]
    lines += [
        f"    float physxJoint:armature = {number(joint.armature)}",
        "    float physxJoint:jointFriction = 0",
    ]
    if joint.max_velocity is not None:
        lines += [f"    float physxJoint:maxJointVelocity = {number(unit(joint.max_velocity))}"]
    if joint.mimics:
        lines += [f"    rel newton:mimicJoint = </{robot.name}/joints/{joint.mimics}>"]
    lines += [
        f"    float state:{drive}:physics:position = {number(unit(joint.start))}",
        f"    float state:{drive}:physics:velocity = 0",
        "}",
    ]
    return lines


def _transform(pos: Vec, quat: Quat, size: Vec | None = None) -> list[str]:
    """Return the USDA lines of a pose and, for boxes, a scale."""
    lines = [
        f"quatd xformOp:orient = {quaternion(quat)}",
        *([] if size is None else [f"double3 xformOp:scale = {vector(size)}"]),
        f"double3 xformOp:translate = {vector(pos)}",
    ]
    order = ["xformOp:translate", "xformOp:orient"] + ([] if size is None else ["xformOp:scale"])
    return [*lines, f"uniform token[] xformOpOrder = [{', '.join(text(op) for op in order)}]"]


def _indent(lines: list[str], depth: int = 1) -> list[str]:
    """Return lines moved to the right."""
    return ["    " * depth + line for line in lines]
