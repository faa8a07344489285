# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What stands in the way of a task of somebody's own is said in words: physics without presets, refusals inside Isaac
Lab's programs, log folders; no engine.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import pytest

import nerd_isaaclab.tasks  # noqa: F401
from nerd_core.files.serialization import to_plain
from nerd_core.robot.spec import SpecError
from nerd_isaaclab.compat import no_cuda, physics_presets, refusals
from nerd_isaaclab.compat.physics_presets import physics_problem, physics_words
from nerd_isaaclab.doctor.run import DoctorCfg
from nerd_isaaclab.doctor.worker import work
from nerd_isaaclab.launch.isaaclab_programs import check_physics
from nerd_isaaclab.tasks import derived_agents

pytestmark = pytest.mark.unit


def _task(name: str, physics: Any) -> str:
    """Registers a task whose physics is fixed."""
    from isaaclab.envs import ManagerBasedRLEnvCfg

    def make() -> Any:
        cfg = ManagerBasedRLEnvCfg()
        cfg.sim.physics = physics
        return cfg

    gymnasium.register(id=name, entry_point="nowhere:Nothing", kwargs={"env_cfg_entry_point": make})
    return name


@pytest.fixture(scope="module")
def fixed() -> str:
    """A task with a hard-coded OvPhysxCfg."""
    from isaaclab_ov.physics import OvPhysxCfg

    return _task("Fixed-Physics", OvPhysxCfg())


@pytest.fixture(scope="module")
def missing() -> str:
    """A task whose SimulationCfg names no physics."""
    return _task("No-Physics", None)


def test_a_fixed_physics_is_named_with_the_way_on(fixed: str):
    """``physics=NAME`` cannot change a hard-coded configuration: the message says what it is, to leave the word out,
    and how to have a choice. A collection, which always asks for a physics, goes on where it is the same one.
    """
    problem = physics_problem(fixed, ["physics=ovphysx"])
    assert problem is not None and "'sim.physics' is a OvPhysxCfg. Leave out physics=..." in problem
    assert "sim.physics = PhysicsPresetsCfg()" in problem
    assert physics_problem(fixed, []) is None
    assert physics_words(fixed, "ovphysx") == []
    with pytest.raises(ValueError, match="got physics=newton_mjwarp, but the physics of Fixed-Physics is fixed"):
        physics_words(fixed, "newton_mjwarp")
    with pytest.raises(ValueError, match="is fixed"):
        check_physics(fixed, ["physics=ovphysx"])


def test_a_doctor_asks_a_fixed_physics_for_nothing(fixed: str, monkeypatch):
    """``nerd doctor`` examines a task whose physics is fixed, without a name that would change nothing; another one is
    refused in words.
    """
    from isaaclab_tasks.utils import parse_cfg

    def parsed(task: str, **asked: Any) -> None:
        raise SystemExit(" ".join(asked["overrides"]))

    monkeypatch.setattr(parse_cfg, "parse_env_cfg", parsed)
    with pytest.raises(SystemExit, match="^env.nerd.mode=physx$"):
        work(to_plain(DoctorCfg(fixed)), lambda *_: None)
    with pytest.raises(ValueError, match="is fixed"):
        work(to_plain(DoctorCfg(fixed, physics="newton_mjwarp")), lambda *_: None)


def test_a_missing_physics_is_not_a_missing_isaac_sim(missing: str, monkeypatch):
    """Without a physics Isaac Lab would say that Isaac Sim is not installed; here the configuration is named first,
    unless Isaac Sim is there and nothing else was asked for.
    """
    monkeypatch.setattr(no_cuda, "has_cuda", lambda: False)
    problem = physics_problem(missing, [])
    assert problem is not None and "its SimulationCfg has no 'physics'" in problem and "PhysicsPresetsCfg" in problem
    assert physics_problem(missing, ["env.sim.physics=x"]) is None
    monkeypatch.setattr(no_cuda, "_is_isaaclab", lambda program: True)
    with pytest.raises(SystemExit, match="nerd: No-Physics names no physics"):
        no_cuda.complete_isaaclab_command(["isaaclab", "train", "--task", missing])
    monkeypatch.setattr(physics_presets.importlib.util, "find_spec", lambda name: object())
    assert physics_problem(missing, []) is None
    assert physics_problem(missing, ["physics=ovphysx"]) is not None


def test_presets_are_chosen_by_name():
    """A task with presets takes their names; a wrong one lists them."""
    assert physics_words("NeRD-Cartpole", "ovphysx") == ["physics=ovphysx"]
    with pytest.raises(ValueError, match="got physics=bullet, expected one of the presets of NeRD-Cartpole: .*ovphysx"):
        physics_words("NeRD-Cartpole", "bullet")


def _refuse() -> None:
    with refusals.plain_refusals():
        from nerd_core.robot.spec import RobotSpec

        RobotSpec.from_json("no JSON")


def test_a_refusal_ends_a_program_with_its_message_alone(monkeypatch):
    """Inside Isaac Lab's programs a refusal of ours ends the process with its message; in a script, with NERD_DEBUG and
    for the errors of others the exception stays what it is.
    """
    monkeypatch.setattr(refusals, "_programs", [])
    with pytest.raises(SpecError):
        _refuse()
    monkeypatch.setattr(no_cuda, "_is_isaaclab", lambda program: True)
    refusals.note_program(["isaaclab", "list_envs"])
    with pytest.raises(SpecError):
        _refuse()
    refusals.note_program(["isaaclab", "train"])
    with pytest.raises(SystemExit, match="^nerd: 'robot specification' is not sound JSON") as ended:
        _refuse()
    assert ended.value.__suppress_context__
    with pytest.raises(ValueError, match="theirs"), refusals.plain_refusals():
        raise ValueError("theirs")
    monkeypatch.setenv("NERD_DEBUG", "1")
    with pytest.raises(SpecError):
        _refuse()


def test_log_folders_are_named_in_words():
    """The log folder of a derived task is that of its origin with ``nerd_`` before it; of a preset each choice."""
    name = getattr(derived_agents, "Isaac-Reach-Franka")().experiment_name
    assert (name.default, name.hold) == ("nerd_reach_franka", "nerd_reach_franka_hold")
    assert getattr(derived_agents, "Isaac-Cartpole")().experiment_name.startswith("nerd_cartpole")


def test_a_log_folder_that_an_agent_does_not_name_is_named_after_the_task():
    """An agent of Isaac Lab whose ``experiment_name`` is left out would end its training with a TypeError."""
    from isaaclab_rl.rsl_rl import RslRlOnPolicyRunnerCfg

    kwargs = {"env_cfg_entry_point": "x:Y", "rsl_rl_cfg_entry_point": RslRlOnPolicyRunnerCfg}
    gymnasium.register(id="Unnamed-Agent", entry_point="nowhere:Nothing", kwargs=kwargs)
    assert getattr(derived_agents, "Unnamed-Agent")().experiment_name == "nerd_unnamed_agent"
