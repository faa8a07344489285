# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Physical parameters as free numbers: what any vector stands for, and what is refused."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from nerd_core.identification.parameterisation import (
    GROUPS,
    SMALLEST_START,
    IdentificationError,
    Parameterisation,
    second_moments,
)
from nerd_core.robot.physical_parameters import specification_with, specified
from support.identified_arm import arm
from support.robots import ant, with_inertias


def test_zeros_stand_for_the_specification():
    """All zeros give the parameters that the specification holds; joints without a parameter get its smallest start."""
    spec = arm()
    made, known = (
        Parameterisation(spec, GROUPS)(torch.zeros(Parameterisation(spec, GROUPS).dim).double()),
        specified(spec),
    )
    for name in made.given:
        expected = getattr(known, name).double()
        if name in ("stiffness", "damping"):
            expected = torch.full_like(
                expected, SMALLEST_START[{"stiffness": "stiffnesses", "damping": "dampings"}[name]]
            )
        torch.testing.assert_close(getattr(made, name), expected, rtol=1e-6, atol=1e-9)


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 10**6), size=st.floats(0.1, 3.0))
def test_any_vector_stands_for_a_robot_that_can_exist(seed: int, size: float):
    """Masses, frictions and gains are positive; principal moments are positive and fulfil the triangle inequality."""
    spec = with_inertias(ant())
    parameterisation = Parameterisation(spec, ["masses", "centres", "inertias", "armatures", "frictions"])
    free = size * torch.randn(parameterisation.dim, generator=torch.Generator().manual_seed(seed)).double()
    made = parameterisation(free)
    assert made.mass is not None and made.armature is not None and made.joint_friction is not None
    assert made.inertia is not None
    assert bool((made.mass > 0).all() and (made.armature > 0).all() and (made.joint_friction > 0).all())
    moments = torch.linalg.eigvalsh(made.inertia)
    assert bool((moments > 0).all())
    assert bool((moments[:, 0] + moments[:, 1] - moments[:, 2] > -1e-9 * moments[:, 2]).all())
    specification_with(spec, made)  # which checks it once more


def test_bounds_are_kept():
    """Values stay between their bounds however far the free numbers go, and begin where the specification says."""
    parameterisation = Parameterisation(arm(), ["masses"], {"masses": (0.1, 2.0)})
    for size in (-50.0, 0.0, 50.0):
        values = parameterisation.values(torch.full((2,), size).double())["masses"][1:]
        assert bool((values >= 0.1).all() and (values <= 2.0).all())
    start = parameterisation.values(torch.zeros(2).double())["masses"][1:]
    torch.testing.assert_close(start, torch.tensor([0.5, 0.6]).double(), rtol=1e-6, atol=0.0)


def test_the_root_of_a_fixed_base_is_left_alone():
    """What cannot move has no free number."""
    assert Parameterisation(arm(), ["masses"]).names == ("masses: upper", "masses: lower")


def test_second_moments_of_a_box():
    """A box of edges a, b, c has the second moments m/12 (a^2, b^2, c^2)."""
    a, b, c = 0.3, 0.2, 0.5
    inertia = torch.diag(torch.tensor([b * b + c * c, a * a + c * c, a * a + b * b]).double()) / 12.0
    expected = torch.diag(torch.tensor([a * a, b * b, c * c]).double()) / 12.0
    torch.testing.assert_close(second_moments(inertia), expected)


@pytest.mark.parametrize(
    ("groups", "bounds", "words"),
    [
        (["mass"], {}, "unknown parameters mass"),
        (["masses"], {"masses": (2.0, 1.0)}, "smaller than the upper one"),
        (["masses"], {"masses": (1.0, 2.0)}, "'upper' starts at 0.5"),
        (["masses"], {"frictions": (0.0, 1.0)}, "bounds of frictions"),
        (["inertias"], {"inertias": (0.0, 1.0)}, "bounds of inertias"),
        (["masses"], {"masses": (float("nan"), 1.0)}, "got the bounds nan"),
    ],
)
def test_contradictions_are_refused(groups, bounds, words):
    """What contradicts itself is one clear message."""
    with pytest.raises(IdentificationError, match=words):
        Parameterisation(arm(), groups, bounds)


def test_lengths_move_joints_away_from_their_parents():
    """Only the elbow is away from its parent's frame: its distance grows by a factor, its direction stays; a robot
    with contact slots, whose contacts would not follow, is refused.
    """
    parameterisation = Parameterisation(arm(), ["lengths"])
    assert parameterisation.names == ("lengths: lower",)
    made = parameterisation(torch.tensor([0.5]).double().log()).parent_pos
    assert made is not None
    torch.testing.assert_close(made, torch.tensor([[0.0] * 3, [0.0] * 3, [0.0, 0.0, -0.1]]).double())
    with pytest.raises(IdentificationError, match="contact slots"):
        Parameterisation(with_inertias(ant()), ["lengths"])


def test_what_is_not_named_stays():
    """With ``only`` the parameters of other bodies and joints stay as the specification has them, also where the search
    would begin elsewhere than at zero; gravity is the robot's. A name of nothing and a broken expression are refused.
    """
    spec = arm(friction=0.0)
    found = Parameterisation(spec, ["masses", "centres", "frictions", "gravity"], only="lower|elbow")
    axes = "xyz"
    names = [
        "masses: lower",
        *(f"centres: lower {a}" for a in axes),
        "frictions: elbow",
        *(f"gravity: {a}" for a in axes),
    ]
    assert list(found.names) == names
    values = found(torch.full((found.dim,), 0.1, dtype=torch.float64))
    own = specified(spec)
    assert values.mass[1] == own.mass[1] and float(values.mass[2] / own.mass[2]) == pytest.approx(math.exp(0.1))
    torch.testing.assert_close(values.centre_of_mass[:2].float(), own.centre_of_mass[:2])
    assert bool((values.centre_of_mass[2] != own.centre_of_mass[2]).all())
    assert values.joint_friction[0] == 0.0 and float(values.joint_friction[1]) == pytest.approx(0.02 * math.exp(0.1))
    bodies = Parameterisation(spec, ["masses", "viscous_frictions"], only="lower")  # which is no joint
    left = bodies(torch.full((1,), 0.1, dtype=torch.float64))
    assert bodies.names == ("masses: lower",) and left.joint_viscous_friction.tolist() == pytest.approx([0.01, 0.01])
    everything = Parameterisation(spec, ["masses"], only=".*")
    assert everything.names == Parameterisation(spec, ["masses"]).names
    for only, words in (("wrist", "the name of no body or joint"), ("(", "a regular expression")):
        with pytest.raises(IdentificationError, match=words):
            Parameterisation(spec, ["masses"], only=only)
