# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Threads for many small operations: PyTorch with one, kernels with all.

An operation on a few hundred environments takes microseconds, and the threads that PyTorch wakes for it wait busily for
the next one, on the cores that a kernel wants.

Example::

    with small_operations(state.numel()):
        next_state = dynamics.step(state, control)
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import torch

FEW_NUMBERS = 100_000
"""Up to so many numbers in a state of all environments operations are small."""

_kept = threading.local()


@contextmanager
def small_operations(numbers: int) -> Iterator[None]:
    """Within it PyTorch takes one thread, if there are few numbers; :func:`kernel_threads` stays what it was.

    Args:
        numbers: How many numbers operations are about.
    """
    before = torch.get_num_threads()
    if numbers > FEW_NUMBERS or before == 1 or getattr(_kept, "count", None) is not None:
        yield
        return
    _kept.count = before
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
        _kept.count = None


def kernel_threads() -> int:
    """Threads that a kernel on the processor may take: those that PyTorch has outside of :func:`small_operations`."""
    return getattr(_kept, "count", None) or torch.get_num_threads()


__all__ = ["kernel_threads", "small_operations"]
