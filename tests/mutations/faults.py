# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Faults in the code that judges models and policies, each with the tests that have to notice it.

All of them stand in code whose answer a reader of a report has to trust: who is counted, in which mode, with which
weights, over which steps. The tests named need no engine and belong to the fast tier. ``tests/repo/test_mutations.py``
checks that every fault can still be planted, and with ``--slow`` plants one after the other.
"""

from __future__ import annotations

from mutations.benchmark_faults import BENCHMARK_FAULTS
from mutations.extension_faults import EXTENSION_FAULTS
from mutations.library_faults import LIBRARY_FAULTS
from mutations.mechanics_faults import MECHANICS_FAULTS

FAULTS = (*LIBRARY_FAULTS, *MECHANICS_FAULTS, *EXTENSION_FAULTS, *BENCHMARK_FAULTS)
"""All of them."""

__all__ = ["FAULTS"]
