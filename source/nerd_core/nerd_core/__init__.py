# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Learned robot dynamics, free of any simulator: states, contacts, models, data, training, roll-outs."""

__version__ = "0.1.0"
