# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The folder of a run: one training at a time works in it, and what an earlier one has made is not lost.

===================  ==============================================================================================
``last``, ``best``   checkpoints: where the run can go on, and the smallest error on validation data
``logs``             what tensorboard shows
``trials.json``      what was tried before the run, and chosen (:mod:`.auto_preset`)
``previous-<time>``  all these of an earlier run, which a new one has put aside
``.lock``            who works here; the system frees it when that process ends, however it ends
``.aside``           an earlier run on its way to ``previous-<time>``
===================  ==============================================================================================

A training may be killed at any moment. Whoever takes the folder next finds either the earlier run, whole, or a new one
that can go on and the earlier one under its new name.
"""

from __future__ import annotations

import contextlib
import datetime
import fcntl
import logging
import os
import platform
from collections.abc import Iterator
from pathlib import Path

from ..files.atomic import recover_directory
from .config import TrainingError

logger = logging.getLogger(__name__)

LAST, BEST, LOGS, TRIALS = "last", "best", "logs", "trials.json"
LOCK, ASIDE = ".lock", ".aside"

# ``last`` goes first and comes back last: where it stands says whether a new run has begun.
MOVED = (LAST, BEST, TRIALS, LOGS)
"""What is put aside, in this order."""


class RunFolder:
    """The folder of a run, held by this process until :meth:`close`."""

    def __init__(self, path: Path):
        """Makes the folder, locks it, and brings it in order if a training was killed there.

        Args:
            path: The folder.

        Raises:
            TrainingError: Another training works in it.
        """
        path.mkdir(parents=True, exist_ok=True)
        self.path = path
        self._lock: int | None = _lock(path)
        try:
            for name in (LAST, BEST):
                recover_directory(path / name)
            self._finish_putting_aside()
        except BaseException:
            self.close()
            raise

    @property
    def can_go_on(self) -> bool:
        """Whether there is a run that can go on."""
        return (self.path / LAST).is_dir()

    def require_free(self) -> None:
        """Refuses a folder in which a new run would take the place of an earlier model."""
        names = self._present()
        if self.can_go_on:
            raise TrainingError(
                f"'{self.path}' holds an earlier run ({', '.join(names)}): --resume goes on with it, --overwrite puts "
                "it aside and starts anew, or choose another --out"
            )
        if BEST in names:
            raise TrainingError(
                f"'{self.path}' holds a model ('{BEST}') and no '{LAST}' to go on from: --overwrite puts it aside and "
                "starts anew, or choose another --out"
            )

    @contextlib.contextmanager
    def begin(self) -> Iterator[None]:
        """Puts an earlier run aside while the block writes the first ``last`` of a new one; back if that fails."""
        names = self._present()
        try:
            if names:
                (self.path / ASIDE).mkdir()
            for name in names:
                (self.path / name).rename(self.path / ASIDE / name)
            yield
        finally:
            self._finish_putting_aside()

    def close(self) -> None:
        """Gives the folder free."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def __enter__(self) -> RunFolder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _present(self) -> list[str]:
        """What there is of a run; trials alone are those of one that was killed before it began."""
        names = [name for name in MOVED if (self.path / name).exists()]
        if names == [TRIALS]:
            (self.path / TRIALS).unlink()
            return []
        return names

    def _finish_putting_aside(self) -> None:
        """Gives an earlier run its new name if a new one has begun, and else puts it back."""
        aside = self.path / ASIDE
        if not aside.is_dir():
            return
        moved = [name for name in MOVED if (aside / name).exists()]
        if moved and self.can_go_on:
            place = self._unused_name()
            aside.rename(place)
            logger.warning("the earlier run in '%s' is now '%s'", self.path, place)
            return
        if TRIALS not in moved:
            (self.path / TRIALS).unlink(missing_ok=True)  # of the new one, which has not begun
        for name in reversed(moved):
            (aside / name).rename(self.path / name)
        aside.rmdir()

    def _unused_name(self) -> Path:
        """Where an earlier run goes."""
        name = f"previous-{datetime.datetime.now():%Y%m%d-%H%M%S}"
        place, number = self.path / name, 1
        while place.exists():
            number += 1
            place = self.path / f"{name}-{number}"
        return place


def can_go_on(path: Path) -> bool:
    """Whether a run can go on in a folder. Brings the folder in order if a training was killed there.

    Args:
        path: Folder of the run; it need not be there.
    """
    if not path.is_dir() or (path / LAST).is_dir():
        return path.is_dir()
    with RunFolder(path) as folder:
        return folder.can_go_on


def _lock(path: Path) -> int:
    """Locks a folder and leaves word who has done so."""
    descriptor = os.open(path / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.read(descriptor, 200).decode(errors="replace").strip() or "another process"
        os.close(descriptor)
        raise TrainingError(
            f"another training works in '{path}' ({holder}): wait for it or end it, or choose another --out"
        ) from None
    except OSError as error:
        logger.warning("'%s' cannot be locked (%s): let no other training work in it", path, error.strerror)
    with contextlib.suppress(OSError):  # the disk is full: the lock holds all the same
        os.ftruncate(descriptor, 0)
        os.write(descriptor, _holder().encode())
    return descriptor


def _holder() -> str:
    """This process, for people."""
    return f"process {os.getpid()} on {platform.node()}, since {datetime.datetime.now():%Y-%m-%d %H:%M:%S}\n"


__all__ = ["BEST", "LAST", "LOGS", "TRIALS", "RunFolder", "can_go_on"]
