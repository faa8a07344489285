# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What is told of an error."""


def first_line(error: Exception) -> str:
    """The first line of an error's message, or its kind if it has none: compilers tell long stories."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


__all__ = ["first_line"]
