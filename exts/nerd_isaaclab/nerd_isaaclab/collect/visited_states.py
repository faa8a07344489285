# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""First states that a model itself reaches, so that the data hold the solver's answer there.

A model rolled out for long leaves the states that it was trained on by a little: a robot at rest is a millimetre deeper
in the ground, where the model has never been trained. Data from such states correct it, as in imitation learning with
an expert who labels the learner's states (DAgger, Ross et al. 2011).
"""

from __future__ import annotations

from collections.abc import Mapping

import torch

from nerd_core import checkpoint
from nerd_core.contact.grounds import Ground
from nerd_core.dynamics import rollout_states
from nerd_core.robot.guard import StateGuard
from nerd_core.robot.spec import RobotSpec

from .excitation import ControlRange, Excitation

TIMES = 32
"""States that are taken of each roll-out of the model."""


class VisitedStates:
    """Draws states from roll-outs of a model."""

    def __init__(
        self,
        path: str,
        spec: RobotSpec,
        limits: ControlRange,
        shares: Mapping[str, float],
        steps: int,
        ground: Ground | None,
    ):
        """Loads the model.

        Args:
            path: Its checkpoint.
            spec: The robot.
            limits: Range of each control.
            shares: Share of each kind of excitation.
            steps: Length of a roll-out.
            ground: Ground of the task, on the CPU.
        """
        self._predictor = checkpoint.load(path, expected_spec=spec).eval()
        self._guard = StateGuard(spec)
        self._spec, self._shares, self._steps, self._ground = spec, shares, steps, ground
        self._limits = ControlRange(limits.low.cpu(), limits.high.cpu())

    def draw(self, first: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
        """States that the model reaches, shape (N, S).

        Args:
            first: Where its roll-outs begin, shape (N, S), on the CPU; a part of them is used. States that leave the
                guard are replaced by these.
            generator: Source of randomness, on the CPU.
        """
        count = -(-len(first) // TIMES)
        state = first[:count]
        excitation = Excitation(self._spec, self._limits, self._shares, count, self._steps, generator)
        cache = self._predictor.init_cache(count)
        envs = torch.arange(count)
        states = rollout_states(
            self._predictor, state, excitation.control, self._steps, self._ground, env_ids=envs, cache=cache
        )
        path = torch.stack(list(states))
        times = torch.randint(0, self._steps, (TIMES, count), generator=generator)
        drawn = path[times, envs].flatten(0, 1)[: len(first)]
        return torch.where(self._guard(drawn).unsqueeze(-1), drawn, first)
