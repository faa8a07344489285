# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What a planted fault is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Fault:
    """A wrong line in the place of a right one."""

    file: str
    """Path in the repository."""
    right: str
    """Text that stands in the file exactly once."""
    wrong: str
    """What takes its place."""
    test: str
    """Test file, or test, that must fail."""


__all__ = ["Fault"]
