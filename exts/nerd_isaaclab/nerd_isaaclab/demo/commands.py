# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Runs the project's own commands, each in a process of its own: an engine starts only once in a process."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from nerd_core.checkpoint_names import shipped_checkpoints

from ..policies.training import watch_training
from .phases import PhaseError

ENGINE_THREADS = 1
"""OpenMP threads of a process that steps PhysX: more would compete with PhysX's own worker threads for the cores."""

STOP_TIMEOUT_S = 60.0
"""How long an interrupted command may take to save what it has [s]."""

INTERRUPTED = 130
"""Exit code of a command that was ended with ctrl-C."""


def network_threads() -> int:
    """Threads for the network: as many as ``OMP_NUM_THREADS`` says, or as there are cores."""
    wish = os.environ.get("OMP_NUM_THREADS", "")
    if wish.isdecimal() and int(wish) > 0:
        return int(wish)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass
class Commands:
    """Runs commands for the phases of one run."""

    out: Path
    """Folder of the run. Its absolute path is left out of commands that are shown."""
    lock: int | None = None
    """Descriptor that the commands inherit, so that the folder counts as in use while one of them is alive."""

    def nerd(
        self,
        arguments: list[str],
        threads: int,
        log: Path | None = None,
        cwd: Path | None = None,
        accepted: tuple[int, ...] = (),
    ) -> str:
        """Runs ``nerd`` with some arguments.

        Args:
            arguments: What stands behind ``nerd``.
            threads: OpenMP threads.
            log: File for the output; left out, the command talks to the terminal itself.
            cwd: Folder to run in.
            accepted: Exit codes beside zero with which it may end.

        Returns:
            The command as a person would type it.

        Raises:
            PhaseError: The command failed.
        """
        typed = self.as_typed(arguments)
        with contextlib.ExitStack() as stack:
            stream = None if log is None else stack.enter_context(open(log, "w", encoding="utf-8"))
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", "nerd_core", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=stream,
                cwd=cwd,
                env={**os.environ, "OMP_NUM_THREADS": str(threads), "PYTHONUNBUFFERED": "1"},
                pass_fds=() if self.lock is None else (self.lock,),
                start_new_session=True,  # ctrl-C is ours to pass on, once
            )
            code = _wait(process, log, arguments)
        if code == INTERRUPTED:
            raise KeyboardInterrupt
        if code and code not in accepted:
            raise PhaseError(f"'{typed}' ended with code {code}" + ("" if log is None else f":\n{_tail(log)}"))
        return typed

    def as_typed(self, arguments: list[str]) -> str:
        """A command as a person would type it: shipped models by name, paths below the current folder relative."""
        here = f"{Path.cwd()}{os.sep}"
        texts = [word.replace(str(self.out.absolute()), str(self.out)) for word in arguments]
        for name, path in shipped_checkpoints().items():
            texts = [f"{word.removesuffix(str(path))}{name}" if word.endswith(str(path)) else word for word in texts]
        texts = [word.replace(here, "") for word in texts]
        return "nerd " + shlex.join(texts)


def _wait(process: subprocess.Popen, log: Path | None, arguments: list[str]) -> int:
    """Waits for a command; ctrl-C and a termination are passed on, and the command may save what it has."""
    try:
        with _termination_is_interrupt():
            if log is not None and arguments[:2] == ["rl", "train"]:
                watch_training(process, log)
            return process.wait()
    except KeyboardInterrupt:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        try:
            process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        raise


@contextlib.contextmanager
def _termination_is_interrupt() -> Iterator[None]:
    """While this is open, a request to terminate is treated as ctrl-C."""

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    try:
        before = signal.signal(signal.SIGTERM, interrupt)
    except ValueError:  # not in the main thread, where no signal arrives anyway
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _tail(path: Path, lines: int = 15) -> str:
    """The last lines of a log."""
    return "\n".join(path.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:])
