# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Looks at a running task in ``physx`` mode: what a model can learn of its robot, and what it cannot follow."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from nerd_core.contact.contacts import ContactModel
from nerd_core.mechanics.step import require_known_forces
from nerd_core.robot.guard import StateGuard

from ..collect.action_reach import action_reach
from ..envs.randomised_properties import find_randomised_properties
from ..envs.unsupported_terms import NO_FORCES, GivenForces, find_unsupported_terms
from ..physics.ground import GroundError, find_ground
from ..physics.robot_description import control_range
from ..physics.robot_state import RobotState
from .diagnosis import Diagnosis, fine, obstacle, warning

if TYPE_CHECKING:
    from ..envs.nerd_env import NerdDynamics

SUNK = 0.01
"""How deep a robot may stand in the ground after a reset [m]; deeper, the solver throws it out."""


def check_task(env: NerdDynamics, task: str, agent: Any, model: GivenForces = NO_FORCES) -> list[Diagnosis]:
    """All checks of a task, in the order in which a person would mend them.

    Args:
        env: The environment, in ``physx`` mode, after its first reset.
        task: Its id.
        agent: The task's RSL-RL configuration; None where it has none.
        model: Which forces the model gives, if there is one already.
    """
    checks: tuple[Callable[[], list[Diagnosis]], ...] = (
        lambda: check_controls(env),
        lambda: check_actions(env, task, agent),
        lambda: check_mechanics(env),
        lambda: check_events(env),
        lambda: check_ground(env),
        lambda: check_first_states(env),
        lambda: check_terms(env, model),
    )
    try:
        spec = env.robot_spec
    except ValueError as error:
        return [obstacle("robot", str(error), "describe its joints and bodies as docs/bring-your-own-robot.md does")]
    kind = "floating" if spec.floating_base else "fixed"
    found = [fine("robot", f"{spec.name}: {kind} base, {len(spec.joints)} joints, {len(spec.slots)} contact slots")]
    for check in checks:
        found += check()
    return found


def check_controls(env: NerdDynamics) -> list[Diagnosis]:
    """Which targets the actions move, and whether an actuator keeps something that a model is not shown."""
    spec = env.robot_spec
    if not spec.controls:
        return [
            obstacle(
                "controls",
                "no target of an actuator responds to actions, so there is nothing to learn from",
                "name the articulation that the actions move: env.nerd.robot=NAME",
            )
        ]
    kinds = {kind: len(spec.control_slice(kind)[0]) for kind in ("effort", "position", "velocity")}
    told = ", ".join(f"{number} {kind}" for kind, number in kinds.items() if number)
    found = [fine("controls", f"actions move {told} targets")]
    hidden = [name for name, actuator in env.robot.actuators.items() if _has_memory(actuator)]
    if hidden:
        found.append(
            warning(
                "actuators",
                f"the actuators {', '.join(hidden)} keep a delay or a state of a network, which a single state "
                "does not show",
                "nerd train DATA --preset small (a network with a window)",
            )
        )
    return found


def check_actions(env: NerdDynamics, task: str, agent: Any) -> list[Diagnosis]:
    """Whether a policy's actions stay where data are collected."""
    if agent is None:
        return [warning("actions", "the task has no RSL-RL configuration: no policy can be trained by command", "")]
    clip = getattr(agent, "clip_actions", None)
    if clip is not None:
        return [fine("actions", f"policies act within +-{float(clip):g}")]
    reach = action_reach(task)
    low, high = control_range(env, env.robot, env.robot_spec, reach)
    return [
        warning(
            "actions",
            f"policies act without bound (agent.clip_actions is not set), while data hold actions of up to {reach:g}, "
            f"which move controls by at most {float((high - low).abs().max()):.3g}",
            f"nerd rl train ... agent.clip_actions={reach:g}",
        )
    ]


def check_mechanics(env: NerdDynamics) -> list[Diagnosis]:
    """Whether mechanics know all forces at the joints."""
    try:
        require_known_forces(env.robot_spec)
    except ValueError as error:
        return [warning("mechanics", str(error), "nerd train DATA (learns from motion alone)")]
    return [fine("mechanics", "all forces at the joints are known to mechanics: nerd train DATA --preset mechanics")]


def check_events(env: NerdDynamics) -> list[Diagnosis]:
    """Which events make the robots differ: a model knows one robot, and does not follow."""
    found = [
        warning(
            "events",
            f"{each} makes the robots differ, which no model follows; data hold it still",
            f"env.{each.path}=null",
        )
        for each in find_randomised_properties(env.cfg.events)
    ]
    return found or [fine("events", "every robot is the same one")]


def check_ground(env: NerdDynamics) -> list[Diagnosis]:
    """Whether contacts with the ground can be computed."""
    spec = env.robot_spec
    if not spec.slots:
        return [fine("ground", "the robot has no shapes that could touch the ground")]
    try:
        find_ground(env)
    except GroundError as error:
        return [obstacle("ground", str(error), "env.nerd.ignored_shapes=REGEX, where the robot never touches it")]
    bare = [body for body in spec.body_names if all(slot.body != body for slot in spec.slots)]
    if bare:
        return [fine("ground", f"known; these bodies have no shape and touch nothing: {', '.join(bare[:8])}")]
    return [fine("ground", "known, and every body has shapes that touch it")]


def check_first_states(env: NerdDynamics) -> list[Diagnosis]:
    """Whether the task's resets leave the robot in states that data and models can hold."""
    spec = env.robot_spec
    env.reset()
    state = RobotState(env.robot, spec, env.scene.env_origins).read().cpu()
    found = []
    refused = int((~StateGuard(spec)(state)).sum())
    if refused:
        found.append(
            obstacle(
                "first states",
                f"{refused} of {len(state)} resets leave the robot outside the bounds of its specification",
                "narrow the reset events of the task (env.events...), or widen the joints' limits in the asset",
            )
        )
    depth = _depth(env, state)
    if depth > SUNK:
        found.append(
            warning(
                "first states",
                f"after a reset the robot stands up to {depth:.3f} m deep in the ground, and the solver throws it out",
                "raise the robot: env.scene.robot.init_state.pos",
            )
        )
    return found or [fine("first states", f"{len(state)} resets lie within the bounds and above the ground")]


def check_terms(env: NerdDynamics, model: GivenForces = NO_FORCES) -> list[Diagnosis]:
    """Which terms read what only the solver gives.

    Args:
        env: The environment.
        model: Which forces the model gives, if there is one already.
    """
    never, by_head, by_nothing, now = (
        {term.path: term for term in find_unsupported_terms(env, env.robot, given)}
        for given in (GivenForces(True, True), GivenForces(True, False), NO_FORCES, model)
    )
    found = [obstacle("terms", f"{path} reads {term.reason}", term.override) for path, term in never.items()]
    fed = [path for path in by_nothing if path not in now]
    if fed:
        found.append(fine("terms", f"{', '.join(fed)} read forces, which this model gives"))
    learned = [path for path in now if path not in by_head]
    if learned:
        found.append(
            warning(
                "terms",
                f"{', '.join(learned)} read contact forces, which a model gives with mechanics, or if it learns them",
                "nerd train DATA --preset mechanics, or "
                "nerd generate ... --contacts both; nerd train DATA --force-head",
            )
        )
    computed = [path for path in now if path not in never and path not in learned]
    if computed:
        found.append(
            warning(
                "terms",
                f"{', '.join(computed)} read what only the solver and models with mechanics compute",
                "nerd train DATA --preset mechanics",
            )
        )
    return found or [fine("terms", "no term reads what only the solver gives")]


def _has_memory(actuator: Any) -> bool:
    """Whether the effort of an actuator depends on more than state and target of this step."""
    kinds = {cls.__name__ for cls in type(actuator).__mro__}
    return bool(kinds & {"DelayedPDActuator", "RemotizedPDActuator", "ActuatorNetMLP", "ActuatorNetLSTM"})


def _depth(env: NerdDynamics, state: torch.Tensor) -> float:
    """How deep the deepest slot of any environment is in the ground [m]; 0 where none is, or none can be known."""
    spec = env.robot_spec
    if not spec.slots:
        return 0.0
    try:
        ground = find_ground(env).to("cpu")
    except GroundError:
        return 0.0
    contacts = ContactModel(spec)(state, ground)
    radius = torch.tensor([slot.radius for slot in spec.slots])
    gap = torch.where(contacts.active, contacts.distance - radius, torch.inf)
    return max(0.0, -float(gap.min()))
