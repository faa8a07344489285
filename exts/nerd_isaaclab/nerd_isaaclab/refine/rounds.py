# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The phases of a round. Each runs one of the project's commands in a process of its own, and keeps what it found."""

from __future__ import annotations

import dataclasses
import functools
import json
import shlex
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nerd_core import checkpoint
from nerd_core.cli.train_report import EXIT_FAILED
from nerd_core.data.manifest import find_segments
from nerd_core.files.provenance import file_digest
from nerd_core.robot.spec import RobotSpec
from nerd_core.training.presets import PRESETS, SINGLE_STEPS
from nerd_core.training.run_folder import can_go_on

from ..demo import arguments
from ..demo.commands import ENGINE_THREADS, Commands, network_threads
from ..demo.phases import Phase, PhaseError
from ..demo.plan import START_S, log_folder
from ..demo.recipe import PolicyTraining
from ..models.untrained import InitModelCfg, robot_of_task
from .config import RefineCfg

POLICY_RATE, COLLECT_RATE, TAKEOVER_RATE, PLAY_RATE = 12_000.0, 8_000.0, 800.0, 8_000.0
"""Control steps a second on two idle cores, roughly: while a policy learns, of collections under a policy and from
states that it visits in the model, and of episodes that are scored."""

AGENT_STEPS, EPISODE_STEPS = 24, 500
"""Steps of an iteration and of an episode that estimates assume, before a round has been timed."""

KINDS = ("policy", "transfer", "collect", "takeover", "train")
"""Phases of a round: the first two measure a model, the others make the next one."""

CONFIRM, CHECK = "confirm", "check"
"""Phases outside of rounds: whether the model is of the task's robot, and the gap over other starts."""


@dataclass
class Rounds:
    """Makes the phases of rounds."""

    cfg: RefineCfg
    """What was asked for."""
    model: Path
    """The first model."""
    commands: Commands
    """Runs the commands."""
    seconds: dict[str, float] = field(default_factory=dict)
    """How long phases took, by kind, as soon as it is known [s]."""

    @property
    def out(self) -> Path:
        """Folder of the run."""
        return self.commands.out.absolute()

    def name(self, kind: str, number: int) -> str:
        """Name of a phase, and of its folder."""
        return f"{kind}-{number}"

    def model_of(self, number: int) -> Path:
        """Directory of the model of a round."""
        return self.out / self.name("train", number) / "best" if number else self.model

    def policy_of(self, number: int) -> Path:
        """Log folder of the policy of a round."""
        return log_folder(self.out / self.name("policy", number))

    def check(self) -> Phase:
        """Whether the model is one of the task's robot."""
        cfg = self.cfg

        def run(folder: Path, results: Mapping[str, Any]) -> dict[str, Any]:
            found = robot_of_task(InitModelCfg(cfg.task, overrides=cfg.task_overrides))
            try:
                checkpoint.load(self.model, expected_spec=RobotSpec.from_json(found.spec))
            except ValueError as error:
                raise PhaseError(
                    f"{error}\nexpected a model of the robot of {cfg.task}: 'nerd generate --task {cfg.task}' and "
                    f"'nerd train' make one, 'nerd models init --task {cfg.task}' one of mechanics without any data"
                ) from None
            return {}

        settings = {"task": cfg.task, "overrides": list(cfg.task_overrides), "model": self._digest()}
        title, purpose = "Check the model", "Is it a model of the robot that the task has?"
        return Phase(CHECK, title, purpose, START_S, settings, run)

    def making(self, number: int) -> list[Phase]:
        """The phases that make the model of a round, from 1 on: data of the policies before it, and a training.

        Args:
            number: Number of the round.
        """
        collections = [self._collect(number)] + ([self._takeover(number)] if self.cfg.takeover_transitions else [])
        return [*collections, self._train(number, tuple(phase.name for phase in collections))]

    def measuring(self, number: int) -> list[Phase]:
        """The phases that measure the model of a round: a policy that learns in it, and its gap.

        Args:
            number: Number of the round; 0 is that of the first model.
        """
        name = self.name("transfer", number)
        return [self._policy(number), self._transfer(name, number, self.cfg.seed + 1 + number)]

    def confirming(self, number: int) -> Phase:
        """The gap of the policy of a round over starts that no round was judged by.

        Args:
            number: Number of the round.
        """
        return self._transfer(CONFIRM, number, self.cfg.seed + 1 + 1000)

    def _policy(self, number: int) -> Phase:
        item, cfg, model = self._policy_training(), self.cfg, self.model_of(number)

        def run(folder: Path, results: Mapping[str, Any]) -> dict[str, Any]:
            shutil.rmtree(folder / "logs", ignore_errors=True)  # of an interrupted training: it starts over
            words = arguments.rl_train(item, cfg.seed, "neural", model)
            said = self.commands.nerd(words, network_threads(), log=folder / "log.txt", cwd=folder)
            log_folder(folder)
            return {"commands": [said]}

        return Phase(
            self.name("policy", number),
            f"Round {number}: train a policy in the model",
            f"{cfg.iterations} iterations with {cfg.num_envs} environments, in the model alone.",
            self._estimate("policy", cfg.iterations * cfg.num_envs * AGENT_STEPS / POLICY_RATE),
            {
                "task": cfg.task,
                "iterations": cfg.iterations,
                "num_envs": cfg.num_envs,
                "overrides": list(cfg.overrides),
                "seed": cfg.seed,
                "model": None if number else self._digest(),
            },
            run,
            (self.name("train", number),) if number else (CHECK,),
        )

    def _transfer(self, name: str, number: int, seed: int) -> Phase:
        item, cfg, model = self._policy_training(), self.cfg, self.model_of(number)

        def run(folder: Path, results: Mapping[str, Any]) -> dict[str, Any]:
            words = arguments.transfer(item, self.policy_of(number), str(model), folder)
            said = self.commands.nerd([*words, "--seed", str(seed), *cfg.task_overrides], ENGINE_THREADS)
            return {"transfer": json.loads((folder / "transfer.json").read_text("utf-8")), "commands": [said]}

        again = name == CONFIRM
        return Phase(
            name,
            f"Round {number}: measure the gap" + (" over other starts" if again else ""),
            "Starts that no round was judged by." if again else f"{cfg.episodes} episodes in the model and in PhysX.",
            self._estimate("transfer", 2 * cfg.episodes * EPISODE_STEPS / PLAY_RATE),
            {"episodes": cfg.episodes, "seed": seed},
            run,
            (self.name("policy", number),),
        )

    def _collect(self, number: int) -> Phase:
        cfg = self.cfg
        words = ["--transitions", cfg.transitions, "--steps", cfg.steps]
        return self._collection(
            "collect",
            number,
            words,
            f"Round {number}: collect {cfg.transitions:,} transitions of the policy",
            "What PhysX does under the policy that learned in the model.",
            cfg.transitions / COLLECT_RATE,
        )

    def _takeover(self, number: int) -> Phase:
        cfg = self.cfg
        words = ["--transitions", cfg.takeover_transitions, "--steps", cfg.takeover_steps]
        words += ["--visited", self.model_of(number - 1), "--visited-steps", cfg.visited_steps]
        return self._collection(
            "takeover",
            number,
            words,
            f"Round {number}: collect {cfg.takeover_transitions:,} transitions where the model leads",
            "What should happen in states that the policy reaches in the model alone.",
            cfg.takeover_transitions / TAKEOVER_RATE,
        )

    def _collection(self, kind: str, number: int, words: list[Any], title: str, purpose: str, seconds: float) -> Phase:
        """A collection under the policy of the round before."""
        cfg = self.cfg
        words = [*words, "--num-envs", cfg.collect_envs, "--workers", cfg.workers, "--policy-noise", cfg.policy_noise]
        words += ["--seed", cfg.seed + 10 * number + KINDS.index(kind)]

        def run(folder: Path, results: Mapping[str, Any]) -> dict[str, Any]:
            start = ["generate", "--task", cfg.task, "--out", folder.absolute() / "data"]
            policy = ["--policy", self.policy_of(number - 1)]
            said = self.commands.nerd([str(each) for each in [*start, *words, *policy, *cfg.task_overrides]], 1)
            report = json.loads((folder / "data/report.json").read_text("utf-8"))
            return {"transitions": report["transitions"], "commands": [said]}

        # Where the models stand makes no difference: what they are, the phases that are needed say.
        settings = [each.name if isinstance(each, Path) else str(each) for each in words] + list(cfg.task_overrides)
        needs = (self.name("policy", number - 1),)
        return Phase(
            self.name(kind, number), title, purpose, self._estimate(kind, START_S + seconds), settings, run, needs
        )

    def _train(self, number: int, collections: tuple[str, ...]) -> Phase:
        cfg, before = self.cfg, self.model_of(number - 1)
        earlier = [self.name(kind, k) for k in range(1, number) for kind in ("collect", "takeover")]
        earlier = [name for name in earlier if cfg.takeover_transitions or not name.startswith("takeover")]
        given = [path.absolute() for path in cfg.data]
        data = [*given, *(self.out / name / "data" for name in (*earlier, *collections))]
        budget = ["--updates", cfg.updates] if cfg.updates is not None else ["--minutes", cfg.minutes]
        options = [*budget, "--seed", cfg.seed + number, *shlex.split(cfg.train_options)]

        def run(folder: Path, results: Mapping[str, Any]) -> dict[str, Any]:
            words = ["train", *data, "--out", folder.absolute(), *options]
            if can_go_on(folder):
                words += ["--resume"]
            else:
                words += [*_settings_of(before), "--start", before, "--overwrite"]
            # That most roll-outs of hundreds of steps run away is no failure here: some begin where no policy of the
            # task goes. Whether the model will do, the gap says.
            said = self.commands.nerd([str(each) for each in words], 1, accepted=(EXIT_FAILED,))
            if not (folder / "best").is_dir():
                raise PhaseError(
                    "the training ended without a usable model: roll-outs left the finite numbers at every validation; "
                    "give it more time (--minutes), smaller steps (--train-options='--optimiser.lr 1e-3'), or --data"
                )
            return {"results": checkpoint.read_config(folder / "best").results, "commands": [said]}

        previous = (self.name("train", number - 1),) if number > 1 else ()
        length = f"{cfg.updates} updates" if cfg.updates is not None else f"{cfg.minutes:g} minutes"
        return Phase(
            self.name("train", number),
            f"Round {number}: train the model for {length}",
            f"From the model before, on {len(data)} datasets.",
            self._estimate("train", START_S + (0.05 * cfg.updates if cfg.updates else 60.0 * (cfg.minutes or 0.0))),
            {
                "options": [str(each) for each in options],
                "data": self._data_digests,
                "model": None if previous else self._digest(),
            },
            run,
            (*previous, *earlier, *collections),
        )

    def _policy_training(self) -> PolicyTraining:
        cfg = self.cfg
        return PolicyTraining(
            cfg.task, cfg.iterations, num_envs=cfg.num_envs, episodes=cfg.episodes, options=cfg.overrides
        )

    def _estimate(self, kind: str, seconds: float) -> float:
        """How long a phase takes: as the last one of its kind, or else a guess [s]."""
        return self.seconds.get(kind, START_S + seconds)

    @functools.cached_property
    def _data_digests(self) -> list[str]:
        """Digests of the datasets that were given."""
        return [find_segments(path).dataset_hash for path in self.cfg.data]

    def _digest(self) -> str:
        """Digest of the first model."""
        return file_digest(self.model / "manifest.json")


def _settings_of(model: Path) -> list[str | Path]:
    """Words for a training like the one that made a model; of mechanics that nobody has trained, like the preset's."""
    found = checkpoint.read_config(model)
    if found.training is not None:
        return ["--config", model]
    if found.predictor.network is not None:
        return []
    usual, rules = SINGLE_STEPS, PRESETS["mechanics"].training
    changed = {item.name: getattr(rules, item.name) for item in dataclasses.fields(rules)}
    plain = {name: value for name, value in changed.items() if type(value) in (int, float)}
    different = {name: value for name, value in plain.items() if value != getattr(usual, name)}
    return [word for name, value in different.items() for word in (f"--{name.replace('_', '-')}", str(value))]


__all__ = ["CHECK", "CONFIRM", "KINDS", "Rounds"]
