# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What is told of an error, and of words that somebody else has written."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

CACHE_ADVICE = "caches cannot be written there: set XDG_CACHE_HOME to a folder that can"
"""What to do where the home of the user cannot be written. Our robots and the kernels of Warp then go there."""

REFUSED = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR)
"""What the system answers where nothing can be written."""


def explain(error: BaseException) -> str:
    """An error's message, or its kind if it has none, and what to do if a folder for caches cannot be written."""
    said = str(error).strip() or type(error).__name__
    return f"{said} ({CACHE_ADVICE})" if _is_about_caches(error) else said


def first_line(error: Exception) -> str:
    """The first line of :func:`explain`: compilers tell long stories."""
    return explain(error).splitlines()[0]


def printable(text: str) -> str:
    r"""A text of unknown origin as it may be printed: what could steer a terminal is shown as Python writes it.

    Names, commands and facts of a file may hold control characters, which move the cursor, hide what follows or turn
    the direction of writing; they become for instance ``\x1b``. Letters of all languages, line ends and tabulators
    stay.

    Args:
        text: The text.
    """
    if text.isprintable():
        return text
    return "".join(it if it.isprintable() or it in "\n\t" else _escaped(it) for it in text)


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


def _escaped(letter: str) -> str:
    return letter.encode("unicode_escape", "surrogatepass").decode()


def _is_about_caches(error: BaseException) -> bool:
    """Whether an error says that the folder for caches, or one above or in it, cannot be used."""
    if not isinstance(error, OSError) or not isinstance(error.filename, str):
        return False
    path = Path(error.filename).absolute()
    cache = Path(os.path.expanduser(os.environ.get("XDG_CACHE_HOME") or "~/.cache")).absolute()
    is_above = path == cache or path in cache.parents
    if error.errno == errno.ENOENT:  # a home that cannot be made; in the cache, a file that is not there
        return is_above
    return error.errno in REFUSED and (is_above or cache in path.parents)


__all__ = ["CACHE_ADVICE", "explain", "first_line", "printable", "shortened"]
