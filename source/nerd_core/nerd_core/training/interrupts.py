# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Requests to end a training, held back until an update is whole."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from types import FrameType
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM)
"""Ctrl-C, and what batch systems and ``kill`` send."""

MESSAGE = b"\nending after this update and saving; once more to end at once, without saving\n"


class Interrupts:
    """Notes the first ctrl-C or SIGTERM. The second one does what it did before."""

    requested: bool = False
    """Whether someone asked to end."""

    def __init__(self):
        """Changes nothing yet."""
        self._before: dict[int, Any] = {}

    def hold_back(self) -> None:
        """Notes a request from now on instead of obeying it. Only the main thread gets signals."""
        if threading.current_thread() is not threading.main_thread():
            return
        for number in SIGNALS:
            # A signal that is ignored (nohup, a job in the background) stays so; None is a handler not of Python.
            if signal.getsignal(number) not in (signal.SIG_IGN, None):
                self._before[number] = signal.signal(number, self._note)

    def give_back(self) -> None:
        """Lets signals do what they did before."""
        while self._before:
            signal.signal(*self._before.popitem())

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.requested = True
        self.give_back()
        with contextlib.suppress(OSError):
            os.write(2, MESSAGE)  # print may be just at work in what was interrupted


__all__ = ["Interrupts"]
