# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The process in which robots change while a model is their shadow.

:func:`nerd_isaaclab.evaluation.adaptation.run_trial` starts it.
"""

from __future__ import annotations

import math
import statistics
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from nerd_core.files.serialization import from_plain, to_plain

from ..launch.engine_process import Report, serve
from ..launch.physx_task import physx_task, set_seed

if TYPE_CHECKING:
    from nerd_core.predictor.predictor import Predictor
    from nerd_core.robot.spec import RobotSpec

MOTION = "motion.safetensors"
"""File of the recorded motion."""

PAYLOAD, HALF = 0.2, math.log(0.5)
"""Mass that is added, as a share of the robot's, and the logarithm of what is left of friction and strength."""

HELD_SECONDS = 1.0 / 6.0
"""How long an action is held [s]."""

COST_STEPS, COST_TURNS = 40, 6
"""Steps with and without adaptation of a turn, so many that each robot is looked at in them, and turns by which its
cost is measured."""

SAME = 1.0e-2
"""Difference of estimates in the loop from those that the recorded motion gives: states are rounded on their way."""


def shadow_model(spec: RobotSpec) -> Predictor:
    """Mechanics of a robot with the constants that training begins with.

    Args:
        spec: The robot.
    """
    from nerd_core.predictor.config import PredictorCfg
    from nerd_core.predictor.mechanics_prior import MechanicsPriorCfg
    from nerd_core.predictor.predictor import Predictor

    return Predictor(spec, PredictorCfg(network=None, prior=MechanicsPriorCfg(hidden=0))).eval()


def work(plain: dict[str, Any], report: Report) -> dict[str, Any]:
    """Records the motion of robots that change.

    Args:
        plain: The configuration and the folder for the motion, as plain values.
        report: Takes nothing.

    Returns:
        The :class:`~nerd_isaaclab.evaluation.adaptation.Recorded` as plain values.
    """
    from nerd_core import checkpoint
    from nerd_core.adaptation.trial import Motion, follow
    from nerd_core.checkpoint_names import find_checkpoint
    from nerd_core.contact.grounds import PlaneGround
    from nerd_core.dynamics import NeuralDynamics
    from nerd_core.files.safe_tensors import tensor_bytes

    from ..physics.robot_state import RobotState
    from .adaptation import Recorded, TaskTrialCfg

    cfg = from_plain(TaskTrialCfg, plain["cfg"])
    count = cfg.envs * len(cfg.changes)
    with physx_task(cfg.task, cfg.physics, "cpu", count, cfg.overrides, endless) as env:
        env.reset(seed=cfg.seed)
        env.nerd_cfg.adapt, env.nerd_cfg.neural_share = "+".join(cfg.settings.words), 0.0
        env.nerd_cfg.adapt_every, env.nerd_cfg.adapt_budget = cfg.settings.every, cfg.settings.budget
        spec = env.robot_spec
        model = shadow_model(spec) if cfg.model is None else checkpoint.load(find_checkpoint(cfg.model), spec).eval()
        ground = PlaneGround.flat(0.0)
        env.use_dynamics(NeuralDynamics(model, count, ground=ground))
        env.set_nerd_mode("mixed")
        same = torch.arange(cfg.envs).repeat(len(cfg.changes))
        steps, changed_at = round(cfg.seconds / env.step_dt), round(cfg.at / env.step_dt)
        actions = _actions(cfg.seed, cfg.envs, steps, env)[same] * cfg.reach
        states, controls, truth, own = [], [], {}, []
        for step in range(steps):
            if step == changed_at:
                truth = {
                    change: apply_change(env, change, torch.arange(i * cfg.envs, (i + 1) * cfg.envs))
                    for i, change in enumerate(cfg.changes)
                }
            env.step(actions[:, step])
            state, control = env.nerd.began_with
            states.append(state.clone())
            controls.append(control.clone())
            own.append(env.nerd.adaptation.numbers.clone())
        states.append(RobotState(env.robot, spec, env.scene.env_origins).read())
        cost = _cost(env, actions[:, -1])
        motion = Motion(torch.stack(states, 1), torch.stack(controls, 1), ground)
        again, _, _ = follow(model, motion, env.nerd.adaptation.cfg)
        agree = bool(((again - torch.stack(own)).abs() < SAME).float().mean() > 0.99)
        content = tensor_bytes({"states": motion.states, "controls": motion.controls})
        (Path(plain["out"]) / MOTION).write_bytes(content)
        return to_plain(Recorded(spec.to_json(), truth, changed_at, cost, agree))


def apply_change(env: Any, change: str, env_ids: torch.Tensor, joint: str | None = None) -> dict[str, float]:
    """Changes some robots in the engine, and says which numbers they have from then on.

    Args:
        env: The environment.
        change: What changes, of :data:`~nerd_isaaclab.evaluation.adaptation.CHANGES`.
        env_ids: Environments to change.
        joint: Joint whose motor weakens, by default the one in the middle of the list.
    """
    from nerd_core.adaptation.directions import loaded_body

    robot, ids, spec = env.robot, env_ids.int(), env.robot_spec
    if change == "payload":
        mass = robot.data.body_mass.torch.reshape(env.num_envs, -1)[env_ids].clone()
        loaded = list(robot.body_names).index(spec.body_names[loaded_body(spec)])
        mass[:, loaded] += PAYLOAD * mass.sum(1)
        robot.set_masses_index(masses=mass, body_ids=list(range(robot.num_bodies)), env_ids=ids)
        return {"payload": PAYLOAD}
    if change == "motor":
        joint = spec.joint_names[len(spec.joints) // 2] if joint is None else joint
        column = list(robot.joint_names).index(joint)
        for name in ("stiffness", "damping"):
            value = getattr(robot.data, f"joint_{name}").torch[env_ids].clone()
            value[:, column] *= 0.5
            getattr(robot, f"write_joint_{name}_to_sim_index")(**{name: value, "env_ids": ids})
        return {f"motors/{joint}": HALF}
    return _halve_friction(env, env_ids) if change == "friction" else {}


def _halve_friction(env: Any, env_ids: torch.Tensor) -> dict[str, float]:
    """Halves the friction of the last foot together with the ground."""
    import warp as wp
    from isaaclab_ov import tensor_types

    from ..physics.ground import GroundError
    from ..physics.robot_description import shape_of_slots

    spec = env.robot_spec
    slot = len(spec.slots) - 1
    material, ground = spec.slots[slot].material, spec.ground
    if material is None or ground is None or material.friction_combine != "average":
        raise GroundError("got materials that are not averaged, expected average: halve friction in another task")
    now = 0.5 * (material.static_friction + ground.static_friction)
    wanted = 2.0 * (0.5 * now) - ground.static_friction
    view, shape = env.robot.root_view, shape_of_slots(env, env.robot)[slot]
    held = wp.to_torch(view.get_attribute(tensor_types.SHAPE_FRICTION_AND_RESTITUTION)).clone()
    held[env_ids.to(held.device), shape, :2] = max(wanted, 0.0)
    view.set_attribute(tensor_types.SHAPE_FRICTION_AND_RESTITUTION, wp.from_torch(held))
    return {
        f"friction/{spec.slots[slot].body}": HALF if wanted >= 0.0 else math.log(0.5 * ground.static_friction / now)
    }


def endless(env_cfg: Any) -> None:
    """A change of the task: all robots are the same, and no episode ends."""
    from ..envs.randomised_properties import hold_still

    set_seed(env_cfg)
    hold_still(env_cfg.events)
    for name in vars(env_cfg.terminations):
        setattr(env_cfg.terminations, name, None)
    env_cfg.episode_length_s = 1.0e6


def _actions(seed: int, envs: int, steps: int, env: Any) -> torch.Tensor:
    """Random actions that are held, shape (envs, steps, A)."""
    held = max(1, round(HELD_SECONDS / env.step_dt))
    generator = torch.Generator().manual_seed(seed)
    drawn = 2.0 * torch.rand(envs, steps // held + 1, env.action_manager.total_action_dim, generator=generator) - 1.0
    return drawn.repeat_interleave(held, 1)[:, :steps]


def _cost(env: Any, action: torch.Tensor) -> float | None:
    """What adaptation adds to a step, as a share: the median over turns of steps with it and without it."""
    physics, follower = env.nerd, env.nerd.adaptation
    shares = []
    for _ in range(COST_TURNS):
        seconds = []
        for physics.adaptation in (None, follower):
            begin = time.process_time()
            for _ in range(COST_STEPS):
                env.step(action)
            seconds.append(time.process_time() - begin)
        shares.append(seconds[1] / seconds[0] - 1.0 if seconds[0] > 0.0 else float("nan"))
    physics.adaptation = follower
    found = statistics.median(shares)
    return found if math.isfinite(found) else None


if __name__ == "__main__":
    sys.exit(serve(work))
