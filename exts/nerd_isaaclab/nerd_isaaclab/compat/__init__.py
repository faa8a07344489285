# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What is done differently on a machine without CUDA, and the threads of the engine. With CUDA it has no effect.

``pinned_memory`` lets Warp allocate without CUDA, ``no_cuda`` completes the command lines of Isaac Lab's programs, and
``engine_threads`` sets the number of PhysX's own threads. Importing ``nerd_isaaclab.tasks`` installs all of it::

    from nerd_isaaclab.compat.no_cuda import has_cuda
    device = "cuda:0" if has_cuda() else "cpu"
    import nerd_isaaclab.tasks
"""
