# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What adaptation is worth on motion that was recorded: errors of short predictions through the motion.

The follower goes through the motion once, as it would in a loop. At moments in equal distances the model then predicts
some steps ahead, from the true state of the moment and with the controls that followed: as the specification says, with
what was estimated up to that moment, and, where it is known, with what was changed. The motion is the same for all
three.

Example::

    motion = Motion(states, controls, ground, changed_at=180, truth=numbers)
    found = try_adaptation(predictor, motion, AdaptCfg(("payload",)))
    print(found.seconds_until_met["joint_rad"])
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ..contact.grounds import Ground
from ..dynamics import NeuralDynamics, rollout_states
from ..predictor.predictor import Predictor
from ..training.metrics import state_errors
from .config import AdaptCfg
from .directions import AdaptationError
from .follower import Follower

MET = 1.5
"""An estimate has met the truth when its error is within this factor of that of a model told the truth."""

AHEAD_SECONDS = 0.25
"""Length of the predictions [s]."""

BIN_SECONDS = 0.25
"""Time from one moment to the next [s]."""


@dataclass(frozen=True, eq=False)
class Motion:
    """Recorded motion of many environments."""

    states: Tensor
    """States, shape (N, T + 1, S)."""
    controls: Tensor
    """Controls held over the steps, shape (N, T, C)."""
    ground: Ground | None = None
    """What the robots stand on."""
    changed_at: int | None = None
    """Step at which the robots changed; None if nobody knows."""
    truth: Tensor | None = None
    """The numbers of the robots from then on, shape (N, P); None if nobody knows."""


@dataclass(frozen=True, eq=False)
class Trial:
    """What was estimated, and how good predictions are with it."""

    names: tuple[str, ...]
    """What each number is."""
    seconds: list[float]
    """Moments [s], one for each row of the errors."""
    numbers: Tensor
    """Estimates after each step, shape (T, N, P)."""
    used: Tensor
    """Which were used, shape (T, N)."""
    errors: dict[str, dict[str, Tensor]]
    """By model (``specification``, ``adapted``, ``told``) and quantity [m, rad], shape (K, N): mean error of a
    prediction from each moment."""
    changed: float | None
    """When the robots changed [s]."""

    def mean(self, model: str, quantity: str, rows: Tensor | slice = slice(None)) -> Tensor:
        """Mean errors over some environments, shape (K,)."""
        return self.errors[model][quantity][:, rows].mean(1)

    def before_and_after(self, quantity: str, rows: Tensor | slice = slice(None)) -> dict[str, dict[str, float]]:
        """Mean errors by model before the change and in the last second.

        Args:
            quantity: A quantity of the errors.
            rows: Environments to take.
        """
        seconds = torch.tensor(self.seconds)
        change = float(seconds[-1]) if self.changed is None else self.changed
        spans = {"before": seconds + AHEAD_SECONDS <= change, "last_second": seconds > seconds[-1] - 1.0}
        return {
            name: {model: float(self.mean(model, quantity, rows)[span].mean()) for model in self.errors}
            for name, span in spans.items()
            if bool(span.any())
        }

    def seconds_until_met(self, quantity: str, rows: Tensor | slice = slice(None)) -> float | None:
        """Seconds from the change until the mean error stays within :data:`MET` times that of a model told the truth;
        None where it does not, or where nobody knows the truth.

        Args:
            quantity: A quantity of the errors.
            rows: Environments to take.
        """
        if self.changed is None or "told" not in self.errors:
            return None
        after = torch.tensor(self.seconds) >= self.changed
        own, told = self.mean("adapted", quantity, rows)[after], self.mean("told", quantity, rows)[after]
        beyond = (own > MET * told).nonzero().flatten()
        first = 0 if not len(beyond) else int(beyond[-1]) + 1
        moments = [each for each in self.seconds if each >= self.changed]
        return moments[first] - self.changed if first < len(moments) else None


def follow(predictor: Predictor, motion: Motion, cfg: AdaptCfg) -> tuple[Tensor, Tensor, Follower]:
    """Goes through recorded motion once.

    Args:
        predictor: The model.
        motion: The motion.
        cfg: Settings.

    Returns:
        Estimates after each step, shape (T, N, P); which were used, shape (T, N); and the follower at the end.
    """
    count = len(motion.states)
    follower = Follower(predictor, cfg, count, motion.ground)
    dynamics = NeuralDynamics(predictor, count, motion.states.device, ground=motion.ground)  # as in a running loop
    numbers, used = [], []
    for step in range(motion.controls.shape[1]):
        state, control, measured = motion.states[:, step], motion.controls[:, step], motion.states[:, step + 1]
        parameters, arrives = follower.parameters(control)
        predicted = dynamics.step(state, arrives, parameters=parameters)
        follower.look(state, control, measured, predicted)
        numbers.append(follower.numbers.clone())
        used.append(follower.used.clone())
    return torch.stack(numbers), torch.stack(used), follower


def try_adaptation(predictor: Predictor, motion: Motion, cfg: AdaptCfg) -> Trial:
    """Follows motion, and predicts from moments of it with each model.

    Args:
        predictor: The model.
        motion: The motion.
        cfg: Settings.
    """
    dt = predictor.spec.control_dt
    ahead, stride = max(1, round(AHEAD_SECONDS / dt)), max(1, round(BIN_SECONDS / dt))
    steps = motion.controls.shape[1]
    if steps < ahead + stride:
        raise AdaptationError(
            f"got motion of {steps} steps, expected at least {ahead + stride}: {AHEAD_SECONDS + BIN_SECONDS} s"
        )
    numbers, used, follower = follow(predictor, motion, cfg)
    # with a phase that puts a moment on the change itself
    phase = 0 if motion.changed_at is None else motion.changed_at % stride
    moments = list(range(phase or stride, steps - ahead + 1, stride))
    nothing = torch.zeros_like(numbers[0])
    errors: dict[str, list[dict[str, Tensor]]] = {"specification": [], "adapted": []}
    if motion.truth is not None:
        errors["told"] = []
    for moment in moments:
        known = {"specification": nothing, "adapted": torch.where(used[moment - 1][:, None], numbers[moment - 1], 0.0)}
        if motion.truth is not None:
            changed = motion.changed_at is None or moment >= motion.changed_at
            known["told"] = motion.truth if changed else nothing
        for name, values in known.items():
            errors[name].append(_errors_ahead(follower, motion, moment, ahead, values))
    stacked = {
        name: {quantity: torch.stack([row[quantity] for row in rows]) for quantity in rows[0]}
        for name, rows in errors.items()
    }
    changed = None if motion.changed_at is None else dt * motion.changed_at
    return Trial(follower.directions.names, [dt * each for each in moments], numbers, used, stacked, changed)


@torch.no_grad()
def _errors_ahead(follower: Follower, motion: Motion, moment: int, ahead: int, numbers: Tensor) -> dict[str, Tensor]:
    """Mean errors of a prediction from a moment, by quantity, shape (N,). Nothing changes on the way."""
    predictor, truth = follower.predictor, motion.states[:, moment : moment + ahead + 1]
    parameters, _ = follower.directions(numbers, motion.controls[:, moment])
    states = rollout_states(
        predictor,
        truth[:, 0],
        lambda step, _: follower.directions(numbers, motion.controls[:, moment + step])[1],
        ahead,
        motion.ground,
        parameters=parameters,
    )
    rows = [state_errors(predictor.spec, state, truth[:, step]) for step, state in enumerate(states, 1)]
    return {name: torch.stack([row[name] for row in rows]).mean(0) for name in rows[0]}


__all__ = ["AHEAD_SECONDS", "BIN_SECONDS", "MET", "Motion", "Trial", "follow", "try_adaptation"]
