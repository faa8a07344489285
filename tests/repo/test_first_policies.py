# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What the benchmark of first policies says of a comparison is what the comparison says."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from types import ModuleType

import pytest

pytestmark = pytest.mark.unit


@pytest.fixture
def benchmark(repo_root: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The program, imported as it is when it runs."""
    monkeypatch.syspath_prepend(str(repo_root / "benchmarks"))
    return importlib.import_module("first_policies")


def mode(value: float, guard: float) -> dict:
    """Scores of a mode, as ``nerd transfer --json`` writes them."""
    spread = {"mean": value, "std": 0.5}
    scores = {"return": spread, "length": {"mean": 100.0 * value, "std": 0.0}}
    return {"scores": scores, "terms": {}, "commands": {}, "ends": {"nerd_guard": guard}, "per_episode": {}}


def test_a_comparison_is_told_as_it_is(benchmark, tmp_path, monkeypatch, capsys):
    """The share of episodes that the guard ended is that of the model, the difference that of the comparison, and the
    table shows the model before PhysX.
    """
    difference = {"mean": -1.25, "standard_error": 0.25, "in_standard_errors": -5.0}
    found = {"episodes": 8, "reward_gap": -0.25, "differences": {"return": difference}}
    found["modes"] = {"physx": mode(5.0, 0.0), "neural": mode(3.75, 0.125)}
    (tmp_path / "transfer.json").write_text(json.dumps(found))
    (tmp_path / "training.json").write_text(json.dumps({"num_envs": 4, "iterations": 2, "seconds": 60.0}))
    (tmp_path / "logs" / "rsl_rl" / "task" / "time").mkdir(parents=True)
    monkeypatch.setattr("nerd_isaaclab.policies.runs.load_curve", lambda run: {"return": [0.5, 2.0]})
    row = benchmark.summary(tmp_path)
    assert row["ended_by_guard"] == 0.125 and row["differences"]["return"]["mean"] == -1.25
    assert "per_episode" not in row["modes"]["neural"]
    benchmark.print_table({"robot": row})
    shown = capsys.readouterr().out.splitlines()[-1]
    assert "| 3.75 ± 0.5 | 5 ± 0.5 | -1.2 ± 0.2 | 375 / 500 | 12.5 % |" in shown


def test_every_robot_of_the_table_has_a_task(benchmark):
    """Policies are trained on tasks that first models are trained on."""
    from first_models import TASKS  # pyright: ignore[reportMissingImports]

    assert set(benchmark.OVERRIDES) <= set(TASKS)
