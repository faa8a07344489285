# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Logs with a map of columns: units, orders and axes, several tables, and what is refused."""

from __future__ import annotations

import json
import math
import types
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from nerd_core.cli import main as nerd
from nerd_core.recordings.mechanisms import double_pendulum, tossed_box
from nerd_core.recordings.message_logs import flattened, read_bag, read_mcap, stamp_of
from nerd_core.recordings.reading import read_recordings
from nerd_core.recordings.recording import RecordingError
from nerd_core.recordings.tables import ColumnMap, Table, recordings_of
from nerd_core.robot.frames import quat_from_rotvec, quat_rotate_inverse

ARM = double_pendulum("arm", 100.0, (0.3, 0.3), (1.0, 1.0), (0.2, 0.2), (0.05, 0.05))
BOX = tossed_box("box", 100.0, 1.0, (0.01, 0.01, 0.01), (0.1, 0.1, 0.1), 9.81)

URDF = """<robot name="arm"><link name="base"/>
<link name="upper"><inertial><origin xyz="0 0 -0.2"/><mass value="1.5"/>
<inertia ixx="0.02" iyy="0.03" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><origin xyz="0 0 -0.1"/><geometry><box size="0.1 0.2 0.4"/></geometry></collision></link>
<link name="lower"><inertial><mass value="0.5"/><inertia ixx="0.01" iyy="0.01" izz="0.01"/></inertial></link>
<link name="tool"/>
<joint name="shoulder" type="continuous"><parent link="base"/><child link="upper"/><axis xyz="0 2 0"/>
<dynamics damping="0.1" friction="0.3"/></joint>
<joint name="elbow" type="revolute"><parent link="upper"/><child link="lower"/>
<origin xyz="0 0 -0.4" rpy="0 0 1.5707963"/><axis xyz="1 0 0"/>
<limit lower="-2" upper="2" effort="9" velocity="7"/></joint>
<joint name="flange" type="fixed"><parent link="lower"/><child link="tool"/></joint></robot>"""


def arm_csv(path: Path, rows: int = 300, delimiter: str = ",") -> Path:
    """A log of an arm in degrees and milliseconds, of two runs, with a map beside it."""
    time = np.cumsum(np.random.default_rng(0).uniform(1.5, 2.5, rows))
    lines = [delimiter.join(("t", "q1", "q2", "u1", "u2", "trial", "note"))]
    for row in range(rows):
        q1, q2 = 30.0 * math.sin(0.003 * time[row]), 400.0 + 0.02 * time[row]
        numbers = (time[row], q1, (q2 + 180.0) % 360.0 - 180.0, 1.0, -0.5, 1 + row // (rows // 2))
        lines.append(delimiter.join([*(f"{each:.9f}" for each in numbers), "fine"]))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    columns = {"time": "t", "time_unit": "ms", "joint_pos": ["q1", "q2"], "angle_unit": "deg", "run": "trial"}
    columns |= {"controls": {"current": ["u1", "u2"]}, "held": ["current"]}
    path.with_name("run.columns.json").write_text(json.dumps(columns), encoding="utf-8")
    return path


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_a_table_becomes_runs_in_si(delimiter: str, tmp_path: Path):
    """Degrees and milliseconds are converted, angles unwrapped, runs told apart; the map beside the file is used."""
    found = read_recordings(arm_csv(tmp_path / "run.csv", delimiter=delimiter), robot=ARM)
    assert [run.name for run in found.recordings] == ["1", "2"] and found.effort == "current"
    run = found.recordings[1]
    assert run.time[0] == 0.0 and np.diff(run.time).min() >= 0.0015 and np.diff(run.time).max() <= 0.0025
    assert np.abs(np.diff(run.joint_pos, axis=0)).max() < 0.01  # across half a turn, too
    np.testing.assert_allclose(np.diff(run.joint_pos[:, 1]), np.radians(20.0) * np.diff(run.time), atol=1e-8)
    assert run.joint_vel is None and run.held == {"current"} and found.rate == 100.0


def test_import_of_a_csv_file_with_a_urdf_trains(tmp_path: Path):
    """``nerd data import run.csv --robot arm.urdf`` makes a dataset of the URDF's robot at the rate asked for."""
    (tmp_path / "arm.urdf").write_text(URDF, encoding="utf-8")
    arm_csv(tmp_path / "run.csv")
    words = [str(tmp_path / "run.csv"), "--robot", str(tmp_path / "arm.urdf"), "--rate", "100", "--piece", "0.1"]
    assert nerd(["data", "import", *words, "--out", str(tmp_path / "data")]) == 0
    run = ["--preset", "mlp", "--updates", "1", "--batch-size", "8", "--validation-steps", "0"]
    assert nerd(["train", str(tmp_path / "data"), *run, "--out", str(tmp_path / "run")]) in (0, 2)  # 2: few runs


def test_a_urdf_file_becomes_a_specification(tmp_path: Path):
    """Joints, limits, friction, masses turned into the link's axes, boxes; efforts on the joints that move."""
    arm_csv(tmp_path / "run.csv")
    (tmp_path / "arm.urdf").write_text(URDF, encoding="utf-8")
    found = read_recordings(tmp_path / "run.csv", robot=tmp_path / "arm.urdf")
    spec = found.spec
    assert found.rate == pytest.approx(500.0, rel=0.05) and spec.control_dt == 1.0 / found.rate
    assert spec.joint_names == ("shoulder", "elbow") and spec.body_names == ("base", "upper", "lower", "tool")
    shoulder, elbow = spec.joints
    assert shoulder.axis == (0.0, 1.0, 0.0) and shoulder.wraps and shoulder.viscous_friction == 0.1
    assert (elbow.lower, elbow.upper, elbow.effort_limit, elbow.velocity_limit) == (-2.0, 2.0, 9.0, 7.0)
    assert spec.bodies[2].parent_quat == pytest.approx(
        (0.0, 0.0, math.sin(math.pi / 4), math.cos(math.pi / 4)), abs=1e-6
    )
    upper = spec.bodies[1].inertia
    assert upper is not None and (upper.mass, upper.centre) == (1.5, (0.0, 0.0, -0.2))
    assert [(each.joint, each.kind) for each in spec.controls] == [("shoulder", "effort"), ("elbow", "effort")]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("<robot", "not sound XML"),
        ('<!DOCTYPE r [<!ENTITY a "aaaa">]><robot name="x"/>', "entities, which no URDF file needs"),
        ("<mujoco/>", "expected a <robot>"),
        ('<robot name="x"/>', "0 links without a parent"),
        (URDF.replace('type="revolute"', 'type="floating"'), "is of type 'floating'"),
        (URDF.replace('child link="upper"', 'child link="nothing"'), "links that are not there"),
        (URDF.replace('value="1.5"', 'value="nan"'), "got nan as mass"),
        (URDF.replace('xyz="0 2 0"', 'xyz="0 0 0"'), "has no length"),
        (URDF.replace('xyz="0 2 0"', 'xyz="1 2"'), "expected three finite numbers"),
    ],
)
def test_urdf_files_that_describe_no_robot(text: str, said: str, tmp_path: Path):
    """One message each, also for a file whose entities would grow without end."""
    arm_csv(tmp_path / "run.csv")
    (tmp_path / "arm.urdf").write_text(text, encoding="utf-8")
    with pytest.raises(RecordingError, match=said):
        read_recordings(tmp_path / "run.csv", robot=tmp_path / "arm.urdf")


def test_frames_of_a_free_root_are_brought_to_ours():
    """wxyz, millimetres, degrees and body axes become xyzw, metres, radians and axes of the world."""
    rng = np.random.default_rng(1)
    quat = quat_from_rotvec(torch.from_numpy(rng.standard_normal((20, 3))))
    lin, ang = torch.from_numpy(rng.standard_normal((2, 20, 3)))
    table = {"t": np.arange(20) * 0.01}
    table |= {name: quat[:, column].numpy() for column, name in enumerate(("qx", "qy", "qz", "qw"))}
    for start, values in (("p", 1e3 * lin), ("v", 1e3 * quat_rotate_inverse(quat, lin)), ("w", ang.rad2deg())):
        table |= {f"{start}{axis}": values[:, number].numpy() for number, axis in enumerate("xyz")}
    table["wx"], table["wy"], table["wz"] = quat_rotate_inverse(quat, ang).rad2deg().numpy().T
    columns = ColumnMap(
        time="t",
        root_pos=("px", "py", "pz"),
        root_quat=("qw", "qx", "qy", "qz"),
        quat_order="wxyz",
        length_unit="mm",
        angle_unit="deg",
        root_lin_vel=("vx", "vy", "vz"),
        root_ang_vel=("wx", "wy", "wz"),
        linear_axes="body",
        angular_axes="body",
    )
    run = recordings_of([Table(table)], columns, BOX, "log", "test").recordings[0]
    for got, want in ((run.root_pos, lin), (run.root_quat, quat), (run.root_lin_vel, lin), (run.root_ang_vel, ang)):
        np.testing.assert_allclose(got, want.numpy(), atol=1e-12)


def test_topics_with_stamps_of_their_own_are_brought_together():
    """Samples along lines, commands by what they held."""
    fast, slow = np.arange(100) * 0.01 + 1e-6, np.arange(21) * 0.05
    angles = {"/joints.position.a": np.sin(fast), "/joints.position.b": np.cos(fast)}
    efforts = {"/cmd.0": slow.copy(), "/cmd.1": -slow}
    columns = ColumnMap(
        joint_pos=("/joints.position.a", "/joints.position.b"),
        controls={"held": ("/cmd.0", "/cmd.1"), "sampled": ("/cmd.0", "/cmd.1")},
        held=("held",),
    )
    tables = [Table(efforts, slow), Table(angles, fast)]
    found = recordings_of(tables, replace(columns, controls={"held": ("/cmd.0", "/cmd.1")}), ARM, "log", "test")
    np.testing.assert_allclose(found.recordings[0].efforts["held"][:, 0], np.floor(fast / 0.05) * 0.05, atol=1e-9)
    sampled = replace(columns, controls={"sampled": ("/cmd.0", "/cmd.1")}, held=())
    found = recordings_of(tables, sampled, ARM, "log", "test")
    np.testing.assert_allclose(found.recordings[0].efforts["sampled"][:, 1], -fast, atol=1e-9)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda text: text[: len(text) - 30], "has 6 cells, expected 7: was the file cut short|cells, expected 7"),
        (lambda text: text.replace("q1", "q2", 1), "each of them once"),
        (lambda text: text.split("\n", 1)[1], "each of them once"),
        (lambda text: text.replace("q1", "angle", 1), "there is no column 'q1'"),
        (lambda text: text.replace(",1.000000000,-0.5", ",,-0.5", 1), "'current' is NaN or infinite in 1 of"),
        (lambda text: text.replace(",1.000000000,-0.5", ",\x1b[2Jx,-0.5", 1), r"holds '\\x1b\[2Jx'|in row 1"),
        (lambda text: text.replace(",1.000000000,-0.5", ",1e999,-0.5", 1), "NaN or infinite"),
        (lambda text: "\n".join([text.split("\n")[0], *text.split("\n")[:0:-1]]), "time does not increase"),
        (lambda text: "t,q1\n", "expected a line of names and at least two rows"),
        (lambda text: "\0" * 100, "zero bytes"),
        (lambda text: "t" * 10_000 + "\n1\n2\n", "cannot be read as CSV"),
    ],
)
def test_tables_that_are_not_sound(change, said: str, tmp_path: Path):
    """Cut, renamed, with gaps, words, infinities, in the wrong order: one message that names the file."""
    path = arm_csv(tmp_path / "run.csv")
    path.write_text(change(path.read_text(encoding="utf-8")), encoding="utf-8")
    with pytest.raises(RecordingError, match=said) as error:
        read_recordings(path, robot=ARM)
    assert "run.csv" in str(error.value) and len(str(error.value)) < 1500 and "\x1b" not in str(error.value)


def test_gaps_and_order_can_be_mended(tmp_path: Path):
    """With ``missing: drop`` and ``unsorted: sort`` incomplete rows are left out and rows sorted by their stamps."""
    path = arm_csv(tmp_path / "run.csv")
    head, *rows = path.read_text(encoding="utf-8").strip().split("\n")
    rows[10] = rows[10].replace(",1.000000000,", ",,")
    path.write_text("\n".join([head, *rows[::-1]]) + "\n", encoding="utf-8")
    beside = tmp_path / "run.columns.json"
    beside.write_text(json.dumps(json.loads(beside.read_text()) | {"missing": "drop", "unsorted": "sort"}))
    found = read_recordings(path, robot=ARM)
    assert sum(run.frames for run in found.recordings) == 299


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"joint_pos": ["q1"]}, "names 1 joint positions, expected 2"),
        ({"joint_position": ["q1", "q2"]}, "unknown keys"),
        ({"joint_pos": ["q1", "q2"], "angle_unit": "grad"}, "expected one of"),
        ({"joint_pos": ["q1", "q2"], "time": "t"}, "expected a signal in 'controls'"),
        ({"joint_pos": ["q1", "q2"], "time": "t", "controls": {"u": ["u1"]}}, "has 1 columns, expected 2"),
        ({"joint_pos": ["q1", "q2"], "controls": {"u": ["u1", "u2"]}}, "neither 'time' nor 'rate'"),
        ({"joint_pos": ["q1", "q2"], "root_pos": ["x", "y", "z"], "root_quat": ["a", "b", "c", "d"]}, "a fixed base"),
        ({"root_pos": ["x", "y", "z"]}, "expected both or none"),
        ({"joint_pos": ["q1", "q2"], "time": "x", "controls": {"u": ["u1", "u2"]}}, "there is no column 'x'"),
        ({"time": "t"}, "neither 'joint_pos' nor 'root_pos'"),
    ],
)
def test_maps_that_do_not_fit(columns: dict, said: str, tmp_path: Path):
    """A map that contradicts itself, the file or the robot is refused with what was expected."""
    path = arm_csv(tmp_path / "run.csv")
    (tmp_path / "run.columns.json").write_text(json.dumps(columns), encoding="utf-8")
    with pytest.raises(RecordingError, match=said):
        read_recordings(path, robot=ARM)


def test_what_is_missing_is_asked_for(tmp_path: Path):
    """A map, a robot, a file: each message says what to give."""
    path = arm_csv(tmp_path / "run.csv")
    with pytest.raises(RecordingError, match="which robot it is of"):
        read_recordings(path)
    (tmp_path / "run.columns.json").unlink()
    with pytest.raises(RecordingError, match="give a map with --columns"):
        read_recordings(path, robot=ARM)
    with pytest.raises(RecordingError, match="is not there"):
        read_recordings(tmp_path / "none.csv", robot=ARM)
    with pytest.raises(RecordingError, match="expected a file that ends with"):
        (tmp_path / "x.txt").write_text("x")
        read_recordings(tmp_path / "x.txt", robot=ARM)


@pytest.mark.parametrize(
    ("read", "module", "command"),
    [
        (read_mcap, "mcap.reader", "pip install mcap mcap-ros2-support"),
        (read_bag, "rosbags.highlevel", "pip install rosbags"),
    ],
)
def test_optional_packages_are_named(read, module: str, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Without the package that knows the format, the message is the command that installs it."""
    monkeypatch.setitem(__import__("sys").modules, module.split(".")[0], None)
    monkeypatch.setitem(__import__("sys").modules, module, None)
    with pytest.raises(RecordingError, match=command):
        read(tmp_path / "log")


def test_messages_become_columns():
    """Nested numbers by their way, lists by number, joint states by the names beside them; stamps from the header."""
    stamp = types.SimpleNamespace(sec=12, nanosec=500_000_000)
    message = types.SimpleNamespace(
        header=types.SimpleNamespace(stamp=stamp, frame_id="x"),
        name=["hip", "knee"],
        position=np.array([0.1, 0.2]),
        effort=[],
        pose=types.SimpleNamespace(x=1.0, ok=True, label="a", cov=[3.0, 4.0]),
    )
    found: dict[str, float] = {}
    flattened(message, "/js", found)
    assert found == {"/js.position.hip": 0.1, "/js.position.knee": 0.2} | {
        **{"/js.pose.x": 1.0, "/js.pose.cov.0": 3.0, "/js.pose.cov.1": 4.0}
    }
    assert stamp_of(message) == 12.5 and stamp_of({"a": 1}) is None
    assert stamp_of({"header": {"stamp": {"sec": 3, "nanosec": 0}}}) == 3.0
