# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Robots with a floating base on flat ground: running, spinning, walking. Robot-free here, a folder for each robot."""
