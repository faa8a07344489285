# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Measure how well mechanics that nobody has trained agree with PhysX, beside PhysX against itself.

    python benchmarks/agreement.py --json agreement.json
    python benchmarks/agreement.py --robots franka go2 --trajectories 16
    python benchmarks/agreement.py --robots anymal_dc --trained runs/anymal/best       # and a trained model of it

Robots are led by implicit drives with the gains below, by random efforts, or stand in a task with its own actuators.
*Passive*: the targets stay where the robot rests by default (or efforts at zero), for 500 control steps. *Driven*: new
random targets every 20 steps, for 100 steps. Errors are temporal means, as those of ``nerd evaluate``; those whose
names begin with ``floor_`` are of PhysX itself when each number of the first state is moved by a millionth.

*Control step* and *physics step* are median and nine tenths of the errors of single steps, from states of both motions
that are written into the engine, beside the median change, by regime: ``contact`` where a slot is within
5 mm of the ground, else ``stop`` where a joint reaches its stop in the step, else ``air``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import tyro


@dataclass(frozen=True)
class Drives:
    """Drives of one robot's joints for this measurement."""

    stiffness: float
    """Stiffness [N m/rad]."""
    damping: float
    """Damping [N m s/rad]."""
    effort_limit: float | dict[str, float]
    """Effort limit [N m], for all joints or by expressions for their names."""
    joints: str
    """Expression for the joints that are driven."""
    reach: float
    """How far random targets are from the default at most [rad]."""
    robot: str = ""
    """Name of the robot, if not that of the row."""
    height: float | None = None
    """Height of a fixed base, if not the robot's own [m]."""
    is_effort: bool = False
    """Whether random efforts take the place of targets, of at most ``reach`` [N m]."""
    task: str = ""
    """Task with a robot and actuators of its own, in the place of all of the above but the reach."""
    spread: dict[str, Any] = field(default_factory=dict)
    """Ranges of first states, by the names of :class:`InitialStateCfg`; the rest is the robot's own."""


def of_task(task: str, reach: float, height: tuple[float, float]) -> Drives:
    """A robot that stands in a task, with the task's own actuators."""
    return Drives(
        0.0, 0.0, 0.0, "", reach, task=task, spread={"root_height": height, "root_tilt": 0.1, "joint_pos_share": 0.01}
    )


ROBOTS = {
    "double_pendulum": Drives(2000.0, 400.0, 1500.0, "joint_.*", 1.0, height=8.0),
    "franka": Drives(
        400.0,
        80.0,
        {"panda_joint[1-4]": 87.0, "panda_joint[5-7]": 12.0},
        "panda_joint[1-7]",
        0.5,
        spread={"joint_pos_share": 0.2, "joint_vel": 1.0, "slide": 0.0, "slide_vel": 0.0},
    ),
    "anymal_c": Drives(
        80.0, 2.0, 80.0, ".*", 0.2, spread={"root_height": (0.6, 0.7), "root_tilt": 0.1, "joint_pos_share": 0.01}
    ),
    "anymal_c_falling": Drives(
        80.0,
        2.0,
        80.0,
        ".*",
        0.2,
        robot="anymal_c",
        spread={"root_height": (390.0, 400.0), "root_tilt": 0.1, "joint_pos_share": 0.01},
    ),
    "franka_effort": Drives(
        0.0,
        0.0,
        {"panda_joint[1-4]": 87.0, "panda_joint[5-7]": 12.0},
        "panda_joint[1-7]",
        2.0,
        robot="franka",
        is_effort=True,
        spread={"joint_pos_share": 0.2, "joint_vel": 1.0, "slide": 0.0, "slide_vel": 0.0},
    ),
    "anymal_dc": of_task("NeRD-Velocity-AnymalC-DC-Motor", 0.2, (0.6, 0.7)),
    "go2": of_task("NeRD-Isaac-Velocity-Flat-UnitreeGo2", 0.2, (0.35, 0.4)),
    "ant": Drives(0.0, 0.0, 0.0, "", 15.0, task="NeRD-Ant-Run"),
    "g1": of_task("NeRD-Velocity-G1", 0.1, (0.8, 0.85)),
}
"""Robots and what drives them; the falling one touches the ground in none of the motions."""

PASSIVE_STEPS, DRIVEN_STEPS, HELD_STEPS = 500, 100, 20
"""Lengths of the motions, and how long a random target stays [control steps]."""

STEPS_OF_MOTION = 12
"""How many moments of each motion single steps begin with."""

REGIMES = ("air", "stop", "contact")
"""Regimes of single steps."""

IN_CONTACT, AT_STOP = 0.005, 1.0e-4
"""Gap below which a slot is near the ground [m], and distance at which a joint is at its stop [rad or m]."""


@dataclass(frozen=True)
class Options:
    """Measure how well untrained mechanics agree with PhysX."""

    robots: tuple[str, ...] = tuple(ROBOTS)
    """Robots to measure."""
    trajectories: int = 64
    """Number of first states of each."""
    perturbation: float = 1.0e-6
    """Standard deviation of what moves the first states for the floor [m, rad, m/s, rad/s]."""
    seed: int = 500
    """Seed of first states and targets."""
    trained: Path | None = None
    """Checkpoint of a model to measure, too; for one robot."""
    json: Path | None = None
    """File for the numbers."""


def lead_by_drives(cfg: Any, drives: Drives, name: str) -> None:
    """Puts a robot with drives of its own into a task's configuration."""
    from isaaclab.actuators import ImplicitActuatorCfg
    from isaaclab.envs.mdp import JointEffortActionCfg, JointPositionActionCfg
    from isaaclab.utils import replace

    from nerd_isaaclab.robots.registry import find_robot

    robot: Any = find_robot(drives.robot or name).articulation()
    others = {key: actuator for key, actuator in robot.actuators.items() if key == "hand"}
    driven = ImplicitActuatorCfg(
        joint_names_expr=[drives.joints],
        joint_effort_limit=drives.effort_limit,
        stiffness=drives.stiffness,
        damping=drives.damping,
    )
    cfg.scene.robot = replace(robot, prim_path="{ENV_REGEX_NS}/Robot", actuators={"driven": driven, **others})
    if drives.height is not None:
        cfg.scene.robot.init_state.pos = (0.0, 0.0, drives.height)
    cfg.scene.env_spacing = 4.0
    action = JointEffortActionCfg if drives.is_effort else JointPositionActionCfg
    cfg.actions.torque = action(asset_name="robot", joint_names=[drives.joints], scale=drives.reach)
    cfg.rewards.height, cfg.events.reset_upper, cfg.events.reset_lower = None, None, None


def make_scene(name: str, envs: int) -> tuple[Any, Any]:
    """Environments with one robot and its drives above flat ground, and the scene that steps it."""
    import gymnasium
    from isaaclab_tasks.utils.parse_cfg import parse_env_cfg

    import nerd_isaaclab.tasks  # noqa: F401  (registers the tasks)
    from nerd_isaaclab.collect.lean_scene import LeanScene
    from nerd_isaaclab.envs.randomised_properties import hold_still

    drives = ROBOTS[name]
    task = drives.task or "NeRD-Double-Pendulum"
    cfg: Any = parse_env_cfg(task, device="cpu", num_envs=envs, overrides=["physics=ovphysx"])
    if drives.task:
        hold_still(cfg.events)  # all robots are the same
    else:
        lead_by_drives(cfg, drives, name)
    env: Any = gymnasium.make(task, cfg=cfg).unwrapped
    env.reset(seed=0)
    return env, LeanScene(env)


def measure(name: str, options: Options) -> dict[str, Any]:
    """The tables of one robot: untrained, and with :attr:`Options.trained` of that model, too."""
    import torch

    from nerd_core import checkpoint
    from nerd_core.contact.grounds import PlaneGround
    from nerd_core.predictor.config import PredictorCfg
    from nerd_core.predictor.mechanics_prior import MechanicsPriorCfg
    from nerd_core.predictor.predictor import Predictor
    from nerd_core.robot.frames import ChangeCfg, ChangeCodec

    count, drives = options.trajectories, ROBOTS[name]
    env, scene = make_scene(name, 2 * count)
    spec, ground, generator = scene.spec, PlaneGround.flat(), torch.Generator().manual_seed(options.seed)
    untrained = PredictorCfg(network=None, prior=MechanicsPriorCfg(hidden=0))
    models = {"": Predictor(spec, untrained).eval()}
    if options.trained is not None:
        models["trained"] = checkpoint.load(options.trained, expected_spec=spec).eval()
    first, rest = first_states(env, drives, count, generator)
    codec = ChangeCodec(spec, ChangeCfg(integration="none"))
    moved = codec.apply(first, options.perturbation * torch.randn(count, codec.dim, generator=generator))
    random = 2.0 * torch.rand(count, DRIVEN_STEPS // HELD_STEPS, rest.shape[1], generator=generator) - 1.0
    motions = {
        f"passive_{PASSIVE_STEPS}": rest.expand(count, PASSIVE_STEPS, -1),
        f"driven_{DRIVEN_STEPS}": rest + drives.reach * random.repeat_interleave(HELD_STEPS, 1),
    }
    tables: dict[str, dict[str, Any]] = {model: {} for model in models}
    visited = []
    for motion, control in motions.items():
        scene.write(torch.cat((first, moved)))
        states = [scene.read().clone()]
        for step in range(control.shape[1]):
            states.append(scene.step(control[:, step].repeat(2, 1)).clone())
        truth, other = torch.stack(states, 1).split(count)
        for model, predictor in models.items():
            tables[model][motion] = motion_row(predictor, truth, other, control, ground)
        for step in torch.linspace(1, control.shape[1] - 1, STEPS_OF_MOTION).long().tolist():
            visited.append((truth[:, step].repeat(2, 1), control[:, step].repeat(2, 1)))
    for kind, decimation in (("control_step", spec.decimation), ("physics_step", 1)):
        scene.spec = short = replace(spec, decimation=decimation)
        triples = []
        for state, control in visited:
            scene.write(state)
            triples.append((state, control, scene.step(control).clone()))
        state, control, after = (torch.cat(each) for each in zip(*triples, strict=True))
        for model, predictor in models.items():
            if decimation != spec.decimation:
                stepped = Predictor(short, predictor.cfg).eval()
                stepped.load_state_dict(predictor.state_dict())
                predictor = stepped
            tables[model][kind] = step_rows(predictor, state, control, after, ground)
    env.close()
    return tables.pop("") | ({"trained": tables["trained"]} if tables else {})


def first_states(env: Any, drives: Drives, count: int, generator: Any) -> tuple[Any, Any]:
    """First states of the motions, shape (count, S), and the controls of a robot that is left alone, shape (1, C)."""
    import torch

    from nerd_core.contact.grounds import PlaneGround
    from nerd_isaaclab.collect.initial_states import draw_initial_states
    from nerd_isaaclab.collect.robot_ranges import ranges_of

    spec, default = env.robot_spec, env.robot.data.default_joint_pos.torch[:1].cpu()
    rest = torch.zeros(1, spec.control_dim)
    columns, joints = spec.control_slice("position")
    rest[:, columns] = default[:, joints]
    ranges = ranges_of(spec.name, {key: _numbers(value) for key, value in drives.spread.items()})
    first = draw_initial_states(spec, ranges, count, generator, PlaneGround.flat())
    if "joint_pos_share" in drives.spread:  # such a share of the range, about the default
        drawn = first[:, spec.state.joint_pos]
        first[:, spec.state.joint_pos] = default + drawn - drawn.mean(0)
    return first, rest


def motion_row(predictor: Any, truth: Any, other: Any, control: Any, ground: Any) -> dict[str, float]:
    """Temporal means of the errors of a model's motion, and under ``floor_`` those of another motion of the engine.

    Args:
        predictor: The model.
        truth: States of the engine, shape (count, steps + 1, S).
        other: The same from first states that were moved a little.
        control: Controls, shape (count, steps, C).
        ground: The ground.
    """
    from nerd_core.training.metrics import compare, predict

    horizon, spec = control.shape[1], predictor.spec
    said = predict(predictor, truth[:, 0], control, ground)
    row = {key: value for key, value in compare(spec, said, truth).at(horizon).items() if "/" not in key}
    floor = compare(spec, other, truth).at(horizon)
    return row | {f"floor_{key}": floor[key] for key in row}


def step_rows(predictor: Any, state: Any, control: Any, after: Any, ground: Any) -> dict[str, dict[str, float]]:
    """Errors of single steps by regime: median and nine tenths of those of each part of the state, and the change.

    Args:
        predictor: The model.
        state: States, shape (M, S).
        control: Controls held over the step, shape (M, C).
        after: What the engine made of them, shape (M, S).
        ground: The ground.
    """
    import torch

    from nerd_core.robot.frames import ChangeCfg, ChangeCodec
    from nerd_core.training.metrics import predict

    spec, codec = predictor.spec, ChangeCodec(predictor.spec, ChangeCfg(integration="none"))
    said = predict(predictor, state, control[:, None], ground)[:, 1]
    miss, change = codec.encode(state, said) - codec.encode(state, after), codec.encode(state, after)
    regime = regimes_of(spec, state, after, predictor.contacts(state, ground))
    rows: dict[str, dict[str, float]] = {}
    for number, name in enumerate(REGIMES):
        of_regime = regime == number
        if not of_regime.any():
            continue
        rows[name] = {"share": float(of_regime.double().mean())}
        for part, columns in codec.slices.items():
            if columns.stop > columns.start:
                error = miss[of_regime][:, columns].abs().amax(1)
                rows[name][part], rows[name][f"q90_{part}"] = torch.quantile(error, torch.tensor([0.5, 0.9])).tolist()
                rows[name][f"change_{part}"] = float(change[of_regime][:, columns].abs().amax(1).median())
    return rows


def regimes_of(spec: Any, state: Any, after: Any, contacts: Any) -> Any:
    """The regime of each step, a number of :data:`REGIMES`, shape (M,).

    Args:
        spec: The robot.
        state: States, shape (M, S).
        after: States after the step, shape (M, S).
        contacts: Contacts of the states; None for a robot that touches nothing.
    """
    import torch

    regime = torch.zeros(len(state), dtype=torch.long)
    limits = [torch.tensor([getattr(joint, end) for joint in spec.joints]) for end in ("lower", "upper")]
    for moment in (state, after):
        pos = moment[:, spec.state.joint_pos]
        regime[((pos <= limits[0] + AT_STOP) | (pos >= limits[1] - AT_STOP)).any(1)] = REGIMES.index("stop")
    if contacts is not None and spec.slots:
        radius = torch.tensor([slot.radius for slot in spec.slots])
        gap = torch.where(contacts.active, contacts.distance - radius, torch.inf)
        regime[(gap < IN_CONTACT).any(-1)] = REGIMES.index("contact")
    return regime


def main() -> None:
    """Measures robots one after the other, each in a process of its own: an engine is started once in a process."""
    options = tyro.cli(Options, description=__doc__)
    if unknown := [name for name in options.robots if name not in ROBOTS]:
        raise SystemExit(f"got the robots {unknown}, expected some of {', '.join(ROBOTS)}")
    if options.trained is not None and len(options.robots) != 1:
        raise SystemExit("got --trained for several robots, expected one: name it with --robots")

    import multiprocessing

    from nerd_core.files.provenance import describe_run

    robots = {}
    for name in options.robots:
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            robots[name] = pool.apply(measure, (name, options))
        for motion, row in _rows_of(robots[name]):
            print(f"{name:16} {motion:24} " + ", ".join(f"{key} {value:.2g}" for key, value in row.items()), flush=True)
    result = {
        "robots": robots,
        "trajectories": options.trajectories,
        "perturbation": options.perturbation,
        **describe_run(seeds={"first states and targets": options.seed}),
    }
    if options.json is not None:
        options.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


def _rows_of(table: dict[str, Any], before: str = "") -> Iterator[tuple[str, dict[str, float]]]:
    """The rows of a table with their names, whatever stands in one another."""
    for name, row in table.items():
        if any(isinstance(value, dict) for value in row.values()):
            yield from _rows_of(row, f"{before}{name} ")
        else:
            yield f"{before}{name}", row


def _numbers(value: Any) -> tuple[float, ...]:
    """A range of first states as numbers."""
    return tuple(value) if isinstance(value, tuple) else (value,)


if __name__ == "__main__":
    main()
