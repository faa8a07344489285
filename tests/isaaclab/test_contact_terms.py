# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Terms that read contact sensors and joint wrenches, while a model steps Isaac Lab's own Ant. One engine for all."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from nerd_core import checkpoint
from nerd_core.network.architectures.transformer import TransformerCfg
from nerd_core.predictor.predictor import Predictor
from support.seam import make_env, untrained_predictor, use_predictor

NUM_ENVS = 8
HISTORY = 3
WRENCHES = "env.observations.policy.feet_body_forces=null"
CONTACTS = "env.rewards.undesired_contacts=null"


def _with_contact_sensors(cfg: Any) -> None:
    """Adds a contact sensor, one that resolves partners, and a reward on the first, to the stock task."""
    from isaaclab.envs import mdp
    from isaaclab.managers import RewardTermCfg, SceneEntityCfg
    from isaaclab.sensors import ContactSensorCfg

    cfg.scene.robot.spawn.activate_contact_sensors = True
    cfg.scene.contact_forces = ContactSensorCfg(
        prim_path="{ENV_REGEX_NS}/Robot/.*foot", history_length=HISTORY, track_air_time=True, update_period=0.0
    )
    cfg.scene.foot_on_ground = ContactSensorCfg(
        prim_path="{ENV_REGEX_NS}/Robot/front_left_foot",
        filter_prim_paths_expr=["/World/ground/terrain/CollisionPlane"],
    )
    cfg.rewards.undesired_contacts = RewardTermCfg(
        func=mdp.undesired_contacts,
        weight=-1.0,
        params={"threshold": 1.0, "sensor_cfg": SceneEntityCfg("contact_forces", body_names=".*foot")},
    )


@pytest.fixture(scope="module")
def env():
    """Isaac Lab's Ant with contact sensors, without the term that reads joint wrenches."""
    env = make_env("NeRD-Isaac-Ant", NUM_ENVS, change=_with_contact_sensors, overrides=(WRENCHES,))
    env.reset(seed=0)
    env.step(torch.zeros(NUM_ENVS, 8))
    yield env
    env.close()


@pytest.fixture(autouse=True)
def back_to_physx(env):
    """Leaves every test with the solver in charge."""
    yield
    env.set_nerd_mode("physx")
    env.step(torch.zeros(NUM_ENVS, 8))


@pytest.fixture(scope="module")
def predictor(env):
    """A model that was never trained, with a force head."""
    plain = untrained_predictor(env, model=TransformerCfg(width=16, layers=1, heads=2, window=2, head_hidden=8))
    predictor = Predictor(env.robot_spec, dataclasses.replace(plain.cfg, force_head=True))
    own = predictor.state_dict()
    own.update({name: value for name, value in plain.state_dict().items() if own[name].shape == value.shape})
    predictor.load_state_dict(own)
    predictor.force_scale.fill_(5.0)
    return predictor.eval()


def _save(predictor: Predictor, path: Any) -> str:
    checkpoint.save(path, predictor)
    return str(path)


def test_joint_wrenches_are_refused_by_name_and_the_override_helps(env, predictor, tmp_path):
    """The stock task is refused with the term's name and the override that removes it; with it, the model steps."""
    from isaaclab_tasks.utils.parse_cfg import parse_env_cfg

    from nerd_isaaclab.envs.nerd_env import NerdModeError

    path = _save(predictor, tmp_path / "model")
    stock = parse_env_cfg("NeRD-Isaac-Ant", device="cpu", overrides=["physics=ovphysx"])
    env.cfg.observations.policy.feet_body_forces = stock.observations.policy.feet_body_forces
    with pytest.raises(NerdModeError) as refusal:
        env.load_nerd_checkpoint(path)
    message = str(refusal.value)
    assert "observations.policy.feet_body_forces reads the joint wrenches of the sensor 'joint_wrench'" in message
    assert message.endswith(f"Remove them with: {WRENCHES}")

    env.cfg.observations.policy.feet_body_forces = None
    env.load_nerd_checkpoint(path)
    env.set_nerd_mode("neural")
    observation, *_ = env.step(torch.zeros(NUM_ENVS, 8))
    assert env.nerd_mode == "neural"
    assert observation["policy"].isfinite().all()


def test_contact_sensors_are_refused_by_name_without_a_force_head(env, predictor, tmp_path):
    """A reward on a contact sensor is named, with its override, when the checkpoint predicts no forces."""
    from nerd_isaaclab.envs.nerd_env import NerdModeError

    path = _save(Predictor(env.robot_spec, dataclasses.replace(predictor.cfg, force_head=False)), tmp_path / "model")
    reward, env.cfg.rewards.undesired_contacts = env.cfg.rewards.undesired_contacts, None
    env.load_nerd_checkpoint(path)
    env.cfg.rewards.undesired_contacts = reward
    with pytest.raises(NerdModeError) as refusal:
        env.load_nerd_checkpoint(path)
    message = str(refusal.value)
    assert "rewards.undesired_contacts reads the contact sensor 'contact_forces'" in message
    assert "neither mechanics nor a force head to feed it" in message
    assert message.endswith(f"Remove them with: {CONTACTS}")


def test_terms_are_found_by_the_defaults_of_their_functions_and_by_strings(env):
    """A sensor that a function takes by default, or that a string names, is found as one among the parameters."""
    from isaaclab.managers import RewardTermCfg, SceneEntityCfg

    from nerd_isaaclab.envs.unsupported_terms import GivenForces, find_unsupported_terms

    def by_default(env, sensor_cfg=SceneEntityCfg("joint_wrench")):  # noqa: B008
        return torch.zeros(env.num_envs)

    def by_string(env, sensor_name):
        return torch.zeros(env.num_envs)

    env.cfg.rewards.by_default = RewardTermCfg(func=by_default, weight=1.0)
    env.cfg.rewards.by_string = RewardTermCfg(func=by_string, weight=1.0, params={"sensor_name": "foot_on_ground"})
    found = {term.path: term.reason for term in find_unsupported_terms(env, env.robot, GivenForces(True, False))}
    del env.cfg.rewards.by_default, env.cfg.rewards.by_string
    assert "joint wrenches" in found["rewards.by_default"]
    assert "one force a body" in found["rewards.by_string"]


def test_sensors_that_a_force_head_cannot_feed_say_why(env):
    """Another physics backend, bodies that are not the robot's, and forces by partner are each named."""
    from nerd_isaaclab.physics.contact_forces import why_not_fed

    cfg = SimpleNamespace(filter_prim_paths_expr=[], track_contact_points=False, track_friction_forces=False)
    good = SimpleNamespace(__backend_name__="ovphysx", body_names=["torso"], cfg=cfg)
    assert why_not_fed(good, env.robot) is None
    newton = SimpleNamespace(**vars(good) | {"__backend_name__": "newton"})
    assert "on the physics backend 'newton' a force head cannot feed it" in str(why_not_fed(newton, env.robot))
    box = SimpleNamespace(**vars(good) | {"body_names": ["torso", "box"]})
    assert "does not drive its bodies box" in str(why_not_fed(box, env.robot))
    assert "filter_prim_paths_expr" in str(why_not_fed(env.scene["foot_on_ground"], env.robot))


@pytest.mark.parametrize("mode", ["neural", "mixed"])
def test_contact_sensors_report_the_models_forces(env, predictor, mode):
    """Forces, history and times of the sensor are those that the head predicts, body by body; the solver's
    environments keep the solver's; afterwards the sensor measures again.
    """
    sensor, robot = env.scene["contact_forces"], env.robot
    bodies = [robot.body_names.index(name) for name in sensor.body_names]
    neural = torch.arange(NUM_ENVS) % 2 == 0 if mode == "mixed" else torch.ones(NUM_ENVS, dtype=torch.bool)
    use_predictor(env, predictor)
    env.reset(seed=0)
    env.set_nerd_mode(mode, neural if mode == "mixed" else None)
    generator = torch.Generator().manual_seed(0)
    said = []
    for _ in range(6):
        env.step(torch.rand(NUM_ENVS, 8, generator=generator) * 2.0 - 1.0)
        fresh = env.episode_length_buf > 0  # a reset clears the sensor
        force = env.nerd.dynamics.prediction.force[:, bodies]
        normal = force * torch.tensor([0.0, 0.0, 1.0])  # the ground is level; the rest is friction
        said.append(normal)
        kept = neural & fresh
        assert kept.any()
        got = sensor.data.net_normal_forces_w.torch
        assert torch.equal(got[kept], normal[kept])
        torch.testing.assert_close(sensor.data.net_forces_w.torch[kept], force[kept])
        # Two physics steps in a control step, three entries: the last control step twice, the one before it once.
        long = kept & (env.episode_length_buf > 1)
        history = sensor.data.net_normal_forces_w_history.torch
        assert torch.equal(history[kept, 0], normal[kept])
        assert torch.equal(history[kept, 1], normal[kept])
        torch.testing.assert_close(sensor.data.net_forces_w_history.torch[kept, 1], force[kept])
        if len(said) > 1 and mode == "neural":
            assert torch.equal(history[long, 2], said[-2][long])
        contact = normal.norm(dim=-1) > sensor.cfg.force_threshold
        assert torch.equal((sensor.data.current_contact_time.torch > 0.0)[kept], contact[kept])
        assert torch.equal((sensor.data.current_air_time.torch > 0.0)[kept], ~contact[kept])
    assert not torch.equal(said[0], said[-1])
    if mode == "mixed":
        assert not torch.isclose(sensor.data.net_normal_forces_w.torch, said[-1])[~neural].all()

    binding = sensor._contact_binding
    env.set_nerd_mode("physx")
    env.step(torch.zeros(NUM_ENVS, 8))
    assert sensor._contact_binding is binding.binding


def test_times_add_up_to_the_time_of_the_control_steps(env, predictor):
    """A foot that the model keeps in contact for n control steps has been in contact for n of them; one that is far
    from the ground is in the air, however large the forces that the network knows.
    """
    sensor = env.scene["contact_forces"]
    bodies = [env.robot.body_names.index(name) for name in sensor.body_names]
    steps = torch.zeros(NUM_ENVS, len(bodies))
    use_predictor(env, predictor)
    heavy = predictor.force_scale.clone()
    predictor.force_scale.fill_(1.0e4)
    env.reset(seed=0)
    for _ in range(4):
        env.step(torch.zeros(NUM_ENVS, 8))
        near = env.nerd.dynamics.prediction.near[:, bodies]
        steps = torch.where(near & (env.episode_length_buf > 0)[:, None], steps + 1, 0)
    predictor.force_scale.copy_(heavy)
    assert near.any() and not near.all()
    torch.testing.assert_close(sensor.data.current_contact_time.torch, steps * env.step_dt, atol=1e-5, rtol=0.0)


def test_rewards_on_the_sensor_are_those_of_the_models_forces(env, predictor):
    """Isaac Lab's own reward counts the feet on which the model predicts more than the threshold."""
    sensor = env.scene["contact_forces"]
    use_predictor(env, predictor)
    env.reset(seed=0)
    env.step(torch.zeros(NUM_ENVS, 8))
    kept = env.episode_length_buf > 0
    bodies = [env.robot.body_names.index(name) for name in sensor.body_names]
    touching = (env.nerd.dynamics.prediction.force[:, bodies, 2].abs() > 1.0).sum(dim=-1).float()
    names = env.reward_manager.active_terms
    reward = env.reward_manager._step_reward[:, names.index("undesired_contacts")]
    torch.testing.assert_close(reward[kept], -touching[kept])
    assert touching.max() > 0.0


def test_a_held_environment_and_a_fresh_one_have_no_forces(env, predictor):
    """What the guard refused brings no force, and what is not a number never reaches the sensor."""
    use_predictor(env, predictor)
    env.reset(seed=0)
    kept = {name: value.clone() for name, value in predictor.network.state_dict().items()}
    for parameter in predictor.network.parameters():
        parameter.data.fill_(torch.nan)
    env.step(torch.zeros(NUM_ENVS, 8))
    predictor.network.load_state_dict(kept)
    assert env.nerd.held.all()
    assert (env.nerd.contact_forces == 0.0).all()
    assert (env.scene["contact_forces"].data.net_forces_w.torch == 0.0).all()

    env.step(torch.zeros(NUM_ENVS, 8))
    assert (env.nerd.contact_forces != 0.0).any()
    env._reset_idx(torch.tensor([1]))
    assert (env.nerd.contact_forces[1] == 0.0).all()
    assert (env.nerd.contact_forces[0] != 0.0).any()
