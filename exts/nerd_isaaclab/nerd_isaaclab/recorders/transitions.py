# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Control steps of some environments over some time, and the trajectories they make up."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from nerd_core.contacts import Contacts
from nerd_core.data.layout import Trajectories
from nerd_core.grounds import Ground, PlaneGround
from nerd_core.guard import StateGuard

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
    ground: torch.Tensor | None = None
    """Plane under each environment (unit normal, offset [m], relative to its origin), shape (N, 4)."""
    contacts: Contacts | None = None
    """Contacts before each step, leading dimensions (N, T)."""
    body_force: torch.Tensor | None = None
    """Mean contact force on each body over the step [N], world axes, shape (N, T, B, 3)."""


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

    def flat(tensor: torch.Tensor, dtype: str = "<f4") -> np.ndarray:
        return tensor.reshape(count * steps, *tensor.shape[2:])[rows].numpy().astype(dtype, copy=False)

    arrays: dict[str, np.ndarray] = {"control": flat(transitions.control)}
    if transitions.ground is not None:
        first = begins.reshape(-1).nonzero().squeeze(-1)[kept]
        arrays["ground"] = transitions.ground[first // steps].numpy().astype("<f4")
    if transitions.contacts is not None:
        arrays["contact_distance"] = flat(transitions.contacts.distance)
        arrays["contact_normal"] = flat(transitions.contacts.normal)
        arrays["contact_point"] = flat(transitions.contacts.point)
        arrays["contact_active"] = flat(transitions.contacts.active, "|u1")
    if transitions.body_force is not None:
        arrays["body_force"] = flat(transitions.body_force)
    return Trajectories(length=length.numpy().astype("<i8"), state=state.numpy(), **arrays), dropped
