# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The built assets on the real engine: accepted without a warning, and they fall, swing and rest as physics says.

One stage holds a copy of everything, far apart; each test reads what it needs from one recorded run.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import isaaclab.sim as sim_utils
import numpy as np
import pytest
import scipy.linalg
import torch
from isaaclab.assets import Articulation, RigidObject
from isaaclab.sim import SimulationCfg, build_simulation_context
from isaaclab.utils import replace
from isaaclab_ov.physics import OvPhysxCfg

import nerd_isaaclab.tasks  # noqa: F401  first: it cures pinned memory and falls back to local assets
from nerd_isaaclab.assets import grounds
from nerd_isaaclab.assets.build import build
from nerd_isaaclab.assets.catalogue import find
from nerd_isaaclab.assets.readback import Found, measure
from nerd_isaaclab.robots import ant, anymal_c, cartpole, cube, double_pendulum, franka, g1, go2

GRAVITY = 9.81
# Small, because what is tested is the asset: the engine integrates to first order and gains energy in proportion to it.
DT = 1 / 960
# What the engine says on a machine without CUDA whatever is in the scene, an empty one too.
NOT_ABOUT_ASSETS = ("is not resident in UsdUtilsStageCache", "GPU broadphase requires a CUDA", "Warp CUDA warning")
# name: configuration, height of the root [m] at the start, start of the joints (None: the configuration's)
ACTORS = {
    "falling_ant": (ant.articulation(), 30.0),
    "falling_anymal": (anymal_c.articulation(), 30.0),
    "falling_go2": (go2.articulation(), 30.0),
    "falling_g1": (g1.articulation(), 30.0),
    "falling_cube": (cube.articulation(), 30.0),
    "resting_ant": (ant.articulation(), 0.6),
    "resting_anymal": (anymal_c.articulation(), 0.7),
    "resting_go2": (go2.articulation(), 0.5),
    "resting_cube": (cube.articulation(), 0.2),
    "bumpy_cube": (cube.articulation(), 1.3),
    "slow_pendulum": (double_pendulum.articulation(), 20.0),
    "wide_pendulum": (double_pendulum.articulation(), 20.0),
    "cartpole": (cartpole.articulation(), 20.0),
    "franka": (franka.articulation(), 0.0),
    "gripper": (franka.articulation(), 20.0),
}
CUBES = [name for name in ACTORS if name.endswith("cube")]
MOVING = ["slow_pendulum", "wide_pendulum", "cartpole", "franka", "gripper"]
SPACING = 12.0
BUMPY_AT = (list(ACTORS).index("bumpy_cube") * SPACING, 0.0, 1.0)
FALL_STEPS, STEPS = 480, 2240


class Run:
    """What was recorded: positions of joints and roots over time, the last poses of bodies, and the engine's log."""

    def __init__(self) -> None:
        self.log = ""
        self.joint_pos: dict[str, list[np.ndarray]] = {}
        self.joint_vel: dict[str, list[np.ndarray]] = {}
        self.root: dict[str, list[np.ndarray]] = {}
        self.body_pose: dict[str, np.ndarray] = {}
        self.joint_names: dict[str, list[str]] = {}
        self.body_names: dict[str, list[str]] = {}
        self.engine: dict[str, dict[str, np.ndarray]] = {}


@contextmanager
def captured() -> Iterator[list[str]]:
    """Collect what is printed from Python and from C++."""
    result: list[str] = []
    saved = [os.dup(1), os.dup(2)]
    with tempfile.TemporaryFile("w+", errors="replace") as file:
        sys.stdout.flush()
        sys.stderr.flush()
        for stream in (1, 2):
            os.dup2(file.fileno(), stream)
        try:
            yield result
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            for stream, original in zip((1, 2), saved, strict=True):
                os.dup2(original, stream)
                os.close(original)
            file.seek(0)
            result.append(file.read())


@pytest.fixture(scope="module")
def run() -> Iterator[Run]:
    """Build the assets, simulate two seconds and a third of all of them together."""
    build()
    recorded = Run()
    with captured() as log:
        sim_cfg = SimulationCfg(device="cpu", dt=DT, physics=OvPhysxCfg())
        with build_simulation_context(sim_cfg=sim_cfg, add_ground_plane=False) as sim:
            sim_utils.GroundPlaneCfg().func("/World/ground", sim_utils.GroundPlaneCfg())
            bumpy = sim_utils.UsdFileCfg(usd_path=str(find("bumpy_ground").file))
            bumpy.func("/World/bumpy", bumpy, translation=BUMPY_AT)
            actors: dict[str, Articulation | RigidObject] = {}
            for place, (name, (cfg, height)) in enumerate(ACTORS.items()):
                own = replace(cfg, prim_path=f"/World/{name}")
                own.init_state.pos = (place * SPACING, 0.0, height)
                if name == "gripper":
                    own.actuators["hand"].stiffness = {"panda_finger_joint1": 2000.0, "panda_finger_joint2": 0.0}
                    own.actuators["hand"].damping = {"panda_finger_joint1": 100.0, "panda_finger_joint2": 0.0}
                actors[name] = RigidObject(own) if name in CUBES else Articulation(own)
            sim.reset()
            for name, actor in actors.items():
                actor.reset()
                if name not in CUBES:
                    position, velocity = _start(name, actor)
                    actor.write_joint_state_to_sim(position, velocity)
                    if name == "gripper":
                        position[0, actor.joint_names.index("panda_finger_joint1")] = 0.01
                    actor.set_joint_position_target(position)
                    actor.write_data_to_sim()
                    recorded.joint_names[name] = list(actor.joint_names)
                    recorded.engine[name] = {
                        "mass": _numpy(actor.data.body_mass),
                        "inertia": _numpy(actor.data.body_inertia),
                        "limits": _numpy(actor.data.joint_pos_limits),
                    }
                recorded.body_names[name] = list(actor.body_names) if name not in CUBES else ["cube"]
            for _ in range(STEPS):
                for name, actor in actors.items():
                    recorded.root.setdefault(name, []).append(_numpy(actor.data.root_link_pos_w))
                    if name in MOVING:
                        recorded.joint_pos.setdefault(name, []).append(_numpy(actor.data.joint_pos))
                        recorded.joint_vel.setdefault(name, []).append(_numpy(actor.data.joint_vel))
                sim.step(render=False)
                for actor in actors.values():
                    actor.update(DT)
            for name, actor in actors.items():
                recorded.body_pose[name] = _numpy(actor.data.body_link_pose_w)
    recorded.log = log[0]
    yield recorded


def _numpy(array) -> np.ndarray:
    """Return the first environment's values."""
    return array.torch[0].cpu().numpy().astype(np.float64).copy()


def _start(name: str, actor: Articulation) -> tuple[torch.Tensor, torch.Tensor]:
    """Return where the joints of an actor start."""
    position = actor.data.default_joint_pos.torch.clone()
    if name == "slow_pendulum":
        position[0] = torch.tensor(0.02 * normal_mode()[1], dtype=torch.float32)
    elif name == "wide_pendulum":
        position[0] = torch.tensor(0.6 * normal_mode()[1], dtype=torch.float32)
    elif name == "cartpole":
        position[0, actor.joint_names.index("cart_to_pole")] = np.pi - 0.05
    return position, torch.zeros_like(position)


def normal_mode() -> tuple[float, np.ndarray]:
    """Return the slow mode of the double pendulum: frequency [rad/s] and joint angles [rad], from textbook formulas."""
    length, radius = double_pendulum.LENGTH, double_pendulum.RADIUS
    cylinder = double_pendulum.DENSITY * np.pi * radius**2 * length
    caps = double_pendulum.DENSITY * 4 / 3 * np.pi * radius**3
    mass = cylinder + caps
    inertia = cylinder * (radius**2 / 4 + length**2 / 12)
    inertia += caps * (2 / 5 * radius**2 + length**2 / 4 + 3 / 8 * radius * length)
    half = length / 2
    # in absolute angles; the joint angles are their differences
    m = np.array([[inertia + mass * half**2 + mass * length**2, mass * length * half], [0, inertia + mass * half**2]])
    m[1, 0] = m[0, 1]
    k = np.diag([mass * GRAVITY * half + mass * GRAVITY * length, mass * GRAVITY * half])
    to_absolute = np.array([[1.0, 0.0], [1.0, 1.0]])
    m = to_absolute.T @ m @ to_absolute + double_pendulum.ARMATURE * np.eye(2)
    k = to_absolute.T @ k @ to_absolute
    squared, shapes = scipy.linalg.eigh(k, m)
    return float(np.sqrt(squared[0])), shapes[:, 0] / shapes[0, 0]


def period(signal: np.ndarray) -> float:
    """Return the mean period [s] of an oscillation about zero, from its interpolated zero crossings."""
    times = np.arange(len(signal)) * DT
    place = np.nonzero(np.sign(signal[:-1]) != np.sign(signal[1:]))[0]
    crossings = times[place] + DT * signal[place] / (signal[place] - signal[place + 1])
    return 2 * float(np.mean(np.diff(crossings)))


def lowest(found: Found, path: Path, names: list[str], poses: np.ndarray) -> float:
    """Return the height [m] of the lowest point of all collision shapes, from the poses of the bodies."""
    from pxr import Usd, UsdGeom, UsdPhysics

    stage = Usd.Stage.Open(str(path))
    cache = UsdGeom.XformCache()
    height = np.inf
    for prim in stage.Traverse():
        if not prim.HasAPI(UsdPhysics.CollisionAPI):
            continue
        body = prim
        while not body.HasAPI(UsdPhysics.RigidBodyAPI):
            body = body.GetParent()
        local = np.array(cache.ComputeRelativeTransform(prim, body)[0]).T
        pose = poses[names.index(body.GetName())]
        rotation = rotation_matrix(pose[3:])
        if prim.IsA(UsdGeom.Cube):
            points = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
            radius = 0.0
        else:
            radius = prim.GetAttribute("radius").Get()
            half = prim.GetAttribute("height").Get() / 2 if prim.IsA(UsdGeom.Capsule) else 0.0
            points = np.array([[0, 0, half], [0, 0, -half]])
        points = points @ local[:3, :3].T + local[:3, 3]
        height = min(height, float((pose[2] + points @ rotation[2] - radius).min()))
    return height


def rotation_matrix(q: np.ndarray) -> np.ndarray:
    """Return the rotation matrix, shape (3, 3), of a quaternion xyzw, shape (4,)."""
    x, y, z, w = q
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


def test_engine_accepts_every_asset_without_a_warning(run: Run):
    """Nothing in the engine's log complains about an asset."""
    bad = [line for line in run.log.splitlines() if "warn" in line.lower() or "error" in line.lower()]
    bad = [line for line in bad if not any(known in line for known in NOT_ABOUT_ASSETS)]
    assert not bad, "\n".join(bad)


@pytest.mark.parametrize("name", ["falling_ant", "falling_anymal", "falling_go2", "falling_g1", "falling_cube"])
def test_free_fall(run: Run, name: str):
    """A dropped robot falls with 9.81 m/s^2 and moves sideways not at all."""
    path = np.array(run.root[name])[:FALL_STEPS]
    time = np.arange(FALL_STEPS) * DT
    acceleration = 2 * np.polyfit(time, path[:, 2], 2)[0]
    assert acceleration == pytest.approx(-GRAVITY, rel=1e-3)
    assert np.abs(path[:, :2] - path[0, :2]).max() < 1e-3


def test_pendulum_period(run: Run):
    """The double pendulum swings in its slow mode with the period that its masses, lengths and armature give."""
    frequency, _ = normal_mode()
    measured = period(np.array(run.joint_pos["slow_pendulum"])[:, 0])
    assert measured == pytest.approx(2 * np.pi / frequency, rel=0.01)


def test_pendulum_energy(run: Run):
    """The double pendulum keeps its energy within 1 % of what it started with, in swings of 0.6 rad and more."""
    q = np.array(run.joint_pos["wide_pendulum"])
    v = np.array(run.joint_vel["wide_pendulum"])
    found = measure(find("double_pendulum").file)
    energy = np.zeros(len(q))
    hinge, hinge_vel = np.zeros((len(q), 2)), np.zeros((len(q), 2))
    angle, rate = np.zeros(len(q)), np.zeros(len(q))
    for joint, name in enumerate(("upper", "lower")):
        body = found.bodies[name]
        angle, rate = angle + q[:, joint], rate + v[:, joint]
        # hanging along -z at zero, turning about y: the link points along (-sin, -cos)
        along = np.stack([-np.sin(angle), -np.cos(angle)], axis=1)
        turn = np.stack([-np.cos(angle), np.sin(angle)], axis=1) * rate[:, None]
        com, com_vel = hinge - body.com[2] * along, hinge_vel - body.com[2] * turn
        energy += body.mass * (GRAVITY * com[:, 1] + 0.5 * (com_vel**2).sum(1)) + 0.5 * body.inertia[1, 1] * rate**2
        energy += 0.5 * double_pendulum.ARMATURE * v[:, joint] ** 2
        hinge, hinge_vel = hinge + double_pendulum.LENGTH * along, hinge_vel + double_pendulum.LENGTH * turn
    lowest_energy = -GRAVITY * sum(
        found.bodies[name].mass * (place + 0.5) * double_pendulum.LENGTH
        for place, name in enumerate(("upper", "lower"))
    )
    assert np.ptp(q[:, 0]) > 1.0, "the swings were too small to tell"
    assert np.abs(energy - energy[0]).max() < 0.01 * (energy[0] - lowest_energy)


def test_cartpole_period(run: Run):
    """The hanging pole swings with the textbook period while the free cart gives way."""
    names = run.joint_names["cartpole"]
    angle = np.array(run.joint_pos["cartpole"])[:, names.index("cart_to_pole")] - np.pi
    found = measure(find("cartpole").file)
    cart, pole = found.bodies["cart"], found.bodies["pole"]
    arm = pole.com[2]
    swing = pole.inertia[0, 0] + pole.mass * arm**2 - (pole.mass * arm) ** 2 / (cart.mass + pole.mass)
    assert period(angle) == pytest.approx(2 * np.pi * np.sqrt(swing / (pole.mass * GRAVITY * arm)), rel=0.01)


@pytest.mark.parametrize("name", ["resting_ant", "resting_anymal", "resting_go2", "resting_cube"])
def test_resting_height(run: Run, name: str):
    """What has come to rest touches the ground with its lowest point, within a millimetre."""
    file = find(
        {"resting_ant": "ant", "resting_anymal": "anymal_c", "resting_go2": "go2", "resting_cube": "cube"}[name]
    ).file
    height = lowest(measure(file), file, run.body_names[name], run.body_pose[name])
    assert abs(height) < 1e-3


def test_resting_cube_is_half_its_side_high(run: Run):
    """The cube's centre rests half a side above the flat ground, within a millimetre."""
    assert run.root["resting_cube"][-1][2] == pytest.approx(cube.SIDE / 2, abs=1e-3)


def test_cube_rests_on_the_bumps(run: Run):
    """On the bumpy ground the cube's lowest corner comes to rest on the surface, within two millimetres."""
    pose = run.body_pose["bumpy_cube"][0]
    half = cube.SIDE / 2
    corners = np.array([[x, y, z] for x in (-half, half) for y in (-half, half) for z in (-half, half)])
    corners = corners @ rotation_matrix(pose[3:]).T + pose[:3] - np.array(BUMPY_AT)
    gaps = [z - grounds.bumpy_height(x, y) for x, y, z in corners]
    assert -2e-3 < min(gaps) < 2e-3


def test_arm_without_gravity_stays(run: Run):
    """The Panda, gravity off and no effort, does not move."""
    q = np.array(run.joint_pos["franka"])
    assert np.abs(q - q[0]).max() < 1e-3


def test_right_finger_follows_the_left(run: Run):
    """With only the left finger driven, to 10 mm, both fingers of the Panda go there."""
    fingers = [run.joint_names["gripper"].index(f"panda_finger_joint{side}") for side in (1, 2)]
    q = np.array(run.joint_pos["gripper"])[:, fingers]
    assert q[0, 1] == pytest.approx(0.04)
    np.testing.assert_allclose(q[-1], 0.01, atol=5e-4)


@pytest.mark.parametrize(
    "name,asset",
    [
        ("falling_ant", "ant"),
        ("falling_anymal", "anymal_c"),
        ("falling_go2", "go2"),
        ("falling_g1", "g1"),
        ("franka", "franka"),
    ],
)
def test_engine_reads_what_the_file_says(run: Run, name: str, asset: str):
    """Masses, inertias and joint limits in the engine are those of the file."""
    found = measure(find(asset).file)
    engine = run.engine[name]
    masses = np.array([found.bodies[body].mass for body in run.body_names[name]])
    np.testing.assert_allclose(engine["mass"], masses, rtol=1e-5)
    inertias = np.array([found.bodies[body].inertia.ravel() for body in run.body_names[name]])
    error = np.abs(engine["inertia"] - inertias) / inertias.max(axis=1, keepdims=True)
    assert error.max() < 1e-4
    limits = np.array([found.joints[joint].limits for joint in run.joint_names[name]])
    np.testing.assert_allclose(engine["limits"], limits, rtol=1e-4, atol=1e-4)
