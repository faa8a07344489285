# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Where commands print. Every word passes here, so that what stands in somebody else's file cannot steer a terminal.

Example::

    say(f"{spec.name}: {count} numbers")
    table = Table()
    table.add_row(spec.name)
    console().print(table)
"""

from __future__ import annotations

import sys
from typing import Any, override

from rich.console import Console
from rich.text import Text

from ..files.messages import printable

WIDTH = 160
"""Width of tables where no person looks: a file or another program reads."""


def say(text: str, error: bool = False) -> None:
    """Prints a text, without what could steer the terminal.

    Args:
        text: What to say.
        error: Whether it goes to standard error.
    """
    print(printable(text), file=sys.stderr if error else sys.stdout)


def console(error: bool = False, **settings: Any) -> Console:
    """Where tables and words in colour are printed, without what could steer the terminal.

    Args:
        error: Whether they go to standard error.
        settings: Further settings of :class:`rich.console.Console`.
    """
    made = _Printable(stderr=error, **settings)
    return made if made.is_terminal else _Printable(stderr=error, **{"width": WIDTH, **settings})


class _Printable(Console):
    """A console all of whose strings are printable. Its own colours come after them."""

    @override
    def render_str(self, text: str, **settings: Any) -> Text:
        """Makes a text of a string, as rich does for every string that it prints or puts into a table."""
        return super().render_str(printable(text), **settings)


__all__ = ["console", "say"]
