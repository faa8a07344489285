# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Dataclasses to plain JSON values and back."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nerd_core.files.serialization import StructureError, from_plain, to_plain


@dataclass(frozen=True)
class Wheel:
    """A part."""

    radius: float
    kind: Literal["solid", "spoked"] = "solid"


@dataclass(frozen=True)
class Track:
    """Another part."""

    length: float
    links: int = 3


@dataclass(frozen=True)
class Cart:
    """Holds one of every kind of field."""

    name: str
    drive: Wheel | Track
    pose: tuple[float, float]
    wheels: tuple[Wheel, ...] = ()
    spare: Wheel | None = None
    braked: bool = False
    notes: dict[str, int] = field(default_factory=dict)


numbers = st.floats(allow_nan=False)
whole = st.integers(-(2**63), 2**64 - 1)
wheels = st.builds(Wheel, numbers, st.sampled_from(["solid", "spoked"]))
carts = st.builds(
    Cart,
    name=st.text(),
    drive=wheels | st.builds(Track, numbers, whole),
    pose=st.tuples(numbers, numbers),
    wheels=st.lists(wheels, max_size=3).map(tuple),
    spare=st.none() | wheels,
    braked=st.booleans(),
    notes=st.dictionaries(st.text(), whole, max_size=3),
)
leaves = st.none() | st.booleans() | st.integers() | numbers | st.text(max_size=5)
keys = st.sampled_from(["name", "drive", "pose", "radius", "wheels", "notes", "x"])
anything = st.recursive(leaves, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=7))


@settings(deadline=None, max_examples=200)
@given(cart=carts)
def test_round_trip_through_json(cart):
    """What is written as JSON, infinities included, is read back equal."""
    assert from_plain(Cart, json.loads(json.dumps(to_plain(cart), allow_nan=False))) == cart


@settings(deadline=None, max_examples=300)
@given(plain=anything)
def test_anything_else_is_a_clear_error(plain):
    """Arbitrary JSON either is a cart or raises our own error, never another one."""
    try:
        assert isinstance(from_plain(Cart, plain), Cart)
    except StructureError as error:
        assert str(error)


GOOD = {"name": "c", "drive": {"radius": 1.0}, "pose": [0.0, 1.0]}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": 3}, "name: got int 3, expected a str"),
        ({"pose": [0.0]}, "pose: got 1 items, expected 2"),
        ({"pose": [0.0, True]}, r"pose\[1\]: got bool True, expected a number"),
        ({"pose": [0.0, 10**400]}, r"pose\[1\]: got int 1000.*expected a number"),
        ({"pose": [0.0, "nan"]}, r"pose\[1\]: got str 'nan', expected a number"),
        ({"wheels": [{"radius": 1.0, "kind": "square"}]}, r"wheels\[0\].kind: got 'square', expected one of"),
        ({"wheels": [{"kind": "solid"}]}, r"wheels\[0\]: the keys \['radius'\] are missing"),
        ({"colour": "red"}, r"got the unknown keys \['colour'\]"),
        ({"notes": {"a": 2**64}}, "notes.a: got int 18446744073709551616, expected a whole number of 64 bits"),
        ({"notes": {"a": 10**4000}}, r"notes.a: got int 1000+\.\.\., expected a whole number of 64 bits"),
        ({"notes": {"a": 1.5}}, "notes.a: got float 1.5, expected a whole number"),
        ({"drive": {"mass": 1.0}}, "drive: got the unknown keys"),
    ],
)
def test_errors_name_the_place(change, message):
    """The message says where, what was got and what was expected."""
    with pytest.raises(StructureError, match=message):
        from_plain(Cart, {**GOOD, **change})


def test_minus_zero_is_zero():
    """Two numbers that are equal are written alike, so that they hash alike."""
    assert json.dumps(to_plain(Wheel(-0.0))) == json.dumps(to_plain(Wheel(0.0)))


def test_what_cannot_be_read_back_is_not_written():
    """NaN and objects of other kinds are refused."""
    for value in (math.nan, {1, 2}, b"bytes"):
        with pytest.raises(StructureError):
            to_plain(value)
