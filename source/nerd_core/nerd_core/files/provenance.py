# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Where a result comes from: the command, the seeds, the data, the versions and the host that made it."""

from __future__ import annotations

import datetime
import hashlib
import os
import platform
import shlex
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import torch

from .. import __version__


def describe_run(
    command: Iterable[str] | None = None,
    seeds: Mapping[str, int] | None = None,
    data: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Plain values that say how something was made, to be stored beside it.

    Args:
        command: Words of the command line; by default those of this process.
        seeds: Seeds in use, by name.
        data: Digests of what was read, by name.
    """
    words = list(sys.argv if command is None else command)
    words = [Path(words[0]).name, *(without_folder(word) for word in words[1:])] if words else words
    return {
        "command": shlex.join(words),
        "seeds": dict(seeds or {}),
        "data": dict(data or {}),
        "versions": versions(),
        "host": host(),
        "finished": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    }


def without_folder(word: str) -> str:
    """A word of a command line; of an absolute path, also behind ``key=``, only its last part.

    The folders of a machine say nothing about a result, and are private.
    """
    key, equals, value = word.partition("=")
    tail = value if equals else key
    if tail.startswith(("/", "~")) or (len(tail) > 2 and tail[1] == ":"):
        tail = Path(tail.replace("\\", "/")).name
    return f"{key}={tail}" if equals else tail


def versions() -> dict[str, str]:
    """Versions of what decides the numbers."""
    return {"nerd_core": __version__, "torch": torch.__version__, "python": platform.python_version()}


def host() -> dict[str, Any]:
    """The machine: its name, system, processor, cores that this process may use, and GPU."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else None
    return {"name": platform.node(), "system": platform.platform(), "cpu": _processor(), "cores": cores, "gpu": gpu}


def file_digest(path: str | Path) -> str:
    """SHA-256 of a file in hexadecimal, read in pieces."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _processor() -> str:
    """Model name of the processor; Linux alone tells it in a file."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


__all__ = ["describe_run", "file_digest", "host", "versions", "without_folder"]
