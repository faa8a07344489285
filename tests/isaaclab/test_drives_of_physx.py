# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Drives, joint friction and limits of speeds act in mechanics as in the engine, and robots are described with them."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
import torch

from nerd_core.mechanics.config import MechanicsCfg
from nerd_core.mechanics.constants import Constant
from nerd_core.mechanics.step import Mechanics
from nerd_core.robot.frames import ChangeCodec
from nerd_core.robot.spec import Control, ControlKind
from support.seam import make_env

COUNT, HEIGHT = 64, 8.0
KINDS: tuple[ControlKind, ...] = ("effort", "position", "velocity")
REGIMES: dict[str, dict[str, tuple[float, float]]] = {
    "nothing": {},
    "drives": {"stiffness": (400.0, 100.0), "damping": (20.0, 5.0)},
    "stiff drives": {"stiffness": (40000.0, 10000.0), "damping": (2000.0, 500.0)},
    "drives at their limits": {"stiffness": (4000.0, 1000.0), "damping": (80.0, 20.0), "effort_limit": (200.0, 30.0)},
    "friction": {"friction": (10.0, 2.0), "dynamic_friction": (8.0, 1.0), "viscous_friction": (3.0, 0.5)},
    "friction that holds": {"friction": (1e4, 1e4), "viscous_friction": (3e4, 5e3)},
    "speed limits": {"velocity_limit": (1.5, 2.5)},
}
NONE = {
    "stiffness": 0.0,
    "damping": 0.0,
    "effort_limit": 1.0e9,
    "friction": 0.0,
    "dynamic_friction": 0.0,
    "viscous_friction": 0.0,
    "velocity_limit": 1.0e9,
}


def set_joints(robot: Any, fields: dict[str, torch.Tensor]) -> None:
    """Writes properties of joints to the engine."""
    robot.write_joint_stiffness_to_sim_index(stiffness=fields["stiffness"])
    robot.write_joint_damping_to_sim_index(damping=fields["damping"])
    robot.write_joint_effort_limit_to_sim_index(limits=fields["effort_limit"])
    robot.write_joint_velocity_limit_to_sim_index(limits=fields["velocity_limit"])
    robot.write_joint_friction_coefficient_to_sim_index(
        joint_friction_coeff=fields["friction"],
        joint_dynamic_friction_coeff=fields["dynamic_friction"],
        joint_viscous_friction_coeff=fields["viscous_friction"],
    )


def test_drives_friction_and_limits_are_those_of_the_engine():
    """In each regime of drives, friction and speed limits, beside efforts and with targets of position and velocity, a
    control step of a double pendulum gives the velocities of the engine to a hundred thousandth of what is usual there.
    """
    from nerd_isaaclab.collect.lean_scene import LeanScene
    from nerd_isaaclab.physics.robot_state import RobotState

    def lift(cfg: Any) -> None:
        cfg.scene.robot.init_state.pos = (0.0, 0.0, HEIGHT)

    env = make_env("NeRD-Double-Pendulum", COUNT, change=lift)
    try:
        env.reset(seed=1)
        scene, plain = LeanScene(env), env.robot_spec
        controls = tuple(Control(name, kind) for kind in KINDS for name in plain.joint_names)
        generator, at = torch.Generator().manual_seed(0), plain.state
        first = torch.randn(COUNT, 4, generator=generator) * torch.tensor([0.8, 0.8, 2.0, 2.0])
        control = torch.randn(COUNT, 6, generator=generator) * torch.tensor([100.0, 100.0, 1.0, 1.0, 1.0, 1.0])
        for name, regime in REGIMES.items():
            fields = {key: regime.get(key, (none, none)) for key, none in NONE.items()}
            set_joints(env.robot, {key: torch.tensor(value).repeat(COUNT, 1) for key, value in fields.items()})
            values = [{key: value[i] for key, value in fields.items()} for i in range(2)]
            joints = tuple(replace(joint, **each) for joint, each in zip(plain.joints, values, strict=True))
            spec = replace(plain, joints=joints, controls=controls if name != "nothing" else controls[:2])
            if "stiffness" not in regime:
                spec = replace(spec, controls=controls[:2])
            scene.spec, scene._state = spec, RobotState(env.robot, spec, env.scene.env_origins)
            scene.write(first)
            truth = scene.step(control[:, : spec.control_dim]).clone()
            codec = ChangeCodec(spec)
            mechanics = Mechanics(spec, codec, MechanicsCfg(substeps=4, hidden=0), has_contacts=False).double()
            said = codec.apply(first.double(), mechanics(first.double(), control.double()[:, : spec.control_dim]))
            miss = (said - truth)[:, at.joint_vel].abs()
            assert float(miss.median()) < 1.0e-5, name
            assert float((truth - first)[:, at.joint_vel].abs().median()) > 1.0e-2, name
    finally:
        env.close()


def test_a_robot_is_described_with_what_moves_it():
    """The description of Isaac Lab's Franka has its gains, limits of speeds, the joint that follows another, and the
    damping of bodies that nobody authored.
    """
    env = make_env("NeRD-Isaac-Reach-Franka", 2)
    try:
        spec = env.robot_spec
        joints = {joint.name: joint for joint in spec.joints}
        follower = joints["panda_finger_joint2"].mimic
        assert follower is not None and (follower.joint, follower.ratio) == ("panda_finger_joint1", 1.0)
        assert joints["panda_joint1"].mimic is None
        limits = env.robot.data.joint_vel_limits.torch[0].tolist()
        assert [joint.velocity_limit for joint in spec.joints] == pytest.approx(limits)
        assert all(joint.drive == "force" for joint in spec.joints)
        assert all(body.has_gravity and math.isfinite(body.max_angular_velocity) for body in spec.bodies)
    finally:
        env.close()


def test_the_velocity_of_a_base_off_its_centre_of_mass_is_read_as_it_was_written():
    """A base whose centre of mass is off its origin reads back the velocity of its link that was written, turning or
    not; Isaac Lab itself says that of the centre of mass.
    """
    from isaaclab.utils import replace as replace_cfg

    from nerd_isaaclab.collect.lean_scene import LeanScene
    from nerd_isaaclab.robots.registry import find_robot

    def anymal(cfg: Any) -> None:
        cfg.scene.robot = replace_cfg(find_robot("anymal_c").articulation(), prim_path="{ENV_REGEX_NS}/Robot")
        cfg.rewards.height, cfg.events.reset_upper, cfg.events.reset_lower = None, None, None

    env = make_env("NeRD-Double-Pendulum", 4, change=anymal)
    try:
        env.reset(seed=1)
        scene = LeanScene(env)
        at, state = scene.spec.state, scene.read().clone()
        assert any(scene.spec.bodies[0].inertia.centre)
        state[:, at.root_ang_vel] = torch.tensor([1.0, -2.0, 3.0])
        state[:, at.root_lin_vel] = torch.tensor([0.5, 0.0, 0.1])
        scene.write(state)
        assert torch.allclose(scene.read(), state, atol=1.0e-6)
    finally:
        env.close()


def test_a_robot_is_described_with_its_solver_and_materials():
    """Isaac Lab's Franka has 8 position iterations and no velocity iterations; a shape with a material of its own has
    the friction that the engine holds for this shape, the others that of theirs; the ground is as the stage says.
    """

    def bind(cfg: Any) -> None:
        spawn = cfg.scene.robot.spawn.func

        def with_rough_hand(prim_path: str, *args: Any, **more: Any) -> Any:
            from pxr import UsdPhysics, UsdShade

            prim = spawn(prim_path, *args, **more)
            stage = prim.GetStage()
            material = UsdShade.Material.Define(stage, "/World/rough")
            api = UsdPhysics.MaterialAPI.Apply(material.GetPrim())
            api.CreateStaticFrictionAttr(1.25)
            api.CreateDynamicFrictionAttr(0.75)
            hand = prim.GetChild("panda_hand").GetChild("collisions").GetChild("capsule_0")
            UsdShade.MaterialBindingAPI.Apply(hand).Bind(material, materialPurpose="physics")
            return prim

        cfg.scene.robot.spawn.func = with_rough_hand

    env = make_env("NeRD-Isaac-Reach-Franka", 2, change=bind)
    try:
        spec = env.robot_spec
        assert (spec.position_iterations, spec.velocity_iterations, spec.other_forces) == (8, 0, ())
        assert spec.ground is not None and spec.ground.dynamic_friction == 0.5
        for slot in spec.slots:
            assert slot.material is not None
            found = slot.material.static_friction, slot.material.dynamic_friction
            assert found == ((1.25, 0.75) if slot.body == "panda_hand" else (0.5, 0.5)), slot
        assert Mechanics(spec, ChangeCodec(spec), MechanicsCfg()).solver.substeps == 8
    finally:
        env.close()


def test_stops_take_back_the_share_of_the_engine():
    """With eight iterations a joint of the Franka that is beyond its stop is led back by two over their root in each:
    the shares of four iterations are off by more.
    """
    from nerd_isaaclab.collect.lean_scene import LeanScene
    from nerd_isaaclab.physics.robot_state import RobotState

    env = make_env("NeRD-Isaac-Reach-Franka", COUNT)
    try:
        env.reset(seed=0)
        scene, generator = LeanScene(env), torch.Generator().manual_seed(0)
        scene.spec = spec = replace(env.robot_spec, decimation=1)
        scene._state = RobotState(env.robot, spec, env.scene.env_origins)
        lower, upper = (torch.tensor([getattr(joint, end) for joint in spec.joints]) for end in ("lower", "upper"))
        pos = 0.5 * (lower + upper) + 0.8 * (upper - lower) * (torch.rand(COUNT, 9, generator=generator) - 0.5)
        vel = 0.5 * torch.randn(COUNT, 9, generator=generator)
        pos[:, 7:], vel[:, 7:], rows, joint = 0.02, 0.0, torch.arange(COUNT), torch.arange(COUNT) % 7
        pos[rows, joint] = upper[joint] + 0.002 + 0.03 * torch.rand(COUNT, generator=generator)
        first, control = torch.cat((pos, vel), 1), pos[:, : spec.control_dim].contiguous()
        scene.write(first)
        truth, codec, miss = scene.step(control).clone(), ChangeCodec(spec), {}
        for share in (8.0**-0.5 * 2.0, 0.9):
            mechanics = Mechanics(spec, codec, MechanicsCfg(hidden=0), has_contacts=False).double()
            assert mechanics.solver.constants.exp()[Constant.STOP_BAUMGARTE].item() == pytest.approx(8.0**-0.5 * 2.0)
            with torch.no_grad():
                mechanics.solver.constants[Constant.STOP_BAUMGARTE] = math.log(share)
            said = codec.apply(first.double(), mechanics(first.double(), control.double()))
            miss[share] = float((said - truth)[:, spec.state.joint_vel].abs().median())
        assert miss[8.0**-0.5 * 2.0] < 0.7 * miss[0.9]
    finally:
        env.close()
