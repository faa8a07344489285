# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""``nerd train --augment``: networks in the mechanics of what is trained, or a message that says what is missing."""

from __future__ import annotations

import pytest

from nerd_core.cli.train import may_choose, parse
from nerd_core.mechanics.augmentation.blueprints import Blueprint
from nerd_core.training.config import TrainingError

TEXTS = ("joint_torque<-joint_pos,joint_vel; odd", "body_force<-body_lin_vel; hidden=8")
WORDS = ["data", "--out", "run"]


@pytest.mark.parametrize("option", ["--augment", "--prior.blueprints"])
def test_both_names_of_the_option_say_the_same(option):
    """Blueprints of the short option and of the settings of the prior end in the same settings."""
    command = parse([*WORDS, "--preset", "mechanics", option, *TEXTS])
    assert command.predictor.prior.blueprints == tuple(map(Blueprint.parse, TEXTS))
    assert not may_choose(command)


def test_a_network_behind_gets_mechanics_before_it():
    """Without a preset of mechanics, blueprints stand in mechanics before the network of the preset."""
    command = parse([*WORDS, "--preset", "residual", "--augment", TEXTS[0]])
    assert command.predictor.network is not None
    assert command.predictor.prior.kind == "mechanics"


def test_other_priors_are_refused():
    """A prior without mechanics, or with blueprints already, is refused with what to say instead."""
    for words in (["--prior", "free_fall"], ["--prior", "mechanics", "--prior.blueprints", TEXTS[1]]):
        with pytest.raises(TrainingError, match="expected mechanics without other blueprints"):
            parse([*WORDS, *words, "--augment", TEXTS[0]])


def test_what_is_not_a_blueprint_is_named():
    """A text that is no blueprint is answered by what is wrong with it."""
    with pytest.raises(ValueError, match="quantity 'joint_speed', expected one of"):
        parse([*WORDS, "--preset", "mechanics", "--augment", "joint_torque<-joint_speed"])
