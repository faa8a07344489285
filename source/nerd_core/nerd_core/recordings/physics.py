# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What recordings say of the world when physics is trusted: gravity, the ground, rates, the clock.

Each function looks at one run; :mod:`nerd_core.recordings.plausibility` takes medians over the runs, and compares.

- A body that nothing touches falls with the acceleration of gravity: its size tells the length scale (or the clock),
  its direction the tilt of the axes.
- A robot at rest has no velocity, and its lowest points touch the ground.
- Positions change as velocities say, and orientations turn as angular velocities say, in the axes of the world.
- The lower link of a pendulum swings by gravity and by the motion of its hinge. Both act through the same lever, so
  that their ratio gives the acceleration of gravity in the units of the recording, whatever the masses: with the length
  of the upper link the unit of time follows.

Example::

    states = run_states(recording, recordings.spec)
    falls = free_fall(states, recordings.spec)  # accelerations [m/s^2]
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np
import torch

from ..robot.frames import quat_conjugate, quat_mul, quat_rotate, rotvec_from_quat
from ..robot.kinematics import ForwardKinematics
from ..robot.spec import RobotSpec
from .recording import Recording

CLEARANCE = 0.015
"""Height of the lowest point above which nothing is touched [m]."""

MIN_FALL = 10
"""Fewest frames of a fall."""

FALL_RESIDUAL = 4.0e-3
"""Root mean square by which a fall may differ from a parabola [m]."""

STILL_FRAMES = 10
"""Frames over which a robot has to stay where it is to be at rest."""

STILL_M, STILL_RAD = 1.0e-3, 8.0e-3
"""How far it may move over them, at most, in the mean of three frames at both ends [m] and [rad]."""

CARRIERS = 3
"""Lowest points that carry a robot at rest, if it has as many."""

REST_FRAMES, REST_SPEED, REST_RATE = 5, 0.03, 0.3
"""Frames at the end of a run, and the speeds below which it ends at rest [m/s] and [rad/s]."""

FIT_SECONDS, SHORT_FIT_SECONDS, FIT_DEGREE = 0.04, 0.026, 4
"""Lengths of the polynomials from which accelerations of a pendulum are taken [s], and their degree. Short ones follow
fast motion, long ones average noise: where they disagree neither is right."""


@dataclass(frozen=True, eq=False)
class States:
    """A run at equal steps, with what follows from it."""

    time: np.ndarray
    """Times [s], shape (T,)."""
    dt: float
    """Step [s]."""
    recording: Recording
    """The run."""
    lowest: np.ndarray | None
    """Height of the lowest contact slot's surface [m], shape (T,); None for a fixed base."""
    resting: np.ndarray | None
    """Mean height of the lowest slots, of which :data:`CARRIERS` carry it at rest [m], shape (T,)."""
    centre: np.ndarray | None
    """Centre of mass of all bodies [m], shape (T, 3)."""


def run_states(recording: Recording, spec: RobotSpec) -> States:
    """A run with heights and centres of mass, of a floating robot; of a fixed one, the run alone.

    Args:
        recording: The run, at equal steps of time.
        spec: Its robot.
    """
    dt = float(np.median(np.diff(recording.time)))
    pos, quat = recording.root_pos, recording.root_quat
    if not spec.floating_base or pos is None or quat is None:
        return States(recording.time, dt, recording, None, None, None)
    state = np.zeros((recording.frames, spec.state.dim))
    state[:, spec.state.root_quat], state[:, spec.state.joint_pos] = quat, recording.joint_pos
    kinematics, names = _kinematics(spec), spec.body_names
    # About the root: single precision must not see how far away it stands.
    found = kinematics(torch.from_numpy(state).float())
    body_pos, body_quat = found.pos.double(), found.quat.double()
    lowest = resting = None
    if spec.slots:
        bodies = [names.index(slot.body) for slot in spec.slots]
        points = torch.tensor([slot.point for slot in spec.slots], dtype=torch.float64)
        radii = np.array([slot.radius for slot in spec.slots])
        height = (body_pos[:, bodies] + quat_rotate(body_quat[:, bodies], points))[..., 2].numpy() - radii + pos[:, 2:]
        lowest = height.min(1)
        resting = np.sort(height, axis=1)[:, :CARRIERS].mean(1)
    inertias = [body.inertia for body in spec.bodies]
    centre = None
    if all(inertia is not None for inertia in inertias):
        mass = torch.tensor([inertia.mass for inertia in inertias if inertia is not None], dtype=torch.float64)
        centres = torch.tensor([inertia.centre for inertia in inertias if inertia is not None], dtype=torch.float64)
        places = body_pos + quat_rotate(body_quat, centres)
        centre = (places * (mass / mass.sum())[:, None]).sum(1).numpy() + pos
    return States(recording.time, dt, recording, lowest, resting, centre)


@functools.lru_cache(maxsize=4)
def _kinematics(spec: RobotSpec) -> ForwardKinematics:
    return ForwardKinematics(spec)


def free_fall(states: States, spec: RobotSpec) -> np.ndarray | None:
    """Acceleration of the centre of mass until the first touch [m/s^2], shape (3,); None without a fall.

    Args:
        states: The run.
        spec: Its robot.
    """
    if states.lowest is None or states.centre is None or spec.controls:
        return None
    low = states.lowest < CLEARANCE
    frames = int(low.argmax()) if low.any() else len(low)
    if frames < MIN_FALL:
        return None
    time = states.time[:frames] - states.time[:frames].mean()
    powers = np.stack((np.ones(frames), time, 0.5 * time**2), axis=1)
    found = np.linalg.lstsq(powers, states.centre[:frames], rcond=None)[0]
    residual = states.centre[:frames] - powers @ found
    if float(np.sqrt(np.square(residual).sum(1).mean())) > FALL_RESIDUAL:
        return None  # something was touched all the same
    return found[2]


def still_frames(states: States) -> np.ndarray:
    """Frames in which the robot is at rest, bool, shape (T,)."""
    recording, half = states.recording, STILL_FRAMES // 2
    frames = recording.frames
    still = np.zeros(frames, bool)
    if frames < STILL_FRAMES + 3:
        return still

    def moved(values: np.ndarray, limit: float) -> np.ndarray:
        smooth = (values[:-2] + values[1:-1] + values[2:]) / 3.0
        return np.linalg.norm(smooth[STILL_FRAMES:] - smooth[:-STILL_FRAMES], axis=1) > limit

    moves = np.zeros(frames - STILL_FRAMES - 2, bool)
    if recording.root_pos is not None and recording.root_quat is not None:
        moves |= moved(recording.root_pos, STILL_M)
        moves |= moved(recording.root_quat, 0.5 * STILL_RAD)
    if recording.joint_pos.shape[1]:
        moves |= moved(recording.joint_pos, STILL_RAD)
    still[half + 1 : half + 1 + len(moves)] = ~moves
    return still


def rest_velocity(states: States) -> dict[str, np.ndarray]:
    """Mean velocities that are recorded while the robot is at rest, by name; empty if it never is."""
    still, recording = still_frames(states), states.recording
    if still.sum() < STILL_FRAMES:
        return {}
    named = {
        "linear": recording.root_lin_vel,
        "angular": recording.root_ang_vel,
        "joint": recording.joint_vel if recording.joint_pos.shape[1] else None,
    }
    return {name: values[still].mean(0) for name, values in named.items() if values is not None}


def rest_height(states: States) -> tuple[float, float] | None:
    """Height of what carries the robot where a run ends at rest, and of its root [m]; None if it does not.

    Args:
        states: The run.
    """
    recording, last = states.recording, REST_FRAMES
    if states.resting is None or recording.root_pos is None or recording.root_quat is None or recording.frames < last:
        return None
    seconds = (last - 1) * states.dt
    speed = float(np.linalg.norm(recording.root_pos[-1] - recording.root_pos[-last])) / seconds
    rate = 2.0 * float(np.linalg.norm(recording.root_quat[-1] - recording.root_quat[-last])) / seconds
    if recording.joint_pos.shape[1]:
        rate += float(np.abs(recording.joint_pos[-1] - recording.joint_pos[-last]).max()) / seconds
    height, root = float(np.mean(states.resting[-last:])), float(np.mean(recording.root_pos[-last:, 2]))
    if speed > REST_SPEED or rate > REST_RATE or height > CLEARANCE:
        return None
    return height, root


@dataclass(frozen=True)
class Agreement:
    """How positions change, against what velocities say."""

    slope: float
    """Recorded velocity per change of position over the step: 1 where units and clock agree."""
    residual: float
    """Typical difference of the two beside the typical velocity, after the slope was taken out."""
    moved: float
    """Typical velocity by the positions."""


def agreement(change: np.ndarray, velocity: np.ndarray, dt: float) -> Agreement | None:
    """Compares changes of position with velocities at the same frames; None if hardly anything moves.

    Velocities may belong to the beginning, the end or the middle of a step: the one that fits best counts.

    Args:
        change: Changes over each step, shape (T - 1, K).
        velocity: Recorded velocities, shape (T, K).
        dt: The step [s].
    """
    if len(change) < MIN_FALL:
        return None
    rate = change / dt
    best = None
    for said in (velocity[:-1], velocity[1:], 0.5 * (velocity[:-1] + velocity[1:])):
        # Single steps are noise, five of them are motion.
        smooth_rate, smooth_said = (_mean_of(values, 5) for values in (rate, said))
        speed = np.linalg.norm(smooth_rate, axis=1)
        fast = speed >= np.quantile(speed, 0.5)
        top, bottom = (smooth_said * smooth_rate)[fast].sum(), (smooth_rate**2)[fast].sum()
        if not bottom > 0.0 or not np.median(speed[fast]) > 0.0:
            return None
        slope = float(top / bottom)
        unit = slope if abs(slope) > 1e-9 else 1.0
        residual = float(
            np.median(np.linalg.norm(smooth_said / unit - smooth_rate, axis=1)[fast]) / np.median(speed[fast])
        )
        if best is None or residual < best.residual:
            best = Agreement(slope, residual, float(np.median(speed[fast])))
    return best


def turns(quat: np.ndarray) -> np.ndarray:
    """Rotation vectors from each orientation to the next, world axes [rad], shapes (T, 4) to (T - 1, 3)."""
    there = torch.from_numpy(np.ascontiguousarray(quat))
    return rotvec_from_quat(quat_mul(there[1:], quat_conjugate(there[:-1]))).numpy()


def into_world(quat: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """Vectors of body axes in the axes of the world, shapes (T, 4) and (T, 3) to (T, 3)."""
    return quat_rotate(torch.from_numpy(quat), torch.from_numpy(vector)).numpy()


@dataclass(frozen=True)
class PendulumGravity:
    """What the motion of the lower link says of gravity."""

    gravity: float
    """Acceleration of gravity [m/s^2] in the recording's units of length and time."""
    tilt: float
    """Angle between the recording's vertical and gravity [rad]."""
    explained: float
    """Share of the variance of the lower link's acceleration that the equation of motion explains."""


def is_double_pendulum(spec: RobotSpec) -> bool:
    """Whether a robot is two links in a row on parallel hinges that hang from a fixed base."""
    if spec.floating_base or len(spec.joints) != 2 or any(joint.kind != "revolute" for joint in spec.joints):
        return False
    by_joint = {body.joint: body for body in spec.bodies if body.joint}
    upper, lower = (by_joint[name] for name in spec.joint_names)
    return lower.parent == upper.name and spec.joints[0].axis == spec.joints[1].axis


def pendulum_gravity(
    states: States, spec: RobotSpec, effort: np.ndarray | None = None, seconds: float = FIT_SECONDS
) -> PendulumGravity | None:
    """Gravity from the equation of motion of the lower link of a double pendulum. With absolute angles ``a``, ``b``
    of the links, the hinge's distance ``l``, friction and the elbow's effort ``u``::

        b'' = -k (a'' cos(a - b) - a'^2 sin(a - b)) - k g / l sin(b - tilt) - c (b' - a') - f sign(b' - a') + u / I

    Args:
        states: The run.
        spec: Its robot, see :func:`is_double_pendulum`.
        effort: Effort on the elbow at each frame [N m], shape (T,); None where nothing drives it.
        seconds: Length of the polynomials [s].
    """
    frames = max(9, 2 * round(0.5 * seconds / states.dt) + 1)
    angle = np.cumsum(states.recording.joint_pos, axis=1)
    if len(angle) < 10 * frames:
        return None
    time = states.dt * (np.arange(frames) - frames // 2)
    powers = np.vander(time, FIT_DEGREE + 1, increasing=True)
    weights = np.linalg.pinv(powers)[:3]
    windows = np.lib.stride_tricks.sliding_window_view(angle, frames, axis=0)
    value, rate, half_acceleration = np.einsum("kf,tjf->ktj", weights, windows)
    acceleration = 2.0 * half_acceleration
    a, b = value.T
    columns = [
        -(acceleration[:, 0] * np.cos(a - b) - rate[:, 0] ** 2 * np.sin(a - b)),
        *(-np.sin(b), np.cos(b)),
        *(rate[:, 0] - rate[:, 1], np.sign(rate[:, 0] - rate[:, 1])),
    ]
    if effort is not None:
        columns.append(np.convolve(effort, np.full(frames, 1.0 / frames), "valid"))
    table, target = np.stack(columns, axis=1), acceleration[:, 1]
    found = np.linalg.lstsq(table, target, rcond=None)[0]
    explained = 1.0 - float(np.var(target - table @ found) / max(np.var(target), 1e-12))
    if not found[0] > 0.0 or not found[1] > 0.0:
        return None
    lever = float(np.linalg.norm(next(body for body in spec.bodies if body.joint == spec.joint_names[1]).parent_pos))
    size = math.hypot(found[1], found[2])
    return PendulumGravity(float(size * lever / found[0]), math.atan2(found[2], found[1]), explained)


def _mean_of(values: np.ndarray, frames: int) -> np.ndarray:
    """Running means over some frames, shape (T, K) to (T - frames + 1, K)."""
    total = np.cumsum(np.concatenate((np.zeros((1, values.shape[1])), values)), axis=0)
    return (total[frames:] - total[:-frames]) / frames


__all__ = [
    "SHORT_FIT_SECONDS",
    "Agreement",
    "PendulumGravity",
    "States",
    "agreement",
    "free_fall",
    "into_world",
    "is_double_pendulum",
    "pendulum_gravity",
    "rest_height",
    "rest_velocity",
    "run_states",
    "still_frames",
    "turns",
]
