# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What events randomise is found by name, and held at the middle of its range; no engine."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace

import pytest

import nerd_isaaclab.tasks  # noqa: F401  (before other imports of Isaac Lab)
from nerd_core.robot.spec import Actuator
from nerd_isaaclab.envs.nerd_env import NerdDynamics
from nerd_isaaclab.envs.randomised_properties import find_randomised_properties, hold_still, writes_properties
from support.trajectories import SPEC

pytestmark = pytest.mark.unit


def _events():
    """Events as in Isaac Lab's velocity tasks."""
    from isaaclab.envs import mdp
    from isaaclab.managers import EventTermCfg

    def term(func, mode, **params):
        return EventTermCfg(func=func, mode=mode, params=params)

    return SimpleNamespace(
        material=term(mdp.randomize_rigid_body_material, "startup", static_friction_range=(0.8, 0.8), num_buckets=64),
        mass=term(
            mdp.randomize_rigid_body_mass,
            "startup",
            mass_distribution_params=(0.8, 1.25),
            operation="scale",
            distribution="log_uniform",
        ),
        com=term(mdp.randomize_rigid_body_com, "startup", com_range={"x": (-0.05, 0.05), "z": (0.0, 0.02)}),
        gains=term(
            mdp.randomize_actuator_gains, "reset", stiffness_distribution_params=(1.0, 0.1), distribution="gaussian"
        ),
        wrench=term(mdp.apply_external_force_torque, "reset", force_range=(0.0, 0.0), torque_range=(-1.0, 1.0)),
        reset=term(mdp.reset_joints_by_scale, "reset", position_range=(0.5, 1.5), velocity_range=(0.0, 0.0)),
        push=term(mdp.push_by_setting_velocity, "interval", velocity_range={"x": (-0.5, 0.5)}),
        nothing=None,
    )


def test_what_differs_between_robots_is_found():
    """Masses, centres, gains and wrenches are named with their function and when they act; a friction that is the same
    for all, resets and pushes are not.
    """
    assert [str(each) for each in find_randomised_properties(_events())] == [
        "events.mass (randomize_rigid_body_mass, at startup)",
        "events.com (randomize_rigid_body_com, at startup)",
        "events.gains (randomize_actuator_gains, at reset)",
        "events.wrench (apply_external_force_torque, at reset)",
    ]
    assert find_randomised_properties(vars(_events())) == find_randomised_properties(_events())
    assert find_randomised_properties(None) == []


def test_what_mechanics_follows_is_told_from_what_nobody_does():
    """Masses, centres, gains and wrenches are followed by a model with mechanics; forms of bodies are not."""
    events = _events()
    assert all(each.is_followed(False) for each in find_randomised_properties(events))
    events.scale = type(events.com)(
        func="isaaclab.envs.mdp:randomize_rigid_body_scale", mode="startup", params={"r": (1, 2)}
    )
    assert [each.function for each in find_randomised_properties(events) if not each.is_followed(False)] == [
        "randomize_rigid_body_scale"
    ]


@pytest.mark.parametrize("law", ["ImplicitActuator", "DCMotor"])
def test_a_model_says_which_events_it_does_not_follow(law: str, caplog):
    """Whether gains are followed is told by the law in the specification, whichever objects run the actuators: the
    engine's drives are followed, motors outside of it have the task's gains.
    """
    joints = tuple(dataclasses.replace(joint, actuator=Actuator(law)) for joint in SPEC.joints)
    env = SimpleNamespace(cfg=SimpleNamespace(events=_events()), robot_spec=dataclasses.replace(SPEC, joints=joints))
    NerdDynamics._say_what_is_not_followed(env, SimpleNamespace(takes_parameters=True, network=None))  # pyright: ignore
    told = [record.getMessage() for record in caplog.records]
    if law == "ImplicitActuator":
        assert told == []
    else:
        assert len(told) == 1 and told[0].endswith(": events.gains (randomize_actuator_gains, at reset)")


def test_modes_in_which_more_than_states_are_written():
    """Gains at resets make the engine be asked again; resets of joints and pushes alone do not."""
    events = _events()
    assert writes_properties(events, "reset") and not writes_properties(events, "interval")
    events.gains = events.wrench = None
    assert not writes_properties(vars(events), "reset") and not writes_properties(None, "reset")


def test_held_still_every_robot_has_the_middle():
    """Ranges become their middle, geometric for logarithmic ones, the mean for Gaussian ones; what a task sets for all
    stays set, and resets are left alone.
    """
    events = _events()
    assert [each.path for each in hold_still(events)] == ["events.mass", "events.com", "events.gains", "events.wrench"]
    assert not find_randomised_properties(events)
    assert events.mass.params["mass_distribution_params"] == pytest.approx((1.0, 1.0))
    assert events.com.params["com_range"] == {"x": (0.0, 0.0), "z": (0.01, 0.01)}
    assert events.gains.params["stiffness_distribution_params"] == (1.0, 0.0)
    assert events.material.params == {"static_friction_range": (0.8, 0.8), "num_buckets": 64}
    assert events.reset.params["position_range"] == (0.5, 1.5)
