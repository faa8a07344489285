# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Neural robot dynamics for Isaac Lab: a learned model in place of the physics step of any manager-based task."""

__version__ = "0.1.0"
