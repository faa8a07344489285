# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Vectors with the batch in the last dimension: products, rotations and lengths.

Example::

    velocity_in_root = rotate_inverse(root_rotation, velocity)  # (3, 3, M) and (..., 3, M)
"""

from __future__ import annotations

import torch
from torch import Tensor


def cross(a: Tensor, b: Tensor) -> Tensor:
    """Vector products of tensors with the vector in the last but one dimension."""
    ax, ay, az = a.unbind(-2)
    bx, by, bz = b.unbind(-2)
    return torch.stack((ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx), dim=-2)


def rotate(rotation: Tensor, vector: Tensor) -> Tensor:
    """``R v``: vectors from the rotated axes to the outer ones.

    Args:
        rotation: Rotation matrices, shape (3, 3, M).
        vector: Vectors, shape (..., 3, M).
    """
    return (rotation * vector.unsqueeze(-3)).sum(-2)


def rotate_inverse(rotation: Tensor, vector: Tensor) -> Tensor:
    """``transpose(R) v``: vectors from the outer axes to the rotated ones; arguments as of :func:`rotate`."""
    return (rotation * vector.unsqueeze(-2)).sum(-3)


def length(vectors: Tensor, epsilon: float) -> Tensor:
    """Lengths of vectors, never quite zero, so that their derivatives are finite.

    Args:
        vectors: Vectors, with their components in the *first* dimension.
        epsilon: What is added to the squares.
    """
    if len(vectors) == 2:  # two operations less for each contact and substep
        x, y = vectors.unbind()
        return torch.addcmul(x * x + epsilon, y, y).sqrt()
    return (vectors.square().sum(0) + epsilon).sqrt()


__all__ = ["cross", "length", "rotate", "rotate_inverse"]
