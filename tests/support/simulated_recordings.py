# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Recordings of simulated mechanisms, varied and with the noise of real tracking: physics holds in them, all of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch

from nerd_core.contact.grounds import PlaneGround
from nerd_core.judging.judge import predicted
from nerd_core.predictor.config import PredictorCfg
from nerd_core.predictor.mechanics_prior import MechanicsPriorCfg
from nerd_core.predictor.predictor import Predictor
from nerd_core.recordings.mechanisms import double_pendulum, hinged_boxes, tossed_box
from nerd_core.recordings.physics import turns
from nerd_core.recordings.recording import Recording, RecordingSet
from nerd_core.robot.frames import quat_from_rotvec, quat_mul
from nerd_core.robot.spec import RobotSpec

KINDS = ("box", "hinged boxes", "passive pendulum", "driven pendulum")

FINE = 8
"""Physics steps in a frame."""


def simulated(kind: str, seed: int, runs: int = 24, frames: int = 150) -> RecordingSet:
    """Recordings of a mechanism whose size, masses, friction, motion, frame rate and noise follow from a seed.

    Args:
        kind: One of :data:`KINDS`.
        seed: Seed.
        runs: Number of runs.
        frames: Frames of each run; three times as many for pendulums.
    """
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    if "pendulum" in kind:
        return _pendulum(kind, rng, max(6, runs // 3), 3 * frames)
    rate = float(rng.uniform(100.0, 240.0))
    if kind == "box":
        half = tuple(rng.uniform(0.03, 0.08, 3).tolist())
        mass = float(rng.uniform(0.1, 2.0))
        moment = tuple(mass / 3.0 * (np.sum(np.square(half)) - np.square(half)))
        spec = tossed_box("box", rate, mass, moment, half, 9.81)
    else:
        spec = hinged_boxes("boxes", rate, _two_boxes(rng))
    state = np.zeros((runs, spec.state.dim))
    at = spec.state
    state[:, at.root_pos] = rng.uniform(-0.2, 0.2, (runs, 3)) + [0.0, 0.0, 0.45]
    turn = rng.standard_normal((runs, 4))
    state[:, at.root_quat] = turn / np.linalg.norm(turn, axis=1, keepdims=True)
    state[:, at.root_lin_vel] = rng.uniform(-1.0, 1.0, (runs, 3)) * [1.0, 1.0, 0.5]
    state[:, at.root_ang_vel] = rng.uniform(-5.0, 5.0, (runs, 3))
    state[:, at.joint_vel] = rng.uniform(-3.0, 3.0, (runs, len(spec.joints)))
    states = _motion(spec, state, np.zeros((runs, frames - 1, 0)))
    noise, turn_noise = rng.uniform(1e-4, 4e-4), rng.uniform(1e-3, 4e-3)
    return RecordingSet(
        *(
            "simulated",
            spec,
            tuple(_tracked(spec, each, rate, rng, noise, turn_noise, k) for k, each in enumerate(states)),
        ),
        *("rate", rate, {}),
        width=0.1,
    )


def _tracked(
    spec: RobotSpec, state: np.ndarray, rate: float, rng: np.random.Generator, noise: float, turn_noise: float, k: int
) -> Recording:
    """Noisy poses, and velocities as trackers give them: backward differences and a median of three."""
    at, frames = spec.state, len(state)
    pos = state[:, at.root_pos] + noise * rng.standard_normal((frames, 3))
    wobble = quat_from_rotvec(torch.from_numpy(turn_noise * rng.standard_normal((frames, 3))))
    quat = quat_mul(wobble, torch.from_numpy(state[:, at.root_quat])).numpy()
    joint = np.unwrap(state[:, at.joint_pos], axis=0) if spec.joints else state[:, at.joint_pos]
    joint = joint + turn_noise * rng.standard_normal(joint.shape)

    def backward(change: np.ndarray) -> np.ndarray:
        rates = rate * np.concatenate((change[:1], change))
        padded = np.concatenate((rates[:1], rates, rates[-1:]))
        return np.median(np.stack((padded[:-2], padded[1:-1], padded[2:])), axis=0)

    return Recording(
        name=f"run {k}",
        time=np.arange(frames) / rate,
        joint_pos=joint,
        joint_vel=backward(np.diff(joint, axis=0)),
        root_pos=pos,
        root_quat=quat,
        root_lin_vel=backward(np.diff(pos, axis=0)),
        root_ang_vel=backward(turns(quat)),
    )


def _pendulum(kind: str, rng: np.random.Generator, runs: int, frames: int) -> RecordingSet:
    rate, passive = float(rng.uniform(300.0, 600.0)), kind == "passive pendulum"
    lengths, masses = rng.uniform(0.07, 0.3, 2), rng.uniform(0.1, 1.0, 2)
    centres = lengths * rng.uniform(0.4, 0.9, 2)
    inertias = masses * centres**2 * rng.uniform(1.1, 1.5, 2)
    friction = rng.uniform(0.0, 1e-4, 2) if passive else rng.uniform(0.0, 5e-3, 2)
    spec = double_pendulum(
        "pendulum", rate, lengths, masses, centres, inertias, viscous=tuple(friction.tolist()), driven=not passive
    )
    state = np.concatenate((rng.uniform(-2.0, 2.0, (runs, 2)), rng.uniform(-2.0, 2.0, (runs, 2))), axis=1)
    time = np.arange(frames) / rate
    control = np.zeros((runs, frames - 1, 0))
    if not passive:
        size = masses.sum() * 9.81 * lengths.sum() * 0.2
        phase, speed = rng.uniform(0.0, 6.3, (runs, 1, 2)), rng.uniform(3.0, 9.0, (runs, 1, 2))
        control = size * np.sin(phase + speed * time[None, :-1, None])
    states = _motion(spec, state, control)
    step = rng.uniform(3e-4, 2e-3)
    made = []
    for number, each in enumerate(states):
        angle = np.unwrap(each[:, :2], axis=0)
        angle = step * np.round((angle + 0.3 * step * rng.standard_normal(angle.shape)) / step)
        vel = None if passive else each[:, 2:] + 0.02 * rng.standard_normal((frames, 2))
        run = Recording(f"run {number}", time, angle, vel)
        if not passive:
            held = np.concatenate((control[number], control[number][-1:]))
            middle = 0.5 * (held + np.concatenate((held[:1], held[:-1])))
            run = replace(run, efforts={"measured": middle})
        made.append(run)
    base = "frames" if passive else "stamps"
    return RecordingSet("simulated", spec, tuple(made), base, rate, {}, "" if passive else "measured", stated_rate=rate)


def _motion(spec: RobotSpec, state: np.ndarray, control: np.ndarray) -> np.ndarray:
    """States of simulated runs, the first included, shape (N, T, S)."""
    fine = replace(spec, physics_dt=spec.physics_dt / FINE, decimation=FINE)
    mechanics = Predictor(fine, PredictorCfg(network=None, prior=MechanicsPriorCfg(hidden=0)))
    first = torch.from_numpy(state).float()
    with torch.no_grad():
        after = predicted(mechanics, first, torch.from_numpy(control).float(), PlaneGround.flat())
    return torch.cat((first[:, None], after), dim=1).double().numpy()


def _two_boxes(rng: np.random.Generator) -> dict:
    box = {"mass_kg": float(rng.uniform(0.2, 0.6)), "com_m": [0, 0, 0], "inertia_diag_kg_m2": [0.0006] * 3}
    box |= {"box_size_m": rng.uniform(0.05, 0.12, 3).tolist(), "box_centre_m": [0, 0, 0]}
    return {
        "gravity_m_s2": 9.81,
        "first": box,
        "second": box | {"com_m": [0.035, 0, 0], "box_centre_m": [0.035, 0, 0]},
        "joint": {
            **{"parent": "first", "child": "second", "origin_xyz_m": [-0.035, 0.09, 0]},
            **{"origin_rpy": [0, 0, 0], "axis": [0, 1, 0]},
        },
    }


__all__ = ["KINDS", "simulated"]
