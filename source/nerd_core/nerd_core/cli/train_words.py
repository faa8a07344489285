# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Options and values of ``nerd train`` as earlier versions named them."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from ..training.migration import RENAMED, RENAMED_VALUES

OLD_GROUPS = {"--model.": "--network.", "--solver.": "--prior."}
"""Beginnings of options of earlier versions, and of today."""

OLD_OPTIONS = {
    "--prior.soft": "--prior.compliance",
    "--prior.scales": "--prior.feature-scales",
    "--token.falling": "--prior=free_fall",
    "--token.no-falling": "--prior=none",
    **{f"--{old.replace('_', '-')}": f"--{new.replace('_', '-')}" for old, new in RENAMED.items()},
}
"""Options of earlier versions, and of today; the groups are those of today."""

OLD_VALUES = {**RENAMED_VALUES, "preset": {"rules": "mechanics"}}
"""Values of options, of earlier versions and of today."""


def todays_words(argv: Sequence[str]) -> list[str]:
    """A command line with options and values of earlier versions under their names of today; a note names each.

    Args:
        argv: Words after ``nerd train``.
    """
    words: list[str] = []
    values: dict[str, str] = {}
    for word in argv:
        option, equals, value = word.partition("=")
        new = option
        if option.startswith("--"):
            new = option.replace("_", "-")
            group = next((group for group in OLD_GROUPS if new.startswith(group)), "")
            new = OLD_GROUPS.get(group, "") + new.removeprefix(group)
            new = OLD_OPTIONS.get(new, new)
            if new != option.replace("_", "-"):
                print(f"note: {option} is now {new}", file=sys.stderr)
            values = OLD_VALUES.get(new.removeprefix("--").replace("-", "_"), {})
        elif option in values:
            new = values[option]
            print(f"note: {words[-1]} {option} is now {words[-1]} {new}", file=sys.stderr)
        words.append(new + equals + values.get(value, value))
        if not option.startswith("--") or equals:
            values = {}
    return words


__all__ = ["todays_words"]
