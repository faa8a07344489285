# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Small operations take one thread of PyTorch and leave kernels theirs."""

from __future__ import annotations

import pytest
import torch

from nerd_core.threads import FEW_NUMBERS, kernel_threads, small_operations


def test_threads_come_back():
    """Within, PyTorch has one thread and kernels those of before; behind, all is as it was, after an error, too, and
    one within the other changes nothing.
    """
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(3)
        with pytest.raises(RuntimeError), small_operations(10):
            assert (torch.get_num_threads(), kernel_threads()) == (1, 3)
            with small_operations(10):
                assert (torch.get_num_threads(), kernel_threads()) == (1, 3)
            assert (torch.get_num_threads(), kernel_threads()) == (1, 3)
            raise RuntimeError
        assert (torch.get_num_threads(), kernel_threads()) == (3, 3)
    finally:
        torch.set_num_threads(before)


def test_large_operations_keep_their_threads():
    """Where there are many numbers PyTorch keeps all threads."""
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        with small_operations(FEW_NUMBERS + 1):
            assert (torch.get_num_threads(), kernel_threads()) == (2, 2)
    finally:
        torch.set_num_threads(before)
