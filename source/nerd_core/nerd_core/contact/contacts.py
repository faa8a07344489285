# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Contacts between the points of a robot and the ground.

A contact slot is a point of the robot that is always asked the same question: how far is the ground? The answer enters
the model only when it is near (NeRD, section 3.2; the constants are those of the published code). The model never sees
which contact *forces* act, only geometry, so a robot may meet other ground than it was trained on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from ..robot.kinematics import ForwardKinematics, rotate_by
from ..robot.spec import RobotSpec
from .grounds import Ground

SAME_PLACE = 1.0e-4
"""Distance below which two slots are in the same place [m]."""

_POSES = 4
"""Poses of the joints in which they have to be."""


@dataclass(frozen=True)
class Contacts:
    """What all contact slots see of the ground. Entries of slots that are not active are exactly zero."""

    distance: Tensor
    """Signed distance from the slot's point to the ground [m], the radius *not* taken off, shape (..., K)."""
    normal: Tensor
    """Unit normal of the ground at the closest point, environment axes, shape (..., K, 3)."""
    point: Tensor
    """Closest point of the ground, relative to the origin of the environment [m], shape (..., K, 3)."""
    active: Tensor
    """Whether the ground is near enough to matter, shape (..., K), bool."""

    @classmethod
    def gated(cls, distance: Tensor, normal: Tensor, point: Tensor, gate: Tensor) -> Contacts:
        """Keeps what is nearer than the gate and sets the rest to zero.

        Args:
            distance: Signed distances [m], shape (..., K).
            normal: Normals, shape (..., K, 3).
            point: Closest points [m], shape (..., K, 3).
            gate: Distance [m] below which a slot is active, shape (K,).
        """
        active = distance < gate
        far = ~active
        far_vector = far.unsqueeze(-1)
        return cls(
            distance.masked_fill(far, 0.0),
            normal.masked_fill(far_vector, 0.0),
            point.masked_fill(far_vector, 0.0),
            active,
        )

    @classmethod
    def none(cls, lead: Sequence[int], slots: int, device: torch.device | str | None = None) -> Contacts:
        """No active contact at all, for leading dimensions ``lead`` and ``slots`` slots."""
        zeros = torch.zeros(*lead, slots, device=device)
        vectors = torch.zeros(*lead, slots, 3, device=device)
        return cls(zeros, vectors, vectors.clone(), torch.zeros(*lead, slots, dtype=torch.bool, device=device))

    @classmethod
    def cat(cls, items: Sequence[Contacts], dim: int = 0) -> Contacts:
        """Joins along a leading dimension (count it from the front)."""
        return cls(*(torch.cat(parts, dim) for parts in zip(*(item.tensors() for item in items), strict=True)))

    @classmethod
    def stack(cls, items: Sequence[Contacts], dim: int = 0) -> Contacts:
        """Joins along a new leading dimension (count it from the front)."""
        return cls(*(torch.stack(parts, dim) for parts in zip(*(item.tensors() for item in items), strict=True)))

    @property
    def lead(self) -> torch.Size:
        """Leading dimensions."""
        return self.distance.shape[:-1]

    def tensors(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Distance, normal, point and active."""
        return self.distance, self.normal, self.point, self.active

    def map(self, function: Callable[[Tensor], Tensor]) -> Contacts:
        """Applies a function to each of the four tensors."""
        return Contacts(*(function(tensor) for tensor in self.tensors()))

    def __getitem__(self, index: Any) -> Contacts:
        """Indexes the leading dimensions."""
        return self.map(lambda tensor: tensor[index])

    def reshape(self, *lead: int) -> Contacts:
        """Gives the leading dimensions another shape."""
        count = len(self.lead)
        return self.map(lambda tensor: tensor.reshape(*lead, *tensor.shape[count:]))

    def to(self, device: torch.device | str) -> Contacts:
        """Moves to a device."""
        return self.map(lambda tensor: tensor.to(device))

    def detach(self) -> Contacts:
        """Cuts the gradient."""
        return self.map(Tensor.detach)


class ContactModel(nn.Module):
    """Contacts of a robot with a ground, from its states. Has no parameters."""

    gate: Tensor
    """Distance below which each slot is active [m], shape (K,)."""
    _row: Tensor
    _point: Tensor

    def __init__(self, spec: RobotSpec):
        """Precomputes the slots.

        Args:
            spec: The robot.
        """
        super().__init__()
        self.spec = spec
        self.kinematics = ForwardKinematics(spec)
        body = torch.tensor([spec.body_names.index(slot.body) for slot in spec.slots], dtype=torch.long)
        point = torch.tensor([slot.point for slot in spec.slots], dtype=torch.float32).reshape(-1, 3)
        gate = torch.tensor([slot.gate for slot in spec.slots], dtype=torch.float32)
        self.register_buffer("_row", self.kinematics.row_of_body[body], persistent=False)
        self.register_buffer("_point", point.unsqueeze(-1), persistent=False)
        self.register_buffer("gate", gate, persistent=False)

    def forward(self, state: Tensor, ground: Ground, env_ids: Tensor | None = None) -> Contacts:
        """Contacts of the robot in a state.

        Args:
            state: States, shape (N, ..., S).
            ground: The ground.
            env_ids: Environments that the first dimension stands for, shape (N,); all of them in order by default.

        Returns:
            Contacts with the leading dimensions of ``state``.
        """
        transforms = self.kinematics.place(state.reshape(-1, self.spec.state.dim))
        return self._query(transforms.index_select(0, self._row), state.shape[:-1], ground, env_ids)

    def slot_points(self, state: Tensor) -> Tensor:
        """Where the slots are, relative to the origin of the environment [m], shape (..., K, 3).

        Args:
            state: States, shape (..., S).
        """
        transforms = self.kinematics.place(state.reshape(-1, self.spec.state.dim))
        return self._points(transforms.index_select(0, self._row), state.shape[:-1])

    def _points(self, transforms: Tensor, lead: torch.Size) -> Tensor:
        """Points of the slots from the transform of each slot's body, shape (K, 3, 4, M)."""
        points = rotate_by(transforms, self._point, transforms[:, :, 3])
        return points.permute(2, 0, 1).reshape(*lead, len(self.spec.slots), 3)

    def _query(self, transforms: Tensor, lead: torch.Size, ground: Ground, env_ids: Tensor | None) -> Contacts:
        """Contacts from the transform of each slot's body, shape (K, 3, 4, M)."""
        points = self._points(transforms, lead)
        hit = ground.query(points, env_ids, self.gate)
        return Contacts.gated(hit.distance, hit.normal, hit.closest, self.gate)


def distinct_slots(spec: RobotSpec) -> list[int]:
    """Slots without those that always are where an earlier one of the same size is.

    Args:
        spec: The robot.
    """
    with torch.device("cpu"):  # numbers are needed, even where a network is only sketched on the device "meta"
        state = torch.rand(_POSES, spec.state.dim, generator=torch.Generator().manual_seed(0))
        points = ContactModel(spec).slot_points(state)
    found: list[int] = []
    for index, slot in enumerate(spec.slots):
        twins = [other for other in found if spec.slots[other].radius == slot.radius]
        distances = (points[:, index : index + 1] - points[:, twins]).abs().amax(dim=(0, 2))
        if not bool((distances < SAME_PLACE).any()):
            found.append(index)
    return found
