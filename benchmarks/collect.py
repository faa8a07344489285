# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What recording costs: the lean path against the bare engine, and managers with a recorder against managers alone.

.. code-block:: bash

    python benchmarks/collect.py                       # all, as a table
    python benchmarks/collect.py --json collect.json

``lean share``: environment steps a second of :class:`~nerd_isaaclab.collect.lean_scene.LeanScene`, over those of the
engine driven through its own bindings: an effort write, the same physics steps, and reads of root pose and velocity,
joint positions and velocities. ``managers``: time of a step of the task with all its managers and the recorder, over
the time without it. Each pair runs in turns in one process, on the same scene, so that what else the machine does hits
both.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
from collections.abc import Callable, Sequence
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # the engine's workers and OpenMP fight for the cores

TASKS = {"ant": "NeRD-Ant-Run", "cartpole": "NeRD-Cartpole"}
"""Robots that are measured, by name."""


def measure(robots: Sequence[str] = tuple(TASKS), num_envs: int = 512, only: str | None = None) -> dict[str, float]:
    """Everything, as numbers by name: ``collect_<robot>_share`` and ``recording_<robot>_ratio``.

    Args:
        robots: Robots of :data:`TASKS`.
        num_envs: Environments.
        only: ``share`` or ``ratio`` to measure only one of the two.
    """
    result: dict[str, float] = {}
    for robot in robots:
        if only != "ratio":
            result[f"collect_{robot}_share"] = lean_share(robot, num_envs=num_envs)
        if only != "share":
            result[f"recording_{robot}_ratio"] = recording_ratio(robot, num_envs=num_envs)
    return result


def collect_ant_share(env: Any = None, num_envs: int = 512, turns: int = 30) -> float:
    """Environment steps a second of the lean path over those of the bare engine, Ant.

    Args:
        env: Environment of the task in ``physx`` mode; made here when left out (one engine a process).
        num_envs: Environments, where one is made.
        turns: How often the two run in turns.
    """
    return lean_share("ant", env, num_envs, turns)


def collect_cartpole_share(env: Any = None, num_envs: int = 512, turns: int = 60) -> float:
    """The same for the Cartpole; see :func:`collect_ant_share`."""
    return lean_share("cartpole", env, num_envs, turns)


def lean_share(robot: str, env: Any = None, num_envs: int = 512, turns: int = 30) -> float:
    """Environment steps a second of the lean path over those of the bare engine; see :func:`collect_ant_share`."""
    from timing import in_turns

    is_own = env is None
    env = env or make_env(TASKS[robot], num_envs)
    try:
        times = in_turns({"lean": lean_step(env), "bare": bare_step(env)}, turns, least=0.2)
        print(f"{robot}: lean {times.milliseconds('lean'):.2f} ms, bare {times.milliseconds('bare'):.2f} ms a step")
        return times.ratio("bare", "lean")
    finally:
        if is_own:
            env.close()


def recording_ratio(robot: str, num_envs: int = 512, turns: int = 30, steps: int = 20) -> float:
    """Time of steps with all managers and the recorder, writing included, over the time without the recorder.

    Args:
        robot: One of :data:`TASKS`.
        num_envs: Environments.
        turns: How often the two run in turns.
        steps: Steps of a turn, and of a recorded trajectory.
    """
    import torch
    from isaaclab.managers import RecorderManager
    from timing import in_turns

    from nerd_isaaclab.recorders.transition_recorder import TransitionRecordersCfg

    with tempfile.TemporaryDirectory() as folder:

        def record(cfg: Any) -> None:
            cfg.recorders = TransitionRecordersCfg()
            cfg.recorders.transitions.steps, cfg.recorders.transitions.out = steps, folder

        env = make_env(TASKS[robot], num_envs, record)
        managers = {"recorded": env.recorder_manager, "plain": RecorderManager(None, env)}
        actions = [torch.rand(num_envs, env.action_manager.total_action_dim) * 2.0 - 1.0 for _ in range(steps)]

        def play(name: str) -> None:
            env.recorder_manager = managers[name]
            with torch.inference_mode():
                for action in actions:
                    env.step(action)

        times = in_turns({name: lambda name=name: play(name) for name in managers}, turns, warm_up=1)
        plain, recorded = (times.milliseconds(name) / steps for name in ("plain", "recorded"))
        print(f"{robot}: managers {plain:.2f} ms, with the recorder {recorded:.2f} ms a step")
        managers["recorded"].close()
        env.close()
    return times.ratio("recorded", "plain")


def lean_step(env: Any) -> Callable[[], Any]:
    """One control step of the lean path under random controls."""
    import torch

    from nerd_isaaclab.collect.lean_scene import LeanScene

    scene, controls, turn = LeanScene(env), _controls(env), iter(range(sys.maxsize))
    start = scene.read().clone()

    def step() -> None:
        number = next(turn)
        if number % 100 == 0:
            scene.write(start)
        scene.step(controls[number % len(controls)])

    with torch.inference_mode():
        step()
    return torch.inference_mode()(step)


def bare_step(env: Any) -> Callable[[], Any]:
    """One control step of the engine through its own bindings under the same controls."""
    import numpy as np
    from ovphysx.types import TensorType

    from nerd_isaaclab.collect.lean_scene import LeanScene

    spec, physx = env.robot_spec, env.sim.physics_manager.get_physx_instance()
    kinds = ("DOF_POSITION", "DOF_VELOCITY", "DOF_ACTUATION_FORCE", "ROOT_POSE", "ROOT_VELOCITY")
    roots = list(env.robot.root_view.prim_paths)
    bind = {
        kind: physx.create_tensor_binding(prim_paths=roots, tensor_type=getattr(TensorType, f"ARTICULATION_{kind}"))
        for kind in (kinds if spec.floating_base else kinds[:3])
    }
    buffers = {kind: np.zeros(binding.shape, np.float32) for kind, binding in bind.items()}
    columns, joints = spec.control_slice("effort")
    efforts = []
    for control in _controls(env):
        effort = np.zeros(bind["DOF_ACTUATION_FORCE"].shape, np.float32)
        effort[:, joints] = control[:, columns].numpy()
        efforts.append(effort)
    scene, turn = LeanScene(env), iter(range(sys.maxsize))
    start = scene.read().clone()

    def step() -> None:
        number = next(turn)
        if number % 100 == 0:
            scene.write(start)
        bind["DOF_ACTUATION_FORCE"].write(efforts[number % len(efforts)])
        for _ in range(spec.decimation):
            physx.step_sync(dt=env.physics_dt)
        for kind, binding in bind.items():
            if kind != "DOF_ACTUATION_FORCE":
                binding.read(buffers[kind])

    return step


def make_env(task: str, num_envs: int, change: Callable[[Any], None] | None = None) -> Any:
    """A task on the CPU that has made its first step.

    Args:
        task: Its id.
        num_envs: Number of environments.
        change: Called with the configuration before the environment is made.
    """
    import gymnasium
    import torch
    from isaaclab_tasks.utils.parse_cfg import parse_env_cfg

    import nerd_isaaclab.tasks  # noqa: F401  (cures, assets and registrations, before other imports of Isaac Lab)

    cfg = parse_env_cfg(task, device="cpu", num_envs=num_envs, overrides=["physics=ovphysx"])
    cfg.seed = 0
    if change is not None:
        change(cfg)
    env: Any = gymnasium.make(task, cfg=cfg).unwrapped
    env.reset(seed=0)
    env.step(torch.zeros(num_envs, env.action_manager.total_action_dim))
    env.reset(seed=0)
    return env


def _controls(env: Any, count: int = 16) -> list[Any]:
    """Random controls in the range of the task's actions."""
    import torch

    from nerd_isaaclab.physics.robot_description import control_range

    low, high = control_range(env, env.robot, env.robot_spec)
    generator = torch.Generator().manual_seed(0)
    shape = (env.num_envs, env.robot_spec.control_dim)
    return [low + (high - low) * torch.rand(shape, generator=generator) for _ in range(count)]


def main() -> int:
    """Measures everything."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--robots", nargs="+", choices=TASKS, default=list(TASKS))
    parser.add_argument("--only", choices=("share", "ratio"), help="measure only the lean path, or only the recorder")
    parser.add_argument("--num-envs", type=int, default=512)
    parser.add_argument("--json", help="file for the result")
    arguments = parser.parse_args()
    result: dict[str, Any] = {"host": platform.node(), "num_envs": arguments.num_envs}
    result |= measure(arguments.robots, arguments.num_envs, arguments.only)
    print(json.dumps(result, indent=1))
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(result, file, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
