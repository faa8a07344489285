# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Training of a predictor: the loop is :func:`train`, an update :func:`update_weights`, the parts are in :class:`Run`.

A run is given a number of updates, a number of minutes, or both; learning rate and roll-outs follow whichever is
further. With a budget in updates a run is a function of its seed. A run that was killed goes on from its last save and
ends with the same weights to the last bit; ctrl-C and SIGTERM take effect between two updates, and save::

    train(predictor, data.split("train"), data.split("valid"), TrainCfg(minutes=5), out="runs/cartpole")
    nerd train ...                                                  # the same from the command line
    torchrun --nproc-per-node 2 -m nerd_core train ...              # 2 GPUs or processes
    torchrun --nnodes 2 --nproc-per-node 8 --rdzv-backend c10d --rdzv-endpoint HOST -m nerd_core train ...
"""

from __future__ import annotations

import logging
import math
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import torch
from torch import Tensor
from tqdm import tqdm

from ..compilation import CompiledOrPlain
from ..data.dataset import TrajectoryBatch, TrajectoryDataset
from ..data.sampler import Prefetcher, WindowSampler
from ..files.atomic import write_json
from ..predictor.predictor import Predictor
from .config import TrainCfg, TrainingDiverged, TrainingError
from .data_identity import run_identities
from .distributed import join_processes
from .ema import ExponentialMovingAverage
from .feasibility import require_memory
from .interrupts import Interrupts
from .logs import Logs
from .losses import StateScale, one_step_loss, rollout_loss
from .metrics import OpenLoopErrors
from .optimiser import make_optimiser
from .pose_loss import departure, pose_loss
from .precomputed import CHUNK, PrecomputedTransitions, require_single_steps
from .preparation import choose_parts, gather_statistics, prior_learns, replay_sampler, window_samplers
from .regimes import Regimes
from .remembered import remembered
from .run_folder import BEST, LAST, LOGS, TRIALS, RunFolder
from .saving import restore_run, save_run, write_checkpoint
from .validation import tell_if_untrained, validate, validate_untrained, validation_summary

logger = logging.getLogger(__name__)

RESIDUAL_TRANSITIONS = 100_000
"""Transitions from which the unit of what a network adds to mechanics is set, unless more are computed beforehand."""

LOG_INTERVAL = 50
"""Updates between two entries in the logs. To read the loss makes the device wait."""

INTERRUPTED = 2.0
"""Progress when someone asked to end the run."""

MAX_VALIDATION_SHARE = 0.15
"""Share of the time that validations may take where only time is the budget: on a slow machine, or with a large robot,
little of it would be left for training."""

BAR = "{percentage:3.0f} %|{bar}| {elapsed}<{remaining}{postfix}"


@dataclass(frozen=True)
class TrainResult:
    """How a run ended. The predictor has the best weights, or without validation data the last."""

    updates: int
    """Updates made."""
    minutes: float
    """Wall-clock time taken, over all parts of a run that was interrupted."""
    errors: OpenLoopErrors | None
    """Errors of the last weights on the validation data."""
    best: float
    """Score of the best validation, with the guard holding; infinite without one."""
    lost: int
    """Roll-outs of that validation that left the guard or met the bounds of the model."""
    rollouts: int
    """Roll-outs of a validation; 0 without one."""
    history: list[dict[str, Any]]
    """What each validation found."""


def train(
    predictor: Predictor,
    data: TrajectoryDataset,
    valid: TrajectoryDataset | None = None,
    cfg: TrainCfg | None = None,
    out: str | Path | None = None,
    resume: bool = False,
    quiet: bool = False,
    overwrite: bool = False,
    trials: dict[str, Any] | None = None,
    replay: TrajectoryDataset | None = None,
) -> TrainResult:
    """Trains a predictor in place.

    Args:
        predictor: The model, on the device to train on. If it was trained before, its normalisers are kept.
        data: Trajectories to learn from.
        valid: Held-out trajectories, rolled out open loop with their recorded controls.
        cfg: How to train.
        out: Folder for the checkpoints ``last`` and ``best`` and for the logs; None to keep nothing.
        resume: Whether to go on from ``last``, if it is there.
        quiet: Whether to hide the progress bar.
        overwrite: Whether a new run may begin where there is an earlier one, which is then put aside under a new name.
        trials: What was tried before, plain values that are kept with a new run; see :mod:`.auto_preset`.
        replay: Trajectories that the model is to remember, see :attr:`TrainCfg.replay`.

    Raises:
        KeyboardInterrupt: Ctrl-C or SIGTERM has ended the run, after an update, and all is saved.
    """
    cfg = cfg or TrainCfg(minutes=5.0)
    require_memory(predictor, cfg)
    folder = None if out is None else Path(out)
    with Run(predictor, data, valid, cfg, folder, resume, quiet, overwrite, trials, replay) as run:
        validate_untrained(run)
        while (progress := run.progress()) < 1.0:
            loss = update_weights(run, progress)
            run.log_progress(progress, loss)
            run.save_when_due(progress)
        if progress == INTERRUPTED:
            run.end_early()
        return run.finalise()


def update_weights(run: Run, progress: float) -> Tensor:
    """One update of the weights.

    Args:
        run: The run.
        progress: Share of the run that is done, from 0 to 1.

    Returns:
        The loss before the update, still on the device, shape ().
    """
    for group in run.optimiser.param_groups:
        group["lr"] = run.cfg.optimiser.rate(progress)
    loss = run.loss(progress)
    run.optimiser.zero_grad()
    loss.backward()
    run.processes.average_gradients(run.params)
    if run.cfg.max_grad_norm:
        torch.nn.utils.clip_grad_norm_(run.params, run.cfg.max_grad_norm)
    run.optimiser.step()
    run.ema.update()
    run.update += 1
    return loss


class Run:
    """The parts of a training run and what it has reached. What :func:`train` works on."""

    def __init__(
        self,
        predictor: Predictor,
        data: TrajectoryDataset,
        valid: TrajectoryDataset | None,
        cfg: TrainCfg,
        out: Path | None,
        resume: bool,
        quiet: bool,
        overwrite: bool = False,
        trials: dict[str, Any] | None = None,
        replay: TrajectoryDataset | None = None,
    ):
        """Sets everything up, or takes it from the last save. The arguments are those of :func:`train`."""
        self.began, self.before, self.validating = time.monotonic(), 0.0, 0.0
        self.predictor, self.valid, self.cfg, self.out = predictor, valid, cfg, out
        self.digests = {"trajectories": data.dataset_hash}
        self.device = predictor.device
        self.processes = join_processes(self.device)
        self.known = remembered(predictor, data, cfg.remembered and max(cfg.remembered, cfg.precompute), cfg.seed)
        self.known_valid: TrajectoryDataset | None = None
        self.windows, self.rollouts = window_samplers(self.known, cfg, self.processes)
        choose_parts(predictor, cfg.train_parts)
        self.params = [param for param in predictor.parameters() if param.requires_grad]
        self.start = [param.detach().clone() for param in self.params] if cfg.keep else []
        self.replays = replay_sampler(predictor, replay, cfg, self.processes)
        self.optimiser = make_optimiser(predictor, cfg.optimiser, predictor.cfg.ensemble)
        self.ema = ExponentialMovingAverage(predictor, cfg.ema_decay)
        self.scale = StateScale(data.spec)
        self.regimes = Regimes(data.spec).to(self.device) if cfg.regimes else None
        self.noise = torch.Generator(self.device)
        self.update, self.best, self.lost, self.validations_without_gain = 0, math.inf, 0, 0
        self.best_weights: dict[str, Tensor] | None = None
        self.best_is_saved = True
        self.history: list[dict[str, Any]] = []
        self.saved = time.monotonic()
        self.one_step_loss = CompiledOrPlain(one_step_loss, "training goes on") if cfg.compile else one_step_loss
        self.interrupts = Interrupts()
        self.identities = {} if out is None else run_identities(data, valid)
        self.folder = RunFolder(out) if out is not None and self.processes.is_first else None
        try:
            self.processes.wait_for_all()  # the first one may have brought the folder in order
            self._set_out(data, resume, overwrite, trials)
        except BaseException:
            self._close_folder()
            raise
        hidden = quiet or not self.processes.is_first
        self.bar = tqdm(total=100.0, initial=100.0 * self.done, disable=hidden, bar_format=BAR)

    def _set_out(self, data: TrajectoryDataset, resume: bool, overwrite: bool, trials: dict[str, Any] | None) -> None:
        """Takes everything from the last save, or begins anew: an earlier run is put aside when all else has gone well.

        Saved at once, before anything else stands in the folder, a run can go on whenever it is killed.
        """
        cfg, predictor = self.cfg, self.predictor
        saved = self.out if resume and self.out is not None and (self.out / LAST).is_dir() else None
        if saved is not None:
            restore_run(self, saved)
        else:
            if self.folder is not None and not overwrite:
                self.folder.require_free()
            gather_statistics(predictor, self.scale, data, cfg)
            self.processes.share_weights(predictor)
            self.ema = ExponentialMovingAverage(predictor, cfg.ema_decay)
        self.scale.scale = self.scale.scale.to(self.device)
        self.precomputed = self._precompute(self.known) if cfg.precompute else None
        if cfg.train_parts == "network" and saved is None:
            known = self.precomputed or self._encode(self.known, RESIDUAL_TRANSITIONS)
            predictor.set_residual_scale(known.encoded, known.target)
        if self.folder is not None and saved is None:
            with self.folder.begin():
                if trials is not None:
                    write_json(self.folder.path / TRIALS, trials)
                save_run(self)
        self.logs = Logs(self.folder.path / LOGS if self.folder is not None else None)

    def __enter__(self) -> Run:
        self.predictor.train()
        self.batches = Prefetcher(self.windows)
        self.interrupts.hold_back()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.interrupts.give_back()
        try:
            self.batches.close()
            self.bar.close()
            self.logs.close()
        finally:
            self._close_folder()
            self.predictor.eval()
        if kind is None and self.interrupts.requested:
            raise KeyboardInterrupt

    def _close_folder(self) -> None:
        if self.folder is not None:
            self.folder.close()

    # -- one update ------------------------------------------------------------------------------------------------

    @property
    def elapsed(self) -> float:
        """Time taken [s], that before an interruption included."""
        return self.before + time.monotonic() - self.began

    @property
    def done(self) -> float:
        """Share of the budget that is used up."""
        share = self.update / max(1, self.cfg.updates) if self.cfg.updates is not None else 0.0
        if self.cfg.minutes is not None:
            share = max(share, self.elapsed / (60.0 * self.cfg.minutes))
        return min(1.0, share)

    def progress(self) -> float:
        """Share of the run that is done, the same on all processes; 1 to stop, and more if someone asked to end."""
        if self.interrupts.requested:
            return self.processes.from_first(INTERRUPTED)
        stop = self.cfg.patience and self.validations_without_gain >= self.cfg.patience
        return self.processes.from_first(1.0 if stop else self.done)

    def end_early(self) -> NoReturn:
        """Saves, and ends the run as ctrl-C would have done."""
        save_run(self)
        self.processes.wait_for_all()
        if self.folder is not None:
            logger.warning("%d updates are saved in '%s': --resume goes on", self.update, self.folder.path)
        raise KeyboardInterrupt

    def loss(self, progress: float) -> Tensor:
        """The loss of the next batch, shape (): that of one step, and later in the run also that of roll-outs.

        Args:
            progress: Share of the run that is done, from 0 to 1.
        """
        steps = self.cfg.rollout.length(progress)
        share = self.cfg.rollout.weight if steps else 0.0
        loss = torch.zeros((), device=self.device)
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.cfg.precision == "bfloat16"):
            if share < 1.0:
                loss = (1.0 - share) * self._one_step_loss()
            if steps and self.rollouts is not None:
                loss = loss + share * self._rollout_loss(next(self.rollouts).to(self.device), steps)
            if self.replays is not None:
                known = self.replays.batch_at(self.update).to(self.device)
                loss = (1.0 - self.cfg.replay) * loss + self.cfg.replay * self._one_step_loss_of(known)
        if self.predictor.prior is not None:
            loss = loss + self.predictor.prior.penalty()
        return loss + self.cfg.keep * departure(self.params, self.start) if self.cfg.keep else loss

    def _rollout_loss(self, batch: TrajectoryBatch, steps: int) -> Tensor:
        if self.cfg.rollout.errors == "pose":
            return pose_loss(self.predictor, batch, steps, self.cfg.rollout)
        return rollout_loss(self.predictor, batch, steps, self.scale)

    def _one_step_loss(self) -> Tensor:
        cfg, seed = self.cfg, self.cfg.seed * 2**32 + self.update
        if self.precomputed is not None:
            return self.precomputed.loss(cfg.batch_size, seed, cfg.regime_power)
        batch, noisy_state = next(self.batches).to(self.device), None
        if cfg.state_noise:
            # Seeded by the number of the update, so that there is no state of a generator to save.
            self.noise.manual_seed((seed * self.processes.world + self.processes.rank) % 2**63)
            noisy_state = self.scale.add_noise(batch.state[:, :-1], cfg.state_noise, self.noise)
        return self._one_step_loss_of(batch, noisy_state)

    def _one_step_loss_of(self, batch: TrajectoryBatch, noisy_state: Tensor | None = None) -> Tensor:
        cfg = self.cfg
        return self.one_step_loss(
            self.predictor,
            batch,
            noisy_state=noisy_state,
            regimes=self.regimes,
            regime_power=cfg.regime_power,
            speed_weighting=cfg.speed_weighting,
            prior_only=cfg.train_parts == "prior",
        )

    # -- after an update: log, validate, save. Nothing here changes what is computed -------------------------------

    def log_progress(self, before: float, loss: Tensor) -> None:
        """Every now and then, writes the loss to the logs and to the progress bar.

        Args:
            before: Progress before the update.
            loss: The loss, shape ().
        """
        if self.update % LOG_INTERVAL:
            return
        value = float(loss.detach())
        if not math.isfinite(value):
            self.refuse(f"the loss is {value}")
        self.log({"loss": value, "learning rate": self.cfg.optimiser.rate(before)})
        self.bar.set_postfix_str(
            f"{self.update} updates, loss {value:.2f}, {validation_summary(self.history)}", refresh=False
        )
        self.bar.update(100.0 * self.done - self.bar.n)

    def log(self, values: dict[str, float]) -> None:
        """Writes numbers to the logs."""
        self.logs.add(values, self.update)

    def save_when_due(self, before: float) -> None:
        """Validates and saves when the next share of the run is done, and saves when the last save is long ago.

        Args:
            before: Progress before the update.
        """
        parts, done = self.cfg.validations, self.done
        if done < 1.0 and math.floor(before * parts) < math.floor(done * parts):
            if self.cfg.updates is not None or self.validating <= MAX_VALIDATION_SHARE * self.elapsed:
                self.validate()
            save_run(self)
        elif time.monotonic() - self.saved > 60.0 * self.cfg.save_minutes:
            save_run(self)

    def validate(self) -> OpenLoopErrors | None:
        """Errors on the validation data, see :func:`~nerd_core.training.validation.validate`."""
        return validate(self) if self.processes.is_first else None

    def _keep_unvalidated(self) -> None:
        """Writes the last weights as the best, where no validation could tell; refuses those that all of them did."""
        if self.history:
            self.refuse("every roll-out of every validation left the finite numbers")
        write_checkpoint(self, BEST)

    def refuse(self, what: str) -> NoReturn:
        """Ends a run whose weights are no numbers any more.

        Args:
            what: What is not finite.
        """
        raise TrainingDiverged(f"{what} after {self.update} updates: use a smaller learning rate or shorter roll-outs")

    def finalise(self) -> TrainResult:
        """Validates and saves a last time, and gives the predictor the best weights."""
        done_at = self.history[-1]["update"] if self.history else -1
        errors = self.validate() if done_at != self.update else None
        save_run(self)
        self.bar.update(100.0 - self.bar.n)
        if self.best_weights is not None:
            self.predictor.load_state_dict(self.best_weights)
        else:
            self.ema.copy_to_model()
            if self.processes.is_first:
                self._keep_unvalidated()
        tell_if_untrained(self)
        self.processes.share_weights(self.predictor)
        self.processes.wait_for_all()
        rollouts = self.history[-1].get("rollouts", 0) if self.history else 0
        return TrainResult(self.update, self.elapsed / 60.0, errors, self.best, self.lost, rollouts, self.history)

    # -- parts -----------------------------------------------------------------------------------------------------

    def _precompute(self, data: TrajectoryDataset) -> PrecomputedTransitions:
        """What the network is given, computed once, see :attr:`TrainCfg.precompute`."""
        cfg, world = self.cfg, self.processes.world
        learns = cfg.train_parts != "network" and prior_learns(self.predictor)
        if learns or self.regimes is None or cfg.state_noise or cfg.window_length * world > 1:
            raise TrainingError(
                f"got precompute={cfg.precompute} with train_parts='{cfg.train_parts}', regimes={cfg.regimes}, "
                f"state_noise={cfg.state_noise}, window_length={cfg.window_length} and {world} processes, expected "
                "train_parts='network' or a model whose prior does not learn, regimes, no noise, a window_length of 1 "
                "and one process"
            )
        require_single_steps(self.predictor)
        transitions = self._encode(data, cfg.precompute)
        if not transitions.count:
            raise TrainingError("the network has nothing to add to the prior: no transition is near ground or stops")
        return transitions

    def _encode(self, data: TrajectoryDataset, count: int) -> PrecomputedTransitions:
        """Some transitions as the network sees them."""
        regimes, size = self.regimes or Regimes(data.spec).to(self.device), data.transitions
        sampler = WindowSampler(data, 1, min(CHUNK, size), self.cfg.seed)
        return PrecomputedTransitions(self.predictor, sampler, min(count, size), regimes, self.cfg.speed_weighting)


__all__ = ["Run", "TrainResult", "train", "update_weights"]
