# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The adjoint of the kernel of mechanics: from derivatives by the next state to those by what the step began with.

Written by hand, file by file under the names of what it pulls back. The step itself keeps what is needed (``record``),
so that nothing is computed twice, and the adjoint walks back through its physics steps and substeps. ``robot`` makes a
function of PyTorch of both.

Three facts make it short. *Bodies are rigid*: whatever is fixed to a body and has the derivative ``g`` at the place
``p`` acts on the body as a force ``g`` at ``p`` would, so that derivatives by joint positions are the generalised
forces of all these (``pull_places`` in ``multibody``). *All depends on the mass matrix by its inverse*: with the factor
``W`` of ``inverse(H) = W transpose(W)`` and ``S = transpose(W) dL/dW`` it is ``dL/dH = -W S transpose(W) / 2``,
whichever factor ``W`` is, so that no factorisation is pulled back. *Rotations move by rotation vectors*: their
derivatives are three numbers, in the axes of the root.

Example::

    step = verified_gradient(spec, kernel, states, controls, reference)
    if step is not None:
        next_state = step(state, control, contacts)  # has a graph of one node
"""
