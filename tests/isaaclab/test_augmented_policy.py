# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""An augmented model steps a task as any other, and policies learn in it that the real robot is then moved by."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from nerd_core import checkpoint
from nerd_core.contact.grounds import PlaneGround
from nerd_core.dynamics import rollout
from nerd_core.mechanics.augmentation.blueprints import Blueprint
from nerd_core.predictor.config import PredictorCfg
from nerd_core.predictor.mechanics_prior import MechanicsPriorCfg
from nerd_core.predictor.predictor import Predictor
from nerd_core.robot.spec import RobotSpec
from support.seam import make_env

REPOSITORY = Path(__file__).parents[2]
COUNT, STEPS = 4, 20


def augmented(spec: RobotSpec) -> Predictor:
    """Mechanics with a network in them that has learned something: the cart is braked by its speed."""
    blueprint = Blueprint.parse("joint_torque[slider_to_cart]<-joint_vel; hidden=4; odd; scale=5")
    prior = MechanicsPriorCfg(hidden=0, blueprints=(blueprint,))
    predictor = Predictor(spec, PredictorCfg(network=None, prior=prior)).eval()
    with torch.no_grad():
        for name, weight in predictor.named_parameters():
            if "augmentation" in name:
                weight.copy_(torch.full_like(weight, 0.5 if "weights.0" in name else -0.5))
    return predictor


def test_an_augmented_model_steps_a_task(tmp_path: Path):
    """In neural mode the robots of a task move as roll-outs of the checkpoint's model do, and otherwise than by
    mechanics alone.
    """
    env = make_env("NeRD-Cartpole", COUNT)
    try:
        env.reset(seed=0)
        model = augmented(env.robot_spec)
        checkpoint.save(tmp_path / "model", model)
        env.load_nerd_checkpoint(str(tmp_path / "model"))
        env.set_nerd_mode("neural")
        env.reset(seed=0)
        robot = env.robot.data
        first = torch.cat((robot.joint_pos.torch, robot.joint_vel.torch), dim=-1).clone()
        actions = 0.3 * torch.randn(STEPS, COUNT, 1, generator=torch.Generator().manual_seed(1))
        reached, controls = [], []
        for action in actions:
            env.step(action)
            reached.append(torch.cat((robot.joint_pos.torch, robot.joint_vel.torch), dim=-1).clone())
            controls.append(env._neural.began_with[1].clone())
        plain = Predictor(model.spec, PredictorCfg(network=None, prior=MechanicsPriorCfg(hidden=0))).eval()
        with torch.no_grad():
            ours, without = (
                rollout(each, first, torch.stack(controls, 1), PlaneGround.flat())[:, 1:] for each in (model, plain)
            )
        torch.testing.assert_close(torch.stack(reached, 1), ours, rtol=1e-4, atol=1e-4)
        assert float((without - ours).abs().max()) > 0.1
    finally:
        env.close()


@pytest.mark.slow
def test_a_policy_learns_in_an_augmented_model(tmp_path: Path):
    """The benchmark goes its whole way in small: the network takes away most of the plain model's error on the real
    robot, policies learn in both models, and both are played on the real robot.
    """
    out = tmp_path / "figures.json"
    words = ["--work", str(tmp_path / "work"), "--json", str(out), "--transitions", "20000", "--minutes", "0.7"]
    words += ["--num-envs", "64", "--iterations", "3", "--episodes", "16"]
    program = REPOSITORY / "benchmarks" / "augmented_policy.py"
    subprocess.run([sys.executable, str(program), *words], check=True, cwd=tmp_path)
    found = json.loads(out.read_text())
    plain, learned = (found[name]["error_after_steps"]["10"]["cart_m"][1] for name in ("plain", "augmented"))
    assert learned < 0.5 * plain
    assert all(set(found[name]["modes"]) == {"physx", "neural"} for name in ("plain", "augmented"))
