# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Blueprints: the same as text and as settings, and one clear message for each that cannot be."""

from __future__ import annotations

import pytest

from nerd_core.files.serialization import from_plain, to_plain
from nerd_core.mechanics.augmentation.augmentation import Augmentation
from nerd_core.mechanics.augmentation.blueprints import MAX_BLUEPRINTS, Blueprint
from nerd_core.mechanics.augmentation.quantities import PARAMETERS, QUANTITIES, table
from nerd_core.mechanics.config import MechanicsCfg
from nerd_core.mechanics.multibody import Multibody
from nerd_core.robot.physical_parameters import OWN_SHAPES
from support.identified_arm import arm
from support.robots import ant, with_inertias

TEXTS = [
    "joint_torque<-joint_pos,joint_vel",
    "joint_torque[elbow]<-joint_vel[*],joint_pos[shoulder]; sharing=separate; odd; lower=-2.0; upper=0.5",
    "body_force,body_torque<-body_lin_vel; hidden=8,8,4; activation=elu; scale=3.0; penalty=0.001",
    "damping<-joint_pos; mode=replace",
    "joint_torque[elbow|shoulder]<-joint_vel[shoulder|elbow]",
]


@pytest.mark.parametrize("text", TEXTS)
def test_text_settings_and_plain_values_are_the_same(text):
    """A blueprint comes back from its text and from the plain values of a file."""
    blueprint = Blueprint.parse(text)
    assert Blueprint.parse(str(blueprint)) == blueprint
    assert str(blueprint) == text
    assert from_plain(Blueprint, to_plain(blueprint)) == blueprint


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("joint_torque", "expected outputs<-inputs"),
        ("<-joint_vel", "without outputs"),
        ("joint_torque<-", "without inputs"),
        ("joint_torque<-joint_speed", "quantity 'joint_speed', expected one of joint_pos"),
        ("joint_vel<-joint_pos", "nothing can change it"),
        ("joint_torque,body_force<-gravity", "belong to body and joint"),
        ("joint_torque[*]<-gravity", "expected 'joint_torque' for that of each"),
        ("joint_torque<-joint_vel; lower=1; upper=-1", "contradict each other: expected lower < upper"),
        ("damping<-joint_vel; upper=-1", "never below 0: these bounds contradict each other"),
        ("joint_torque<-joint_vel; upper=nan", "upper=nan, expected a finite number"),
        ("joint_torque<-joint_vel; hidden=0", "hidden=\\(0,\\), expected at least 1"),
        ("joint_torque<-joint_vel; hidden=a", "expected numbers"),
        ("joint_torque<-joint_vel; mode=instead", "mode=instead"),
        ("joint_torque<-joint_vel; wide=8", "option 'wide'"),
        ("joint_torque<-joint_vel,joint_vel", "expected each once"),
        ("contact_distance<-slot_vel; mode=replace", "distances are measured"),
        ("joint_torque<-joint vel", "expected the name of a quantity"),
    ],
)
def test_what_contradicts_itself_is_refused(text, words):
    """A blueprint that names nothing, or asks for what cannot be, is refused with what was got and expected."""
    with pytest.raises(ValueError, match=words):
        Blueprint.parse(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "joint_torque<-joint_vel[elbwo]",
            "no joint of that name, or not twice: expected some of \\['shoulder', 'elbow'\\]",
        ),
        ("joint_torque[hand]<-joint_vel", "no joint of that name"),
        ("joint_torque[elbow|elbow]<-joint_vel", "or not twice"),
        ("contact_distance<-slot_vel", "which has no slots"),
        ("body_force<-joint_vel", "'joint_vel\\[\\*\\]' for that of all joints"),
        ("body_force[lower],body_torque[upper]<-body_lin_vel", "of different bodies"),
    ],
)
def test_what_the_robot_does_not_have_is_refused(text, words):
    """A blueprint for something that a robot does not have is refused by name."""
    with pytest.raises(ValueError, match=words):
        Augmentation(Multibody(arm()), (Blueprint.parse(text),))


def test_there_are_not_endlessly_many():
    """Settings with too many blueprints are refused."""
    with pytest.raises(ValueError, match=f"at most {MAX_BLUEPRINTS}"):
        MechanicsCfg(blueprints=(Blueprint.parse(TEXTS[0]),) * (MAX_BLUEPRINTS + 1))


def test_every_physical_parameter_is_a_quantity():
    """What may differ between environments can be learned, but for lengths and a threshold without derivatives."""
    assert set(PARAMETERS) == set(OWN_SHAPES) - {"bounce_threshold", "parent_pos"}
    assert all(QUANTITIES[name].is_output for name in PARAMETERS)


def test_the_page_has_the_table(repo_root):
    """The table of quantities in the documentation is that of the program."""
    assert table() in (repo_root / "docs" / "blueprints.md").read_text(encoding="utf-8")


def test_networks_are_named_by_what_they_see():
    """Groups of what a network sees bear the names of quantities and elements, and cover all of it."""
    multibody = Multibody(with_inertias(ant()))
    blueprint = Blueprint.parse("joint_torque<-joint_pos,joint_vel[*],gravity,body_lin_vel")
    (networks,) = Augmentation(multibody, (blueprint,)).networks_of()
    groups = networks.input_groups()
    assert groups[0].label == "joint_pos"
    assert groups[1].label == f"joint_vel[{multibody.spec.joint_names[0]}]"
    assert [each.label for each in groups[-2:]] == ["gravity", "body_lin_vel"]
    assert groups[-1].columns.stop == len(networks.input_scale)
