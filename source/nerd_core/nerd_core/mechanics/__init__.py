# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Rigid-body mechanics of one robot, with contacts and joint stops by rules that are learned.

``step`` takes a control step, by a kernel or by ``torch_step``, and is what others use; ``config`` has its settings.
Beneath it stand ``tree`` (which joints support which bodies), ``multibody`` (mass matrix, bias force, momenta),
``contact_constraints`` (which slots may touch the ground), ``self_contacts`` (which shapes may touch each other),
``contact_patches`` (contacts of one shape), ``contact_turns`` (when contacts are solved between joints),
``friction_anchors`` (where they were put down, the memory of steps in a row), ``joint_drives`` (what drives and rubs
in joints), ``constraint_solver`` with ``gauss_seidel`` and ``rules`` (the impulses of contacts, stops and drives) or
``compliant_solver`` (contacts that give way), ``constants``, the table of what is learned beside the rules, and
``forces``, what sensors measure of a step. ``known_forces`` refuses what is missing, ``augmentation`` puts networks at
any quantity of a step, and ``transmission`` is what real drives lose. ``kernel`` takes the same step in one Warp
kernel, file by file under the same names. Symbols, units and sources are in ``docs/glossary.md``.

Example::

    from nerd_core.mechanics.config import MechanicsCfg
    from nerd_core.mechanics.step import Mechanics
    from nerd_core.robot.frames import ChangeCodec

    mechanics = Mechanics(spec, ChangeCodec(spec), MechanicsCfg(substeps=4))
    change = mechanics(state, control, contacts)  # what the robot does in one control step
    next_state = mechanics.codec.apply(state, change)
"""
