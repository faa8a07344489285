# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""A calibration that ``nerd identify`` wrote is what PhysX steps with, in all environments from the first step on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from nerd_core.dynamics import rollout
from nerd_core.identification.engine_calibration import EngineCalibration, calibration_of, write_calibration
from nerd_core.identification.parameterisation import IdentificationError, Parameterisation
from nerd_core.mechanics.kernel.verification import SWITCH
from nerd_core.predictor.config import PredictorCfg
from nerd_core.predictor.mechanics_prior import MechanicsPriorCfg
from nerd_core.predictor.predictor import Predictor
from nerd_core.robot.physical_parameters import specified
from support.seam import make_env

COUNT, STEPS = 4, 20
JOINT, ARMATURE = "joint_1", 0.7
GROUPS = ("masses", "centres", "inertias", "dampings", "armatures", "frictions", "viscous_frictions")


@pytest.fixture(scope="module")
def env(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Double pendulums above the ground whose task was given a calibration."""
    file = tmp_path_factory.mktemp("calibration") / "calibration.json"

    def lift(cfg: Any) -> None:
        cfg.scene.robot.init_state.pos = (0.0, 0.0, 8.0)
        cfg.nerd.calibration = str(file)

    write_calibration(file, EngineCalibration("double_pendulum", joints={JOINT: {"armature": ARMATURE}}))
    env = make_env("NeRD-Double-Pendulum", COUNT, change=lift)
    env.reset(seed=0)
    yield env
    env.close()


def test_the_task_applies_the_file_that_it_is_given(env: Any):
    """What stands in ``env.nerd.calibration`` is in the engine, and in the specification that is read from it."""
    held = env.robot.data.joint_armature.torch[:, env.robot.joint_names.index(JOINT)]
    assert torch.allclose(held, torch.full((COUNT,), ARMATURE))
    by_name = {joint.name: joint for joint in env.robot_spec.joints}
    assert by_name[JOINT].armature == pytest.approx(ARMATURE)


def moved(env: Any) -> torch.Tensor:
    """Joint positions and velocities of PhysX after some steps without efforts, shape (N, 2 J)."""
    robot = env.robot
    env.reset(seed=0)
    first = torch.randn(COUNT, 4, generator=torch.Generator().manual_seed(1))
    robot.write_joint_state_to_sim_index(position=first[:, :2].contiguous(), velocity=first[:, 2:].contiguous())
    for _ in range(STEPS):
        env.step(torch.zeros(COUNT, env.action_manager.total_action_dim))
    return torch.cat((robot.data.joint_pos.torch, robot.data.joint_vel.torch), -1).clone()


def test_physx_moves_as_mechanics_with_the_same_parameters(env: Any, monkeypatch: pytest.MonkeyPatch):
    """With a calibration in the engine PhysX takes the steps of mechanics with these parameters, and not the asset's;
    the asset's own numbers as a calibration bring the former motion back to the last bit.
    """
    from nerd_isaaclab.physics.engine_calibration import apply_calibration

    spec = env.robot_spec
    parameterisation = Parameterisation(spec, GROUPS)
    free = 0.3 * torch.randn(parameterisation.dim, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    parameters, plain = parameterisation(free), moved(env)
    apply_calibration(env.robot, calibration_of(spec, parameters))
    found = moved(env)
    own = {name: getattr(specified(spec), name) for name in parameters.given}
    apply_calibration(env.robot, calibration_of(spec, replace(parameters, **own)))
    assert torch.allclose(moved(env), plain, atol=1e-5)
    monkeypatch.setenv(SWITCH, "0")  # a kernel for some steps would have to be compiled
    predictor = Predictor(spec, PredictorCfg(network=None, prior=MechanicsPriorCfg(hidden=0))).eval()
    first = torch.randn(COUNT, 4, generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        from nerd_isaaclab.physics.ground import find_ground

        control = torch.zeros(COUNT, STEPS, spec.control_dim)
        states = rollout(predictor, first, control, find_ground(env), parameters=parameters.map(torch.Tensor.float))
    made = (found - plain).abs().amax(-1)
    apart = (states[:, -1] - found).abs().amax(-1)
    assert made.min() > 0.02 and (apart < 0.05 * made).all(), f"apart {apart.tolist()}, made {made.tolist()}"


def test_a_calibration_of_another_robot_is_refused(env: Any, tmp_path: Path):
    """Names that the robot has not are one message, and nothing is written."""
    from nerd_isaaclab.physics.engine_calibration import apply_calibration

    before = env.robot.data.body_mass.torch.clone()
    upper = env.robot.body_names[-1]
    with pytest.raises(IdentificationError, match="the joints knee, expected some of"):
        apply_calibration(env.robot, EngineCalibration("dog", {upper: {"mass": (9.0,)}}, {"knee": {"damping": 1.0}}))
    assert torch.equal(env.robot.data.body_mass.torch, before)
