# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What it does to a trajectory that the teacher's state is written back before each physics step.

.. code-block:: bash

    python benchmarks/teacher_modes.py --json teacher_modes.json

PhysX keeps friction history from step to step. Without rewriting, a state that is written in the middle of a trajectory
therefore need not go on as the trajectory did; with it, the next state is a function of state and control. The program
plays Ants from the same first states under the same controls in both modes and prints how far they drift apart, and
which share of single steps differs.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")


def measure(task: str, num_envs: int, steps: int) -> dict[str, Any]:
    """Plays both modes.

    Args:
        task: Task with a floating robot.
        num_envs: Environments.
        steps: Control steps.
    """
    import torch
    from collect import make_env

    from nerd_core.robot.frames import quat_conjugate, quat_mul, rotvec_from_quat
    from nerd_isaaclab.collect.excitation import ControlRange, Excitation
    from nerd_isaaclab.collect.initial_states import InitialStateCfg, draw_initial_states
    from nerd_isaaclab.collect.lean_scene import LeanScene
    from nerd_isaaclab.physics.ground import find_ground
    from nerd_isaaclab.physics.robot_description import control_range

    env = make_env(task, num_envs)
    spec, ground = env.robot_spec, find_ground(env)
    limits = ControlRange(*control_range(env, env.robot, spec))
    at, result = spec.state, {}
    for kind in ("zero", "random", "held"):
        generator = torch.Generator().manual_seed(0)
        start = draw_initial_states(spec, InitialStateCfg(), num_envs, generator, ground)
        excitation = Excitation(spec, limits, {kind: 1.0}, num_envs, steps, generator)
        controls = [excitation.control(step, start) for step in range(steps)]
        runs = {}
        for mode in ("continuous", "rewritten", "again"):
            scene = LeanScene(env, rewrite=mode != "continuous")
            scene.write(start)
            states = [scene.read().clone()]
            for step, control in enumerate(controls):
                if mode == "again":  # single steps from the states of the continuous run
                    scene.write(runs["continuous"][:, step])
                states.append(scene.step(control).clone())
            runs[mode] = torch.stack(states, 1)
        one, other = runs["continuous"], runs["rewritten"]
        turn = rotvec_from_quat(quat_mul(quat_conjugate(one[..., at.root_quat]), other[..., at.root_quat]))
        single = (runs["again"] - one).abs()[:, 1:]
        result[kind] = {
            "base_m": float((one - other)[..., at.root_pos].norm(dim=-1).mean()),
            "base_rad": float(turn.norm(dim=-1).mean()),
            "joints_rad": float((one - other)[..., at.joint_pos].abs().mean()),
            "steps_that_differ": float((single.amax(-1) > 1e-3).float().mean()),
            "joint_vel_99": float(single[..., at.joint_vel].amax(-1).quantile(0.99)),
        }
    env.close()
    return result


def main() -> int:
    """Measures and prints a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", default="NeRD-Ant-Run")
    parser.add_argument("--num-envs", type=int, default=128)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--json", help="file for the result")
    arguments = parser.parse_args()
    rows = measure(arguments.task, arguments.num_envs, arguments.steps)
    print("| control | base m | base rad | joints rad | steps off by 1e-3 | joint velocity off by, 99 %, rad/s |")
    print("|---|---:|---:|---:|---:|---:|")
    for kind, row in rows.items():
        print(
            f"| {kind} | {row['base_m']:.4f} | {row['base_rad']:.4f} | {row['joints_rad']:.4f} "
            f"| {100 * row['steps_that_differ']:.1f} % | {row['joint_vel_99']:.3f} |"
        )
    if arguments.json:
        facts = {"task": arguments.task, "num_envs": arguments.num_envs, "steps": arguments.steps}
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump({"host": platform.node(), "seed": 0, **facts, "rows": rows}, file, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
