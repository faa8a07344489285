# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Which points of a robot are near which ground.

A *contact slot* is a point of the robot with a radius. ``contacts`` asks a ground how far each slot is from it, and
sets to zero what is too far to matter. ``grounds`` has the interface of a ground, and planes; ``triangle_mesh`` any
other surface, with the geometry of ``triangles``. Only geometry is used, no forces, so a robot may meet other ground
than it was trained on.

Example::

    from nerd_core.contact.contacts import ContactModel
    from nerd_core.contact.grounds import PlaneGround

    contacts = ContactModel(spec)(state, PlaneGround.flat(height=0.0))
    lowest = contacts.distance.where(contacts.active, float("inf")).amin(-1)  # of the slots' points [m], shape (N,)
"""
