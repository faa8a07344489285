# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What training minimises: the error of one step, and of several through the model's own predictions.

Both losses are mean logarithms of the mean square errors of the single numbers of a change. Their gradient asks every
number to improve by the same factor. With plain squares a number that has reached its noise (what rounding leaves of
the position of a cart, say) drowns the others, which could still become a hundred times more accurate. For the same
reason the one-step loss takes its means within each regime (see :mod:`nerd_core.regimes`).
"""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch import Tensor

from .data.dataset import TrajectoryBatch
from .frames import ChangeCfg, ChangeCodec
from .grounds import Ground, PlaneGround
from .predictor import Predictor
from .regimes import Regimes
from .spec import RobotSpec


def ground_of(batch: TrajectoryBatch) -> Ground | None:
    """The ground that the windows of a batch stand on, if they say so."""
    return None if batch.ground is None else PlaneGround.from_vector(batch.ground)


LEAST_COUNT = 16.0
"""Transitions of a regime in a batch below which it does not count in this batch."""

FLOOR = 1.0e-10
"""Mean square error below which a number has no weight of its own any more."""


class StateScale:
    """Distances of states in units of what one step changes, the same for all robots.

    A distance is written like a change of state: rotation vectors, wrapped angles, axes of the root. The units are root
    mean squares over the training data.
    """

    def __init__(self, spec: RobotSpec):
        """Starts without units.

        Args:
            spec: The robot.
        """
        self.codec = ChangeCodec(spec, ChangeCfg(integration="none"))
        self.squares = torch.zeros(self.codec.dim, dtype=torch.float64)
        self.count = 0
        self.scale = torch.ones(self.codec.dim)

    def update(self, state: Tensor, next_state: Tensor) -> None:
        """Takes transitions into the statistics, states of shape (..., S)."""
        change = self.codec.encode(state, next_state).double().flatten(0, -2)
        self.squares = self.squares.to(change.device) + change.square().sum(0)
        self.count += change.shape[0]

    def finalise(self) -> None:
        """Sets the units. What hardly changes beside others of its kind gets a thousandth of theirs."""
        square = self.squares / max(1, self.count)
        for group in self.codec.groups:
            square[group] = square[group].clamp(min=1.0e-6 * float(square[group].mean()))
        scale = square.sqrt()
        self.scale = torch.where(scale > 0, scale, torch.ones_like(scale)).to(self.scale)

    def distance(self, state: Tensor, other: Tensor) -> Tensor:
        """From one state to another, shape (..., D)."""
        return self.codec.encode(state, other) / self.scale

    def perturb(self, state: Tensor, size: float, generator: torch.Generator | None = None) -> Tensor:
        """States moved at random by a share of what one step changes."""
        noise = torch.randn(*state.shape[:-1], self.codec.dim, device=state.device, generator=generator)
        return self.codec.apply(state, size * self.scale * noise)


def one_step_loss(
    predictor: Predictor,
    batch: TrajectoryBatch,
    seen: Tensor | None = None,
    regimes: Regimes | None = None,
    power: float = 0.0,
    pace: float = 0.0,
    known: bool = False,
) -> Tensor:
    """Error of the normalised change at every step of the windows, each from the true past.

    With a variance head it is the negative log likelihood of a Gaussian; with a force head the error of the forces, in
    units of their scale, is added.

    Args:
        predictor: The model.
        batch: Windows of ``L`` transitions.
        seen: States that the model shall see instead of the true ones, shape (B, L, S). The target leads from them to
            the true next state, so that a model that is shown noise learns to come back.
        regimes: What tells regimes apart; None to take one mean over all transitions.
        power: Exponent of a regime's share of the data in its weight.
        pace: Speed from which on an error counts beside the speed of the robot [m/s]; 0 for never. Only with regimes.
        known: Whether to judge what is known without the network, see :meth:`Predictor.known`.
    """
    state, next_state, contacts = batch.state[:, :-1], batch.state[:, 1:], batch.contacts
    state = state if seen is None else seen
    if contacts is None:
        contacts = predictor.contacts(state, ground_of(batch))
    prediction = predictor.known(state, batch.control, contacts) if known else predictor(state, batch.control, contacts)
    learner = prediction.members or prediction
    target = predictor.target(state, next_state)
    error = learner.change - target
    if learner.log_var is not None:
        loss = 0.5 * (error.square() * (-learner.log_var).exp() + learner.log_var).mean()
    else:
        error = error if learner.size is None else error / learner.size
        if regimes is None:
            loss = relative(error.square().mean((-3, -2)))
        else:
            loss = regime_loss(
                error * pace_weight(regimes, state, pace), regimes(state, contacts), regimes.count, power
            )
    if learner.force is not None:
        if batch.body_force is None:
            raise ValueError("a predictor with a force head needs recorded contact forces, got data without them")
        miss = ((learner.force - batch.body_force) / predictor.force_scale).square().flatten(-2)
        loss = loss + relative(miss.mean((-3, -2, -1)))
    return loss


def rollout_loss(predictor: Predictor, batch: TrajectoryBatch, steps: int, scale: StateScale) -> Tensor:
    """Error of a roll-out from the first state of each window, through the model's own predictions.

    The distance to the true state is divided by the number of steps that led there, so that every horizon counts.
    Contacts are those of the predicted states.

    Args:
        predictor: The model. Of an ensemble, the mean is rolled out.
        batch: Windows of at least ``steps`` transitions.
        steps: Number of steps.
        scale: Units of the distance.
    """
    ground, past, errors = ground_of(batch), None, []
    state = batch.state[:, 0]
    for step in range(steps):
        contacts = predictor.contacts(state, ground)
        prediction, past = predictor.extend(state, batch.control[:, step], contacts, past)
        state = predictor.next_state(state, prediction)
        errors.append(scale.distance(batch.state[:, step + 1], state).square().mean(0) / (step + 1) ** 2)
    return relative(torch.stack(errors).mean(0))


def relative(square: Tensor, share: Tensor | None = None) -> Tensor:
    """Mean logarithm of mean squares, with the gradient that all processes together give it.

    Args:
        square: Mean square errors of this process, in units where 1 means useless, any shape.
        share: Weight of each row, shape (rows, 1), with a sum of one; equal weights by default. What weighs nothing is
            left out.
    """
    reached = square.detach().clone()
    if dist.is_available() and dist.is_initialized():
        dist.all_reduce(reached)
        reached /= dist.get_world_size()
    reached = reached + FLOOR
    loss = (square - square.detach()) / reached + reached.log()
    return loss.mean() if share is None else (share * loss).sum(-2).mean()


def pace_weight(regimes: Regimes, state: Tensor, pace: float) -> Tensor:
    """How much an error counts beside the speed of the robot, shape (..., 1); see :func:`one_step_loss`."""
    if not pace:
        return state.new_ones(*state.shape[:-1], 1)
    return (1.0 + (regimes.speed(state) / pace).square()).rsqrt().unsqueeze(-1)


def regime_loss(error: Tensor, regime: Tensor, count: int, power: float) -> Tensor:
    """Mean logarithm of the mean squares within each regime.

    Args:
        error: Errors, shape (..., B, L, D).
        regime: Number of the regime of each, shape (B, L).
        count: Number of regimes.
        power: Exponent of a regime's share of the data in its weight.
    """
    label = regime.flatten()
    size = torch.bincount(label, minlength=count).to(error)
    if dist.is_available() and dist.is_initialized():
        dist.all_reduce(size)
        size /= dist.get_world_size()
    # Not a product of matrices: its sums would depend on the number of threads.
    squares = error.square().flatten(-3, -2)
    sums = squares.new_zeros(*squares.shape[:-2], count, squares.shape[-1]).index_add(-2, label, squares)
    square = sums / size.clamp(min=1.0e-6).unsqueeze(-1)
    # A mean over a few transitions may be tiny by luck, and its logarithm's gradient huge.
    weight = torch.where(size >= size.max().clamp(max=LEAST_COUNT), size**power, 0.0)
    return relative(square, (weight / weight.sum()).unsqueeze(-1))


__all__ = ["StateScale", "ground_of", "one_step_loss", "pace_weight", "regime_loss", "relative", "rollout_loss"]
