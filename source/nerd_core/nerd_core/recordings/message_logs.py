# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Tables from logs of messages: MCAP files through ``mcap``, ROS 1 and ROS 2 bags through ``rosbags``.

Each topic becomes a table. Its columns are the numbers in its messages: ``/odom.pose.pose.position.x``. Items of a list
are counted, ``/imu.gyro.0``; where a message has a list of names beside, as ``sensor_msgs/JointState``, they are named,
``/joint_states.position.elbow``. Stamps are those of the header, or else of the log.
"""

from __future__ import annotations

import importlib
import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from ..files.messages import printable
from .recording import RecordingError
from .tables import Table

MAX_MESSAGES = 20_000_000
"""Most messages of a log."""

MAX_COLUMNS = 2000
"""Most numbers of a message; images and clouds of points have more, and are left out."""

MAX_DEPTH = 8
"""Deepest nesting of a message."""

Rows = dict[str, list[tuple[float, dict[str, float]]]]
"""Stamps and numbers of the messages by topic."""


def read_mcap(path: str | Path) -> list[Table]:
    """Tables of an MCAP file with messages in ROS 2's encoding (CDR) or in JSON.

    Args:
        path: The file.
    """
    reader_module = required("mcap.reader", "mcap mcap-ros2-support", path)
    decoders = required("mcap_ros2.decoder", "mcap mcap-ros2-support", path)
    path, rows = Path(path), Rows()
    try:
        with path.open("rb") as file:
            reader = reader_module.make_reader(file, decoder_factories=[decoders.DecoderFactory(), JsonDecoder()])
            for number, (_, channel, message, decoded) in enumerate(reader.iter_decoded_messages()):
                _take(rows, channel.topic, 1e-9 * message.log_time, decoded, number)
    except RecordingError:
        raise
    except Exception as error:  # of libraries for a format that anybody may have written
        raise RecordingError(_unreadable(path, "an MCAP file", error)) from None
    return _tables(rows, path)


def read_bag(path: str | Path) -> list[Table]:
    """Tables of a bag: a ``.bag`` file of ROS 1, a folder or a ``.db3`` file of ROS 2.

    Args:
        path: File or folder.
    """
    highlevel = required("rosbags.highlevel", "rosbags", path)
    typesys = required("rosbags.typesys", "rosbags", path)
    path, rows = Path(path), Rows()
    folder = path.parent if path.suffix == ".db3" else path
    try:
        store = typesys.get_typestore(typesys.Stores.ROS2_HUMBLE)
        with highlevel.AnyReader([folder], default_typestore=store) as reader:
            for number, (connection, stamp, raw) in enumerate(reader.messages()):
                message = reader.deserialize(raw, connection.msgtype)
                _take(rows, connection.topic, 1e-9 * stamp, message, number)
    except RecordingError:
        raise
    except Exception as error:  # of libraries for a format that anybody may have written
        raise RecordingError(_unreadable(path, "a bag", error)) from None
    return _tables(rows, path)


class JsonDecoder:
    """Decodes messages in JSON, as ``mcap`` asks for it."""

    def decoder_for(self, message_encoding: str, schema: Any) -> Any:
        """What decodes the bytes of a message; None for another encoding."""
        del schema
        return json.loads if message_encoding == "json" else None


def required(module: str, packages: str, path: str | Path) -> Any:
    """A module of an optional dependency. Raises :class:`RecordingError` with the command that installs it.

    Args:
        module: Its name.
        packages: Packages to install, for the message.
        path: File that needs it, for the message.
    """
    try:
        return importlib.import_module(module)
    except ImportError:
        raise RecordingError(
            f"'{Path(path).name}' needs {packages.split()[0]}, which is not installed: run pip install {packages}"
        ) from None


def flattened(message: Any, prefix: str, found: dict[str, float], depth: int = 0) -> None:
    """Takes the numbers of a message, by the way that leads to them.

    Args:
        message: A message: an object with attributes, a mapping, a list or a number.
        prefix: Where it stands.
        found: Receives the numbers.
        depth: How deep it stands.
    """
    if depth > MAX_DEPTH or len(found) > MAX_COLUMNS:
        return
    if isinstance(message, (bool, np.bool_)) or message is None or isinstance(message, (str, bytes)):
        return
    if isinstance(message, (int, float, np.number)):
        found[prefix] = float(message)
        return
    if isinstance(message, (list, tuple, np.ndarray)):
        if len(message) <= MAX_COLUMNS:
            for index, item in enumerate(message):
                flattened(item, f"{prefix}.{index}", found, depth + 1)
        return
    members = _members(message)
    listed_names = members.get("name")
    names = list(listed_names) if isinstance(listed_names, (list, tuple)) else []
    named = bool(names) and all(isinstance(each, str) for each in names)
    for key, value in members.items():
        listed = isinstance(value, (list, tuple, np.ndarray))
        if named and listed and key != "name" and len(value) == len(names):
            for name, item in zip(names, value, strict=True):
                flattened(item, f"{prefix}.{key}.{name}", found, depth + 1)
        elif key not in ("header", "layout"):
            flattened(value, f"{prefix}.{key}", found, depth + 1)


def stamp_of(message: Any) -> float | None:
    """The stamp in the header of a message [s]; None if it has none."""
    header = _members(message).get("header")
    stamp = _members(header).get("stamp") if header is not None else None
    if stamp is None:
        return None
    parts = _members(stamp)
    seconds = parts.get("sec", parts.get("secs"))
    rest = parts.get("nanosec", parts.get("nsec", parts.get("nsecs", 0)))
    if not isinstance(seconds, (int, float)) or not isinstance(rest, (int, float)):
        return None
    value = float(seconds) + 1e-9 * float(rest)
    return value if math.isfinite(value) and value > 0.0 else None


def _take(rows: Rows, topic: str, log_time: float, message: Any, number: int) -> None:
    if number >= MAX_MESSAGES:
        raise RecordingError(f"the log has more than {MAX_MESSAGES:,} messages: cut it")
    found: dict[str, float] = {}
    flattened(message, str(topic), found)
    if found and len(found) <= MAX_COLUMNS:
        stamp = stamp_of(message)
        rows.setdefault(str(topic), []).append((log_time if stamp is None else stamp, found))


def _tables(rows: Rows, path: Path) -> list[Table]:
    tables = []
    for found in rows.values():
        names = sorted({name for _, numbers in found for name in numbers})
        columns = {name: np.array([numbers.get(name, math.nan) for _, numbers in found]) for name in names}
        tables.append(Table(columns, np.array([stamp for stamp, _ in found])))
    if not tables:
        raise RecordingError(f"'{path.name}' holds no messages with numbers")
    return tables


def _members(message: Any) -> dict[str, Any]:
    """Fields of a message by name."""
    if isinstance(message, dict):
        return {str(key): value for key, value in message.items()}
    slots = getattr(message, "__slots__", None) or getattr(message, "__dict__", {})
    return {name.lstrip("_"): getattr(message, name) for name in slots if not str(name).startswith("__")}


def _unreadable(path: Path, kind: str, error: Exception) -> str:
    said = printable(str(error)[:300]) or type(error).__name__
    return f"'{path.name}' is damaged and cannot be read as {kind} ({said}): get it again"


__all__ = ["flattened", "read_bag", "read_mcap", "required", "stamp_of"]
