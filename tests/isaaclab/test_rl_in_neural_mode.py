# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Isaac Lab's own commands train and play a policy in neural mode, chosen by two words on the command line."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from nerd_core import checkpoint
from nerd_core.checkpoint_names import find_checkpoint

ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}
ISAACLAB = str(Path(sys.executable).parent / "isaaclab")


@pytest.fixture(scope="module")
def models(tmp_path_factory) -> Path:
    """A folder with two checkpoints: a shipped one, and the same with changes that no guard lets pass."""
    folder = tmp_path_factory.mktemp("models")
    predictor = checkpoint.load(find_checkpoint("cartpole-quick"))
    checkpoint.save(folder / "sound", predictor)
    predictor.change_normaliser.std.mul_(1.0e6)
    checkpoint.save(folder / "wild", predictor)
    return folder


@pytest.fixture(scope="module")
def trained(models, tmp_path_factory) -> subprocess.CompletedProcess[str]:
    """Three iterations of PPO inside the model."""
    command = [ISAACLAB, "train", "--rl_library", "rsl_rl", "--task", "NeRD-Cartpole", "--num_envs", "32"]
    command += ["--max_iterations", "3", "env.nerd.mode=neural", f"env.nerd.checkpoint={models / 'sound'}"]
    folder = tmp_path_factory.mktemp("train")
    done = subprocess.run(command, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, timeout=150)
    done.args = folder
    return done


def test_train_runs_in_the_model(trained):
    """The run ends well, leaves its policy, and logs what only the neural step logs: the share that the guard held."""
    said = trained.stdout + trained.stderr
    assert trained.returncode == 0, said[-3000:]
    assert len(list(trained.args.glob("logs/rsl_rl/nerd_cartpole/*/model_2.pt"))) == 1
    assert "Metrics/nerd_held" in trained.stdout
    assert "nan" not in [word.lower() for word in trained.stdout.split()]


@pytest.mark.long  # a third start of the engine; what a guard holds and dumps is in test_guard_dump
def test_play_runs_in_the_model(trained, models, tmp_path):
    """The policy is played in neural mode: a model that no guard lets pass is caught in the act and dumped."""
    (policy,) = trained.args.glob("logs/rsl_rl/nerd_cartpole/*/model_2.pt")
    command = [ISAACLAB, "play", "--rl_library", "rsl_rl", "--task", "NeRD-Cartpole-Play", "--num_envs", "4"]
    command += ["--checkpoint", str(policy), "env.nerd.mode=neural", f"env.nerd.checkpoint={models / 'wild'}"]
    command += [f"env.nerd.dump_dir={tmp_path / 'dumps'}"]
    log = tmp_path / "out.txt"
    with log.open("w") as out:
        process = subprocess.Popen(command, cwd=tmp_path, env=ENVIRONMENT, stdout=out, stderr=subprocess.STDOUT)
        try:
            end = time.monotonic() + 120.0
            while process.poll() is None and not (tmp_path / "dumps" / "dump-0001").exists():
                assert time.monotonic() < end, log.read_text()[-3000:]
                time.sleep(0.1)
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
            process.wait(timeout=60)
        finally:
            process.kill()
    assert (tmp_path / "dumps" / "dump-0001" / "dump.json").is_file(), log.read_text()[-3000:]
