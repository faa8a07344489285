# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Passive errors of a model on Isaac Lab's generated terrains: slopes, stairs, boxes, height fields, and a plane.

    python benchmarks/rough_ground.py --json docs/evidence/rough_ground_ant.json
    python benchmarks/rough_ground.py --task NeRD-AnymalC-Forward --model anymal --json FILE
    python benchmarks/rough_ground.py --terrains slopes --num-envs 32 --steps 50

Robots are dropped all over each terrain, without effort, once by PhysX and once by the model from the same states.
Beside the errors of whole motions stand those of ten steps that begin at every twentieth frame of PhysX, and how far
PhysX itself ends up from a start that is moved by 1e-5 m: on an edge a hair decides on which side a robot falls. One
that never meets anything uneven says nothing of a terrain, so it is counted how many frames touch: anything, and
something *uneven*, that is a surface tilted by more than two degrees, or two slots more than a centimetre apart in
height. Each terrain runs in a process with an engine of its own.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import tyro

TERRAINS = ("plane", "slopes", "stairs", "boxes", "rough", "waves")
"""Kinds of ground; all but the first come from Isaac Lab's terrain generator."""

SIZE, EDGE = 8.0, 1.0
"""Side of a tile, and how far from its edge robots stay [m]."""

TILT, APART = math.radians(2.0), 0.01
"""From where on a frame is uneven: tilt of a surface [rad], difference in height of two slots that touch [m]."""

TOUCHING = 0.001
"""Gap below which a slot touches [m]."""

MOVED = 1.0e-5
"""How far starts are moved to see what PhysX makes of it [m]."""

SHORT, EVERY = 10, 20
"""Steps of the short motions, and frames between their beginnings."""

SKY, DROPS = 5.0, 80
"""Height from which the ground is looked for [m], and steps of that search."""


@dataclass(frozen=True)
class Options:
    """Passive errors of a model on generated terrains."""

    task: str = "NeRD-Ant-Run"
    """Task of a floating robot that is driven by efforts."""
    model: str = "ant"
    """The model: a directory, or the name of a shipped one."""
    terrains: tuple[str, ...] = TERRAINS
    """Which grounds."""
    num_envs: int = 64
    """Robots on each."""
    steps: int = 100
    """Length of a motion [control steps]."""
    seed: int = 0
    """Seed of terrains and first states."""
    json: Path | None = None
    """File for the numbers; rows of other terrains that the same options gave stay in it."""
    terrain: str | None = None
    """Used by the program itself: ground of this process."""


def main() -> None:
    """Runs each terrain in a process of its own, and shows the table."""
    options = tyro.cli(Options, description=__doc__)
    if options.terrain is not None:
        print(json.dumps(on_terrain(options, options.terrain)))
        return
    if options.steps < EVERY + SHORT or options.num_envs < 1:
        raise SystemExit(
            f"got {options.steps} steps of {options.num_envs} robots, expected {EVERY + SHORT} and 1 at least"
        )
    unknown = set(options.terrains) - set(TERRAINS)
    if unknown:
        raise SystemExit(f"got --terrains {' '.join(sorted(unknown))}, expected some of {' '.join(TERRAINS)}")
    rows = []
    for name in options.terrains:
        words = ["--task", options.task, "--model", options.model, "--num-envs", str(options.num_envs)]
        words += ["--steps", str(options.steps), "--seed", str(options.seed), "--terrain", name]
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        ran = subprocess.run([sys.executable, __file__, *words], env=environment, capture_output=True, check=False)
        if ran.returncode:
            said = (ran.stderr.decode(errors="replace").strip().splitlines() or ["nothing"])[-1]
            rows.append({"terrain": name, "failure": said[:300]})
            print(f"{name}: failed: {said}", flush=True)
            continue
        rows.append(json.loads(ran.stdout.decode().splitlines()[-1]))
        print(f"{name}: touching {rows[-1]['touching']:.1%}, uneven {rows[-1]['uneven']:.1%}", flush=True)
        for kind in ("errors", "short_errors", "physx_with_moved_start"):
            cells = (f"{key} {one['mean']:.3g} ({one['median']:.3g})" for key, one in rows[-1][kind].items())
            print(f"  {kind.replace('_', ' ')}, mean (median): {', '.join(cells)}", flush=True)
    if options.json is not None:
        from nerd_core.files.provenance import describe_run

        told = {"task": options.task, "model": options.model, "steps": options.steps}
        run = {**told, **describe_run(seeds={"seed": options.seed})}
        old = json.loads(options.json.read_text(encoding="utf-8")) if options.json.is_file() else {}
        kept = kept_rows(old, run, options.num_envs, options.terrains)
        order = sorted([*kept, *rows], key=lambda row: TERRAINS.index(row["terrain"]))
        options.json.write_text(json.dumps({**run, "terrains": order}, indent=1) + "\n", encoding="utf-8")


def kept_rows(
    old: Mapping[str, Any], run: Mapping[str, Any], robots: int, terrains: Sequence[str]
) -> list[dict[str, Any]]:
    """Rows of an earlier run that stay beside those of this one: of other terrains, with the same options.

    Args:
        old: What the file holds.
        run: What will be said of this run.
        robots: Robots on each terrain.
        terrains: The terrains of this run.
    """
    if any(old.get(name) != run[name] for name in ("task", "model", "steps", "seeds")):
        return []
    return [row for row in old["terrains"] if row.get("robots") == robots and row["terrain"] not in terrains]


def on_terrain(options: Options, name: str) -> dict[str, Any]:
    """Drops robots on one terrain, in PhysX and in the model.

    Args:
        options: What was asked for.
        name: The terrain.
    """
    from nerd_core import checkpoint
    from nerd_core.checkpoint_names import find_checkpoint
    from nerd_core.training.metrics import compare, predict
    from nerd_isaaclab.collect.initial_states import draw_initial_states
    from nerd_isaaclab.collect.lean_scene import LeanScene
    from nerd_isaaclab.collect.robot_ranges import ranges_of
    from nerd_isaaclab.launch.physx_task import physx_task
    from nerd_isaaclab.physics.ground import find_ground

    count, generator = options.num_envs, torch.Generator().manual_seed(options.seed)

    def change(cfg: Any) -> None:
        cfg.seed = options.seed
        if name != "plane":
            cfg.scene.terrain.terrain_type = "generator"
            cfg.scene.terrain.terrain_generator = generator_of(name, options.seed)

    with physx_task(options.task, "ovphysx", "cpu", count, (), change) as env, torch.inference_mode():
        spec = env.robot_spec
        if not spec.floating_base or any(control.kind != "effort" for control in spec.controls):
            raise SystemExit(
                f"the robot of {options.task} is bolted down or has drives: expected one driven by efforts"
            )
        env.reset(seed=options.seed)
        origins = env.scene.env_origins
        origins[:, :2] += (SIZE - 2.0 * EDGE) * (torch.rand(count, 2, generator=generator) - 0.5)
        origins[:, 2] += heights(find_ground(env), count)
        ground = find_ground(env).cpu()
        first = draw_initial_states(spec, ranges_of(spec.name, {"task_poses": (0.0,)}), count, generator, ground)
        scene, still = LeanScene(env), torch.zeros(count, spec.control_dim)

        def fall(state: torch.Tensor) -> torch.Tensor:
            scene.write(state)
            states = [scene.read().clone()]
            for _ in range(options.steps):
                states.append(scene.step(still).clone())
            return torch.stack(states, 1)

        moved = first.clone()
        moved[:, spec.state.root_pos.start] += MOVED
        truth, other = fall(first), fall(moved)
    predictor = checkpoint.load(find_checkpoint(options.model), expected_spec=spec).eval()

    def predicted(begin: int, steps: int) -> torch.Tensor:
        return predict(predictor, truth[:, begin].clone(), still[:, None].expand(-1, steps, -1), ground)

    errors = compare(spec, predicted(0, options.steps), truth)
    begins = range(EVERY, options.steps - SHORT + 1, EVERY)
    parts = [(predicted(begin, SHORT), truth[:, begin : begin + SHORT + 1]) for begin in begins]
    ahead, followed = (torch.cat(each) for each in zip(*parts, strict=True))
    short = compare(spec, ahead, followed)
    return {
        "terrain": name,
        "robots": count,
        "errors": errors.spread(options.steps),
        "short_errors": short.spread(SHORT),
        "physx_with_moved_start": compare(spec, other, truth).spread(options.steps),
        "left_guard": len(errors.left_guard),
        **frames(spec, truth, ground),
    }


def generator_of(name: str, seed: int) -> Any:
    """Isaac Lab's configuration of a terrain.

    Args:
        name: The terrain.
        seed: Its seed.
    """
    from isaaclab import terrains

    kinds = {
        "slopes": terrains.HfPyramidSlopedTerrainCfg(slope_range=(0.1, 0.4), platform_width=1.0, border_width=0.25),
        "stairs": terrains.MeshPyramidStairsTerrainCfg(
            step_height_range=(0.05, 0.2), step_width=0.3, platform_width=1.0, border_width=0.25
        ),
        "boxes": terrains.MeshRandomGridTerrainCfg(grid_width=0.45, grid_height_range=(0.05, 0.2), platform_width=1.0),
        "rough": terrains.HfRandomUniformTerrainCfg(noise_range=(0.02, 0.1), noise_step=0.02, border_width=0.25),
        "waves": terrains.HfWaveTerrainCfg(amplitude_range=(0.1, 0.2), num_waves=2, border_width=0.25),
    }
    return terrains.TerrainGeneratorCfg(
        seed=seed, size=(SIZE, SIZE), border_width=4.0, num_rows=3, num_cols=3, sub_terrains={name: kinds[name]}
    )


def heights(ground: Any, count: int) -> torch.Tensor:
    """Height of the ground above the origin of each environment [m], shape (N,): a ball that shrinks as it falls."""
    point = torch.zeros(count, 1, 3)
    point[..., 2] = SKY
    for _ in range(DROPS):
        point[..., 2] -= ground.query(point).distance.clamp(min=0.0)
    return point[:, 0, 2]


def frames(spec: Any, truth: torch.Tensor, ground: Any) -> dict[str, float]:
    """Shares of the frames that touch something, and something uneven.

    Args:
        spec: The robot.
        truth: States, shape (N, T, S).
        ground: The ground.
    """
    from nerd_core.contact.contacts import ContactModel

    contacts = ContactModel(spec)(truth, ground)
    radius = torch.tensor([slot.radius for slot in spec.slots])
    touches = contacts.active & (contacts.distance - radius < TOUCHING)
    tilted = contacts.normal[..., 2] < math.cos(TILT)
    height = contacts.point[..., 2]
    highest = height.masked_fill(~touches, -math.inf).amax(-1)
    lowest = height.masked_fill(~touches, math.inf).amin(-1)
    uneven = (touches & tilted).any(-1) | (highest - lowest > APART)
    return {"touching": float(touches.any(-1).float().mean()), "uneven": float(uneven.float().mean())}


if __name__ == "__main__":
    main()
