# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Robots with a fixed base that have to stand up. Robot-free here, a folder for each robot."""
