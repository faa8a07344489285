# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Find out where the open-loop error of a model is made: three questions that only the solver can answer.

    python benchmarks/error_sources.py --task NeRD-Ant-Run --model ant --out ant_error_sources.json

*Takeover*: the model plays the first steps, PhysX the rest. What is far from PhysX's own motion at the end was lost in
those steps. *Sensitivity*: PhysX against itself, with velocities of the start moved by a little; so much has a model to
be right before the first contact. *One step*: errors of the change of velocity where PhysX leads and where the model
itself leads, with what PhysX would change there. A model that is worse on its own states than on PhysX's lacks data
from them (``nerd generate --visited``).

Controls are zero, first states those of the task's resets.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import tyro


@dataclass(frozen=True)
class Options:
    """Find out where the open-loop error of a model is made."""

    task: str = "NeRD-Ant-Run"
    """The task."""
    model: str = "ant"
    """Checkpoint, a directory or the name of a shipped model."""
    trajectories: int = 256
    """Number of first states."""
    steps: int = 500
    """Length of the roll-outs [control steps]."""
    takeovers: tuple[int, ...] = (0, 5, 10, 15, 20, 30, 60, 100, 200)
    """Steps of the model after which PhysX takes over."""
    sizes: tuple[float, ...] = (1.0e-6, 1.0e-5, 1.0e-4, 1.0e-3, 1.0e-2)
    """How much each velocity of the start is moved, standard deviations [m/s, rad/s]."""
    moments: tuple[int, ...] = (5, 15, 30, 60, 100, 200)
    """Steps at which one-step errors are looked at."""
    seed: int = 500
    """Seed of the first states and of their changes."""
    out: Path | None = None
    """File for the numbers."""


def main() -> None:
    """Asks, prints and writes."""
    options = tyro.cli(Options, description=__doc__)

    import gymnasium
    from isaaclab_tasks.utils.parse_cfg import parse_env_cfg

    import nerd_isaaclab.tasks  # noqa: F401  (registers the tasks)
    from nerd_core import checkpoint
    from nerd_core.checkpoint_names import find_checkpoint
    from nerd_core.files.provenance import describe_run
    from nerd_core.robot.frames import ChangeCodec
    from nerd_core.training.metrics import compare, predict
    from nerd_isaaclab.collect.lean_scene import LeanScene
    from nerd_isaaclab.physics.ground import find_ground

    cfg = parse_env_cfg(options.task, device="cpu", num_envs=options.trajectories, overrides=["physics=ovphysx"])
    env: Any = gymnasium.make(options.task, cfg=cfg).unwrapped
    env.reset(seed=options.seed)
    scene = LeanScene(env)
    spec, codec = scene.spec, ChangeCodec(scene.spec)
    predictor = checkpoint.load(find_checkpoint(options.model), expected_spec=spec).eval()
    first = scene.read().clone()
    ground = find_ground(env).to("cpu") if spec.slots else None
    control = torch.zeros(len(first), spec.control_dim)

    def physx(state: torch.Tensor, steps: int) -> torch.Tensor:
        """States of PhysX from given ones, the first included, shape (N, steps + 1, S)."""
        env.reset(seed=options.seed + 1)  # forgets what touched before
        scene.write(state)
        states = [scene.read().clone()]
        for _ in range(steps):
            states.append(scene.step(control).clone())
        return torch.stack(states, 1)

    truth = physx(first, options.steps)
    with torch.no_grad():
        own = predict(predictor, first, control.unsqueeze(1).expand(-1, options.steps, -1), ground)

    horizons = tuple(step for step in (100, options.steps) if step <= options.steps)
    takeovers: dict[str, Any] = {}
    for step in (*options.takeovers, options.steps):
        rest = physx(own[:, step], options.steps - step)
        takeovers[str(step)] = compare(spec, torch.cat((own[:, :step], rest), 1), truth).table(horizons)
        say(f"model for {step} steps, then PhysX", takeovers[str(step)])

    sensitivity: dict[str, Any] = {}
    generator = torch.Generator().manual_seed(options.seed)
    velocities = [name for name in codec.slices if name.endswith("vel")]
    for size in options.sizes:
        moved = first.clone()
        for name in velocities:
            where = getattr(spec.state, name)
            moved[:, where] += size * torch.randn(moved[:, where].shape, generator=generator)
        sensitivity[f"{size:g}"] = compare(spec, physx(moved, options.steps), truth).table(horizons)
        say(f"PhysX, velocities of the start moved by {size:g}", sensitivity[f"{size:g}"])

    one_step: dict[str, Any] = {}
    for step in options.moments:
        for name, path in (("PhysX", truth), ("the model", own)):
            state = path[:, step]
            after = physx(state, 1)[:, 1]
            with torch.no_grad():
                contacts = predictor.contacts(state, ground)
                said = predictor.next_state(state, predictor.extend(state, control, contacts)[0])
            row = {}
            for part in velocities:
                where = getattr(spec.state, part)
                row[part] = {
                    "error": float((said - after)[:, where].norm(dim=-1).median()),
                    "change": float((after - state)[:, where].norm(dim=-1).median()),
                }
            one_step[f"{step} steps, where {name} leads"] = row
            shown = ", ".join(f"{part} {each['error']:.2g} of {each['change']:.2g}" for part, each in row.items())
            print(f"{step:>4} steps, where {name:9} leads: {shown}")
    if options.out is not None:
        result = {
            "task": options.task,
            "model": options.model,
            "trajectories": options.trajectories,
            "takeovers": takeovers,
            "sensitivity": sensitivity,
            "one_step_medians": one_step,
            **describe_run(seeds={"first states": options.seed}),
        }
        options.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    env.close()


def say(title: str, table: dict[int, dict[str, float]]) -> None:
    """Prints the row of the longest horizon."""
    values = table[max(table)]
    print(f"{title:52} " + ", ".join(f"{key} {value:.2g}" for key, value in values.items() if "/" not in key))


if __name__ == "__main__":
    main()
