# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The benchmark of first models may run a few rows: its file keeps the others. A budget covers data and training."""

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
    return importlib.import_module("first_models")


def test_rows_are_merged_into_the_file(benchmark, tmp_path):
    """New rows replace those of the same robots, the others stay, in the order of the table."""
    path = tmp_path / "rows.json"
    benchmark.merge_rows(path, {"ant": {"preset": "old"}, "anymal": {"preset": "kept"}})
    benchmark.merge_rows(path, {"ant": {"preset": "new"}, "go2": {"preset": "added"}})
    rows = json.loads(path.read_text())["rows"]
    assert list(rows) == ["anymal", "go2", "ant"]
    assert [row["preset"] for row in rows.values()] == ["kept", "added", "new"]


@pytest.mark.parametrize(("collecting", "training"), [(0.0, 5.0), (1.5, 3.5), (4.0, 2.5)])
def test_training_has_what_collecting_leaves(benchmark, collecting: float, training: float):
    """Of five minutes data take their share, and training has the rest, half of them at least."""
    assert benchmark.training_minutes(5.0, collecting) == training


def test_a_run_of_one_robot_writes_its_row_alone(benchmark, tmp_path, monkeypatch, capsys):
    """``--only`` collects, trains for what is left of the budget, measures, and touches no other row of the file."""
    commands = []

    def nerd(words, may_fail=False):
        commands.append([str(word) for word in words])
        out = Path(words[words.index("--out") + 1])
        if words[0] == "generate":
            out.mkdir(parents=True)
            (out / "report.json").write_text(json.dumps({"seconds": 60.0}))
        else:
            (out / "best").mkdir(parents=True)

    spread = {str(horizon): {"joint_rad": {"median": 0.5}} for horizon in benchmark.HORIZONS}
    row = {"preset": "bounded", "trained": {"update": 7}, "left_guard": [], "at_bounds": [3], "spread": spread}
    monkeypatch.setattr(benchmark, "nerd", nerd)
    monkeypatch.setattr(benchmark, "measure", lambda run, held_out: dict(row))
    monkeypatch.setattr(benchmark, "install_package", lambda work: None)
    results = tmp_path / "rows.json"
    benchmark.merge_rows(results, {"ant": {"preset": "kept"}})
    words = ["first_models.py", "--work", str(tmp_path / "work"), "--only", "cartpole", "--json", str(results)]
    monkeypatch.setattr("sys.argv", words)
    benchmark.main()
    assert [words[0] for words in commands] == ["generate", "generate", "train"]
    assert commands[2][-2:] == ["--minutes", "4.0"]
    rows = json.loads(results.read_text())["rows"]
    assert rows["ant"] == {"preset": "kept"} and (
        rows["cartpole"]["minutes"],
        rows["cartpole"]["collecting_minutes"],
    ) == (4, 1)
    assert "| cartpole | 4 min, 7 updates | bounded | 0 | 1 | 0.5 joints rad |" in capsys.readouterr().out
