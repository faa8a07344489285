# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What is told of an error, and of names that anybody may have written."""

import errno
import os
from pathlib import Path

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


def _is_about_caches(error: BaseException) -> bool:
    """Whether an error says that the folder for caches, or one above or in it, cannot be used."""
    if not isinstance(error, OSError) or error.errno not in REFUSED or not isinstance(error.filename, str):
        return False
    path = Path(error.filename).absolute()
    cache = Path(os.path.expanduser(os.environ.get("XDG_CACHE_HOME") or "~/.cache")).absolute()
    return path == cache or path in cache.parents or cache in path.parents


def printable(text: str, most: int = 500) -> str:
    r"""Text from a file that anybody may have written, harmless on a terminal and of bounded length.

    What is not printable (escape sequences, line breaks, marks that turn the direction of writing, halves of
    characters) is shown as Python writes it, for instance ``\x1b``.

    Args:
        text: The text.
        most: Number of its characters to show; of the others only the number is told.
    """
    shown = (
        char if char.isprintable() else char.encode("unicode_escape", "surrogatepass").decode() for char in text[:most]
    )
    return "".join(shown) + (f"... and {len(text) - most} more characters" if len(text) > most else "")


__all__ = ["CACHE_ADVICE", "explain", "first_line", "printable"]
