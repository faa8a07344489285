# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Runs phases in order. The result of each is kept, so that an interrupted run goes on where it stopped."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from nerd_core.files.atomic import write_text
from nerd_core.files.messages import first_line
from nerd_core.files.safe_files import UnsafeFile, read_bytes

RESULT = "result.json"
"""File in a phase's folder that is written last: the phase is done when it is there."""

KEY = "key"
"""File in a phase's folder that says which settings its content belongs to."""


MAX_KEY_BYTES = 4096
"""Largest file with a key or a time [bytes]."""

MAX_RESULT_BYTES = 256 * 2**20
"""Largest result of a phase [bytes]."""

MAX_SECONDS = 1.0e9
"""Longest time of a phase [s]."""


class PhaseError(ValueError):
    """A phase that cannot be run here, or failed."""


@dataclass(frozen=True)
class Phase:
    """One step of a run."""

    name: str
    """Name, and the name of its folder."""
    title: str
    """What is done, in a few words."""
    purpose: str
    """What it is for, one sentence."""
    seconds: float
    """How long it takes on two idle cores, roughly [s]."""
    settings: Any
    """Plain values that the result depends on. When they change, the phase is run again, and all that need it."""
    run: Callable[[Path, Mapping[str, Any]], dict[str, Any]]
    """Does the work in a folder of its own, given the results of the phases before it, and returns plain values. It is
    called again with the same folder after an interruption."""
    needs: tuple[str, ...] = ()
    """Names of the earlier phases whose results or files are used."""


class PhaseRun:
    """Runs phases one after the other, and keeps what they found."""

    def __init__(self, out: Path, console: Console | None = None):
        """Begins or goes on with a run.

        Args:
            out: Folder of the run, where each phase gets a folder.
            console: Where to say what is going on.
        """
        self.out = out
        self.console = console or Console(stderr=True, highlight=False, soft_wrap=True)
        self.results: dict[str, Any] = {}
        """Result of each phase by name, with its ``seconds``."""
        self._keys: dict[str, str] = {}

    def run(self, phase: Phase, place: str, left: float) -> dict[str, Any]:
        """Runs a phase, unless it is done, and returns its result.

        Args:
            phase: What to do. It may use the results of those that it needs, which were run before it.
            place: Which phase it is, for people.
            left: How long this and all later phases take, roughly [s].
        """
        folder = self.out / phase.name
        key = self._keys[phase.name] = _key(phase, [self._keys[name] for name in phase.needs])
        head = f"[bold]\\[{place}] {phase.title}[/bold]"
        done = read_result(folder, key)
        if done is not None:
            self.results[phase.name] = done
            self.console.print(f"{head}: done before, in {_time(done['seconds'])}")
            return done
        self.console.print(f"\n{head}: {phase.purpose}")
        self.console.print(f"[dim]about {_time(phase.seconds)}; about {_time(left)} to the end[/dim]")
        before = _prepare(folder, key)
        start = time.monotonic()
        try:
            result = phase.run(folder, self.results)
        except BaseException:
            _write(folder / "seconds.json", before + time.monotonic() - start)
            raise
        found = self.results[phase.name] = {**result, "seconds": round(before + time.monotonic() - start, 1)}
        _write(folder / RESULT, found)
        self.console.print(f"[dim]took {_time(found['seconds'])}[/dim]")
        return found


def run_phases(phases: Sequence[Phase], out: Path, console: Console | None = None) -> dict[str, Any]:
    """Runs the phases that are not done yet.

    Args:
        phases: What to do, in order. Each may use the results of those that it needs.
        out: Folder of the run, where each phase gets a folder.
        console: Where to say what is going on.

    Returns:
        Result of each phase by name, with its ``seconds``.
    """
    run = PhaseRun(out, console)
    for number, phase in enumerate(phases, start=1):
        run.run(phase, f"{number}/{len(phases)}", sum(later.seconds for later in phases[number - 1 :]))
    return run.results


def read_result(folder: Path, key: str) -> dict[str, Any] | None:
    """What a finished phase has found; None if it is not done, or was done with other settings.

    Args:
        folder: Folder of the phase.
        key: Key of its settings.
    """
    if _read(folder / KEY, MAX_KEY_BYTES) != key.encode():
        return None
    try:
        found = json.loads(_read(folder / RESULT, MAX_RESULT_BYTES))
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and _is_time(found.get("seconds")) else None


@contextlib.contextmanager
def explained_results(out: Path) -> Iterator[None]:
    """While this is open, results of phases that are not what phases write become an error that says what to do.

    They are files in the folder of a run, which may have come from elsewhere.

    Args:
        out: Folder of the run.
    """
    try:
        yield
    except (LookupError, TypeError, AttributeError, ArithmeticError, ValueError) as error:
        if isinstance(error, PhaseError):
            raise
        said = f"{type(error).__name__}: {first_line(error)[:200]}"
        raise PhaseError(
            f"the results in '{out}' are not what the phases write ({said}): --fresh makes them again"
        ) from error


@contextlib.contextmanager
def lock_folder(out: Path) -> Iterator[int]:
    """Holds the folder of a run for this process and those that inherit the yielded descriptor.

    Raises:
        PhaseError: Another process is at work in the folder.
    """
    out.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(out / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise PhaseError(
                f"'{out}' is in use by another run, or by what a killed one has left behind: wait for it or end it, "
                "or choose another --out"
            ) from None
        yield descriptor
    finally:
        os.close(descriptor)


def remove_phases(phases: Sequence[Phase], out: Path) -> None:
    """Removes the folders of phases, with all that earlier runs have left in them.

    Args:
        phases: Phases whose folders go.
        out: Folder of the run.
    """
    for phase in phases:
        shutil.rmtree(out / phase.name, ignore_errors=True)


def _prepare(folder: Path, key: str) -> float:
    """Makes the folder of a phase, without what other settings have left in it. Returns the time spent there [s]."""
    if _read(folder / KEY, MAX_KEY_BYTES) != key.encode():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        write_text(folder / KEY, key)
        return 0.0
    try:
        before = json.loads(_read(folder / "seconds.json", MAX_KEY_BYTES))
    except (ValueError, RecursionError):
        return 0.0
    return float(before) if _is_time(before) else 0.0


def _read(path: Path, limit: int) -> bytes:
    """Content of a plain file of at most ``limit`` bytes; nothing if it is missing, larger or no plain file."""
    try:
        return read_bytes(path, limit)
    except UnsafeFile:
        return b""


def _is_time(value: Any) -> bool:
    """Whether a plain value is a time [s] that a phase may have taken."""
    return type(value) in (int, float) and 0.0 <= value < MAX_SECONDS


def _key(phase: Phase, needed: list[str]) -> str:
    """Hash of a phase's settings and of all that it needs."""
    plain = json.dumps([needed, phase.name, phase.settings], sort_keys=True)
    return hashlib.sha256(plain.encode()).hexdigest()


def _write(path: Path, value: Any) -> None:
    """Writes JSON, in which a result may be NaN."""
    write_text(path, json.dumps(value, indent=1) + "\n")


def _time(seconds: float) -> str:
    """A duration for people."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
