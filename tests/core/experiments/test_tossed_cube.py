# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The tossed cube: its paths depend on what is looked for, and the smoke run finds it."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from nerd_core.experiments import tossed_cube
from nerd_core.experiments.tossed_cube import EXPERIMENT, TossedCubeCfg, Tosses
from nerd_core.identification.many_starts import Box, Ends


def test_friction_brakes_and_restitution_lifts():
    """A rough cube slides less far than a smooth one, and one that bounces rises higher after its first impact."""
    tosses = Tosses(replace(EXPERIMENT.smoke, steps=60, tosses=4))
    paths = tosses.paths(torch.tensor([[0.05, 0.0], [0.8, 0.0], [0.05, 0.8]]), tosses.searched)
    way, height = paths[..., -1, 0].mean(1), paths[..., 35:, 2].amax(-1).mean(1)
    assert way[0] > way[1] + 0.05 and height[2] > height[0] + 0.02


def test_the_truth_has_no_error():
    """Errors are zero for the true parameters and not for others; those of one start do not hang on another's."""
    tosses = Tosses(EXPERIMENT.smoke)
    errors = tosses.errors(torch.tensor([EXPERIMENT.smoke.truth, (0.8, 0.1)]))
    assert float(errors[0].abs().max()) < 1e-5 and float(errors[1].square().mean()) > 1e-4
    torch.testing.assert_close(tosses.errors(torch.tensor([[0.8, 0.1]]))[0], errors[1], rtol=1e-3, atol=1e-4)


def test_the_smoke_run_matches_paths_it_was_not_given():
    """On other tosses what was found is many times nearer to the truth than the wrong start."""
    figures = EXPERIMENT.run(EXPERIMENT.smoke, lambda _: None).figures
    assert figures["matching_share"] > 0.5
    assert figures["path_error_found_m"] < 0.2 * figures["path_error_start_m"]
    assert abs(figures["friction_found"] - 0.2) < 0.02


def test_a_truth_at_the_edge_is_refused():
    """Contradictory settings are one message."""
    with pytest.raises(ValueError, match="expected friction and restitution between"):
        TossedCubeCfg(truth=(0.2, 0.95))


def test_a_search_that_grows_looks_at_less_first(monkeypatch: pytest.MonkeyPatch):
    """Hops are made with the first part of the paths; the last search looks at all of them, and goes on from where the
    others ended. Shares that do not end with all are refused.
    """
    settings = replace(EXPERIMENT.smoke, steps=50, growth=(0.6, 0.8, 1.0))
    asked: list[tuple[str, int, float]] = []

    def searched(word: str):
        def ends(errors, places, box, cfg, say=None):
            asked.append((word, errors.keywords["steps"], float(places[0].mean())))
            return Ends(places + 0.01, torch.zeros(len(places)))

        return ends

    monkeypatch.setattr(tossed_cube, "descend_many", searched("local"))
    monkeypatch.setattr(tossed_cube, "hop_many", lambda e, at, b, c, say: searched("hops")(e, at.places, b, c))
    starts, box = torch.full((3, 2), 0.5), Box(torch.zeros(2), torch.ones(2))
    tossed_cube.grown(Tosses(settings), starts, box, settings, settings.search, lambda _: None)
    assert [each[:2] for each in asked] == [("local", 30), ("hops", 30), ("local", 40), ("local", 50)]
    assert [each[2] for each in asked] == pytest.approx([0.5, 0.51, 0.52, 0.53])
    for growth in ((0.5,), (1.0, 0.5), ()):
        with pytest.raises(ValueError, match="the last of them 1"):
            TossedCubeCfg(growth=growth)


def test_what_was_found_is_judged_on_other_tosses():
    """Distances and angles are means over the tosses that were not searched with."""
    tosses = Tosses(EXPERIMENT.smoke)
    contacts = torch.tensor([[0.8, 0.1]])
    every = tosses.paths(contacts, slice(None))[0, EXPERIMENT.smoke.tosses :]
    truth, at = tosses.truth[0, EXPERIMENT.smoke.tosses :], tosses.predictor.spec.state.root_pos
    apart = (every - truth)[..., at].norm(dim=-1).mean()
    assert tossed_cube._off(tosses, contacts)[0] == pytest.approx(float(apart), rel=1e-3)
