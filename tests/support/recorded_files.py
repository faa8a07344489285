# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Small files of the HDF5 schemas ``realdata.*`` with motion that is known, and the place of the real ones."""

from __future__ import annotations

import json
from pathlib import Path

import h5py
import numpy as np
import pytest
import torch

from nerd_core.robot.frames import quat_from_rotvec

REAL_DATA = next(
    (
        folder / "shared" / "data"
        for folder in Path(__file__).resolve().parents[3:]
        if (folder / "shared/data").is_dir()
    ),
    Path("../shared/data"),
)
"""Where the recordings of real mechanisms lie: beside the repository, or beside a folder that holds it."""

SPLITS = ("train", "train", "val", "test")

PENDULUM = {
    **{"m1": 0.5, "m2": 0.6, "l1": 0.2, "l2": 0.3, "r1": 0.2, "r2": 0.25, "I1": 0.03, "I2": 0.05, "g": 9.81},
    **{"b1": 0.01, "b2": 0.02, "cf1": 0.1, "cf2": 0.2, "gr": 6.0, "Ir": 1e-4, "tl1": 10.0, "tl2": 8.0},
}


def real_file(name: str) -> Path:
    """A file of real recordings; skips the test where it is not there.

    Args:
        name: Name of the file.
    """
    if (REAL_DATA / name).is_file():
        return REAL_DATA / name
    pytest.skip(f"needs the recordings of real mechanisms: '../shared/data/{name}' is not there")


def toss_file(path: Path, links: int = 1, rate: float = 100.0, lengths: tuple[int, ...] = (20, 25, 30, 22)) -> Path:
    """Bodies in free flight from 5 m, turning about a fixed axis; with two links a joint turns at 3 rad/s.

    Args:
        path: File to write.
        links: 1 for the cube, 2 for the elbow.
        rate: Frames in a second [Hz].
        lengths: Frames of each toss.
    """
    count, longest = len(lengths), max(lengths)
    time = np.arange(longest) / rate
    pos, quat = np.full((count, longest, 3), np.nan), np.full((count, longest, 4), np.nan)
    lin_vel, ang_vel = np.full((count, longest, 3), np.nan), np.full((count, longest, 3), np.nan)
    for toss, frames in enumerate(lengths):
        t, spin = time[:frames, None], np.array([1.0 + toss, 2.0, -0.5])
        pos[toss, :frames] = [0.1 * toss, 0.0, 5.0] + t * [0.5, -0.2, 0.1] + t**2 * [0.0, 0.0, -4.905]
        lin_vel[toss, :frames] = [0.5, -0.2, 0.1] + t * [0.0, 0.0, -9.81]
        ang_vel[toss, :frames] = spin
        quat[toss, :frames] = quat_from_rotvec(torch.from_numpy(t * spin)).numpy()
    with h5py.File(path, "w") as file:
        file.attrs["schema"] = f"realdata.toss.{'rigidbody' if links == 1 else 'twolink'}.v1"
        file.attrs["sampling_rate_hz"], file.attrs["title"] = rate, "bodies in the air"
        box = {"mass_kg": 0.37, "com_m": [0, 0, 0], "inertia_diag_kg_m2": [0.0006, 0.0007, 0.0008]}
        box |= {"box_size_m": [0.1, 0.05, 0.04], "box_centre_m": [0, 0, 0]}
        facts: dict = {"inertia_diag_kg_m2": [0.0008, 0.0008, 0.0008], "gravity_m_s2": 9.81}
        if links == 2:
            facts |= {"elbow_1": box, "elbow_2": box | {"com_m": [0.035, 0, 0], "box_centre_m": [0.035, 0, 0]}}
            facts["joint"] = {"parent": "elbow_1", "child": "elbow_2", "origin_xyz_m": [-0.035, 0.06, 0]}
            facts["joint"] |= {"origin_rpy": [0, 0, 0], "axis": [0, 1, 0]}
            file["joint_angle"] = np.broadcast_to(3.0 * time, (count, longest)).astype(np.float32)
            file["joint_vel"] = np.full((count, longest), 3.0, np.float32)
        else:
            file.attrs["cube_side_m"], file.attrs["mass_kg"], file.attrs["gravity_m_s2"] = 0.1, 0.37, 9.81
        file.attrs["physical_json"] = json.dumps(facts)
        file["length"] = np.array(lengths, np.int32)
        file["toss_id"] = np.arange(count, dtype=np.int32)
        file["split"] = np.array([SPLITS[i % 4].encode() for i in range(count)], "S5")
        for name, values in (("pos", pos), ("quat", quat), ("lin_vel", lin_vel), ("ang_vel", ang_vel)):
            file.create_dataset(name, data=values.astype(np.float32), compression="gzip", shuffle=True)
    return path


def driven_pendulum_file(path: Path, runs: int = 3, frames: int = 400, seed: int = 0) -> Path:
    """A pendulum that swings as sines at irregular stamps; measured torques follow the commanded ones 8 ms later.

    Args:
        path: File to write.
        runs: Number of runs, of two families in turns.
        frames: Frames of each run.
        seed: Seed of the stamps.
    """
    rng = np.random.default_rng(seed)
    with h5py.File(path, "w") as file:
        file.attrs["schema"], file.attrs["split"] = "realdata.double_pendulum.torque.v1", "train"
        file.attrs["identified_parameters_json"] = json.dumps({"model_1.0": PENDULUM})
        for run in range(runs):
            group = file.create_group(f"swing__{run:02d}")
            group.attrs["family"] = "excitation" if run % 2 == 0 else "swing"
            time = np.cumsum(rng.uniform(0.0015, 0.0030, frames))
            group["time"] = time
            phase = time[:, None] * [4.0, 6.0] + run
            group["pos"], group["vel"] = np.sin(phase).astype("f4"), (np.cos(phase) * [4.0, 6.0]).astype("f4")
            group["tau_cmd"] = np.sin(5.0 * phase).astype("f4")
            group["tau"] = np.sin(5.0 * (phase - 0.008 * np.array([4.0, 6.0]))).astype("f4")
            group["tau_fric"] = np.zeros((frames, 2), "f4")
            if run % 2:
                group["tau_pert"] = np.full((frames, 2), 0.25, "f4")
    return path


def passive_pendulum_file(path: Path, runs: int = 3, frames: int = 600) -> Path:
    """Angles that swing as sines of the frame, without velocities.

    Args:
        path: File to write.
        runs: Number of runs.
        frames: Frames of each run.
    """
    with h5py.File(path, "w") as file:
        file.attrs["schema"] = "realdata.double_pendulum.passive.v1"
        file.attrs["sampling_rate_hz"], file.attrs["effective_rate_from_gravity_hz"] = 400.0, 500.0
        file.attrs["physical_json"] = json.dumps({"arm_lengths_m": [0.091, 0.07]})
        for run in range(runs):
            group = file.create_group(f"run_{run:02d}")
            group.attrs["split"] = SPLITS[run % 4]
            angle = np.sin(np.arange(frames)[:, None] * [0.02, 0.03] + run)
            group["angle_unwrapped"] = angle.astype("f4")
    return path


__all__ = ["REAL_DATA", "driven_pendulum_file", "passive_pendulum_file", "real_file", "toss_file"]
