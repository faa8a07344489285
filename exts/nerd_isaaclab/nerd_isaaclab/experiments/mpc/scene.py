# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Robots on a plane in PhysX, through Isaac Lab: their motion is read, their torques are written."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from . import Array
from .controller import Motion
from .quadruped import Quadruped


class QuadrupedScene:
    """N robots of one kind, each with ground of its own around it."""

    def __init__(self, sim: Any, scene: Any, body: Quadruped):
        """Takes over a scene whose robot is called ``robot``.

        Args:
            sim: Isaac Lab's simulation context.
            scene: Its interactive scene.
            body: The robot.
        """
        self._sim, self._scene, self._body = sim, scene, body
        self._robot = scene["robot"]
        self.dt: float = sim.get_physics_dt()
        """Length of a physics step [s]."""
        self.count: int = scene.num_envs
        """Number of robots."""
        names = list(self._robot.joint_names)
        self._order = [names.index(name) for name in body.joint_names]
        self._back = np.argsort(self._order)

    def place(self, robots: NDArray[np.bool_], height: float, joint_pos: Array) -> None:
        """Puts some robots back to their origins, at rest, heading along x.

        Args:
            robots: Which, shape (N,).
            height: Height of the base [m].
            joint_pos: Joint positions of all robots [rad], shape (N, 4, 3).
        """
        ids = torch.as_tensor(np.nonzero(robots)[0], dtype=torch.int32)
        if not len(ids):
            return
        pose = torch.zeros(self.count, 7)
        pose[:, :3] = self._scene.env_origins
        pose[:, 2] += height
        pose[:, 6] = 1.0
        joints = torch.as_tensor(joint_pos.reshape(self.count, 12)[:, self._back], dtype=torch.float32)
        rows = ids.long()
        self._robot.write_root_link_pose_to_sim_index(root_pose=pose[rows], env_ids=ids)
        self._robot.write_root_link_velocity_to_sim_index(root_velocity=torch.zeros(len(ids), 6), env_ids=ids)
        self._robot.write_joint_state_to_sim_index(
            position=joints[rows].contiguous(), velocity=torch.zeros(len(ids), 12), env_ids=ids
        )
        self._robot.reset(ids)
        self._sim.forward()

    def read(self) -> Motion:
        """The motion of all robots, positions from their origins."""
        data = self._robot.data
        pose, velocity = _numbers(data.root_link_pose_w), _numbers(data.root_com_vel_w)
        rotation = _rotation(pose[:, 3:])
        # Not ``root_link_vel_w``: on the ovphysx backend of Isaac Lab 3.0.0 that is the velocity of the centre of mass.
        centre = np.einsum("nij,nj->ni", rotation, _numbers(data.body_com_pose_b)[:, 0, :3])
        return Motion(
            pos=pose[:, :3] - self._scene.env_origins.double().numpy(),
            rotation=rotation,
            lin_vel=velocity[:, :3] - np.cross(velocity[:, 3:], centre),
            ang_vel=velocity[:, 3:],
            joint_pos=_numbers(data.joint_pos)[:, self._order].reshape(-1, 4, 3),
            joint_vel=_numbers(data.joint_vel)[:, self._order].reshape(-1, 4, 3),
        )

    def push(self, robots: NDArray[np.bool_], change: Array) -> None:
        """Changes the velocities of the bases of some robots at once.

        Args:
            robots: Which, shape (N,).
            change: Linear and angular change, world [m/s, rad/s], shape (N, 6).
        """
        ids = torch.as_tensor(np.nonzero(robots)[0], dtype=torch.int32)
        if len(ids):
            velocity = self._robot.data.root_com_vel_w.torch.clone() + torch.as_tensor(change, dtype=torch.float32)
            self._robot.write_root_com_velocity_to_sim_index(root_velocity=velocity[ids.long()], env_ids=ids)

    def step(self, torques: Array) -> None:
        """Takes a physics step.

        Args:
            torques: Torques of the joints [N m], shape (N, 4, 3).
        """
        efforts = torch.as_tensor(torques.reshape(self.count, 12)[:, self._back], dtype=torch.float32)
        self._robot.set_joint_effort_target_index(target=efforts)
        self._robot.write_data_to_sim()
        self._sim.step(render=False)
        self._robot.update(self.dt)


@contextmanager
def quadruped_scene(
    articulation: Any, body: Quadruped, count: int, dt: float, friction: float
) -> Iterator[QuadrupedScene]:
    """Starts PhysX with robots on a plane, and closes it in the end. Once in a process.

    Args:
        articulation: Isaac Lab's configuration of the robot, under effort control.
        body: The robot.
        count: Number of robots.
        dt: Length of a physics step [s].
        friction: Coefficient of friction of the ground with feet.
    """
    import isaaclab.sim as sim_utils
    from isaaclab.scene import InteractiveScene, InteractiveSceneCfg
    from isaaclab.sim import SimulationCfg, build_simulation_context
    from isaaclab_ov.physics import OvPhysxCfg

    material = sim_utils.RigidBodyMaterialCfg(static_friction=friction, dynamic_friction=friction)
    cfg = SimulationCfg(device="cpu", dt=dt, physics=OvPhysxCfg(), physics_material=material)
    with build_simulation_context(sim_cfg=cfg, add_ground_plane=False) as sim:
        ground: Any = sim_utils.GroundPlaneCfg(physics_material=material)
        ground.func("/World/ground", ground)
        scene_cfg: Any = InteractiveSceneCfg(num_envs=count, env_spacing=20.0)
        articulation.prim_path = "{ENV_REGEX_NS}/Robot"
        scene_cfg.robot = articulation
        scene = InteractiveScene(scene_cfg)
        sim.reset()
        yield QuadrupedScene(sim, scene, body)


def _numbers(array: Any) -> Array:
    return array.torch.double().numpy()


def _rotation(quat: Array) -> Array:
    """Rotation matrices of quaternions xyzw, shape (N, 3, 3)."""
    x, y, z, w = np.moveaxis(quat, -1, 0)
    rows = (
        (1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)),
        (2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)),
        (2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)),
    )
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)
