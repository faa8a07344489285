# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What training minimises: the error of one step, and of several through the model's own predictions.

Both losses are mean logarithms of the mean square errors of the single numbers ``d`` of a change of state::

    L = 1/D sum_d log(mean_i e[i, d]^2)

The gradient asks every number to improve by the same factor. With plain squares a number that has reached its noise
(what rounding leaves of the position of a cart, say) drowns the others, which could still become a hundred times more
accurate. For the same reason the one-step loss takes its means within each regime of motion (see
:mod:`nerd_core.training.regimes`).
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from ..contact.grounds import Ground, PlaneGround
from ..data.dataset import TrajectoryBatch
from ..dynamics import rollout_states
from ..predictor.predictor import Predictor
from ..robot.frames import ChangeCfg, ChangeCodec
from ..robot.spec import RobotSpec
from .distributed import mean_over_processes
from .regimes import Regimes

MIN_REGIME_COUNT = 16.0
"""Transitions of a regime in a batch below which it does not count in this batch."""

SQUARE_FLOOR = 1.0e-10
"""Mean square error below which a number has no weight of its own any more."""


def ground_of(batch: TrajectoryBatch) -> Ground | None:
    """The ground that the windows of a batch stand on, if they say so."""
    return None if batch.ground is None else PlaneGround.from_vector(batch.ground)


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

    def add_noise(self, state: Tensor, size: float, generator: torch.Generator | None = None) -> Tensor:
        """States moved at random by a share of what one step changes.

        Args:
            state: States, shape (..., S).
            size: Standard deviation of the noise, in units of what one step changes.
            generator: Where the noise comes from.
        """
        noise = torch.randn(*state.shape[:-1], self.codec.dim, device=state.device, generator=generator)
        return self.codec.apply(state, size * self.scale * noise)


def one_step_loss(
    predictor: Predictor,
    batch: TrajectoryBatch,
    *,
    noisy_state: Tensor | None = None,
    regimes: Regimes | None = None,
    regime_power: float = 0.0,
    speed_weighting: float = 0.0,
    prior_only: bool = False,
) -> Tensor:
    """Error of the normalised change at every step of the windows, each from the true past.

    With regimes ``r`` of ``n_r`` transitions each, errors ``e`` and weights ``c`` of :func:`speed_weights`::

        L = sum_r w_r 1/D sum_d log(mean_{i in r} (c_i e[i, d])^2),    w_r = n_r^regime_power / sum_r n_r^regime_power

    With a variance head it is the negative log likelihood of a Gaussian, ``mean (e^2 exp(-s) + s) / 2`` with ``s`` the
    predicted logarithm of the variance. With a force head ``log mean ((f - f_true) / force_scale)^2`` is added, over
    the bodies that are near the ground.

    Args:
        predictor: The model. Of an ensemble, every member is judged by itself.
        batch: Windows of ``L`` transitions.
        noisy_state: States that the model is given instead of the true ones, shape (B, L, S). The target leads from
            them to the true next state, so that a model that is trained on noise learns to come back.
        regimes: What tells regimes apart; None to take one mean over all transitions.
        regime_power: Exponent of a regime's share of the data in its weight.
        speed_weighting: Speed above which an error counts relative to the speed of the robot [m/s]; 0 for never.
            Only with regimes.
        prior_only: Whether to judge the prior alone, see :meth:`Predictor.prior_prediction`.

    Returns:
        The loss, shape ().
    """
    state, next_state, contacts = batch.state[:, :-1], batch.state[:, 1:], batch.contacts
    state = state if noisy_state is None else noisy_state
    if contacts is None:
        contacts = predictor.contacts(state, ground_of(batch))
    predict = predictor.prior_prediction if prior_only else predictor
    prediction = predict(state, batch.control, contacts, memory=batch.memory)
    prediction = prediction.members or prediction
    error = prediction.change - predictor.target(state, next_state)
    if prediction.log_var is not None:
        loss = 0.5 * (error.square() * (-prediction.log_var).exp() + prediction.log_var).mean()
    else:
        error = error if prediction.drive_scale is None else error / prediction.drive_scale
        if regimes is None:
            loss = mean_log(error.square().mean((-3, -2)))
        else:
            weighted = error * speed_weights(regimes, state, speed_weighting)
            loss = regime_loss(weighted, regimes(state, contacts), regimes.count, regime_power)
    if prediction.force is not None:
        if batch.body_force is None:
            raise ValueError("a predictor with a force head needs recorded contact forces, got data without them")
        square = ((prediction.force - batch.body_force) / predictor.force_scale).square()
        if prediction.near is not None:  # elsewhere the predictor says zero, whatever its weights are
            share = mean_over_processes(prediction.near.float().mean())
            square = square * prediction.near.unsqueeze(-1) / share.clamp(min=1.0e-6)
        loss = loss + mean_log(square.flatten(-2).mean((-3, -2, -1)))
    return loss


def rollout_loss(predictor: Predictor, batch: TrajectoryBatch, steps: int, scale: StateScale) -> Tensor:
    """Error of a roll-out from the first state of each window, through the model's own predictions.

    The distance ``x[i, k]`` to the true state after ``k`` steps is divided by ``k``, so that every horizon counts::

        L = 1/D sum_d log(mean_k mean_i (x[i, k, d] / k)^2)

    Contacts are those of the predicted states. Where windows have a memory, that of the first state goes along.

    Args:
        predictor: The model. Of an ensemble, the mean is rolled out.
        batch: Windows of at least ``steps`` transitions.
        steps: Number of steps.
        scale: Units of the distance.

    Returns:
        The loss, shape ().
    """
    states = recorded_rollout(predictor, batch, steps)
    squares = [
        scale.distance(batch.state[:, step], state).square().mean(0) / step**2 for step, state in enumerate(states, 1)
    ]
    return mean_log(torch.stack(squares).mean(0))


def recorded_rollout(predictor: Predictor, batch: TrajectoryBatch, steps: int) -> Iterator[Tensor]:
    """The states of a roll-out from the first state of each window with the recorded controls, one by one.

    Args:
        predictor: The model.
        batch: Windows of at least ``steps`` transitions.
        steps: Number of steps.
    """
    memory = None if batch.memory is None else batch.memory[:, 0]
    controls, ground = batch.control, ground_of(batch)
    return rollout_states(predictor, batch.state[:, 0], lambda k, _: controls[:, k], steps, ground, memory=memory)


def mean_log(square: Tensor, weight: Tensor | None = None) -> Tensor:
    """Mean logarithm of mean squares, with the gradient that all processes together give it.

    Args:
        square: Mean square errors of this process, in units where 1 means useless, any shape.
        weight: Weight of each row, shape (rows, 1), with a sum of one; equal weights by default. What weighs nothing is
            left out.
    """
    total = mean_over_processes(square) + SQUARE_FLOOR
    # The value is that of all processes, the gradient that of this one: d log(total) = d square / total.
    loss = (square - square.detach()) / total + total.log()
    return loss.mean() if weight is None else (weight * loss).sum(-2).mean()


def speed_weights(regimes: Regimes, state: Tensor, speed_weighting: float) -> Tensor:
    """Weight ``1 / sqrt(1 + (v / v_0)^2)`` of an error, with the robot's speed ``v`` and ``v_0 = speed_weighting``.

    Args:
        regimes: What measures the speed.
        state: States, shape (..., S).
        speed_weighting: Speed above which errors count relative to the speed [m/s]; 0 for equal weights.

    Returns:
        Shape (..., 1).
    """
    if not speed_weighting:
        return state.new_ones(*state.shape[:-1], 1)
    return (1.0 + (regimes.speed(state) / speed_weighting).square()).rsqrt().unsqueeze(-1)


def regime_loss(error: Tensor, regime: Tensor, count: int, regime_power: float) -> Tensor:
    """Mean logarithm of the mean squares within each regime, see :func:`one_step_loss`.

    Args:
        error: Errors, shape (..., B, L, D).
        regime: Number of the regime of each, shape (B, L).
        count: Number of regimes.
        regime_power: Exponent of a regime's share of the data in its weight.
    """
    label = regime.flatten()
    size = mean_over_processes(torch.bincount(label, minlength=count).to(error))
    # Not a product of matrices: its sums would depend on the number of threads.
    squares = error.square().flatten(-3, -2)
    sums = squares.new_zeros(*squares.shape[:-2], count, squares.shape[-1]).index_add(-2, label, squares)
    square = sums / size.clamp(min=1.0e-6).unsqueeze(-1)
    # A mean over a few transitions may be tiny by luck, and its logarithm's gradient huge.
    weight = torch.where(size >= size.max().clamp(max=MIN_REGIME_COUNT), size**regime_power, 0.0)
    return mean_log(square, (weight / weight.sum()).unsqueeze(-1))


__all__ = [
    "StateScale",
    "ground_of",
    "mean_log",
    "one_step_loss",
    "recorded_rollout",
    "regime_loss",
    "rollout_loss",
    "speed_weights",
]
