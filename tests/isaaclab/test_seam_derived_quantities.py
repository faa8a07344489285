# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What Isaac Lab derives from the state reads in neural mode as the same motion reads in PhysX mode."""

from __future__ import annotations

import torch

from support.seam import Oracle, RecordingPhysics, make_env

STEPS = 60

TOLERANCE = {"body_com_acc_w": 0.05, "imu_lin_acc_b": 0.05}
"""Relative error of what the solver reports itself: its accelerations are 2 to 3 % off the change of its own
velocities, which is what a learned step can give. All else must agree to the rounding of single precision."""


def _readings(env, actions: torch.Tensor) -> dict[str, torch.Tensor]:
    """Derived quantities after each step from a seeded reset."""
    env.reset(seed=0)
    data, read = env.robot.data, []
    for action in actions:
        env.step(action)
        imu = env.scene["imu"].data
        read.append(
            {
                "joint_acc": data.joint_acc,
                "body_com_acc_w": data.body_com_acc_w,
                "body_link_vel_w": data.body_link_vel_w,
                "body_link_pose_w": data.body_link_pose_w,
                "projected_gravity_b": data.projected_gravity_b,
                "root_link_lin_vel_b": data.root_link_lin_vel_b,
                "root_com_ang_vel_b": data.root_com_ang_vel_b,
                "imu_ang_vel_b": imu.ang_vel_b,
                "imu_lin_acc_b": imu.lin_acc_b,
                "frame_pos": env.scene["frames"].data.target_pos_source,
            }
        )
        read[-1] = {name: value.torch.clone() for name, value in read[-1].items()}
    return {name: torch.stack([step[name] for step in read]) for name in read[0]}


def test_derived_quantities_equal_those_of_the_same_motion_in_physx():
    """Accelerations, body velocities, gravity in the body, an IMU and a frame transformer agree with the solver's, with
    all environments neural and in mixed mode with half of them.

    One physics step a control step, so that both modes difference velocities over the same time.
    """

    def add_sensors(cfg) -> None:
        from isaaclab.sensors import FrameTransformerCfg, ImuCfg

        cfg.decimation = 1
        cfg.sim.render_interval = 1
        cfg.scene.imu = ImuCfg(prim_path="{ENV_REGEX_NS}/Robot/torso")
        cfg.scene.frames = FrameTransformerCfg(
            prim_path="{ENV_REGEX_NS}/Robot/torso",
            target_frames=[FrameTransformerCfg.FrameCfg(prim_path="{ENV_REGEX_NS}/Robot/front_left_foot")],
        )

    env = make_env("NeRD-Ant-Run", 8, change=add_sensors)
    shape = (STEPS, 8, env.action_manager.total_action_dim)
    actions = torch.rand(shape, generator=torch.Generator().manual_seed(1)) * 2.0 - 1.0
    env.reset(seed=0)
    env.step(actions[0])
    recording, stock = RecordingPhysics(env), env.sim.physics_manager
    env.sim.physics_manager = recording
    expected = _readings(env, actions)
    env.sim.physics_manager = stock
    assert expected["joint_acc"].abs().max() > 50.0, "the motion must accelerate to prove anything"
    neural = torch.arange(8) % 2 == 0
    for mode, judged in (("neural", slice(None)), ("mixed", neural), ("mixed", ~neural)):
        env.use_dynamics(Oracle(recording))
        env.set_nerd_mode(mode, neural if mode == "mixed" else None)
        got = _readings(env, actions)
        for name, value in expected.items():
            error = (got[name] - value)[:, judged].square().mean().sqrt() / value[:, judged].square().mean().sqrt()
            assert float(error) < TOLERANCE.get(name, 1e-5), f"{mode}, {name}: relative error {float(error):.2e}"
    env.close()
