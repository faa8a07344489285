# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Robots and grounds as USD, built from sources; stock tasks find them when NVIDIA's are out of reach.

The configurations of the robots are in :mod:`nerd_isaaclab.assets.robots`; everything else here is free of Isaac Lab.
"""
