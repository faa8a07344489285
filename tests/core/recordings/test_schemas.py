# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Files of the schemas ``realdata.*``: what is read from them, and the robots that they describe."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest
import torch

from nerd_core.recordings.reading import is_recording, read_recordings
from nerd_core.recordings.recording import Recording, RecordingError
from nerd_core.recordings.schemas import COMMANDED, MEASURED
from nerd_core.robot.kinematics import ForwardKinematics
from support.recorded_files import driven_pendulum_file, passive_pendulum_file, real_file, toss_file


def test_a_toss_is_read_up_to_its_length(tmp_path: Path):
    """Frames behind the length of a toss, padding, are left out; name, split and rate are those of the file."""
    found = read_recordings(toss_file(tmp_path / "cube.h5", lengths=(20, 25, 30, 22)))
    assert [each.frames for each in found.recordings] == [20, 25, 30, 22]
    assert [each.split for each in found.recordings] == ["train", "train", "val", "test"]
    first = found.recordings[0]
    assert first.name == "toss_000" and first.root_pos is not None
    np.testing.assert_allclose(np.diff(first.time), 0.01, rtol=1e-12)
    np.testing.assert_allclose(first.root_pos[3], [0.015, -0.006, 5.0 + 0.003 - 4.905 * 0.0009], atol=1e-6)


def test_the_cube_is_a_free_body_with_eight_corners(tmp_path: Path):
    """The robot of a cube's file has no joint and no control, a slot at each corner, and the masses of the file."""
    found = read_recordings(toss_file(tmp_path / "cube.h5"))
    spec = found.spec
    assert spec.floating_base and not spec.joints and not spec.controls and spec.control_dt == pytest.approx(0.01)
    corners = {tuple(round(abs(each), 6) for each in slot.point) for slot in spec.slots}
    assert len(spec.slots) == 8 and corners == {(0.05, 0.05, 0.05)} and found.width == pytest.approx(0.1)
    inertia = spec.bodies[0].inertia
    assert inertia is not None and inertia.mass == 0.37 and inertia.moments == (0.0008, 0.0008, 0.0008)


def test_the_elbow_is_two_boxes_with_a_hinge(tmp_path: Path):
    """The second box hangs from the first by the hinge of the file, with its own centre of mass and corners."""
    found = read_recordings(toss_file(tmp_path / "elbow.h5", links=2))
    spec = found.spec
    assert [len([slot for slot in spec.slots if slot.body == body]) for body in spec.body_names] == [8, 8]
    assert spec.joints[0].axis == (0.0, 1.0, 0.0) and spec.joints[0].wraps and found.width == 0.1
    state = torch.zeros(1, spec.state.dim)
    state[0, spec.state.root_quat] = torch.tensor([0.0, 0.0, 0.0, 1.0])
    state[0, spec.state.joint_pos] = torch.pi / 2
    pos = ForwardKinematics(spec)(state).pos[0]
    torch.testing.assert_close(pos[1], torch.tensor([-0.035, 0.06, 0.0]))
    assert spec.bodies[1].inertia is not None and spec.bodies[1].inertia.centre == (0.035, 0.0, 0.0)


def test_commands_of_the_driven_pendulum_hold_what_pushed_it(tmp_path: Path):
    """The commanded effort is command and perturbation, where there was one; the measured one is as recorded."""
    path = driven_pendulum_file(tmp_path / "pendulum.h5")
    found = read_recordings(path)
    assert found.time_base == "stamps" and found.effort == MEASURED and found.families == ("excitation", "swing")
    with h5py.File(path) as file:
        for run, pushed in (("swing__00", 0.0), ("swing__01", 0.25)):
            recording = next(each for each in found.recordings if each.name == run)
            np.testing.assert_allclose(recording.efforts[COMMANDED], file[run]["tau_cmd"][()] + pushed, atol=1e-6)
            np.testing.assert_allclose(recording.efforts[MEASURED], file[run]["tau"][()])
    assert found.recordings[0].held == {COMMANDED}


def test_gravity_acts_on_the_pendulum_as_the_file_says(tmp_path: Path):
    """Hanging at zero, angles as the file defines them: an elbow at +90 degrees points the lower link along +x."""
    spec = read_recordings(driven_pendulum_file(tmp_path / "pendulum.h5")).spec
    pos = ForwardKinematics(spec)(torch.tensor([[0.0, 0.0, 0.0, 0.0], [torch.pi / 2, 0.0, 0.0, 0.0]])).pos
    torch.testing.assert_close(pos[0, 2], torch.tensor([0.0, 0.0, -0.2]), atol=1e-6, rtol=0)
    torch.testing.assert_close(pos[1, 2], torch.tensor([0.2, 0.0, 0.0]), atol=1e-6, rtol=0)
    upper = spec.bodies[1].inertia
    assert upper is not None and upper.moments[1] == pytest.approx(0.03 - 0.5 * 0.2**2)
    assert spec.joints[0].armature == pytest.approx(36e-4) and spec.joints[1].dynamic_friction == 0.2


def test_angles_of_the_passive_pendulum_become_relative(tmp_path: Path):
    """The file's second angle is absolute, the elbow's is relative to the upper link; there are no velocities."""
    path = passive_pendulum_file(tmp_path / "ibm.h5")
    found = read_recordings(path)
    assert found.time_base == "frames" and found.rate == 500.0 and not found.spec.controls
    recording = found.recordings[1]
    with h5py.File(path) as file:
        absolute = file["run_01"]["angle_unwrapped"][()]
    assert recording.joint_vel is None
    np.testing.assert_allclose(recording.joint_pos.cumsum(1), absolute, atol=1e-7)


def test_a_split_that_is_not_there_is_named(tmp_path: Path):
    """Asking for a split that the file does not hold says which it holds."""
    found = read_recordings(toss_file(tmp_path / "cube.h5"))
    assert len(found.of_split("all").recordings) == 4 and len(found.of_split("train").recordings) == 2
    with pytest.raises(RecordingError, match="no recording is of the split 'valid'; .* test, train, val"):
        found.of_split("valid")


@pytest.mark.parametrize("change", ["nan", "shuffled", "repeated", "quaternion"])
def test_what_no_recording_is_gets_one_message(change: str):
    """NaN, times that do not increase, and quaternions of another length are refused, with the first bad frame."""
    time, pos, quat = np.arange(10) * 0.1, np.zeros((10, 3)), np.tile([0.0, 0.0, 0.0, 1.0], (10, 1))
    if change == "nan":
        pos[4] = np.nan
    elif change == "quaternion":
        quat[4] *= 1.1
    else:
        time[5] = time[4] - (0.3 if change == "shuffled" else 0.0)
    said = {"nan": "NaN.*frame 4", "quaternion": "length 1.1 in frame 4"}.get(change, "after frame 4")
    with pytest.raises(RecordingError, match=f"recording 'run'.*{said}"):
        Recording("run", time, np.zeros((10, 0)), np.zeros((10, 0)), pos, quat, pos, pos)


def test_datasets_of_trajectories_are_no_recordings(tmp_path: Path):
    """A segment of a dataset, which ends with .h5 as well, is told apart."""
    (tmp_path / "shard-000").mkdir()
    (tmp_path / "shard-000" / "000000.h5").write_bytes(b"x")
    assert not is_recording(tmp_path / "shard-000" / "000000.h5") and not is_recording(tmp_path)
    assert is_recording(toss_file(tmp_path / "cube.h5"))


@pytest.mark.parametrize(
    ("name", "robot", "runs", "splits"),
    [
        ("contactnets_cube_trainval.h5", "cube", 485, ("train", "val")),
        ("contactnets_elbow_trainval.h5", "elbow", 460, ("train", "val")),
        ("dfki_double_pendulum_train.h5", "dfki-pendulum", 42, ("train",)),
        ("dfki_double_pendulum_val.h5", "dfki-pendulum", 6, ("val",)),
        ("ibm_double_pendulum_trainval.h5", "ibm-pendulum", 18, ("train", "val")),
    ],
)
def test_real_files_are_read(name: str, robot: str, runs: int, splits: tuple[str, ...]):
    """All runs of the real files are found, with their splits."""
    found = read_recordings(real_file(name))
    assert (found.spec.name, len(found.recordings), found.splits) == (robot, runs, splits)
    assert found.facts["licence"]
