# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The smoke tier of ``nerd reproduce`` on the real engine: interrupted, gone on with, and what it leaves."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from nerd_core import checkpoint
from nerd_core.checkpoint_names import find_checkpoint
from nerd_isaaclab.demo.recipes import REPRODUCE
from nerd_isaaclab.demo.steps import training_name

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]
WORDS = ["cartpole", "--smoke", "--out", "again"]
PROGRAM = "import sys; from nerd_isaaclab.programs.reproduce import main; sys.exit(main(sys.argv[1:]))"
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}


def start(folder: Path, log: Path) -> subprocess.Popen:
    """Starts the program in a folder."""
    with log.open("w") as out:
        words = [sys.executable, "-c", PROGRAM, *WORDS]
        return subprocess.Popen(words, cwd=folder, env=ENVIRONMENT, stdout=out, stderr=subprocess.STDOUT)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Folder of a run that was interrupted in its second phase and then finished."""
    base = tmp_path_factory.mktemp("reproduce")
    log = base / "first.txt"
    process = start(base, log)
    deadline = time.monotonic() + 300
    while not (base / "again/train/key").exists():
        assert process.poll() is None and time.monotonic() < deadline, log.read_text()[-3000:]
        time.sleep(0.1)
    time.sleep(1.0)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=120) != 0, log.read_text()[-3000:]
    assert "run the same command again" in log.read_text()
    collected = (base / "again/collect/result.json").stat().st_mtime_ns
    log = base / "second.txt"
    assert start(base, log).wait(timeout=900) == 0, log.read_text()[-3000:]
    assert (base / "again/collect/result.json").stat().st_mtime_ns == collected, "the finished phase ran again"
    assert "done before" in log.read_text()
    return base / "again"


def test_everything_is_measured(folder: Path):
    """The numbers hold errors for both protocols, curves of both modes, and the transfer."""
    numbers = json.loads((folder / "report.json").read_text())
    assert [each["protocol"] for each in numbers["evaluations"]] == ["passive", "driven"]
    assert all(each["horizons"]["100"]["joint_rad"] > 0 for each in numbers["evaluations"])
    (policy,) = numbers["policies"]
    assert {run["mode"] for run in policy["runs"]} == {"neural", "physx"}
    assert numbers["commands"][0] == "nerd reproduce " + " ".join(WORDS)
    assert not any(str(folder) in command for command in numbers["commands"])
    assert numbers["provenance"]["versions"]["isaaclab"]


def test_terms_add_up_to_the_return(folder: Path):
    """In both modes the parts of the reward terms are the whole return, over the same episodes."""
    transfer = json.loads((folder / "report.json").read_text())["policies"][0]["transfers"][0]
    for mode in ("physx", "neural"):
        found = transfer["modes"][mode]
        parts = sum(term["mean"] for term in found["terms"].values())
        assert parts == pytest.approx(found["scores"]["return"]["mean"], rel=1e-3, abs=0.05)
        assert set(found["terms"]) == {"alive", "pole_angle", "cart_pos", "pole_vel", "cart_vel"}


def test_motion_is_recorded(folder: Path):
    """The page animates open-loop roll-outs and the policy's episodes in both modes."""
    clips = json.loads((folder / "motion/result.json").read_text())["clips"]
    assert sum(clip["open_loop"] for clip in clips) == 6
    assert sum(not clip["open_loop"] for clip in clips) == 3
    # the same starts in both modes: the first frame is one state
    assert all(value[0] < 1e-4 for clip in clips for value in clip["errors"].values())


def test_model_is_ready_to_ship(folder: Path):
    """The model stands beside its card, can be loaded, and is the one of the last training."""
    shipped = find_checkpoint(folder / "model")
    assert checkpoint.load(shipped).spec.name == "cartpole"
    assert "## Made by" in (shipped / "card.md").read_text()
    last = training_name(len(REPRODUCE["cartpole"].stages) - 1)
    weights = [path / "model.safetensors" for path in (shipped, folder / last / "best")]
    assert weights[0].read_bytes() == weights[1].read_bytes()
