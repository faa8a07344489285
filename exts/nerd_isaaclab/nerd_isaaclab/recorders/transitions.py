# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Control steps of some environments over some time, and the trajectories they make up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from nerd_core.contact.grounds import Ground, PlaneGround
from nerd_core.data.fields import FIELDS, dtype_of
from nerd_core.data.layout import Trajectories, split_groups
from nerd_core.robot.guard import StateGuard

NOT_FINITE = "not finite"
OUTSIDE = "outside the guard"


@dataclass(frozen=True)
class Transitions:
    """What happened in N environments over T control steps, on the CPU."""

    before: torch.Tensor
    """States before each step, shape (N, T, S)."""
    control: torch.Tensor
    """What the actuators held over each step, shape (N, T, C)."""
    after: torch.Tensor
    """States after each step, before anything was reset, shape (N, T, S)."""
    begins: torch.Tensor
    """Whether a step does not follow from the one before it: the environment was reset, pushed or put elsewhere;
    bool, shape (N, T)."""
    recorded: Mapping[str, Any] = field(default_factory=dict)
    """Other fields of :data:`nerd_core.data.fields.FIELDS` or groups of them, by name: tensors of shape (N, T, ...), or
    (N, ...) for those of a trajectory, for instance the plane under each environment; None where there is nothing."""


def planes_of(ground: Ground | None, count: int) -> torch.Tensor | None:
    """The plane under each environment in the form of a dataset, shape (N, 4); None where the ground is no plane.

    Args:
        ground: The ground.
        count: Number of environments, N.
    """
    if not isinstance(ground, PlaneGround) or ground.normal.dim() != 2:
        return None
    return torch.cat((ground.normal, ground.offset[:, None]), dim=-1).expand(count, 4).cpu()


def to_trajectories(transitions: Transitions, guard: StateGuard) -> tuple[Trajectories | None, dict[str, int]]:
    """Cuts steps into trajectories and leaves out those that went wrong.

    Args:
        transitions: The steps.
        guard: What a sane state is.

    Returns:
        The trajectories, ordered by environment and time, None if none is left; and how many were left out, by reason.
    """
    count, steps = transitions.begins.shape
    begins = transitions.begins.clone()
    begins[:, 0] = True
    run = begins.reshape(-1).long().cumsum(0) - 1  # number of the trajectory that each row belongs to
    runs = int(run[-1]) + 1
    before, after = transitions.before.reshape(count * steps, -1), transitions.after.reshape(count * steps, -1)

    finite = before.isfinite().all(-1) & after.isfinite().all(-1)
    sane = guard(before) & guard(after)
    not_finite = torch.zeros(runs, dtype=torch.bool)
    not_finite[run[~finite]] = True
    outside = torch.zeros(runs, dtype=torch.bool)
    outside[run[~sane]] = True
    outside &= ~not_finite
    reasons = ((NOT_FINITE, int(not_finite.sum())), (OUTSIDE, int(outside.sum())))
    dropped = {reason: number for reason, number in reasons if number}

    kept = ~(not_finite | outside)
    if not kept.any():
        return None, dropped
    rows = kept[run]
    length = torch.bincount(run, minlength=runs)[kept]
    number = torch.repeat_interleave(torch.arange(len(length)), length)
    last = length.cumsum(0) - 1
    state = torch.empty(int(length.sum()) + len(length), before.shape[-1])
    state[torch.arange(len(number)) + number] = before[rows]
    state[last + torch.arange(len(length)) + 1] = after[rows][last]

    environment = begins.reshape(-1).nonzero().squeeze(-1)[kept] // steps
    arrays: dict[str, np.ndarray] = {"length": length.numpy(), "state": state.numpy()}
    for name, tensor in {"control": transitions.control, **split_groups(transitions.recorded)}.items():
        if FIELDS[name].rows == "trajectory":
            tensor = tensor[environment]
        else:
            tensor = tensor.reshape(count * steps, *tensor.shape[2:])[rows]
        arrays[name] = tensor.numpy()
    return Trajectories(**{name: value.astype(dtype_of(name), copy=False) for name, value in arrays.items()}), dropped
