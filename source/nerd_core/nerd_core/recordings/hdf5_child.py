# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""A process that reads one HDF5 file and can be killed: the library loops or crashes on some damaged files.

Gets the bytes of the file on its standard input and writes a JSON description and the bytes of the arrays to its
standard output; :mod:`nerd_core.recordings.hdf5` starts it and holds what comes against its limits. HDF5 can point out
of a file (links, external and virtual datasets), call filters that are loaded from a folder, and claim arrays of any
size: what does is left out, with the reason.

Run as a script, without the rest of nerd_core so that it starts at once::

    python hdf5_child.py LARGEST_ARRAY LARGEST_TOTAL SECONDS < file.h5
"""

from __future__ import annotations

import io
import json
import math
import resource
import struct
import sys
from typing import Any

import h5py
import numpy as np

MAX_MEMBERS = 10_000
"""Most members of a group that are looked at."""

MAX_ATTRIBUTES = 200
"""Most attributes of a group that are looked at."""

MAX_TEXT = 2**20
"""Longest text or list of numbers in an attribute [bytes]."""

MAX_DEFLATE_RATIO = 1032
"""Deflate cannot shrink anything further than by this factor: a larger claim is a lie."""

DEPTH = 3
"""Levels of groups that are looked at."""

FILTERS = {h5py.h5z.FILTER_DEFLATE, h5py.h5z.FILTER_SHUFFLE, h5py.h5z.FILTER_FLETCHER32}
"""Filters that every HDF5 library has."""

MEMORY = 3 * 2**30
"""Address space beyond that of the file and its arrays [bytes]."""


class Reader:
    """Reads a file into a description and the bytes of its arrays."""

    def __init__(self, largest: int, total: int):
        """Sets the limits.

        Args:
            largest: Largest array [bytes].
            total: Largest size of all arrays together [bytes].
        """
        self.largest, self.left = largest, total
        self.arrays: list[bytes] = []
        self.at = 0

    def group(self, group: h5py.Group, depth: int) -> dict[str, Any]:
        """Description of a group: its attributes, arrays and groups, and what was left out, with the reason."""
        tree: dict[str, Any] = {"attrs": _attributes(group), "arrays": {}, "groups": {}, "left_out": {}}
        if len(group) > MAX_MEMBERS:
            raise ValueError(f"a group has {len(group)} members, at most {MAX_MEMBERS} are expected")
        for name in sorted(group):
            if not isinstance(group.get(name, getlink=True), h5py.HardLink):
                tree["left_out"][name] = "is a link to elsewhere, which is not followed"
                continue
            member = group[name]
            if isinstance(member, h5py.Dataset):
                reason = self._refusal(member)
                if reason:
                    tree["left_out"][name] = reason
                else:
                    tree["arrays"][name] = self._array(member)
            elif isinstance(member, h5py.Group) and depth > 1:
                tree["groups"][name] = self.group(member, depth - 1)
        return tree

    def _refusal(self, found: h5py.Dataset) -> str:
        """Why an array is not read; empty if it is."""
        if found.is_virtual or found.external:
            return "lies in another file, which is not followed: write the numbers into this one"
        if found.dtype.kind not in "fiuSb" or found.dtype.itemsize > 64 or found.shape is None:
            return f"holds {str(found.dtype)[:60]}, expected numbers or short texts"
        settings = found.id.get_create_plist()
        codes = [settings.get_filter(number)[0] for number in range(min(settings.get_nfilters(), 8))]
        if not set(codes) <= FILTERS:
            return f"is packed by the filters {codes}, expected gzip, shuffle, or none"
        size, stored = math.prod(found.shape) * found.dtype.itemsize, found.id.get_storage_size()
        if size > self.largest or size > MAX_DEFLATE_RATIO * max(stored, 1):
            return f"claims {size:,} bytes, stored in {stored:,}: expected at most {self.largest:,}"
        if size > self.left:
            return "does not fit into the memory for all arrays of a file"
        return ""

    def _array(self, found: h5py.Dataset) -> dict[str, Any]:
        values = np.ascontiguousarray(found[()])
        values = values.astype(values.dtype.newbyteorder("<"))
        content = values.tobytes()
        self.left -= len(content)
        self.arrays.append(content)
        entry = {"dtype": values.dtype.str, "shape": list(values.shape), "at": self.at, "bytes": len(content)}
        self.at += len(content)
        return entry


def _attributes(group: h5py.Group) -> dict[str, Any]:
    """Attributes that are texts, numbers or short lists of numbers."""
    found: dict[str, Any] = {}
    for name in sorted(group.attrs)[:MAX_ATTRIBUTES]:
        about = group.attrs.get_id(name)
        if math.prod(about.shape or ()) * max(1, about.dtype.itemsize) > MAX_TEXT:
            continue
        value = group.attrs[name]
        if isinstance(value, bytes):
            value = value.decode("utf-8", "replace")
        if isinstance(value, str):
            found[name] = value[: MAX_TEXT + 1]
        elif isinstance(value, (np.generic, np.ndarray)) and value.dtype.kind in "fiub":
            found[name] = [each if math.isfinite(each) else None for each in map(float, np.ravel(value)[:64])]
            found[name] = found[name][0] if np.ndim(value) == 0 else found[name]
    return found


def main(largest: int, total: int, seconds: int) -> None:
    """Reads the file on standard input and writes what it holds to standard output.

    Args:
        largest: Largest array [bytes].
        total: Largest size of all arrays together [bytes].
        seconds: Time of the processor that this may take [s].
    """
    content = sys.stdin.buffer.read()
    limit = MEMORY + len(content) + 4 * total
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    reader = Reader(largest, total)
    try:
        # From memory: no relative path leads from there to another file, and nothing changes meanwhile.
        with h5py.File(io.BytesIO(content), "r") as file:
            answer: dict[str, Any] = reader.group(file, DEPTH)
    except Exception as error:  # whatever it is, it is the file's fault, and the other side says so
        answer = {"error": f"{type(error).__name__}: {str(error)[:300]}"}
        reader.arrays = []
    text = json.dumps(answer).encode()
    sys.stdout.buffer.write(struct.pack("<Q", len(text)))
    for part in (text, *reader.arrays):
        sys.stdout.buffer.write(part)
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:4]))
