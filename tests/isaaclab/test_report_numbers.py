# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Every number that the report shows is the one of its JSON, in the row and column where it belongs; no engine."""

from __future__ import annotations

import copy
import html
import json
import math
import re
from pathlib import Path
from typing import Any

import pytest
import torch

from nerd_core import checkpoint
from nerd_core.network.architectures.mlp import MlpCfg
from nerd_core.predictor.predictor import Predictor, PredictorCfg
from nerd_isaaclab.demo import recipes, report, results, steps
from nerd_isaaclab.demo.recipe import PolicyTraining, smoke
from support import robots

pytestmark = pytest.mark.unit


def mode(mean: float) -> dict[str, Any]:
    """The scores of one mode of a transfer, all made from its return."""
    return {
        "scores": {
            "return": {"unit": "1", "mean": mean, "std": mean / 10},
            "length": {"unit": "steps", "mean": 2 * mean, "std": mean / 5},
            "speed": {"unit": "m/s", "mean": mean / 100, "std": mean / 1000},
        },
        "terms": {"alive": {"mean": mean + 1, "std": 1.5}},
        "commands": {},
        "ends": {"time_out": (mean - 50) / 100, "cart_out": (150 - mean) / 100, "never": 0.0}
        | {"nerd_guard": max(mean - 120, 0) / 100},
    }


@pytest.fixture
def numbers(tmp_path: Path) -> dict[str, Any]:
    """Gathered numbers of a tiny run whose results all differ."""
    torch.manual_seed(0)
    model = tmp_path / "cartpole"
    checkpoint.save(model, Predictor(robots.cartpole(), PredictorCfg(network=MlpCfg())))
    recipe = smoke(recipes.DEMO["cartpole"])
    policy = recipe.policies[0]
    found: dict[str, Any] = {
        "collect": {"report": {"transitions": 12_800}, "seconds": 1.0},
        "train": {"results": {"validation": {"minutes": 3.25}}, "seconds": 2.0},
        steps.evaluation_name(recipe.evaluations[0]): {
            "protocol": "passive",
            "initial": "task",
            "task": "NeRD-Cartpole",
            "trajectories": 17,
            "diverged": 3,
            "horizons": {
                "100": {"base_position_m": 0.505, "base_orientation_rad": None, "joint_rad": 0.0213},
                "500": {"base_position_m": 2.5, "base_orientation_rad": None, "joint_rad": 0.33},
            },
            "curves": {"joint_m": [0.1, 0.2], "joint_rad": [0.01, 0.02]},
            "seconds": 3.0,
        },
    }
    for seed in policy.seeds:
        found[steps.policy_name(policy, seed, "neural")] = {
            "curve": {"iteration": [0.0], "seconds": [0.0], "length": [9.0], "return": [1.0]},
            "seconds": 4.0,
        }
        found[steps.transfer_name(policy, seed)] = {
            "episodes": 19,
            "reward_gap": 0.25,
            "modes": {"neural": mode(125.0), "physx": mode(100.0)},
            "seconds": 5.0,
        }
    return results.gather(recipe, found, model, ["nerd demo --smoke"])


def tables(page: str) -> list[list[list[str]]]:
    """The cells of each table of a page, as text."""
    return [
        [
            [html.unescape(re.sub(r"<[^>]+>", "", cell)) for cell in re.findall(r"<t[hd]>(.*?)</t[hd]>", row, re.S)]
            for row in re.findall(r"<tr>(.*?)</tr>", table, re.S)
        ]
        for table in re.findall(r"<table.*?</table>", page, re.S)
    ]


def tiles(page: str) -> dict[str, str]:
    """The figures at the head of a page by what they are."""
    return {text: value for value, text in re.findall(r'class="tile"><b>(.*?)</b><span>(.*?)</span>', page, re.S)}


def test_tables_hold_the_numbers_of_the_json(numbers: dict[str, Any], tmp_path: Path):
    """Errors stand in the row of their horizon beside the paper's, returns, terms, scores and ends in the column of
    their mode; shares of ends are per cent.
    """
    page, plain = report.write_report(numbers, {}, tmp_path)
    read = json.loads(plain.read_text())
    errors, returns, parts = tables(page.read_text())[:3]
    paper = read["published"]["passive"]
    for row, (horizon, found) in zip(errors[1:], read["evaluations"][0]["horizons"].items(), strict=True):
        said = [
            report._number(each, unit)
            for name, unit in (("base_position_m", "m"), ("joint_rad", "rad"))
            for each in (found[name], paper[horizon][name])
        ]
        assert row == [f"{horizon} steps", *said]
    assert errors[0] == ["horizon", "base position", "paper", "joints", "paper"]
    assert returns[0] == ["", "return in the model", "return in PhysX", "gap"]
    assert returns[1] == ["seed 0", "125 ± 12.5", "100 ± 10", "+25.00 %"]
    assert parts[0] == ["mean ± std over episodes", "in the model", "in PhysX"]
    assert parts[1:] == [
        ["reward alive", "126 ± 1.5", "101 ± 1.5"],
        ["length [steps]", "250 ± 25", "200 ± 20"],
        ["speed [m/s]", "1.25 ± 0.125", "1 ± 0.1"],
        ["ended by time out", "75.0 %", "50.0 %"],
        ["ended by cart out", "25.0 %", "50.0 %"],
        ["ended by nerd guard", "5.0 %", "0.0 %"],
    ]
    text = page.read_text()
    assert "17 new roll-outs" in text and "in 19 episodes" in text and "3 roll-outs of the model left" in text
    transfer = read["policies"][0]["transfers"][0]
    assert transfer["reward_gap"] == 0.25 and transfer["modes"]["neural"]["scores"]["return"]["mean"] == 125.0


def test_tiles_hold_the_main_numbers(numbers: dict[str, Any]):
    """The head shows the errors of the longest horizon, the gap that is largest in size with its sign, and the time."""
    shown = copy.deepcopy(numbers)
    worse = {**copy.deepcopy(shown["policies"][0]["transfers"][0]), "seed": 1, "reward_gap": -0.4}
    shown["policies"][0]["transfers"].append(worse)
    found = tiles(report.render(shown, {}))
    assert found["base position, mean error over 500 steps"] == "2.5 m"
    assert found["joints, mean error over 500 steps"] == "0.33 rad"
    assert found["reward gap between model and PhysX, largest of all policies"] == "-40.00 %"
    assert found["training of the model"] == "3.2 min"
    assert f"{numbers['model']['parameters']:,}" in found.values()


def test_what_is_not_finite_is_said_in_words(numbers: dict[str, Any], tmp_path: Path):
    """An error that is infinite shows as diverged in its tile and in its row, and as null in the JSON."""
    numbers["evaluations"][0]["horizons"]["500"]["joint_rad"] = math.inf
    page, plain = report.write_report(numbers, {}, tmp_path)
    assert tiles(page.read_text())["joints, mean error over 500 steps"] == "diverged"
    assert tables(page.read_text())[0][2][3] == "diverged"
    assert json.loads(plain.read_text())["evaluations"][0]["horizons"]["500"]["joint_rad"] is None


def result_of(seed: int, mode: str) -> dict[str, Any]:
    """A training whose one return says which it is."""
    curve = {"iteration": [0.0], "seconds": [0.0], "length": [9.0]}
    return {"curve": {**curve, "return": [(seed + (10 if mode == "physx" else 0)) * 0.5]}, "seconds": 1.0}


def transfer_of(seed: int) -> dict[str, Any]:
    """What a transfer has written."""
    return {"reward_gap": seed / 10, "modes": {"physx": {"scores": {}, "per_episode": {"return": [1.0]}}}}


@pytest.mark.parametrize("physx_seeds", [(), (5, 6)])
def test_every_result_is_gathered_under_its_mode_and_seed(physx_seeds: tuple[int, ...], monkeypatch):
    """Curves carry mode and seed of their trainings, returns as published, and transfers the seed of their policy. The
    curve that the repository keeps stands for PhysX where none was trained in it.
    """
    policy = PolicyTraining("NeRD-Cartpole", 1, seeds=(1, 2), physx_seeds=physx_seeds)
    found: dict[str, Any] = {steps.policy_name(policy, seed, "neural"): result_of(seed, "neural") for seed in (1, 2)}
    found |= {steps.policy_name(policy, seed, "physx"): result_of(seed, "physx") for seed in physx_seeds}
    found |= {steps.transfer_name(policy, seed): transfer_of(seed) for seed in (1, 2)}
    monkeypatch.setattr(results, "kept_curve", lambda task: result_of(7, "physx")["curve"])
    gathered = results._policy(policy, found, 0.25, None)
    runs = [(run["mode"], run["seed"], run["curve"]["return"]) for run in gathered["runs"]]
    in_physx = [("physx", seed, [2.0 * (seed + 10)]) for seed in physx_seeds] or [("physx", "kept", [34.0])]
    assert runs == [("neural", 1, [2.0]), ("neural", 2, [4.0]), *in_physx]
    without = {"modes": {"physx": {"scores": {}}}}  # the numbers of each episode stay in their own file
    assert gathered["transfers"] == [
        {"seed": 1, "reward_gap": 0.1, **without},
        {"seed": 2, "reward_gap": 0.2, **without},
    ]


def test_the_row_of_all_seeds_is_the_mean(numbers: dict[str, Any]):
    """With two seeds a row holds the means of the returns by mode, and the gap between these."""
    shown = copy.deepcopy(numbers)
    first = shown["policies"][0]["transfers"][0]
    shown["policies"][0]["transfers"].append(
        {**first, "seed": 1, "modes": {"neural": mode(75.0), "physx": mode(60.0)}, "reward_gap": 0.25}
    )
    returns = tables(report.render(shown, {}))[1]
    assert returns[2] == ["seed 1", "75 ± 7.5", "60 ± 6", "+25.00 %"]
    assert returns[3] == ["all seeds", "100.0", "80.0", "+25.00 %"]
