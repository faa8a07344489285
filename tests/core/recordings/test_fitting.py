# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Logs for a model of another specification of the same mechanism."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from nerd_core.cli import main as nerd
from nerd_core.data.dataset import TrajectoryDataset
from nerd_core.recordings.fitting import for_robot
from nerd_core.recordings.reading import read_recordings
from nerd_core.recordings.recording import RecordingError
from nerd_core.robot.spec import RobotSpec
from support.recorded_files import driven_pendulum_file, toss_file


def simulated(spec: RobotSpec, steps: int = 2) -> RobotSpec:
    """The same robot as a simulator has it: other masses, and several physics steps in a control step."""
    body = spec.bodies[0]
    assert body.inertia is not None
    heavy = replace(body, inertia=replace(body.inertia, mass=2.0 * body.inertia.mass))
    return replace(spec, bodies=(heavy, *spec.bodies[1:]), physics_dt=spec.physics_dt / steps, decimation=steps)


def test_a_log_becomes_data_for_a_model_of_the_simulated_robot(tmp_path: Path):
    """The trajectories are those of the log; the robot is the specification's, with its masses and physics steps."""
    path = toss_file(tmp_path / "cube.h5", rate=148.0)
    own = read_recordings(path)
    simulated(own.spec).save(tmp_path / "spec.json")
    for name, words in (("own", []), ("simulated", ["--robot", str(tmp_path / "spec.json")])):
        assert nerd(["data", "import", str(path), *words, "--out", str(tmp_path / name)]) == 0
    plain, other = (TrajectoryDataset.open(tmp_path / name) for name in ("own", "simulated"))
    assert other.spec == simulated(own.spec) != plain.spec
    np.testing.assert_array_equal(other.length, plain.length)
    every = np.arange(len(plain.length))
    assert (other.gather(every, 0 * every, 10).state == plain.gather(every, 0 * every, 10).state).all()


def test_stamps_are_brought_to_the_steps_of_the_robot(tmp_path: Path):
    """A log with stamps has the control steps of the specification that it is made for."""
    own = read_recordings(driven_pendulum_file(tmp_path / "pendulum.h5", runs=1))
    spec = replace(simulated(own.spec), physics_dt=0.01)
    found = for_robot(own, spec)
    assert found.spec == spec and found.rate == pytest.approx(50.0)


def test_frames_are_brought_to_the_steps_of_the_robot_by_a_rate(tmp_path: Path):
    """Frames at another rate than the robot's steps become data for it with ``--rate``, as the error says; a rate that
    is not the robot's is refused, also of stamps.
    """
    frames, stamps = toss_file(tmp_path / "cube.h5", rate=148.0), driven_pendulum_file(tmp_path / "p.h5", runs=1)
    at_74 = replace(read_recordings(frames).spec, physics_dt=0.5 / 74.0, decimation=2)
    at_50 = replace(simulated(read_recordings(stamps).spec), physics_dt=0.01)
    at_74.save(tmp_path / "cube.json")
    at_50.save(tmp_path / "pendulum.json")

    def bring(path: Path, robot: str, *more: str) -> int:
        return nerd(
            ["data", "import", str(path), "--robot", str(tmp_path / robot), "--out", str(tmp_path / "o"), *more]
        )

    assert bring(frames, "cube.json") > 0
    assert bring(stamps, "pendulum.json", "--rate", "100") > 0
    assert bring(frames, "cube.json", "--rate", "37") > 0
    assert bring(frames, "cube.json", "--rate", "74") == 0
    assert TrajectoryDataset.open(tmp_path / "o").spec == at_74


def test_another_mechanism_or_clock_is_refused(tmp_path: Path):
    """Specifications of another mechanism, and of other steps than the frames, are refused; so is what is none."""
    path = toss_file(tmp_path / "cube.h5", rate=148.0)
    tossed, driven = read_recordings(path), read_recordings(driven_pendulum_file(tmp_path / "pendulum.h5", runs=1))
    with pytest.raises(RecordingError, match="is it a model of this mechanism"):
        for_robot(tossed, driven.spec)
    with pytest.raises(RecordingError, match="steps of 20 ms for frames of 6.757 ms"):
        for_robot(tossed, replace(tossed.spec, physics_dt=0.02))
    (tmp_path / "none.json").write_text("[]", encoding="utf-8")
    assert nerd(["data", "import", str(path), "--robot", str(tmp_path / "none.json"), "--out", str(tmp_path / "o")]) > 0
