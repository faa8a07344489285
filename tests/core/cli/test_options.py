# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Options of commands: read into dataclasses, with their ranges in the help."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from nerd_core.cli.options import read_options
from nerd_core.files.bounds import bounded, check_bounds


@dataclass(frozen=True)
class Inner:
    """A group of options."""

    rate: float = bounded(0.5, above=0.0, at_most=1.0)
    """How fast."""

    def __post_init__(self):
        check_bounds(self)


@dataclass(frozen=True)
class Outer:
    """Options with a group."""

    count: int = bounded(3, at_least=1)
    """How many."""
    name: str = "x"
    """Of what."""
    inner: Inner = field(default_factory=Inner)
    """More."""

    def __post_init__(self):
        check_bounds(self)


def test_the_help_shows_the_range_of_each_number(capsys):
    """Behind what a field is stands its range, in groups too; other fields have none."""
    with pytest.raises(SystemExit) as ended:
        read_options(Outer, ["--help"], "program", "``Program``.")
    shown = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert ended.value.code == 0
    assert "How many. Range: at least 1. (default: 3)" in shown
    assert "How fast. Range: more than 0 and at most 1. (default: 0.5)" in shown
    assert "Of what. (default: x)" in shown and shown.count("Range:") == 2


def test_words_are_read_as_before(capsys):
    """Defaults, options, and defaults that the caller brings."""
    assert read_options(Outer, [], "program", None) == Outer()
    assert read_options(Outer, ["--inner.rate", "1"], "program", None, Outer(7)) == Outer(7, inner=Inner(1.0))


def test_a_number_out_of_its_range_ends_with_code_2(capsys):
    """The message names the group and the setting, what was got and what was expected."""
    with pytest.raises(SystemExit) as ended:
        read_options(Outer, ["--inner.rate", "nan"], "program", None)
    assert ended.value.code == 2
    assert "got rate=nan, expected a finite number, more than 0 and at most 1" in " ".join(
        capsys.readouterr().err.split()
    )
