# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Settings of a training run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from ..files.bounds import SEED, bounded, check_bounds
from .optimiser import OptimiserCfg


class TrainingError(ValueError):
    """A run that cannot start, go on, or has diverged."""


class TrainingDiverged(TrainingError):
    """A run whose weights are no numbers any more."""


@dataclass(frozen=True)
class RolloutCfg:
    """Multi-step training: the loss of short roll-outs through the model's own predictions."""

    weight: float = bounded(0.5, at_least=0.0, at_most=1.0)
    """Share of the roll-out loss in the gradient, once it has begun. 0 switches it off."""
    start: float = bounded(0.5, at_least=0.0, at_most=1.0)
    """Share of the run after which it begins: long roll-outs of an unfit model teach little."""
    steps: int = bounded(16, at_least=1)
    """Longest roll-out."""
    ramp: float = bounded(0.3, at_least=0.0, at_most=1.0)
    """Share of the run over which the length then grows from ``first_steps``."""
    batch_size: int = bounded(128, at_least=1)
    """Roll-outs in an update."""
    first_steps: int = bounded(2, at_least=1)
    """Steps of the first roll-outs."""
    errors: Literal["state", "pose"] = "state"
    """What counts: logarithms of the squares of all numbers of the state, divided by the steps, or the distance of
    poses alone, see :mod:`nerd_core.training.pose_loss`. The latter is for measured data, whose velocities are noisy,
    and for impacts, after which some roll-outs go another way whatever is learned."""
    position_unit: float = bounded(0.0155, above=0.0)
    """Distance of poses that counts as one [m]."""
    rotation_unit: float = bounded(0.22, above=0.0)
    """Angle between poses that counts as one [rad]."""
    limit: float = bounded(10.0, above=0.0)
    """What the largest distance of poses counts, in units: chaos beyond it teaches nothing."""

    def __post_init__(self):
        check_bounds(self, TrainingError)

    def length(self, progress: float) -> int:
        """Number of steps at a share of the run; 0 before the start."""
        if not self.weight or progress < self.start:
            return 0
        grown = min(1.0, (progress - self.start) / self.ramp) if self.ramp else 1.0
        first = min(self.first_steps, self.steps)
        return min(self.steps, first + round(grown * (self.steps - first)))


@dataclass(frozen=True)
class TrainCfg:
    """How to train."""

    updates: int | None = bounded(None, at_least=1)
    """Number of updates of the weights; None for no limit."""
    minutes: float | None = bounded(None, above=0.0)
    """Wall-clock time for everything, statistics and validation included; None for no limit."""
    batch_size: int = bounded(2048, at_least=1)
    """Windows in an update, over all processes."""
    window_length: int = bounded(1, at_least=1)
    """Transitions of a window. A network with memory needs windows longer than its own."""
    optimiser: OptimiserCfg = field(default_factory=OptimiserCfg)
    """How weights are changed."""
    rollout: RolloutCfg = field(default_factory=lambda: RolloutCfg(weight=0.0))
    """Multi-step training."""
    max_grad_norm: float = bounded(0.0, at_least=0.0)
    """Largest norm of the gradient; 0 for no limit. The loss is a logarithm, so that gradients grow as errors fall."""
    ema_decay: float = bounded(0.0, at_least=0.0, below=1.0)
    """Decay of the exponential moving average (EMA) of the weights, which then is what is validated and kept; 0 for
    none."""
    regimes: bool = True
    """Whether the one-step loss takes its means within each regime (free, touching the ground, at a joint's stop)
    instead of over all transitions, where impacts drown everything else."""
    regime_power: float = bounded(0.0, at_least=0.0, at_most=1.0)
    """Exponent of a regime's share of the data in its weight: 0 gives every regime the same weight, 1 every transition,
    which lets a network ignore what is rare."""
    speed_weighting: float = bounded(0.0, at_least=0.0)
    """Speed above which an error counts relative to that of the robot [m/s]; 0 for never. A mean over slow and fast
    motion is one over fast motion, whose errors are larger: with this, slow motion is learned as well. Needs regimes.
    """
    train_parts: Literal["all", "prior", "network"] = "all"
    """Which weights learn, for a model with mechanics as its prior. The rules of contact of the mechanics are few
    weights that learn from few data, so they go first, alone; the network then learns what they miss."""
    precompute: int = bounded(0, at_least=0)
    """Transitions whose prior and tokens are computed once and kept, when only the network learns (there is no prior,
    or one of free motion, or ``train_parts`` says so): neither changes then. Updates take as little as a tenth of the
    time, and only transitions count in which the network may add something. 0 to compute them in every update."""
    remembered: int = bounded(200_000, at_least=0)
    """Transitions to learn from, of whole trajectories, where mechanics remember where feet were put down: what they
    remember before each is found once, along the recorded states; as many of those that are replayed. 0 to learn from
    all data, without that memory."""
    state_noise: float = bounded(0.0, at_least=0.0)
    """Noise on the states that the network sees, as a share of what one step changes."""
    keep: float = bounded(0.0, at_least=0.0)
    """Weight of half the squares by which weights leave those of the start: what was learned before is kept, where the
    new data say nothing. Only with a model to start from."""
    replay: float = bounded(0.0, at_least=0.0, at_most=1.0)
    """Share of the one-step loss of the data to be remembered, which are replayed beside the new ones."""
    precision: Literal["float32", "bfloat16"] = "float32"
    """Type in which matrices are multiplied."""
    compile: bool = False
    """Whether to compile the one-step loss. Needs a C++ compiler on the CPU; goes on without if that fails."""
    seed: int = bounded(0, **SEED)
    """Seed of the order of the data and of the noise. The weights are the caller's."""
    normaliser_transitions: int = bounded(1_000_000, at_least=1)
    """Transitions from which the normalisers are set, unless the predictor brings its own."""
    validations: int = bounded(20, at_least=1)
    """How often to validate and save, at equal shares of the run."""
    validation_horizons: tuple[int, ...] = bounded((10, 100, 500), at_least=1)
    """Horizons of the validation; the error at the longest that the data reach decides which model is best."""
    validation_trajectories: int = bounded(128, at_least=1)
    """Trajectories in a validation."""
    validation_steps: int = bounded(300, at_least=0)
    """Steps that the roll-outs of a validation take at least. Beyond the recorded ones they have the controls of other
    trajectories, and no error: only how many leave the robot's guard, or meet the bounds of a bounded model, is
    counted. The best model is the one with the fewest of these, and then with the smallest error."""
    validation_windows: int = bounded(0, at_least=0)
    """Further roll-outs of a validation that begin anywhere in the trajectories, not at their beginnings, with what is
    remembered there (``remembered``); the score is then the geometric mean of both."""
    patience: int = bounded(0, at_least=0)
    """Validations without an improvement after which to stop; 0 to never stop early."""
    save_minutes: float = bounded(5.0, at_least=0.0)
    """Time between two saves, beside those at validations."""

    def __post_init__(self):
        check_bounds(self, TrainingError)
        if self.updates is None and self.minutes is None:
            raise TrainingError("got neither updates nor minutes, expected a budget: set one of them, or both")
        if not self.validation_horizons:
            raise TrainingError("got no validation_horizons, expected at least one")
        if self.speed_weighting and not self.regimes:
            raise TrainingError(f"got speed_weighting={self.speed_weighting} without regimes, expected both or neither")


__all__ = ["RolloutCfg", "TrainCfg", "TrainingDiverged", "TrainingError"]
