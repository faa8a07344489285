# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Where trajectories begin: wide ranges, free of penetration."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from nerd_core.contact.contacts import ContactModel
from nerd_core.contact.grounds import Ground
from nerd_core.files.bounds import bounded, check_bounds
from nerd_core.robot.frames import quat_from_rotvec, quat_mul, quat_rotate
from nerd_core.robot.spec import RobotSpec
from nerd_core.robot.stops import Stops

CLEARANCE = 1.0e-3
"""Smallest gap between the robot and the ground at the start [m]."""

CROSSING = 0.1
"""Shortest time in which a joint with stops may cross its range at the velocity it begins with [s]."""

SPEED, SLIDE_SPEED = 2.0 * math.pi, 5.0
"""Largest velocities where limits do not ask for less [rad/s, m/s]: published for the Ant and the Cartpole."""

_TRIES = 64
"""Draws for a fixed base until its trajectories start clear of the ground, and rounds in which others are lifted."""
_FAR_LIFT = 0.01
"""Least lift in the second half of these rounds [m]: what misses a hair's breadth beside a wall is lifted by as much
each time, and stays beside it.
"""


class InitialStateError(ValueError):
    """Ranges that leave no room above the ground, or name no joint."""


@dataclass(frozen=True)
class InitialStateCfg:
    """Ranges of the first state. What is left out follows from the robot's limits.

    The defaults are the published ranges of the Ant for a floating base, and of the Cartpole for a fixed one.
    """

    root_height: tuple[float, float] = bounded((0.3, 1.3))
    """Lowest and highest root above the ground [m]. A robot that would touch it is lifted until it is clear."""
    root_tilt: float = bounded(math.pi / 2, at_least=0.0, at_most=math.pi)
    """Largest rotation away from upright, about any axis [rad]. Yaw is uniform."""
    root_lin_vel: float = bounded(1.0, at_least=0.0)
    """Largest component of the root's velocity [m/s]."""
    root_ang_vel: float = bounded(math.pi, at_least=0.0)
    """Largest component of the root's angular velocity [rad/s]."""
    joint_pos_share: float = bounded(1.0, at_least=0.0, at_most=1.0)
    """Share of each joint's range that is used, about its middle."""
    slide: float = bounded(3.5, at_least=0.0)
    """Farthest position of a sliding joint [m], where its limits allow it."""
    joint_vel: float | None = bounded(None, at_least=0.0)
    """Largest joint velocity [rad/s]; None for 2 pi, or less where a joint's limits ask for it: a joint does not begin
    faster than its limit of the speed, nor so fast that it crosses its range in less than :data:`CROSSING`."""
    slide_vel: float | None = bounded(None, at_least=0.0)
    """Largest velocity of a sliding joint [m/s]; None for 5, or less likewise."""
    at_stops: float = bounded(0.0, at_least=0.0, at_most=1.0)
    """Share of the joints with stops that start just before one of them, within
    :func:`nerd_core.robot.stops.stop_band`. Else a joint meets its stops in a few steps of a hundred."""
    task_poses: float = bounded(0.5, at_least=0.0, at_most=1.0)
    """Share of the trajectories that begin in poses of the task's own resets, with velocities drawn as for the others:
    wide ranges of all joints at once seldom come near the poses that a task is about."""

    def __post_init__(self):
        check_bounds(self, InitialStateError)
        low, high = self.root_height
        if low > high:
            raise InitialStateError(f"got {low:g},{high:g} for the range 'root_height', expected LOW <= HIGH")


def draw_initial_states(
    spec: RobotSpec,
    cfg: InitialStateCfg,
    count: int,
    generator: torch.Generator,
    ground: Ground | None,
    task_states: torch.Tensor | None = None,
) -> torch.Tensor:
    """First states of some trajectories, shape (N, S), on the CPU.

    Args:
        spec: The robot.
        cfg: Ranges.
        count: Number of trajectories, N.
        generator: Source of randomness, on the CPU.
        ground: Ground of each trajectory; None where the robot can touch nothing.
        task_states: States after resets of the task, shape (N, S), on the CPU; None where there are none.

    Raises:
        InitialStateError: A fixed base touches the ground in nearly all of its states.
    """
    state = _draw(spec, cfg, count, generator)
    if task_states is not None:
        from_task = torch.rand(count, 1, generator=generator) < cfg.task_poses
        pose = torch.arange(spec.state.dim) < spec.state.joint_pos.stop
        state = torch.where(from_task & pose, task_states, state)
    if ground is None or not _moving_slots(spec):
        return state
    contacts = ContactModel(spec)
    if spec.floating_base:
        return _lift(spec, contacts, state, ground)
    for _ in range(_TRIES):
        inside = _gap(contacts, state, ground) < CLEARANCE
        if not inside.any():
            return state
        state = torch.where(inside[:, None], _draw(spec, cfg, count, generator), state)
    raise InitialStateError(
        f"'{spec.name}' starts inside the ground in {int(inside.sum())} of {count} trajectories after {_TRIES} draws: "
        "narrow the ranges of the initial states or lower the ground"
    )


def _draw(spec: RobotSpec, cfg: InitialStateCfg, count: int, generator: torch.Generator) -> torch.Tensor:
    state, at = torch.zeros(count, spec.state.dim), spec.state

    def symmetric(*shape: int) -> torch.Tensor:
        return torch.rand(*shape, generator=generator) * 2.0 - 1.0

    slides = torch.tensor([joint.kind == "prismatic" for joint in spec.joints], dtype=torch.bool)
    far = torch.where(slides, cfg.slide, math.pi)
    lower = torch.tensor([joint.lower for joint in spec.joints]).maximum(-far)
    upper = torch.tensor([joint.upper for joint in spec.joints]).minimum(far)
    turning = torch.tensor([bool(joint.wraps) for joint in spec.joints], dtype=torch.bool)
    lower, upper = torch.where(turning, -far, lower), torch.where(turning, far, upper)
    middle, half = 0.5 * (lower + upper), 0.5 * (upper - lower) * cfg.joint_pos_share
    joint_pos = middle + half * symmetric(count, len(spec.joints))
    state[:, at.joint_pos] = _toward_stops(spec, cfg.at_stops, joint_pos, generator) if cfg.at_stops else joint_pos
    state[:, at.joint_vel] = _largest_velocities(spec, cfg) * symmetric(count, len(spec.joints))
    if spec.floating_base:
        low, high = cfg.root_height
        up = -torch.nn.functional.normalize(torch.tensor(spec.gravity), dim=0)
        state[:, at.root_pos] = up * (low + (high - low) * torch.rand(count, 1, generator=generator))
        axis = torch.nn.functional.normalize(torch.randn(count, 3, generator=generator), dim=-1)
        tilt = quat_from_rotvec(axis * cfg.root_tilt * symmetric(count, 1))
        yaw = quat_from_rotvec(up * math.pi * symmetric(count, 1))
        quat = quat_mul(tilt, yaw)
        state[:, at.root_quat] = quat
        state[:, at.root_lin_vel] = quat_rotate(quat, cfg.root_lin_vel * symmetric(count, 3))
        state[:, at.root_ang_vel] = quat_rotate(quat, cfg.root_ang_vel * symmetric(count, 3))
    return state


def _largest_velocities(spec: RobotSpec, cfg: InitialStateCfg) -> torch.Tensor:
    """Largest velocity with which each joint begins, shape (J,)."""
    found = []
    for joint in spec.joints:
        asked, usual = (cfg.slide_vel, SLIDE_SPEED) if joint.kind == "prismatic" else (cfg.joint_vel, SPEED)
        across = math.inf if joint.wraps else (joint.upper - joint.lower) / CROSSING
        found.append(min(usual, joint.velocity_limit, across) if asked is None else asked)
    return torch.tensor(found)


def _toward_stops(spec: RobotSpec, share: float, joint_pos: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Moves a share of the joints that have stops to within the band before one of them."""
    stops = Stops(spec)
    chosen, side, depth = torch.rand(3, *joint_pos.shape, generator=generator)
    below = torch.where(stops.upper.isinf(), True, (side < 0.5) & stops.lower.isfinite())
    near = torch.where(below, stops.lower + depth * stops.band, stops.upper - depth * stops.band)
    return torch.where((chosen < share) & near.isfinite(), near, joint_pos)


def _gap(contacts: ContactModel, state: torch.Tensor, ground: Ground) -> torch.Tensor:
    """Smallest gap between the surface of a slot that moves and the ground, at most the smallest gate, shape (N,)."""
    found = contacts(state, ground)
    radius = torch.tensor([slot.radius for slot in contacts.spec.slots])
    gap = torch.where(found.active, found.distance - radius, contacts.gate - radius)
    return gap[:, _moving_slots(contacts.spec)].amin(dim=-1)


def _moving_slots(spec: RobotSpec) -> list[int]:
    """Numbers of the slots of bodies that can move: the foot of an arm that is bolted to the floor stands on it in all
    states.
    """
    moves: dict[str | None, bool] = {None: spec.floating_base}
    for body in spec.bodies:
        moves[body.name] = body.joint is not None or moves[body.parent]
    return [number for number, slot in enumerate(spec.slots) if moves[slot.body]]


def _lift(spec: RobotSpec, contacts: ContactModel, state: torch.Tensor, ground: Ground) -> torch.Tensor:
    """Raises floating robots that touch the ground; on uneven ground a few rounds are needed, beside walls many."""
    at = spec.state
    up = -torch.nn.functional.normalize(torch.tensor(spec.gravity), dim=0)
    for number in range(_TRIES):
        missing = (CLEARANCE - _gap(contacts, state, ground)).clamp(min=0.0)
        if not (missing > 0.0).any():
            return state
        least = 1e-6 if number < _TRIES // 2 else _FAR_LIFT
        state[:, at.root_pos] += up * (missing + (missing > 0.0) * least)[:, None]
    raise InitialStateError(f"'{spec.name}' cannot be lifted clear of the ground within {_TRIES} rounds")
