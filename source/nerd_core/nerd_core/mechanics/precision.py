# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""How exactly matrices are multiplied.

Example::

    with exact_products(state.device):
        next_state = advance(state)
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

import torch


def exact_products(device: torch.device) -> AbstractContextManager[None]:
    """Within it, products of matrices on a GPU are not rounded to ten bits, as Isaac Lab's trainers have it: a mass
    matrix that is a thousandth off holds no foot. Nothing to do on a CPU.
    """
    return _without_tf32() if device.type == "cuda" else nullcontext()


@contextmanager
def _without_tf32() -> Iterator[None]:
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = False
    try:
        yield
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before


__all__ = ["exact_products"]
