# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Contacts of one shape as a patch: friction acts at two of them, and feels what presses all of them.

A box that lies on a face touches with four corners. PhysX holds each by its normal, and then rubs at two anchors, the
points of the patch that are farthest apart, each of which may have half of the friction that all normals together
allow. Which of the two diagonals of a face that is follows from the order in which the engine goes over the corners,
and so do small turns of a box that slides.

Example::

    patches = find_patches(points, shapes, in_reach)
    pressed = (patches.same[contact] * normal_impulses).sum(0) * patches.share[contact]
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor


class Patches(NamedTuple):
    """Which contacts are patches."""

    same: Tensor
    """One for two contacts of the same shape, else zero, shape (P, P, M)."""
    share: Tensor
    """Share of a patch's friction that a contact may have, shape (P, M): one for a single anchor, a half for each of
    two, zero for contacts that are none."""


def find_patches(points: Tensor, shapes: Tensor, in_reach: Tensor) -> Patches:
    """Patches and anchors, as PhysX finds them: going over the contacts of a shape from the last to the first, the
    first two are anchors, and each other one takes the place of the anchor that is nearer to it, if it is farther from
    the other one than the two are from each other.

    Args:
        points: Where the contacts are [m], shape (P, 3, M).
        shapes: Numbers of their shapes, shape (P, M).
        in_reach: One for contacts that the solver looks at, else zero, shape (P, M).
    """
    count = len(points)
    same = (shapes.unsqueeze(0) == shapes.unsqueeze(1)).to(points.dtype)
    apart = (points.unsqueeze(0) - points.unsqueeze(1)).square().sum(2)
    share = torch.zeros_like(in_reach)
    for first in reversed(range(count)):
        begins = in_reach[first].bool()
        if first + 1 < count:  # whether any of nothing is true is another question in ONNX
            begins = begins & ~(same[first, first + 1 :] * in_reach[first + 1 :]).any(0)
        anchors = [torch.full_like(shapes[0], first), torch.full_like(shapes[0], first)]
        width = torch.zeros_like(apart[0, 0])
        for other in reversed(range(first)):
            member = begins & (same[first, other] * in_reach[other]).bool()
            to_first, to_second = (apart[other].gather(0, each.unsqueeze(0)).squeeze(0) for each in anchors)
            takes_second = member & (to_first >= to_second) & (to_first > width)
            takes_first = member & (to_first < to_second) & (to_second > width)
            width = torch.where(takes_second, to_first, torch.where(takes_first, to_second, width))
            anchors[0] = torch.where(takes_first, other, anchors[0])
            anchors[1] = torch.where(takes_second, other, anchors[1])
        for anchor in anchors:
            half = torch.zeros_like(share).scatter_(0, anchor.unsqueeze(0), 0.5)
            share = share + half * begins.to(share.dtype)
    return Patches(same, share)


__all__ = ["Patches", "find_patches"]
