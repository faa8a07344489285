# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Threads change how fast the engine is, not what it computes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

CODE = """
import hashlib, torch
from support.seam import make_env

env = make_env("NeRD-Ant-Run", 64)
env.reset()
generator = torch.Generator().manual_seed(0)
with torch.inference_mode():
    for _ in range(200):
        env.step(2 * torch.rand(64, 8, generator=generator) - 1)
data = env.scene["robot"].data
state = torch.cat((data.root_link_pose_w.torch, data.joint_pos.torch, data.joint_vel.torch), dim=1)
print("HASH", hashlib.sha256(state.numpy().tobytes()).hexdigest())
"""


@pytest.mark.slow
def test_number_of_threads_changes_no_bit():
    """200 steps of 64 Ants end in the same bits with Isaac Lab's eight workers, with two, with none, and with OpenMP's
    threads set or not.
    """
    hashes = set()
    for omp, engine in (("", ""), ("1", ""), ("1", "2"), ("1", "0")):
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1]), "NERD_PHYSX_THREADS": engine}
        environment.pop("OMP_NUM_THREADS", None)
        if omp:
            environment["OMP_NUM_THREADS"] = omp
        done = subprocess.run(
            [sys.executable, "-c", CODE], env=environment, capture_output=True, text=True, timeout=200
        )
        assert done.returncode == 0, done.stderr[-3000:]
        hashes |= {line for line in done.stdout.splitlines() if line.startswith("HASH")}
    assert len(hashes) == 1
