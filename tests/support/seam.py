# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Helpers to test the neural step inside a real environment on the real engine."""

from __future__ import annotations

import argparse
import atexit
import math
from collections.abc import Callable
from typing import Any

import torch


def make_env(
    task: str,
    num_envs: int,
    change: Callable[[Any], None] | None = None,
    overrides: tuple[str, ...] = (),
    device: str = "cpu",
    physics: str = "ovphysx",
    **nerd: Any,
) -> Any:
    """A task of this package, unwrapped.

    Args:
        task: Its id.
        num_envs: Number of environments.
        change: Called with the configuration before the environment is made.
        overrides: Overrides as on the command line, beside that of the physics.
        device: Device of the simulation.
        physics: Physics preset.
        **nerd: Fields of ``cfg.nerd``.
    """
    import gymnasium
    from isaaclab_tasks.utils.parse_cfg import parse_env_cfg

    import nerd_isaaclab.tasks  # noqa: F401  (cures, assets and registrations, before other imports of Isaac Lab)

    cfg = parse_env_cfg(task, device=device, num_envs=num_envs, overrides=[f"physics={physics}", *overrides])
    cfg.seed = 0
    if change is not None:
        change(cfg)
    if physics != "ovphysx":  # that one needs no launcher
        from isaaclab.app import launch_simulation

        simulation = launch_simulation(cfg, argparse.Namespace(device=device, visualizer=["none"], headless=True))
        simulation.__enter__()
        atexit.register(simulation.__exit__, None, None, None)
    for name, value in nerd.items():
        setattr(cfg.nerd, name, value)
    return gymnasium.make(task, cfg=cfg).unwrapped


class RecordingPhysics:
    """Stands before the solver and writes down every state before and after a control step, and the control."""

    def __init__(self, env: Any):
        from nerd_isaaclab.physics.robot_state import RobotState

        self._stock = env.sim.physics_manager
        self.robot = RobotState(env.robot, env.robot_spec, env.scene.env_origins)
        self._decimation, self._dt = env.cfg.decimation, env.physics_dt
        self._substep = 0
        self.before: list[torch.Tensor] = []
        self.control: list[torch.Tensor] = []
        self.after: list[torch.Tensor] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stock, name)

    def step(self) -> None:
        if self._substep == 0:
            self.before.append(self.robot.read().clone())
            self.control.append(self.robot.read_control().clone())
        self._stock.step()
        self._substep += 1
        if self._substep == self._decimation:
            self._substep = 0
            with self.robot.at_coming_update(self._dt):
                self.after.append(self.robot.read().clone())


class Oracle:
    """Dynamics that know the answers: what a recorded run of the solver made of the same state and control."""

    def __init__(self, recording: RecordingPhysics):
        self._recording = recording
        self._step = 0
        self.worst_input = 0.0
        self.held = torch.zeros(len(recording.before[0]), dtype=torch.bool, device=recording.before[0].device)

    def reset(self, env_ids: torch.Tensor | None = None) -> None:
        """It has no history."""

    def step(self, state: torch.Tensor, control: torch.Tensor) -> torch.Tensor:
        """The recorded next state; the difference of the asked state and control to the recorded ones is kept."""
        before, after = self._recording.before[self._step], self._recording.after[self._step]
        worst = torch.stack(
            [self._distance(state, before), (control - self._recording.control[self._step]).abs().max()]
        )
        self.worst_input = max(self.worst_input, float(worst.max()))
        self._step += 1
        return after.clone()

    def _distance(self, state: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
        """Largest difference of two states, whole turns of wrapping joints aside."""
        difference, spec = state - other, self._recording.robot.spec
        for number, joint in enumerate(spec.joints):
            if joint.wraps:
                column = difference[:, spec.state.joint_pos.start + number]
                column -= 2.0 * math.pi * torch.round(column / (2.0 * math.pi))
        return difference.abs().max()


def play(env: Any, actions: torch.Tensor) -> dict[str, torch.Tensor]:
    """Runs an environment from a seeded reset through given actions, shape (T, N, A), and returns what it said."""
    observation, _ = env.reset(seed=0)
    said: dict[str, list[torch.Tensor]] = {
        "observation": [observation["policy"].clone()],
        "reward": [],
        "ended": [],
        "timed_out": [],
    }
    for action in actions:
        observation, reward, terminated, truncated, _ = env.step(action)
        said["observation"].append(observation["policy"].clone())
        said["reward"].append(reward.clone())
        said["ended"].append(terminated.clone())
        said["timed_out"].append(truncated.clone())
    return {name: torch.stack(values) for name, values in said.items()}


def run_oracle_test(task: str, num_envs: int, steps: int, tolerance: float = 1e-5, **where: Any) -> None:
    """Plays a task on the solver, then with an oracle of that run in neural mode, and compares all that was said."""
    env = make_env(task, num_envs, **where)
    shape = (steps, num_envs, env.action_manager.total_action_dim)
    actions = (torch.rand(shape, generator=torch.Generator().manual_seed(1)) * 2.0 - 1.0).to(env.device)
    env.reset(seed=0)  # before its first step Isaac Lab clamps the velocities of a reset to zero
    env.step(actions[0])
    recording = RecordingPhysics(env)
    stock = env.sim.physics_manager
    env.sim.physics_manager = recording
    expected = play(env, actions)
    env.sim.physics_manager = stock

    oracle = Oracle(recording)
    env.use_dynamics(oracle)
    env.set_nerd_mode("neural")
    got = play(env, actions)

    assert expected["ended"].any() or expected["timed_out"].any(), "the run must contain resets to prove anything"
    assert oracle.worst_input < tolerance
    for name in ("ended", "timed_out"):
        assert torch.equal(got[name], expected[name]), name
    for name in ("observation", "reward"):
        torch.testing.assert_close(got[name], expected[name], atol=tolerance, rtol=tolerance)
    env.close()


def untrained_predictor(env: Any, seed: int = 0, model: Any = None) -> Any:
    """A predictor with random weights whose changes of state have a sensible size, and a memory of four steps."""
    from nerd_core.network.architectures.transformer import TransformerCfg
    from nerd_core.predictor.config import PredictorCfg
    from nerd_core.predictor.predictor import Predictor
    from nerd_isaaclab.collect.lean_scene import LeanScene
    from nerd_isaaclab.physics.ground import find_ground

    torch.manual_seed(seed)
    model = model or TransformerCfg(width=32, layers=2, heads=2, window=4, head_hidden=16)
    predictor = Predictor(env.robot_spec, PredictorCfg(network=model))
    env.reset(seed=0)
    scene, ground = LeanScene(env), find_ground(env) if predictor.needs_contacts else None
    state = scene.read().clone()
    for _ in range(10):
        control = torch.rand(env.num_envs, env.robot_spec.control_dim) * 2.0 - 1.0
        next_state = scene.step(control).clone()
        predictor.update_statistics(state, control, next_state, predictor.contacts(state, ground))
        state = next_state
    predictor.finalise_statistics()
    return predictor.eval()


def use_predictor(env: Any, predictor: Any) -> None:
    """Puts a predictor in charge of all environments."""
    from nerd_core.dynamics import NeuralDynamics
    from nerd_isaaclab.physics.ground import find_ground

    ground = find_ground(env) if predictor.needs_contacts else None
    env.use_dynamics(NeuralDynamics(predictor, env.num_envs, env.device, ground=ground))
    env.set_nerd_mode("neural")


def run_reset_test(task: str, num_envs: int = 6, reset_at: int = 7, steps: int = 15, who: int = 2) -> None:
    """The reset test through the whole environment and RSL-RL's wrapper, with a teleport in it.

    Three runs with the same actions: one in which an environment is reset and put elsewhere on the way, one without,
    and one in which that environment starts there. The first must go on like the third, the others like the second.
    """
    from isaaclab_rl.rsl_rl import RslRlVecEnvWrapper

    from nerd_isaaclab.physics.robot_state import RobotState

    env = make_env(task, num_envs)
    use_predictor(env, untrained_predictor(env))
    wrapped = RslRlVecEnvWrapper(env)
    scene = RobotState(env.robot, env.robot_spec, env.scene.env_origins)
    generator = torch.Generator().manual_seed(3)
    actions = torch.rand(2 * steps, num_envs, env.action_manager.total_action_dim, generator=generator) * 2.0 - 1.0
    env.reset(seed=0)
    start = scene.read().clone()
    env.reset(seed=1)
    elsewhere = scene.read().clone()[[who]]
    ids = torch.tensor([who])

    def run(first: torch.Tensor, shift: int, reset: bool, teleport: bool = False, forget: bool = False) -> torch.Tensor:
        env.reset(seed=0)
        scene.write(first)
        env.sim.forward()
        states = []
        for step in range(steps):
            if step == reset_at and reset:
                env._reset_idx(ids)
            if step == reset_at and (reset or teleport):
                scene.write(elsewhere, ids)
                env.sim.forward()
            if step == reset_at and forget:
                env.nerd.dynamics.reset(ids)
            action = actions[step].clone()
            action[who] = actions[step + shift, who]
            wrapped.step(action)
            states.append(scene.read().clone())
        assert not env.reset_buf.any(), "an episode ended: the runs are no longer comparable"
        return torch.stack(states)

    moved = start.clone()
    moved[who] = elsewhere[0]
    plain, fresh = run(start, 0, reset=False), run(moved, reset_at, reset=False)
    others = [i for i in range(num_envs) if i != who]
    for name, changed in (("reset", run(start, 0, reset=True)), ("teleport", run(start, 0, False, teleport=True))):
        assert torch.equal(changed[reset_at:, who], fresh[: steps - reset_at, who]), (
            f"not like a fresh one after {name}"
        )
        assert torch.equal(changed[:, others], plain[:, others]), f"a {name} was noticed elsewhere"
        assert not torch.equal(changed[reset_at:, who], plain[reset_at:, who])
    without = run(start, 0, reset=False, forget=True)
    assert not torch.equal(without[reset_at:, who], plain[reset_at:, who]), "the history must matter to prove anything"
    assert torch.equal(without[:, others], plain[:, others])
    env.close()
