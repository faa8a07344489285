# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Why roll-outs of a model run away: a probe of model and data, in words.

Five things do it to robots that nobody looked at. Each is measured on a sample, as a number from 0 (not at all) to 1:

- a feature of the network's input is far outside of the range of the data, or that range is far beyond its usual size;
- drives are at their limit, where the next state no longer follows from the target;
- the data are too narrow: roll-outs go where they hold nothing, or they are few;
- the training was short: a network that has hardly learned anything leads anywhere;
- velocities jump where no contact slot is near the ground: something is touched that the model does not see.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from ..data.dataset import TrajectoryBatch, TrajectoryDataset
from ..data.sampler import WindowSampler
from ..predictor.predictor import Predictor
from ..predictor.residual_network import ResidualNetwork
from ..robot.spec import RobotSpec
from .losses import ground_of
from .metrics import predict

SAMPLE = 20_000
"""Transitions of the data that are looked at."""

ROLLOUTS, STEPS = 32, 100
"""Roll-outs of the model that are looked at, and their length."""

USUAL_PEAK = 20.0
"""Standard deviations that features of motion reach now and then: more is suspicious."""

FEW_TRANSITIONS = 100_000
"""Transitions that are few for any robot."""

JUMP = 8.0
"""A change of velocity this many times the usual one is a jump."""

SHORT_TRAINING = 1000
"""Updates below which a network has hardly learned anything."""

RARE = 0.01
"""Share of the data below which something is not worth telling."""

CAUSES = 3
"""Number of causes that are told."""


@dataclass(frozen=True)
class Cause:
    """Something that may make roll-outs run away."""

    severity: float
    """How much it is the case, from 0 to 1."""
    text: str
    """What was found, and what to do, for people."""


def likely_causes(
    predictor: Predictor, data: TrajectoryDataset, valid: TrajectoryDataset, updates: int = SHORT_TRAINING
) -> list[str]:
    """The most likely causes of roll-outs that run away, the likeliest first.

    Args:
        predictor: The model.
        data: Trajectories that it was trained on.
        valid: Held-out trajectories.
        updates: Updates of the training.
    """
    batch = next(WindowSampler(data, 1, min(SAMPLE, data.transitions))).to(predictor.device)
    steps = min(STEPS, int(valid.length.max()))
    held_out = valid.beginnings(steps, ROLLOUTS).to(predictor.device)
    states = predict(predictor.eval(), held_out.state[:, 0], held_out.control, ground_of(held_out))
    found = [
        _features(predictor, batch, states),
        _drives(predictor.spec, batch),
        _narrow(predictor.spec, batch, states, data.transitions),
        _contacts(predictor, batch),
        _short(updates),
    ]
    return [cause.text for cause in sorted(found, key=lambda cause: -cause.severity)[:CAUSES]]


def _short(updates: int) -> Cause:
    """A training that had hardly begun."""
    return Cause(
        max(0.0, 1.0 - updates / SHORT_TRAINING),
        f"the training was short: {updates} updates; give it more time (--minutes), or the machine to itself",
    )


def _features(predictor: Predictor, batch: TrajectoryBatch, states: Tensor) -> Cause:
    """The feature that is furthest from its mean, in the data and in the roll-outs."""
    residual = predictor.residual
    if not isinstance(residual, ResidualNetwork):
        return Cause(0.0, "the model has no network that could be led outside of its data")
    seen = _peaks(residual, predictor, batch.state[:, :1], batch.control[:, :1], batch)
    gone = torch.maximum(seen, _peaks(residual, predictor, states[:, :-1], None, None))
    worst = int(gone.argmax())
    name = _feature_name(residual, worst)
    peak, beyond = float(seen[worst]), float(gone[worst] / seen[worst].clamp(min=1.0))
    severity = min(1.0, max(math.log10(max(peak / USUAL_PEAK, 1.0)), math.log10(max(beyond, 1.0))))
    advice = "" if predictor.cfg.within_data else "; --within-data keeps features near the range of the data"
    return Cause(
        severity,
        f"a feature is out of range: {name} reaches {float(gone[worst]):.3g} standard deviations in roll-outs and "
        f"{peak:.3g} in the data{advice}",
    )


def _peaks(
    residual: ResidualNetwork,
    predictor: Predictor,
    state: Tensor,
    control: Tensor | None,
    batch: TrajectoryBatch | None,
) -> Tensor:
    """Largest distance of each feature from its mean [standard deviations], shape (features,)."""
    normaliser, tokenizer = residual.token_normaliser, residual.tokenizer
    state = state[state.isfinite().all(-1).all(-1)] if batch is None else state
    if not len(state):
        return torch.zeros_like(normaliser.mean)
    if control is None:
        control = state.new_zeros(*state.shape[:-1], predictor.spec.control_dim)
    contacts = None
    if predictor.needs_contacts:
        if batch is None:
            return torch.zeros_like(normaliser.mean)
        contacts = batch.contacts if batch.contacts is not None else predictor.contacts(state, ground_of(batch))
    with torch.no_grad():
        prior = None if predictor.prior is None else predictor.prior(state, control, contacts)
        tokens, _ = residual.raw_tokens(state, control, contacts, prior)
    mask = tokenizer.mask(tokenizer.visible_contacts(contacts))
    distance = ((tokens - normaliser.mean) / normaliser.std).abs()
    distance = distance if mask is None else distance.masked_fill(~mask, 0.0)
    return distance.flatten(0, -2).amax(0)


def _feature_name(residual: ResidualNetwork, index: int) -> str:
    """A feature by its part of the token, with the joint that it is of where that is plain."""
    for name, where in residual.tokenizer.slices.items():
        if where.start <= index < where.stop:
            joints = residual.spec.joint_names
            place = index - where.start
            limited = residual.tokenizer.stops.joints
            if name.startswith("limit"):
                return f"{name} of '{joints[limited[place % len(limited)]]}'"
            return f"{name} of '{joints[place]}'" if name == "joint_vel" else f"{name}[{place}]"
    return f"feature {index}"


def _drives(spec: RobotSpec, batch: TrajectoryBatch) -> Cause:
    """Position and velocity drives whose effort would pass its limit, or whose targets are beyond the joint's stops."""
    state, control, at = batch.state[:, 0], batch.control[:, 0], spec.state
    worst, who = 0.0, ""
    for column, channel in enumerate(spec.controls):
        index = spec.joint_names.index(channel.joint)
        joint = spec.joints[index]
        pos, vel, target = state[:, at.joint_pos][:, index], state[:, at.joint_vel][:, index], control[:, column]
        if channel.kind == "effort":
            continue
        over = torch.zeros_like(target, dtype=torch.bool)
        if channel.kind == "position":
            effort = joint.stiffness * (target - pos) - joint.damping * vel
            over = (target < joint.lower) | (target > joint.upper)
        else:
            effort = joint.damping * (target - vel)
        share = float((over | (effort.abs() > joint.effort_limit)).float().mean())
        if share > worst:
            worst, who = share, f"'{joint.name}' (limit {joint.effort_limit:g})"
    if worst < RARE:
        return Cause(0.0, "drives are hardly ever at their limits, and targets hardly ever beyond a joint's stops")
    return Cause(
        worst,
        f"drives are at their limits: {who} is asked for more than it can give, or for a place beyond its stops, in "
        f"{worst:.0%} of the data; collect with targets that the task uses (nerd generate --managers, or a policy)",
    )


def _narrow(spec: RobotSpec, batch: TrajectoryBatch, states: Tensor, transitions: int) -> Cause:
    """Roll-outs that go where the data hold nothing, or data that are few."""
    columns = list(range(spec.state.joint_pos.start, spec.state.joint_pos.stop))
    columns += range(spec.state.joint_pos.stop, spec.state.dim)
    data = batch.state.flatten(0, 1)[:, columns]
    low, high = data.amin(0), data.amax(0)
    reach = 0.1 * (high - low)
    outside = ~((states[..., columns] >= low - reach) & (states[..., columns] <= high + reach))
    share = float(outside.any(-1).any(-1).float().mean())
    few = max(0.0, 1.0 - transitions / FEW_TRANSITIONS)
    return Cause(
        max(0.9 * share, 0.8 * few),
        f"the data are too narrow: {share:.0%} of the roll-outs leave the range of its {transitions:,} transitions "
        f"within {states.shape[1] - 1} steps; collect more, over wider ranges (nerd generate --transitions --ranges)",
    )


def _contacts(predictor: Predictor, batch: TrajectoryBatch) -> Cause:
    """Jumps of velocity where no contact slot is near the ground."""
    spec, at = predictor.spec, predictor.spec.state
    columns = list(range(at.joint_pos.stop, at.dim))
    change = (batch.state[:, 1] - batch.state[:, 0])[:, columns].abs()
    jumps = (change > JUMP * change.median(0).values.clamp(min=1.0e-4)).any(-1)
    if not bool(jumps.any()):
        return Cause(0.0, "no jump of velocity was found that contacts would have to explain")
    near = torch.zeros_like(jumps)
    contacts = batch.contacts
    if contacts is None and spec.slots and batch.ground is not None:
        contacts = predictor.contact_model(batch.state[:, :1], ground_of(batch))
    if contacts is not None:
        near = contacts.active[:, 0].any(-1)
    unexplained = jumps & ~near
    share, unseen = float(jumps.float().mean()), float(unexplained.float().mean())
    return Cause(
        min(1.0, unseen / max(share, 1e-6)) * min(1.0, 5.0 * share),
        f"contacts are unexplained: velocities jump in {share:.1%} of the transitions, and in {unseen:.1%} with no "
        "contact slot near the ground (the robot touches itself or something that the data do not tell of)",
    )


__all__ = ["SHORT_TRAINING", "likely_causes"]
