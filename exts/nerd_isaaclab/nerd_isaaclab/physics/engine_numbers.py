# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""How numbers of an engine are read: in single precision, and with huge ones for what has no limit.

Example::

    mass = six_digits(body_mass)
"""

from __future__ import annotations

NO_LIMIT = 1.0e9
"""Engines write a joint without limit, an effort or a speed without bound as a number larger than this."""


def six_digits(value: float) -> float:
    """A number with six significant digits, without a negative zero: the noise of single precision means nothing."""
    return float(f"{float(value):.6g}") + 0.0


__all__ = ["NO_LIMIT", "six_digits"]
