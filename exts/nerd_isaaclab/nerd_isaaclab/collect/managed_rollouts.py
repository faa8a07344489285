# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Batches of trajectories of a task with all its managers, under drawn actions or a policy with noise.

With a visited model, an episode first runs in the model for a drawn number of steps, and the solver goes on from there:
a policy that was trained in a model reaches states where the model is wrong in its favour, and which it does not reach
in the solver.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from nerd_core.contact.grounds import Ground

from ..policies.load import load_policy
from ..recorders.contact_probe import ContactProbe
from ..recorders.transition_recorder import find_recorder
from ..recorders.transitions import Transitions
from .action_reach import action_reach
from .collect_cfg import CollectCfg, CollectError
from .excitation import draw_ou, draw_signals
from .initial_states import draw_initial_states
from .lean_scene import LeanScene
from .robot_ranges import ranges_of

if TYPE_CHECKING:
    from ..envs.nerd_env import NerdDynamics


class ManagedRollouts:
    """Plays batches of a task; its terminations and resets cut trajectories."""

    def __init__(self, env: NerdDynamics, cfg: CollectCfg, ground: Ground | None, probe: ContactProbe | None):
        """Finds the recorder and loads the policy.

        Args:
            env: Environment in ``physx`` mode, made with a recorder of transitions.
            cfg: What to collect.
            ground: Ground of the task, on the CPU.
            probe: Reads contacts.
        """
        self._env, self._cfg, self._ground = env, cfg, ground
        self._reach = action_reach(cfg.task, cfg.action_reach)
        self._recorder = find_recorder(env)
        self._recorder.probe = probe
        self._probe = probe
        self._policy = None
        if cfg.policy is not None:
            self._policy = load_policy(cfg.policy).to(env.device)
            got = env.observation_manager.group_obs_dim["policy"][0]
            if self._policy.obs_dim != got:
                raise CollectError(f"the policy takes {self._policy.obs_dim} observations, the task gives {got}")
        if cfg.visited is not None:
            env.load_nerd_checkpoint(cfg.visited)
        self.kinds: list[str] = []
        """Kind of excitation of each environment in the last batch."""

    def roll(self, number: int, seed: int) -> tuple[Transitions, Ground | None]:
        """Plays one batch and returns its steps and the ground they were made on.

        Args:
            number: Number of the batch.
            seed: Seed of the batch.
        """
        env, steps = self._env, self._cfg.steps
        generator = torch.Generator().manual_seed(seed)
        before, most = 0, 0
        if self._cfg.visited is not None:
            most = self._cfg.visited_steps
            before = int(torch.randint(0, most + 1, (), generator=generator))
            env.set_nerd_mode("neural" if before else "physx")
        size = (env.num_envs, before + steps, env.action_manager.total_action_dim)
        self.kinds, actions = draw_signals(self._cfg.shares, *size, generator)
        # the process has a standard deviation of a half
        scale = 2.0 * self._cfg.policy_noise * torch.rand(env.num_envs, 1, 1, generator=generator)
        noise = draw_ou(*size, generator) * scale
        follows = torch.tensor([kind == "policy" for kind in self.kinds], device=env.device)[:, None]
        actions, noise = actions.to(env.device), noise.to(env.device)
        env.common_step_counter = number * (
            steps + most
        )  # curricula depend on it; so a batch depends on its number alone
        observation, _ = env.reset(seed=seed % 2**31)
        if self._cfg.initial == "wide":
            ranges = ranges_of(env.robot_spec.name, self._cfg.ranges)
            scene = LeanScene(env)
            at_reset = scene.read().cpu().clone() if ranges.task_poses > 0.0 else None
            state = draw_initial_states(env.robot_spec, ranges, env.num_envs, generator, self._ground, at_reset)
            scene.write(state.to(env.device))
            observation = env.observation_manager.compute()
        for step in range(before + steps):
            if step == before:
                self._recorder.clear()
                if self._probe is not None:
                    self._probe.clear()
                if before:
                    env.set_nerd_mode("physx")
            action = self._reach * actions[:, step]
            if self._policy is not None:
                action = torch.where(follows, self._policy(observation["policy"]) + noise[:, step], action)
            observation = env.step(action)[0]
        return self._recorder.take(), self._ground
