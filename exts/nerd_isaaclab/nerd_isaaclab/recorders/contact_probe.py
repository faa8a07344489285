# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Contacts as the solver reports them: pairs with points, normals, gaps and forces.

The contact sensor of the kit-less backend gives one force a body and, for one body and one filter, one averaged point.
Each single point, normal, gap and force is in the engine's raw contact data, which is read here. The engine finds
contacts from the poses at the *start* of a physics step, so those of the state before a control step are there after
its first physics step. It reports pairs nearer than the sum of the shapes' contact offsets (a few centimetres), with a
positive gap and no force before they touch.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

if TYPE_CHECKING:
    from ..envs.nerd_env import NerdDynamics

PAIRS_PER_BODY = 16
"""Room for this many contacts of a body, on average."""

_ENV = re.compile(r"/env_(\d+)/")


class ContactSensorError(ValueError):
    """A backend or a robot that cannot report contacts."""


@dataclass(frozen=True)
class ContactPairs:
    """Contacts with the ground in N environments over T control steps, one row a pair."""

    env: torch.Tensor
    """Environment, shape (M,)."""
    step: torch.Tensor
    """Control step before which the contact was there, shape (M,)."""
    body: torch.Tensor
    """Body of the specification, shape (M,)."""
    point: torch.Tensor
    """Contact point, on the body or on the ground, whichever the pair of shapes makes it, relative to the origin of the
    environment [m], shape (M, 3)."""
    normal: torch.Tensor
    """Unit normal, out of the ground, shape (M, 3)."""
    gap: torch.Tensor
    """Gap between the surfaces, negative inside [m], shape (M,)."""
    force: torch.Tensor
    """Size of the normal force [N], shape (M,)."""


class ContactProbe:
    """Reads contacts while an environment steps."""

    def __init__(self, env: NerdDynamics):
        """Asks the engine to report contacts. Call before its first step.

        Args:
            env: Environment whose robot was spawned with ``activate_contact_sensors``.

        Raises:
            ContactSensorError: The backend has no raw contact data.
        """
        self._spec, self._origins = env.robot_spec, env.scene.env_origins
        get_engine = getattr(env.sim.physics_manager, "get_physx_instance", None)
        if get_engine is None or env.sim.device != "cpu":
            raise ContactSensorError(
                f"contacts of the solver are read from the engine of physics=ovphysx on the CPU, got "
                f"{env.sim.physics_manager.__name__} on {env.sim.device}: use --contacts geometry"
            )
        patterns = _body_patterns(env)
        capacity = PAIRS_PER_BODY * env.num_envs * len(patterns)
        self._binding = get_engine().create_contact_binding(
            sensor_patterns=patterns, filter_patterns=None, filters_per_sensor=0, max_contact_data_count=capacity
        )
        paths = self._binding.sensor_paths
        if len(paths) != env.num_envs * len(self._spec.bodies):
            raise ContactSensorError(
                f"the engine reports contacts of {len(paths)} bodies, expected {len(self._spec.bodies)} in each of "
                f"{env.num_envs} environments: the robot must be spawned with activate_contact_sensors=True"
            )
        names = [path.rsplit("/", 1)[-1] for path in paths]
        found = [_ENV.search(path) for path in paths]
        self._env_of = np.array([int(match[1]) if match else 0 for match in found])
        self._body_of = np.array([self._spec.body_names.index(name) for name in names])
        self._is_robot: dict[int, bool] = {}
        self._robots = frozenset(paths)
        self._force, self._gap = np.zeros((capacity, 1), np.float32), np.zeros((capacity, 1), np.float32)
        self._point, self._normal = np.zeros((capacity, 3), np.float32), np.zeros((capacity, 3), np.float32)
        self._layout, self._actors = np.zeros((len(paths), 2), np.uint32), np.zeros((capacity, 2), np.uint64)
        self._net = np.zeros((len(paths), 3), np.float32)
        self._friction = np.zeros((len(paths), 3), np.float32)
        self.clear()

    def clear(self) -> None:
        """Discards what was read."""
        self._pairs: list[tuple[np.ndarray, ...]] = []
        self._sum: np.ndarray | None = None
        self._forces: list[np.ndarray] = []

    def after_physics_step(self, number: int) -> None:
        """Reads the contacts of a physics step.

        Args:
            number: Number of the physics step within its control step.
        """
        if number == 0:
            self._read_pairs(len(self._forces))
        self._binding.read_net_normal_forces(self._net)
        self._binding.read_net_friction_forces(self._friction)
        total = self._net + self._friction
        self._sum = total if self._sum is None else self._sum + total
        if number == self._spec.decimation - 1:
            force = np.zeros((self._origins.shape[0], len(self._spec.bodies), 3), np.float32)
            force[self._env_of, self._body_of] = self._sum / self._spec.decimation
            self._forces.append(force)
            self._sum = None

    def take(self) -> tuple[ContactPairs, torch.Tensor]:
        """What was read since :meth:`clear`: the pairs, and the force on each body [N], shape (N, T, B, 3)."""
        columns = [np.concatenate(column) for column in zip(*self._pairs, strict=True)]
        step, env, body, point, normal, gap, force = (torch.from_numpy(column) for column in columns)
        pairs = ContactPairs(env, step, body, point - self._origins[env], normal, gap, force)
        return pairs, torch.from_numpy(np.stack(self._forces, axis=1))

    def _read_pairs(self, step: int) -> None:
        produced = self._binding.read_raw_contact_data(
            self._force, self._point, self._normal, self._gap, self._layout, self._actors
        )
        if produced > len(self._force):
            raise ContactSensorError(
                f"the engine has {produced} contacts at once, expected at most {len(self._force)} "
                f"({PAIRS_PER_BODY} a body): use fewer environments"
            )
        number = self._layout[:, 0].astype(np.int64)
        sensor = np.repeat(np.arange(len(number)), number)
        offset = np.arange(len(sensor)) - np.repeat(number.cumsum() - number, number)
        row = self._layout[sensor, 1].astype(np.int64) + offset
        on_ground = ~self._of_robots(self._actors[row, 1])
        row, sensor = row[on_ground], sensor[on_ground]
        signed = self._force[row, 0]
        # The normal points from the pair's second body to its first, and the sign bit of the force (also of a zero)
        # says which of the two the robot is.
        normal = np.copysign(1.0, signed)[:, None].astype(np.float32) * self._normal[row]
        self._pairs.append(
            (
                np.full(len(row), step),
                self._env_of[sensor],
                self._body_of[sensor],
                self._point[row],
                normal,
                self._gap[row, 0].copy(),
                np.abs(signed),
            )
        )

    def _of_robots(self, actors: np.ndarray) -> np.ndarray:
        """Which actors are bodies of a robot."""
        unique, inverse = np.unique(actors, return_inverse=True)
        unknown = np.array([actor for actor in unique.tolist() if actor not in self._is_robot], np.uint64)
        if len(unknown):
            for actor, path in zip(
                unknown.tolist(), self._binding.get_other_actor_paths_from_ids(unknown), strict=True
            ):
                self._is_robot[actor] = path in self._robots
        known = np.array([self._is_robot[actor] for actor in unique.tolist()], bool)
        return known[inverse] if len(unique) else np.zeros(0, bool)


def _body_patterns(env: NerdDynamics) -> list[str]:
    """Patterns of the prims of the robot's bodies, one a body."""
    from isaaclab.sim.utils import find_first_matching_prim
    from pxr import Usd, UsdPhysics

    root = find_first_matching_prim(env.robot.cfg.prim_path)
    prims = Usd.PrimRange(root, Usd.TraverseInstanceProxies()) if root is not None else ()
    paths = {prim.GetName(): prim.GetPath().pathString for prim in prims if prim.HasAPI(UsdPhysics.RigidBodyAPI)}
    return [_ENV.sub("/env_*/", paths[name], count=1) for name in env.robot_spec.body_names]
