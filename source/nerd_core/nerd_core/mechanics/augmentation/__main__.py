# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Prints the table of quantities that blueprints can name: ``python -m nerd_core.mechanics.augmentation``."""

from .quantities import table

print(table())
