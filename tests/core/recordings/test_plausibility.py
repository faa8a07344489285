# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Physics checks: silent on clean simulated recordings, and each fault of units, frames and clocks is found alone."""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from nerd_core.cli import main as nerd
from nerd_core.recordings.conversion import write_dataset
from nerd_core.recordings.delays import effort_delays
from nerd_core.recordings.plausibility import PhysicsReport, check_physics, measured_dataset
from nerd_core.recordings.reading import read_recordings
from nerd_core.recordings.recording import Recording, RecordingSet
from nerd_core.recordings.schemas import COMMANDED, MEASURED
from nerd_core.robot.frames import quat_from_rotvec, quat_mul, quat_rotate, quat_rotate_inverse
from support.recorded_files import driven_pendulum_file, real_file, toss_file
from support.simulated_recordings import KINDS, simulated

TILT = math.radians(1.7)


def value(report: PhysicsReport, name: str) -> float:
    """A number of a report."""
    return next(each.value for each in report.measurements if each.name == name)


def said(report: PhysicsReport) -> list[str]:
    """What was found, in short."""
    return [finding.what for finding in report.findings]


@functools.lru_cache(maxsize=4)
def clean(kind: str) -> RecordingSet:
    """Clean recordings of a kind, made once."""
    return simulated(kind, 1000)


@functools.cache
def of_real_file(name: str) -> PhysicsReport:
    """What is found in a file of real measurements, looked for once."""
    return check_physics(read_recordings(real_file(name)))


def changed(recordings: RecordingSet, change: Callable[[Recording], Recording]) -> RecordingSet:
    """Recordings after a change of each run."""
    return replace(recordings, recordings=tuple(change(each) for each in recordings.recordings))


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_found_in_clean_recordings(kind: str):
    """Two simulated sets of each kind of mechanism, with noise of tracking: no finding, and numbers were measured."""
    for seed in (1000, 1001):
        report = check_physics(simulated(kind, seed))
        assert not said(report) and report.measurements


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_found_in_a_hundred_clean_sets(kind: str):
    """25 simulated sets of each of four mechanisms, of other sizes, masses, rates and noise: no finding."""
    found = {seed: said(check_physics(simulated(kind, seed))) for seed in range(25)}
    assert not any(found.values()), found


def shorter(run: Recording) -> Recording:
    """Lengths two percent too short, also those of velocities."""
    assert run.root_pos is not None and run.root_lin_vel is not None
    return replace(run, root_pos=0.98 * run.root_pos, root_lin_vel=0.98 * run.root_lin_vel)


def tilted(run: Recording) -> Recording:
    """The axes of the world turned by 1.7 degrees."""
    turn = quat_from_rotvec(torch.tensor([0.0, TILT, 0.0], dtype=torch.float64))

    def turned(values: np.ndarray | None) -> np.ndarray:
        return quat_rotate(turn, torch.from_numpy(values)).numpy()

    quat = quat_mul(turn.expand(run.frames, 4), torch.from_numpy(run.root_quat)).numpy()
    return replace(
        run,
        root_pos=turned(run.root_pos),
        root_quat=quat,
        root_lin_vel=turned(run.root_lin_vel),
        root_ang_vel=turned(run.root_ang_vel),
    )


def in_body_axes(run: Recording) -> Recording:
    """Angular velocities in the axes of the body."""
    quat, rate = torch.from_numpy(run.root_quat), torch.from_numpy(run.root_ang_vel)
    return replace(run, root_ang_vel=quat_rotate_inverse(quat, rate).numpy())


def in_degrees(run: Recording) -> Recording:
    """Angular velocities in degrees per second."""
    assert run.root_ang_vel is not None
    return replace(run, root_ang_vel=np.degrees(run.root_ang_vel))


def in_millimetres(run: Recording) -> Recording:
    """Linear velocities in millimetres per second."""
    assert run.root_lin_vel is not None
    return replace(run, root_lin_vel=1000.0 * run.root_lin_vel)


def w_first(run: Recording) -> Recording:
    """Quaternions as wxyz."""
    assert run.root_quat is not None
    return replace(run, root_quat=np.roll(run.root_quat, 1, axis=1))


@pytest.mark.parametrize(
    ("change", "what", "advice"),
    [
        (in_body_axes, "angular velocities that are not the motion's", "axes of the body"),
        (in_degrees, "angular velocities of another size", "they are in degrees"),
        (in_millimetres, "linear velocities of another size", "they are in millimetres"),
        (w_first, "angular velocities that are not the motion's", "quaternions are wxyz: put w last"),
    ],
)
def test_units_and_frames_are_told_apart(change: Callable, what: str, advice: str):
    """Each confusion is among the findings, with what was confused."""
    report = check_physics(changed(clean("box"), change))
    finding = next(each for each in report.findings if each.what == what)
    assert advice in finding.advice


def test_the_length_scale_is_found():
    """Two percent, within a tenth of them, by free fall; nothing else is found but the height at rest."""
    report = check_physics(changed(clean("box"), shorter))
    assert 1.0 - value(report, "length scale by free fall") == pytest.approx(0.02, rel=0.1)
    assert set(said(report)) <= {"a length scale that is not one", "robots at rest that do not touch the ground"}
    assert said(report)[0] == "a length scale that is not one"


def test_the_tilt_is_found():
    """1.7 degrees, within a tenth of them."""
    report = check_physics(changed(clean("box"), tilted))
    assert value(report, "tilt of the vertical by free fall") == pytest.approx(TILT, rel=0.1)
    assert "a vertical that is tilted" in said(report) and "a length scale that is not one" not in said(report)


def test_the_rate_of_the_frames_is_found():
    """A file that states four fifths of the true rate: the true one is found, within three percent of it."""
    recordings = simulated("passive pendulum", 1004)  # slow and finely measured: of others the check says nothing
    report = check_physics(replace(recordings, stated_rate=0.8 * recordings.rate))
    assert said(report) == ["a frame rate that gravity contradicts"]
    assert value(report, "rate of the frames by gravity") == pytest.approx(recordings.rate, rel=0.03)


def test_a_bias_at_rest_is_found():
    """A robot that stays where it is has no velocity: 0.05 m/s beside it is a bias."""
    recordings = clean("box")
    still = tuple(
        replace(
            run,
            **{name: np.repeat(values[:1], run.frames, axis=0) for name, values in vars(run).items() if name in KEPT},
        )
        for run in recordings.recordings
    )
    rests = replace(recordings, recordings=still)
    rests = changed(rests, lambda run: replace(run, root_ang_vel=0.0 * run.root_pos, root_lin_vel=0.0 * run.root_pos))
    assert not [what for what in said(check_physics(rests)) if "at rest" in what and "velocities" in what]
    biased = changed(rests, lambda run: replace(run, root_lin_vel=run.root_lin_vel + [0.05, 0.0, 0.0]))
    assert "linear velocities of a robot at rest" in said(check_physics(biased))


KEPT = ("root_pos", "root_quat", "joint_pos")


def test_a_ground_at_another_height_is_found():
    """Boxes that come to rest three millimetres above height zero."""
    report = check_physics(changed(clean("box"), lambda run: replace(run, root_pos=run.root_pos + [0.0, 0.0, 0.003])))
    assert said(report) == ["robots at rest that do not touch the ground"]
    assert value(report, "height of what rests") == pytest.approx(0.003, abs=5e-4)


def test_an_imported_dataset_is_checked_as_its_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """``nerd data check`` finds a length scale in a file of measurements and in the dataset that was made of it."""
    recordings = changed(clean("box"), shorter)
    write_dataset(recordings, tmp_path / "data")
    again = measured_dataset(tmp_path / "data")
    assert again is not None and "a length scale that is not one" in said(check_physics(again))
    assert nerd(["data", "check", str(tmp_path / "data"), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert "a length scale that is not one" in [finding["what"] for finding in answer["findings"]]
    assert nerd(["data", "check", str(tmp_path / "data"), "--strict"]) == 1
    assert nerd(["data", "check", str(toss_file(tmp_path / "cube.h5", lengths=(30,) * 8)), "--strict"]) == 0


@pytest.mark.parametrize(
    ("name", "quantity", "true", "within"),
    [
        ("contactnets_cube_trainval.h5", "length scale by free fall", 0.98, 0.002),
        ("contactnets_elbow_trainval.h5", "length scale by free fall", 0.982, 0.002),
        ("contactnets_elbow_trainval.h5", "tilt of the vertical by free fall", TILT, 0.1 * TILT),
        ("ibm_double_pendulum_trainval.h5", "rate of the frames by gravity", 502.0, 10.2),
    ],
)
def test_what_is_odd_in_the_real_files_is_found(name: str, quantity: str, true: float, within: float):
    """The length scale of two percent, the tilt of 1.7 degrees, the frame rate of 502 instead of 400: each within a
    tenth of its value, and among the findings.
    """
    report = of_real_file(name)
    assert abs(value(report, quantity) - true) < within
    assert next(each for each in report.measurements if each.name == quantity).deviates


def test_the_delay_between_command_and_effort_is_found(tmp_path: Path):
    """Eight milliseconds between two sines at irregular stamps, to a quarter of a millisecond; a signal that does not
    follow says nothing.
    """
    recordings = read_recordings(driven_pendulum_file(tmp_path / "arm.h5", runs=2, frames=800))
    sampled = changed(recordings, lambda run: replace(run, held=frozenset()))
    found = effort_delays(sampled, COMMANDED, MEASURED)
    assert [delay.joint for delay in found] == ["shoulder", "elbow"]
    assert all(delay.seconds == pytest.approx(0.008, abs=2.5e-4) and delay.correlation > 0.99 for delay in found)
    noise = np.random.default_rng(0).standard_normal((800, 2))
    loose = changed(sampled, lambda run: replace(run, efforts=dict(run.efforts) | {COMMANDED: noise}))
    assert not effort_delays(loose, COMMANDED, MEASURED)


def test_delays_of_the_real_pendulum_are_those_of_its_readme():
    """Measured torques follow commanded ones 5 to 14 ms later."""
    report = check_physics(read_recordings(real_file("dfki_double_pendulum_train.h5")))
    for joint in ("shoulder", "elbow"):
        assert 0.004 < value(report, f"delay of the effort of '{joint}' behind its command") < 0.014


@pytest.mark.parametrize("name", ["dfki_double_pendulum_train.h5", "dfki_double_pendulum_val.h5"])
def test_nothing_is_found_in_the_driven_pendulum(name: str):
    """The real driven pendulum has stamps, units and velocities that agree."""
    assert not said(check_physics(read_recordings(real_file(name))))
