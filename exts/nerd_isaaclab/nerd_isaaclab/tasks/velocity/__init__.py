# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Legged robots that walk at a commanded velocity: Isaac Lab's own task, on flat ground. A folder for each robot."""
