# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Reading the checkpoints of RSL-RL, which are pickled, without running what they hold.

PyTorch's restricted reader (``weights_only``) makes tensors and plain values alone. What it cannot read it answers with
any kind of error, in words for programmers; and what it reads may still ask for far more memory than the file has.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from nerd_core.files.messages import first_line

MAX_BYTES = 4 * 2**30
"""Largest checkpoint that is read [bytes]."""

MAX_PICKLE_BYTES = 16 * 2**20
"""Largest description of the tensors in it [bytes]."""

_ONLY_WEIGHTS, _ANYTHING = "TORCH_FORCE_WEIGHTS_ONLY_LOAD", "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"


class PolicyError(ValueError):
    """A file that holds no policy, or a damaged or foreign one."""


def read_actor(path: Path) -> dict[str, torch.Tensor]:
    """The actor's tensors by name, on the CPU.

    Args:
        path: A file ``model_<iteration>.pt`` of RSL-RL 5.

    Raises:
        PolicyError: It is damaged, of another format, or holds more than tensors and plain values.
    """
    _require_archive(path)
    try:
        content = torch.load(path, weights_only=True, map_location="cpu")
    except Exception as error:  # whatever a damaged archive or pickle may raise
        raise PolicyError(
            f"'{path}' cannot be read as tensors and plain values alone: {type(error).__name__}, "
            f"{first_line(error)[:200]}. Files that need more are not read, because they can run code"
        ) from None
    actor = content.get("actor_state_dict") if isinstance(content, dict) else None
    if not isinstance(actor, dict):
        raise PolicyError(f"'{path}' holds no 'actor_state_dict': expected a checkpoint of RSL-RL 5")
    size = path.stat().st_size
    for name, tensor in actor.items():
        if not isinstance(name, str) or not _is_plain(tensor) or tensor.numel() * tensor.itemsize > size:
            raise PolicyError(f"'{path}': {str(name)[:60]!r} of the actor is no plain tensor of this file's size")
    return actor


@contextmanager
def only_weights() -> Iterator[None]:
    """While this is open, every ``torch.load`` of this process and its children makes tensors and plain values alone.

    RSL-RL itself reads checkpoints without that restriction, so that playing a downloaded one could run its code.
    """
    before = {name: os.environ.pop(name, None) for name in (_ONLY_WEIGHTS, _ANYTHING)}
    os.environ[_ONLY_WEIGHTS] = "1"
    try:
        yield
    finally:
        del os.environ[_ONLY_WEIGHTS]
        os.environ.update({name: value for name, value in before.items() if value is not None})


def _require_archive(path: Path) -> None:
    """Refuses what is not the archive that ``torch.save`` writes: stored as it is, so that reading takes its size."""
    if not path.is_file():
        raise PolicyError(f"'{path}' is not a file: expected a checkpoint of RSL-RL, model_<iteration>.pt")
    if path.stat().st_size > MAX_BYTES:
        raise PolicyError(f"'{path}' has {path.stat().st_size} bytes, expected at most {MAX_BYTES}")
    try:
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
    except Exception as error:  # whatever a damaged archive may raise
        raise PolicyError(
            f"'{path}' is not a whole checkpoint of RSL-RL ({first_line(error)[:100]}): cut short, damaged or foreign"
        ) from None
    packed = [entry for entry in entries if entry.compress_type != zipfile.ZIP_STORED]
    large = [entry for entry in entries if entry.filename.endswith(".pkl") and entry.file_size > MAX_PICKLE_BYTES]
    if packed or large or sum(entry.file_size for entry in entries) > path.stat().st_size:
        raise PolicyError(f"'{path}' is not as RSL-RL writes it: it would take more memory than it has bytes")


def _is_plain(value: Any) -> bool:
    return (
        isinstance(value, torch.Tensor)
        and value.layout == torch.strided
        and value.device.type == "cpu"
        and not value.is_quantized
    )


__all__ = ["PolicyError", "only_weights", "read_actor"]
