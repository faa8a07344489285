# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""A random plane under each robot, anew for each trajectory.

The engine knows one world and no planes that move. So each environment gets a kinematic slab
(:mod:`nerd_isaaclab.physics.slab`) whose upper face is the plane, wide enough that a robot with a fixed base cannot
reach its edge, in environments so far apart that no robot reaches a neighbour's slab.
Planes are drawn as in the published generator (NeRD, released code): a normal from the cube
[-1, 1]^3, normalised, and an offset between 3.5 m below the root and the first slot of the robot that would touch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from nerd_core.contact.contacts import ContactModel
from nerd_core.contact.grounds import PlaneGround
from nerd_core.robot.spec import RobotSpec

from ..physics.robot_state import RobotState
from ..physics.slab import slab_cfg
from .collect_cfg import CollectError
from .initial_states import CLEARANCE

if TYPE_CHECKING:
    from ..envs.nerd_env import NerdDynamics

DEPTH = 3.5
"""Farthest plane below the root [m]."""

HALF_SIZE = (4.0, 4.0, 0.5)
"""Half the edges of a box [m]: for robots that reach up to 4 m from their root."""

SPACING = 20.0
"""Distance of the environments [m]: a box and a robot of neighbours, each stretched out, stay apart."""

NAME = "nerd_plane"
"""Name of the box in the scene."""


def prepare_scene(scene_cfg: Any) -> None:
    """Replaces the ground in the configuration of a scene by a box an environment.

    Args:
        scene_cfg: Configuration of the scene; changed in place.
    """
    import isaaclab.sim as sim_utils
    from isaaclab.assets import RigidObjectCfg
    from isaaclab.terrains import TerrainImporterCfg

    material = None
    for name, value in vars(scene_cfg).items():
        is_terrain = isinstance(value, TerrainImporterCfg)
        if is_terrain or isinstance(getattr(value, "spawn", None), sim_utils.GroundPlaneCfg):
            material = value.physics_material if is_terrain else value.spawn.physics_material
            setattr(scene_cfg, name, None)
    scene_cfg.env_spacing = max(scene_cfg.env_spacing, SPACING)
    box = slab_cfg((2.0 * HALF_SIZE[0], 2.0 * HALF_SIZE[1], 2.0 * HALF_SIZE[2]), material)
    box.rigid_props = sim_utils.RigidBodyPropertiesCfg(kinematic_enabled=True)
    setattr(scene_cfg, NAME, RigidObjectCfg(prim_path=f"{{ENV_REGEX_NS}}/{NAME}", spawn=box))


class RandomPlanes:
    """Draws planes and puts the boxes of a scene there."""

    def __init__(self, env: NerdDynamics):
        """Takes the boxes of an environment whose scene was made by :func:`prepare_scene`.

        Args:
            env: The environment.

        Raises:
            CollectError: The robot has no fixed base, or cannot touch anything.
        """
        spec = env.robot_spec
        if spec.floating_base or not spec.slots:
            raise CollectError(
                f"--ground random-planes is for robots with a fixed base and collision shapes: '{spec.name}' "
                + ("would slide off its plane" if spec.floating_base else "has no shapes")
            )
        self._env, self._spec = env, spec
        self._box = env.scene[NAME]
        self._robot = RobotState(env.robot, spec, env.scene.env_origins)

    def draw(self, state: torch.Tensor, generator: torch.Generator) -> PlaneGround:
        """Planes that the robots do not touch.

        Args:
            state: First states, shape (N, S), on the CPU.
            generator: Source of randomness, on the CPU.
        """
        return draw_planes(self._spec, state, generator)

    def pose(self, ground: PlaneGround) -> None:
        """Puts the boxes below the planes. The robots are wherever this leaves them: write their states next.

        A kinematic body reaches its place in the course of a step, pushing what stands in its way; that step is made
        here.

        Args:
            ground: A plane an environment.
        """
        root = torch.tensor(self._spec.root_pos)
        normal, offset = ground.normal, ground.offset
        middle = root - ((normal @ root) - offset)[:, None] * normal - HALF_SIZE[2] * normal
        pose = torch.cat((middle, _turn_up_to(normal)), dim=-1).to(self._env.device)
        pose[:, :3] += self._env.scene.env_origins
        self._box.write_root_link_pose_to_sim_index(root_pose=pose)
        self._env.sim.physics_manager.step()
        self._robot.advance_clock(self._env.physics_dt)
        self._box.update(self._env.physics_dt)


def draw_planes(spec: RobotSpec, state: torch.Tensor, generator: torch.Generator) -> PlaneGround:
    """Random planes that no slot of the robots touches.

    Args:
        spec: A robot with a fixed base.
        state: States, shape (N, S).
        generator: Source of randomness, on the CPU.
    """
    count = len(state)
    normal = torch.nn.functional.normalize(torch.rand(count, 3, generator=generator) * 2.0 - 1.0, dim=-1)
    model = ContactModel(spec)
    model.gate.fill_(torch.inf)  # the distance of every slot, however far
    height = model(state, PlaneGround(normal, torch.zeros(count))).distance
    highest = (height - torch.tensor([slot.radius for slot in spec.slots])).amin(-1) - 2.0 * CLEARANCE
    lowest = (normal @ torch.tensor(spec.root_pos) - DEPTH).minimum(highest)
    share = torch.rand(count, generator=generator)
    return PlaneGround(normal, lowest + (highest - lowest) * share)


def _turn_up_to(normal: torch.Tensor) -> torch.Tensor:
    """Shortest rotations (xyzw) from the z axis to unit vectors, shape (N, 3) to (N, 4)."""
    x, y, z = normal.unbind(-1)
    quat = torch.stack((-y, x, torch.zeros_like(x), 1.0 + z), dim=-1)
    is_down = z < -1.0 + 1e-6
    quat[is_down] = torch.tensor([1.0, 0.0, 0.0, 0.0])
    return torch.nn.functional.normalize(quat, dim=-1)
