# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Recorder terms of Isaac Lab that write trajectories while a task runs with all its managers."""
