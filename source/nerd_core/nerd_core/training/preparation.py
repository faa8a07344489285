# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What is set before the first update: which weights learn, and the units of tokens, changes, roll-outs and noise."""

from __future__ import annotations

import math

from ..data.dataset import TrajectoryDataset
from ..data.sampler import WindowSampler
from ..predictor.predictor import Predictor
from .config import TrainCfg, TrainingError
from .distributed import Processes
from .losses import StateScale, ground_of
from .remembered import remembered

STATISTICS_BATCH = 8192
"""Transitions that are taken into the statistics at a time. Bounds the memory taken."""


def choose_parts(predictor: Predictor, train_parts: str) -> None:
    """Lets some weights learn and the others not.

    Args:
        predictor: The model.
        train_parts: Which weights learn, see :attr:`TrainCfg.train_parts`.
    """
    prior, network = predictor.prior, predictor.network
    if train_parts != "all" and (not prior_learns(predictor) or network is None):
        raise TrainingError(
            f"got train_parts='{train_parts}' with prior={predictor.cfg.prior} and network={predictor.cfg.network}, "
            "expected a model with mechanics (or another prior that learns) and a network, or 'all'"
        )
    predictor.residual.requires_grad_(train_parts != "prior")
    if prior is not None and prior.trainable:
        prior.requires_grad_(train_parts != "network")


def prior_learns(predictor: Predictor) -> bool:
    """Whether the predictor has a prior with weights that a training may change.

    Args:
        predictor: The model.
    """
    prior = predictor.prior
    return prior is not None and prior.trainable and any(True for _ in prior.parameters())


def gather_statistics(predictor: Predictor, scale: StateScale, data: TrajectoryDataset, cfg: TrainCfg) -> None:
    """Sets the normalisers, unless the predictor brings its own, and the units of roll-outs and noise.

    Args:
        predictor: The model.
        scale: Units of roll-outs and noise.
        data: Trajectories to learn from.
        cfg: How many transitions to look at, and the seed of their order.
    """
    fresh = not bool(predictor.change_normaliser.count.any())
    batch = min(STATISTICS_BATCH, data.transitions)
    sampler = WindowSampler(data, 1, batch, cfg.seed)
    square, count = 0.0, 0
    for _ in range(math.ceil(min(cfg.normaliser_transitions, data.transitions) / batch)):
        part = next(sampler).to(predictor.device)
        state, next_state = part.state[:, :-1], part.state[:, 1:]
        scale.update(state, next_state)
        if part.body_force is not None:
            square, count = square + float(part.body_force.double().square().sum()), count + part.body_force.numel()
        if fresh:
            contacts = part.contacts if part.contacts is not None else predictor.contacts(state, ground_of(part))
            predictor.update_statistics(state, part.control, next_state, contacts)
    scale.finalise()
    if fresh:
        predictor.finalise_statistics(math.sqrt(square / count) if square else None)


def window_samplers(
    data: TrajectoryDataset, cfg: TrainCfg, processes: Processes
) -> tuple[WindowSampler, WindowSampler | None]:
    """Where the windows of the one-step loss and of roll-outs come from, this process's share of each batch.

    Args:
        data: Trajectories to learn from.
        cfg: How to train.
        processes: The processes that train together.
    """
    roll, world = cfg.rollout, processes.world
    if cfg.batch_size % world or roll.batch_size % world:
        raise TrainingError(
            f"got batches of {cfg.batch_size} windows and {roll.batch_size} roll-outs for {world} processes, "
            "expected multiples of their number"
        )
    share = {"rank": processes.rank, "world": world}
    windows = WindowSampler(data, cfg.window_length, cfg.batch_size // world, cfg.seed, **share)
    rolled = data, roll.steps, roll.batch_size // world, cfg.seed + 1
    return windows, WindowSampler(*rolled, **share) if roll.weight else None


def replay_sampler(
    predictor: Predictor, replay: TrajectoryDataset | None, cfg: TrainCfg, processes: Processes
) -> WindowSampler | None:
    """Where the windows to be remembered come from; None where nothing is. Batches are found by the number of the
    update alone, so that there is no position to save.

    Args:
        predictor: The model, whose prior may remember something along the trajectories.
        replay: Trajectories that the model is to remember.
        cfg: How to train.
        processes: The processes that train together.
    """
    if (replay is None) != (not cfg.replay):
        raise TrainingError(
            f"got replay={cfg.replay} {'without' if replay is None else 'with'} data to be remembered, expected both "
            "or neither"
        )
    if replay is None:
        return None
    count = max(1, cfg.batch_size // processes.world)
    share = {"rank": processes.rank, "world": processes.world}
    known = remembered(predictor, replay, cfg.remembered, cfg.seed)
    return WindowSampler(known, cfg.window_length, count, cfg.seed + 2, **share)


__all__ = ["choose_parts", "gather_statistics", "replay_sampler", "window_samplers"]
