# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Settings of earlier versions: they are read under the names of today, and nothing else is let through."""

from __future__ import annotations

import copy

import torch

from nerd_core.checkpoint_migration import migrate_config, migrate_tensors, with_earlier_defaults


def test_old_fields_of_mechanics_get_their_new_names():
    """Fields of the mechanics are renamed, the others stay, and what was given is not changed."""
    old = {"model": {"kind": "none", "window": 1}, "ensemble": 1, "free": None}
    plain = {"predictor": {**old, "solver": {"substeps": 4, "soft": 0.1, "scales": [0.5]}}, "training": None}
    before = copy.deepcopy(plain)
    prior = {"kind": "mechanics", "substeps": 4, "compliance": 0.1, "feature_scales": [0.5]}
    assert migrate_config(plain) == {"predictor": {"network": None, "ensemble": 1, "prior": prior}, "training": None}
    assert plain == before


def test_no_substeps_meant_no_mechanics():
    """Mechanics without substeps are no prior, a network of free motion is one, and neither is none."""
    network, free = {"kind": "mlp"}, {"model": {"kind": "residual"}, "token": {}}
    new = migrate_config({"predictor": {"model": network, "solver": {"substeps": 0}, "free": free}})["predictor"]
    assert new == {
        "network": network,
        "prior": {"kind": "free_motion", "network": {"kind": "residual"}, "token": {}},
    }
    assert migrate_config({"predictor": {"model": network}})["predictor"] == {"network": network, "prior": None}


def test_old_tensors_get_their_new_names():
    """Names of tensors follow the modules, also within the free motion; others stay."""
    names = {
        "model.head.bias": "residual.network.head.bias",
        "free.model.head.bias": "prior.predictor.residual.network.head.bias",
        "free.token_normaliser.std": "prior.predictor.residual.token_normaliser.std",
        "missing": "residual.residual_scale",
        "force_scale": "residual.force_scale",
        "_fall.further": "prior.integration_offset",
        "mechanics.solver.constants": "prior.mechanics.solver.constants",
        "change_normaliser.mean": "change_normaliser.mean",
    }
    tensors = {name: torch.zeros(()) for name in names}
    assert list(migrate_tensors(tensors)) == list(names.values())


def test_what_is_not_understood_is_left_to_the_reader():
    """Values of another kind, fields under both names, and two priors at once are left for the reader to refuse."""
    for plain in ({}, {"predictor": None}, {"predictor": {"solver": [1]}}):
        assert migrate_config(plain) == plain
    both = {"predictor": {"solver": {"substeps": 4, "soft": 0.1, "compliance": 0.2}}}
    assert migrate_config(both)["predictor"]["prior"] == {"kind": "mechanics", **both["predictor"]["solver"]}
    two = {"predictor": {"solver": {"substeps": 4}, "free": {"token": {}}}}
    assert migrate_config(two) == two
    clash = {"model.a": torch.zeros(()), "residual.network.a": torch.ones(())}
    assert migrate_tensors(clash) == clash


def test_mechanics_from_before_a_setting_keep_what_there_was():
    """Settings of mechanics that name no law of constraints, in whatever depth, mean the one that there was, and those
    that do not say whether links take turns mean that they do not; a law that is named stays, and so does everything
    else.
    """
    mechanics, named = {"kind": "mechanics", "slots": 5}, {"kind": "mechanics", "constraint_law": "engine"}
    plain = {"prior": mechanics, "network": {"prior": named, "kind": "free_motion"}, "ensemble": 1}
    kept = copy.deepcopy(plain)
    assert with_earlier_defaults(plain) == {
        "prior": {**mechanics, "constraint_law": "fitted", "links_in_turn": False, "touch_order": False},
        "network": {"prior": {**named, "links_in_turn": False, "touch_order": False}, "kind": "free_motion"},
        "ensemble": 1,
    }
    assert plain == kept
