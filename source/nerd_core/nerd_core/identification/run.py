# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Identification from beginning to end: search, what the data tell, replay of held-out motion, a checkpoint.

Example::

    found = identify(predictor, motion, IdentifyCfg(parameters=("masses", "frictions")), out=Path("runs/arm"))
    print(found.report.text())
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from .. import checkpoint
from ..contact.grounds import Ground
from ..files.atomic import remove_file, write_json, write_text
from ..files.bounds import bounded, check_bounds
from ..files.safe_files import MAX_JSON_BYTES, UnsafeFile, parse_json, read_bytes
from ..files.serialization import to_plain
from ..predictor.predictor import Predictor
from ..robot.physical_parameters import specification_with
from .cost import CostCfg, RolloutCost
from .drivers import Descent, DescentCfg, HoppingCfg, descend, hop
from .engine_calibration import calibration_of, write_calibration
from .evolution import EvolutionCfg, Value, evolve
from .identifiability import identifiability
from .motion_data import MotionData
from .parameterisation import Bounds, IdentificationError, Parameterisation
from .replay import ReplayError, gate, replay
from .report import Report, deviations_of
from .report_page import page

STATE, PARTIAL, RESULT, CALIBRATION = "search.json", "partial", "model", "calibration.json"
"""Files and folders of a run: where the search stands, the model there, the one that was found, and what it says of the
robot for an engine."""


@dataclass(frozen=True)
class IdentifyCfg:
    """What to identify, and how."""

    parameters: tuple[str, ...] = ("masses", "centres", "inertias", "frictions", "viscous_frictions")
    """Groups of physical parameters; see the table of docs/identification.md."""
    seconds: float = bounded(0.5, above=0.0)
    """Length of the windows that are replayed [s]."""
    stride: float | None = bounded(None, above=0.0)
    """Time from the beginning of one window to that of the next [s]; half a window by default."""
    windows: int = bounded(2000, at_least=2)
    """Most windows to train on, and to judge by."""
    learn_weights: bool = False
    """Whether what the model learns beside physical parameters (rules, a transmission) is looked for, too."""
    learn: tuple[str, ...] = ()
    """With --learn-weights: which of it alone, by name, such as load and stribeck of a transmission. Few numbers carry
    over better to motion of another kind."""
    first_state_noise: tuple[float, float] | None = bounded(None, above=0.0)
    """Standard deviations of measured positions [rad or m] and velocities [rad/s or m/s], to look for the first
    state of each window as well; by default they are taken as measured."""
    only: str = ".*"
    """Regular expression for the names of bodies and joints whose parameters are looked for; those of all others stay.
    What does not move in the data is better left out."""
    reweigh: int = bounded(0, at_least=0, at_most=20)
    """Rounds after the search in which each number of a state is weighted by what is left of its errors, and the search
    of whole windows goes on: where noise is a larger share of some motion (fingers that hardly move) than of other."""
    polish: int = bounded(0, at_least=0)
    """Iterations of L-BFGS on all windows after Adam."""
    descent: DescentCfg = field(default_factory=DescentCfg)
    """Local search."""
    hopping: HoppingCfg = field(default_factory=HoppingCfg)
    """Global search."""
    evolution: EvolutionCfg = field(default_factory=EvolutionCfg)
    """Global search by CMA-ES, before any hops."""
    cost: CostCfg = field(default_factory=CostCfg)
    """How roll-outs are judged in the search."""

    def __post_init__(self):
        check_bounds(self)
        if self.learn and not self.learn_weights:
            raise ValueError(f"got learn={list(self.learn)} without learn_weights, expected both")


@dataclass(frozen=True, eq=False)
class Identified:
    """What was found."""

    predictor: Predictor
    """The model with the new specification."""
    report: Report
    """What was found, and how well it replays."""


def identify(
    predictor: Predictor,
    motion: MotionData,
    cfg: IdentifyCfg,
    *,
    bounds: Bounds | None = None,
    out: Path | None = None,
    resume: bool = False,
    ground: Ground | None = None,
    say: Callable[[str], None] | None = None,
) -> Identified:
    """Identifies a robot from motion.

    Args:
        predictor: The model to start from; changed.
        motion: The motion.
        cfg: What and how.
        bounds: Bounds of groups of parameters.
        out: Folder for the state of the search, the model and the report; None to write nothing.
        resume: Whether to go on with the search in ``out``.
        ground: What the robot stands on.
        say: Told of the progress, in words.
    """
    say = say or (lambda _: None)
    if not predictor.takes_parameters and cfg.parameters:
        raise IdentificationError(
            f"got a model of '{predictor.spec.name}' whose prior takes no physical parameters, expected mechanics: "
            "start from a specification (--spec), or from a model that was trained with --preset mechanics"
        )
    parameterisation = Parameterisation(predictor.spec, cfg.parameters, bounds, cfg.only)
    train = motion.windows("train", cfg.seconds, cfg.stride, cfg.windows)
    held = motion.windows("held-out", cfg.seconds, cfg.seconds, cfg.windows)
    say(f"{len(train)} windows of {train.steps} steps to identify from, {len(held)} held out")
    before = replay(predictor.eval(), held, ground)
    cost = RolloutCost(
        predictor,
        parameterisation,
        train,
        cfg.cost,
        learn_weights=cfg.learn_weights and (cfg.learn or True),
        first_state_noise=cfg.first_state_noise,
        ground=ground,
    )
    if not cost.variables.leaves():
        raise IdentificationError("got nothing to identify, expected parameters (--parameters) or --learn-weights")
    started, units = cost.value(), cost.unit
    _search(cost, cfg, out, resume, say)
    weighted, cost.unit = cost.unit, units  # the costs before and after are told in the same units
    ended, cost.unit = cost.value(), weighted
    told = identifiability(cost) if parameterisation.dim else None
    made = with_parameters(predictor, parameterisation, cost.variables.free)
    after = replay(made, held, ground)
    report = Report(
        robot=predictor.spec.name,
        data={"windows": len(train), "held_out_windows": len(held), "seconds": cfg.seconds},
        left_out=motion.left_out,
        cost=(started, ended),
        values=_values(parameterisation, cost.variables.free, None if told is None else told.covariance),
        identifiability=told,
        before=before,
        after=after,
        refused=gate(before, after),
        families=_by_family(made, motion, cfg, ground),
    )
    if out is not None:
        _write(out, made, report, cfg)
        remove_file(out / CALIBRATION)
        if not report.refused and parameterisation.dim:
            found = parameterisation(cost.variables.free.detach())
            write_calibration(out / CALIBRATION, calibration_of(predictor.spec, found))
    return Identified(made, report)


def with_parameters(predictor: Predictor, parameterisation: Parameterisation, free: Tensor) -> Predictor:
    """A model whose specification holds the parameters, with the same weights, in single precision.

    Args:
        predictor: The model.
        parameterisation: What its parameters are made from.
        free: Free numbers, shape (dim,).
    """
    spec = predictor.spec
    if parameterisation.dim:
        spec = specification_with(spec, parameterisation(free.detach()))
    with torch.random.fork_rng(devices=[]):
        made = Predictor(spec, predictor.cfg)
    made.load_state_dict(
        {name: tensor.to(made.state_dict()[name].dtype) for name, tensor in predictor.state_dict().items()}
    )
    return made.eval()


# -- the search ------------------------------------------------------------------------------------------------


def _search(cost: RolloutCost, cfg: IdentifyCfg, out: Path | None, resume: bool, say: Callable[[str], None]) -> None:
    """Moves the variables of the cost to where it is low; writes down where the search stands."""
    stage = 0
    if resume:
        if out is None:
            raise IdentificationError("got resume without a folder, expected the folder of the search to go on with")
        stage = _load(cost, out)
        say(f"going on behind stage {stage} of {len(cfg.descent.growth)}")
    elif cost.parameterisation.dim:
        _search_globally(cost, cfg, say)
    for number in range(stage, len(cfg.descent.growth)):
        share = cfg.descent.growth[number]
        descend(cost, _one_stage(cfg.descent, share, number), say)
        if out is not None:
            _save(cost, out, number + 1)
    for number in range(cfg.reweigh):
        cost.reweigh()
        descend(cost, _one_stage(cfg.descent, 1.0, len(cfg.descent.growth) + number), say)
    if cfg.polish:
        descend(cost, DescentCfg("lbfgs", (1.0,), cfg.polish), say)


@torch.no_grad()
def _search_globally(cost: RolloutCost, cfg: IdentifyCfg, say: Callable[[str], None]) -> None:
    """Moves the free numbers to the best basin that evolution and hops find, where they are asked for."""
    free = cost.variables.free
    if cfg.evolution.generations:
        free.copy_(torch.from_numpy(evolve(Value(cost), free.detach().numpy().copy(), cfg.evolution, say).place))
    if cfg.hopping.hops:
        with torch.enable_grad():
            best = hop(Descent(cost, cfg.descent), free.detach().numpy().copy(), cfg.hopping, say)
        free.copy_(torch.from_numpy(best.place))


def _one_stage(cfg: DescentCfg, share: float, number: int) -> DescentCfg:
    return DescentCfg(cfg.driver, (share,), cfg.iterations, cfg.batch, cfg.learning_rate, cfg.seed + number)


def _save(cost: RolloutCost, out: Path, stage: int) -> None:
    out.mkdir(parents=True, exist_ok=True)
    made = with_parameters(cost.predictor, Parameterisation(cost.predictor.spec, ()), cost.variables.free)
    checkpoint.save(out / PARTIAL, made)
    state = {"stage": stage, "names": cost.parameterisation.names, "free": cost.variables.free.tolist()}
    write_json(out / STATE, state)


def _load(cost: RolloutCost, out: Path) -> int:
    """Puts the variables where an earlier search stood, and returns the number of stages behind it."""
    try:
        state = parse_json(read_bytes(out / STATE, MAX_JSON_BYTES), STATE)
        earlier = checkpoint.load(out / PARTIAL, cost.predictor.spec)
    except (UnsafeFile, OSError, ValueError) as error:
        raise IdentificationError(f"the search in '{out}' cannot be gone on with: {error}") from None
    free = cost.variables.free
    sound = isinstance(state, dict) and state.get("names") == list(cost.parameterisation.names)
    numbers = state.get("free") if sound else None
    if not isinstance(numbers, list) or len(numbers) != len(free) or not isinstance(state.get("stage"), int):
        raise IdentificationError(
            f"the search in '{out}' was for other parameters, expected {', '.join(cost.parameterisation.groups)}"
        )
    if not all(isinstance(each, float) and abs(each) < 1.0e6 for each in numbers):
        raise IdentificationError(f"the search in '{out}' holds no sound numbers, expected {len(free)} finite ones")
    cost.predictor.load_state_dict({name: each.double() for name, each in earlier.state_dict().items()})
    with torch.no_grad():
        free.copy_(torch.tensor(numbers, dtype=torch.float64))
    return max(0, state["stage"])


# -- what was found --------------------------------------------------------------------------------------------


def _values(parameterisation: Parameterisation, free: Tensor, covariance: Tensor | None) -> dict[str, Any]:
    """Values of each group before and after, with standard deviations, as plain lists."""
    free = free.detach()
    start, end = parameterisation.values(torch.zeros_like(free)), parameterisation.values(free)
    deviation = deviations_of(parameterisation, free, covariance)
    return {
        name: {"before": start[name].tolist(), "after": end[name].tolist(), "deviation": deviation[name].tolist()}
        for name in end
    }


def _by_family(
    predictor: Predictor, motion: MotionData, cfg: IdentifyCfg, ground: Ground | None
) -> dict[str, ReplayError]:
    """Errors on held-out motion of each family."""
    found = {}
    for family in sorted({run.family for run in motion.part("held-out") if run.family}):
        runs = tuple(run for run in motion.part("held-out") if run.family == family)
        try:
            windows = MotionData(motion.spec, runs).windows("held-out", cfg.seconds, cfg.seconds, cfg.windows)
        except IdentificationError:
            continue  # runs shorter than a window
        found[family] = replay(predictor, windows, ground)
    return found


def _write(out: Path, predictor: Predictor, report: Report, cfg: IdentifyCfg) -> None:
    out.mkdir(parents=True, exist_ok=True)
    write_json(out / "report.json", report.plain())
    write_text(out / "report.txt", report.text() + "\n")
    write_text(out / "report.html", page(report, predictor.spec))
    if not report.refused:
        checkpoint.save(
            out / RESULT,
            predictor,
            training={"identification": to_plain(cfg)},
            results={"held_out": to_plain(report.after), "before": to_plain(report.before)},
            card=report.text(),
        )


__all__ = ["CALIBRATION", "PARTIAL", "RESULT", "STATE", "Identified", "IdentifyCfg", "identify", "with_parameters"]
