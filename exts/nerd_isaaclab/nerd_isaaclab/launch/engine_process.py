# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Processes with a physics engine of their own.

PhysX starts only once in a process. So functions that need an engine hand their work to a child process, and can be
called any number of times. The child reads its order as a JSON object from standard input and writes JSON lines to
standard output: ``{"progress": ...}`` any number of times, at the end ``{"result": ...}`` or ``{"error": "..."}``.
All else that the engine and Isaac Lab print goes to a log.
"""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from nerd_core.files.messages import explain

STOP_SECONDS = 20.0
"""Time that a process is given to end by itself [s]."""

LOG_LINES = 20
"""Lines of a log that are shown when a process failed without a message."""

Report = Callable[[Any], None]
"""Takes plain values that say how far the work is."""


class EngineProcess:
    """The parent's side: starts the process, listens to it, and ends it."""

    def __init__(
        self,
        module: str,
        order: Any,
        environment: Mapping[str, str] | None = None,
        on_progress: Report | None = None,
    ):
        """Starts the process.

        Args:
            module: Module to run; it ends with ``sys.exit(serve(function))``.
            order: What to do: a dataclass, or plain values. Paths may be among them.
            environment: Environment variables to add.
            on_progress: Called with each report, in a thread of its own.
        """
        self.progress: Any = None
        """What was reported last; None before the first report."""
        self.result: Any = None
        """What the work gave; None before its end."""
        self._on_progress = on_progress
        self._error: str | None = None
        self._tail: list[str] = []
        self._log = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115  (lives with us)
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", module],  # -P: a user's folder may hold a queue.py
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            env={**os.environ, **(environment or {})},
            start_new_session=True,  # ctrl-C is ours to pass on
        )
        assert self._process.stdin is not None
        plain = dataclasses.asdict(order) if dataclasses.is_dataclass(order) and not isinstance(order, type) else order
        self._process.stdin.write(json.dumps(plain, default=os.fspath))
        self._process.stdin.close()
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    @property
    def code(self) -> int | None:
        """Exit code; None while it runs."""
        return self._process.poll()

    def failure(self) -> str:
        """Why the process failed: the message that it sent, or else the end of its log."""
        self.stop()
        if self._error is not None:
            return self._error
        return f"the process of the engine ended with code {self.code}; the end of its log:\n" + "\n".join(self._tail)

    def wait(self, error: type[ValueError]) -> Any:
        """Waits for the end and returns the result.

        Args:
            error: What to raise when the process failed, with its message.
        """
        try:
            code = self._process.wait()
        finally:
            self.stop()
        if code:
            raise error(self.failure())
        return self.result

    def stop(self) -> None:
        """Ends the process if it still runs, waits for its end, and closes its log. May be called again."""
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._listener.join(timeout=5.0)
        if not self._log.closed:
            self._log.seek(0)
            self._tail = list(deque((line.rstrip() for line in self._log), maxlen=LOG_LINES))
            self._log.close()
            assert self._process.stdout is not None
            self._process.stdout.close()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            message = json.loads(line)
            self._error = message.get("error", self._error)
            self.result = message.get("result", self.result)
            if "progress" in message:
                self.progress = message["progress"]
                if self._on_progress is not None:
                    self._on_progress(self.progress)


def serve(work: Callable[[dict[str, Any], Report], Any]) -> int:
    """The child's side: reads the order, does the work, sends the result. Returns the exit code.

    Args:
        work: Called with the order and a function that reports progress; returns plain values. Errors of the kinds
            :class:`ValueError` and :class:`OSError` reach the parent as messages.
    """
    order = json.load(sys.stdin)
    stream = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # the engine writes to the descriptor, not to sys.stdout

    def send(kind: str, value: Any) -> None:
        stream.write(json.dumps({kind: value}) + "\n")

    try:
        send("result", work(order, lambda value: send("progress", value)))
    except (ValueError, OSError) as error:
        send("error", explain(error))
        return 2
    except KeyboardInterrupt:
        return 130
    return 0
