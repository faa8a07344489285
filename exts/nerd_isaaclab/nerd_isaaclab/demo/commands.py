# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Runs the project's own commands, each in a process of its own: an engine starts only once in a process."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tqdm import tqdm

from ..models import shipped_models
from .phases import PhaseError

ENGINE_THREADS = 1
"""OpenMP threads of a process that steps PhysX: more would fight with PhysX's own workers for the cores."""

PATIENCE_S = 60.0
"""How long an interrupted command may take to save what it has [s]."""

INTERRUPTED = 130
"""Exit code of a command that was ended with ctrl-C."""


def network_threads() -> int:
    """Threads for the network: all cores, unless ``OMP_NUM_THREADS`` says otherwise, as other work may run here too."""
    wish = os.environ.get("OMP_NUM_THREADS", "")
    if wish.isdecimal() and int(wish) > 0:
        return int(wish)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass
class Commands:
    """Runs commands for the phases of one run, and remembers them."""

    out: Path
    """Folder of the run. Its absolute path is left out of what is remembered."""
    lock: int | None = None
    """Descriptor that the commands inherit, so that the folder counts as in use while one of them is alive."""
    said: list[str] = field(default_factory=list)
    """The commands so far, as a person would type them."""

    def nerd(self, *words: object, threads: int, log: Path | None = None, cwd: Path | None = None) -> None:
        """Runs ``nerd`` with some words.

        Args:
            words: What stands behind ``nerd``.
            threads: OpenMP threads.
            log: File for the output; left out, the command talks to the terminal itself.
            cwd: Folder to run in.

        Raises:
            PhaseError: The command failed.
        """
        texts = [str(word) for word in words]
        said = self.spoken(texts)
        self.said.append(said)
        with contextlib.ExitStack() as stack:
            stream = None if log is None else stack.enter_context(open(log, "w", encoding="utf-8"))
            process = subprocess.Popen(
                [sys.executable, "-m", "nerd_core", *texts],
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=stream,
                cwd=cwd,
                env={**os.environ, "OMP_NUM_THREADS": str(threads), "PYTHONUNBUFFERED": "1"},
                pass_fds=() if self.lock is None else (self.lock,),
                start_new_session=True,  # ctrl-C is ours to pass on, once
            )
            code = _wait(process, log, texts)
        if code == INTERRUPTED:
            raise KeyboardInterrupt
        if code:
            raise PhaseError(f"'{said}' ended with code {code}" + ("" if log is None else f":\n{_tail(log)}"))

    def spoken(self, words: list[str]) -> str:
        """A command as a person would type it: shipped models by name, paths relative where they are below here."""
        here = f"{Path.cwd()}{os.sep}"
        texts = [word.replace(str(self.out.absolute()), str(self.out)) for word in words]
        for name, path in shipped_models().items():
            texts = [f"{word.removesuffix(str(path))}{name}" if word.endswith(str(path)) else word for word in texts]
        texts = [word.replace(here, "") for word in texts]
        return "nerd " + shlex.join(texts)


def _wait(process: subprocess.Popen, log: Path | None, words: list[str]) -> int:
    """Waits for a command; ctrl-C and a termination are passed on, and the command may save what it has."""
    try:
        with _termination_is_interrupt():
            if log is not None and words[:2] == ["rl", "train"]:
                _watch_training(process, log)
            return process.wait()
    except KeyboardInterrupt:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        try:
            process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        raise


def _watch_training(process: subprocess.Popen, log: Path) -> None:
    """Shows how far RSL-RL is, from what it writes to its log."""
    seen = 0
    with tqdm(unit="iteration", desc="rl", disable=None) as bar:
        while True:
            ended = process.poll() is not None
            text = log.read_bytes()[seen:]
            end = text.rfind(b"\n") + 1
            seen += end
            for line in text[:end].decode(errors="replace").splitlines():
                if match := re.search(r"Learning iteration (\d+)/(\d+)", line):
                    bar.total = int(match[2])
                    bar.update(int(match[1]) + 1 - bar.n)
                elif match := re.search(r"Mean reward: +(\S+)", line):
                    bar.set_postfix_str(f"reward {match[1]}")
            if ended:
                return
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(0.3)


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
