# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""A policy learns in mechanics with a learned network in them, and is judged on a robot that mechanics do not know.

    python benchmarks/augmented_policy.py --work runs/augmented --json docs/evidence/augmented_policy.json
    python benchmarks/augmented_policy.py --work runs/quick --transitions 8000 --minutes 0.3 --iterations 10

The *real* cart-pole is PhysX with damping and dry friction that its asset does not have, written to the engine by
``env.nerd.calibration``. Its motion is taken under the asset's specification, as that of any robot of which a data
sheet is all that is known. Two models of it: *plain*, mechanics by the specification, and *augmented*, the same with a
network for the torques of the joints, ``nerd train --augment``. In each a policy learns by ``nerd rl train`` in neural
mode, and ``nerd transfer --physx`` plays it in the model and on the real one. What is finished stays in the work
folder.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tyro
from first_policies import nerd, summary

if TYPE_CHECKING:
    from nerd_core.data.dataset import TrajectoryDataset

TASK = "NeRD-Cartpole"
REAL = {
    "slider_to_cart": {"damping": 4.0, "joint_friction": 5.0, "joint_dynamic_friction": 5.0},
    "cart_to_pole": {"damping": 0.15},
}
"""What the joints of the real robot have: damping [N s/m, N m s/rad] and dry friction [N]."""

BLUEPRINT = "joint_torque<-joint_vel; sharing=separate; hidden=16,16; odd"
"""What is learned: an effort of each joint by its velocity."""

HORIZONS = (10, 30, 100)
"""Steps after which motion of the real robot is compared."""

MODELS = {"plain": "plain", "augmented": "augmented/best"}


@dataclass(frozen=True)
class Options:
    """A policy in augmented mechanics."""

    work: Path = Path("runs/augmented")
    """Folder for data, models and policies."""
    transitions: int = 40_000
    """Control steps of the real robot to learn from, of which a part is held out."""
    minutes: float = 2.0
    """Time for the training of the model [min]."""
    num_envs: int = 256
    """Environments in which policies learn."""
    iterations: int = 100
    """Iterations of the training of a policy."""
    episodes: int = 256
    """Episodes that are compared."""
    policies_in: tuple[str, ...] = tuple(MODELS)
    """Models in which policies learn."""
    seed: int = 0
    """Seed of data, model and policies."""
    json: Path | None = None
    """File for the numbers."""


def main(options: Options) -> dict[str, Any]:
    """Measures what is missing, prints and writes."""
    from nerd_core.data.dataset import TrajectoryDataset
    from nerd_core.files.provenance import describe_run

    options.work.mkdir(parents=True, exist_ok=True)
    make_models(options)
    held = TrajectoryDataset.open(options.work / "measured").split("test")
    figures: dict[str, Any] = {"real": REAL, "blueprint": BLUEPRINT, "transitions": options.transitions}
    for name, model in MODELS.items():
        figures[name] = errors(options.work / model, held)
        if name in options.policies_in:
            learn_and_judge(options, name, options.work / model)
            figures[name] |= summary(options.work / "policies" / name)
    print(json.dumps({name: figures[name] | {"modes": "..."} for name in MODELS}, indent=1))
    if options.json is not None:
        told = figures | describe_run(seeds={"data, model and policies": options.seed})
        options.json.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    return figures


def calibration_of_real(work: Path) -> Path:
    """Writes what the joints of the real robot have, for the engine, and returns the file."""
    from nerd_core.identification.engine_calibration import EngineCalibration, write_calibration

    path = work.absolute() / "real.json"
    write_calibration(path, EngineCalibration("cartpole", joints=REAL))
    return path


def make_models(options: Options) -> None:
    """Makes the plain model, takes motion of the real robot, and trains the augmented model on it."""
    work, real = options.work.absolute(), calibration_of_real(options.work)
    if not (work / "plain").exists():
        nerd(["models", "init", "--task", TASK, "--out", work / "plain"], work, "plain.log")
    if not (work / "real").exists():
        words = ["--transitions", options.transitions, "--seed", options.seed, f"env.nerd.calibration={real}"]
        nerd(["generate", "--task", TASK, "--out", work / "real", *words], work, "real.log")
    if not (work / "measured").exists():
        under_specification_of(work / "plain", work / "real", work / "measured")
    if not (work / MODELS["augmented"]).exists():
        words = ["--augment", BLUEPRINT, "--minutes", options.minutes, "--seed", options.seed, "--overwrite"]
        words = ["--preset", "mechanics", "--token.no-contacts", "--device", "cpu", *words]
        nerd(["train", work / "measured", "--out", work / "augmented", *words], work, "augmented.log")


def under_specification_of(model: Path, data: Path, out: Path) -> None:
    """Writes motion once more as that of the robot that a model knows: nobody tells it what the joints have."""
    from nerd_core import checkpoint
    from nerd_core.data.shards import ShardReader, ShardWriter

    reader = ShardReader(next(data.glob("shard-*")))
    with ShardWriter(out, checkpoint.load(model).spec, reader.meta) as writer:
        for batch in reader:
            writer.append_trajectories(batch)


def errors(model: Path, held: TrajectoryDataset) -> dict[str, Any]:
    """Mean and median errors of a model's cart [m] and pole [rad, within a turn] on held-out motion of the real robot,
    by the number of steps behind the first state.
    """
    import torch

    from nerd_core import checkpoint
    from nerd_core.contact.grounds import PlaneGround
    from nerd_core.dynamics import rollout
    from nerd_core.robot.frames import ChangeCfg, ChangeCodec

    predictor, found = checkpoint.load(model).eval(), {}
    codec = ChangeCodec(predictor.spec, ChangeCfg(integration="none"))
    ground = PlaneGround.flat() if predictor.needs_contacts else None
    for steps in HORIZONS:
        motion = held.beginnings(steps, 256)
        with torch.no_grad():
            states = rollout(predictor, motion.state[:, 0], motion.control, ground)
        apart = codec.encode(motion.state[:, -1], states[:, -1])[:, codec.slices["joint_pos"]].abs()
        cart, pole = apart.unbind(-1)
        found[str(steps)] = {
            "cart_m": [float(cart.mean()), float(cart.median())],
            "pole_rad": [float(pole.mean()), float(pole.median())],
        }
    return {"error_after_steps": found}


def learn_and_judge(options: Options, name: str, model: Path) -> None:
    """Trains a policy in a model, and plays it there and on the real robot."""
    folder, model = options.work / "policies" / name, model.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "training.json").exists():
        words = ["--num_envs", options.num_envs, "--max_iterations", options.iterations, "--seed", options.seed]
        words += ["env.nerd.mode=neural", f"env.nerd.checkpoint={model}"]
        begun = time.perf_counter()
        nerd(["rl", "train", "--task", TASK, *words], folder, "train.log")
        facts = {"num_envs": options.num_envs, "iterations": options.iterations}
        (folder / "training.json").write_text(json.dumps(facts | {"seconds": time.perf_counter() - begun}))
    if not (folder / "transfer.json").exists():
        policy = sorted(folder.glob("logs/rsl_rl/*/*"))[-1].absolute()
        words = ["--policy", policy, "--checkpoint", model, "--episodes", options.episodes]
        words += ["--json", (folder / "transfer.json").absolute()]
        words += ["--physx", f"env.nerd.calibration={calibration_of_real(options.work)}"]
        nerd(["transfer", "--task", TASK, *words], folder, "transfer.log")


if __name__ == "__main__":
    main(tyro.cli(Options, description=__doc__))
