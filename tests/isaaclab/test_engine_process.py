# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""How a function and the process of its engine talk, with made-up work instead of an engine."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from nerd_isaaclab.launch.engine_process import EngineProcess
from nerd_isaaclab.policies.load import load_policy

pytestmark = pytest.mark.unit

WORKER = """
import os, sys, time
from nerd_isaaclab.launch.engine_process import serve

def work(order, report):
    os.write(1, b"noise of the engine\\n")
    print("noise of Python")
    report({"step": 1})
    if order["what"] == "refuse":
        raise ValueError("got a, expected b")
    if order["what"] == "crash":
        raise RuntimeError("a bug")
    if order["what"] == "sleep":
        time.sleep(60)
    return {"path": order["path"]}

sys.exit(serve(work))
"""


def start(folder: Path, what: str, reports: list[Any] | None = None) -> EngineProcess:
    """Starts the made-up work."""
    (folder / "made_up_work.py").write_text(WORKER)
    environment = {"PYTHONPATH": str(folder), "OMP_NUM_THREADS": "1"}
    order = {"what": what, "path": folder / "a"}
    return EngineProcess("made_up_work", order, environment, None if reports is None else reports.append)


def test_the_result_arrives_whatever_is_printed(tmp_path: Path):
    """Progress and result reach the parent; what the engine and Python print does not mix with them."""
    reports: list[Any] = []
    process = start(tmp_path, "work", reports)
    assert process.wait(ValueError) == {"path": str(tmp_path / "a")}
    assert reports == [{"step": 1}] and process.code == 0


def test_files_of_the_users_folder_are_not_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A file of the user's own that is called like a module of Python does not run in its place."""
    here = tmp_path / "here"
    here.mkdir()
    (here / "json.py").write_text("raise SystemExit('the file of the user ran')")
    monkeypatch.chdir(here)
    process = start(tmp_path, "work")
    assert process.wait(ValueError) == {"path": str(tmp_path / "a")}


def test_a_message_is_raised_as_it_is(tmp_path: Path):
    """An error that explains itself is raised in the parent with its message alone."""

    class WorkError(ValueError):
        pass

    with pytest.raises(WorkError, match="^got a, expected b$"):
        start(tmp_path, "refuse").wait(WorkError)


def test_a_crash_shows_the_end_of_the_log(tmp_path: Path):
    """Without a message the end of what the process printed is shown, its traceback included."""
    with pytest.raises(ValueError, match=r"ended with code 1[\s\S]*noise of the engine[\s\S]*a bug"):
        start(tmp_path, "crash").wait(ValueError)


def test_a_running_process_is_ended(tmp_path: Path):
    """Stopping ends the process soon, and may be repeated."""
    reports: list[Any] = []
    process = start(tmp_path, "sleep", reports)
    end = time.monotonic() + 60
    while not reports and time.monotonic() < end:
        time.sleep(0.05)
    begun = time.monotonic()
    process.stop()
    process.stop()
    assert process.code not in (None, 0) and time.monotonic() - begun < 15


@pytest.mark.parametrize("name", ["NeRD-Cartpole", "NeRD-Cartpole/policy.safetensors"])
def test_a_kept_policy_is_found_by_its_folder_or_file(name: str, repo_root: Path):
    """A folder that 'nerd rl export' has written does as well as the file in it."""
    assert load_policy(repo_root / "policies" / name).obs_dim == 4


def test_a_folder_without_a_policy_says_what_was_expected(tmp_path: Path):
    """Neither a kept policy nor a run: the message names both."""
    with pytest.raises(FileNotFoundError, match=r"policy.safetensors.*params/agent.yaml"):
        load_policy(tmp_path)
