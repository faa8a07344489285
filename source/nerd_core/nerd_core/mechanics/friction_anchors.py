# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Where feet were put down: the memory of friction from physics step to physics step.

No state shows it, and PhysX has it. A shape that comes within reach of the ground gets an anchor: the point of contact
on the body, and on the ground. From then on friction takes back how far the two have come apart along the ground, and
not only the drift of the present physics step, so a robot that stands stays. Once the body has rolled by a tenth of a
millimetre, the point of contact then becomes a second anchor, and each of both bears half of the friction. Anchors last
until one of them slips in the last substep of a physics step, the body has turned by 2.6 degrees since the first was
made, or the slot is out of reach.

A memory is a tensor of shape (M, K, 15) for the K slots of a solver. Of either anchor it has the normal of the ground
in the axes of the body when the anchor was made, and the point on the ground [m], in the axes of the environment; and
of the slot's shape when it touched (:mod:`nerd_core.mechanics.touch_order`). Zeros are no anchor, so that a memory that
is cleared is a new one.

Derivatives go through a memory as through a state: anchors are points of earlier states. Which anchors there are, and
when they end, has no derivative.

Example::

    memory = mechanics.new_memory(len(state), state)
    change = mechanics.remembering(state, control, contacts, memory)  # memory is that of the next state now
    change, after = mechanics.with_memory(state, control, contacts, memory)  # the same with gradients; memory is kept
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn

from .vectors import rotate, rotate_inverse

ANCHORS = 2
"""Most anchors of a slot."""

ANCHOR_DIM = 6
"""Numbers of an anchor."""

SHAPE_DIM = 3
"""Numbers of a slot's shape: its place in the list of what touches, and two zeros."""

MEMORY_DIM = ANCHORS * ANCHOR_DIM + SHAPE_DIM
"""Numbers of a slot in a memory."""

SAME_NORMAL = 0.999
"""Cosine of the angle by which a body may turn against the ground while anchors last, PhysX's number."""

SAME_POINT = 1.0e-4
"""How far the point of contact has to go on the body before it becomes the second anchor [m], PhysX's number."""


class FrictionAnchors(NamedTuple):
    """Anchors of some contacts. Zeros for one that there is not."""

    normal: Tensor
    """Normal of the ground when an anchor was made, axes of the body, shape (2, K, 3, M)."""
    place: Tensor
    """The anchor on the ground, axes of the environment [m], same shape."""
    begin: Tensor | None
    """Where the root begins the control step, axes of the environment [m], shape (3, M); None for a fixed base."""
    places: Tensor
    """Places of the slots' shapes in the list of what touches, zero for one that does not, shape (K, M); see
    :mod:`nerd_core.mechanics.touch_order`."""

    @classmethod
    def read(cls, memory: Tensor, begin: Tensor | None) -> FrictionAnchors:
        """Anchors from a memory.

        Args:
            memory: The memory, shape (M, K, 15).
            begin: Where the root begins the control step [m], shape (M, 3); None for a fixed base.
        """
        anchors, of_shape = memory.split((ANCHORS * ANCHOR_DIM, SHAPE_DIM), 2)
        normal, place = anchors.unflatten(2, (ANCHORS, ANCHOR_DIM)).permute(2, 1, 3, 0).split(3, 2)
        return cls(normal, place, None if begin is None else begin.t(), of_shape[..., 0].detach().t())

    def written(self) -> Tensor:
        """The memory of these anchors, shape (M, K, 15)."""
        anchors = torch.cat((self.normal, self.place), 2).permute(3, 1, 0, 2).flatten(2)
        return torch.cat((anchors, nn.functional.pad(self.places.t().unsqueeze(2), (0, SHAPE_DIM - 1))), 2)

    @property
    def exist(self) -> Tensor:
        """Which there are, shape (2, K, M)."""
        return self.normal.square().sum(2) > 0.0


class Anchoring(NamedTuple):
    """What a physics step does with anchors."""

    drift: Tensor
    """How far contacts have come from their first and second anchor along both directions of friction [m], shape
    (2, 2, P, M)."""
    anchors: FrictionAnchors
    """Anchors of the contacts, old or new, shape (2, P, 3, M)."""
    chosen: Tensor
    """Numbers of their slots, shape (P, M)."""
    places: Tensor
    """Places of all slots' shapes in the list of what touches, shape (K, M)."""

    def kept(self, before: FrictionAnchors, holds: Tensor) -> FrictionAnchors:
        """The anchors of all slots after the step: those of contacts that friction holds.

        Args:
            before: Anchors of all slots.
            holds: One for contacts within reach that did not slip in the last substep, else zero, shape (P, M). Those
                between bodies, which come behind the others, have no anchors.
        """
        where = self.chosen[None, :, None].expand_as(self.anchors.normal)
        holding = holds[: len(self.chosen)].unsqueeze(1)
        normal, place = (
            torch.zeros_like(of_slots).scatter(1, where, holding * of_contacts)
            for of_slots, of_contacts in zip(before[:2], self.anchors[:2], strict=True)
        )
        return before._replace(normal=normal, place=place, places=self.places)


def anchoring(
    before: FrictionAnchors,
    chosen: Tensor,
    bodies: Tensor,
    centres: Tensor,
    radius: Tensor,
    axes: tuple[Tensor, Tensor, Tensor],
    root_rotation: Tensor | None,
    root_displacement: Tensor | None,
    lower_ends: Tensor | None = None,
    listed: Tensor | None = None,
) -> Anchoring:
    """Old anchors where they last, new ones elsewhere.

    Args:
        before: Anchors of all slots.
        chosen: Numbers of the contacts' slots, shape (P, M).
        bodies: Rotation matrices of the bodies that carry them, axes of the root, shape (P, 3, 3, M).
        centres: Centres of the slots, axes of the root [m], shape (P, 3, M).
        radius: Their radii [m], shape (P, M).
        axes: Normals and both directions of friction, axes of the root, each of shape (P, 3, M).
        root_rotation: Rotation matrices of the root, shape (3, 3, M); None for a fixed base.
        root_displacement: How far the root has come since the control step began, environment axes [m], shape (3, M).
        lower_ends: One for a contact that is one patch with the next one, else zero, shape (P, M); None for none.
        listed: Places of all slots' shapes in the list of what touches, shape (K, M); None as before.
    """
    where = chosen[None, :, None].expand(ANCHORS, -1, 3, -1)
    normals, places = (each.gather(1, where) for each in before[:2])
    now, point = (bodies * axes[0].unsqueeze(2)).sum(1), centres - radius.unsqueeze(1) * axes[0]
    on_ground, point_on_ground = places, point
    if root_rotation is not None and root_displacement is not None and before.begin is not None:
        on_ground = rotate_inverse(root_rotation, places - before.begin - root_displacement)
        point_on_ground = rotate(root_rotation, point) + root_displacement + before.begin
    lasts = (normals[0] * now).sum(1, keepdim=True) > SAME_NORMAL
    rolled = radius.unsqueeze(1).square() * (now - normals[0]).square().sum(1, keepdim=True)
    has_second = lasts & (normals[1].square().sum(1, keepdim=True) > 0.0)
    grows = ~has_second & (rolled > SAME_POINT**2)
    if lower_ends is not None:
        is_end, of_patch = _patches_of_ends(lower_ends.unsqueeze(1) > 0.0)
        # Of a patch all anchors go together, and two at the same end are put down anew.
        ends = (normals[0].square().sum(1, keepdim=True) > 0.0) & (~lasts | has_second)
        lasts = lasts & ~(is_end & of_patch(ends))
        has_second, grows = has_second & ~is_end, grows & ~is_end
    is_old = torch.stack((lasts, has_second))
    is_new = torch.stack((~lasts, lasts & grows))
    normals = torch.where(is_new, now, normals * is_old)
    # Where the points of the body are that were put down.
    points = centres - radius.unsqueeze(1) * (bodies * normals.unsqueeze(2)).sum(3)
    apart = (points - on_ground) * is_old
    drift = torch.stack([(apart * axis).sum(2) for axis in axes[1:]], 1)
    places = torch.where(is_new, point_on_ground, places * is_old)
    return Anchoring(
        drift, before._replace(normal=normals, place=places), chosen, before.places if listed is None else listed
    )


def _patches_of_ends(lower: Tensor) -> tuple[Tensor, Callable[[Tensor], Tensor]]:
    """Which contacts are ends of a capsule that are one patch, and what says whether either end of it is something.

    Args:
        lower: Whether a contact is one patch with the next one, shape (P, 1, M).
    """
    upper = lower.roll(1, 0)  # the last contact is followed by none

    def either(ends: Tensor) -> Tensor:
        return ends | (lower & ends.roll(-1, 0)) | (upper & ends.roll(1, 0))

    return lower | upper, either


__all__ = [
    "ANCHORS",
    "ANCHOR_DIM",
    "MEMORY_DIM",
    "SAME_NORMAL",
    "SAME_POINT",
    "Anchoring",
    "FrictionAnchors",
    "anchoring",
]
