# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""A task from a package that knows nothing of this repository gets its neural mode. One engine for all tests."""

from __future__ import annotations

import subprocess

import pytest
import torch

from nerd_core import checkpoint
from support.foreign_package import TASK, write_package
from support.seam import make_env, untrained_predictor

pytestmark = pytest.mark.fresh  # tasks of packages are looked up when ours are imported
NUM_ENVS = 8


@pytest.fixture(scope="module")
def env(tmp_path_factory):
    """The derived task, found by the entry point of the installed package."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(write_package(tmp_path_factory.mktemp("site"))))
        env = make_env(f"NeRD-{TASK}", NUM_ENVS)
        env.reset(seed=0)
        env.step(torch.zeros(NUM_ENVS, 1))
        yield env
        env.close()


def test_nothing_in_this_repository_names_the_package(repo_root):
    """No file outside the tests mentions the task, so that what works below works for any package."""
    found = subprocess.run(
        ["grep", "-rlI", "-e", TASK, "-e", "their_tasks", *(str(repo_root / part) for part in ("exts", "source"))],
        capture_output=True,
        text=True,
    )
    assert found.stdout == ""
    assert found.returncode == 1, found.stderr


def test_its_environment_class_stays_its_own(env):
    """The derived class is theirs, with the choice of dynamics in front; its configuration is theirs and one field."""
    from their_tasks.swing import SwingEnv, SwingEnvCfg  # pyright: ignore[reportMissingImports]

    assert isinstance(env, SwingEnv)
    assert isinstance(env.cfg, SwingEnvCfg)
    assert env.cfg.nerd.mode == "physx"
    assert env.robot_spec.joint_names == ("hinge",)
    assert [control.kind for control in env.robot_spec.controls] == ["effort"]
    assert env.robot_spec.decimation == 3


def test_a_model_steps_it_and_its_own_rewards_and_code_go_on(env, tmp_path):
    """From a checkpoint directory, a model moves the robot; their reward and their ``step`` see that motion."""
    predictor = untrained_predictor(env)
    checkpoint.save(tmp_path / "swing", predictor)
    env.load_nerd_checkpoint(str(tmp_path / "swing"))
    env.set_nerd_mode("neural")
    env.reset(seed=0)
    generator = torch.Generator().manual_seed(0)
    angles = []
    for _ in range(20):
        _, reward, terminated, truncated, _ = env.step(torch.rand(NUM_ENVS, 1, generator=generator) * 2.0 - 1.0)
        angle = env.robot.data.joint_pos.torch[:, 0]
        going_on = ~(terminated | truncated)
        assert going_on.any()
        predicted = env.nerd.dynamics.last_good[:, env.robot_spec.state.joint_pos][:, 0]
        torch.testing.assert_close(torch.cos(angle)[going_on], torch.cos(predicted)[going_on])
        torch.testing.assert_close(reward[going_on], (-2.0 * torch.cos(angle) * env.step_dt)[going_on])
        angles.append(angle.clone())
    moved = torch.stack(angles)
    assert env.nerd_mode == "neural"
    assert (moved[-1] - moved[0]).abs().min() > 1e-4
    torch.testing.assert_close(env.highest, (-torch.cos(moved)).amax(dim=0), atol=0.2, rtol=0.0)
