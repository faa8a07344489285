# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Measure how far PhysX is from itself when the first state moves by a millionth: no model can be asked to be nearer.

    python benchmarks/chaos_floor.py --task NeRD-Cartpole --steps 1000 --out cartpole_floor.json
    python benchmarks/chaos_floor.py --task NeRD-Ant-Run --steps 500

One batch of environments holds every first state three times: as it is, moved by the perturbation, and once more as it
is, in an environment elsewhere, where positions round otherwise: PhysX computes in the world's coordinates. Which
environment that is, is drawn, for a neighbour may round alike. Controls are zero, first states those of the task's
resets, errors the temporal means that ``nerd evaluate`` gives.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tyro


@dataclass(frozen=True)
class Options:
    """Measure how far PhysX is from itself."""

    task: str = "NeRD-Cartpole"
    """The task."""
    trajectories: int = 256
    """Number of first states."""
    steps: int = 1000
    """Length of the roll-outs [control steps]."""
    horizons: tuple[int, ...] = (100, 500, 1000)
    """Horizons of the table."""
    size: float = 1.0e-6
    """Standard deviation of the perturbation of each number of the first state [m, rad, m/s, rad/s]."""
    seed: int = 500
    """Seed of the first states."""
    out: Path | None = None
    """File for the numbers."""


def main() -> None:
    """Rolls out, compares, prints and writes."""
    options = tyro.cli(Options, description=__doc__)

    import gymnasium
    import torch
    from isaaclab_tasks.utils.parse_cfg import parse_env_cfg

    import nerd_isaaclab.tasks  # noqa: F401  (registers the tasks)
    from nerd_core.files.provenance import describe_run
    from nerd_core.robot.frames import ChangeCfg, ChangeCodec
    from nerd_core.training.metrics import compare
    from nerd_isaaclab.collect.lean_scene import LeanScene

    count = options.trajectories
    cfg = parse_env_cfg(options.task, device="cpu", num_envs=3 * count, overrides=["physics=ovphysx"])
    env: Any = gymnasium.make(options.task, cfg=cfg).unwrapped
    env.reset(seed=options.seed)
    scene = LeanScene(env)
    spec = scene.spec
    first = scene.read()[:count].clone()
    codec = ChangeCodec(spec, ChangeCfg(integration="none"))
    noise = torch.randn(count, codec.dim, generator=torch.Generator().manual_seed(options.seed)) * options.size
    places = torch.randperm(count, generator=torch.Generator().manual_seed(options.seed))
    scene.write(torch.cat((first, codec.apply(first, noise), first[places])))
    states = [scene.read().clone()]
    control = torch.zeros(3 * count, spec.control_dim)
    for _ in range(options.steps):
        states.append(scene.step(control).clone())
    truth, moved, elsewhere = torch.stack(states, 1).split(count)
    elsewhere = elsewhere[places.argsort()]
    rows = {
        name: compare(spec, other, truth).table(options.horizons)
        for name, other in (("moved", moved), ("elsewhere", elsewhere))
    }
    result = {
        "task": options.task,
        "trajectories": count,
        "perturbation": options.size,
        "errors": rows,
        **describe_run(seeds={"first states": options.seed}),
    }
    for name, table in rows.items():
        for horizon, values in table.items():
            shown = ", ".join(f"{key} {value:.2g}" for key, value in values.items() if "/" not in key)
            print(f"{name:9} {horizon:>5} steps: {shown}")
    if options.out is not None:
        options.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    env.close()


if __name__ == "__main__":
    main()
