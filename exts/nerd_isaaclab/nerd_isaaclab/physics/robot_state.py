# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Reads and writes the state of one articulation in the layout of its specification.

Only the public surface of Isaac Lab's articulation is used, so the code is the same on every physics backend. The one
exception is the clock of the articulation's data and two of its time-stamped buffers, which all three backends share by
name: see :meth:`RobotState.at_coming_update` and :meth:`RobotState.publish_accelerations`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch
import warp as wp

from nerd_core.robot.frames import quat_rotate
from nerd_core.robot.spec import RobotSpec

from .free_body import FreeBody

if TYPE_CHECKING:
    from isaaclab.assets import Articulation


_TURN = 2.0 * math.pi


class RobotState:
    """The state, the control and the accelerations of one articulation as tensors of the specification."""

    def __init__(self, robot: Articulation, spec: RobotSpec, env_origins: torch.Tensor):
        """Keeps what is read every step.

        Args:
            robot: Articulation in the scene.
            spec: Specification of the robot.
            env_origins: Origins of the environments in the world [m], shape (N, 3). Taken off every position before
                any other arithmetic, so that an environment far from the world's origin loses no digits.
        """
        self._robot = robot
        self.spec = spec
        self._origins = env_origins
        first = spec.state.joint_pos.start
        wrapping = [first + i for i, joint in enumerate(spec.joints) if joint.wraps]
        self._is_physx = "physx" in getattr(robot, "__backend_name__", "")
        self._wrapping = torch.tensor(wrapping, dtype=torch.long, device=env_origins.device)
        self._channels = [
            (torch.tensor(columns, device=env_origins.device), torch.tensor(joints, device=env_origins.device), kind)
            for kind in ("effort", "position", "velocity")
            for columns, joints in [spec.control_slice(kind)]
            if columns
        ]

    def read(self) -> torch.Tensor:
        """The state of every environment, relative to its origin, shape (N, S)."""
        data = self._robot.data
        joints = (data.joint_pos.torch, data.joint_vel.torch)
        if not self.spec.floating_base:
            return torch.cat(joints, dim=-1)
        pose, velocity = data.root_link_pose_w.torch, data.root_com_vel_w.torch
        # Not ``root_link_vel_w``: on the ovphysx backend of Isaac Lab 3.0.0 that is the velocity of the centre of mass.
        centre = quat_rotate(pose[:, 3:], data.body_com_pose_b.torch[:, 0, :3])
        linear = velocity[:, :3] - torch.linalg.cross(velocity[:, 3:], centre)
        parts = (pose[:, :3] - self._origins, pose[:, 3:], joints[0], linear, velocity[:, 3:], joints[1])
        return torch.cat(parts, dim=-1)

    def read_engine(self) -> torch.Tensor:
        """A copy of the state as the engine holds it, shape (N, E): no arithmetic has touched it, so that two are equal
        to the last bit unless somebody wrote, or the engine stepped, in between.
        """
        data = self._robot.data
        numbers = [data.joint_pos.torch, data.joint_vel.torch]
        if self.spec.floating_base:
            numbers += [data.root_link_pose_w.torch, data.root_com_vel_w.torch]
        return torch.cat(numbers, dim=-1)

    def write(self, state: torch.Tensor, env_ids: torch.Tensor | None = None) -> None:
        """Writes the state of some environments into the simulator. Kinematics are not evaluated here.

        Args:
            state: State relative to the origins of the environments, shape (len(env_ids), S).
            env_ids: Environments to write, shape (len(env_ids),); None for all.
        """
        layout = self.spec.state
        if self.spec.floating_base:
            origins = self._origins if env_ids is None else self._origins[env_ids]
            pose = torch.cat((state[:, layout.root_pos] + origins, state[:, layout.root_quat]), dim=-1)
            velocity = torch.cat((state[:, layout.root_lin_vel], state[:, layout.root_ang_vel]), dim=-1)
            self._robot.write_root_link_pose_to_sim_index(root_pose=pose, env_ids=env_ids)
            self._robot.write_root_link_velocity_to_sim_index(root_velocity=velocity, env_ids=env_ids)
        if not self.spec.joints:
            return
        self._robot.write_joint_state_to_sim_index(
            position=state[:, layout.joint_pos].contiguous(),
            velocity=state[:, layout.joint_vel].contiguous(),
            env_ids=env_ids,
        )

    def read_control(self) -> torch.Tensor:
        """What the actuators hold in this control step, shape (N, C)."""
        targets = self._targets()
        control = torch.empty(len(self._origins), self.spec.control_dim, device=self._origins.device)
        for columns, joints, kind in self._channels:
            control[:, columns] = targets[kind][:, joints]
        return control

    def write_control(self, control: torch.Tensor) -> None:
        """Sets what the actuators hold, as action terms do.

        Args:
            control: Control, shape (N, C).
        """
        targets = self._targets()
        for columns, joints, kind in self._channels:
            targets[kind][:, joints] = control[:, columns]

    def unwrap(self, state: torch.Tensor, previous: torch.Tensor) -> torch.Tensor:
        """Joint angles as the engine counts them: on from where they were, back by two turns beyond a full one.

        Args:
            state: State whose wrapping joints lie in [-pi, pi), shape (N, S).
            previous: State before it, shape (N, S).
        """
        if not len(self._wrapping):
            return state
        old = previous[:, self._wrapping]
        moved = state[:, self._wrapping] - old
        angle = old + moved - _TURN * torch.round(moved / _TURN)
        if self._is_physx:
            angle = angle - 2.0 * _TURN * torch.sign(angle) * (angle.abs() > _TURN)
        state = state.clone()
        state[:, self._wrapping] = angle
        return state

    def velocities(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Copies of the joint velocities (N, J) and of the bodies' velocities at their centres of mass (N, B, 6)."""
        data = self._robot.data
        return data.joint_vel.torch.clone(), data.body_com_vel_w.torch.clone()

    def accelerations(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Copies of the joint accelerations (N, J) and of the bodies' accelerations (N, B, 6)."""
        data = self._robot.data
        return data.joint_acc.torch.clone(), data.body_com_acc_w.torch.clone()

    @contextmanager
    def at_coming_update(self, dt: float) -> Iterator[None]:
        """Inside, the articulation's clock stands where the coming ``scene.update(dt)`` will put it.

        Isaac Lab reads the engine lazily: a buffer is fetched when its stamp is older than the articulation's clock,
        and the clock is advanced only after the physics step has returned. What is read or written in here is
        therefore fresh, and still counts as fresh after that update.
        """
        data = self._robot.data
        now = data._sim_timestamp
        data._sim_timestamp = now + dt
        try:
            yield
        finally:
            data._sim_timestamp = now

    def publish_accelerations(self, joints: torch.Tensor, bodies: torch.Tensor) -> None:
        """Makes ``joint_acc`` and ``body_com_acc_w`` read as given. Call inside :meth:`at_coming_update`.

        To the articulation a state that is written looks like a teleport: the write sets the joint accelerations to
        zero, and the solver's accelerations stay those of its last own step.

        Args:
            joints: Joint accelerations [rad/s^2 or m/s^2], shape (N, J).
            bodies: Linear and angular accelerations of the bodies' centres of mass, world frame, shape (N, B, 6).
        """
        data = self._robot.data
        published = [(data._body_com_acc_w, bodies)]
        if self.spec.joints:
            published.append((data._joint_acc, joints))
        for buffer, values in published:
            wp.to_torch(buffer.data).view_as(values).copy_(values)
            buffer.timestamp = data._sim_timestamp

    def take_back_wrench(self) -> None:
        """Takes back the external wrenches that Isaac Lab has handed to the engine for the coming physics step. The
        engine adds up what it is handed until it steps: while a model steps instead, it would keep all of it for its
        own next step. To be called before bodies are moved. Only for the ovphysx backend.
        """
        robot: Any = self._robot
        given: Any = getattr(robot, "_wrench_buf", None)
        if given is None or not robot.permanent_wrench_composer.active or "ovphysx" not in robot.__backend_name__:
            return
        from isaaclab_ov import tensor_types

        is_free = isinstance(robot, FreeBody)
        back = wp.clone(robot._wrench_buf_flat if is_free else given)
        wp.to_torch(back)[..., :6].neg_()  # forces and torques; the last three numbers are where they act
        kind = tensor_types.RIGID_BODY_WRENCH if is_free else tensor_types.LINK_WRENCH
        robot.root_view.set_attribute(kind, back)

    def advance_clock(self, dt: float) -> None:
        """Tells the articulation that the engine has moved on, without computing what ``update(dt)`` would."""
        self._robot.data._sim_timestamp += dt

    def _targets(self) -> dict[str, torch.Tensor]:
        """Targets of the actuators by kind, shared with the simulator, each of shape (N, J)."""
        data = self._robot.data
        return {
            "effort": data.joint_effort_target.torch,
            "position": data.joint_pos_target.torch,
            "velocity": data.joint_vel_target.torch,
        }
