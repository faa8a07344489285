# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What is told of an error, and of words that somebody else has written."""

from __future__ import annotations

from typing import Any


def first_line(error: Exception) -> str:
    """The first line of an error's message, or its kind if it has none: compilers tell long stories."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def printable(text: str) -> str:
    """A text of unknown origin as it may be printed: what could steer a terminal is written as an escape.

    Names, commands and facts of a file may hold control characters, which move the cursor, hide what follows or change
    its direction. Letters of all languages, line ends and tabulators stay.

    Args:
        text: The text.
    """
    if text.isprintable():
        return text
    kept = (it if it.isprintable() or it in "\n\t" else it.encode("unicode_escape").decode() for it in text)
    return "".join(kept)


def shortened(value: Any, limit: int = 60) -> str:
    """A plain value as Python writes it, cut to a length, for messages.

    Args:
        value: A plain value, of any size.
        limit: Largest length [characters].
    """
    try:
        text = repr(value)
    except ValueError:  # Python writes no whole numbers of thousands of digits
        text = f"a {type(value).__name__} that is too long to show"
    return text if len(text) <= limit else text[: limit - 3] + "..."


__all__ = ["first_line", "printable", "shortened"]
