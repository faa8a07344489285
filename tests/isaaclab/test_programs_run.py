# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The programs on the real engine: train, interrupt, export, score, play, and a stock task with no flags."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from nerd_core.cli import main as nerd

ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}
NERD = [sys.executable, "-c", "import sys; from nerd_core.cli import main; sys.exit(main(sys.argv[1:]))"]


def run_until(command: list[str], folder: Path, reached) -> subprocess.CompletedProcess[str]:
    """Run a command, press ctrl-C once ``reached(text so far)``, and return how it ended."""
    log = folder / "out.txt"
    with log.open("w") as out:
        process = subprocess.Popen(command, cwd=folder, env=ENVIRONMENT, stdout=out, stderr=subprocess.STDOUT)
        try:
            deadline = time.monotonic() + 150
            while process.poll() is None and not reached(log.read_text(errors="replace")):
                assert time.monotonic() < deadline, log.read_text()[-3000:]
                time.sleep(0.1)
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
            code = process.wait(timeout=60)
        finally:
            process.kill()
    return subprocess.CompletedProcess(command, code, log.read_text(errors="replace"))


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> Path:
    """Log folder of a training of the plain command, interrupted while it wrote a checkpoint every iteration."""
    folder = tmp_path_factory.mktemp("train")
    command = [*NERD, "rl", "train", "--task", "NeRD-Cartpole", "--num_envs", "32", "agent.save_interval=1"]
    done = run_until(command, folder, lambda text: "iteration 12/" in text)
    assert done.returncode in (0, 130), done.stdout[-3000:]
    runs = list(folder.glob("logs/rsl_rl/nerd_cartpole/*"))
    assert len(runs) == 1, done.stdout[-3000:]
    if not torch.cuda.is_available():
        assert "[nerd] no CUDA device here: added --device cpu agent.device=cpu" in done.stdout
    return runs[0]


def test_interrupted_training_leaves_whole_files(trained: Path):
    """After ctrl-C every checkpoint can be read, none is half-written, and the settings are there."""
    checkpoints = sorted(trained.glob("model_*.pt"))
    assert len(checkpoints) >= 10
    for path in checkpoints:
        assert "actor_state_dict" in torch.load(path, weights_only=True)
    assert not list(trained.rglob("*.writing"))
    assert json.loads((trained / "run.json").read_text())["task"] == "NeRD-Cartpole"


def test_run_is_exported_as_small_files_and_scored(trained: Path, tmp_path: Path, capsys):
    """Export writes policy, curve and facts under 300 kB; score plays one episode per env and says how they ended."""
    kept = tmp_path / "kept"
    assert nerd(["rl", "export", "--run", str(trained), "--out", str(kept)]) == 0
    assert {path.name for path in kept.iterdir()} == {"policy.safetensors", "curve.csv", "curve.svg", "run.json"}
    assert sum(path.stat().st_size for path in kept.iterdir()) < 300_000
    assert json.loads((kept / "run.json").read_text())["task"] == "NeRD-Cartpole"
    rows = (kept / "curve.csv").read_text().splitlines()
    assert rows[0] == "iteration,seconds,return,length" and len(rows) >= 5

    out = tmp_path / "score.json"
    words = ["--task", "NeRD-Cartpole", "--policy", str(kept / "policy.safetensors"), "--num_envs", "16"]
    assert nerd(["rl", "score", *words, "--out", str(out)]) == 0
    result = json.loads(out.read_text())
    assert result["episodes"] == 16 and sum(result["ends"].values()) >= 1.0
    assert set(result["scores"]) == {"return", "length", "upright_at_end", "pole_angle"}
    assert 1 <= result["scores"]["length"]["mean"] <= 300
    assert result["policy"]["task"] == "NeRD-Cartpole" and result["versions"]["isaaclab"]


@pytest.mark.long  # a start of the engine and of PPO; the score above loads a policy, agents below play
def test_checkpoint_is_played(trained: Path, tmp_path: Path):
    """'nerd rl play' of the -Play variant loads the checkpoint and runs until ctrl-C, which is no failure."""
    words = ["--task", "NeRD-Cartpole-Play", "--num_envs", "4", "--checkpoint", str(max(trained.glob("model_*.pt")))]
    done = run_until([*NERD, "rl", "play", *words], tmp_path, lambda text: "playback is running" in text)
    assert done.returncode in (0, 130), done.stdout[-3000:]
    assert "playback is running" in done.stdout


@pytest.mark.long  # a start of the engine and of PPO; test_assets_stock_tasks steps that task
def test_stock_task_trains_without_flags(tmp_path: Path):
    """Isaac Lab's own command trains its own Cartpole where there is no CUDA, with no flag for it."""
    program = Path(sys.executable).parent / "isaaclab"
    command = [str(program), "train", "--rl_library", "rsl_rl", "--task", "Isaac-Cartpole"]
    command += ["--num_envs", "32", "--max_iterations", "2"]
    done = subprocess.run(command, cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True, timeout=150)
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    assert list(tmp_path.glob("logs/rsl_rl/cartpole/*/model_1.pt"))
    if not torch.cuda.is_available():
        assert "added --device cpu agent.device=cpu physics=ovphysx" in done.stderr


@pytest.mark.parametrize("agent", ["zero", "random"])
def test_agents_without_training_run(agent: str, tmp_path: Path, monkeypatch, capsys):
    """'nerd zero-agent' and 'nerd random-agent' step a task and end after the given steps."""
    monkeypatch.chdir(tmp_path)
    assert nerd([f"{agent}-agent", "--task", "NeRD-Ant-Run", "--num_envs", "2", "--max_steps", "3"]) == 0
    assert f"{agent.capitalize()} agent is running" in capsys.readouterr().out


OWN_SCRIPT = """
import sys
import gymnasium
import isaaclab_tasks
from isaaclab_tasks.utils.parse_cfg import parse_env_cfg

assert not any(name.startswith("nerd_isaaclab.tasks") for name in sys.modules)
cfg = parse_env_cfg("Isaac-Cartpole", device="cpu", num_envs=4, overrides=["physics=ovphysx"])
env = gymnasium.make("Isaac-Cartpole", cfg=cfg).unwrapped
env.reset()
robot = env.scene["robot"]
friction = 0.5 * robot.data.joint_pos.torch.new_ones(4, 2)
robot.write_joint_friction_coefficient_to_sim_index(joint_friction_coeff=friction)
env.close()
print("built")
"""


@pytest.mark.long  # an engine of its own; test_cpu_compat has what it is cured of
def test_script_that_never_heard_of_us_builds_an_articulation(tmp_path: Path):
    """A person's own script that imports only Isaac Lab builds an articulation on a CPU and writes its properties."""
    from nerd_isaaclab.usd.asset import assets_dir

    (tmp_path / "own.py").write_text(OWN_SCRIPT)
    environment = {**ENVIRONMENT, "ISAACSIM_ASSET_ROOT": str(assets_dir())}
    command = [sys.executable, str(tmp_path / "own.py")]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=150)
    assert done.returncode == 0 and "built" in done.stdout, (done.stdout + done.stderr)[-3000:]
