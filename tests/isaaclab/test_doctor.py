# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""'nerd doctor': each obstacle is found when it is planted in a healthy task, and a healthy task has none."""

from __future__ import annotations

import dataclasses
import json
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from nerd_core import checkpoint
from nerd_core.data.layout import ShardMeta
from nerd_core.data.manifest import write_manifest
from nerd_core.data.shards import ShardWriter
from nerd_core.robot.spec import Actuator, Joint, Parameter
from nerd_isaaclab.collect.contact_agreement import BodyAgreement
from nerd_isaaclab.collect.run import CollectResult
from nerd_isaaclab.doctor import data_checks, model_checks, rehearsal, task_checks
from nerd_isaaclab.doctor.diagnosis import Diagnosis, fine, obstacle, warning, worst
from nerd_isaaclab.envs.unsupported_terms import GivenForces
from support.seam import make_env, untrained_predictor
from support.trajectories import SPEC, make_padded


@pytest.fixture(scope="module")
def env():
    """A healthy task: the engine starts once in a process."""
    env = make_env("NeRD-Ant-Run", 16)
    env.reset()
    yield env
    env.close()


def levels(found: list[Diagnosis]) -> set[str]:
    """The levels among some diagnoses."""
    return {each.level for each in found}


def test_healthy_task_has_nothing_to_mend(env):
    """A task of this package with a clipped agent is fine in every respect, and each respect is named."""
    found = task_checks.check_task(env, "NeRD-Ant-Run", SimpleNamespace(clip_actions=1.0))
    assert levels(found) == {"fine"}, found
    topics = "robot, controls, actions, drives, ranges, mechanics, self-collision, events, ground, first states, terms"
    assert [each.topic for each in found] == topics.split(", ")


def test_actions_without_bound_are_found(env):
    """A policy whose actions nobody clips leaves the range of the data; a task without an agent is told, too."""
    [found] = task_checks.check_actions(env, "NeRD-Ant-Run", SimpleNamespace(clip_actions=None))
    assert found.level == "warning" and "agent.clip_actions=1" in found.remedy and "at most 15" in found.text
    assert levels(task_checks.check_actions(env, "NeRD-Ant-Run", None)) == {"warning"}


def test_unknown_forces_are_found(env, monkeypatch):
    """What mechanics refuses is told, with the training that learns it from motion."""
    monkeypatch.setattr(task_checks, "require_known_forces", lambda spec: (_ for _ in ()).throw(ValueError("a spring")))
    [found] = task_checks.check_mechanics(env)
    assert found.level == "warning" and "a spring" in found.text


def test_actuator_with_memory_is_found(env, monkeypatch):
    """A joint whose actuator has a delay or a network is named, with what can step it."""
    first, *others = env.robot_spec.joints
    remembering = dataclasses.replace(first, actuator=Actuator("ActuatorNetMLP"))
    monkeypatch.setattr(env, "_spec", dataclasses.replace(env.robot_spec, joints=(remembering, *others)))
    [found] = task_checks.check_drives(env, "NeRD-Ant-Run")
    assert found.level == "warning" and first.name in found.text and others[0].name not in found.text
    assert "nerd models init" in found.remedy


def test_drives_at_their_limits_are_found(env):
    """Limits a hundredth of what the actions ask for are told with the share of the steps."""
    actuators = list(env.robot.actuators.values())
    limits = [actuator.effort_limit.clone() for actuator in actuators]
    try:
        for actuator in actuators:
            actuator.effort_limit[:] = 0.05
        [found] = task_checks.check_drives(env, "NeRD-Ant-Run")
    finally:
        for actuator, limit in zip(actuators, limits, strict=True):
            actuator.effort_limit[:] = limit
    assert found.level == "warning" and "at their limits in 9" in found.text and "scale" in found.remedy


def test_joints_that_slide_without_limits_are_found(env, monkeypatch):
    """Data of a rail without limits go metres away at metres a second: told by name, with the option."""
    joints = env.robot_spec.joints
    rail, finger = (
        dataclasses.replace(joint, kind="prismatic", lower=-farthest, upper=farthest, velocity_limit=1e9)
        for joint, farthest in zip(joints, (1e9, 0.04))
    )
    monkeypatch.setattr(env, "_spec", dataclasses.replace(env.robot_spec, joints=(rail, finger, *joints[2:])))
    [found] = task_checks.check_ranges(env)
    assert (
        found.level == "warning" and found.text.startswith(f"{rail.name} slide") and "--ranges slide=" in found.remedy
    )


def test_controls_that_nobody_moves_are_found(env, monkeypatch):
    """A task whose actions move nothing of the robot cannot teach."""
    monkeypatch.setattr(env, "_spec", dataclasses.replace(env.robot_spec, controls=()))
    assert levels(task_checks.check_controls(env)) == {"obstacle"}


def randomize_rigid_body_mass():
    """Has the name of Isaac Lab's event."""


def randomize_fixed_tendon_parameters():
    """Has the name of another, which no model follows."""


@pytest.mark.parametrize("is_found", [True, False])
def test_events_that_make_robots_differ_are_found(env, monkeypatch, is_found: bool):
    """An event that gives robots different masses is named with its override; one that gives all the same is not."""
    term = SimpleNamespace(
        func=randomize_rigid_body_mass,
        params={"mass_distribution_params": (0.8, 1.2 if is_found else 0.8)},
        mode="startup",
    )
    monkeypatch.setattr(env.cfg, "events", SimpleNamespace(planted=term))
    [found] = task_checks.check_events(env)
    assert (found.level == "warning") is is_found
    assert found.remedy.endswith("env.events.planted=null") is is_found


def test_which_models_follow_an_event_is_said(env, monkeypatch):
    """Masses are followed by mechanics, and the preset is named; what no model follows is said to be so."""
    terms = {
        function.__name__: SimpleNamespace(func=function, params={"range": (0.8, 1.2)}, mode="startup")
        for function in (randomize_rigid_body_mass, randomize_fixed_tendon_parameters)
    }
    monkeypatch.setattr(env.cfg, "events", SimpleNamespace(**terms))
    masses, tendons = task_checks.check_events(env)
    assert "mechanics follow" in masses.text and masses.remedy.startswith("nerd train DATA --preset mechanics")
    assert "no model follows" in tendons.text and tendons.remedy == "env.events.randomize_fixed_tendon_parameters=null"


def test_ground_that_contacts_cannot_see_is_found(env):
    """A static shape without triangles is an obstacle, named by its path."""
    from pxr import UsdGeom, UsdPhysics

    curve = UsdGeom.BasisCurves.Define(env.sim.stage, "/World/planted")
    UsdPhysics.CollisionAPI.Apply(curve.GetPrim())
    try:
        [found] = task_checks.check_ground(env)
    finally:
        env.sim.stage.RemovePrim("/World/planted")
    assert found.level == "obstacle"
    assert levels(task_checks.check_ground(env)) == {"fine"}


def test_first_states_that_cannot_be_are_found(env, monkeypatch):
    """Resets into the ground and beyond the bounds of the specification are found."""

    def sink() -> None:
        pose = env.robot.data.root_link_pose_w.torch.clone()
        pose[:, 2] = 0.1
        env.robot.write_root_link_pose_to_sim_index(root_pose=pose)
        env.scene.update(0.0)

    monkeypatch.setattr(env, "reset", sink)
    [found] = task_checks.check_first_states(env)
    assert found.level == "warning" and "deep in the ground" in found.text
    narrow = tuple(dataclasses.replace(joint, lower=5.0, upper=6.0) for joint in env.robot_spec.joints)
    monkeypatch.setattr(env, "_spec", dataclasses.replace(env.robot_spec, joints=narrow))
    assert "obstacle" in levels(task_checks.check_first_states(env))


def test_terms_that_only_the_solver_feeds_are_found(env, monkeypatch):
    """A term on a sensor that nothing feeds is an obstacle, one on contact forces a warning that names mechanics and
    the force head, one on joint wrenches a warning that names mechanics alone; what a model gives is fine.
    """
    scan = SimpleNamespace(path="observations.policy.scan", reason="another engine's sensor", override="env.x=null")
    wrench = SimpleNamespace(path="observations.policy.wrench", reason="the joint wrenches", override="env.z=null")
    contact = SimpleNamespace(path="rewards.feet", reason="the contact sensor", override="env.y=null")

    def planted(env, robot, given: GivenForces):
        return [scan, *([] if given.by_mechanics else [wrench]), *([] if any(given) else [contact])]

    monkeypatch.setattr(task_checks, "find_unsupported_terms", planted)
    first, second, third = task_checks.check_terms(env)
    assert (first.level, first.remedy) == ("obstacle", "env.x=null")
    assert second.level == "warning" and "rewards.feet" in second.text and "wrench" not in second.text
    assert "--force-head" in second.remedy and "--preset mechanics" in second.remedy
    assert third.level == "warning" and "policy.wrench" in third.text and "--force-head" not in third.remedy
    first, second, third = task_checks.check_terms(env, GivenForces(True, False))
    assert (first.level, second.level, third.level) == ("obstacle", "fine", "warning")
    assert "rewards.feet" in second.text and "policy.wrench" in third.text
    first, second = task_checks.check_terms(env, GivenForces(False, True))
    assert (first.level, second.level) == ("obstacle", "fine")
    assert "rewards.feet" in second.text and "policy.wrench" in second.text and not second.remedy


def test_model_of_another_robot_is_found(env):
    """A model of another robot is an obstacle; one of this robot is stepped, and its cost is told."""
    assert levels(model_checks.check_model(env, "cartpole")) == {"obstacle"}
    found = model_checks.check_model(env, "ant")
    assert levels(found) == {"fine"}, found
    assert [each.topic for each in found] == ["model", "step cost"] and env._requested == ("physx", None)


def test_model_of_other_motors_is_found(env, monkeypatch, tmp_path):
    """A model of the same robot under motors of other gains is an obstacle that names the gain."""
    first, *others = env.robot_spec.joints
    motors = [
        dataclasses.replace(first, actuator=Actuator("DCMotor", (Parameter("stiffness", gain),)))
        for gain in (40.0, 160.0)
    ]
    soft, stiff = (dataclasses.replace(env.robot_spec, joints=(motor, *others)) for motor in motors)
    monkeypatch.setattr(env, "_spec", soft)
    checkpoint.save(tmp_path / "soft", untrained_predictor(env))
    monkeypatch.setattr(env, "_spec", stiff)
    [found] = model_checks.check_model(env, str(tmp_path / "soft"))
    assert found.level == "obstacle" and "stiffness" in found.text and "160" in found.text


@pytest.mark.parametrize(("share", "level"), [(0.0, "fine"), (0.049, "warning"), (0.05, "obstacle")])
def test_model_that_leaves_its_bounds_is_found(share: float, level: str):
    """A few held environments are a warning, a twentieth of them is an obstacle."""
    assert model_checks._of_guard(share, 64).level == level


@pytest.mark.parametrize(
    ("change", "level", "word"),
    [
        ({}, "fine", "none left out"),
        ({"dropped": {"guard": 3}}, "warning", "guard: 3"),
        ({"contact_agreement": {"foot": BodyAgreement(100, 80, 100, 90)}}, "warning", "'foot'"),
        ({"contact_agreement": {"foot": BodyAgreement(19)}}, "fine", "explain 19 contacts"),
        ({"contact_agreement": {"base": BodyAgreement(forced=100, unseen=60)}}, "warning", "60 of them none of its"),
        ({"contact_agreement": {"base": BodyAgreement(forced=100, unseen=9)}}, "fine", "none left out"),
        ({"warnings": ("the data tell nothing of the ground",)}, "warning", "nothing of the ground"),
    ],
)
def test_rehearsal_is_judged(change: dict, level: str, word: str):
    """Trajectories that are left out and contacts that no slot explains are found, too few contacts are no proof."""
    plain = {"transitions": 1600, "trajectories": 32, "new_transitions": 1600, "seconds": 1.0, "dropped": {}}
    result = CollectResult(**{**plain, "transitions_per_second": 1, "kinds": {}, **change})
    [found] = rehearsal.judge(result)
    assert found.level == level and word in found.text


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A small dataset of a robot, and its states and controls."""
    folder = tmp_path_factory.mktemp("data") / "hopper"
    padded = make_padded(32, 40, recorded=False)
    with ShardWriter(folder, SPEC, ShardMeta(task="hop", seed=0, versions={})) as writer:
        writer.append(**padded)
    write_manifest(folder)
    return folder, torch.from_numpy(np.asarray(padded["state"])), torch.from_numpy(np.asarray(padded["control"]))


def test_data_of_another_robot_and_few_data_are_found(data):
    """Data of another robot are an obstacle; too few are a warning."""
    folder, *_ = data
    other = dataclasses.replace(SPEC, joints=(SPEC.joints[0], Joint("leg", "prismatic", (0.0, 0.0, 1.0), 0.0, 0.7)))
    assert levels(data_checks.check_data(folder, other, None)) == {"obstacle"}
    [found] = data_checks.check_data(folder, SPEC, None)
    assert found.level == "warning" and "transitions" in found.text


def test_policy_that_leaves_the_data_is_found(data):
    """A policy twice as fast as the data is named by the coordinate; one like the data is fine."""
    folder, state, control = data
    inside = data_checks.motion_of(SPEC, state, control)
    assert data_checks.check_data(folder, SPEC, inside)[1].level == "fine"
    fast = state.clone()
    fast[..., SPEC.state.joint_vel.start] *= 3.0
    found = data_checks.check_data(folder, SPEC, data_checks.motion_of(SPEC, fast, control))[1]
    assert found.level == "warning" and "hip" in found.text and "leg" not in found.text
    assert "--policy" in found.remedy


def test_worst_of_some():
    """The worst of nothing is fine, and an obstacle outweighs all."""
    assert worst([]) == "fine"
    assert worst([fine("a", ""), warning("b", "", "")]) == "warning"
    assert worst([obstacle("a", "", ""), warning("b", "", "")]) == "obstacle"


@pytest.mark.parametrize("level", ["fine", "obstacle"])
def test_command_tells_by_its_exit_code(level: str, monkeypatch, tmp_path, capsys):
    """The command shows each line with its remedy, writes JSON, and ends with 1 where there is an obstacle."""
    from nerd_isaaclab.programs import doctor

    found = [Diagnosis(level, "ground", "what was [found]", "what mends it")]
    monkeypatch.setattr(doctor, "examine", lambda cfg: found)
    out = tmp_path / "new" / "found.json"
    assert doctor.main(["--task", "NeRD-Cartpole", "--json", str(out)]) == (level == "obstacle")
    shown = capsys.readouterr().out
    assert "what was [found]" in shown and "-> what mends it" in shown
    assert json.loads(out.read_text())[0]["remedy"] == "what mends it"
