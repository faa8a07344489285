# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""``nerd identify``: find the physical parameters of a robot from its motion.

.. code-block:: bash

    nerd identify data/arm --start runs/arm/best --parameters masses frictions --out runs/arm-identified
    nerd identify log_train.h5 log_val.h5 --parameters masses centres inertias frictions --out runs/arm
    nerd identify data/arm --spec arm.json --parameters masses --bounds masses=0.1:5 --hopping.hops 4 --out runs/arm
    nerd identify log_train.h5 log_val.h5 --transmission --learn-weights --leave-out swing_up --out runs/arm
    nerd identify data/arm --spec arm.json --parameters masses --evolution.generations 40 --out runs/arm
    nerd identify data/arm --out runs/arm --resume
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated

import torch
import tyro

from .. import checkpoint
from ..checkpoint_names import find_checkpoint
from ..contact.grounds import PlaneGround
from ..files.bounds import bounded, check_bounds
from ..files.outputs import require_folder
from ..identification.motion_data import MotionData, completed, read_motion
from ..identification.parameterisation import Bounds, IdentificationError
from ..identification.run import RESULT, IdentifyCfg, identify
from ..predictor.config import PredictorCfg
from ..predictor.mechanics_prior import MechanicsPriorCfg
from ..predictor.predictor import Predictor
from ..predictor.transmission_prior import TransmissionCfg
from ..robot.spec import RobotSpec
from .options import read_options
from .terminal import say

MOST_EMPHASIS = 100
"""Most times that the windows of a family may count."""


@dataclass(frozen=True)
class Identify:
    """What ``nerd identify`` is told."""

    data: tyro.conf.Positional[tuple[Path, ...]]
    """Files of recordings or folders of datasets, of one robot. Runs of their validation split are held out; where
    there is none, every fifth run is."""
    out: Path
    """Folder for the model, the report and the state of the search."""
    start: Path | None = None
    """Checkpoint to start from, with mechanics in it: its directory, or the name of a shipped one."""
    spec: Path | None = None
    """Specification to start from, as JSON. By default, without a checkpoint, that of the data."""
    bounds: tuple[str, ...] = ()
    """Bounds of parameters, each as name=lower:upper, SI."""
    leave_out: tuple[str, ...] = ()
    """Families of runs not to train on, to see what the model makes of motion that it never saw."""
    emphasis: tuple[str, ...] = ()
    """How many times the windows of a family count, each as family=number; once by default. A family that excites
    everything says more of a robot than one that repeats a motion."""
    transmission: bool = False
    """Whether to learn what the joints' transmission makes of efforts as well: losses, coupling, friction at rest."""
    torque_hidden: int = bounded(0, at_least=0, at_most=1024)
    """With a transmission: hidden features of a network of joint torques; 0 for none."""
    rate: float | None = bounded(None, above=0.0, at_most=1.0e5)
    """Control steps in a second of the model [Hz]; by default as the data or the specification say."""
    substeps: int = bounded(1, at_least=1, at_most=64)
    """Physics steps in a control step of a new model of recordings."""
    resume: bool = False
    """Go on with the search in ``out``."""
    overwrite: bool = False
    """Whether an earlier result in ``out`` may be replaced."""
    settings: Annotated[IdentifyCfg, tyro.conf.arg(name="")] = field(default_factory=IdentifyCfg)
    """What to identify, and how."""

    def __post_init__(self):
        check_bounds(self)
        if self.start is not None and (self.spec is not None or self.transmission):
            raise ValueError("got start with spec or transmission, expected a checkpoint or a new model, not both")
        if self.torque_hidden and not self.transmission:
            raise ValueError("got torque_hidden without transmission, expected both: the network is a part of it")


def main(argv: list[str]) -> int:
    """Find masses, friction and other parameters of a robot from its motion."""
    command = read_options(Identify, argv, "nerd identify", __doc__)
    require_folder(command.out, "--out")
    if (command.out / RESULT).exists() and not (command.overwrite or command.resume):
        raise IdentificationError(
            f"there is an earlier result in '{command.out}', expected another folder, --overwrite or --resume"
        )
    torch.manual_seed(command.settings.descent.seed)
    predictor, motion = _start(command)
    found = identify(
        predictor,
        motion,
        command.settings,
        bounds=parse_bounds(command.bounds),
        out=command.out,
        resume=command.resume,
        ground=PlaneGround.flat() if predictor.needs_contacts else None,
        say=say,
    )
    say(found.report.text())
    if found.report.refused:
        return 1
    say(f"the model stands in {command.out / RESULT}, the page in {command.out / 'report.html'}")
    return 0


def parse_bounds(words: tuple[str, ...]) -> Bounds:
    """Bounds by name out of words such as ``masses=0.1:2``.

    Args:
        words: The words.
    """
    found: dict[str, tuple[float, float]] = {}
    for word in words:
        name, equals, numbers = word.partition("=")
        low, colon, high = numbers.partition(":")
        try:
            pair = float(low), float(high)
        except ValueError:
            pair = math.nan, math.nan
        if not equals or not colon or any(math.isnan(each) for each in pair) or name in found:
            raise IdentificationError(f"got the bounds '{word[:60]}', expected one of each name=lower:upper")
        found[name] = pair
    return found


def parse_emphasis(words: tuple[str, ...]) -> dict[str, int]:
    """How many times families count, out of words such as ``excitation=4``.

    Args:
        words: The words.
    """
    found: dict[str, int] = {}
    for word in words:
        name, _, number = word.rpartition("=")
        if not name or name in found or not number.isdecimal() or not 1 <= int(number[:4]) <= MOST_EMPHASIS:
            raise IdentificationError(
                f"got the emphasis '{word[:60]}', expected one of each family=number from 1 to {MOST_EMPHASIS}"
            )
        found[name] = int(number[:4])
    return found


def _start(command: Identify) -> tuple[Predictor, MotionData]:
    """The model to start from, and the motion."""
    if command.start is not None:
        predictor = checkpoint.load(find_checkpoint(command.start))
        return predictor, read_motion(command.data, predictor.spec, command.leave_out, parse_emphasis(command.emphasis))
    spec = None if command.spec is None else RobotSpec.load(command.spec)
    if spec is None or command.rate is not None:
        spec = spec or read_motion(command.data).spec
        rate = command.rate or 1.0 / spec.control_dt
        spec = replace(spec, physics_dt=1.0 / rate / command.substeps, decimation=command.substeps)
    spec = completed(spec)
    motion = read_motion(command.data, spec, command.leave_out, parse_emphasis(command.emphasis))
    if command.transmission:
        prior = TransmissionCfg(substeps=1, hidden=0, torque_hidden=command.torque_hidden)
    else:
        prior = MechanicsPriorCfg(substeps=1, hidden=0)
    return Predictor(spec, PredictorCfg(network=None, prior=prior)).eval(), motion


__all__ = ["Identify", "main", "parse_bounds"]
