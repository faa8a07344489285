# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Let no ctrl-C get lost.

The defect: Python answers ctrl-C between any two steps of Python code. Where these belong to a callback from C or to a
finaliser, as when Warp gives the memory of an array back, nobody can catch the ``KeyboardInterrupt``: Python reports it
as ignored, and the program goes on. Stepping a small task makes so many arrays that one ctrl-C in fifteen was lost.

The cure: where Python reports an ignored ``KeyboardInterrupt``, the interrupt comes again a moment later, until it
meets code that can answer it.
"""

from __future__ import annotations

import signal
import sys
import threading
from typing import Any

AGAIN_AFTER_S = 0.02
"""When a lost interrupt comes again [s]: long after the callback has returned, and soon for a person."""


def install() -> None:
    """Put the cure in force. Repeated calls change nothing; all other reports go where they went before."""
    report = sys.unraisablehook
    if isinstance(report, _Hook):
        return
    sys.unraisablehook = _Hook(report)


class _Hook:
    """Takes lost interrupts and hands everything else on."""

    def __init__(self, report: Any) -> None:
        self._report = report

    def __call__(self, unraisable: Any, /) -> None:
        """Called by Python with an exception that nobody can catch."""
        if not issubclass(unraisable.exc_type, KeyboardInterrupt):
            self._report(unraisable)
            return
        # A real signal: it also ends a wait of the main thread, which a mere note in the interpreter would not.
        again = (threading.main_thread().ident, signal.SIGINT)
        timer = threading.Timer(AGAIN_AFTER_S, signal.pthread_kill, again)
        timer.daemon = True
        timer.start()
