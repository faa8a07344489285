# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Programs behind ``nerd list-envs``, ``nerd zero-agent``, ``nerd random-agent`` and ``nerd rl``.

Each is thin over Isaac Lab's own entry points and keeps their flags; what it adds is checked input and a command line
that works without CUDA.
"""
