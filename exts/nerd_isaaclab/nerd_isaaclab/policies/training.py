# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Trains a policy with RSL-RL, in PhysX or in a learned model."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
from collections import deque
from dataclasses import dataclass
from pathlib import Path

from tqdm import tqdm

from nerd_core.checkpoint_names import find_checkpoint
from nerd_core.files.bounds import bounded, check_bounds

from ..launch.task_ids import check_task
from .runs import find_run, load_curve

LOG = "log.txt"
"""File in the folder of a training with all that Isaac Lab and RSL-RL printed."""

LOG_LINES = 20
"""Lines of the log that are shown when a training failed."""

STOP_SECONDS = 60.0
"""How long an interrupted training may take to save what it has [s]."""

LOOK_SECONDS = 0.3
"""Time between two looks at the log [s]."""


class PolicyTrainingError(ValueError):
    """A training of a policy that failed."""


@dataclass(frozen=True)
class TrainPolicyCfg:
    """Which task a policy learns, and in what."""

    task: str
    """Id of the task."""
    checkpoint: str | Path | None = None
    """Model that steps the robot, its directory or the name of a shipped one. None: PhysX does."""
    num_envs: int | None = bounded(None, at_least=1)
    """Environments; None: those of the task."""
    iterations: int | None = bounded(None, at_least=1)
    """Iterations of the algorithm; None: those of the task's agent."""
    seed: int | None = bounded(None, at_least=-1, below=2**31)
    """Seed of the training; None: that of the task's agent. -1 draws one."""
    overrides: tuple[str, ...] = ()
    """Further words of Isaac Lab's trainer: ``env.<field>=<value>``, ``agent.<field>=<value>``, ``physics=<name>``."""

    def __post_init__(self):
        check_bounds(self, PolicyTrainingError)

    def words(self) -> list[str]:
        """The same as arguments of ``nerd rl train``."""
        options = {"--num_envs": self.num_envs, "--max_iterations": self.iterations, "--seed": self.seed}
        words = ["--task", self.task]
        words += [str(word) for pair in options.items() if pair[1] is not None for word in pair]
        if self.checkpoint is not None:
            path = find_checkpoint(self.checkpoint).absolute()
            words += ["env.nerd.mode=neural", f"env.nerd.checkpoint={path}"]
        return [*words, *self.overrides]


@dataclass(frozen=True)
class TrainPolicyResult:
    """A trained policy and how it was learned."""

    run: Path
    """Log folder of the run. Wherever a policy is asked for, this folder may be given."""
    curve: dict[str, list[float]]
    """Columns of equal length: ``iteration``, ``seconds`` since the start, mean ``return`` and mean ``length`` [steps]
    of the episodes that ended."""


def train_policy(cfg: TrainPolicyCfg, out: str | Path, quiet: bool = False) -> TrainPolicyResult:
    """Trains a policy with RSL-RL by Isaac Lab's own trainer.

    The trainer runs in a process of its own, so this may be called any number of times in one Python session. What it
    prints stands in ``log.txt`` in the folder. On ctrl-C it saves what it has.

    .. code-block:: python

        from nerd_isaaclab.policies.training import TrainPolicyCfg, train_policy

        trained = train_policy(TrainPolicyCfg("NeRD-Cartpole", checkpoint="cartpole", iterations=40), out="runs/policy")
        print(trained.curve["return"][-1])

    Args:
        cfg: Which task, and in what.
        out: Folder of the training; the trainer adds ``logs/rsl_rl/<experiment>/<time>``.
        quiet: Whether to show no progress.

    Raises:
        ValueError: There is no such task or model, before anything is started.
        PolicyTrainingError: The training failed; with the end of its log.
    """
    check_task(cfg.task)
    words = cfg.words()
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    before = set(out.glob("logs/rsl_rl/*/*"))
    log = out / LOG
    with log.open("w", encoding="utf-8") as stream:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "nerd_core", "rl", "train", *words],
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=stream,
            cwd=out,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
            start_new_session=True,  # ctrl-C is ours to pass on, once
        )
        try:
            watch_training(process, log, quiet)
        except KeyboardInterrupt:
            process.send_signal(signal.SIGINT)
            raise
        finally:
            try:
                process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
    if process.returncode:
        with log.open(encoding="utf-8", errors="replace") as stream:
            tail = "".join(deque(stream, maxlen=LOG_LINES))
        raise PolicyTrainingError(f"the training ended with code {process.returncode}; the end of {log}:\n{tail}")
    run = find_run(out, before)
    return TrainPolicyResult(run, load_curve(run))


def watch_training(process: subprocess.Popen, log: Path, quiet: bool = False) -> None:
    """Shows how far RSL-RL is, from what it writes to its log, until the process has ended.

    Args:
        process: The training.
        log: File for its output.
        quiet: Whether to show nothing.
    """
    seen = 0
    with tqdm(unit="iteration", desc="rl", disable=True if quiet else None) as bar:
        while True:
            ended = process.poll() is not None
            with log.open("rb") as stream:
                stream.seek(seen)
                text = stream.read()
            end = text.rfind(b"\n") + 1
            seen += end
            for line in text[:end].decode(errors="replace").splitlines():
                if match := re.search(r"Learning iteration (\d+)/(\d+)", line):
                    bar.total = int(match[2])
                    bar.update(int(match[1]) + 1 - bar.n)
                elif match := re.search(r"Mean reward: +(\S+)", line):
                    bar.set_postfix_str(f"reward {match[1]}")
            if ended:
                return
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(LOOK_SECONDS)
