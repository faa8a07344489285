# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Reading safetensors files that may come from anywhere, and writing them.

A safetensors file cannot carry code. Before memory is taken, its header is held against the size of the file.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import safetensors
import safetensors.torch
import torch

from .safe_files import UnsafeFile, parse_json

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


@dataclass(frozen=True)
class TensorInfo:
    """What the header of a safetensors file says about one tensor."""

    shape: tuple[int, ...]
    """Shape."""
    dtype: torch.dtype
    """Element type."""


def tensor_header(content: bytes, name: str) -> dict[str, TensorInfo]:
    """Checks that the header of a safetensors file describes exactly the bytes that follow it, and returns it.

    Args:
        content: The whole file.
        name: Name of the file, for messages.
    """
    header = _header(content, name)
    header.pop("__metadata__", None)
    spans = {key: _span(key, entry, name) for key, entry in header.items()}
    body, end = len(content) - 8 - _header_bytes(content), 0
    for key, (begin, stop, _) in sorted(spans.items(), key=lambda item: item[1][:2]):
        if begin != end:
            raise UnsafeFile(f"'{name}': tensor {key[:80]!r} begins at byte {begin}, expected {end}")
        end = stop
    if end != body:
        raise UnsafeFile(f"'{name}' holds {body} bytes of tensors, its header describes {end}")
    return {key: info for key, (_, _, info) in spans.items()}


def parse_notes(content: bytes, name: str) -> dict[str, str]:
    """The texts that a safetensors file carries beside its tensors, by name.

    Args:
        content: The whole file.
        name: Name of the file, for messages.
    """
    notes = _header(content, name).get("__metadata__", {})
    if not isinstance(notes, dict) or not all(isinstance(text, str) for text in notes.values()):
        raise UnsafeFile(f"'{name}': the notes in its header are no object of texts")
    return notes


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


def tensor_bytes(tensors: Mapping[str, torch.Tensor]) -> bytes:
    """A safetensors file that holds copies of the tensors."""
    return safetensors.torch.save(
        {name: tensor.detach().to("cpu", copy=True).contiguous() for name, tensor in tensors.items()}
    )


def _header_bytes(content: bytes) -> int:
    """How many bytes a file says its header has."""
    return struct.unpack("<Q", content[:8])[0]


def _header(content: bytes, name: str) -> dict[str, Any]:
    """The header as plain values, after its size was held against that of the file."""
    if len(content) < 8:
        raise UnsafeFile(f"'{name}' has {len(content)} bytes, too few for a safetensors file: cut short or foreign")
    length = _header_bytes(content)
    if length > min(MAX_HEADER_BYTES, len(content) - 8):
        raise UnsafeFile(
            f"'{name}' is not a whole safetensors file: its header claims {length} bytes, the file has {len(content)}"
        )
    header = parse_json(content[8 : 8 + length], name)
    if not isinstance(header, dict):
        raise UnsafeFile(f"'{name}': the header is a JSON {type(header).__name__}, expected an object")
    return header


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


__all__ = ["DTYPES", "TensorInfo", "parse_notes", "parse_tensors", "tensor_bytes", "tensor_header"]
