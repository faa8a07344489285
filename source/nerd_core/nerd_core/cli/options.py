# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Options of a command, read into a dataclass by tyro; the help shows the range of each number.

Example::

    command = read_options(Train, argv, "nerd train", __doc__)
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Sequence
from typing import Any

import tyro
from tyro.constructors import (
    ConstructorRegistry,
    PrimitiveConstructorSpec,
    PrimitiveTypeInfo,
    StructConstructorSpec,
    StructFieldSpec,
    StructTypeInfo,
)

from ..files.bounds import bounds_of, range_in_words
from ..files.messages import printable
from ..mechanics.augmentation.blueprints import Blueprint
from . import help_text


def read_options(kind: Any, argv: Sequence[str], prog: str, description: str | None, default: Any = None) -> Any:
    """Reads the words of a command. What cannot be read ends the process with code 2 and a message.

    Args:
        kind: Dataclass of the options, or a union of those of subcommands.
        argv: Words after the command.
        prog: The command, as a person types it.
        description: What its help says first, with the marks of reStructuredText.
        default: Options by default, if not those of the dataclass.
    """
    require_words(argv, prog)
    given = {} if default is None else {"default": default}
    registry = ConstructorRegistry()
    registry.struct_rule(_RangesInHelp())
    registry.primitive_rule(_blueprints)
    with registry:
        return tyro.cli(kind, prog=prog, args=list(argv), description=help_text(description), **given)


def require_words(argv: Sequence[str], prog: str) -> None:
    """Ends the process with code 2 where an option has an empty text, as of a variable of the shell that is not set:
    as a path it would be the current folder.

    Args:
        argv: Words after the command.
        prog: The command, as a person types it.
    """
    for option, value in zip(("", *argv), argv, strict=False):
        if value == "" or (value.startswith("--") and value.endswith("=")):
            named = value.removesuffix("=") or option
            print(f"{prog}: got nothing for {printable(named)}, expected a value", file=sys.stderr)
            raise SystemExit(2)


def _blueprints(info: PrimitiveTypeInfo) -> PrimitiveConstructorSpec | None:
    """A rule of tyro: a blueprint is one word, its text."""
    if info.type is not Blueprint:
        return None
    return PrimitiveConstructorSpec(
        nargs=1,
        metavar="OUTPUTS<-INPUTS",
        instance_from_str=lambda words: Blueprint.parse(words[0]),
        is_instance=lambda value: isinstance(value, Blueprint),
        str_from_instance=lambda value: [str(value)],
    )


class _RangesInHelp:
    """A rule of tyro: what its own rules make of a dataclass, with the ranges behind the help of the fields."""

    def __init__(self):
        self._is_asking = False

    def __call__(self, info: StructTypeInfo) -> StructConstructorSpec | None:
        if self._is_asking or not dataclasses.is_dataclass(info.type):
            return None
        self._is_asking = True  # so that this rule leaves the question to tyro's own
        try:
            spec = ConstructorRegistry.get_struct_spec(info)
        finally:
            self._is_asking = False
        if not isinstance(spec, StructConstructorSpec):
            return spec  # type: ignore[return-value]  (a default that does not suit, which tyro reports)
        bounds = {item.name: bounds_of(item) for item in dataclasses.fields(info.type)}
        words = {name: range_in_words(found) for name, found in bounds.items() if found is not None}
        shown = tuple(_with_range(item, words[item.name]) if item.name in words else item for item in spec.fields)
        return dataclasses.replace(spec, fields=shown)


def _with_range(item: StructFieldSpec, words: str) -> StructFieldSpec:
    said: str | Callable[[], str | None] | None = item.helptext

    def text() -> str:
        return f"{(said() if callable(said) else said) or ''} Range: {words}.".strip()

    return dataclasses.replace(item, helptext=text)


__all__ = ["read_options"]
