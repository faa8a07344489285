# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Measure how well mechanics that nobody has trained agree with PhysX when every robot weighs, rubs and is driven
otherwise: masses and gains up to a fifth off, friction from .3 to 1.2, drawn for each environment.

    python benchmarks/agreement_randomised.py --json agreement_randomised.json
    python benchmarks/agreement_randomised.py --trajectories 8 --passive-steps 100

The motions are those of ``agreement.py``, in four groups of environments with the same first states and targets: robots
as the specification has them, randomised ones, and both again with first states moved by a millionth (the floor).
Mechanics steps the first group as it is, and the second with what the engine says of each environment. *Blind* is the
second group stepped as if it were the first: what a model of one robot makes of it. ``ratio`` is the randomised error
over the plain one, ``floor_ratio`` the same of the floors: how much more the randomised motion forgets by itself.
*Slippery*, *middle* and *rough* are thirds of the second group by friction.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import tyro
from agreement import DRIVEN_STEPS, HELD_STEPS, PASSIVE_STEPS, ROBOTS, make_scene

SHARE = 0.2
"""Largest share by which masses and gains are off."""

FRICTION = (0.3, 1.2)
"""Range of the friction of robot and ground together."""


@dataclass(frozen=True)
class Options:
    """Measure how well untrained mechanics agree with PhysX for randomised robots."""

    robot: str = "anymal_c"
    """A robot of ``agreement.py``."""
    trajectories: int = 32
    """Number of first states."""
    passive_steps: int = PASSIVE_STEPS
    """Length of the passive motion [control steps]."""
    properties: tuple[Literal["masses", "gains", "friction"], ...] = ("masses", "gains", "friction")
    """What is randomised. The numbers of each are the same with and without the others."""
    perturbation: float = 1.0e-6
    """Standard deviation of what moves the first states for the floor [m, rad, m/s, rad/s]."""
    seed: int = 500
    """Seed of all that is drawn."""
    json: Path | None = None
    """File for the numbers."""


def randomise(env: Any, env_ids: Any, generator: Any, properties: tuple[str, ...]) -> None:
    """Gives some environments masses, gains and friction of their own, as Isaac Lab's events write them.

    Args:
        env: The environments.
        env_ids: Numbers of those that are changed, in two halves that get the same, shape (2 K,).
        generator: Draws the numbers.
        properties: What is changed; the rest keeps its values.
    """
    import torch
    import warp as wp
    from isaaclab_ov import tensor_types

    robot, count = env.robot, len(env_ids) // 2
    data, ids = robot.data, env_ids.int()

    def factors(*shape: int) -> torch.Tensor:
        drawn = 1.0 - SHARE + 2.0 * SHARE * torch.rand(count, *shape, generator=generator)
        return drawn.repeat(2, *[1] * len(shape))

    heavier, bodies = factors(robot.num_bodies), list(range(robot.num_bodies))
    masses = data.body_mass.torch.reshape(env.num_envs, -1)[env_ids] * heavier
    inertias = data.body_inertia.torch.reshape(env.num_envs, robot.num_bodies, 9)[env_ids] * heavier.unsqueeze(-1)
    if "masses" in properties:
        robot.set_masses_index(masses=masses, body_ids=bodies, env_ids=ids)
        robot.set_inertias_index(inertias=inertias, body_ids=bodies, env_ids=ids)
    stiffness, damping = (
        each.torch[env_ids] * factors(robot.num_joints) for each in (data.joint_stiffness, data.joint_damping)
    )
    if "gains" in properties:
        robot.write_joint_stiffness_to_sim_index(stiffness=stiffness, env_ids=ids)
        robot.write_joint_damping_to_sim_index(damping=damping, env_ids=ids)
    view = robot.root_view
    materials = wp.to_torch(view.get_attribute(tensor_types.SHAPE_FRICTION_AND_RESTITUTION)).clone()
    low, high = FRICTION
    drawn = low + (high - low) * torch.rand(count, 1, 1, generator=generator)
    materials[env_ids.to(materials.device), :, :2] = _of_robot(env, drawn).repeat(2, 1, 1).to(materials)
    if "friction" in properties:
        view.set_attribute(tensor_types.SHAPE_FRICTION_AND_RESTITUTION, wp.from_torch(materials))


def _of_robot(env: Any, friction: Any) -> Any:
    """Friction of the robot's material with which it has a friction together with the ground."""
    slot, ground = env.robot_spec.slots[0].material, env.robot_spec.ground
    modes = ("average", "min", "multiply", "max")
    mode = max((slot.friction_combine, ground.friction_combine), key=modes.index)
    if mode == "average":
        return (2.0 * friction - ground.static_friction).clamp(min=0.0)
    return friction / ground.static_friction if mode == "multiply" else friction


def measure(options: Options) -> dict[str, Any]:
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
    from nerd_isaaclab.physics.engine_parameters import EngineParameters

    count, drives = options.trajectories, ROBOTS[options.robot]
    env, scene = make_scene(options.robot, 4 * count)
    spec, ground, generator = scene.spec, PlaneGround.flat(), torch.Generator().manual_seed(options.seed)
    predictor = Predictor(spec, PredictorCfg(network=None, prior=MechanicsPriorCfg(hidden=0))).eval()
    default = env.robot.data.default_joint_pos.torch[:1].cpu()
    rest = default[:, spec.control_slice("position")[1]]
    spread = {key: value if isinstance(value, tuple) else (value,) for key, value in drives.spread.items()}
    first = draw_initial_states(spec, ranges_of(spec.name, spread), count, generator, ground)
    if "joint_pos_share" in drives.spread:  # such a share of the range, about the default
        drawn = first[:, spec.state.joint_pos]
        first[:, spec.state.joint_pos] = default + drawn - drawn.mean(0)
    codec = ChangeCodec(spec, ChangeCfg(integration="none"))
    moved = codec.apply(first, options.perturbation * torch.randn(count, codec.dim, generator=generator))
    mechanics: Any = getattr(predictor.prior, "mechanics", None)
    parameters = EngineParameters(env, env.robot, predictor)
    if parameters.current() is not None:
        raise SystemExit(f"got {parameters.given} of robots that nobody has randomised yet, expected nothing")
    groups = torch.arange(4 * count).view(4, count)  # plain, randomised, both moved
    randomise(env, torch.cat((groups[1], groups[3])), generator, options.properties)
    parameters.forget()
    found = parameters.current()
    if found is None:
        raise SystemExit("got no parameters of randomised robots, expected masses, gains and friction")
    own = found.map(lambda each: each[groups[1]] if each.shape[:1] == (4 * count,) else each)
    passive = rest.expand(count, options.passive_steps, -1)
    random = 2.0 * torch.rand(count, DRIVEN_STEPS // HELD_STEPS, rest.shape[1], generator=generator) - 1.0
    driven = rest + drives.reach * random.repeat_interleave(HELD_STEPS, 1)
    table: dict[str, Any] = {"parameters": list(own.given), "plain_friction": float(mechanics.solver.friction.detach())}
    for motion, control in ((f"passive_{options.passive_steps}", passive), (f"driven_{DRIVEN_STEPS}", driven)):
        scene.write(torch.cat((first, first, moved, moved)))
        states = [scene.read().clone()]
        for step in range(control.shape[1]):
            states.append(scene.step(control[:, step].repeat(4, 1)).clone())
        plain, other, plain_moved, other_moved = torch.stack(states, 1).split(count)
        with torch.no_grad():
            said = predict(predictor, plain[:, 0], control, ground)
            followed = predict(predictor, other[:, 0], control, ground, own)
            blind = predict(predictor, other[:, 0], control, ground)
        pairs = {
            "plain": (said, plain),
            "randomised": (followed, other),
            "blind": (blind, other),
            "floor_plain": (plain_moved, plain),
            "floor_randomised": (other_moved, other),
        }
        rows = {}
        for name, (ours, truth) in pairs.items():
            errors = compare(spec, ours, truth).at(control.shape[1])
            rows[name] = {key: value for key, value in errors.items() if "/" not in key}
        rows["ratio"] = {key: rows["randomised"][key] / max(value, 1e-12) for key, value in rows["plain"].items()}
        rows["floor_ratio"] = {
            key: rows["floor_randomised"][key] / max(value, 1e-12) for key, value in rows["floor_plain"].items()
        }
        if own.static_friction is not None:  # a robot that slides is another motion than one that stands
            order = own.static_friction.mean(-1).argsort()
            for name, third in zip(("slippery", "middle", "rough"), order.chunk(3), strict=False):
                errors = compare(spec, followed[third], other[third]).at(control.shape[1])
                floor = compare(spec, other_moved[third], other[third]).at(control.shape[1])
                rows[f"randomised_{name}"] = {key: errors[key] for key in rows["plain"]}
                rows[f"floor_{name}"] = {key: floor[key] for key in rows["plain"]}
        table[motion] = rows
    env.close()
    return table


def main() -> None:
    """Measures one robot."""
    options = tyro.cli(Options, description=__doc__)
    if options.robot not in ROBOTS:
        raise SystemExit(f"got the robot '{options.robot}', expected one of {', '.join(ROBOTS)}")

    from nerd_core.files.provenance import describe_run

    table = measure(options)
    for motion, rows in table.items():
        if isinstance(rows, dict):
            for name, row in rows.items():
                print(f"{motion:12} {name:17} " + ", ".join(f"{key} {value:.3g}" for key, value in row.items()))
    result = {
        "robot": options.robot,
        "trajectories": options.trajectories,
        "properties": list(options.properties),
        **table,
        **describe_run(seeds={"first states, targets and parameters": options.seed}),
    }
    if options.json is not None:
        options.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
