# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Measure what an environment step costs with the model against the solver, same environments, one run.

    python benchmarks/step_cost.py                                             # all robots at 512, and collecting
    python benchmarks/step_cost.py --json step_cost.json
    python benchmarks/step_cost.py --robots cartpole --cartpole runs/cartpole/best

Each robot runs in a process of its own, for the engine starts once in a process. Blocks of steps in physx and in neural
mode take turns, so that a busy machine slows both alike; a ratio is the median over the turns. Each mode has its best
setting, the faster one of PyTorch with one thread and with all. Without a checkpoint the shipped model is used, or
mechanics as they are before any training where none is shipped for the task's robot with its drives: what a step costs
hardly depends on what was learned. Nothing
else should run meanwhile; the load before the start is written down, and so is the time of the processor, which is
what is left to compare on a machine that is busy.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Literal

import tyro

TASKS = {
    "ant": "NeRD-Ant-Run",
    "cartpole": "NeRD-Cartpole",
    "anymal": "NeRD-Velocity-AnymalC",
    "franka": "NeRD-Isaac-Reach-Franka",
}
LIMITS = {"ant": 0.5, "cartpole": 0.4, "anymal": 0.5, "franka": 0.6}
"""Largest ratio neural/physx that is accepted."""


@dataclass(frozen=True)
class Options:
    """Measure what an environment step costs with the model against the solver."""

    robots: tuple[Literal["ant", "cartpole", "anymal", "franka"], ...] = ("ant", "cartpole", "anymal", "franka")
    """Robots to measure."""
    num_envs: int = 512
    """Environments."""
    turns: int = 7
    """Blocks of steps in each mode."""
    steps: int = 60
    """Steps in a block."""
    ant: Path | None = None
    """Checkpoint of the Ant."""
    cartpole: Path | None = None
    """Checkpoint of the Cartpole."""
    anymal: Path | None = None
    """Checkpoint of ANYmal C."""
    franka: Path | None = None
    """Checkpoint of the Franka."""
    collecting: bool = True
    """Whether to measure the collection of trajectories too."""
    json: Path | None = None
    """File to write the numbers to."""
    worker: str | None = None
    """Used by the program itself: robot to measure in this process."""
    out: Path | None = None
    """Used by the program itself: where this process writes its numbers."""


def main(options: Options) -> None:
    """Measures each robot in a process of its own and prints the ratios."""
    if options.worker is not None:
        assert options.out is not None
        options.out.write_text(json.dumps(measure(options, options.worker)), encoding="utf-8")
        return
    from nerd_core.files.provenance import describe_run

    numbers: dict[str, Any] = {"num_envs": options.num_envs, "load_before": os.getloadavg()[0]}
    for robot in options.robots:
        numbers |= _in_own_process(options, robot)
    if options.collecting:
        import collect

        numbers |= collect.measure()
    numbers["run"] = describe_run()
    if options.json is not None:
        options.json.write_text(json.dumps(numbers, indent=1) + "\n", encoding="utf-8")


def _in_own_process(options: Options, robot: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as scratch:
        out, log = Path(scratch, "numbers.json"), Path(scratch, "log")
        words = [sys.executable, __file__, *sys.argv[1:], "--worker", robot, "--out", str(out)]
        with open(log, "w", encoding="utf-8") as stream:
            code = subprocess.run(words, stdout=stream, stderr=stream, check=False).returncode
        if code:
            raise SystemExit(f"measuring {robot} failed:\n" + "\n".join(log.read_text().splitlines()[-15:]))
        numbers = json.loads(out.read_text(encoding="utf-8"))
    times = numbers[f"{robot}_ms"]
    ratio = numbers[f"{robot}_{options.num_envs}"]
    print(f"{robot}, {options.num_envs} envs, {numbers[f'{robot}_model']}")
    print(f"  physx {times['physx']:.2f} ms, neural {times['neural']:.2f} ms a step: ratio {ratio:.2f}", end="")
    print(f" (accepted: {LIMITS[robot]:.1f})")
    spent = ", ".join(f"{name} {value:.2f}" for name, value in numbers[f"{robot}_processor_ms_by_threads"].items())
    print(f"  processor time [ms] by threads of PyTorch: {spent}")
    for name, value in numbers[f"{robot}_parts_ms"].items():
        print(f"    {name:34} {value:6.2f} ms")
    return numbers


def measure(options: Options, robot: str) -> dict[str, Any]:
    """Measures one robot in this process."""
    import gymnasium
    import torch
    from isaaclab_tasks.utils.parse_cfg import parse_env_cfg

    import nerd_isaaclab.tasks  # noqa: F401  (cures, assets and registrations, before other imports of Isaac Lab)

    torch.set_num_threads(len(os.sched_getaffinity(0)))
    task = TASKS[robot]
    cfg = parse_env_cfg(task, device="cpu", num_envs=options.num_envs, overrides=["physics=ovphysx"])
    cfg.seed = 0
    env: Any = gymnasium.make(task, cfg=cfg).unwrapped
    env.reset(seed=0)
    model = _use_model(env, robot, getattr(options, robot))
    actions = torch.rand(options.steps, env.num_envs, env.action_manager.total_action_dim) * 2.0 - 1.0

    def block(mode: str) -> tuple[float, float]:
        """Time and processor time of a step [ms]."""
        env.set_nerd_mode(mode)
        for action in actions[:5]:
            env.step(action)
        start, begun = time.perf_counter(), time.process_time()
        for action in actions:
            env.step(action)
        spent = time.perf_counter() - start, time.process_time() - begun
        return spent[0] / len(actions) * 1e3, spent[1] / len(actions) * 1e3

    settings = [(mode, threads) for threads in sorted({1, torch.get_num_threads()}) for mode in ("physx", "neural")]
    turns: dict[tuple[str, int], list[float]] = {setting: [] for setting in settings}
    processor: dict[tuple[str, int], list[float]] = {setting: [] for setting in settings}
    for _ in range(options.turns):
        for mode, threads in settings:
            torch.set_num_threads(threads)
            for times, spent in zip((turns, processor), block(mode), strict=True):
                times[mode, threads].append(spent)
    best = {mode: best_setting(turns, mode) for mode in ("physx", "neural")}
    torch.set_num_threads(best["neural"])
    numbers = {
        f"{robot}_{options.num_envs}": ratio_of(turns[("physx", best["physx"])], turns[("neural", best["neural"])]),
        f"{robot}_ms": {mode: median(turns[mode, threads]) for mode, threads in best.items()},
        f"{robot}_threads": best,
        f"{robot}_ms_by_threads": {f"{mode}_{threads}": median(times) for (mode, threads), times in turns.items()},
        f"{robot}_processor_ms_by_threads": {f"{mode}_{n}": median(times) for (mode, n), times in processor.items()},
        f"{robot}_parts_ms": _parts(env, actions[0]),
        f"{robot}_model": model,
    }
    env.close()
    return numbers


def best_setting(turns: dict[tuple[str, int], list[float]], mode: str) -> int:
    """The number of threads with which a mode is fastest, in the median of the turns.

    Args:
        turns: Times by mode and threads.
        mode: The mode.
    """
    return min((median(times), threads) for (other, threads), times in turns.items() if other == mode)[1]


def ratio_of(physx: list[float], neural: list[float]) -> float:
    """How long a step with the model takes per step of the solver: the median over turns that follow each other.

    Args:
        physx: Times of the solver.
        neural: Times of the model.
    """
    return median(ours / theirs for theirs, ours in zip(physx, neural, strict=True))


def _use_model(env: Any, robot: str, path: Path | None) -> str:
    """Puts a model in charge and returns what it is."""
    from nerd_core.checkpoint_names import shipped_checkpoints
    from nerd_core.dynamics import NeuralDynamics
    from nerd_core.robot.comparison import SpecMismatch
    from nerd_isaaclab.models.untrained import untrained_model
    from nerd_isaaclab.models.worker import sees_ground
    from nerd_isaaclab.physics.ground import find_ground

    if path is not None:
        env.load_nerd_checkpoint(str(path))
        return f"checkpoint {path.name}"
    shipped = shipped_checkpoints().get(robot)
    with contextlib.suppress(SpecMismatch):  # the shipped model may be of the robot with other drives
        if shipped is not None:
            env.load_nerd_checkpoint(str(shipped))
            return f"checkpoint {shipped.name}"
    predictor = untrained_model(env.robot_spec, sees_ground(env))
    ground = find_ground(env) if predictor.needs_contacts else None
    env.use_dynamics(NeuralDynamics(predictor, env.num_envs, env.device, ground=ground))
    return "mechanics before any training"


def _parts(env: Any, action: Any, repeats: int = 100) -> dict[str, float]:
    """Where the time of a neural step goes: each part alone, in the order of the step [ms]."""
    import torch

    env.set_nerd_mode("neural")
    env.step(action)
    neural, robot = env.nerd, env.nerd._robot
    dynamics = neural.dynamics
    predictor, state, control = dynamics.predictor, robot.read(), robot.read_control()
    contacts = predictor.contacts(state, dynamics.ground)
    encoded = predictor.encode(state, control, contacts)
    prediction = dynamics.prediction

    def update() -> None:
        env.scene.update(env.step_dt)

    parts = {
        "read state and control": lambda: (robot.read(), robot.read_control()),
        "contacts": lambda: predictor.contacts(state, dynamics.ground),
        "prior and tokens": lambda: predictor.encode(state, control, contacts),
        "network": lambda: predictor.residual.step(encoded, state, dynamics._cache),
        "next state": lambda: predictor.next_state(state, prediction),
        "guard": lambda: dynamics.guard(state),
        "write state": lambda: robot.write(state),
        "forward kinematics": lambda: (robot.write(state), neural.stock.forward()),
        "actions to actuators": lambda: (env.action_manager.apply_action(), env.scene.write_data_to_sim()),
        "scene update": update,
        "rewards and terminations": lambda: (env.termination_manager.compute(), env.reward_manager.compute(dt=0.0)),
        "observations": lambda: env.observation_manager.compute(),
    }
    times = {}
    with torch.no_grad():
        for name, part in parts.items():
            part()
            start = time.perf_counter()
            for _ in range(repeats):
                part()
            times[name] = (time.perf_counter() - start) / repeats * 1e3
    times["forward kinematics"] -= times["write state"]
    return times


if __name__ == "__main__":
    main(tyro.cli(Options))
