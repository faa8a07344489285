# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Ends a program of Isaac Lab with the message of a refusal alone.

What is wrong with a model or a task shows when the environment is made, inside ``isaaclab train`` and the others, which
print every exception with its traceback, twice. A refusal of this project says what to do; the path through other
people's code to it says nothing. ``NERD_DEBUG=1`` shows it all the same.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

from .no_cuda import is_isaaclab_command

EXPLAINED = (ValueError, OSError)
"""Exceptions whose message is the answer, where this project raises them."""

_OURS = ("nerd_core", "nerd_isaaclab")


_programs: list[str] = []
"""The programs of Isaac Lab that this process runs; it rewrites its arguments, so they are noted at the start."""


def note_program(argv: list[str]) -> None:
    """Notes a program of Isaac Lab.

    Args:
        argv: ``sys.argv``; anything but ``isaaclab PROGRAM ...`` is passed over.
    """
    if is_isaaclab_command(argv):
        _programs.append(argv[1])


@contextmanager
def plain_refusals() -> Iterator[None]:
    """While this is open in a program of Isaac Lab, a refusal of ours ends the process with its message.

    Elsewhere, in a script or a test, the exception is raised as it is.
    """
    try:
        yield
    except EXPLAINED as error:
        is_asked_for = os.environ.get("NERD_DEBUG", "0") not in ("", "0")
        if is_asked_for or not _programs or not _is_ours(error.__traceback__):
            raise
        raise SystemExit(f"nerd: {error}") from None


def _is_ours(trace: TracebackType | None) -> bool:
    """Whether the innermost function is one of this project."""
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and trace.tb_frame.f_globals.get("__name__", "").partition(".")[0] in _OURS
