# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Mechanics in one kernel: the step of :class:`~nerd_core.mechanics.step.Mechanics`, compiled by Warp for the
processor or a GPU. Gradients are pulled back through it by another one (``adjoint``).

PyTorch takes some three thousand small operations for a step, each over all environments; here a thread takes one
environment through all of it, and leaves out what touches nothing. ``verification`` gives out a kernel only after it
has agreed with PyTorch; it and its namesake in ``adjoint`` are the only files here that can be imported without Warp.
``robot`` makes the tables of a robot and launches, ``step`` is the kernel, ``trace`` what it keeps for its adjoint, and
the other files hold what their namesakes in :mod:`nerd_core.mechanics` do.

Example::

    kernel = verified_kernel(spec, solver, ramp_mean, state, control, reference)
    if kernel is not None:
        next_state = kernel(state, control, contacts)
"""
