# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""From recordings to trajectories: times, velocities, efforts, pieces, and a training on the result."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from nerd_core.cli import main as nerd
from nerd_core.data.checks import check
from nerd_core.data.dataset import TrajectoryDataset
from nerd_core.recordings.conversion import ConversionCfg, in_memory, mean_effort, motions, write_dataset
from nerd_core.recordings.derivatives import angular_velocity, centred_fit, end_fit
from nerd_core.recordings.reading import read_recordings
from nerd_core.recordings.recording import RecordingError
from nerd_core.robot.frames import quat_from_rotvec
from support.recorded_files import driven_pendulum_file, passive_pendulum_file, toss_file


def test_frames_at_the_rate_of_the_file_are_taken_as_they_are(tmp_path: Path):
    """States of a toss are its frames to the last bit of single precision, and the ground lies at height zero."""
    recordings = read_recordings(toss_file(tmp_path / "cube.h5"))
    data, first = in_memory(recordings), recordings.recordings[0]
    state = data.gather(np.array([0]), np.array([0]), 19).state[0].numpy()
    at = recordings.spec.state
    assert first.root_pos is not None and first.root_ang_vel is not None
    np.testing.assert_array_equal(state[:, at.root_pos], first.root_pos.astype("f4"))
    np.testing.assert_array_equal(state[:, at.root_ang_vel], first.root_ang_vel.astype("f4"))
    assert data.arrays["ground"][0].tolist() == [0.0, 0.0, 1.0, 0.0]
    assert data.length.tolist() == [19, 24, 29, 21]


def test_irregular_stamps_are_resampled(tmp_path: Path):
    """At 100 Hz positions and velocities are those of the motion at equal steps, as far as linear pieces are."""
    recordings = read_recordings(driven_pendulum_file(tmp_path / "pendulum.h5", runs=1))
    motion = next(motions(recordings, ConversionCfg(rate=100.0, piece=0.0)))
    time = recordings.recordings[0].time[0] + 0.01 * np.arange(len(motion.state))
    phase = time[:, None] * [4.0, 6.0]
    np.testing.assert_allclose(motion.state[:, :2], np.sin(phase), atol=1e-4)
    np.testing.assert_allclose(motion.state[:, 2:], np.cos(phase) * [4.0, 6.0], atol=1e-3)


def test_another_rate_of_frames_only_changes_the_unit_of_time(tmp_path: Path):
    """Where the rate of the frames is not known, the positions stay and the velocities scale with the rate."""
    recordings = read_recordings(passive_pendulum_file(tmp_path / "ibm.h5", runs=1))
    slow, fast = (next(motions(recordings, ConversionCfg(rate=rate, piece=0.0))).state for rate in (250.0, 500.0))
    np.testing.assert_allclose(slow[:, :2], fast[:, :2], atol=1e-12)
    np.testing.assert_allclose(2.0 * slow[:, 2:], fast[:, 2:], atol=1e-9)
    frame = np.arange(600)[:, None] * [0.02, 0.03]
    rates = 500.0 * np.cos(frame) * [0.02, 0.03]
    np.testing.assert_allclose(fast[:, 2:].cumsum(1), rates, atol=2e-2)


def test_efforts_are_means_over_the_steps(tmp_path: Path):
    """A held signal counts with what it held, a sampled one as straight lines; both later by the delay."""
    recording = read_recordings(driven_pendulum_file(tmp_path / "pendulum.h5", runs=1)).recordings[0]
    recording = replace(
        recording,
        time=np.arange(recording.frames) * 0.01,
        efforts={"step": np.repeat([[0.0], [1.0]], recording.frames // 2, axis=0)},
        held=frozenset({"step"}),
    )
    half = recording.frames // 2 * 0.01
    times = half + 0.02 * np.arange(-3, 4) - 0.005
    np.testing.assert_allclose(mean_effort(recording, "step", times)[:, 0], [0, 0, 0, 0.75, 1, 1], atol=1e-9)
    delayed = mean_effort(recording, "step", times, delay=0.02)[:, 0]
    np.testing.assert_allclose(delayed, [0, 0, 0, 0, 0.75, 1], atol=1e-9)
    sampled = replace(recording, held=frozenset())  # rises from the frame before the step to the step
    np.testing.assert_allclose(mean_effort(sampled, "step", times)[:, 0], [0, 0, 0.0625, 0.9375, 1, 1], atol=1e-9)


def test_a_signal_that_is_not_there_is_named(tmp_path: Path):
    """Asking for another effort than the file has says which it has."""
    recordings = read_recordings(driven_pendulum_file(tmp_path / "pendulum.h5"))
    with pytest.raises(RecordingError, match="no effort 'current', expected one of: commanded, measured"):
        list(motions(recordings, ConversionCfg(effort="current")))


def test_runs_are_cut_at_gaps_and_into_pieces(tmp_path: Path):
    """No trajectory spans a gap between stamps, and none is longer than a piece."""
    recordings = read_recordings(driven_pendulum_file(tmp_path / "pendulum.h5", runs=1))
    recording = recordings.recordings[0]
    late = replace(recording, time=recording.time + 0.5 * (np.arange(recording.frames) >= 200))
    recordings = replace(recordings, recordings=(late,))
    whole = list(motions(recordings, ConversionCfg(rate=100.0, piece=0.0)))
    assert len(whole) == 2
    cut = list(motions(recordings, ConversionCfg(rate=100.0, piece=0.1)))
    assert max(len(each.control) for each in cut) == 10
    assert sum(len(each.control) for each in cut) == sum(len(each.control) for each in whole)


def test_a_dataset_of_a_file_is_sound_and_has_a_shard_for_each_split(tmp_path: Path):
    """What is written is opened as any dataset, nothing is wrong with it, and it says that it was measured."""
    recordings = read_recordings(toss_file(tmp_path / "elbow.h5", links=2))
    manifest = write_dataset(recordings, tmp_path / "data")
    data = TrajectoryDataset.open(tmp_path / "data")
    assert manifest.trajectories == len(data) == 4 and data.complete
    assert sorted(path.name for path in (tmp_path / "data").iterdir() if path.is_dir()) == [
        *("shard-test", "shard-train", "shard-val")
    ]
    assert {meta.teacher_mode for meta in data.meta} == {"measured"} and not check(tmp_path / "data")
    with pytest.raises(RecordingError, match="holds files already"):
        write_dataset(recordings, tmp_path / "data")


@pytest.mark.parametrize("kind", ["cube", "elbow", "driven", "passive"])
def test_a_training_starts_at_once(kind: str, tmp_path: Path):
    """``nerd data import`` and ``nerd train`` follow each other, also for a robot without joints or controls."""
    path = tmp_path / "file.h5"
    if kind in ("cube", "elbow"):
        toss_file(path, links=1 if kind == "cube" else 2, lengths=(120,) * 40)
    elif kind == "driven":
        driven_pendulum_file(path, runs=40)
    else:
        passive_pendulum_file(path, runs=40)
    piece = [] if kind in ("cube", "elbow") else ["--piece", "0.2"]
    assert nerd(["data", "import", str(path), "--out", str(tmp_path / "data"), *piece]) == 0
    words = ["--preset", "mlp", "--updates", "2", "--batch-size", "32", "--validations", "1"]
    words += ["--validation-steps", "0", "--out", str(tmp_path / "run")]
    assert nerd(["train", str(tmp_path / "data"), *words]) == 0
    assert (tmp_path / "run" / "best" / "config.json").is_file()


def test_polynomials_find_values_and_rates():
    """Cubic motion is found exactly, at the end from the frames before and in the middle from those around."""
    time = 0.002 * np.arange(40)
    values = np.stack((1.0 + 2.0 * time - 30.0 * time**2 + 500.0 * time**3, time), axis=1)
    rates = np.stack((2.0 - 60.0 * time + 1500.0 * time**2, np.ones(40)), axis=1)
    for found, true in zip(centred_fit(values, 0.002), (values, rates), strict=True):
        np.testing.assert_allclose(found, true, atol=1e-9)
    value, rate = end_fit(values[:15], time[:15])
    np.testing.assert_allclose(value, values[14], atol=1e-9)
    np.testing.assert_allclose(rate, rates[14], atol=1e-9)
    with pytest.raises(RecordingError, match="3 frames for a polynomial of degree 3"):
        end_fit(values[:3], time[:3])


def test_the_end_of_a_fit_sees_nothing_of_the_future():
    """Value and rate at the last frame do not change with frames that come later."""
    rng = np.random.default_rng(0)
    time, values = 0.002 * np.arange(30), rng.standard_normal((30, 2))
    before = end_fit(values[5:20], time[5:20])
    values[20:] += 100.0
    after = end_fit(values[5:20], time[5:20])
    np.testing.assert_array_equal(before, after)


def test_angular_velocities_of_orientations():
    """A constant turn about an axis of the world gives that angular velocity, whatever the signs of quaternions."""
    spin = np.array([3.0, -5.0, 2.0])
    time = 0.005 * np.arange(60)
    quat = quat_from_rotvec(torch.from_numpy(time[:, None] * spin)).numpy()
    quat[::3] *= -1.0
    np.testing.assert_allclose(angular_velocity(quat, 0.005), np.tile(spin, (60, 1)), atol=1e-6)
