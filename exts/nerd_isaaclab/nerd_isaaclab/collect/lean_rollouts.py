# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Batches of trajectories without managers: the robot alone, under drawn controls."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from nerd_core.contact.grounds import Ground

from ..physics.robot_description import control_range
from ..recorders.contact_probe import ContactProbe
from ..recorders.transitions import Transitions, planes_of
from .action_reach import action_reach
from .collect_cfg import CollectCfg
from .excitation import ControlRange, Excitation
from .initial_states import draw_initial_states
from .lean_scene import LeanScene
from .random_planes import RandomPlanes
from .robot_ranges import ranges_of
from .visited_states import VisitedStates

if TYPE_CHECKING:
    from ..envs.nerd_env import NerdDynamics


class LeanRollouts:
    """Plays batches on the robot of an environment."""

    def __init__(self, env: NerdDynamics, cfg: CollectCfg, ground: Ground | None, probe: ContactProbe | None):
        """Takes over the scene.

        Args:
            env: Environment in ``physx`` mode.
            cfg: What to collect.
            ground: Ground of the task, on the CPU; None where the robot can touch nothing, or has planes of its own.
            probe: Reads contacts.
        """
        self._env, self._cfg, self._spec = env, cfg, env.robot_spec
        low, high = control_range(env, env.robot, self._spec, action_reach(cfg.task, cfg.action_reach))
        self._limits = ControlRange(low, high)
        self._scene = LeanScene(env, rewrite=cfg.teacher_mode == "rewritten", probe=probe)
        self._ground = ground
        self._planes = RandomPlanes(env) if cfg.ground == "random-planes" else None
        self._visited = None
        if cfg.visited is not None:
            self._visited = VisitedStates(cfg.visited, self._spec, self._limits, cfg.shares, cfg.visited_steps, ground)
        self._ranges = ranges_of(self._spec.name, cfg.ranges)
        self.kinds: list[str] = []
        """Kind of excitation of each trajectory of the last batch."""

    def roll(self, number: int, seed: int) -> tuple[Transitions, Ground | None]:
        """Plays one batch and returns its steps and the ground they were made on.

        Args:
            number: Number of the batch.
            seed: Seed of the batch.
        """
        steps, count = self._cfg.steps, self._scene.num_envs
        generator = torch.Generator().manual_seed(seed)
        excitation = Excitation(self._spec, self._limits, self._cfg.shares, count, steps, generator)
        self.kinds = excitation.kinds
        ground = self._begin(seed, generator)
        states, controls = [self._scene.read().clone()], []
        for step in range(steps):
            controls.append(excitation.control(step, states[-1]))
            states.append(self._scene.step(controls[-1]).clone())
        state, control = torch.stack(states, 1).cpu(), torch.stack(controls, 1).cpu()
        begins = torch.zeros(count, steps, dtype=torch.bool)
        recorded = {"ground": planes_of(ground, count)}
        transitions = Transitions(state[:, :-1], control, state[:, 1:], begins, recorded)
        return transitions, ground

    def _begin(self, seed: int, generator: torch.Generator) -> Ground | None:
        """Puts the robots where the batch starts and returns their ground."""
        count = self._scene.num_envs
        if self._cfg.initial == "task":
            self._env.reset(seed=seed % 2**31)
            if self._visited is not None:
                state = self._visited.draw(self._scene.read().cpu().clone(), generator)
                self._scene.write(state.to(self._env.device))
            return self._ground
        task_states = None
        if self._ranges.task_poses > 0.0:
            self._env.reset(seed=seed % 2**31)
            task_states = self._scene.read().cpu().clone()
        state = draw_initial_states(self._spec, self._ranges, count, generator, self._ground, task_states)
        ground = self._ground
        if self._planes is not None:
            ground = self._planes.draw(state, generator)
            self._planes.pose(ground)
        if self._visited is not None:
            state = self._visited.draw(state, generator)
        self._scene.write(state.to(self._env.device))
        return ground
