# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""``nerd train``: fit a model to a dataset of trajectories.

.. code-block:: bash

    nerd train data/cartpole --out runs/cartpole                      # five minutes, with a preset found by trial
    nerd train data/cartpole --preset residual --minutes 5 --out runs/cartpole
    nerd train data/ant --preset small --minutes 60 --batch-size 512 --rollout.weight 0.5 --out runs/ant
    nerd train data/ant --out runs/ant --resume                       # go on after an interruption
    nerd train data/ant-rough --start runs/ant/best --minutes 10 --out runs/ant-rough
    nerd train data/cube --valid data/cube-held-out --preset measured --out runs/cube   # what was measured
    nerd train data/ant-air --token.no-contacts --out runs/ant-air    # a robot that touches nothing ...
    nerd train data/ant --free-motion runs/ant-air/best --token.contact-motion --out runs/ant  # ... and contacts
    nerd train data/ant --preset mechanics --minutes 6 --out runs/ant # mechanics, and rules of contact that are learned
    nerd train data/arm --preset mechanics --augment "joint_torque<-joint_pos,joint_vel" --out runs/arm  # and friction
    torchrun --nproc-per-node 2 -m nerd_core train data/ant --preset paper-384 --minutes 600 --out runs/ant-paper

The settings of the network and of the training stand in the help of the preset: ``nerd train --preset small --help``.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import torch
import tyro

from .. import checkpoint
from ..checkpoint_limits import require_buildable
from ..checkpoint_names import find_checkpoint
from ..data.dataset import TrajectoryDataset
from ..data.sampler import WindowSampler
from ..files.kinds import OfKind
from ..files.outputs import require_folder
from ..files.safe_files import parse_json, read_bytes
from ..files.serialization import from_plain, to_plain
from ..network.config import NetworkCfg
from ..predictor.config import PredictorCfg
from ..predictor.free_motion import FreeMotion, FreeMotionCfg
from ..predictor.mechanics_prior import MechanicsPriorCfg
from ..predictor.predictor import Predictor
from ..predictor.prior import PriorCfg
from ..training.auto_preset import WITHOUT_TRIALS, Choice, choose_preset
from ..training.config import TrainCfg, TrainingDiverged, TrainingError
from ..training.feasibility import choose_device
from ..training.losses import ground_of
from ..training.migration import migrate_settings
from ..training.presets import DEFAULT_MINUTES, PRESETS, PresetName
from ..training.run import train
from ..training.run_folder import BEST, LAST, TRIALS, RunFolder, can_go_on
from .options import read_options
from .train_augment import augmented
from .train_data import joined
from .train_report import announce, causes, report
from .train_words import todays_words

MAX_TRIALS_BYTES = 2**16
"""Largest size of what a run tells of its trials that is read [bytes]."""

CONTACT_SAMPLE = 100_000
"""Transitions in which to look for contacts."""


@dataclass(frozen=True)
class Train:
    """What ``nerd train`` is told."""

    data: tyro.conf.Positional[tuple[Path, ...]]
    """Folders of one or more datasets of a robot, to be mixed. Their trajectories are split into training and
    validation by their hash."""
    out: Path
    """Folder of the run: checkpoints ``best`` and ``last``, logs."""
    preset: Literal["auto"] | PresetName = "auto"
    """Kind and size of the network, with settings of the training that suit it. ``auto`` tries some for a moment, in a
    part of the budget, and takes the best; where other options say what the model is, they change ``residual``."""
    config: Path | None = None
    """Settings of an earlier run: a ``config.json`` or the checkpoint that holds it. Instead of a preset."""
    start: Path | None = None
    """Checkpoint whose weights and normalisers to start from, to fine-tune it: its folder, or the name of a shipped
    one. Instead of a preset."""
    network: str | None = None
    """Kind of network, built in or of an installed package, whose settings are then ``--network.*``; by default as the
    preset says, ``none`` for a prior alone."""
    prior: str | None = None
    """What predicts the motion before the network adds to it, with its own defaults for ``--prior.*``: ``mechanics``,
    ``free_fall`` (a robot in the air), that of an installed package, or ``none``; by default as the preset says."""
    free_motion: Path | None = None
    """Checkpoint of a model without contacts, trained on a robot in the air. It becomes a part of the new one, which
    then learns only what contacts add to it."""
    augment: tuple[str, ...] = ()
    """Networks in mechanics, as ``"joint_torque<-joint_pos,joint_vel"``, with options behind it, as
    ``"; mode=replace; sharing=separate; hidden=8,8; odd"`` (docs/blueprints.md); short for ``--prior.blueprints``."""
    valid: tuple[Path, ...] = ()
    """Folders of datasets that are held out. The others are then for learning alone, and are not split."""
    replay_data: tuple[Path, ...] = ()
    """Folders of datasets that a model knows and is to remember while it learns from others, see ``--replay``."""
    resume: bool = False
    """Go on with the run in ``out`` from its last save, with its settings."""
    overwrite: bool = False
    """Start anew where there is an earlier run: when the new one has begun, checkpoints and logs of the old one move to
    ``previous-<time>`` in ``out``."""
    device: str = "auto"
    """Where to train; ``auto`` takes a GPU if there is one."""
    recorded_contacts: bool = False
    """Train on the contacts that were recorded, instead of computing them from states and ground."""
    predictor: Annotated[PredictorCfg, tyro.conf.arg(name=""), tyro.conf.AvoidSubcommands] = field(
        default_factory=PredictorCfg
    )
    """The model."""
    training: Annotated[TrainCfg, tyro.conf.arg(name="")] = field(
        default_factory=lambda: TrainCfg(minutes=DEFAULT_MINUTES)
    )
    """The training."""


def main(argv: list[str]) -> int:
    """Fit a model to a dataset of trajectories."""
    command = parse(argv)
    device = choose_device(command.device)  # before an earlier run is replaced
    require_folder(command.out, "--out")
    leads = os.environ.get("RANK", "0") == "0"
    if leads:
        check_folder(command)
    if not command.data:
        raise TrainingError("got no dataset, expected at least one folder")
    wanted = {"contacts": command.recorded_contacts, "body_force": command.predictor.force_head}
    recorded = tuple(name for name, is_wanted in wanted.items() if is_wanted)
    require_start(command)
    data = joined(command.data, recorded, leads)
    if command.valid:
        parts = data, joined(command.valid, recorded, leads)
    else:
        parts = data.split("train"), data.split("valid")
    replay = joined(command.replay_data, recorded, leads) if command.replay_data else None
    trials = None
    if command.resume:
        command = replace(command, training=left_after_trials(command.out, command.training))
    elif may_choose(command):
        command, trials = with_chosen_preset(command, argv, *parts)
    predictor = make_predictor(command, data).to(device)
    if leads:
        announce(predictor, command.training, *parts)
    try:
        result = train(
            predictor,
            *parts,
            command.training,
            command.out,
            resume=command.resume,
            overwrite=command.overwrite,
            quiet=not leads,
            trials=trials,
            replay=replay,
        )
    except TrainingDiverged as error:
        raise TrainingError("\n".join([str(error), *causes(predictor, *parts)])) from None
    shown = (command.out / BEST, command.training.validation_horizons, predictor, *parts)
    return report(result, *shown) if leads else 0


def require_start(command: Train) -> None:
    """Refuses to keep what was learned before where nothing says what that was.

    Args:
        command: What the user asked for.
    """
    if command.training.keep and (command.start is None or command.resume):
        raise TrainingError(
            f"got keep={command.training.keep} {'with --resume' if command.resume else 'without --start'}, expected a "
            "new run that starts from the model to be kept (--start)"
        )


def parse(argv: Sequence[str], preset: PresetName | None = None) -> Train:
    """Reads the command line. Presets, ``--config``, ``--start`` and ``--resume`` set the defaults of all else.

    Args:
        argv: Words after ``nerd train``.
        preset: Preset that was chosen for ``auto``.
    """
    first = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    first.add_argument("--preset", default="auto")
    for name in ("--config", "--start", "--out"):
        first.add_argument(name, type=Path)
    for name in ("--minutes", "--updates"):
        first.add_argument(name)
    first.add_argument("--network")
    first.add_argument("--prior")
    first.add_argument("--resume", action="store_true")
    argv = todays_words(argv)
    try:
        early, _ = first.parse_known_args(argv)
    except argparse.ArgumentError:
        early = first.parse_args([])  # tyro explains it better, below
    early.preset = preset or early.preset
    predictor, training = _defaults(early)
    predictor = _chosen_kinds(predictor, early, argv)
    if early.updates is not None and early.minutes is None:
        training = replace(training, updates=training.updates or 1, minutes=None)
    elif early.minutes is not None and early.updates is None:
        training = replace(training, minutes=DEFAULT_MINUTES, updates=None)
    default: Any = Train(data=tyro.MISSING, out=tyro.MISSING, predictor=predictor, training=training)
    command = read_options(Train, argv, "nerd train", __doc__, default)
    command = replace(command, predictor=augmented(command.predictor, command.augment))
    return command if preset is None else replace(command, preset=preset)


def may_choose(command: Train) -> bool:
    """Whether the choice of a model is left to short trials: nothing that the user said is about the model.

    Args:
        command: What the user asked for.
    """
    free = PRESETS["residual"].predictor
    given = (command.config, command.start, command.free_motion, command.network, command.prior)
    # Heads say what else is predicted, of whichever model.
    asked = replace(command.predictor, force_head=free.force_head, variance_head=free.variance_head)
    said = any(given) or asked != free
    return command.preset == "auto" and not said and command.training.train_parts == "all"


def with_chosen_preset(
    command: Train, argv: Sequence[str], data: TrajectoryDataset, valid: TrajectoryDataset
) -> tuple[Train, dict[str, Any]]:
    """The command with the preset that suits the robot and the budget that the trials left, and what the run keeps of
    them. Says what and why.

    Args:
        command: What the user asked for.
        argv: Words after ``nerd train``.
        data: Trajectories to learn from.
        valid: Held-out trajectories.
    """
    device = choose_device(command.device)

    def make(name: PresetName) -> tuple[Predictor, TrainCfg]:
        tried = parse(argv, name)
        return make_predictor(tried, data, say=None).to(device), tried.training

    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        choice = Choice(WITHOUT_TRIALS, "several processes train together, which is not tried out")
    else:
        choice = choose_preset(make, data, valid, command.training)
    chosen = parse(argv, choice.preset)
    if os.environ.get("RANK", "0") == "0":
        print(f"preset {choice.preset}: {choice.why}")
    left = choice.training or chosen.training
    told = {"preset": choice.preset, "why": choice.why, "trials": [to_plain(each) for each in choice.trials]}
    told |= {"asked": _budget(chosen.training), "left": _budget(left)}
    return replace(chosen, training=left), told


def left_after_trials(out: Path, cfg: TrainCfg) -> TrainCfg:
    """Settings of a run that goes on: a budget as it was asked for stands for what the trials before it left.

    Args:
        out: Folder of the run.
        cfg: Settings, as asked for.
    """
    if not (out / TRIALS).exists():
        return cfg
    told = parse_json(read_bytes(out / TRIALS, MAX_TRIALS_BYTES), TRIALS)
    if not isinstance(told, dict) or told.get("asked") != _budget(cfg) or not isinstance(told.get("left"), dict):
        return cfg
    return from_plain(TrainCfg, to_plain(cfg) | told["left"], TRIALS)


def _budget(cfg: TrainCfg) -> dict[str, float | None]:
    return {"updates": cfg.updates, "minutes": cfg.minutes}


def _chosen_kinds(cfg: PredictorCfg, early: argparse.Namespace, argv: Sequence[str]) -> PredictorCfg:
    """The settings with network and prior of the kinds that were asked for."""
    network, prior = cfg.network, cfg.prior
    if early.network is not None:
        network = None if early.network == "none" else _default_settings(NetworkCfg, early.network)
    if early.prior is not None:
        prior = None if early.prior == "none" else _default_settings(PriorCfg, early.prior)
    elif prior is None and any(word.startswith(("--prior.", "--augment")) for word in argv):
        prior = MechanicsPriorCfg()
    return replace(cfg, network=network, prior=prior)


def _default_settings[T: OfKind](family: type[T], kind: str) -> T:
    """Settings of a kind as they are by default."""
    settings = family.kinds.settings(kind)
    try:
        return settings()  # type: ignore[return-value]
    except TypeError:
        raise TrainingError(
            f"'{kind}' has no settings by default, expected another kind of {family.kinds.what}"
        ) from None


def check_folder(command: Train) -> None:
    """Refuses, before anything takes time, what the training would refuse: to mix with an earlier run or another's.

    Args:
        command: What the user asked for.
    """
    if command.resume and command.overwrite:
        raise TrainingError("got both --resume and --overwrite, expected one: go on, or start anew")
    if command.resume and not can_go_on(command.out):
        raise TrainingError(f"there is no run to resume in '{command.out}': it holds no '{LAST}'; leave --resume out")
    if command.out.is_dir():
        with RunFolder(command.out) as folder:
            if not command.resume and not command.overwrite:
                folder.require_free()


def make_predictor(command: Train, data: TrajectoryDataset, say: Callable[[str], None] | None = print) -> Predictor:
    """The model to train: fresh weights that depend on the seed alone, or those of a checkpoint.

    Args:
        command: What the user asked for.
        data: The dataset, which knows the robot.
        say: Told what was changed of the settings.
    """
    source = command.out / LAST if command.resume else command.start
    if command.start is not None and command.free_motion is not None:
        raise TrainingError(
            "got both --start and --free-motion, expected one: a model that goes on keeps the free motion that it has"
        )
    if source is None:
        free, cfg = _free_motion(command, data), command.predictor
        if free is not None:
            cfg = replace(cfg, prior=FreeMotionCfg.of(free.cfg))
        predictor = _fresh_predictor(data, cfg, free, command.training.seed)
        nothing = _no_contacts(predictor, data) if predictor.needs_contacts else None
        if nothing is not None:
            if say is not None:
                say(f"{nothing}: the token leaves them out")
            cfg = replace(cfg, token=replace(cfg.token, contacts=False))
            predictor = _fresh_predictor(data, cfg, free, command.training.seed)
        return predictor
    predictor = checkpoint.load(find_checkpoint(source), expected_spec=data.spec)
    if predictor.cfg != command.predictor:
        raise TrainingError(
            f"the model of '{source}' has other settings than asked for: its network is given, leave those options out"
        )
    return predictor


def _fresh_predictor(data: TrajectoryDataset, cfg: PredictorCfg, free: Predictor | None, seed: int) -> Predictor:
    """A predictor with weights that depend on the seed alone, and the weights of the model of free motion, if any."""
    require_buildable(data.spec, cfg)
    torch.manual_seed(seed)
    predictor = Predictor(data.spec, cfg)
    if isinstance(predictor.prior, FreeMotion) and free is not None:
        predictor.prior.predictor.load_state_dict(free.state_dict())
    return predictor


def _free_motion(command: Train, data: TrajectoryDataset) -> Predictor | None:
    """The model of free motion to build in; None if there shall be none."""
    if command.free_motion is None:
        if isinstance(command.predictor.prior, FreeMotionCfg):
            raise TrainingError("the model to be repeated has one of free motion within: name it with --free-motion")
        return None
    model = checkpoint.load(find_checkpoint(command.free_motion), expected_spec=data.spec)
    if model.cfg.change != command.predictor.change:
        raise TrainingError(
            f"'{command.free_motion}': got a model with changes {model.cfg.change}, expected one with "
            f"{command.predictor.change}, as the model that it shall become a part of"
        )
    return model


def _no_contacts(predictor: Predictor, data: TrajectoryDataset) -> str | None:
    """Why the model need not see contacts; None if it must."""
    name = data.spec.name
    if "ground" in data.arrays or "contact_active" in data.arrays:
        far = f"no slot of '{name}' comes near the ground in these data"
        return None if comes_near_ground(predictor, data) else far
    # A robot that stands on nothing can do without; one that walks cannot, and asks for better data.
    return None if data.spec.floating_base else f"the data tell nothing of a ground that '{name}' could touch"


def comes_near_ground(predictor: Predictor, data: TrajectoryDataset) -> bool:
    """Whether any contact slot is active in a sample of the data. A robot above the ground needs no contacts: they
    would be most of its token, all zero.
    """
    batch = next(WindowSampler(data, 1, min(CONTACT_SAMPLE, data.transitions)))
    contacts = batch.contacts
    if contacts is None:
        contacts = predictor.contacts(batch.state, ground_of(batch))
    return contacts is None or bool(contacts.active.any())


def _defaults(early: argparse.Namespace) -> tuple[PredictorCfg, TrainCfg]:
    """Settings of model and training before the options are applied."""
    if early.resume and early.out is not None and can_go_on(early.out):
        return _settings_of(early.out / LAST)
    if early.config is not None:
        return _settings_of(early.config)
    if early.start is not None:
        return checkpoint.read_config(find_checkpoint(early.start)).predictor, TrainCfg(minutes=DEFAULT_MINUTES)
    chosen = PRESETS.get(early.preset, PRESETS["residual"])  # tyro explains a wrong name better
    return chosen.predictor, chosen.training


def _settings_of(path: Path) -> tuple[PredictorCfg, TrainCfg]:
    config = checkpoint.read_config(path)
    if config.training is None:
        raise TrainingError(f"'{path}' holds no settings of a training: it can be used, but not repeated")
    return config.predictor, from_plain(TrainCfg, migrate_settings(config.training), f"{path}: training")


__all__ = ["Train", "main", "parse"]
