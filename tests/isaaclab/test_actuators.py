# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The laws that drive a robot, read from a task's configuration; no engine."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from nerd_core.robot.spec import Actuator, Parameter
from nerd_isaaclab.physics.actuators import nominal_values, read_actuators

pytestmark = pytest.mark.unit


def _robot(**actuators: Any) -> Any:
    return SimpleNamespace(joint_names=["hip", "knee", "tail"], cfg=SimpleNamespace(actuators=actuators))


def test_laws_are_told_apart(tmp_path: Path):
    """The kind, gains by pattern, delays and limits are read for each joint; a drive of the engine has no numbers here,
    a joint without actuator has the law ``none``, and a network is told by its content, wherever it stands.
    """
    from isaaclab.actuators import ActuatorNetMLPCfg, DelayedPDActuatorCfg, ImplicitActuatorCfg

    import nerd_isaaclab.tasks  # noqa: F401

    delayed = DelayedPDActuatorCfg(
        joint_names_expr=["hip", "knee"], stiffness={"hip": 40.0, "k.*": 50.0}, damping=5.0, max_delay=3
    )
    laws = read_actuators(_robot(legs=delayed))
    numbers = [[(each.name, each.value) for each in laws[name].parameters] for name in ("hip", "knee")]
    rest = [("damping", 5.0), ("max_delay", 3.0), ("min_delay", 0.0)]
    assert numbers == [[*rest, ("stiffness", 40.0)], [*rest, ("stiffness", 50.0)]]
    assert laws["hip"].kind == "DelayedPDActuator" and laws["tail"] == Actuator("none")
    implicit = ImplicitActuatorCfg(joint_names_expr=".*", stiffness=1.0, damping=1.0)
    assert read_actuators(_robot(all=implicit))["tail"] == Actuator("ImplicitActuator")
    details = []
    for name, content in (("a.pt", b"one"), ("b.pt", b"one"), ("c.pt", b"two")):
        (tmp_path / name).write_bytes(content)
        net = ActuatorNetMLPCfg(
            joint_names_expr=[".*"],
            network_file=str(tmp_path / name),
            pos_scale=1.0,
            vel_scale=1.0,
            torque_scale=1.0,
            input_order="pos_vel",
            input_idx=[0, 1, 2],
            saturation_effort=120.0,
        )
        law = read_actuators(_robot(all=net))["hip"]
        details.append(law.detail)
        assert Parameter("torque_scale", 1.0) in law.parameters
    assert details[0] == details[1] != details[2] and details[0]


def test_what_events_made_differ_is_what_the_task_sets():
    """Gains that differ between environments are those of the configuration; without a setting, or where all agree,
    those of the engine.
    """
    from isaaclab.actuators import ImplicitActuatorCfg

    import nerd_isaaclab.tasks  # noqa: F401

    robot = _robot(legs=ImplicitActuatorCfg(joint_names_expr=["hip"], stiffness=80.0, damping=2.0))
    values = torch.tensor([[70.0, 5.0, 1.0], [90.0, 5.0, 2.0]])
    assert nominal_values(robot, "stiffness", values) == [80.0, 5.0, 1.0]
