# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Cures for what Isaac Lab and its engine do not do here by themselves.

``pinned_memory`` lets Warp allocate without CUDA and ``no_cuda`` completes the command lines of Isaac Lab's programs;
with CUDA neither has an effect. ``engine_threads`` sets the number of PhysX's own threads, and with ``interrupts`` no
ctrl-C gets lost. Importing ``nerd_isaaclab.tasks`` installs all of it::

    from nerd_isaaclab.compat.no_cuda import has_cuda
    device = "cuda:0" if has_cuda() else "cpu"
    import nerd_isaaclab.tasks
"""
