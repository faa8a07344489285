# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Every dataclass of settings of a package and the numbers in it, for tests that no number goes without a range."""

from __future__ import annotations

import ast
import dataclasses
import importlib
import importlib.util
import math
import types
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nerd_core.files.bounds import bounds_of


def settings_of(package: str, commands: tuple[str, ...], but: tuple[str, ...] = ()) -> list[type]:
    """The dataclasses of settings of a package: all whose names end with Cfg, and the options of its commands.

    Found in the source, so that only modules that hold some are imported.

    Args:
        package: Name of the package.
        commands: Beginnings of the names of its modules that read a command line.
        but: Beginnings of the names of modules to leave out.
    """
    spec = importlib.util.find_spec(package)
    assert spec is not None and spec.origin is not None
    root = Path(spec.origin).parent
    found = []
    for path in sorted(root.rglob("*.py")):
        module = ".".join((package, *path.relative_to(root).with_suffix("").parts)).removesuffix(".__init__")
        if module.startswith(but):
            continue
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and (node.name.endswith("Cfg") or module.startswith(commands)):
                kind = getattr(importlib.import_module(module), node.name)
                if dataclasses.is_dataclass(kind):
                    found.append(kind)
    return found  # type: ignore[return-value]


def numbers_of(kind: type) -> list[dataclasses.Field]:
    """The fields of a dataclass that hold numbers, alone or in tuples and dictionaries."""
    hints = typing.get_type_hints(kind)
    return [item for item in dataclasses.fields(kind) if _holds_numbers(hints[item.name])]


def wrong_values(kind: type) -> Iterator[tuple[str, Any]]:
    """Fields of a dataclass with a value just outside of their range, each as it would be given."""
    for item, put in _shaped(kind):
        bounds = bounds_of(item) or {}
        step = 1 if _is_whole(kind, item) else 1e-9
        outside = {"at_least": -step, "at_most": step, "above": 0, "below": 0}
        yield from ((item.name, put(bound + outside[name])) for name, bound in bounds.items())
        yield from ((item.name, put(number)) for number in (math.nan, math.inf, -math.inf))


def right_values(kind: type) -> Iterator[tuple[str, Any]]:
    """Fields of a dataclass with the values at the ends of their range, or just within."""
    for item, put in _shaped(kind):
        step = 1 if _is_whole(kind, item) else 1e-9
        inside = {"at_least": 0, "at_most": 0, "above": step, "below": -step}
        yield from ((item.name, put(bound + inside[name])) for name, bound in (bounds_of(item) or {}).items())


def make(kind: type, **values: Any) -> Any:
    """Settings with some values, and with words where something has no default."""
    needed = [item for item in dataclasses.fields(kind) if item.default is item.default_factory is dataclasses.MISSING]
    hints = typing.get_type_hints(kind)
    words = {item.name: _nested(hints[item.name]) for item in needed if item.init}
    return kind(**words | values)


def _nested(hint: Any) -> Any:
    hint = typing.get_args(hint)[0] if typing.get_origin(hint) is typing.Annotated else hint
    return make(hint) if dataclasses.is_dataclass(hint) and isinstance(hint, type) else "x"


def _shaped(kind: type) -> Iterator[tuple[dataclasses.Field, Any]]:
    """The number fields with a function that puts a number into the shape of the field."""
    hints = typing.get_type_hints(kind)
    for item in numbers_of(kind):
        yield item, lambda number, hint=hints[item.name]: _put(hint, number)


def _put(hint: Any, number: float) -> Any:
    origin, members = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        return _put(members[0], number)
    if origin is dict:
        return {"x": _put(members[1], number)}
    if origin is tuple:
        return (_put(members[0], number),) * (1 if members[-1] is Ellipsis else len(members))
    return number


def _holds_numbers(hint: Any) -> bool:
    if hint in (int, float):
        return True
    nested = (typing.Union, types.UnionType, typing.Annotated, tuple, dict)
    return typing.get_origin(hint) in nested and any(map(_holds_numbers, typing.get_args(hint)))


def _is_whole(kind: type, item: dataclasses.Field) -> bool:
    return "float" not in str(typing.get_type_hints(kind)[item.name])
