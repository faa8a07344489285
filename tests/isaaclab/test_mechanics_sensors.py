# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Contact sensors and joint wrench sensors beside PhysX, while mechanics steps Isaac Lab's own Ant: nothing is trained
here, and no force head is there. One engine for all.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch

from nerd_core.predictor.config import PredictorCfg
from nerd_core.predictor.mechanics_prior import MechanicsPriorCfg
from nerd_core.predictor.predictor import Predictor
from support.seam import make_env, use_predictor

NUM_ENVS, HISTORY = 16, 4
STANDING, FALLING = 240, 40


def _with_sensors(cfg: Any) -> None:
    """Adds a contact sensor on all bodies to the stock task, and lets episodes go on."""
    from isaaclab.sensors import ContactSensorCfg

    cfg.scene.robot.spawn.activate_contact_sensors = True
    cfg.scene.all_bodies = ContactSensorCfg(
        prim_path="{ENV_REGEX_NS}/Robot/.*", history_length=HISTORY, track_air_time=True, update_period=0.0
    )
    for name in list(vars(cfg.terminations)):
        setattr(cfg.terminations, name, None)


@pytest.fixture(scope="module")
def env():
    """Isaac Lab's Ant with its joint wrench sensor and the term that reads it, and a contact sensor."""
    env = make_env("NeRD-Isaac-Ant", NUM_ENVS, change=_with_sensors)
    yield env
    env.close()


@pytest.fixture(scope="module")
def predictor(env):
    """Mechanics whose constants are what the engine says."""
    return Predictor(env.robot_spec, PredictorCfg(network=None, prior=MechanicsPriorCfg(hidden=0, slots=13))).eval()


def _read(env: Any) -> dict[str, torch.Tensor]:
    """Copies of what the sensors show, bodies in the order of the specification, air times in that of the sensor."""
    contacts, wrenches = env.scene["all_bodies"], env.scene["joint_wrench"]
    order = [contacts.body_names.index(name) for name in env.robot_spec.body_names]
    shown = {
        "normal": contacts.data.net_normal_forces_w,
        "total": contacts.data.net_forces_w,
        "contact_time": contacts.data.current_contact_time,
        "air_time": contacts.data.current_air_time,
    }
    found = {name: value.torch[:, order].clone() for name, value in shown.items()}
    found["history"] = contacts.data.net_forces_w_history.torch[:, :, order].clone()
    places = [wrenches.body_names.index(name) for name in env.robot_spec.body_names]
    found["force"], found["torque"] = (
        each.torch[:, places].clone() for each in (wrenches.data.force, wrenches.data.torque)
    )
    return found


@pytest.fixture(scope="module")
def both(env, predictor):
    """What sensors show of falls, control step by control step: in PhysX, and by mechanics *from the same states*."""
    actions = 0.3 * torch.rand(FALLING, NUM_ENVS, 8, generator=torch.Generator().manual_seed(1)) - 0.15
    from nerd_isaaclab.physics.robot_state import RobotState

    reader = RobotState(env.robot, env.robot_spec, env.scene.env_origins)
    solved, states = [], []
    env.set_nerd_mode("physx")
    env.reset(seed=0)
    for action in actions:
        states.append(reader.read().clone())
        env.step(action)
        solved.append(_read(env))
    use_predictor(env, predictor)
    env.reset(seed=0)
    said = []
    for state, action in zip(states, actions, strict=True):
        reader.write(state)
        env.step(action)
        said.append(_read(env))
    env.set_nerd_mode("physx")
    env.step(torch.zeros(NUM_ENVS, 8))
    together = ({name: torch.stack([each[name] for each in of_mode]) for name in said[0]} for of_mode in (said, solved))
    return tuple(together)


def _correlation(a: torch.Tensor, b: torch.Tensor) -> float:
    """Pearson's correlation of all numbers."""
    return float(torch.corrcoef(torch.stack((a.flatten(), b.flatten())))[0, 1])


def test_contact_forces_of_bodies_are_those_of_physx(both):
    """Normal force and friction of each body, in each of the physics steps that the history shows."""
    said, solved = both
    assert _correlation(said["normal"], solved["normal"]) > 0.99
    friction = tuple(each["total"] - each["normal"] for each in both)
    assert _correlation(*friction) > 0.98
    for entry in range(2):  # the second one is of another physics step of the same control step
        assert _correlation(said["history"][:, :, entry], solved["history"][:, :, entry]) > 0.98
    assert _correlation(said["history"][:, :, 0], solved["history"][:, :, 1]) < 0.9, "the steps have to differ"


def test_contacts_begin_when_they_begin_in_physx(both):
    """Above 1 N the same bodies touch, in 99 of 100 cases, and of those that touch in 95 of 100."""
    touching = [each["normal"].norm(dim=-1) > 1.0 for each in both]
    assert (touching[0] == touching[1]).float().mean() > 0.99
    assert (touching[0] & touching[1]).sum() > 0.95 * (touching[0] | touching[1]).sum()


def test_joints_carry_what_they_carry_in_physx(both):
    """Forces and torques that joints put on their bodies, in the frames of the joints; nothing holds the root."""
    said, solved = both
    assert said["force"][:, :, 0].abs().max() == 0.0
    for name, least in (("force", 0.95), ("torque", 0.95)):
        assert _correlation(said[name], solved[name]) > least, name
        middle = (said[name] - solved[name])[:, :, 1:].norm(dim=-1).median()
        assert middle < 0.1 * solved[name][:, :, 1:].norm(dim=-1).median(), name


def test_at_rest_the_ground_carries_the_weight(env, predictor):
    """What lies still presses the ground with its weight, to a hundredth, in PhysX and in the model; contact times grow
    by control steps, and those of bodies that do not touch are zero.
    """
    weight = 9.81 * sum(body.inertia.mass for body in env.robot_spec.bodies)
    use_predictor(env, predictor)
    env.reset(seed=0)
    for _ in range(STANDING):
        env.step(torch.zeros(NUM_ENVS, 8))
    still = (env.robot.data.root_com_vel_w.torch.norm(dim=-1) < 0.02) & (
        env.robot.data.joint_vel.torch.norm(dim=-1) < 0.02
    )
    assert still.sum() > NUM_ENVS // 2
    before = _read(env)
    env.step(torch.zeros(NUM_ENVS, 8))
    after = _read(env)
    carried = after["history"][:, :2, :, 2].sum(-1).mean(1)[still]
    assert (carried / weight - 1.0).abs().median() < 0.01
    stays = (before["contact_time"] > 0.1) & (after["contact_time"] > 0.0)
    assert stays.any()
    grown = (after["contact_time"] - before["contact_time"])[stays]
    torch.testing.assert_close(grown, torch.full_like(grown, env.step_dt), atol=1e-5, rtol=0.0)
    assert ((after["air_time"] == 0.0) == (after["contact_time"] > 0.0)).all()
    env.set_nerd_mode("physx")
    env.step(torch.zeros(NUM_ENVS, 8))


def test_nothing_is_computed_for_sensors_that_are_not_there(env, predictor):
    """Forces are asked for when a sensor is fed, and not any more when PhysX steps; sensors then read PhysX again."""
    use_predictor(env, predictor)
    env.step(torch.zeros(NUM_ENVS, 8))
    assert env.nerd.body_forces is not None and env.nerd.dynamics._forces == "joints"
    view, binding = env.scene["joint_wrench"]._root_view, env.scene["all_bodies"]._contact_binding
    env.set_nerd_mode("physx")
    env.step(torch.zeros(NUM_ENVS, 8))
    assert env.nerd.dynamics._forces == "none" and env.nerd.body_forces is None
    assert env.scene["joint_wrench"]._root_view is view.view
    assert env.scene["all_bodies"]._contact_binding is binding.binding


def test_in_mixed_mode_each_environment_shows_its_own_stepper(env, predictor):
    """Environments of the solver show the solver's forces, the others the model's of the physics step that was."""
    neural = torch.arange(NUM_ENVS) % 2 == 0
    use_predictor(env, predictor)
    env.reset(seed=0)
    env.set_nerd_mode("mixed", neural)
    for _ in range(30):
        env.step(torch.zeros(NUM_ENVS, 8))
    shown, forces = _read(env), env.nerd.body_forces
    assert torch.equal(shown["normal"][neural], forces.normal[neural, -1])
    torch.testing.assert_close(shown["history"][neural, 1], (forces.normal + forces.friction)[neural, 0])
    assert torch.equal(shown["force"][neural], forces.joint_force[neural])
    assert not torch.equal(shown["normal"][~neural], forces.normal[~neural, -1])
    assert shown["normal"][~neural].norm(dim=-1).max() > 0.0
    env._reset_idx(torch.tensor([0]))
    assert env.nerd.body_forces.normal[0].abs().max() == 0.0 < env.nerd.body_forces.normal[2].abs().max()
    env.set_nerd_mode("physx")
    env.step(torch.zeros(NUM_ENVS, 8))
