# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Whoever moves a robot between two neural steps, by however little, is obeyed; and nothing else moves it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

from nerd_core import checkpoint
from nerd_core.checkpoint_names import find_checkpoint
from nerd_core.dynamics import NeuralDynamics
from support.seam import make_env

NUM_ENVS, WHO, TENTH_OF_A_MM = 6, 2, 1.0e-4


class Watched:
    """Dynamics that note the age of each history in steps, and the last states that they were asked to step."""

    def __init__(self, dynamics: Any, num_envs: int):
        self._dynamics = dynamics
        self.age = torch.zeros(num_envs, dtype=torch.int64)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._dynamics, name)

    def reset(self, env_ids: torch.Tensor | None = None) -> None:
        self._dynamics.reset(env_ids)
        self.age[slice(None) if env_ids is None else env_ids] = 0

    def step(self, state: torch.Tensor, control: torch.Tensor) -> torch.Tensor:
        self.age += 1
        self.asked = state.clone()
        return self._dynamics.step(state, control)


class Still:
    """Dynamics in which nothing moves."""

    def __init__(self, num_envs: int):
        self.held = torch.zeros(num_envs, dtype=torch.bool)

    def reset(self, env_ids: torch.Tensor | None = None) -> None:
        """It has no history."""

    def step(self, state: torch.Tensor, control: torch.Tensor) -> torch.Tensor:
        return state.clone()


@pytest.fixture(scope="module", params=["NeRD-Cartpole", "NeRD-Ant-Run"])
def env(request) -> Iterator[Any]:
    """A task, closed at the end."""
    env = make_env(request.param, NUM_ENVS)
    env.reset(seed=0)
    env.step(torch.zeros(NUM_ENVS, env.action_manager.total_action_dim))
    yield env
    env.close()


def begin(env: Any, dynamics: Any, neural: torch.Tensor | None = None) -> Watched:
    """Lets dynamics step a freshly reset task, all environments or some."""
    watched = Watched(dynamics, NUM_ENVS)
    env.use_dynamics(watched)
    env.set_nerd_mode("neural" if neural is None else "mixed", neural)
    env.reset(seed=0)
    return watched


def network(env: Any) -> NeuralDynamics:
    """The shipped network of the robot."""
    name = "cartpole-network" if "cart" in env.robot_spec.body_names[1] else "ant-network"
    predictor = checkpoint.load(find_checkpoint(name), expected_spec=env.robot_spec).eval()
    from nerd_isaaclab.physics.ground import find_ground

    return NeuralDynamics(predictor, NUM_ENVS, ground=find_ground(env) if predictor.needs_contacts else None)


def random_actions(env: Any, steps: int) -> torch.Tensor:
    """Actions in [-1, 1], the same at each call."""
    generator = torch.Generator().manual_seed(1)
    return torch.rand(steps, NUM_ENVS, env.action_manager.total_action_dim, generator=generator) * 2.0 - 1.0


def nudges(env: Any) -> dict[str, Callable[[torch.Tensor, float], None]]:
    """Ways to move some environments of a task by an amount, as an event term would."""
    robot, data = env.robot, env.robot.data

    def joint_pos(ids: torch.Tensor, amount: float) -> None:
        moved = data.joint_pos.torch[ids][:, :1] + amount
        robot.write_joint_position_to_sim_index(position=moved, joint_ids=torch.tensor([0]), env_ids=ids)

    def joint_vel(ids: torch.Tensor, amount: float) -> None:
        moved = data.joint_vel.torch[ids][:, -1:] + amount
        last = torch.tensor([data.joint_vel.torch.shape[1] - 1])
        robot.write_joint_velocity_to_sim_index(velocity=moved, joint_ids=last, env_ids=ids)

    def root_pos(ids: torch.Tensor, amount: float) -> None:
        moved = data.root_link_pose_w.torch[ids].clone()
        moved[:, 1] += amount
        robot.write_root_link_pose_to_sim_index(root_pose=moved, env_ids=ids)

    def root_vel(ids: torch.Tensor, amount: float) -> None:
        moved = data.root_com_vel_w.torch[ids].clone()
        moved[:, 2] += amount
        robot.write_root_com_velocity_to_sim_index(root_velocity=moved, env_ids=ids)

    found = {"joint_pos": joint_pos, "joint_vel": joint_vel}
    return found | ({"root_pos": root_pos, "root_vel": root_vel} if env.robot_spec.floating_base else {})


@pytest.mark.parametrize("mixed", [False, True])
def test_nothing_but_a_reset_moves_a_robot_between_steps(env, mixed: bool):
    """Histories are as old as the episodes in each of 80 steps, resets among them, of the model's environments and of
    the solver's: no part of Isaac Lab rewrites a state, and what is read is what was left, to the last bit.
    """
    neural = torch.arange(NUM_ENVS) % 2 == 0 if mixed else None
    watched, oldest = begin(env, network(env), neural), 0
    for number, action in enumerate(random_actions(env, 80)):
        env.step(action)
        if number == 30:
            env._reset_idx(torch.tensor([WHO]))
        assert torch.equal(watched.age, env.episode_length_buf)
        oldest = max(oldest, int(watched.age.max()))
    assert oldest > 30
    env.nerd._robot.advance_clock(env.step_dt)  # so that everything is fetched from the engine anew
    kept = watched.age > 0
    assert torch.equal(env.nerd._robot.read_engine()[kept], env.nerd._left[kept])


@pytest.mark.parametrize("amount", [TENTH_OF_A_MM, 9.0e-4])
@pytest.mark.parametrize("mixed", [False, True])
def test_a_small_move_is_a_move(env, mixed: bool, amount: float):
    """A robot moved by .1 or .9 mm, mrad, mm/s or mrad/s goes on from where it was put, with an empty history; the
    others go on as if nothing had been, those of the solver, too.
    """
    neural = torch.arange(NUM_ENVS) % 2 == 0 if mixed else None
    actions, ids = random_actions(env, 9), torch.tensor([WHO])
    others = [number for number in range(NUM_ENVS) if number != WHO]

    def run(nudge: Callable[[torch.Tensor, float], None] | None) -> tuple[torch.Tensor, torch.Tensor]:
        watched = begin(env, network(env), neural)
        for number, action in enumerate(actions):
            if number == 6 and nudge is not None:
                nudge(ids, amount)
                put = env.nerd._robot.read().clone()
            env.step(action)
            if number == 6 and nudge is not None:
                assert torch.equal(watched.asked[WHO], put[WHO])
                assert watched.age.tolist() == [1 if env_id == WHO else 7 for env_id in range(NUM_ENVS)]
            assert not env.reset_buf.any(), "an episode ended: the runs are no longer comparable"
        return watched.asked, env.nerd._robot.read().clone()

    plain = run(None)
    for name, nudge in nudges(env).items():
        moved = run(nudge)
        for one, other in zip(moved, plain, strict=True):
            assert torch.equal(one[others], other[others]), name
            assert not torch.equal(one[WHO], other[WHO]), name


def test_small_moves_add_up(env):
    """Ten moves of .1 mm, one before each step, of a robot that its model leaves where it is, make 1 mm; what was not
    moved stays where it was, and so do the others.
    """
    ids = torch.tensor([WHO])
    for name, nudge in nudges(env).items():
        begin(env, Still(NUM_ENVS))
        env.step(torch.zeros(NUM_ENVS, env.action_manager.total_action_dim))
        before = env.nerd._robot.read().clone()
        for _ in range(10):
            nudge(ids, TENTH_OF_A_MM)
            env.step(torch.zeros(NUM_ENVS, env.action_manager.total_action_dim))
        gained = env.nerd._robot.read() - before
        at = env.robot_spec.state
        column = {
            "joint_pos": at.joint_pos.start,
            "joint_vel": at.joint_vel.stop - 1,
            "root_pos": at.root_pos.start + 1 if env.robot_spec.floating_base else 0,
            "root_vel": at.root_lin_vel.start + 2 if env.robot_spec.floating_base else 0,
        }[name]
        expected = torch.zeros_like(gained)
        expected[WHO, column] = 10 * TENTH_OF_A_MM
        torch.testing.assert_close(gained, expected, rtol=0, atol=5e-6)
