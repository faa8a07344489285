# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Saving and loading a tree of tensors and plain values, without pickle.

What a training run needs to go on (moments of the optimiser, averages, generator states, counters) is a nested
structure. It is kept as a directory of two files: ``state.json`` holds the structure and ``tensors.safetensors`` the
tensors. Loading runs nothing, checks digests, and gives the same tree back to the last bit.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import torch

from .atomic import previous, replace_directory
from .safe_files import MAX_JSON_BYTES, MAX_JSON_DEPTH, UnsafeFile, digest, json_bytes, parse_json, read_bytes
from .safe_tensors import DTYPES, MAX_TENSOR_BYTES, parse_tensors, tensor_bytes

SCHEMA = "nerd.state/1"
"""Name and version of the format."""

JSON_FILE = "state.json"
TENSOR_FILE = "tensors.safetensors"

_TENSOR, _FLOAT = "$tensor", "$float"  # keys of the objects that stand for what JSON does not have
_FLOATS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}

Tree = Any
"""Nested dicts (string keys) and lists with leaves of tensor, None, bool, int, float or str."""


class StateError(ValueError):
    """A saved state that is damaged or foreign, or a tree that cannot be saved."""


def save_state(path: str | Path, tree: Tree) -> None:
    """Writes a tree to a directory, whole or not at all; an older state there is kept until the new one is whole.

    Args:
        path: Directory to write.
        tree: Nested dicts (string keys), lists and tuples of tensors (any device, shape and common element type),
            None, bool, int, float (NaN and infinities too) and str. Tuples come back as lists, tensors on the CPU.
    """
    with replace_directory(path) as folder:
        for name, content in state_files(tree).items():
            (folder / name).write_bytes(content)


def load_state(path: str | Path) -> Tree:
    """Reads the tree that :func:`save_state` wrote. Raises :class:`StateError` if anything about it is not sound."""
    path = Path(path)
    if not path.exists() and previous(path).is_dir():
        path = previous(path)
    try:
        document = parse_json(read_bytes(path / JSON_FILE, MAX_JSON_BYTES), JSON_FILE)
        _check_document(document)
        content = read_bytes(path / TENSOR_FILE, MAX_TENSOR_BYTES)
        if digest(content) != document["tensors_sha256"]:
            raise UnsafeFile(f"'{TENSOR_FILE}' is damaged: it does not have the digest that '{JSON_FILE}' gives")
        tensors = parse_tensors(content, TENSOR_FILE)
        return _decode(document["tree"], tensors)
    except UnsafeFile as error:
        raise StateError(f"the state '{path}' cannot be loaded: {error}") from None


def state_files(tree: Tree) -> dict[str, bytes]:
    """Names and contents of the two files of a saved state."""
    tensors: dict[str, torch.Tensor] = {}
    plain = _encode(tree, "", tensors, 0)
    content = tensor_bytes(tensors)
    document = {"schema": SCHEMA, "tree_sha256": _tree_digest(plain), "tensors_sha256": digest(content), "tree": plain}
    try:
        return {JSON_FILE: json_bytes(document), TENSOR_FILE: content}
    except ValueError as error:
        raise StateError(f"the state cannot be saved: {error}; keep long lists of numbers as tensors") from None


def _check_document(document: Any) -> None:
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        got = document.get("schema") if isinstance(document, dict) else type(document).__name__
        raise UnsafeFile(f"'{JSON_FILE}' has schema {str(got)[:60]!r}, this version reads {SCHEMA!r}")
    if set(document) != {"schema", "tree_sha256", "tensors_sha256", "tree"}:
        raise UnsafeFile(
            f"'{JSON_FILE}' has the keys {sorted(document)[:8]}, expected tree, tree_sha256, tensors_sha256"
        )
    if _tree_digest(document["tree"]) != document["tree_sha256"]:
        raise UnsafeFile(f"'{JSON_FILE}' is damaged: its tree does not have the digest that it gives")


def _tree_digest(plain: Any) -> str:
    return digest(json.dumps(plain, separators=(",", ":")).encode())


def _encode(value: Any, path: str, tensors: dict[str, torch.Tensor], depth: int) -> Any:
    """The JSON form of a tree; its tensors are put into ``tensors`` under the path that leads to them."""
    if depth > MAX_JSON_DEPTH - 4:
        raise StateError(f"'{path[:80]}...': the tree is nested too deeply")
    if isinstance(value, torch.Tensor):
        if value.dtype not in DTYPES.values() or value.layout != torch.strided:
            raise StateError(f"'{path}': got a {value.layout} tensor of {value.dtype}, expected a dense common type")
        name = path or "tensor"
        while name in tensors:  # 'a/b' may be one key or two
            name += "'"
        tensors[name] = value
        return {_TENSOR: name}
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str) or key in (_TENSOR, _FLOAT):
                raise StateError(f"'{path}': got the key {key!r}, expected a string other than {_TENSOR} and {_FLOAT}")
        return {key: _encode(item, f"{path}/{key}" if path else key, tensors, depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_encode(item, f"{path}/{i}", tensors, depth + 1) for i, item in enumerate(value)]
    if isinstance(value, float) and not math.isfinite(value):
        return {_FLOAT: "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise StateError(
        f"'{path}': a {type(value).__name__} cannot be saved, expected tensors, numbers, strings, containers"
    )


def _decode(value: Any, tensors: dict[str, torch.Tensor]) -> Any:
    if isinstance(value, list):
        return [_decode(item, tensors) for item in value]
    if not isinstance(value, dict):
        return value
    if set(value) == {_TENSOR}:
        name = value[_TENSOR]
        if not isinstance(name, str) or name not in tensors:
            raise UnsafeFile(f"'{JSON_FILE}' names the tensor {str(name)[:80]!r}, which '{TENSOR_FILE}' does not hold")
        return tensors[name]
    if set(value) == {_FLOAT}:
        if value[_FLOAT] not in ("nan", "inf", "-inf"):
            raise UnsafeFile(f"'{JSON_FILE}' has the number {str(value[_FLOAT])[:40]!r}, expected nan, inf or -inf")
        return _FLOATS[value[_FLOAT]]
    return {key: _decode(item, tensors) for key, item in value.items()}


__all__ = ["StateError", "Tree", "load_state", "save_state", "state_files"]
