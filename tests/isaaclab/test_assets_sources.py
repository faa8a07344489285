# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The built assets against their sources, read by others: MuJoCo for MJCF, Pinocchio for URDF, USD, formulas."""

from __future__ import annotations

import importlib.resources
import math
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest

from nerd_isaaclab.assets.build import build
from nerd_isaaclab.assets.catalogue import find
from nerd_isaaclab.assets.readback import Found, FoundJoint, measure
from nerd_isaaclab.robots import anymal_c, cube, double_pendulum, franka, g1, go2
from nerd_isaaclab.usd import urdf

pytestmark = pytest.mark.unit


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all assets built."""
    folder = tmp_path_factory.mktemp("assets")
    build(folder=folder)
    return folder


def load(folder: Path, name: str) -> Found:
    """Return what the file of an asset holds."""
    return measure(folder / find(name).path)


def newton_file(name: str) -> Path:
    """Return a file that the newton distribution ships as an example."""
    pytest.importorskip("newton")
    return Path(str(importlib.resources.files("newton"))) / "examples" / "assets" / name


def turn(axis: np.ndarray, angle: float) -> np.ndarray:
    """Return the rotation by an angle [rad] about a unit axis, shape (3, 3)."""
    hat = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
    return np.eye(3) + math.sin(angle) * hat + (1 - math.cos(angle)) * hat @ hat


def mass_matrix(found: Found, q: dict[str, float], order: list[str], floating: bool) -> np.ndarray:
    """Return the joint-space mass matrix from the definition: the kinetic energy of every body.

    Args:
        found: The robot as its file has it.
        q: Joint positions [rad or m] by name.
        order: Names of the joints, in the order of the rows.
        floating: Whether six rows for the root (linear, angular, at its origin, its axes) come first.
    """
    movers: dict[str, list[tuple[int, FoundJoint, np.ndarray, np.ndarray]]] = {}
    poses: dict[str, np.ndarray] = {}
    root = next(name for name in found.bodies if name not in {joint.child for joint in found.joints.values()})
    poses[root], movers[root] = np.eye(4), []
    todo = {**found.joints, **{name: joint for name, joint in found.fixed.items() if joint.parent}}
    while todo:
        for name, joint in list(todo.items()):
            if joint.parent not in poses:
                continue
            local = np.linalg.inv(found.bodies[joint.parent].pose) @ found.bodies[joint.child].pose
            move = np.eye(4)
            if joint.kind == "revolute":
                move[:3, :3] = turn(joint.axis, q[name])
            elif joint.kind == "prismatic":
                move[:3, 3] = joint.axis * q[name]
            pose = poses[joint.parent] @ local @ move
            poses[joint.child], movers[joint.child] = pose, list(movers[joint.parent])
            if joint.kind != "fixed":
                movers[joint.child].append((order.index(name), joint, pose[:3, :3] @ joint.axis, pose[:3, 3]))
            del todo[name]
    shift = 6 if floating else 0
    matrix = np.zeros((len(order) + shift, len(order) + shift))
    for name, body in found.bodies.items():
        rotation, com = poses[name][:3, :3], poses[name][:3, :3] @ body.com + poses[name][:3, 3]
        linear, angular = np.zeros((3, len(matrix))), np.zeros((3, len(matrix)))
        if floating:
            linear[:, :3], angular[:, 3:6] = np.eye(3), np.eye(3)
            linear[:, 3:6] = -np.array([[0, -com[2], com[1]], [com[2], 0, -com[0]], [-com[1], com[0], 0]])
        for column, joint, axis, origin in movers[name]:
            if joint.kind == "revolute":
                angular[:, column + shift], linear[:, column + shift] = axis, np.cross(axis, com - origin)
            else:
                linear[:, column + shift] = axis
        inertia = rotation @ body.inertia @ rotation.T
        matrix += body.mass * linear.T @ linear + angular.T @ inertia @ angular
    return matrix


def test_ant_equals_its_mjcf(folder: Path):
    """Masses, centres of mass, inertias, positions, axes and limits of the Ant are those of nv_ant.xml in MuJoCo."""
    mujoco = pytest.importorskip("mujoco")
    # MuJoCo no longer knows two words of that file, neither of which says anything about the robot's body
    text = newton_file("nv_ant.xml").read_text().replace('nstack="10000"', "")
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    mujoco.mj_resetData(model, data)
    data.qpos[:] = 0.0
    data.qpos[3] = 1.0
    mujoco.mj_kinematics(model, data)
    found = load(folder, "ant")
    names = [model.body(i).name for i in range(1, model.nbody)]
    assert set(names) == set(found.bodies)
    for i, name in enumerate(names, start=1):
        body = found.bodies[name]
        axes = np.zeros(9)
        mujoco.mju_quat2Mat(axes, model.body_iquat[i])
        axes = axes.reshape(3, 3)
        assert body.mass == pytest.approx(model.body_mass[i], rel=1e-5)
        np.testing.assert_allclose(body.com, model.body_ipos[i], atol=1e-6)
        expected = axes @ np.diag(model.body_inertia[i]) @ axes.T
        np.testing.assert_allclose(body.inertia, expected, atol=1e-5 * expected.max())
        np.testing.assert_allclose(body.pose[:3, 3], data.xpos[i], atol=1e-6)
    for i in range(1, model.njnt):
        joint = found.joints[model.body(model.jnt_bodyid[i]).name]  # a joint is called like the body it moves
        assert joint.parent == model.body(model.body_parentid[model.jnt_bodyid[i]]).name
        np.testing.assert_allclose(joint.axis, model.jnt_axis[i], atol=1e-6)
        np.testing.assert_allclose(joint.limits, model.jnt_range[i], atol=1e-6)


def test_cartpole_equals_isaac_labs(folder: Path):
    """Masses, positions, axes and limits of the cart-pole are those of Isaac Lab's asset as Newton ships it."""
    from pxr import Usd, UsdPhysics

    stage = Usd.Stage.Open(str(newton_file("cartpole_single_pendulum.usda")))
    found = load(folder, "cartpole")
    theirs = {prim.GetName(): prim for prim in stage.Traverse()}
    for name in ("cart", "pole"):
        assert found.bodies[name].mass == theirs[name].GetAttribute("physics:mass").Get()
        np.testing.assert_allclose(found.bodies[name].pose[:3, 3], theirs[name].GetAttribute("xformOp:translate").Get())
    com = theirs["pole"].GetAttribute("physics:centerOfMass").Get()
    np.testing.assert_allclose(found.bodies["pole"].com, com, atol=1e-7)
    slider, pole = found.joints["slider_to_cart"], found.joints["cart_to_pole"]
    assert (slider.kind, slider.parent, slider.child) == ("prismatic", "slider", "cart")
    assert (pole.kind, pole.parent, pole.child) == ("revolute", "cart", "pole")
    limits = UsdPhysics.PrismaticJoint(theirs["slider_to_cart"])
    assert slider.limits == (limits.GetLowerLimitAttr().Get(), limits.GetUpperLimitAttr().Get()) == (-4.0, 4.0)
    assert pole.limits == (-math.inf, math.inf)
    np.testing.assert_allclose(slider.axis, (0, 1, 0))  # theirs: x, turned by a right angle about z
    np.testing.assert_allclose(pole.axis, (1, 0, 0))


@pytest.mark.parametrize(
    "name,module,floating",
    [("franka", franka, False), ("anymal_c", anymal_c, True), ("go2", go2, True), ("g1", g1, True)],
)
def test_urdf_robots_equal_their_urdf(folder: Path, name: str, module, floating: bool):
    """Names and limits are the URDF's; so is the mass matrix at random positions: masses, inertias, axes, places."""
    pin = pytest.importorskip("pinocchio")
    path = str(urdf.urdf_path(module.URDF))
    model = pin.buildModelFromUrdf(path, pin.JointModelFreeFlyer()) if floating else pin.buildModelFromUrdf(path)
    found = load(folder, name)
    order = [str(joint) for joint in model.names][2 if floating else 1 :]
    assert set(order) == set(found.joints)
    first_q, first_v = (7, 6) if floating else (0, 0)
    limits = np.array([found.joints[joint].limits for joint in order])
    np.testing.assert_allclose(limits[:, 0], model.lowerPositionLimit[first_q:], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(limits[:, 1], model.upperPositionLimit[first_q:], rtol=1e-5, atol=1e-6)
    # a robot on a fixed base has its first link's mass in the world, where Pinocchio does not count it
    base = 0.0 if floating else found.bodies["panda_link0"].mass
    assert found.mass - base == pytest.approx(pin.computeTotalMass(model), rel=1e-6)
    random = np.random.default_rng(0)
    for _ in range(5):
        q = random.uniform(np.maximum(limits[:, 0], -3), np.minimum(limits[:, 1], 3))
        theirs = pin.crba(model, model.createData(), np.concatenate([[0, 0, 0, 0, 0, 0, 1][:first_q], q]))
        theirs = np.triu(theirs) + np.triu(theirs, 1).T
        ours = mass_matrix(found, dict(zip(order, q, strict=True)), order, floating)
        assert ours.shape == (first_v + len(order),) * 2
        np.testing.assert_allclose(ours, theirs, atol=2e-6 * np.abs(theirs).max())


def test_franka_capsules_equal_the_coarse_urdf():
    """Every capsule above the mount is a cylinder of panda_collision.urdf, with the balls at its ends."""
    tree = ElementTree.parse(urdf.urdf_path(franka.COARSE_URDF))
    for link in tree.getroot().iter("link"):
        name = link.get("name")
        if name in ("panda_link0", "panda_link1") or name not in franka.CAPSULES:
            continue
        cylinders, balls = [], []
        for shape in link.findall("collision"):
            origin, kind = shape.find("origin"), shape.find("geometry")[0]  # type: ignore[index]
            place = np.array([float(part) for part in origin.get("xyz").split()])  # type: ignore[union-attr]
            if kind.tag == "cylinder":
                cylinders.append((place, float(kind.get("length")), float(kind.get("radius"))))  # type: ignore[arg-type]
            else:
                balls.append(place)
        assert len(cylinders) == len(franka.CAPSULES[name])
        for (place, length, radius), (pos, axis, ours_length, ours_radius) in zip(
            cylinders, franka.CAPSULES[name], strict=True
        ):
            np.testing.assert_allclose((*pos, ours_length, ours_radius), (*place, length, radius), atol=1e-6)
            for sign in (-1, 1):
                end = np.array(pos) + sign * length / 2 * np.array(axis)
                assert min(np.linalg.norm(end - ball) for ball in balls) < 1e-4


def test_double_pendulum_and_cube_equal_the_formulas(folder: Path):
    """Capsules of 1.5 m, radius 0.1 m and density 500 kg/m^3; a cube of 0.1048 m and 0.37 kg."""
    found = load(folder, "double_pendulum")
    radius, length = 0.1, 1.5
    mass = 500 * (math.pi * radius**2 * length + 4 / 3 * math.pi * radius**3)
    for name in ("upper", "lower"):
        assert found.bodies[name].mass == pytest.approx(mass, rel=1e-6)
        np.testing.assert_allclose(found.bodies[name].com, (0, 0, -length / 2))
        assert found.bodies[name].inertia[1, 1] == pytest.approx(capsule_by_slices(radius, length, 500.0), rel=1e-4)
    assert found.joints["joint_1"].limits == (-math.inf, math.inf)
    np.testing.assert_allclose(found.bodies["lower"].pose[:3, 3], (0, 0, -double_pendulum.LENGTH))
    text = (folder / find("double_pendulum").path).read_text()
    assert text.count("physxJoint:armature = 0.1\n") == 2
    block = load(folder, "cube").bodies["cube"]
    assert (block.mass, cube.SIDE) == (pytest.approx(0.37), 0.1048)
    np.testing.assert_allclose(block.inertia, np.eye(3) * 0.37 * 0.1048**2 / 6, rtol=1e-6, atol=1e-12)


def capsule_by_slices(radius: float, length: float, density: float) -> float:
    """Return a capsule's inertia [kg m^2] across its axis, summed over thin discs."""
    z = np.linspace(-length / 2 - radius, length / 2 + radius, 200001)
    over = np.maximum(np.abs(z) - length / 2, 0.0)
    square = np.maximum(radius**2 - over**2, 0.0)
    disc = density * math.pi * square * (square / 4 + z**2)
    return float(np.sum(disc) * (z[1] - z[0]))
