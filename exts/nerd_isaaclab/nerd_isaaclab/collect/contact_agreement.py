# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""How well contacts of the solver and contacts by geometry agree."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import torch

from nerd_core.contact.contacts import Contacts
from nerd_core.predictor.residual_network import FORCE_REACH
from nerd_core.robot.spec import RobotSpec

from ..recorders.contact_probe import ContactPairs

TOLERANCE = 5.0e-3
"""A contact and a slot are the same when they are nearer than this [m]."""


EVENT_FORCE = 1.0
"""Force above which tasks count a contact [N], as Isaac Lab's ``illegal_contact`` does."""


@dataclass
class BodyAgreement:
    """Counts of one body."""

    sensor: int = 0
    """Contacts with the ground that the solver reports."""
    explained: int = 0
    """Those within the tolerance of a slot's surface."""
    touching: int = 0
    """Slots that touch the ground, by geometry."""
    confirmed: int = 0
    """Those within the tolerance of a contact of the solver."""
    gap_error: float = 0.0
    """Sum over the explained contacts of the difference between the two gaps [m]."""
    forced: int = 0
    """Steps with a force of more than :data:`EVENT_FORCE` on the body: what a task counts as a contact."""
    flipped: int = 0
    """Steps in which geometry says the opposite: a force and no slot that touches, or a slot that touches and none."""
    unseen: int = 0
    """Steps with such a force in which no slot is near: there a force head says zero. The body touches another body, or
    touches the ground where it has no slot."""


@dataclass
class Agreement:
    """Counts by body; add what further batches give."""

    bodies: dict[str, BodyAgreement] = field(default_factory=dict)
    """Counts by the body's name; bodies that never touched anything are left out."""

    def add(self, other: Agreement) -> None:
        """Adds the counts of another batch or worker."""
        for name, counts in other.bodies.items():
            mine = self.bodies.setdefault(name, BodyAgreement())
            for item, value in vars(counts).items():
                setattr(mine, item, getattr(mine, item) + value)


def compare(pairs: ContactPairs, geometry: Contacts, spec: RobotSpec, force: torch.Tensor | None = None) -> Agreement:
    """Counts of a batch.

    Args:
        pairs: Contacts of the solver.
        geometry: Contacts of all slots before each step, leading dimensions (N, T).
        spec: The robot.
        force: Contact force on each body in each step [N], shape (N, T, bodies, 3); None where it is not known.
    """
    row, slot, near = _match(pairs, geometry, spec)
    radius = torch.tensor([item.radius for item in spec.slots])
    touching = geometry.active & (geometry.distance <= radius)
    confirmed = torch.zeros_like(touching)
    confirmed[pairs.env[row], pairs.step[row], slot] = True
    error = (pairs.gap[:, None] - (geometry.distance[pairs.env, pairs.step] - radius)).abs()
    error = torch.where(near, error, torch.inf).amin(-1) if len(spec.slots) else torch.zeros(0)
    is_explained = near.any(-1)
    body_of_slot = torch.tensor([spec.body_names.index(item.body) for item in spec.slots], dtype=torch.long)
    found = Agreement()
    for i, name in enumerate(spec.body_names):
        mine, slots = pairs.body == i, body_of_slot == i
        counts = BodyAgreement(
            sensor=int(mine.sum()),
            explained=int((mine & is_explained).sum()),
            touching=int(touching[..., slots].sum()),
            confirmed=int((touching & confirmed)[..., slots].sum()),
            gap_error=float(error[mine & is_explained].double().sum()),
        )
        if force is not None:
            is_forced = force[..., i, :].norm(dim=-1) > EVENT_FORCE
            within = geometry.active & (geometry.distance - radius < FORCE_REACH)
            counts.forced = int(is_forced.sum())
            counts.flipped = int((is_forced != touching[..., slots].any(-1)).sum())
            counts.unseen = int((is_forced & ~within[..., slots].any(-1)).sum())
        if counts.sensor or counts.touching or counts.forced:
            found.bodies[name] = counts
    return found


def contacts_of_slots(pairs: ContactPairs, geometry: Contacts, spec: RobotSpec) -> Contacts:
    """The contacts of the solver, each at the slots it belongs to; what belongs to none is left out.

    Args:
        pairs: Contacts of the solver.
        geometry: Contacts of all slots before each step, leading dimensions (N, T).
        spec: The robot.
    """
    row, slot, _ = _match(pairs, geometry, spec)
    size = geometry.distance.shape
    flat = ((pairs.env[row] * size[1] + pairs.step[row]) * size[2] + slot).numpy()
    # of several contacts at one slot the deepest counts
    order = np.lexsort((pairs.gap[row].numpy(), flat))
    _, first = np.unique(flat[order], return_index=True)
    chosen = torch.from_numpy(order[first])
    row, slot = row[chosen], slot[chosen]
    at = (pairs.env[row], pairs.step[row], slot)
    found = Contacts.none(size[:2], size[2])
    radius = torch.tensor([item.radius for item in spec.slots])
    surface = _surface(geometry, radius)[at]
    is_on_ground = (pairs.point[row] - geometry.point[at]).norm(dim=-1) < (pairs.point[row] - surface).norm(dim=-1)
    below = pairs.point[row] - pairs.gap[row, None] * pairs.normal[row]
    found.distance[at] = pairs.gap[row] + radius[slot]
    found.normal[at] = pairs.normal[row]
    found.point[at] = torch.where(is_on_ground[:, None], pairs.point[row], below)
    found.active[at] = True
    return found


def _match(pairs: ContactPairs, geometry: Contacts, spec: RobotSpec) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Rows and slots that belong together, and the same as a mask, shape (M, K).

    The engine puts a contact point on either of the two surfaces, depending on the shapes; so it is compared with both
    the slot's surface and the ground below it.
    """
    radius = torch.tensor([item.radius for item in spec.slots])
    body_of_slot = torch.tensor([spec.body_names.index(item.body) for item in spec.slots], dtype=torch.long)
    at = (pairs.env, pairs.step)
    point = pairs.point[:, None]
    near = (point - _surface(geometry, radius)[at]).norm(dim=-1) < TOLERANCE
    near |= (point - geometry.point[at]).norm(dim=-1) < TOLERANCE
    near &= geometry.active[at] & (body_of_slot == pairs.body[:, None])
    row, slot = near.nonzero(as_tuple=True)
    return row, slot, near


def _surface(geometry: Contacts, radius: torch.Tensor) -> torch.Tensor:
    """The point of each slot's surface that is nearest to the ground, shape (N, T, K, 3)."""
    return geometry.point + (geometry.distance - radius)[..., None] * geometry.normal
