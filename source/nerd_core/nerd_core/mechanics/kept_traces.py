# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Whether the kernel of mechanics keeps what its adjoint needs from a step to its gradient, or makes it once more.

To keep it is faster, and costs memory for every step of a roll-out. PyTorch's checkpointing drops the tensors that were
saved, and knows nothing of memory that is Warp's.

Example::

    with without_traces():
        ...    # steps whose gradients come much later
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_KEPT: ContextVar[bool] = ContextVar("kept_traces", default=True)


@contextmanager
def without_traces() -> Iterator[None]:
    """Inside, steps by the kernel keep nothing but their arguments."""
    before = _KEPT.set(False)
    try:
        yield
    finally:
        _KEPT.reset(before)


def traces_are_kept() -> bool:
    """Whether steps by the kernel keep what their adjoint needs."""
    return _KEPT.get()


__all__ = ["traces_are_kept", "without_traces"]
