# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Test files in processes that are forked from one which has imported what most of them import.

To import Isaac Lab and PyTorch takes several seconds, a third of what the files of the engine take. Forked before any
of them has started an engine, each file still has a process, and an engine, of its own. Leaving, such a process does
not tear down what it has imported: whether that ends well is seen where programs run in processes of their own, and
where each file starts from nothing (``--slow``, or few files).
"""

from __future__ import annotations

import contextlib
import importlib.util
import multiprocessing
import multiprocessing.connection
import os
import resource
import sys
import threading
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path

_CONTEXT = multiprocessing.get_context("forkserver")
_LOCK = threading.Lock()
"""Held where exit codes are read: to start a process reads those of all others, and each can be read once."""


def can_fork() -> bool:
    """Whether what is imported survives a fork: CUDA, once it was asked for devices, does not."""
    return not any(Path(device).exists() for device in ("/dev/nvidiactl", "/dev/dxg"))


def import_once(modules: Sequence[str]) -> None:
    """Says what the process imports that all others are forked from. It starts with the first of them.

    Args:
        modules: Names of modules; those that are not installed are left out.
    """
    _CONTEXT.set_forkserver_preload([name for name in modules if importlib.util.find_spec(name.partition(".")[0])])


class ForkedPytest:
    """Runs pytest in such a process. Has what is used of :class:`subprocess.Popen`."""

    pid: int
    """Number of the process, which leads a group of its own."""
    processor_seconds: float = 0.0
    """What it took of the processor, once it has ended."""

    def __init__(self, arguments: Sequence[str], log: Path, root: Path):
        """Starts it.

        Args:
            arguments: Arguments of pytest.
            log: File for all that it writes.
            root: Folder to run in.
        """
        self._told, telling = _CONTEXT.Pipe(duplex=False)
        self._process = _CONTEXT.Process(target=_run_pytest, args=(list(arguments), str(log), str(root), telling))
        with _LOCK:
            self._process.start()
        telling.close()
        assert self._process.pid is not None
        self.pid = self._process.pid

    def wait(self) -> int:
        """Waits for its end and returns its exit code, negative for a signal."""
        multiprocessing.connection.wait([self._process.sentinel])
        with _LOCK:
            self._process.join()
        assert self._process.exitcode is not None
        with contextlib.suppress(EOFError):  # it was ended
            self.processor_seconds = self._told.recv()
        self._told.close()
        return self._process.exitcode

    def kill(self) -> None:
        """Ends it, if it does not lead a group yet, which is ended otherwise."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, 9)


def _run_pytest(arguments: list[str], log: str, root: str, telling: Connection) -> None:
    """In the new process: runs pytest as ``python -m pytest`` does."""
    import pytest

    os.setsid()
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    for stream in (1, 2):
        os.dup2(file, stream)
    os.chdir(root)
    sys.path[0] = root
    sys.argv = ["pytest", *arguments]
    before = _processor_seconds()
    code = int(pytest.main(arguments))
    telling.send(_processor_seconds() - before)
    sys.exit(code)


def _processor_seconds() -> float:
    """What this process and those that it has waited for took of the processor."""
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


__all__ = ["ForkedPytest", "can_fork", "import_once"]
