# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Searches from many starts at once: each finds the bottom of its own basin, and hops lead to the deepest."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from nerd_core.identification.many_starts import Box, Ends, ManyStartsCfg, descend_many, hop_many
from nerd_core.identification.parameterisation import IdentificationError

BOX = Box(torch.tensor([0.0, 0.0]), torch.tensor([4.0, 4.0]))
TRUTH = torch.tensor([1.0, 3.0])


def waves(places: Tensor) -> Tensor:
    """Errors of sines whose frequencies are looked for: one deep basin among many."""
    times = torch.linspace(0.0, 4.0, 30)
    return torch.cat([torch.sin(each[:, None] * times) for each in places.unbind(-1)], -1) - torch.cat(
        [torch.sin(each * times) for each in TRUTH]
    )


def starts() -> Tensor:
    """A grid of starts."""
    side = torch.linspace(0.2, 3.8, 6)
    return torch.cartesian_prod(side, side)


def test_a_search_alone_ends_where_it_ends_among_others():
    """Places do not know each other: the end of one is the same with and without the rest."""
    together = descend_many(waves, starts(), BOX)
    alone = [descend_many(waves, start[None], BOX).places[0] for start in starts()]
    torch.testing.assert_close(together.places, torch.stack(alone), rtol=0.0, atol=1e-4)


def test_values_are_those_of_the_places_and_never_rise():
    """What is said of an end is its mean square error, no more than that of its start."""
    ends = descend_many(waves, starts(), BOX)
    torch.testing.assert_close(ends.values, waves(ends.places).square().mean(-1))
    assert bool((ends.values <= waves(starts()).square().mean(-1) + 1e-9).all())


def test_hops_lead_from_poor_basins_to_the_truth():
    """Local search finds the truth from some starts, and hops find it from nearly all of them."""
    cfg = ManyStartsCfg(hops=40, step=0.3)
    local = descend_many(waves, starts(), BOX, cfg)
    hopped = hop_many(waves, local, BOX, cfg)
    found = [((each.places - TRUTH).abs() < 0.01).all(-1).float().mean() for each in (local, hopped)]
    assert 0.05 < found[0] < 0.7 and found[1] > 0.9
    assert bool((hopped.values <= local.values).all())


def test_nothing_leaves_the_box_and_its_edge_is_found():
    """A truth beyond the box leads to the nearest edge, and the other number to its best there."""
    ends = descend_many(lambda places: places - torch.tensor([5.0, 2.0]), starts(), BOX)
    torch.testing.assert_close(ends.places, torch.tensor([4.0, 2.0]).expand(36, 2), rtol=0.0, atol=1e-3)


def test_places_without_numbers_cost_infinitely_much_and_disturb_nobody():
    """Where errors are NaN a search stays, hops leave it, and the others go on."""

    def errors(places: Tensor) -> Tensor:
        return torch.where(places[:, :1] < 1.0, torch.nan, places - torch.tensor([2.0, 2.0]))

    begin = torch.tensor([[0.5, 1.0], [3.0, 3.0]])
    local = descend_many(errors, begin, BOX)
    assert local.values[0] == math.inf and local.values[1] < 1e-6
    hopped = hop_many(errors, Ends(*local), BOX, ManyStartsCfg(hops=20))
    assert bool((hopped.values < 1e-6).all())


def test_a_box_of_contradictions_is_refused():
    """Bounds that leave no room are one message."""
    with pytest.raises(IdentificationError, match="each the smaller one"):
        Box(torch.tensor([1.0]), torch.tensor([0.5]))
