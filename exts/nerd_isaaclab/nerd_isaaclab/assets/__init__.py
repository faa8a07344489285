# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Robots and grounds as USD, built from sources; stock tasks find them when NVIDIA's are out of reach.

What is built of each robot stands in its file in :mod:`nerd_isaaclab.robots`. Free of Isaac Lab.
"""
