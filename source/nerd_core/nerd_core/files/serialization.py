# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Frozen dataclasses to plain JSON values and back, strictly.

Reading is strict because the files may come from anywhere: an unknown key, a missing key, a wrong type or a number out
of JSON's range is an error that names the place, what was got and what was expected. Nothing is ever executed.
Infinities, which JSON does not have, are written as the strings ``"inf"`` and ``"-inf"``.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import types
import typing
from typing import Any, Literal, Union, get_args, get_origin

from .kinds import OfKind, UnknownKind
from .messages import shortened

_WORDS = {"inf": math.inf, "-inf": -math.inf}


class StructureError(ValueError):
    """A plain value that does not have the structure of the dataclass it should become."""


def to_plain(value: Any) -> Any:
    """A dataclass (or a tuple, list, dict, number, string) as plain JSON values."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: to_plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, (tuple, list)):
        return [to_plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): to_plain(item) for key, item in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        if math.isnan(value):
            raise StructureError("NaN cannot be stored")
        return "inf" if value > 0 else "-inf"
    if isinstance(value, float):
        return value + 0.0  # minus zero and zero mean the same, and shall hash the same
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        raise StructureError("a whole number of more than 64 bits cannot be stored")
    if value is None or isinstance(value, (bool, int, str)):
        return value
    raise StructureError(f"a {type(value).__name__} cannot be stored")


def from_plain[T](kind: type[T], plain: Any, path: str = "") -> T:
    """Builds ``kind`` (a dataclass, possibly nested) from plain JSON values.

    Args:
        kind: Dataclass to build.
        plain: What :func:`to_plain` gave.
        path: Where ``plain`` stands in the whole document, for messages.
    """
    return _build(kind, plain, path)


def _build(kind: Any, plain: Any, path: str) -> Any:
    where = path or "the document"
    origin = get_origin(kind)
    if dataclasses.is_dataclass(kind):
        return _build_dataclass(kind, plain, path)
    if origin is Literal:
        if plain not in get_args(kind) or isinstance(plain, bool):
            raise StructureError(f"{where}: got {shortened(plain)}, expected one of {list(get_args(kind))}")
        return plain
    if origin in (Union, types.UnionType):
        return _build_union(get_args(kind), plain, path)
    if origin is tuple:
        return _build_tuple(get_args(kind), plain, path)
    if origin is dict:
        if not isinstance(plain, dict):
            raise StructureError(f"{where}: got {_name(plain)}, expected an object")
        return {key: _build(get_args(kind)[1], item, f"{path}.{key[:60]}") for key, item in plain.items()}
    if kind is float:
        if isinstance(plain, str) and plain in _WORDS:
            return _WORDS[plain]
        if isinstance(plain, bool) or not isinstance(plain, (int, float)) or not _finite(plain):
            raise StructureError(f"{where}: got {_name(plain)}, expected a number")
        return float(plain)
    if kind is int:
        if isinstance(plain, bool) or not isinstance(plain, int):
            raise StructureError(f"{where}: got {_name(plain)}, expected a whole number")
        if not -(2**63) <= plain < 2**64:
            raise StructureError(f"{where}: got {_name(plain)}, expected a whole number of 64 bits")
        return plain
    if kind in (str, bool):
        if not isinstance(plain, kind):
            raise StructureError(f"{where}: got {_name(plain)}, expected a {kind.__name__}")
        return plain
    if kind is Any:
        return plain
    raise TypeError(f"{where}: fields of type {kind} cannot be read")


def _build_dataclass(kind: Any, plain: Any, path: str) -> Any:
    where = path or "the document"
    if not isinstance(plain, dict):
        raise StructureError(f"{where}: got {_name(plain)}, expected an object for {kind.__name__}")
    if issubclass(kind, OfKind):
        kind = _of_kind(kind, plain, where)
    fields = {field.name: field for field in dataclasses.fields(kind)}
    unknown = sorted(set(plain) - set(fields))
    if unknown:
        raise StructureError(
            f"{where}: got the unknown keys {shortened(unknown, 200)}, expected some of {sorted(fields)}"
        )
    missing = [
        name
        for name, field in fields.items()
        if name not in plain and field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    ]
    if missing:
        raise StructureError(f"{where}: the keys {missing} are missing")
    hints = _hints(kind)
    values = {name: _build(hints[name], item, f"{path}.{name}" if path else name) for name, item in plain.items()}
    try:
        return kind(**values)
    except StructureError:
        raise
    except ValueError as error:
        raise StructureError(str(error)) from None


def _of_kind(kind: type[OfKind], plain: dict[str, Any], where: str) -> type[OfKind]:
    """The class of settings that the value names, which must be the expected one or of its family."""
    try:
        found = kind.kinds.settings(plain.get("kind"))
    except UnknownKind as error:
        raise StructureError(f"{where}: {error}") from None
    if not issubclass(found, kind):
        raise StructureError(f"{where}: got the kind {shortened(plain['kind'])}, expected settings for {kind.__name__}")
    return found


@functools.cache
def _hints(kind: Any) -> dict[str, Any]:
    """Types of the fields of a dataclass. Evaluating them takes far longer than building one."""
    return typing.get_type_hints(kind)


def _build_union(members: tuple[Any, ...], plain: Any, path: str) -> Any:
    if plain is None and type(None) in members:
        return None
    errors = []
    for member in members:
        if member is type(None):
            continue
        try:
            return _build(member, plain, path)
        except StructureError as error:
            errors.append(str(error))
    raise StructureError(" / ".join(errors) or f"{path}: got {_name(plain)}")


def _build_tuple(members: tuple[Any, ...], plain: Any, path: str) -> tuple:
    where = path or "the document"
    if not isinstance(plain, list):
        raise StructureError(f"{where}: got {_name(plain)}, expected a list")
    if len(members) == 2 and members[1] is Ellipsis:
        return tuple(_build(members[0], item, f"{path}[{i}]") for i, item in enumerate(plain))
    if len(plain) != len(members):
        raise StructureError(f"{where}: got {len(plain)} items, expected {len(members)}")
    return tuple(
        _build(member, item, f"{path}[{i}]") for i, (member, item) in enumerate(zip(members, plain, strict=True))
    )


def _finite(number: int | float) -> bool:
    try:
        return math.isfinite(number)
    except OverflowError:
        return False


def _name(value: Any) -> str:
    return f"{type(value).__name__} {shortened(value)}"
