# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Keeps the last steps of every environment in memory, and writes them to a file when the guard holds one.

A recorder stands in the place of the dynamics and passes every call on, as
:mod:`~nerd_isaaclab.physics.neural_physics` does for the physics manager. Without ``env.nerd.dump_dir`` there is none,
and it costs nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from nerd_core.contact.contacts import Contacts
from nerd_core.contact.grounds import PlaneGround
from nerd_core.dynamics import NeuralDynamics
from nerd_core.predictor.prediction import Prediction
from nerd_core.robot.physical_parameters import PhysicalParameters

from .guard_dump import GuardDump, save

MAX_ENVS = 16
"""Environments in one dump; of more, the first ones."""

logger = logging.getLogger(__name__)


class GuardRecorder:
    """Dynamics that keep a short past of every environment for when the guard holds it."""

    def __init__(
        self,
        dynamics: NeuralDynamics,
        folder: Path,
        watched: Callable[[], torch.Tensor | None],
        facts: Callable[[], dict[str, Any]],
        steps: int = 32,
        max_dumps: int = 20,
    ):
        """Makes room for the past.

        Args:
            dynamics: The dynamics that step.
            folder: Where dumps are written.
            watched: Gives the mask of the environments that the model steps, shape (N,); None for all of them.
            facts: Gives what is to be written beside the states; called when there is something to write.
            steps: Length of the past.
            max_dumps: Number of dumps after which no more are written.
        """
        self.dynamics = dynamics
        self._folder, self._watched, self._facts = folder, watched, facts
        self._left = max_dumps
        self._steps = 0
        count, device, spec = dynamics.num_envs, dynamics.device, dynamics.spec
        self._state = torch.zeros(steps, count, spec.state.dim, device=device)
        self._control = torch.zeros(steps, count, spec.control_dim, device=device)
        self._length = torch.zeros(count, dtype=torch.int64, device=device)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.dynamics, name)

    def reset(self, env_ids: torch.Tensor | None = None) -> None:
        """Empties the history of some environments; see :meth:`NeuralDynamics.reset`."""
        self.dynamics.reset(env_ids)
        if env_ids is None:
            self._length.zero_()
        else:
            self._length[env_ids] = 0

    def step(
        self,
        state: torch.Tensor,
        control: torch.Tensor,
        contacts: Contacts | None = None,
        parameters: PhysicalParameters | None = None,
    ) -> torch.Tensor:
        """Advances every environment by one control step; see :meth:`NeuralDynamics.step`."""
        row = self._steps % len(self._state)
        self._state[row], self._control[row] = state, control
        self._steps += 1
        self._length.add_(1).clamp_(max=len(self._state))
        next_state = self.dynamics.step(state, control, contacts, parameters)
        held, watched = self.dynamics.held, self._watched()
        wanted = held if watched is None else held & watched
        if self._left > 0 and bool(wanted.any()):
            self._write(wanted)
        self._length.masked_fill_(held, 0)
        return next_state

    def _write(self, wanted: torch.Tensor) -> None:
        """Writes the past of some environments."""
        self._left -= 1
        ids = wanted.nonzero().squeeze(-1)[:MAX_ENVS]
        length = self._length[ids]
        rows = torch.arange(self._steps - int(length.max()), self._steps, device=ids.device) % len(self._state)
        known = (torch.arange(len(rows), 0, -1, device=ids.device) <= length[:, None])[..., None]
        dump = GuardDump(
            spec=self.dynamics.spec,
            facts={**self._facts(), "step": self._steps, "held": int(wanted.sum()), "memory": len(self._state)},
            env_ids=ids,
            length=length,
            state=torch.where(known, self._state[rows][:, ids].transpose(0, 1), 0.0),
            control=torch.where(known, self._control[rows][:, ids].transpose(0, 1), 0.0),
            refused=self._refused(ids),
            plane=self._plane(ids),
        )
        path = self._free_path()
        save(path, dump)
        last = "; this was the last one that is written" if self._left == 0 else ""
        logger.warning("The guard held %d environments. See: nerd replay %s%s", dump.facts["held"], path, last)

    def _refused(self, ids: torch.Tensor) -> torch.Tensor:
        """What the model predicted for some environments before the guard held them."""
        prediction, used = self.dynamics.prediction, self.dynamics.last_good[ids]
        assert prediction is not None
        return self.dynamics.predictor.next_state(used, Prediction(prediction.change[ids]))

    def _plane(self, ids: torch.Tensor) -> torch.Tensor | None:
        ground = self.dynamics.ground
        if not isinstance(ground, PlaneGround) or ground.normal.ndim != 2:
            return None
        plane = torch.cat((ground.normal, ground.offset[:, None]), dim=-1)
        return plane.expand(self.dynamics.num_envs, -1)[ids]

    def _free_path(self) -> Path:
        taken = {path.name for path in self._folder.glob("dump-*")} if self._folder.is_dir() else set()
        number = next(i for i in range(1, len(taken) + 2) if f"dump-{i:04d}" not in taken)
        return self._folder / f"dump-{number:04d}"
