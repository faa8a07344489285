# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Logs that the libraries of their formats have written become recordings: MCAP, bags of ROS 1 and 2, LeRobot."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nerd_core.recordings.mechanisms import double_pendulum
from nerd_core.recordings.message_logs import read_bag, read_mcap
from nerd_core.recordings.reading import read_recordings
from nerd_core.recordings.recording import Recording, RecordingError
from nerd_core.recordings.tables import ColumnMap, Table, recordings_of

ARM = double_pendulum("arm", 100.0, (0.3, 0.3), (1.0, 1.0), (0.2, 0.2), (0.05, 0.05))
MESSAGES = ColumnMap(
    joint_pos=("/js.position.a", "/js.position.b"), controls={"measured": ("/js.effort.a", "/js.effort.b")}
)
COUNT, START = 20, 1_700_000_000
"""Messages of a log, and the second at which the clock of its headers begins."""

JOINT_STATE = """std_msgs/Header header
string[] name
float64[] position
float64[] velocity
float64[] effort
================================================================================
MSG: std_msgs/Header
builtin_interfaces/Time stamp
string frame_id
================================================================================
MSG: builtin_interfaces/Time
int32 sec
uint32 nanosec
"""
"""Definition of ``sensor_msgs/msg/JointState``, as a ROS 2 log holds it."""


def stamps(number: int) -> tuple[int, int]:
    """Seconds and nanoseconds in the header of a message; its log has it half a second later."""
    return START + number // 100, number % 100 * 10_000_000


def checked(tables: list[Table], kind: str) -> Recording:
    """The only run of a log, after its positions, stamps and efforts were held against what was written."""
    (run,) = recordings_of(tables, MESSAGES, ARM, "run", kind).recordings
    np.testing.assert_allclose(run.joint_pos, [[0.01 * number, -0.5] for number in range(COUNT)], atol=1e-12)
    np.testing.assert_allclose(np.diff(run.time), 0.01, atol=1e-6)
    np.testing.assert_allclose(run.efforts["measured"], [[1.0, 2.0]] * COUNT)
    return run


def json_mcap(path: Path) -> Path:
    """An MCAP file with messages in JSON."""
    from mcap.writer import Writer

    with path.open("wb") as file:
        writer = Writer(file)
        writer.start()
        schema = writer.register_schema("js", "jsonschema", b"{}")
        channel = writer.register_channel("/js", "json", schema)
        for number in range(COUNT):
            message = {"name": ["a", "b"], "position": [0.01 * number, -0.5], "effort": [1.0, 2.0], "note": "fine"}
            stamp = START * 10**9 + 10_000_000 * number
            writer.add_message(channel, stamp, json.dumps(message).encode(), stamp)
        writer.finish()
    return path


def ros2_mcap(path: Path) -> Path:
    """An MCAP file with messages of ROS 2."""
    from mcap_ros2.writer import Writer

    with path.open("wb") as file:
        writer = Writer(file)
        schema = writer.register_msgdef("sensor_msgs/msg/JointState", JOINT_STATE)
        for number in range(COUNT):
            second, rest = stamps(number)
            message = {
                "header": {"stamp": {"sec": second, "nanosec": rest}, "frame_id": "base"},
                "name": ["a", "b"],
                "position": [0.01 * number, -0.5],
                "velocity": [],
                "effort": [1.0, 2.0],
            }
            log_time = second * 10**9 + rest + 500_000_000 + 3_000_000 * (number % 2)
            writer.write_message("/js", schema, message, log_time=log_time, publish_time=log_time, sequence=number)
        writer.finish()
    return path


def bag(path: Path, ros: int) -> Path:
    """A bag of ROS 1 or ROS 2 with joint states."""
    from rosbags import rosbag1, rosbag2
    from rosbags.typesys import Stores, get_typestore

    store = get_typestore(Stores.ROS1_NOETIC if ros == 1 else Stores.ROS2_HUMBLE)
    types = store.types
    more: dict[str, Any] = {"seq": 0} if ros == 1 else {}
    writer: Any = rosbag1.Writer(path) if ros == 1 else rosbag2.Writer(path, version=9)
    with writer:
        connection = writer.add_connection("/js", "sensor_msgs/msg/JointState", typestore=store)
        for number in range(COUNT):
            second, rest = stamps(number)
            header = types["std_msgs/msg/Header"](
                **more, stamp=types["builtin_interfaces/msg/Time"](sec=second, nanosec=rest), frame_id="base"
            )
            message = types["sensor_msgs/msg/JointState"](
                header=header,
                name=["a", "b"],
                position=np.array([0.01 * number, -0.5]),
                velocity=np.zeros(0),
                effort=np.array([1.0, 2.0]),
            )
            raw = store.serialize_ros1(message, connection.msgtype) if ros == 1 else None
            raw = store.serialize_cdr(message, connection.msgtype) if raw is None else raw
            writer.write(connection, second * 10**9 + rest + 500_000_000 + 3_000_000 * (number % 2), raw)
    return path


def lerobot(folder: Path, episodes: int = 2) -> Path:
    """A LeRobot data set with a state, an action and a text."""
    import pyarrow
    import pyarrow.parquet

    (folder / "meta").mkdir(parents=True)
    (folder / "data" / "chunk-000").mkdir(parents=True)
    info = {"fps": 50, "features": {"observation.state": {"names": ["a", "b"]}}}
    (folder / "meta" / "info.json").write_text(json.dumps(info), encoding="utf-8")
    for episode in range(episodes):
        pair, any_length = pyarrow.list_(pyarrow.float32(), 2), pyarrow.list_(pyarrow.float32())
        columns = {
            "observation.state": pyarrow.array([[0.02 * row, 1.0] for row in range(10)], pair),
            "action": pyarrow.array([[0.5, 0.5 * episode]] * 10, any_length),
            "timestamp": pyarrow.array([0.02 * row for row in range(10)], pyarrow.float32()),
            "episode_index": pyarrow.array([episode] * 10, pyarrow.int64()),
            "task": pyarrow.array(["pick"] * 10),
        }
        table = pyarrow.table(columns)
        pyarrow.parquet.write_table(table, folder / "data" / "chunk-000" / f"episode_{episode:06d}.parquet")
    return folder


def test_an_mcap_file_in_json_becomes_a_recording(tmp_path: Path):
    """Messages in JSON have the stamps of the log."""
    pytest.importorskip("mcap")
    run = checked(read_mcap(json_mcap(tmp_path / "run.mcap")), "mcap")
    assert len(run.time) == COUNT


def test_an_mcap_file_of_ros_2_becomes_a_recording(tmp_path: Path):
    """Messages of ROS 2 have the stamps of their headers, not those of the log, which come late and unevenly."""
    pytest.importorskip("mcap_ros2")
    checked(read_mcap(ros2_mcap(tmp_path / "run.mcap")), "mcap")


@pytest.mark.parametrize("ros", [1, 2])
def test_a_bag_becomes_a_recording(ros: int, tmp_path: Path):
    """Bags of both generations become runs with the stamps of the headers; that of ROS 2 also by its database."""
    pytest.importorskip("rosbags")
    path = bag(tmp_path / ("run.bag" if ros == 1 else "run"), ros)
    checked(read_bag(path), "bag")
    if ros == 2:
        checked(read_bag(next(path.glob("*.db3"))), "bag")


def test_a_lerobot_data_set_becomes_recordings(tmp_path: Path):
    """Lists become columns with the names of the data set; episodes become runs; actions are held."""
    pytest.importorskip("pyarrow")
    found = read_recordings(lerobot(tmp_path / "set"), robot=ARM)
    assert [run.name for run in found.recordings] == ["0", "1"] and found.rate == 100.0 and found.effort == "action"
    np.testing.assert_allclose(found.recordings[1].joint_pos[:, 0], 0.02 * np.arange(10), atol=1e-7)
    assert found.recordings[1].efforts["action"][0].tolist() == [0.5, 0.5]


@pytest.mark.parametrize("kind", ["json.mcap", "ros2.mcap", "ros1.bag", "ros2", "lerobot"])
def test_a_log_that_is_cut_short_or_overwritten_ends_with_its_name(kind: str, tmp_path: Path):
    """Half a file, and a file with noise in its middle, end with one message or with recordings of what is whole."""
    pytest.importorskip("pyarrow" if kind == "lerobot" else "mcap_ros2" if "mcap" in kind else "rosbags")
    rng = np.random.default_rng(0)
    makers: dict[str, Any] = {
        "json.mcap": json_mcap,
        "ros2.mcap": ros2_mcap,
        "ros1.bag": lambda path: bag(path, 1),
        "ros2": lambda path: bag(path, 2),
        "lerobot": lerobot,
    }
    refused = 0
    for number, damage in enumerate(("cut", "noise", "empty")):
        (tmp_path / str(number)).mkdir()
        path = makers[kind](tmp_path / str(number) / kind)
        victim = path if path.is_file() else next(iter([*path.glob("*.db3"), *path.glob("data/*/*.parquet")]))
        content = bytearray(victim.read_bytes())
        if damage == "noise":
            content[len(content) // 4 : len(content) // 2] = rng.bytes(len(content) // 2 - len(content) // 4)
        victim.write_bytes({"cut": bytes(content[: len(content) // 2]), "noise": bytes(content), "empty": b""}[damage])
        try:
            if kind == "lerobot":
                read_recordings(path, robot=ARM)
            else:
                (read_mcap if kind.endswith("mcap") else read_bag)(path)
        except RecordingError as error:
            refused += 1
            assert len(str(error)) < 600 and "\x1b" not in str(error)
    assert refused >= 2, "a file of nothing, and half a file, are damaged"
