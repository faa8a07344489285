# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Materials are combined as PhysX combines them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from nerd_core.robot.materials import CombineMode, Material, combined

ROUGH, SMOOTH = Material(0.8, 0.6, 0.5), Material(1.0, 0.2, 0.1)


@pytest.mark.parametrize(
    ("mode", "expected"),
    [("average", (0.9, 0.4)), ("min", (0.8, 0.2)), ("multiply", (0.8, 0.12)), ("max", (1.0, 0.6))],
)
def test_friction_is_combined_in_the_way_that_is_asked_for(mode: CombineMode, expected: tuple[float, float]):
    """Each way gives its number for friction at rest and of sliding, whichever of the two materials asks for it, and
    leaves restitution to its own way.
    """
    for pair in ((replace(ROUGH, friction_combine=mode), SMOOTH), (ROUGH, replace(SMOOTH, friction_combine=mode))):
        both = combined(*pair)
        assert (both.static_friction, both.dynamic_friction) == pytest.approx(expected)
        assert both.restitution == pytest.approx(0.3)


def test_of_two_ways_the_stronger_one_is_taken():
    """Average gives way to the smaller number, that to the product, and all to the larger number."""
    order: tuple[CombineMode, ...] = ("average", "min", "multiply", "max")
    for weaker, stronger in zip(order, order[1:], strict=False):
        both = combined(replace(ROUGH, friction_combine=stronger), replace(SMOOTH, friction_combine=weaker))
        assert both.friction_combine == stronger


def test_friction_at_rest_is_never_less_than_that_of_sliding():
    """Where numbers would say that something at rest is held by less than something that slides, it is held as well."""
    assert combined(Material(0.1, 0.6), Material(0.1, 0.6)).static_friction == 0.6
