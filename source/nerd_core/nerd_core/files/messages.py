# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What is told of an error, and of names that anybody may have written."""


def first_line(error: Exception) -> str:
    """The first line of an error's message, or its kind if it has none: compilers tell long stories."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


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


__all__ = ["first_line", "printable"]
