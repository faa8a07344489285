# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Isaac Lab's own tasks, unmodified, on the local assets. The engine starts once a process, so each has its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from nerd_isaaclab.assets.build import build
from nerd_isaaclab.usd.asset import assets_dir

PROGRAM = """
import sys
import nerd_isaaclab.tasks
import gymnasium, torch
from isaaclab_tasks.utils.parse_cfg import parse_env_cfg

cfg = parse_env_cfg(sys.argv[1], device="cpu", num_envs=4, overrides=["physics=ovphysx"])
if "AnymalC" in sys.argv[1]:
    # its learned actuator model is a weight file on NVIDIA's server that nothing here can make
    from isaaclab_assets.robots.anymal import ANYDRIVE_3_SIMPLE_ACTUATOR_CFG
    cfg.scene.robot.actuators["legs"] = ANYDRIVE_3_SIMPLE_ACTUATOR_CFG
env = gymnasium.make(sys.argv[1], cfg=cfg).unwrapped
env.reset()
for _ in range(10):
    observations, reward, *_ = env.step(torch.zeros(4, env.action_manager.total_action_dim))
assert torch.isfinite(reward).all() and torch.isfinite(observations["policy"]).all()
print("file", cfg.scene.robot.spawn.usd_path)
"""


@pytest.mark.parametrize(
    "task",
    [
        "Isaac-Cartpole",
        pytest.param("Isaac-Ant", marks=pytest.mark.slow),
        pytest.param("Isaac-Reach-Franka", marks=pytest.mark.slow),
        pytest.param("IsaacContrib-Velocity-Flat-AnymalC", marks=pytest.mark.slow),
        pytest.param("Isaac-Velocity-Flat-UnitreeGo2", marks=pytest.mark.slow),
    ],
)
def test_stock_task_steps_on_local_assets(task: str, tmp_path: Path):
    """The task is built from the local files and ten steps give finite rewards and observations."""
    build()
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    env = {**os.environ, "NERD_ASSET_FALLBACK": "always"}
    env.pop("ISAACSIM_ASSET_ROOT", None)
    done = subprocess.run(
        [sys.executable, str(program), task], env=env, cwd=tmp_path, capture_output=True, text=True, timeout=200
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    assert f"file {assets_dir()}" in done.stdout
