# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""A free rigid body, as a robot without joints.

Isaac Lab has another class for a body that moves freely (``RigidObject``) than for what has joints
(``Articulation``). A model steps both alike, so that all that reads and writes a robot here knows articulations only,
and a free body is given the part of their surface that is about joints: none of them, in tensors without columns.
Everything else is the body's own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from isaaclab.assets import RigidObject

JOINT_BUFFERS = (
    "joint_pos",
    "joint_vel",
    "joint_acc",
    "joint_effort_target",
    "joint_pos_target",
    "joint_vel_target",
)
"""Numbers of joints that an articulation has in each step, shape (N, J)."""


class FreeBody:
    """The surface of an articulation for a rigid object: one body, no joints."""

    is_fixed_base = False
    joint_names: tuple[str, ...] = ()
    num_joints = 0

    def __init__(self, body: RigidObject):
        """Keeps the body.

        Args:
            body: Rigid object in the scene, once the simulation plays.
        """
        self.body = body
        self.body_names = [_name_of_prim(body)]
        """Name of the body on the stage: the engine has none for a body without joints."""
        self.actuators = NoActuators()
        self.cfg = FreeBodyCfg(body.cfg)
        self._data = FreeBodyData(body)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.body, name)

    @property
    def data(self) -> FreeBodyData:
        """What is known of the body's state; a new one where the simulation has begun anew."""
        if self._data.of is not self.body.data:
            self._data = FreeBodyData(self.body)
        return self._data

    def write_joint_state_to_sim_index(self, **_: Any) -> None:
        """Writes nothing."""


class FreeBodyData:
    """The data of a rigid object, with those of no joints beside them."""

    def __init__(self, body: RigidObject):
        """Makes the tensors without columns.

        Args:
            body: The rigid object.
        """
        object.__setattr__(self, "of", body.data)
        empty = NoJoints(body.num_instances, str(body.device))
        for name in JOINT_BUFFERS:
            object.__setattr__(self, name, empty)
        object.__setattr__(self, "joint_pos_limits", NoJoints(body.num_instances, str(body.device), 2))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.of, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.of, name, value)


class NoJoints:
    """A buffer of an articulation's data without columns."""

    def __init__(self, count: int, device: str, *further: int):
        """Makes the tensor.

        Args:
            count: Number of environments, N.
            device: Where the simulation runs.
            further: Dimensions behind that of joints.
        """
        self.torch = torch.zeros(count, 0, *further, device=device)
        """Shape (N, 0, ...)."""


class NoActuators(dict[str, Any]):
    """Actuators of a robot that has no joints; attributes may be set as on Isaac Lab's own collection."""


class FreeBodyCfg:
    """The configuration of a rigid object, with actuators."""

    def __init__(self, cfg: Any):
        self._cfg = cfg
        self.actuators = NoActuators()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cfg, name)


def _name_of_prim(body: RigidObject) -> str:
    """Name of the prim that is the rigid body, in the first environment."""
    from isaaclab.sim.utils import find_first_matching_prim
    from pxr import Usd, UsdPhysics

    root = find_first_matching_prim(body.cfg.prim_path)
    for prim in Usd.PrimRange(root, Usd.TraverseInstanceProxies()) if root is not None else ():
        if prim.HasAPI(UsdPhysics.RigidBodyAPI):
            return prim.GetName()
    raise ValueError(f"no rigid body is below '{body.cfg.prim_path}' on the stage")


__all__ = ["FreeBody"]
