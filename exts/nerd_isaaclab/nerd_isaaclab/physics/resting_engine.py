# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Spares an engine that rests the states that a model makes.

To write one state of an articulation, the engine evaluates its kinematics four times: a fifth of a step of 512 Ants.
While a model steps all environments nobody but the robot's own buffers asks for states, so an object in the place of
the articulation's view keeps what is written, and answers what is read, poses and velocities of bodies included.
Whatever else is asked of the engine through that view, or of the physics manager, finds the state in the engine: it is
written first. So are the last commands of actuators, which nobody follows before the engine steps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
import warp as wp

from nerd_core.robot.spec import RobotSpec

from .free_body import FreeBody
from .link_kinematics import LinkKinematics

if TYPE_CHECKING:
    from isaaclab.assets import Articulation
    from isaaclab.scene import InteractiveScene

MOST_BUFFERS = 64
"""Buffers that are remembered; Isaac Lab has some ten."""


class RestingView:
    """Takes the place of an articulation's view and keeps its state while the engine rests."""

    def __init__(self, view: Any, spec: RobotSpec, data: Any):
        """Keeps nothing yet.

        Args:
            view: The articulation's own view.
            spec: The robot; joints and bodies in the order of the view.
            data: The articulation's data, for the centres of mass of its bodies.
        """
        from isaaclab_ov import tensor_types
        from isaaclab_ov.physics.ovphysx_manager import OvPhysxManager

        self.view = view
        self._spec, self._data = spec, data
        self._types: Any = tensor_types
        self._manager: Any = OvPhysxManager
        root = [tensor_types.ROOT_POSE, tensor_types.ROOT_VELOCITY]
        joints = [tensor_types.DOF_POSITION, tensor_types.DOF_VELOCITY]
        self._kinds = (root if spec.floating_base else []) + (joints if spec.joints else [])
        """Kinds that are kept, in the order in which they are written to the engine."""
        self._commands = {
            tensor_types.DOF_ACTUATION_FORCE,
            tensor_types.DOF_POSITION_TARGET,
            tensor_types.DOF_VELOCITY_TARGET,
        }
        self._is_over = False
        """Whether the engine steps again: somebody may have taken a reference to this view, and writes through it."""
        self._kept: dict[Any, torch.Tensor] = {}
        """What is kept of each kind; nothing while the engine holds the state."""
        self._told: dict[Any, wp.array] = {}
        """Buffers of the commands of all robots that the engine has not been told of."""
        self._buffers: dict[Any, torch.Tensor] = {}
        """Where it is kept, each time anew, and the pose of a root that is fixed."""
        self._kinematics: LinkKinematics | None = None
        self._is_placed = False
        self._tensors: dict[tuple[int, torch.Size], torch.Tensor] = {}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # Python asks what can be done with it, which is not for the engine
            raise AttributeError(name)
        self.settle()
        return getattr(self.view, name)

    def __contains__(self, name: Any) -> bool:
        return name in self.view

    def try_binding_for(self, name: Any) -> Any:
        """What the view gives: it is asked before every read whether there is such a kind at all."""
        return self.view.try_binding_for(name)

    def set_attribute(
        self, name: Any, values: wp.array, *, indices: wp.array | None = None, mask: wp.array | None = None
    ) -> None:
        """Keeps a part of the state, and writes all else as the view does."""
        if name in self._commands and not self._is_over:
            self._told[name] = values
            return
        if name not in self._kinds or self._is_over:
            self.settle()
            self.view.set_attribute(name, values, indices=indices, mask=mask)
            return
        if not self._kept:
            self._begin()
        kept = self._kept[name]
        given = self._tensor(values, kept)
        if mask is not None:
            torch.where(wp.to_torch(mask).bool()[:, None], given, kept, out=kept)
        elif indices is None:
            kept.copy_(given)
        else:
            rows = wp.to_torch(indices)
            kept.index_copy_(0, rows.long(), given.index_select(0, rows))
        self._is_placed = False

    def read_into(self, name: Any, dst: wp.array) -> None:
        """Answers from what is kept, and reads all else as the view does."""
        if not self._kept or name in self._types._CPU_ONLY_TYPES:  # properties do not change with the state
            self.view.read_into(name, dst)
        elif name in self._kept:
            self._tensor(dst, self._kept[name]).copy_(self._kept[name])
        elif name in (self._types.LINK_POSE, self._types.LINK_VELOCITY):
            kinematics = self._placed()
            values = kinematics.poses if name == self._types.LINK_POSE else kinematics.velocities
            self._tensor(dst, values).copy_(values)
        elif name == self._types.LINK_ACCELERATION and dst.ptr == self._data._body_com_acc_w.data.ptr:
            pass  # the engine has those of its own last step; what the articulation's buffer holds is the model's
        elif not self._spec.floating_base and name in (self._types.ROOT_POSE, self._types.ROOT_VELOCITY):
            self.view.read_into(name, dst)
        else:
            self.settle()
            self.view.read_into(name, dst)

    def settle(self) -> None:
        """Gets what is kept into the engine, which holds the state from now on until the next write."""
        told, self._told = self._told, {}
        for kind, commands in told.items():
            self.view.set_attribute(kind, commands)
        if not self._kept:
            return
        kept, self._kept = self._kept, {}
        for kind in self._kinds:
            self.view.set_attribute(kind, wp.from_torch(kept[kind]))
        self._manager.kinematics_dirty = True
        self._manager.forward()  # who looked at scenes before shall look again

    def end(self) -> None:
        """Gets what is kept into the engine; from now on this is the view itself."""
        self.settle()
        self._is_over = True

    def _begin(self) -> None:
        """Starts from what the engine holds."""
        if self._kinematics is None:
            self._kinematics = self._make_kinematics()
        for kind, buffer in self._buffers.items():
            self.view.read_into(kind, wp.from_torch(buffer))
        self._kept = {kind: self._buffers[kind] for kind in self._kinds}
        self._is_placed = False

    @torch.inference_mode(False)  # what is made there could not be changed outside
    def _make_kinematics(self) -> LinkKinematics:
        """Makes the buffers, and what finds bodies by them."""
        types = self._types
        kinds = dict.fromkeys((types.ROOT_POSE, *self._kinds))
        self._buffers = {kind: wp.to_torch(self.view.get_attribute(kind)).flatten(1) for kind in kinds}
        root_pose = self._buffers[types.ROOT_POSE]
        root_velocity = self._buffers.get(types.ROOT_VELOCITY, root_pose.new_zeros(len(root_pose), 6))
        none = root_pose.new_zeros(len(root_pose), 0)
        joints = tuple(self._buffers.get(kind, none) for kind in (types.DOF_POSITION, types.DOF_VELOCITY))
        return LinkKinematics(self._spec, (root_pose, root_velocity), joints)

    def _placed(self) -> LinkKinematics:
        """Poses and velocities of bodies in the state that is kept."""
        assert self._kinematics is not None  # a state is kept
        if not self._is_placed:
            self._kinematics.evaluate(self._data._backend_body_com_pose_b)
            self._is_placed = True
        return self._kinematics

    @torch.inference_mode(False)
    def _tensor(self, array: wp.array, like: torch.Tensor) -> torch.Tensor:
        """A buffer of Isaac Lab as a tensor; they stay where they are for as long as the articulation lives."""
        key = int(array.ptr or 0), like.shape
        if key not in self._tensors:
            if len(self._tensors) >= MOST_BUFFERS:  # somebody gives new ones every time
                self._tensors.clear()
            self._tensors[key] = wp.to_torch(array).view(like.shape)
        return self._tensors[key]


def let_engine_rest(robot: Articulation, spec: RobotSpec, scene: InteractiveScene) -> Callable[[], None]:
    """Keeps states of an articulation from the engine from now on, where nobody else could miss them: on the processor,
    where writing them is what takes long, and in a scene whose sensors are all fed by the model.

    Args:
        robot: The articulation.
        spec: Its specification.
        scene: The scene.

    Returns:
        What gets the state into the engine.
    """
    asset: Any = robot
    if isinstance(asset, FreeBody):  # its view is one of rigid bodies, without kinematics
        return _nothing
    view, data = getattr(asset, "_root_view", None), asset.data
    is_known = type(view).__name__ == "OvPhysxView" and str(asset.device) == "cpu"
    if not is_known or data.has_joint_ordering or data.has_body_ordering:
        return _nothing
    if not only_forces_are_read(scene):
        return _nothing
    resting = RestingView(view, spec, data)
    asset._root_view = data._view = resting
    return resting.settle


def wake_engine(robot: Articulation) -> None:
    """Gets the state of an articulation into the engine, and gives it its own view back."""
    asset: Any = robot
    view = getattr(asset, "_root_view", None)
    if isinstance(view, RestingView):
        view.end()
        asset._root_view = asset.data._view = view.view


def only_forces_are_read(scene: InteractiveScene) -> bool:
    """Whether the sensors of a scene ask the engine for forces of contacts and nothing else."""
    sensors: list[Any] = list(scene.sensors.values())
    return all(type(sensor).__name__ == "ContactSensor" and not sensor.cfg.track_pose for sensor in sensors)


def _nothing() -> None:
    """Does nothing: the engine holds every state."""


__all__ = ["RestingView", "let_engine_rest", "only_forces_are_read", "wake_engine"]
