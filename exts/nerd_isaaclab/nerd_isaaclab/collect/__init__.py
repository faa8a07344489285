# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Collecting trajectories from the solver: initial states, excitation, stepping without managers, shards."""
