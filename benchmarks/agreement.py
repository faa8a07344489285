# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Measure how well mechanics that nobody has trained agree with PhysX, for robots whose joints are led to positions.

    python benchmarks/agreement.py --json agreement.json
    python benchmarks/agreement.py --robots franka --trajectories 16

Each robot has implicit drives with the gains below. *Passive*: the targets stay where the robot rests by default, for
500 control steps of 1/60 s. *Driven*: new random targets every 20 steps, for 100 steps. Errors are temporal means, as
those of ``nerd evaluate``; those whose names begin with ``floor_`` are of PhysX itself when each number of the first
state is moved by a millionth. *One step* is the median error of a single control step, from states of the driven
motion, beside the median change.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
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
    spread: dict[str, Any] = field(default_factory=dict)
    """Ranges of first states, by the names of :class:`InitialStateCfg`; the rest is the robot's own."""


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
}
"""Robots and their drives; the last one touches the ground in none of the motions."""

PASSIVE_STEPS, DRIVEN_STEPS, HELD_STEPS = 500, 100, 20
"""Lengths of the motions, and how long a random target stays [control steps]."""


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
    json: Path | None = None
    """File for the numbers."""


def make_scene(name: str, envs: int) -> tuple[Any, Any]:
    """Environments with one robot and its drives above flat ground, and the scene that steps it."""
    import gymnasium
    from isaaclab.actuators import ImplicitActuatorCfg
    from isaaclab.envs.mdp import JointPositionActionCfg
    from isaaclab.utils import replace
    from isaaclab_tasks.utils.parse_cfg import parse_env_cfg

    import nerd_isaaclab.tasks  # noqa: F401  (registers the tasks)
    from nerd_isaaclab.collect.lean_scene import LeanScene
    from nerd_isaaclab.robots.registry import find_robot

    drives, task = ROBOTS[name], "NeRD-Double-Pendulum"
    cfg: Any = parse_env_cfg(task, device="cpu", num_envs=envs, overrides=["physics=ovphysx"])
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
    cfg.actions.torque = JointPositionActionCfg(asset_name="robot", joint_names=[drives.joints], scale=drives.reach)
    cfg.rewards.height, cfg.events.reset_upper, cfg.events.reset_lower = None, None, None
    env: Any = gymnasium.make(task, cfg=cfg).unwrapped
    env.reset(seed=0)
    return env, LeanScene(env)


def measure(name: str, options: Options) -> dict[str, dict[str, float]]:
    """The table of one robot."""
    import torch

    from nerd_core.contact.grounds import PlaneGround
    from nerd_core.predictor.config import PredictorCfg
    from nerd_core.predictor.mechanics_prior import MechanicsPriorCfg
    from nerd_core.predictor.predictor import Predictor
    from nerd_core.robot.frames import ChangeCfg, ChangeCodec
    from nerd_core.training.metrics import compare, predict
    from nerd_isaaclab.collect.initial_states import draw_initial_states
    from nerd_isaaclab.collect.robot_ranges import ranges_of

    count, drives = options.trajectories, ROBOTS[name]
    env, scene = make_scene(name, 2 * count)
    spec, ground, generator = scene.spec, PlaneGround.flat(), torch.Generator().manual_seed(options.seed)
    cfg = PredictorCfg(network=None, prior=MechanicsPriorCfg(hidden=0))
    predictor = Predictor(spec, cfg).eval()
    default = env.robot.data.default_joint_pos.torch[:1].cpu()
    rest = default[:, spec.control_slice("position")[1]]
    ranges = ranges_of(spec.name, {key: _numbers(value) for key, value in drives.spread.items()})
    first = draw_initial_states(spec, ranges, count, generator, ground)
    if "joint_pos_share" in drives.spread:  # such a share of the range, about the default
        drawn = first[:, spec.state.joint_pos]
        first[:, spec.state.joint_pos] = default + drawn - drawn.mean(0)
    codec = ChangeCodec(spec, ChangeCfg(integration="none"))
    moved = codec.apply(first, options.perturbation * torch.randn(count, codec.dim, generator=generator))
    passive = rest.expand(count, PASSIVE_STEPS, -1)
    random = 2.0 * torch.rand(count, DRIVEN_STEPS // HELD_STEPS, rest.shape[1], generator=generator) - 1.0
    driven = rest + drives.reach * random.repeat_interleave(HELD_STEPS, 1)
    table: dict[str, dict[str, float]] = {}
    for motion, control in ((f"passive_{PASSIVE_STEPS}", passive), (f"driven_{DRIVEN_STEPS}", driven)):
        scene.write(torch.cat((first, moved)))
        states = [scene.read().clone()]
        for step in range(control.shape[1]):
            states.append(scene.step(control[:, step].repeat(2, 1)).clone())
        truth, other = torch.stack(states, 1).split(count)
        said = predict(predictor, truth[:, 0], control, ground)
        horizon = control.shape[1]
        row = {key: value for key, value in compare(spec, said, truth).at(horizon).items() if "/" not in key}
        floor = compare(spec, other, truth).at(horizon)
        table[motion] = row | {f"floor_{key}": floor[key] for key in row}
    steps = torch.arange(2, DRIVEN_STEPS, 5)
    state, after, held = (each.flatten(0, 1) for each in (truth[:, steps], truth[:, steps + 1], driven[:, steps]))
    ours = predict(predictor, state, held[:, None], ground)[:, 1]
    error, change = (codec.encode(state, each) for each in (ours, after))
    table["one_step"] = {}
    for part, columns in codec.slices.items():
        if columns.stop > columns.start:
            table["one_step"][part] = float((error - change)[:, columns].abs().median())
            table["one_step"][f"change_{part}"] = float(change[:, columns].abs().median())
    env.close()
    return table


def main() -> None:
    """Measures robots one after the other, each in a process of its own: an engine is started once in a process."""
    options = tyro.cli(Options, description=__doc__)
    if unknown := [name for name in options.robots if name not in ROBOTS]:
        raise SystemExit(f"got the robots {unknown}, expected some of {', '.join(ROBOTS)}")

    import multiprocessing

    from nerd_core.files.provenance import describe_run

    robots = {}
    for name in options.robots:
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            robots[name] = pool.apply(measure, (name, options))
        for motion, row in robots[name].items():
            print(f"{name:16} {motion:12} " + ", ".join(f"{key} {value:.2g}" for key, value in row.items()), flush=True)
    result = {
        "robots": robots,
        "trajectories": options.trajectories,
        "perturbation": options.perturbation,
        **describe_run(seeds={"first states and targets": options.seed}),
    }
    if options.json is not None:
        options.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


def _numbers(value: Any) -> tuple[float, ...]:
    """A range of first states as numbers."""
    return tuple(value) if isinstance(value, tuple) else (value,)


if __name__ == "__main__":
    main()
