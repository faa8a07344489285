# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Training of a predictor: the loop is :func:`train`, an update :func:`advance`, the parts stand below.

A run is given a number of updates, a number of minutes, or both; learning rate and roll-outs follow whichever is
further. With a budget in updates a run is a function of its seed. A run that was killed goes on from its last save and
ends with the same weights to the last bit::

    train(predictor, data.split("train"), data.split("valid"), TrainCfg(minutes=5), out="runs/cartpole")
    nerd train ...                                                  # the same from the command line
    torchrun --nproc-per-node 2 -m nerd_core train ...              # 2 GPUs or processes
    torchrun --nnodes 2 --nproc-per-node 8 --rdzv-backend c10d --rdzv-endpoint HOST -m nerd_core train ...
"""

from __future__ import annotations

import atexit
import logging
import math
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import torch
import torch.distributed as dist
from torch import Tensor
from tqdm import tqdm

from . import checkpoint
from .data.dataset import TrajectoryDataset
from .data.sampler import Prefetcher, WindowSampler
from .losses import StateScale, ground_of, one_step_loss, rollout_loss
from .metrics import OpenLoopErrors, open_loop
from .optim import Average, OptimiserCfg, load_optimiser_state, make_optimiser, optimiser_state
from .predictor import Predictor
from .provenance import describe_run
from .regimes import Regimes
from .remembered import CHUNK, Remembered
from .serialization import to_plain

logger = logging.getLogger(__name__)

LAST, BEST = "last", "best"
"""Checkpoints in the folder of a run: where it can go on, and the smallest error on validation data."""


LOOK = 50
"""Updates between two looks at the loss, which make the device wait."""

BAR = "{percentage:3.0f} %|{bar}| {elapsed}<{remaining}{postfix}"


class TrainingError(ValueError):
    """A run that cannot start, go on, or has diverged."""


@dataclass(frozen=True)
class RolloutCfg:
    """Multi-step training: the loss of short roll-outs through the model's own predictions."""

    weight: float = 0.5
    """Share of the roll-out loss in the gradient, once it has begun. 0 switches it off."""
    start: float = 0.5
    """Share of the run after which it begins: long roll-outs of an unfit model teach little."""
    steps: int = 16
    """Longest roll-out."""
    ramp: float = 0.3
    """Share of the run over which the length then grows from 2."""
    batch: int = 128
    """Roll-outs in an update."""

    def length(self, progress: float) -> int:
        """Number of steps at a share of the run; 0 before the start."""
        if not self.weight or progress < self.start:
            return 0
        grown = min(1.0, (progress - self.start) / self.ramp) if self.ramp else 1.0
        return min(self.steps, 2 + round(grown * (self.steps - 2)))


@dataclass(frozen=True)
class TrainCfg:
    """How to train."""

    updates: int | None = None
    """Number of updates; None for no limit."""
    minutes: float | None = None
    """Wall-clock time for everything, statistics and validation included; None for no limit."""
    batch: int = 2048
    """Windows in an update, over all processes."""
    length: int = 1
    """Transitions of a window. A model with memory needs windows longer than its own."""
    optimiser: OptimiserCfg = field(default_factory=OptimiserCfg)
    """How weights are changed."""
    rollout: RolloutCfg = field(default_factory=lambda: RolloutCfg(weight=0.0))
    """Multi-step training."""
    clip: float = 0.0
    """Largest norm of the gradient; 0 for no limit. The loss is a logarithm, so that gradients grow as errors fall."""
    average: float = 0.0
    """Decay of the moving average of the weights, which then is what is validated and kept; 0 for none."""
    regimes: bool = True
    """Whether the one-step loss takes its means within each regime (free, touching the ground, at a joint's stop)
    instead of over all transitions, where impacts drown everything else."""
    regime_power: float = 0.0
    """Exponent of a regime's share of the data in its weight: 0 gives every regime the same say, 1 every transition,
    which lets a network ignore what is rare."""
    pace: float = 0.0
    """Speed from which on an error counts beside the speed of the robot [m/s]; 0 for never. A mean over slow and fast
    motion is one over fast motion, whose errors are larger: with this, what is slow is learned as well. Needs regimes.
    """
    parts: Literal["all", "solver", "network"] = "all"
    """Which weights learn, for a model with a solver of contacts. The solver learns its few weights from few data, so
    it goes first, alone; the network then learns what is missing."""
    remember: int = 0
    """Transitions to look at once, when only the network learns: what free motion and the solver say of them does not
    change. Then updates take a tenth of the time. 0 to look at all transitions, each time anew."""
    noise: float = 0.0
    """Noise on the states that the network sees, as a share of what one step changes."""
    precision: Literal["float32", "bfloat16"] = "float32"
    """Type in which matrices are multiplied."""
    compile: bool = False
    """Whether to compile the one-step loss. Needs a C++ compiler on the CPU; goes on without if that fails."""
    seed: int = 0
    """Seed of the order of the data and of the noise. The weights are the caller's."""
    statistics: int = 1_000_000
    """Transitions from which the normalisers are set, unless the predictor brings its own."""
    validations: int = 20
    """How often to validate and save, at equal shares of the run."""
    horizons: tuple[int, ...] = (10, 100, 500)
    """Horizons of the validation; the longest that the data reach decides which model is best."""
    trajectories: int = 128
    """Trajectories in a validation."""
    patience: int = 0
    """Validations without an improvement after which to stop; 0 to never stop early."""
    save_minutes: float = 5.0
    """Time between two saves, beside those at validations."""

    def __post_init__(self):
        if self.updates is None and self.minutes is None:
            raise TrainingError("got neither updates nor minutes, expected a budget: set one of them, or both")
        if min(self.batch, self.length, self.validations) < 1 or not self.horizons or min(self.horizons) < 1:
            raise TrainingError(f"got {self}, expected positive sizes")
        if self.pace < 0.0 or (self.pace and not self.regimes):
            raise TrainingError(f"got pace={self.pace} and regimes={self.regimes}, expected a speed >= 0, and regimes")


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
    """Smallest score in a validation; infinite without one."""
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
    """
    cfg = cfg or TrainCfg(minutes=5.0)
    with Run(predictor, data, valid, cfg, None if out is None else Path(out), resume, quiet) as run:
        while (progress := run.progress()) < 1.0:
            loss = advance(run, progress)
            run.look(progress, loss)
        return run.finish()


def advance(run: Run, progress: float) -> Tensor:
    """One update of the weights. Returns the loss before it, still on the device."""
    for group in run.optimiser.param_groups:
        group["lr"] = run.cfg.optimiser.rate(progress)
    loss = run.loss(progress)
    run.optimiser.zero_grad()
    loss.backward()
    run.share_gradients()
    if run.cfg.clip:
        torch.nn.utils.clip_grad_norm_(run.params, run.cfg.clip)
    run.optimiser.step()
    run.average.update()
    run.update += 1
    return loss


class Run:
    """The parts of a training run and what it has reached. What :func:`train` and :func:`advance` work on."""

    def __init__(
        self,
        predictor: Predictor,
        data: TrajectoryDataset,
        valid: TrajectoryDataset | None,
        cfg: TrainCfg,
        out: Path | None,
        resume: bool,
        quiet: bool,
    ):
        """Sets everything up, or takes it from the last save. The arguments are those of :func:`train`."""
        self.began, self.before = time.monotonic(), 0.0
        self.predictor, self.valid, self.cfg, self.out = predictor, valid, cfg, out
        self.digests = {"trajectories": data.dataset_hash}
        self.device = predictor.force_scale.device
        self.rank, self.world = join_processes(self.device)
        self.leads = self.rank == 0
        roll = cfg.rollout
        if cfg.batch % self.world or roll.batch % self.world:
            raise TrainingError(
                f"got batches of {cfg.batch} windows and {roll.batch} roll-outs for {self.world} processes, expected "
                "multiples of their number"
            )
        place = {"rank": self.rank, "world": self.world}
        self.windows = WindowSampler(data, cfg.length, cfg.batch // self.world, cfg.seed, **place)
        self.rollouts = None
        if roll.weight:
            self.rollouts = WindowSampler(data, roll.steps, roll.batch // self.world, cfg.seed + 1, **place)
        choose_parts(predictor, cfg.parts)
        self.params = [param for param in predictor.parameters() if param.requires_grad]
        self.optimiser = make_optimiser(predictor, cfg.optimiser, predictor.cfg.ensemble)
        self.average = Average(predictor, cfg.average)
        self.scale = StateScale(data.spec)
        self.regimes = Regimes(data.spec).to(self.device) if cfg.regimes else None
        self.noise = torch.Generator(self.device)
        self.update, self.best, self.stale = 0, math.inf, 0
        self.best_weights: dict[str, Tensor] | None = None
        self.history: list[dict[str, Any]] = []
        if resume and out is not None and (out / LAST).exists():
            self.restore(out)
        else:
            gather_statistics(predictor, self.scale, data, cfg)
            self.share_weights()
        self.scale.scale = self.scale.scale.to(self.device)
        self.remembered: Remembered | None = None
        if cfg.remember:
            if cfg.parts != "network" or self.regimes is None or cfg.noise or cfg.length != 1 or self.world > 1:
                raise TrainingError(
                    f"got remember={cfg.remember} with parts='{cfg.parts}', regimes={cfg.regimes}, noise={cfg.noise}, "
                    f"length={cfg.length} and {self.world} processes, expected parts='network', regimes, no noise, a "
                    "length of 1 and one process"
                )
            sampler = WindowSampler(data, 1, min(CHUNK, data.transitions), cfg.seed)
            count = min(cfg.remember, data.transitions)
            self.remembered = Remembered(predictor, sampler, count, self.regimes, cfg.pace)
        self.one_step = compiled(one_step_loss) if cfg.compile else one_step_loss
        self.saved = time.monotonic()
        self.writer = summary_writer(out / "logs") if out is not None and self.leads else None
        self.bar = tqdm(total=100.0, initial=100.0 * self.done, disable=quiet or not self.leads, bar_format=BAR)

    def __enter__(self) -> Run:
        self.predictor.train()
        self.batches = Prefetcher(self.windows)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.batches.close()
        if kind is KeyboardInterrupt:
            self.save(LAST)
        self.bar.close()
        if self.writer is not None:
            self.writer.close()
        self.predictor.eval()

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
        """Share of the run that is done, the same on all processes; 1 to stop."""
        share = 1.0 if self.cfg.patience and self.stale >= self.cfg.patience else self.done
        if self.world > 1:
            told = torch.tensor(share, dtype=torch.float64, device=self.device)
            dist.broadcast(told, 0)
            share = float(told)
        return share

    def loss(self, progress: float) -> Tensor:
        """The loss of the next batch."""
        cfg, steps = self.cfg, self.cfg.rollout.length(progress)
        share = cfg.rollout.weight if steps else 0.0
        loss = torch.zeros((), device=self.device)
        with torch.autocast(self.device.type, torch.bfloat16, enabled=cfg.precision == "bfloat16"):
            if self.remembered is not None and share < 1.0:
                seed = cfg.seed * 2**32 + self.update
                loss = (1.0 - share) * self.remembered.loss(cfg.batch, seed, cfg.regime_power)
            elif share < 1.0:
                batch, seen = next(self.batches).to(self.device), None
                if cfg.noise:
                    # Seeded by the number of the update, so that there is no state of a generator to save.
                    self.noise.manual_seed((cfg.seed * 2**32 + self.update) * self.world + self.rank)
                    seen = self.scale.perturb(batch.state[:, :-1], cfg.noise, self.noise)
                loss = (1.0 - share) * self.one_step(
                    self.predictor, batch, seen, self.regimes, cfg.regime_power, cfg.pace, cfg.parts == "solver"
                )
            if steps and self.rollouts is not None:
                batch = next(self.rollouts).to(self.device)
                loss = loss + share * rollout_loss(self.predictor, batch, steps, self.scale)
        return loss

    def share_gradients(self) -> None:
        """Averages the gradients of all processes."""
        if self.world == 1:
            return
        grads = [param.grad for param in self.params if param.grad is not None]
        flat = torch.cat([grad.flatten() for grad in grads])
        dist.all_reduce(flat)
        flat /= self.world
        for grad, part in zip(grads, flat.split([grad.numel() for grad in grads]), strict=True):
            grad.copy_(part.view_as(grad))

    def share_weights(self) -> None:
        """Gives all processes the weights of the first."""
        if self.world > 1:
            for tensor in self.predictor.state_dict().values():
                dist.broadcast(tensor, 0)
            self.average = Average(self.predictor, self.cfg.average)

    # -- now and then ----------------------------------------------------------------------------------------------

    def look(self, before: float, loss: Tensor) -> None:
        """Shows, validates and saves when it is time. Nothing here changes what is computed."""
        done = self.done
        if self.update % LOOK == 0:
            value = float(loss.detach())
            if not math.isfinite(value):
                raise TrainingError(
                    f"the loss is {value} after {self.update} updates: use a smaller learning rate or shorter roll-outs"
                )
            self.log({"loss": value, "learning rate": self.cfg.optimiser.rate(before)})
            self.bar.set_postfix_str(f"{self.update} updates, loss {value:.2f}, {self.verdict()}", refresh=False)
            self.bar.update(100.0 * done - self.bar.n)
        parts = self.cfg.validations
        if done < 1.0 and math.floor(before * parts) < math.floor(done * parts):
            self.validate()
            self.save(LAST)
        elif time.monotonic() - self.saved > 60.0 * self.cfg.save_minutes:
            self.save(LAST)

    def log(self, values: dict[str, float]) -> None:
        """Writes numbers to the logs."""
        if self.writer is not None:
            for name, value in values.items():
                self.writer.add_scalar(name, value, self.update)

    def verdict(self) -> str:
        """The last validation in a few words."""
        if not self.history:
            return "not validated yet"
        errors = self.history[-1]["errors"]
        horizon = max(errors, key=int)
        values = [f"{name} {value:.2g}" for name, value in errors[horizon].items() if not name.startswith("joint/")]
        return f"{', '.join(values)} over {horizon} steps"

    def validate(self) -> OpenLoopErrors | None:
        """Errors on the validation data, of the averaged weights. Keeps these if they are the best so far."""
        if self.valid is None or not self.leads:
            return None
        longest = int(self.valid.length.max())
        horizons = [horizon for horizon in self.cfg.horizons if horizon <= longest] or [longest]
        with self.average.in_place():
            errors = open_loop(self.predictor, self.valid, max(horizons), self.cfg.trajectories)
            score, table = errors.score(), errors.table(horizons)
            self.history.append({"update": self.update, "minutes": self.elapsed / 60, "score": score, "errors": table})
            self.log({f"error over {steps} steps/{name}": x for steps, row in table.items() for name, x in row.items()})
            self.stale += 1
            if score < self.best:
                self.best, self.stale = score, 0
                self.best_weights = {name: x.detach().clone() for name, x in self.predictor.state_dict().items()}
                self.write(BEST, None)
        return errors

    def finish(self) -> TrainResult:
        """Validates and saves a last time, and leaves the best weights in the predictor."""
        done_at = self.history[-1]["update"] if self.history else -1
        errors = self.validate() if done_at != self.update else None
        self.save(LAST)
        self.bar.update(100.0 - self.bar.n)
        minutes = self.elapsed / 60.0
        if self.best_weights is not None:
            self.predictor.load_state_dict(self.best_weights)
        else:
            self.average.keep()
        self.share_weights()
        return TrainResult(self.update, minutes, errors, self.best, self.history)

    # -- saving and going on ---------------------------------------------------------------------------------------

    def save(self, name: str) -> None:
        """Saves the averaged weights as a checkpoint, with all that is needed to go on."""
        if self.out is None or not self.leads:
            return
        state = {
            "settings": to_plain(self.cfg),
            "update": self.update,
            "seconds": self.elapsed,
            "best": self.best,
            "stale": self.stale,
            "history": self.history,
            "weights": [param.detach().clone() for param in self.params],
            "optimiser": optimiser_state(self.optimiser),
            "average": self.average.state_dict(),
            "scale": self.scale.scale,
            "windows": self.windows.state_dict(),
            "rollouts": None if self.rollouts is None else self.rollouts.state_dict(),
        }
        with self.average.in_place():
            self.write(name, state)
        self.saved = time.monotonic()

    def write(self, name: str, state: Any) -> None:
        """Writes a checkpoint with the weights that the predictor has now."""
        if self.out is not None:
            results = {"validation": self.history[-1]} if self.history else {}
            origin = describe_run(seeds={"training": self.cfg.seed}, data=self.digests)
            checkpoint.save(
                self.out / name, self.predictor, training=self.cfg, provenance=origin, results=results, state=state
            )

    def restore(self, out: Path) -> None:
        """Takes everything from the last save."""
        state = checkpoint.load_training_state(out / LAST)
        if state["settings"] != to_plain(self.cfg):
            changed = sorted(key for key, value in to_plain(self.cfg).items() if state["settings"].get(key) != value)
            raise TrainingError(
                f"the run '{out}' was started with other settings ({', '.join(changed)}): go on with the same, or "
                "start a new run from its weights"
            )
        self.predictor.load_state_dict(checkpoint.read(out / LAST, self.predictor.spec).tensors)
        with torch.no_grad():
            for param, weight in zip(self.params, state["weights"], strict=True):
                param.copy_(weight)
        load_optimiser_state(self.optimiser, state["optimiser"])
        self.average.load_state_dict(state["average"])
        self.scale.scale = state["scale"]
        self.windows.load_state_dict(state["windows"])
        if self.rollouts is not None:
            self.rollouts.load_state_dict(state["rollouts"])
        self.update, self.before = state["update"], state["seconds"]
        self.best, self.stale, self.history = state["best"], state["stale"], state["history"]
        if math.isfinite(self.best):
            self.best_weights = dict(checkpoint.read(out / BEST, self.predictor.spec).tensors)


def choose_parts(predictor: Predictor, parts: str) -> None:
    """Lets some weights learn and the others not, see :attr:`TrainCfg.parts`."""
    if parts != "all" and predictor.mechanics is None:
        raise TrainingError(f"got parts='{parts}' for a model without a solver of contacts, expected 'all'")
    predictor.model.requires_grad_(parts != "solver")
    if predictor.mechanics is not None:
        predictor.mechanics.requires_grad_(parts != "network")


def gather_statistics(predictor: Predictor, scale: StateScale, data: TrajectoryDataset, cfg: TrainCfg) -> None:
    """Sets the normalisers, unless the predictor brings its own, and the units of roll-outs and noise."""
    fresh = not bool(predictor.change_normaliser.count.any())
    batch = min(8192, data.transitions)
    sampler = WindowSampler(data, 1, batch, cfg.seed)
    square, count = 0.0, 0
    for _ in range(math.ceil(min(cfg.statistics, data.transitions) / batch)):
        part = next(sampler).to(predictor.force_scale.device)
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


def join_processes(device: torch.device) -> tuple[int, int]:
    """Rank of this process and number of all, as torchrun set them; (0, 1) without it."""
    if not dist.is_initialized():
        if int(os.environ.get("WORLD_SIZE", "1")) == 1:
            return 0, 1
        dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
        # Left to the end of the interpreter, its threads are now and then still running, and the process is aborted.
        atexit.register(dist.destroy_process_group)
    return dist.get_rank(), dist.get_world_size()


def compiled(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """The function compiled, or as it is, with a warning, once compiling has failed."""
    fast = torch.compile(function, dynamic=False)
    failed = False

    def call(*args: Any) -> Tensor:
        nonlocal failed
        if not failed:
            try:
                return fast(*args)
            except Exception as error:  # the compilers raise kinds of their own; a fault of ours comes again below
                logger.warning("training goes on uncompiled, because compiling failed: %s", str(error).split("\n")[0])
                failed = True
        return function(*args)

    return call


def summary_writer(folder: Path) -> Any:
    """Writes tensorboard logs. Imported late: it is slow to load."""
    from torch.utils.tensorboard import SummaryWriter

    return SummaryWriter(str(folder))


__all__ = ["RolloutCfg", "Run", "TrainCfg", "TrainResult", "TrainingError", "advance", "train"]
