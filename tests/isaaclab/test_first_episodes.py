# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Isaac Lab's own velocity task of ANYmal C: commands are read, two policies meet the same, motors are said."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from nerd_isaaclab.envs.randomised_properties import find_randomised_properties
from nerd_isaaclab.policies.play import PlayResult, play_episodes
from nerd_isaaclab.policies.policy import Policy
from support.seam import make_env

NUM_ENVS = 6
STEPS = 30


def _short(cfg: Any) -> None:
    """Short episodes, in which commands and pushes change more than once; drives that need no file of NVIDIA's."""
    from isaaclab.actuators import DCMotorCfg

    gains = {".*HAA": 80.0, ".*FE": 90.0}
    motor = DCMotorCfg(joint_names_expr=[".*"], stiffness=gains, damping=2.0, saturation_effort=120.0)
    cfg.scene.robot.actuators = {"legs": motor}
    cfg.episode_length_s = STEPS * cfg.sim.dt * cfg.decimation
    cfg.commands.base_velocity.resampling_time_range = (0.2, 0.3)
    cfg.commands.base_velocity.debug_vis = False
    cfg.events.push_robot.interval_range_s = (0.2, 0.2)


@pytest.fixture(scope="module")
def env():
    """The stock task."""
    env = make_env("NeRD-IsaacContrib-Velocity-Flat-AnymalC", NUM_ENVS, change=_short)
    yield env
    env.close()


class _Ends:
    """A termination at given steps of given environments."""

    def __init__(self, ends: dict[int, int]):
        self.ends = ends

    def __call__(self, env: Any) -> torch.Tensor:
        fired = torch.zeros(env.num_envs, dtype=torch.bool)
        for index, step in self.ends.items():
            fired[index] = env.episode_length_buf[index] == step and env.common_step_counter < STEPS
        return fired


def _play(env: Any, ends: dict[int, int], seen: list[torch.Tensor]) -> PlayResult:
    """Plays with a policy that stands still, where some episodes end early; notes the commands of each step."""
    size = env.observation_manager.group_obs_dim["policy"][0]
    action = env.action_manager.total_action_dim
    zeros = torch.zeros(size)
    policy = Policy([(torch.zeros(action, size), torch.zeros(action))], zeros, zeros + 1.0, "tanh")
    terms = env.termination_manager
    index = terms.active_terms.index("base_contact")
    stock = terms._term_cfgs[index].func, terms._term_cfgs[index].params
    terms._term_cfgs[index].func, terms._term_cfgs[index].params = _Ends(ends), {}
    env.common_step_counter = 0
    step = env.step

    def noting(actions: torch.Tensor) -> Any:
        seen.append(torch.cat((env.command_manager.get_command("base_velocity"), env.obs_buf["policy"]), -1).clone())
        return step(actions)

    env.step = noting
    try:
        return play_episodes(env, policy, (), seed=5)
    finally:
        del env.step
        terms._term_cfgs[index].func, terms._term_cfgs[index].params = stock


def test_velocity_errors_are_those_of_the_episodes(env):
    """A robot that stands still under commands of up to 1 m/s misses them: the mean error of each episode is read, and
    is that between commands and velocities in its steps; nothing of the task is left changed.
    """
    seen: list[torch.Tensor] = []
    result = _play(env, {}, seen)
    errors = result.per_episode["command base_velocity/error_vel_xy"]
    assert len(errors) == NUM_ENVS and min(errors) > 0.1
    # the term adds up after each step, when the next observation shows the velocity as well; the last step is missing
    velocity, command = torch.stack(seen[1:])[..., 3:5], torch.stack(seen[1:])[..., :2]
    expected = (velocity - command).norm(dim=-1).mean(0)
    assert torch.tensor(errors) == pytest.approx(expected, abs=0.1)  # observations are noisy by up to 0.1 m/s
    assert result.commands["base_velocity/error_vel_xy"].mean == pytest.approx(sum(errors) / NUM_ENVS, abs=1e-4)
    assert set(result.logs) == {"Metrics/success_rate"}
    assert "_reset_idx" not in vars(env) and "_resample" not in vars(env.command_manager.get_term("base_velocity"))


def test_an_episode_meets_the_same_whatever_the_others_do(env):
    """Starts, commands and noise of the episodes that go on are the same to the last bit when others end early."""
    plain: list[torch.Tensor] = []
    cut: list[torch.Tensor] = []
    _play(env, {}, plain)
    result = _play(env, {0: 3, 2: 7}, cut)
    assert result.scores["length"].mean == pytest.approx((4 * STEPS + 3 + 7) / NUM_ENVS, abs=1e-4)
    others = [1, 3, 4, 5]
    commands = torch.stack(plain)[:, others, :3]
    assert (commands[0] != commands[-1]).any(), "commands have to change for this to say something"
    assert torch.equal(commands[:, :, :2], torch.stack(cut)[:, others, :2])
    assert torch.equal(torch.stack(plain)[:10, others], torch.stack(cut)[:10, others])


def test_the_specification_says_what_drives_the_joints(env):
    """Each joint has the law of its motor with its own gain, and the events that randomise masses are found."""
    joints = {joint.name: joint for joint in env.robot_spec.joints}
    for name, gain in (("LF_HAA", 80.0), ("RH_KFE", 90.0)):
        law = joints[name].actuator
        assert law is not None and law.kind == "DCMotor"
        numbers = {each.name: each.value for each in law.parameters}
        assert numbers == {"damping": 2.0, "saturation_effort": 120.0, "stiffness": gain}
    found = [each.path for each in find_randomised_properties(env.cfg.events)]
    assert found == ["events.add_base_mass", "events.base_com"]
