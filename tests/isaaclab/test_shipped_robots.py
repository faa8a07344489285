# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Shipped models of the robots with tasks of the paper: they drive their tasks, all that they are for, near PhysX."""

from __future__ import annotations

import pytest
import torch

from nerd_core import checkpoint
from nerd_core.checkpoint_names import find_checkpoint
from nerd_core.contact.grounds import PlaneGround
from nerd_core.training.metrics import predict, state_errors
from nerd_isaaclab.collect.lean_scene import LeanScene
from nerd_isaaclab.physics.ground import find_ground
from nerd_isaaclab.recorders.transitions import planes_of
from support.seam import make_env

NUM_ENVS, STEPS = 32, 30

MODELS = {
    ("NeRD-Franka-Reach-Torque", "franka"): {"joint_rad": 1e-3},
    ("NeRD-Franka-Reach-Position", "franka"): {"joint_rad": 1e-3},
    ("NeRD-AnymalC-Sideways", "anymal"): {"base_position_m": 0.02, "joint_rad": 0.05},
    ("NeRD-Double-Pendulum-Ground-2", "pendulum"): {"joint_rad": 0.02},
    ("NeRD-Double-Pendulum", "pendulum"): {"joint_rad": 0.02},
    ("NeRD-Franka-Reach-Torque", "franka-network"): {"joint_rad": 0.03},
    ("NeRD-Double-Pendulum-Ground-2", "pendulum-network"): {"joint_rad": 0.02},
    ("NeRD-AnymalC-Sideways", "anymal-network"): {"base_position_m": 0.06, "joint_rad": 0.2},
}
"""Which model drives a task, and the largest median error of roll-outs of half a second under half of all efforts."""


@pytest.mark.parametrize(("task", "name"), MODELS)
def test_model_follows_physx_in_each_of_its_tasks(task: str, name: str):
    """The model is taken for the robot of the task, and its roll-outs stay near those of PhysX from the same starts."""
    bounds = MODELS[task, name]
    env = make_env(task, NUM_ENVS)
    try:
        env.reset(seed=3)
        predictor = checkpoint.load(find_checkpoint(name), expected_spec=env.robot_spec).eval()
        plane = planes_of(find_ground(env), NUM_ENVS) if predictor.needs_contacts else None
        ground = None if plane is None else PlaneGround.from_vector(plane.cpu())
        scene = LeanScene(env)
        limits = torch.tensor([joint.effort_limit for joint in env.robot_spec.joints])
        _, joints = env.robot_spec.control_slice("effort")
        torch.manual_seed(0)
        share = 0.0 if name.startswith("pendulum") else 0.5  # the table is measured without efforts
        controls = share * limits[joints] * (2.0 * torch.rand(NUM_ENVS, STEPS, len(joints)) - 1.0)
        states = [scene.read().clone()]
        for step in range(STEPS):
            states.append(scene.step(controls[:, step]).clone())
        truth = torch.stack(states, dim=1)
        with torch.inference_mode():
            found = state_errors(predictor.spec, predict(predictor, truth[:, 0], controls, ground), truth)
    finally:
        env.close()
    for quantity, bound in bounds.items():
        assert found[quantity].mean(dim=-1).median() < bound, quantity
