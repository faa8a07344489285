# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What goes into a network and what comes out of a predictor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from torch import Tensor

from ..mechanics.forces import BodyForces

Forces = Literal["none", "contacts", "joints"]
"""Which forces on bodies are asked for: none, those of contacts, or what joints carry, too."""


@dataclass(frozen=True)
class Prediction:
    """What a predictor says about one control step."""

    change: Tensor
    """Change of state, normalised, shape (..., D); the mean of an ensemble."""
    log_var: Tensor | None = None
    """Logarithm of the variance of :attr:`change`, shape (..., D); of an ensemble that of the mixture."""
    force: Tensor | None = None
    """Contact force on each body, environment axes [N], shape (..., bodies, 3); zero where nothing is near."""
    near: Tensor | None = None
    """Whether a slot of each body is so near to the ground that a force may act, bool, shape (..., bodies); None with
    no forces, or where no contacts are seen."""
    drive_scale: Tensor | None = None
    """Size of what drives the robot, shape (..., 1), behind a prior whose rest is proportional to it (see
    :mod:`nerd_core.network.drive_scale`): a loss should ask for errors that are small beside it. None otherwise."""
    body_forces: BodyForces | None = None
    """Contact forces and what joints carry, by a prior that knows them; None unless they were asked for. Of
    :attr:`change` they explain what the prior says, not what a network adds to it."""
    memory: Tensor | None = None
    """What the prior remembers after the step, see :meth:`Predictor.extend`; None unless it was given a memory."""
    members: Prediction | None = None
    """What each member of an ensemble says, shapes (E, ..., D) and so on; None for a single network. A loss should be
    taken of these: the members must learn apart."""

    @property
    def spread(self) -> Tensor | None:
        """Standard deviation of the members' changes, normalised, shape (..., D); None for a single network."""
        return None if self.members is None else self.members.change.std(0)


class Encoded(NamedTuple):
    """One or more control steps as a network is given them, and how its output is to be read."""

    tokens: Tensor
    """Tokens, normalised, in the type of the network's weights, shape (..., token dim). Features of contacts that are
    not active are exactly zero."""
    prior_change: Tensor | None = None
    """Change of state that the prior predicts, to which the network adds, normalised, shape (..., D). None without a
    prior."""
    active: Tensor | None = None
    """Whether the network may add anything, bool, shape (..., 1); None for always."""
    drive_scale: Tensor | None = None
    """What the network's output is multiplied by, shape (..., 1); None for one."""
    near: Tensor | None = None
    """Whether a slot of each body is near enough to the ground for a force, bool, shape (..., bodies); None for no
    forces, or where no contacts are seen."""
    view: Tensor | None = None
    """Which of its equivalent views the robot is seen in, shape (...); None for its own."""


__all__ = ["Encoded", "Forces", "Prediction"]
