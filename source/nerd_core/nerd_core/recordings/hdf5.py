# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Reading HDF5 files that may come from anywhere: plain arrays and attributes of known types, sizes checked first.

The HDF5 library itself loops or crashes on some damaged files, so it runs in a process of its own
(:mod:`nerd_core.recordings.hdf5_child`), with a limit of time and memory. What it gives is a :class:`Tree` of plain
values.

Example::

    tree = read_hdf5(path)
    mass, pos = tree.number("mass_kg"), tree.array("pos", "f", (None, None, 3))
"""

from __future__ import annotations

import json
import math
import signal
import struct
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..files.messages import printable, shortened
from ..files.safe_files import UnsafeFile, parse_json, read_bytes
from .recording import RecordingError

MAX_FILE_BYTES = 512 * 2**20
"""Largest file that is read [bytes]."""

MAX_ARRAY_BYTES = 512 * 2**20
"""Largest array that is read, and largest size of all of a file [bytes]."""

MAX_DESCRIPTION_BYTES = 64 * 2**20
"""Longest description of a file [bytes]."""

SECONDS, SECONDS_PER_MB = 10, 0.5
"""Time of the processor that a file may take to be read, and more for each megabyte of it [s]."""

PATIENCE = 20.0
"""How many times as long it may take on a machine that has much else to do."""

CHILD = Path(__file__).with_name("hdf5_child.py")
"""The program that reads."""

KINDS = {"f": ("f", "real numbers"), "i": ("iu", "whole numbers"), "S": ("S", "short texts")}
"""Kinds of arrays: element types of NumPy, and how a message says it."""


@dataclass(frozen=True, eq=False)
class Tree:
    """A file or a group in it, in memory."""

    attributes: Mapping[str, Any]
    """Texts, numbers and lists of numbers by name."""
    arrays: Mapping[str, np.ndarray]
    """Arrays by name."""
    groups: Mapping[str, Tree]
    """Groups by name."""
    left_out: Mapping[str, str]
    """Arrays that were not read by name, and why."""

    def array(self, name: str, kind: str, shape: Sequence[int | None]) -> np.ndarray:
        """An array as float64, int64 or bytes.

        Args:
            name: Its name.
            kind: ``f`` for real numbers, ``i`` for whole ones, ``S`` for short texts.
            shape: Lengths that are expected; None for any.
        """
        if name in self.left_out:
            raise RecordingError(f"the array '{name}' {self.left_out[name]}")
        if name not in self.arrays:
            raise RecordingError(f"the array '{name}' is missing")
        found = self.arrays[name]
        types, words = KINDS[kind]
        if found.dtype.kind not in types:
            raise RecordingError(f"'{name}' holds {found.dtype}, expected {words}")
        fits = len(found.shape) == len(shape)
        if not fits or any(want is not None and want != have for want, have in zip(shape, found.shape, strict=False)):
            said = tuple("any" if want is None else want for want in shape)
            raise RecordingError(f"'{name}' has the shape {shortened(found.shape)}, expected {said}")
        return found if kind == "S" else found.astype(np.float64 if kind == "f" else np.int64)

    def text(self, name: str, default: str | None = None) -> str:
        """An attribute that is a text.

        Args:
            name: Its name.
            default: What to return where it is missing; an error if None.
        """
        value = self._attribute(name, default)
        if not isinstance(value, str):
            raise RecordingError(f"the attribute '{name}' is {shortened(value)}, expected a text")
        return value

    def number(self, name: str, default: float | None = None) -> float:
        """An attribute that is one finite number; see :meth:`text`."""
        value = self._attribute(name, default)
        if not isinstance(value, (int, float)) or not math.isfinite(value):
            raise RecordingError(f"the attribute '{name}' is {shortened(value)}, expected one finite number")
        return float(value)

    def json(self, name: str) -> dict[str, Any]:
        """An attribute that holds a JSON object."""
        try:
            value = parse_json(self.text(name).encode(errors="surrogatepass"), f"attribute '{name}'")
        except UnsafeFile as error:
            raise RecordingError(str(error)) from None
        if not isinstance(value, dict):
            raise RecordingError(f"the attribute '{name}' holds a JSON {type(value).__name__}, expected an object")
        return value

    def _attribute(self, name: str, default: Any) -> Any:
        if name not in self.attributes:
            if default is None:
                raise RecordingError(f"the attribute '{name}' is missing")
            return default
        return self.attributes[name]


def read_hdf5(path: str | Path) -> Tree:
    """Reads a file whole. Raises :class:`RecordingError` for one that is not sound.

    Args:
        path: The file.
    """
    path = Path(path)
    try:
        content = read_bytes(path, MAX_FILE_BYTES)
    except UnsafeFile as error:
        raise RecordingError(str(error)) from None
    if content[:8] != b"\x89HDF\r\n\x1a\n":
        raise RecordingError(f"'{path.name}' is not an HDF5 file: expected one that begins with its signature")
    seconds = math.ceil(SECONDS + SECONDS_PER_MB * len(content) / 2**20)
    command = [sys.executable, "-P", str(CHILD), str(MAX_ARRAY_BYTES), str(MAX_ARRAY_BYTES), str(seconds)]
    try:
        ran = subprocess.run(command, input=content, capture_output=True, timeout=PATIENCE * seconds)
    except subprocess.TimeoutExpired:
        raise RecordingError(f"'{path.name}': reading it as HDF5 does not end: get it again") from None
    if ran.returncode == -signal.SIGXCPU:
        raise RecordingError(f"'{path.name}' is damaged: reading it as HDF5 does not end: get it again")
    if ran.returncode:
        raise RecordingError(f"'{path.name}' is damaged: reading it as HDF5 fails ({ran.returncode}): get it again")
    tree = _description(ran.stdout, path.name)
    if "error" in tree:
        said = printable(shortened(tree["error"], 200))
        raise RecordingError(f"'{path.name}' is damaged and cannot be read as HDF5 ({said}): get it again")
    return _tree(tree, memoryview(ran.stdout)[8 + struct.unpack("<Q", ran.stdout[:8])[0] :])


def _description(answer: bytes, name: str) -> dict[str, Any]:
    length = struct.unpack("<Q", answer[:8])[0] if len(answer) >= 8 else -1
    if not 0 < length <= min(MAX_DESCRIPTION_BYTES, len(answer) - 8):
        raise RecordingError(f"'{name}' is damaged: reading it as HDF5 gave nothing")
    return json.loads(answer[8 : 8 + length])


def _tree(plain: dict[str, Any], content: memoryview) -> Tree:
    arrays = {
        name: np.frombuffer(content[entry["at"] : entry["at"] + entry["bytes"]], np.dtype(entry["dtype"])).reshape(
            entry["shape"]
        )
        for name, entry in plain["arrays"].items()
    }
    groups = {name: _tree(group, content) for name, group in plain["groups"].items()}
    return Tree(plain["attrs"], arrays, groups, plain["left_out"])


__all__ = ["Tree", "read_hdf5"]
