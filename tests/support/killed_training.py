# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Trainings that are ended in the middle, in every way, and what they leave behind.

A training is ``nerd train`` in a process of its own, forked from one that has imported everything. It is ended at an
exact point, which is counted and not timed, so that a trial can be repeated: before its n-th change of a file in the
folder of the run, or at its n-th call of a function.
"""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from nerd_core.files.atomic import WRITING

How = Literal["SIGKILL", "SIGTERM", "SIGINT", "SIGINT twice", "full disk", "file limit"]
"""How a training is ended. A full disk lets no file be made or renamed any more; a file limit cuts a file in two."""

CHANGES = ("os.rename", "os.mkdir", "os.rmdir", "os.remove")
"""Events of Python's audit that change a folder."""

WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT
"""Flags of a file that is opened to be written."""

TOLD = "told.json"
"""File beside the folder of a run, in which a training tells what it has done."""


@dataclass(frozen=True)
class End:
    """When and how a training is ended."""

    how: How
    """How."""
    at: int
    """Number of the change of a file, from 1, or the size of the largest file [bytes] for a file limit."""
    by: Literal["changes", "calls"] = "changes"
    """What is counted: changes of files in the folder of the run, or calls of functions in the training."""
    of: str = ""
    """Count only changes that begin so, for instance ``rename last`` (see :func:`_change`)."""


@dataclass
class Told:
    """What a training has done."""

    changes: int = 0
    """Changes of files in the folder of the run."""
    calls: int = 0
    """Calls of functions since the training was set up."""
    began: int | None = None
    """Updates that had been made when the training set out; None if it did not."""
    saved: int = -1
    """Updates that had been made at the last save that was finished; -1 for none."""


class Trainings:
    """Runs trainings, each in a fork of a process that has imported everything."""

    def __init__(self):
        """Starts that process."""
        sources = [path for path in sys.path if path]
        self._server = subprocess.Popen(
            [sys.executable, __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sources), "OMP_NUM_THREADS": "1"},
        )

    def run(self, words: list[str], out: Path, end: End | None = None, count_calls: bool = False) -> tuple[int, Told]:
        """Runs ``nerd train`` to its end.

        Args:
            words: Words behind ``nerd train``, without ``--out``.
            out: Folder of the run.
            end: When and how to end it; None to let it go on.
            count_calls: Whether to count calls, which takes time.

        Returns:
            The exit code, negative for a signal, and what the training has told.
        """
        assert self._server.stdin is not None and self._server.stdout is not None
        told = out.parent / TOLD
        told.write_text(json.dumps(asdict(Told())))
        order = {
            "words": [*words, "--out", str(out)],
            "out": str(out),
            "end": end and asdict(end),
            "calls": count_calls,
        }
        self._server.stdin.write(json.dumps(order) + "\n")
        self._server.stdin.flush()
        code = int(self._server.stdout.readline())
        return code, Told(**json.loads(told.read_text()))

    def __enter__(self) -> Trainings:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.communicate()


# -- within the process of a training ---------------------------------------------------------------------------


def serve() -> None:
    """Forks a training for each line of the standard input, and answers with its exit code."""
    import torch._dynamo  # noqa: F401  # these two are slow to import: once for all
    import torch.utils.tensorboard  # noqa: F401

    import nerd_core.cli.train  # noqa: F401

    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            order = json.loads(line)
            end = order["end"] and End(**order["end"])
            os._exit(train(order["words"], Path(order["out"]), end, order["calls"]))
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


def train(words: list[str], out: Path, end: End | None, count_calls: bool) -> int:
    """One training, which is ended as it is told, and tells what it does."""
    from nerd_core.cli import main

    log = os.open(out.parent / "log.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(log, 1)
    os.dup2(log, 2)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    told = Told()
    _tell_of_saves(told, out.parent / TOLD, count_calls or (end is not None and end.by == "calls"), end)
    if end is not None and end.how == "file limit":
        resource.setrlimit(resource.RLIMIT_FSIZE, (end.at, end.at))
    else:
        _watch_files(told, out, end if end is not None and end.by == "changes" else None)
    code = main(["train", *words])
    _write(out.parent / TOLD, told)
    return code


def _tell_of_saves(told: Told, place: Path, count_calls: bool, end: End | None) -> None:
    """Writes down where a run sets out and each save that was finished."""
    from nerd_core.training import run as training

    save_run, enter = training.save_run, training.Run.__enter__

    def save_and_tell(run: training.Run) -> None:
        save_run(run)
        told.saved = run.update
        _write(place, told)

    def enter_and_tell(self: training.Run) -> training.Run:
        told.began = self.update
        _write(place, told)
        entered = enter(self)
        if count_calls:
            sys.setprofile(_call_counter(told, end if end is not None and end.by == "calls" else None))
        return entered

    training.save_run, training.Run.__enter__ = save_and_tell, enter_and_tell


def _write(place: Path, told: Told) -> None:
    """Writes without the file operations that are counted."""
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    place.write_text(json.dumps(asdict(told)))
    resource.setrlimit(resource.RLIMIT_FSIZE, limit)


def _call_counter(told: Told, end: End | None) -> Callable[..., None]:
    """Counts calls of functions in the main thread, those written in C included."""

    def count(frame: Any, event: str, _: Any) -> None:
        if event in ("call", "c_call"):
            told.calls += 1
            if end is not None and told.calls == end.at:
                _end(end)
            if end is not None and end.how == "SIGINT twice" and told.calls == end.at + 20:
                _end(end)

    return count


def _watch_files(told: Told, out: Path, end: End | None) -> None:
    """Counts changes of files in the folder of a run, each before it is made."""

    def hook(event: str, args: tuple[Any, ...]) -> None:
        change = _change(event, args, f"{out}{os.sep}")
        if change is None or (end is not None and not change.startswith(end.of)):
            return
        told.changes += 1
        if end is None:
            return
        if end.how == "full disk":
            if told.changes >= end.at and event in ("open", "os.mkdir"):
                raise OSError(28, "No space left on device")
        elif told.changes == end.at:
            _end(end)

    sys.addaudithook(hook)


def _change(event: str, args: tuple[Any, ...], out: str) -> str | None:
    """What an event of the audit changes in the folder of the run: ``rename last .last.previous``; None for nothing."""
    if event == "open":
        path, mode, flags = args
        writes = any(letter in mode for letter in "wax+") if isinstance(mode, str) else flags & WRITES
        names = [path] if writes and isinstance(path, (str, os.PathLike)) else []
    elif event in CHANGES:
        names = args[:2] if event == "os.rename" else args[:1]
        if event in ("os.remove", "os.rmdir") and args[1] != -1:
            return f"{event[3:]} {names[0]}"  # within a folder that is being removed
    else:
        return None
    if not names or not os.fspath(names[0]).startswith(out):
        return None
    short = [re.sub(f"{WRITING}-[0-9a-f]+", WRITING, os.fspath(name).removeprefix(out)) for name in names]
    return " ".join((event.removeprefix("os."), *short))


def _end(end: End) -> None:
    """Ends this process, or asks it to end."""
    os.kill(os.getpid(), signal.Signals[end.how.partition(" ")[0]])


if __name__ == "__main__":
    serve()
