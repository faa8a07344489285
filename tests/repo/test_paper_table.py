# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The page of the paper's tables says what the files of the evidence say, and what is not there."""

from __future__ import annotations

import importlib
import json
import math
from pathlib import Path
from types import ModuleType

import pytest
import torch

pytestmark = pytest.mark.unit


@pytest.fixture
def program(repo_root: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The program, imported as it is when it runs."""
    monkeypatch.syspath_prepend(str(repo_root / "benchmarks"))
    return importlib.import_module("paper_table")


@pytest.fixture
def returns(program) -> ModuleType:
    """What computes table 1."""
    return importlib.import_module("paper_returns")


def write(folder: Path, name: str, plain: object) -> None:
    """Puts a file into the evidence."""
    (folder / f"{name}.json").write_text(json.dumps(plain), encoding="utf-8")


def pendulum(one: float, two: float, steps: int = 100, protocol: str = "passive") -> dict:
    """An evaluation whose errors are zero in the first half of the steps, and twice the given ones in the other."""
    curves = {
        f"joint/joint_{place}": [0.0] * (steps // 2) + [2.0 * value] * (steps - steps // 2)
        for place, value in enumerate((one, two))
    }
    return {"curves": curves, "protocol": protocol, "task": "T"}


def transfer(task: str, seed: int, neural: float, physx: float, trained_in: str = "neural") -> dict:
    """The transfer of one policy."""
    return {
        "task": task,
        "seed": seed,
        "trained_in": trained_in,
        "reward_gap": (neural - physx) / physx,
        "return_neural": {"mean": neural},
        "return_physx": {"mean": physx},
    }


def test_page_is_that_of_the_evidence(program, repo_root: Path):
    """The page in the repository is what the command writes from the files that are there today."""
    expected = program.page(repo_root / "docs" / "evidence")
    assert (repo_root / "docs" / "paper-tables.md").read_text(encoding="utf-8") == expected, (
        "run 'python benchmarks/paper_table.py'"
    )


def test_empty_evidence_is_said_to_be_missing(program, tmp_path: Path):
    """Without a file the page has the paper's numbers, claims nothing, and names each file that it looked for."""
    text = program.page(tmp_path)
    assert "better in both" not in text and text.count("Nothing measured.") == 2 and "larger gap" not in text
    for name in ("ant_transfers", "ant_network_passive", "pendulum_ground_6", "anymal_driven"):
        assert f"`{name}`" in text.split("## Missing")[1]
    nothing = " | not measured | - | -"
    assert f"| `NeRD-Ant-Run` | 2541.5 | +4.25 % | not measured{nothing}{nothing} |" in text
    assert "| `NeRD-Ant-Spin-Track` | spin rate [rad/s] | 5 |" + " not measured |" * 5 in text


def test_errors_are_means_over_the_steps_of_the_table(program, tmp_path: Path):
    """Each joint's curve is averaged over the first hundred steps, whatever comes behind; a ground counts as better
    only if both joints are below the paper's.
    """
    write(tmp_path, "pendulum_ground_0", pendulum(0.001, 0.002))
    long = pendulum(0.001, 0.002)
    long["curves"] = {name: curve + [9.0] * 50 for name, curve in long["curves"].items()}
    write(tmp_path, "pendulum_ground_1", long)
    write(tmp_path, "pendulum_ground_2", pendulum(0.001, 0.5))
    text = program.grounds(program.Evidence(tmp_path))
    row = next(line for line in text.splitlines() if line.startswith("| hybrid |"))
    assert row == "| hybrid | .001 / .002 | .001 / .002 | .001 / .5 | - | - | - | - |"
    assert "hybrid: better in both joints on 2 of 3 grounds" in text


@pytest.mark.parametrize("wrong", [{"steps": 60}, {"protocol": "driven"}])
def test_other_protocols_are_refused(program, wrong: dict):
    """Roll-outs that are too short, or with efforts, are not compared with the table."""
    with pytest.raises(ValueError, match="expected passive ones of at least 100"):
        program.joint_errors(pendulum(0.001, 0.002, **wrong))


def test_returns_are_of_policies_trained_in_the_model(program, tmp_path: Path):
    """The mean over the seeds is of PhysX, and so is the spread; the gaps are each seed's; what was trained in PhysX
    has a column of its own, where a policy that stands in both files counts once.
    """
    solver = transfer("NeRD-AnymalC-Forward", 0, 390.0, 400.0, trained_in="physx")
    rows = [
        transfer("NeRD-AnymalC-Forward", 0, 101.0, 100.0),
        transfer("NeRD-AnymalC-Forward", 1, 294.0, 300.0),
        transfer("NeRD-AnymalC-Sideways", 1, 7.0, 7.0),
        solver,
    ]
    write(tmp_path, "anymal_transfers", rows)
    write(tmp_path, "anymal_network_transfers", [solver])
    text = program.policies(program.Evidence(tmp_path))[0]
    expected = "| 1323.4 | -0.02 % | 400 (1) | 200 ± 141 (2) | 50.0 % | +1.00 %, -2.00 % | not measured | - | - |"
    assert f"| `NeRD-AnymalC-Forward` {expected}" in text
    said = "hybrid: no seed has a larger gap than the paper on 1 of 2 tasks, at least 97% of the return of those"
    assert f"{said} trained in PhysX on 0 of 1." in text and "network: no seed" not in text


def test_every_seed_must_be_as_near_as_the_paper(program, tmp_path: Path):
    """One seed with a larger gap, of either sign, is enough for a task not to count; the mean return decides whether it
    is as good as those of PhysX.
    """
    for last, near in ((-2.4, 1), (-2.6, 0), (2.6, 0)):
        rows = [transfer("NeRD-Ant-Spin-Track", seed, 100.0 + gap, 100.0) for seed, gap in enumerate((0.1, last))]
        rows += [transfer("NeRD-Ant-Spin-Track", 5, 100.0, 103.0, trained_in="physx")]
        write(tmp_path, "ant_transfers", rows)
        text = program.policies(program.Evidence(tmp_path))[0]
        assert f"gap than the paper on {near} of 1 tasks" in text and "trained in PhysX on 1 of 1." in text


def test_a_seed_that_is_there_twice_is_refused(program, tmp_path: Path):
    """Else it would count twice in the mean."""
    write(tmp_path, "ant_transfers", [transfer("NeRD-Ant-Run", 3, 1.0, 1.0)] * 2)
    with pytest.raises(ValueError, match=r"got the seeds \[3, 3\] of NeRD-Ant-Run.*expected each once"):
        program.policies(program.Evidence(tmp_path))


def test_a_share_has_the_error_of_both_means(returns):
    """It agrees with draws of both means, and says nothing of a return that is not positive."""
    ours, theirs = returns.seeds_of([90.0, 110.0, 100.0]), returns.seeds_of([195.0, 205.0])
    share, error = returns.share_of(ours, theirs)
    generator = torch.Generator().manual_seed(0)
    errors = (10.0 / math.sqrt(3.0), 5.0)
    draw = [
        each.mean + error * torch.randn(200_000, generator=generator)
        for each, error in zip((ours, theirs), errors, strict=True)
    ]
    assert share == pytest.approx(0.5) and error == pytest.approx(float((draw[0] / draw[1]).std()), rel=0.02)
    assert returns.share_of(ours, returns.seeds_of([200.0])) == (pytest.approx(0.5), None)
    assert returns.share_of(ours, returns.seeds_of([-200.0, 100.0])) is None
    assert returns.share_of(None, theirs) is None and returns.seeds_of([]) is None


def test_what_was_asked_stands_beside_what_policies_do(program, tmp_path: Path):
    """Scores of PhysX and of the model each in their column, over the seeds that have them."""

    def scored(seed: int, physx: float, neural: float, **more: str) -> dict:
        spreads = {
            f"scores_{mode}": {"spin_rate": {"mean": value}} for mode, value in (("physx", physx), ("neural", neural))
        }
        return {**transfer("NeRD-Ant-Spin-Track", seed, 1.0, 1.0, **more), **spreads}

    rows = [scored(0, 4.0, 5.0), scored(1, 4.2, 5.4), transfer("NeRD-Ant-Spin-Track", 2, 1.0, 1.0)]
    write(tmp_path, "ant_transfers", [*rows, scored(0, 4.9, 7.0, trained_in="physx")])
    write(tmp_path, "ant_network_transfers", [scored(7, 3.0, 3.5)])
    text = program.policies(program.Evidence(tmp_path))[1]
    row = next(line for line in text.splitlines() if "`NeRD-Ant-Spin-Track` | spin" in line)
    assert row.endswith("| spin rate [rad/s] | 5 | 4.9 | 4.1 ± 0.14 | 5.2 ± 0.28 | 3 | 3.5 |")
    assert "| standing at end, share | 1 |" in text


def test_numbers_that_are_none_or_not_finite_are_told(program):
    """An error that is not finite is called diverged, one that is not there is left out."""
    assert program.errors_of({"base_position_m": None, "joint_rad": float("inf")}) == "joints diverged rad"
    assert program.errors_of({"joint_rad": 0.000012, "joint_m": 0.0}) == "joints 1e-05 rad, slides 0 m"


def test_floors_and_other_starts_stand_beside_what_is_measured(program, tmp_path: Path):
    """PhysX's distance from itself stands in a row of table 3 and beside passive errors, not beside driven ones; starts
    of another seed have a row where there is a file of them.
    """
    moved = {"joint/joint_0": 0.0002, "joint/joint_1": 0.0004, "base_position_m": 0.006}
    for name in ("pendulum_ground_3", "anymal"):
        write(tmp_path, f"chaos_floor_{name}", {"errors": {"moved": {"100": moved}}})
    write(tmp_path, "chaos_floor_ant", {"errors": {"moved": {"500": {"joint_rad": 0.02}}}})
    for name, error in (("passive", 0.03), ("driven", 0.05), ("passive_777", 0.04)):
        write(tmp_path, f"anymal_{name}", {"horizons": {"100": {"base_position_m": error}}})
    evidence = program.Evidence(tmp_path)
    assert "| PhysX, start moved by 1e-6 | - | - | - | .0002 / .0004 | - | - | - |" in program.grounds(evidence)
    ends = {line.split(" | ")[0]: line.split(" | ")[-1] for line in program.passive(evidence).splitlines()}
    assert ends["| ant, 500 steps"] == "joints .02 rad |" and ends["| cartpole, 500 steps"] == "- |"
    rows = [line for line in program.unpublished(evidence).splitlines() if line.startswith("| ANYmal")]
    assert rows[3:] == [
        f"| ANYmal C, {words} | not measured | not measured | - |"
        for words in (
            "torques of a walking policy",
            "actions of a walking policy",
            "a walking policy that acts in both",
        )
    ]
    assert rows[:3] == [
        "| ANYmal C, random torques, 100 steps | .05 m | not measured | - |",
        "| ANYmal C, no torques, 100 steps | .03 m | not measured | .006 m |",
        "| ANYmal C, no torques, 100 steps, other starts | .04 m | not measured | - |",
    ]
