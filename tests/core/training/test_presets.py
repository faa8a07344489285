# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Models by name."""

from __future__ import annotations

from typing import get_args

import pytest

from nerd_core.checkpoint_limits import expected_tensors
from nerd_core.training.presets import DEFAULT_MINUTES, PRESETS, PresetName
from support.checkpoints import pendulum
from support.robots import with_inertias
from support.tosses import CUBE


def test_every_name_has_a_preset():
    """The names that the command line offers are those of the table."""
    assert set(get_args(PresetName)) == set(PRESETS)


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_can_be_built(name: PresetName):
    """Every preset gives a model that can be built, and a training with the default budget."""
    spec = CUBE if name == "measured" else with_inertias(pendulum())
    assert expected_tensors(spec, PRESETS[name].predictor)
    assert PRESETS[name].training.minutes == DEFAULT_MINUTES and PRESETS[name].training.updates is None


@pytest.mark.parametrize("name", PRESETS)
def test_networks_with_memory_learn_from_windows(name: PresetName):
    """A network that sees the past is trained on windows longer than what it sees; others on single transitions."""
    network, length = PRESETS[name].predictor.network, PRESETS[name].training.window_length
    window = 1 if network is None else getattr(network, "window", 2)
    assert length > window if window > 1 else length == 1
