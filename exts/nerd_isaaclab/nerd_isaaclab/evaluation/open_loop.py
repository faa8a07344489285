# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""How far a model's open-loop motion is from the solver's, on fresh roll-outs.

Errors are those of the paper: means over all steps up to the horizon and over all trajectories. The roll-outs are
collected with seeds that no training uses.
"""

from __future__ import annotations

import dataclasses
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from nerd_core.files.bounds import SEED as SEED_BOUNDS
from nerd_core.files.bounds import bounded, check_bounds

from ..checkpoints.shipped import find_checkpoint
from ..collect.collect_cfg import MAX_ENVS, MAX_STEPS, CollectCfg
from ..collect.run import collect
from ..robots.registry import all_robots, robot_of_spec

if TYPE_CHECKING:
    from nerd_core.predictor.predictor import Predictor
    from nerd_core.robot.spec import RobotSpec
    from nerd_core.training.metrics import OpenLoopErrors

SEED = 500
"""Seed of the roll-outs, as published; training data have others."""

HORIZONS = (100, 500, 1000)
"""Horizons that are shown by default, as published."""

SHARES = {"passive": {"zero": 1.0}, "driven": {"random": 1.0}}
"""Excitation of each protocol."""


@dataclass(frozen=True)
class EvaluateCfg:
    """Which model to measure, and on which roll-outs."""

    model: str | Path
    """Directory of the model, or the name of a shipped one."""
    task: str | None = None
    """Task whose solver is the truth and whose resets are the first states; by default that of the record of the
    model's robot."""
    protocol: Literal["passive", "driven", "windows", "flights"] = "passive"
    """passive: no effort. driven: controls drawn anew at each step over their whole range, or a policy. windows,
    flights: of recordings of the real mechanism, instead of roll-outs: all stretches of some steps, or whole runs."""
    policy: str | Path | None = None
    """With the protocol driven: policy that drives the robot in the solver. Its file, the folder that
    ``nerd rl export`` has written, or the log folder of its training."""
    given: Literal["controls", "actions", "nothing"] = "controls"
    """With a policy: what the model is given of the solver's run beside the first states. controls: the efforts.
    actions: the actions, which the task's own controllers turn into efforts at the model's state. nothing: the policy
    acts on the model's states."""
    initial: Literal["task", "wide"] = "task"
    """First states: as the task resets its robot, or from the wide ranges of training data."""
    teacher_mode: Literal["continuous", "rewritten"] = "continuous"
    """How the solver runs; see ``nerd generate``. Judge in the mode of the training data."""
    trajectories: int = bounded(512, at_least=1, at_most=MAX_ENVS)
    """Number of roll-outs."""
    steps: int = bounded(1000, at_least=1, at_most=MAX_STEPS)
    """Length of the roll-outs [control steps]."""
    horizons: tuple[int, ...] = bounded((), at_least=1)
    """Horizons of the table, none beyond the length of the roll-outs. By default 100, 500 and 1000 as far as they are
    within it, or else that length."""
    seed: int = bounded(SEED, **SEED_BOUNDS)
    """Seed of the roll-outs."""
    data: str | Path | None = None
    """Folder to keep the roll-outs in; one that is there is used again. By default they are thrown away. Or a file of
    recordings of the real mechanism, to judge on."""
    physics: str = "ovphysx"
    """Physics preset of the task."""
    overrides: Annotated[tuple[str, ...], tyro.conf.Positional] = ()
    """Changes of the task's configuration, env.<field>=<value>."""

    def __post_init__(self):
        check_bounds(self)
        if max(self.horizons, default=0) > self.steps:
            raise ValueError(
                f"got the horizon {max(self.horizons)} for roll-outs of {self.steps} steps, expected none beyond them: "
                f"ask for --steps {max(self.horizons)} or leave it out"
            )
        has_policy = self.policy is not None
        if has_policy and self.protocol != "driven" or not has_policy and self.given != "controls":
            raise ValueError(
                f"got --protocol {self.protocol}, --policy {self.policy} and --given {self.given}, expected a policy "
                "only with --protocol driven, and --given actions or nothing only with a policy"
            )
        if self.given != "controls" and (self.data is not None or self.initial != "task"):
            raise ValueError(
                f"got --given {self.given} with --data {self.data} and --initial {self.initial}, expected no --data: "
                "such runs are not kept; and --initial task: they begin as the task resets its robot"
            )

    @property
    def shown_horizons(self) -> tuple[int, ...]:
        """Horizons of the table, with the default written out."""
        within = tuple(horizon for horizon in HORIZONS if horizon <= self.steps)
        return self.horizons or within or (self.steps,)


@dataclass(frozen=True)
class EvaluateResult:
    """Open-loop errors, and what made them."""

    model: str
    """Name of the model."""
    task: str
    """Task of the roll-outs."""
    protocol: str
    """Protocol of the roll-outs."""
    policy: str | None
    """Name of the policy that drove the robot in the solver; None where none did."""
    given: str
    """What the model was given of the solver's run beside the first states."""
    initial: str
    """First states of the roll-outs."""
    teacher_mode: str
    """How the solver ran."""
    trajectories: int
    """Number of trajectories."""
    diverged: int
    """Trajectories that left the finite numbers; errors are infinite from there on."""
    horizons: dict[str, dict[str, float | None]]
    """By horizon [control steps], mean errors from the first step up to it: ``base_position_m``,
    ``base_orientation_rad`` and ``joint_rad``; None where the robot has no such quantity. On a fixed base the position
    of the base is that of a sliding joint that carries all the rest (a cart), as published. ``joint_m``, the mean over
    the sliding joints, stands beside them where there are sliding joints that carry no base."""
    curves: dict[str, list[float]]
    """Mean over the trajectories of the error after each step, by quantity [m, rad]; single joints are
    ``joint/<name>``."""
    spec: str
    """Hash of the robot's specification."""
    provenance: dict[str, Any]
    """Command, seeds, versions and machine."""
    left_guard: tuple[int, ...] = ()
    """Steps at which trajectories left the robot's guard, or the finite numbers; one for each that did, rising."""
    at_bounds: tuple[int, ...] = ()
    """Steps at which other trajectories met the bounds of a bounded model, which hold it, far from its data; rising."""
    spread: dict[str, dict[str, dict[str, float]]] = field(default_factory=dict)
    """By horizon [control steps] and quantity [m, rad] ``mean``, ``median`` and ``q90`` over the trajectories of their
    mean errors up to it, with the guard holding: one bad trajectory does not decide them."""

    def plain(self) -> dict[str, Any]:
        """All of it as values that :mod:`json` can write; what made it stands beside the numbers."""
        plain = dataclasses.asdict(self)
        return plain | plain.pop("provenance")


def evaluate(cfg: EvaluateCfg, quiet: bool = False) -> EvaluateResult:
    """Measures how far a model's open-loop motion is from the solver's.

    The solver plays fresh roll-outs, in a process of its own; then the model starts from their first states and gets
    their controls. May be called any number of times in one Python session.

    .. code-block:: python

        from nerd_isaaclab.evaluation.open_loop import EvaluateCfg, evaluate

        result = evaluate(EvaluateCfg("cartpole", trajectories=64, steps=100, horizons=(100,)))
        print(result.horizons["100"]["joint_rad"])

    Args:
        cfg: Which model to measure, and on which roll-outs.
        quiet: Whether to show no progress.

    Raises:
        ValueError: There is no such model, task or preset, or the roll-outs could not be collected.
    """
    from nerd_core import checkpoint

    if cfg.protocol not in SHARES:
        raise ValueError(
            f"got the protocol {cfg.protocol}, which is for recordings: expected --data FILE, a file of recordings, or "
            "one of the protocols passive and driven"
        )
    predictor = checkpoint.load(find_checkpoint(cfg.model)).eval()
    cfg = dataclasses.replace(cfg, task=cfg.task or default_task(predictor.spec.name))
    if cfg.policy is not None:
        from ..policies.load import load_policy

        load_policy(cfg.policy)  # a wrong one is told at once
    if cfg.given != "controls":
        from .policy_driven import judge, order_of, play

        return _result(cfg, predictor.spec, judge(play(order_of(cfg)), predictor))
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(cfg.data or scratch)
        # one batch of one engine
        transitions = cfg.trajectories * cfg.steps
        collect(_collection(cfg), folder, transitions, quiet=quiet, robot=predictor.spec)
        return measure(cfg, predictor, folder)


def default_task(spec_name: str) -> str:
    """The task that a model is judged on when none is named.

    Args:
        spec_name: Name of the robot in its specification.
    """
    record = robot_of_spec(spec_name)
    if record is None or record.default_task is None:
        known = ", ".join(f"{robot.spec_name} ({robot.default_task})" for robot in all_robots() if robot.default_task)
        raise ValueError(f"got a model of '{spec_name}' and no task, expected --task: only {known} have a default")
    return record.default_task


def measure(cfg: EvaluateCfg, predictor: Predictor, folder: Path) -> EvaluateResult:
    """Rolls a model out from the first states of recorded roll-outs, with their controls.

    Args:
        cfg: What to measure, with a task.
        predictor: The model.
        folder: Roll-outs of the solver.
    """
    from nerd_core.data.dataset import TrajectoryDataset
    from nerd_core.training.metrics import open_loop

    dataset = TrajectoryDataset.open(folder, spec=predictor.spec)
    return _result(cfg, predictor.spec, open_loop(predictor, dataset, cfg.steps, cfg.trajectories))


def _result(cfg: EvaluateCfg, spec: RobotSpec, errors: OpenLoopErrors) -> EvaluateResult:
    """What is told of errors."""
    from nerd_core.files.provenance import describe_run

    names = _published_names(spec)
    horizons = {
        horizon: {name: table.get(source) for name, source in names.items()}
        for horizon, table in errors.table(cfg.shown_horizons).items()
    }
    return EvaluateResult(
        model=Path(cfg.model).name,
        task=cfg.task or "",
        protocol=cfg.protocol,
        policy=None if cfg.policy is None else Path(cfg.policy).name,
        given=cfg.given,
        initial=cfg.initial,
        teacher_mode=cfg.teacher_mode,
        trajectories=errors.trajectories,
        diverged=errors.diverged,
        horizons=horizons,
        curves={name: curve.tolist() for name, curve in errors.curves.items()},
        spec=spec.content_hash,
        provenance=describe_run(seeds={"roll-outs": cfg.seed}),
        left_guard=errors.left_guard,
        at_bounds=errors.at_bounds,
        spread={str(horizon): errors.spread(horizon) for horizon in cfg.horizons if horizon <= errors.steps},
    )


def draw(result: EvaluateResult, path: str | Path) -> None:
    """Draws the running means of the errors over the horizon.

    Args:
        result: The errors.
        path: Picture to write.
    """
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    import numpy as np

    main_curves = {name: curve for name, curve in result.curves.items() if not name.startswith("joint/")}
    figure, axes = plt.subplots(1, len(main_curves), figsize=(4.2 * len(main_curves), 3.2), squeeze=False)
    for axis, (name, curve) in zip(axes[0], main_curves.items(), strict=True):
        steps = np.arange(1, len(curve) + 1)
        axis.plot(steps, np.cumsum(curve) / steps, color="#1f5fa8", label="mean up to the horizon")
        axis.plot(steps, curve, color="#1f5fa8", alpha=0.35, linewidth=1, label="at the horizon")
        axis.set(xscale="log", yscale="log", xlabel="horizon [control steps]", ylabel=name.replace("_", " "))
        axis.grid(alpha=0.3, which="both", linewidth=0.4)
    axes[0][0].legend(frameon=False, fontsize=8)
    figure.suptitle(f"{result.model}: {result.protocol}, {result.trajectories} trajectories", fontsize=10)
    figure.tight_layout()
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def _collection(cfg: EvaluateCfg) -> CollectCfg:
    """The collection of the roll-outs."""
    return CollectCfg(
        task=cfg.task or "",
        steps=cfg.steps,
        num_envs=cfg.trajectories,
        seed=cfg.seed,
        shares={"policy": 1.0} if cfg.policy is not None else dict(SHARES[cfg.protocol]),
        policy=cfg.policy,
        policy_noise=0.0,
        initial=cfg.initial,
        teacher_mode=cfg.teacher_mode,
        physics=cfg.physics,
        overrides=cfg.overrides,
    )


def _published_names(spec: RobotSpec) -> dict[str, str]:
    """What the paper's names stand for: on a fixed base the position of the base is that of the joint of a cart."""
    cart = None if spec.floating_base else _cart(spec)
    names = {
        "base_position_m": "base_position_m" if cart is None else f"joint/{cart}",
        "base_orientation_rad": "base_orientation_rad",
        "joint_rad": "joint_rad",
    }
    slides = [joint.name for joint in spec.joints if joint.kind == "prismatic"]
    return names if slides in ([], [cart]) else {**names, "joint_m": "joint_m"}


def _cart(spec: RobotSpec) -> str | None:
    """The sliding joint through which all others hang from the root of a fixed base; None if there is none."""
    kinds = {joint.name: joint.kind for joint in spec.joints}
    rigid = {spec.bodies[0].name}
    first = []
    for body in spec.bodies[1:]:
        if body.parent in rigid and body.joint is None:
            rigid.add(body.name)
        elif body.parent in rigid:
            first.append(body.joint)
    return first[0] if len(first) == 1 and kinds.get(first[0]) == "prismatic" else None
