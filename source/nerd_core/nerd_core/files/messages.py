# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What is told of an error."""

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


__all__ = ["CACHE_ADVICE", "explain", "first_line"]
