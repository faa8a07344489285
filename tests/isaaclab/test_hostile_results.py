# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Results and step costs that somebody else may have written: text on the page, or a sentence."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from nerd_core import checkpoint
from nerd_core.network.architectures.mlp import MlpCfg
from nerd_core.predictor.config import PredictorCfg
from nerd_core.predictor.predictor import Predictor
from nerd_isaaclab.demo import phases, recipes, report, results
from nerd_isaaclab.demo.phases import PhaseError
from nerd_isaaclab.demo.recipe import smoke
from support import robots
from support.demo_results import phase_results

pytestmark = pytest.mark.unit

EVIL = "<code><img src=x onerror=alert(1)>"


class _Tags(HTMLParser):
    """All elements that a page opens."""

    def __init__(self, text: str):
        super().__init__()
        self.found: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.found.add(tag)


def leaves(tree: Any, path: tuple = ()) -> Iterator[tuple]:
    """Places of all plain values in a tree."""
    for key in tree if isinstance(tree, dict) else range(len(tree)):
        if isinstance(tree[key], (dict, list)):
            yield from leaves(tree[key], (*path, key))
        else:
            yield (*path, key)


def test_nothing_in_the_results_is_taken_for_html(tmp_path: Path, monkeypatch):
    """Every value in turn is HTML: the page shows it as text, or the results are refused in a sentence."""
    model = checkpoint.save(tmp_path / "model", Predictor(robots.cartpole(), PredictorCfg(network=MlpCfg(hidden=(8,)))))
    numbers = results.gather(smoke(recipes.DEMO["cartpole"]), phase_results(), model, ["nerd demo --smoke"])
    numbers["evaluations"][0]["curves"] = {"joint_m": [0.1]}
    cost = {"num_envs": 512, "ant_512": 0.7, "ant_ms": {"physx": 3.0, "neural": 2.0}, "ant_model": "a"}
    sound = {"results": {**numbers, "step_cost": cost}, "clips": {"robot": {"name": "a"}, "clips": [{"label": "b"}]}}
    monkeypatch.setattr(report, "chart", lambda *_, **__: "")  # takes a second; test_demo_report has its names
    shown = 0
    for path in leaves(sound):
        if path[1] in ("recipe", "schema", "seconds") or "return" in path[:-1]:  # not on the page, or drawn
            continue
        broken = copy.deepcopy(sound)
        holder: Any = broken
        for key in path[:-1]:
            holder = holder[key]
        holder[path[-1]] = EVIL
        try:
            with phases.explained_results(tmp_path):
                text = report.render(broken["results"], broken["clips"])
        except PhaseError as error:
            assert 20 < len(str(error)) < 500
        else:
            assert "img" not in _Tags(text).found, path
            shown += "&lt;img" in text
    assert shown > 10
    assert "innerHTML" not in (report.PAGE / "page.js").read_text()


@pytest.mark.parametrize(
    "changes",
    [
        {"num_envs": "<script>alert(1)</script>"},
        {"num_envs": 0},
        {"num_envs": True},
        {"num_envs": 10**60},
        {"num_envs": [512]},
        {"load_before": "x"},
        {"load_before": None},
        {"ant_ms": 3},
        {"ant_ms": {}},
        {"ant_ms": {"physx": "1", "neural": 2}},
        {"ant_ms": {"physx": 1e300, "neural": 2}},
        {"ant_512": "0.7"},
        {"ant_parts_ms": []},
        {"ant_parts_ms": {"network": None}},
        {"ant_parts_ms": {str(i): 1.0 for i in range(1000)}},
        {"ant_model": ["x"]},
    ],
    ids=lambda changes: str(changes)[:40],
)
def test_hostile_step_costs_are_refused(changes: dict, tmp_path: Path):
    """Words for numbers, wrong structures and absurd sizes are named before anything is run."""
    sound = {"num_envs": 512, "ant_512": 0.7, "ant_ms": {"physx": 3.0, "neural": 2.0}, "load_before": 0.1}
    (tmp_path / "cost.json").write_text(json.dumps(sound | changes))
    with pytest.raises(PhaseError, match="holds no step costs") as refused:
        results.read_step_cost(tmp_path / "cost.json")
    assert len(str(refused.value)) < 500


@pytest.mark.parametrize("content", [b"", b"[" * 10**5, b'{"num_envs": NaN}', b"[" + b"9" * 4000 + b"]", b"\xff"])
def test_step_costs_that_are_no_json_are_refused(content: bytes, tmp_path: Path):
    """Empty and deep documents, words for numbers, numbers of 4,000 digits, and what is no text."""
    (tmp_path / "cost.json").write_bytes(content)
    with pytest.raises(PhaseError, match="cannot be read") as refused:
        results.read_step_cost(tmp_path / "cost.json")
    assert len(str(refused.value)) < 500


def test_hostile_results_of_phases_are_made_again(tmp_path: Path):
    """What is no result, or has no time, counts as not done."""
    (tmp_path / phases.KEY).write_text("key")
    for content in ("", "[]", "3", "{}", '{"seconds": "x"}', '{"seconds": -1}', '{"seconds": 1e999}', "[" * 10**5):
        (tmp_path / phases.RESULT).write_text(content)
        assert phases.read_result(tmp_path, "key") is None
    (tmp_path / phases.RESULT).write_text('{"seconds": 3, "x": NaN}')
    done = phases.read_result(tmp_path, "key")
    assert done is not None and done["seconds"] == 3
