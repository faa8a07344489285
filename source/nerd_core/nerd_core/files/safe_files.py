# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Reading plain files and JSON that may come from anywhere.

Only two formats are read: JSON here, and safetensors in :mod:`nerd_core.files.safe_tensors`. Neither can carry code.
The size of a file is compared with a limit before memory is taken. Links, pipes and devices are refused, so that a
directory of files cannot point out of itself or keep the reader waiting.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import stat
from pathlib import Path
from typing import Any

from .messages import shortened

MAX_JSON_BYTES = 4 * 2**20
"""Largest JSON file that is read [bytes]."""

MAX_JSON_DEPTH = 64
"""Deepest nesting of a JSON document."""

MAX_DIGITS = 64
"""Longest whole number in a JSON document [digits]. Longer ones mean nothing here, and messages would repeat them."""


class UnsafeFile(ValueError):
    """A file that is missing, damaged, larger than allowed, of another format, or not a plain file."""


def read_bytes(path: Path, limit: int) -> bytes:
    """Content of a plain file of at most ``limit`` bytes; links, pipes and devices are refused."""
    try:
        # Without O_NONBLOCK, opening a named pipe would wait for a writer.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if path.is_symlink():
            raise UnsafeFile(f"'{path.name}' is a link; links are not followed: copy the file itself") from None
        raise UnsafeFile(f"'{path.name}' cannot be read: {error.strerror}") from None
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        kind = "a directory" if stat.S_ISDIR(status.st_mode) else "a pipe, a socket or a device"
        raise UnsafeFile(f"'{path.name}' is not a plain file but {kind}")
    with os.fdopen(descriptor, "rb") as file:
        if status.st_size > limit:
            raise UnsafeFile(f"'{path.name}' has {status.st_size} bytes, at most {limit} are expected")
        content = file.read(status.st_size + 1)
    if len(content) != status.st_size:
        raise UnsafeFile(f"'{path.name}' changed while it was read: got {len(content)} of {status.st_size} bytes")
    return content


def parse_json(content: bytes, name: str) -> Any:
    """A JSON document of bounded depth, without repeated keys and without the words NaN and Infinity.

    Args:
        content: The document, UTF-8.
        name: Name of the file, for messages.
    """
    if len(content) > MAX_JSON_BYTES:
        raise UnsafeFile(f"'{name}' has {len(content)} bytes, at most {MAX_JSON_BYTES} are expected")
    try:
        value = json.loads(
            content.decode("utf-8"),
            object_pairs_hook=_unique,
            parse_constant=_refuse_constant,
            parse_float=_finite_number,
        )
    except RecursionError:
        raise UnsafeFile(f"'{name}' is nested too deeply") from None
    except ValueError as error:  # also of bad UTF-8 and of numbers with thousands of digits
        raise UnsafeFile(f"'{name}' is not sound JSON: {str(error)[:200]}") from None
    _check_values(value, name)
    return value


def digest(content: bytes) -> str:
    """SHA-256 in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("a key stands twice in one object")
    return result


def _refuse_constant(word: str) -> Any:
    raise ValueError(f"got the word {word}, which JSON does not have")


def _finite_number(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"got the number {text[:40]}, which is too large")
    return number


def _check_values(value: Any, name: str) -> None:
    """Refuses documents that are nested too deeply, and whole numbers so long that no message could name them."""
    level = [value]
    for _ in range(MAX_JSON_DEPTH):
        below = []
        for holder in level:
            if isinstance(holder, (dict, list)):
                for key, child in holder.items() if isinstance(holder, dict) else enumerate(holder):
                    if isinstance(child, int) and abs(child) >= 10**MAX_DIGITS:
                        digits = round(child.bit_length() * math.log10(2.0))
                        where = f"'{name}': {shortened(key)}"
                        raise UnsafeFile(
                            f"{where} is a number of about {digits} digits, at most {MAX_DIGITS} are expected"
                        )
                    below.append(child)
        if not below:
            return
        level = below
    raise UnsafeFile(f"'{name}' is nested too deeply: at most {MAX_JSON_DEPTH} levels are expected")


def json_bytes(value: Any) -> bytes:
    """A JSON file, indented for people. Raises ValueError for NaN and infinity, which JSON does not have."""
    content = (json.dumps(value, indent=1, allow_nan=False) + "\n").encode()
    if len(content) > MAX_JSON_BYTES:
        raise ValueError(f"got {len(content)} bytes of JSON, at most {MAX_JSON_BYTES} can be read back")
    return content


__all__ = ["UnsafeFile", "digest", "json_bytes", "parse_json", "read_bytes"]
