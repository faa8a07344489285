# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What a robot may touch: the interface of a ground, and planes.

A ground answers one question for a batch of points: how far is the surface, which way does it face, and where is its
nearest point. Each environment may have a ground of its own. Surfaces of triangles are in
:mod:`nerd_core.contact.triangle_mesh`; several grounds together are one, too.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import NamedTuple, cast

import torch
from torch import Tensor, nn


class GroundHit(NamedTuple):
    """The ground near a batch of points."""

    distance: Tensor
    """Signed distance to the surface, negative below it [m], shape (N, ...)."""
    normal: Tensor
    """Unit normal of the surface, pointing out of the ground, shape (N, ..., 3)."""
    closest: Tensor
    """Nearest point of the surface, relative to the origin of the environment [m], shape (N, ..., 3)."""


class Ground(nn.Module, ABC):
    """A surface per environment. A module only so that ``.to(device)`` moves it; it has no parameters."""

    @abstractmethod
    def query(self, points: Tensor, env_ids: Tensor | None = None, reach: float | Tensor = float("inf")) -> GroundHit:
        """Finds the surface near points.

        Args:
            points: Points relative to the origin of the environment [m], shape (N, ..., 3).
            env_ids: Environments that the first dimension stands for, shape (N,); all of them in order by default.
            reach: Distance [m] beyond which an answer may be anything that is farther than that, broadcastable to
                (N, ...). Lets a ground look only nearby.
        """


class PlaneGround(Ground):
    """Flat ground, or the union of the half spaces below several planes."""

    normal: Tensor
    offset: Tensor

    def __init__(self, normal: Tensor, offset: Tensor):
        """Sets the planes.

        Args:
            normal: Unit normals that point out of the ground, environment axes, shape (N, 3), or (N, P, 3) for several
                planes an environment; N is 1 when all environments share them.
            offset: Distance of the planes from the origin of the environment along the normals [m], shape (N,) or
                (N, P): points on a plane satisfy ``normal . p = offset``.
        """
        super().__init__()
        if normal.shape[:-1] != offset.shape or normal.shape[-1:] != (3,) or normal.ndim not in (2, 3):
            raise ValueError(
                f"plane ground: got normals of shape {tuple(normal.shape)} and offsets of shape {tuple(offset.shape)}, "
                "expected (N, 3) and (N,), or (N, P, 3) and (N, P)"
            )
        self.register_buffer("normal", normal, persistent=False)
        self.register_buffer("offset", offset, persistent=False)

    @classmethod
    def flat(cls, height: float = 0.0, device: torch.device | str | None = None) -> PlaneGround:
        """Level ground for all environments.

        Args:
            height: Height above the origins of the environments [m].
            device: Where the tensors live.
        """
        return cls(torch.tensor([[0.0, 0.0, 1.0]], device=device), torch.tensor([height], device=device))

    @classmethod
    def from_vector(cls, plane: Tensor) -> PlaneGround:
        """Planes from the form that datasets store: normal and offset in one vector, shape (N, 4)."""
        return cls(plane[..., :3], plane[..., 3])

    def query(self, points: Tensor, env_ids: Tensor | None = None, reach: float | Tensor = float("inf")) -> GroundHit:
        """See :meth:`Ground.query`; the answer is exact at any distance."""
        normal, offset = self.normal, self.offset
        if env_ids is not None and normal.shape[0] > 1:
            normal, offset = normal.index_select(0, env_ids), offset.index_select(0, env_ids)
        if normal.shape[0] not in (1, points.shape[0]):
            raise ValueError(
                f"plane ground: got points of {points.shape[0]} environments, expected {normal.shape[0]} "
                "(pass env_ids to query some of them)"
            )
        middle = (1,) * (points.ndim - 2)
        if normal.ndim == 2:
            normal = normal.view(-1, *middle, 3)
            distance = (points * normal).sum(-1) - offset.view(-1, *middle)
            normal = normal.expand_as(points)
        else:
            planes = normal.shape[1]
            normal = normal.view(-1, *middle, planes, 3)
            distances = (points.unsqueeze(-2) * normal).sum(-1) - offset.view(-1, *middle, planes)
            # A union of solids is as near as its nearest part.
            distance, nearest = distances.min(dim=-1)
            normal = torch.take_along_dim(
                normal.expand(*points.shape[:-1], planes, 3), nearest[..., None, None], dim=-2
            )
            normal = normal.squeeze(-2)
        return GroundHit(distance, normal, points - distance.unsqueeze(-1) * normal)


class UnionGround(Ground):
    """Several grounds at once, for instance a plane and the tables on it: a union of solids is as near as its nearest
    part. Below the surface of one part the others count as well, so grounds should not lie deep inside each other.
    """

    def __init__(self, parts: Sequence[Ground]):
        """Sets the parts.

        Args:
            parts: The grounds, at least one.
        """
        super().__init__()
        if not parts:
            raise ValueError("union of grounds: got no ground, expected at least one")
        self.parts = nn.ModuleList(parts)

    def query(self, points: Tensor, env_ids: Tensor | None = None, reach: float | Tensor = float("inf")) -> GroundHit:
        """See :meth:`Ground.query`."""
        first, *others = cast(Iterable[Ground], self.parts)
        found = first.query(points, env_ids, reach)
        for part in others:
            other = part.query(points, env_ids, reach)
            nearer = other.distance < found.distance
            found = GroundHit(
                torch.where(nearer, other.distance, found.distance),
                torch.where(nearer.unsqueeze(-1), other.normal, found.normal),
                torch.where(nearer.unsqueeze(-1), other.closest, found.closest),
            )
        return found
