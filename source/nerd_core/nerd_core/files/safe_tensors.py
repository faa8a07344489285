# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Reading files that may come from anywhere, and writing directories that are either whole or not there.

Only two formats are read: JSON and safetensors. Neither can carry code. Before memory is taken, the size of a file is
held against a limit, and the header of a safetensors file against the size of the file. Links, pipes and devices are
refused, so that a directory of files cannot point out of itself or keep the reader waiting.
"""

from __future__ import annotations

import contextlib
import glob
import hashlib
import json
import math
import os
import secrets
import shutil
import stat
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
import torch

MAX_JSON_BYTES = 4 * 2**20
"""Largest JSON file that is read [bytes]."""

MAX_JSON_DEPTH = 64
"""Deepest nesting of a JSON document."""

MAX_HEADER_BYTES = 4 * 2**20
"""Largest header of a safetensors file [bytes]."""

MAX_TENSOR_BYTES = 16 * 2**30
"""Largest safetensors file [bytes]."""

DTYPES: dict[str, torch.dtype] = {
    "F64": torch.float64,
    "F32": torch.float32,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
    "I64": torch.int64,
    "I32": torch.int32,
    "I16": torch.int16,
    "I8": torch.int8,
    "U8": torch.uint8,
    "BOOL": torch.bool,
}
"""Element types of safetensors that are read, by their names there."""


class UnsafeFile(ValueError):
    """A file that is missing, damaged, larger than allowed, of another format, or not a plain file."""


@dataclass(frozen=True)
class TensorInfo:
    """What the header of a safetensors file says about one tensor."""

    shape: tuple[int, ...]
    """Shape."""
    dtype: torch.dtype
    """Element type."""


# -- reading ---------------------------------------------------------------------------------------------------


def read_bytes(path: Path, limit: int) -> bytes:
    """Content of a plain file of at most ``limit`` bytes; links, pipes and devices are refused."""
    try:
        # Without O_NONBLOCK, opening a named pipe would wait for a writer.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if path.is_symlink():
            raise UnsafeFile(f"'{path.name}' is a link; links are not followed: copy the file itself") from None
        raise UnsafeFile(f"'{path.name}' cannot be read: {error.strerror}") from None
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise UnsafeFile(f"'{path.name}' is not a plain file")
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
    return _parse_json(content, name)


def tensor_header(content: bytes, name: str) -> dict[str, TensorInfo]:
    """Checks that the header of a safetensors file describes exactly the bytes that follow it, and returns it.

    Args:
        content: The whole file.
        name: Name of the file, for messages.
    """
    if len(content) < 8:
        raise UnsafeFile(f"'{name}' has {len(content)} bytes, too few for a safetensors file: cut short or foreign")
    (length,) = struct.unpack("<Q", content[:8])
    if length > min(MAX_HEADER_BYTES, len(content) - 8):
        raise UnsafeFile(
            f"'{name}' is not a whole safetensors file: its header claims {length} bytes, the file has {len(content)}"
        )
    header = _parse_json(content[8 : 8 + length], name)
    if not isinstance(header, dict):
        raise UnsafeFile(f"'{name}': the header is a JSON {type(header).__name__}, expected an object")
    header.pop("__metadata__", None)
    spans = {key: _span(key, entry, name) for key, entry in header.items()}
    end = 0
    for key, (begin, stop, _) in sorted(spans.items(), key=lambda item: item[1][:2]):
        if begin != end:
            raise UnsafeFile(f"'{name}': tensor {key[:80]!r} begins at byte {begin}, expected {end}")
        end = stop
    if end != len(content) - 8 - length:
        raise UnsafeFile(f"'{name}' holds {len(content) - 8 - length} bytes of tensors, its header describes {end}")
    return {key: info for key, (_, _, info) in spans.items()}


def parse_tensors(content: bytes, name: str) -> dict[str, torch.Tensor]:
    """Tensors of a safetensors file, on the CPU, after :func:`tensor_header` has found it sound."""
    header = tensor_header(content, name)
    try:
        tensors = safetensors.torch.load(content)
    except (safetensors.SafetensorError, ValueError, RuntimeError, AssertionError, KeyError) as error:
        raise UnsafeFile(f"'{name}' cannot be read: {error}") from None
    for key, info in header.items():
        if tuple(tensors[key].shape) != info.shape or tensors[key].dtype != info.dtype:
            raise UnsafeFile(f"'{name}': tensor {key[:80]!r} differs from its header")
    # Copies lie where torch puts tensors. In the bytes of a file they are aligned in another way, and kernels may then
    # sum in another order: a resumed run would differ in the last bits.
    return {key: tensor.clone() for key, tensor in tensors.items()}


def digest(content: bytes) -> str:
    """SHA-256 in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def _parse_json(content: bytes, name: str) -> Any:
    try:
        value = json.loads(content.decode("utf-8"), object_pairs_hook=_unique, parse_constant=_refuse_constant)
    except RecursionError:
        raise UnsafeFile(f"'{name}' is nested too deeply") from None
    except ValueError as error:  # also of bad UTF-8 and of numbers with thousands of digits
        raise UnsafeFile(f"'{name}' is not sound JSON: {str(error)[:200]}") from None
    _check_depth(value, name)
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("a key stands twice in one object")
    return result


def _refuse_constant(word: str) -> Any:
    raise ValueError(f"got the word {word}, which JSON does not have")


def _check_depth(value: Any, name: str) -> None:
    level = [value]
    for _ in range(MAX_JSON_DEPTH):
        level = [
            child
            for item in level
            if isinstance(item, (dict, list))
            for child in (item.values() if isinstance(item, dict) else item)
        ]
        if not level:
            return
    raise UnsafeFile(f"'{name}' is nested too deeply: at most {MAX_JSON_DEPTH} levels are expected")


def _span(key: str, entry: Any, name: str) -> tuple[int, int, TensorInfo]:
    """First byte, end and description of one tensor in a safetensors header."""
    where = f"'{name}': tensor {key[:80]!r}"
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
        raise UnsafeFile(f"{where}: the header must give dtype, shape and data_offsets, and nothing else")
    if not isinstance(entry["dtype"], str) or entry["dtype"] not in DTYPES:
        raise UnsafeFile(f"{where}: got the type {str(entry['dtype'])[:40]}, expected one of {sorted(DTYPES)}")
    shape, offsets = entry["shape"], entry["data_offsets"]
    if not (_is_sizes(shape) and len(shape) <= 16 and _is_sizes(offsets) and len(offsets) == 2):
        raise UnsafeFile(f"{where}: got shape {str(shape)[:80]} and data_offsets {str(offsets)[:80]}, expected sizes")
    dtype = DTYPES[entry["dtype"]]
    if math.prod(shape) * dtype.itemsize != offsets[1] - offsets[0]:
        raise UnsafeFile(f"{where}: shape {shape} of {entry['dtype']} does not fill the bytes {offsets}")
    return offsets[0], offsets[1], TensorInfo(tuple(shape), dtype)


def _is_sizes(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(item, int) and not isinstance(item, bool) and 0 <= item < 2**62 for item in value
    )


# -- writing ---------------------------------------------------------------------------------------------------


def tensor_bytes(tensors: Mapping[str, torch.Tensor]) -> bytes:
    """A safetensors file that holds copies of the tensors."""
    return safetensors.torch.save(
        {name: tensor.detach().to("cpu", copy=True).contiguous() for name, tensor in tensors.items()}
    )


def json_bytes(value: Any) -> bytes:
    """A JSON file, indented for people. Raises ValueError for NaN and infinity, which JSON does not have."""
    content = (json.dumps(value, indent=1, allow_nan=False) + "\n").encode()
    if len(content) > MAX_JSON_BYTES:
        raise ValueError(f"got {len(content)} bytes of JSON, at most {MAX_JSON_BYTES} can be read back")
    return content


@contextlib.contextmanager
def replace_directory(path: str | Path) -> Iterator[Path]:
    """Gives an empty directory to fill; when the block ends well it takes the place of ``path``, old content and all.

    One writer at a time for a path.

    A crash at any moment leaves either the old or the new content: under ``path``, or, between two renames, the old
    one under :func:`previous`.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_symlink() or (path.exists() and not path.is_dir()):
        raise UnsafeFile(f"'{path}' exists and is not a directory: choose another place")
    for left_behind in path.parent.glob(f".{glob.escape(path.name)}.writing-*"):
        shutil.rmtree(left_behind, ignore_errors=True)  # by a writer that was killed
    fresh = path.with_name(f".{path.name}.writing-{secrets.token_hex(4)}")
    fresh.mkdir()
    try:
        yield fresh
        for file in sorted(fresh.rglob("*")):
            _flush(file)
        _flush(fresh)
        if path.exists():
            shutil.rmtree(previous(path), ignore_errors=True)
            path.rename(previous(path))
        fresh.rename(path)
        _flush(path.parent)
        shutil.rmtree(previous(path), ignore_errors=True)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def previous(path: Path) -> Path:
    """Where the old content of a directory waits while :func:`replace_directory` puts the new one in its place."""
    return path.with_name(f".{path.name}.previous")


def _flush(path: Path) -> None:
    """Asks the system to bring a file or the entries of a directory to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


__all__ = [
    "TensorInfo",
    "UnsafeFile",
    "digest",
    "json_bytes",
    "parse_json",
    "parse_tensors",
    "previous",
    "read_bytes",
    "replace_directory",
    "tensor_bytes",
    "tensor_header",
]
