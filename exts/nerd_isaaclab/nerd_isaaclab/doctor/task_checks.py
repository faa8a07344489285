# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Looks at a running task in ``physx`` mode: what a model can learn of its robot, and what it cannot follow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from nerd_core.contact.contacts import ContactModel
from nerd_core.mechanics.actuators import Actuators, is_explicit
from nerd_core.mechanics.known_forces import require_known_forces
from nerd_core.robot.guard import StateGuard
from nerd_core.robot.spec import Joint

from ..collect.action_reach import action_reach
from ..collect.initial_states import SLIDE_SPEED, InitialStateCfg
from ..envs.randomised_properties import find_randomised_properties
from ..envs.unsupported_terms import NO_FORCES, GivenForces, find_unsupported_terms
from ..physics.ground import GroundError, find_ground
from ..physics.robot_description import control_range
from ..physics.robot_state import RobotState
from .diagnosis import Diagnosis, fine, obstacle, warning

if TYPE_CHECKING:
    from ..envs.nerd_env import NerdDynamics

STEPS, HELD = 20, 5
"""Control steps in which drives are looked at, and steps for which an action is held [1]."""

LIMITED = 0.5
"""Share of steps at the drives' limits above which actions say little of the motion."""

NAMED = 8
"""Joints that are named, of many."""

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
        lambda: check_ranges(env),
        lambda: check_mechanics(env),
        lambda: check_self_collisions(env),
        lambda: check_events(env),
        lambda: check_ground(env),
        lambda: check_first_states(env),
        lambda: check_terms(env, model),
    )
    of_actions: tuple[Callable[[], list[Diagnosis]], ...] = (
        lambda: check_actions(env, task, agent),
        lambda: check_drives(env, task),
    )
    try:
        spec = env.robot_spec
    except ValueError as error:
        return [obstacle("robot", str(error), "describe its joints and bodies as docs/bring-your-own-robot.md does")]
    kind = "floating" if spec.floating_base else "fixed"
    found = [fine("robot", f"{spec.name}: {kind} base, {len(spec.joints)} joints, {len(spec.slots)} contact slots")]
    if spec.joints:  # nothing acts on a free body
        checks = (checks[0], *of_actions, *checks[1:])
    for check in checks:
        found += check()
    return found


def check_controls(env: NerdDynamics) -> list[Diagnosis]:
    """Which targets the actions move."""
    spec = env.robot_spec
    if not spec.joints:
        return [fine("controls", "a free body without joints moves by itself: nothing acts on it")]
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
    return [fine("controls", f"actions move {told} targets")]


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


def check_drives(env: NerdDynamics, task: str) -> list[Diagnosis]:
    """Whether drives keep something that a model is not shown, and whether they can do what actions ask of them."""
    spec = env.robot_spec
    kinds = Counter("no actuator" if joint.actuator is None else joint.actuator.kind for joint in spec.joints)
    found = []
    if hidden := Actuators(spec).remembering:
        found.append(
            warning(
                "drives",
                f"the actuators of {_named(hidden)} keep a delay or a state of a network, or have a law of their own, "
                "which a single state does not show",
                "nerd models init --task TASK (mechanics asks the task's actuators), or nerd train DATA --preset small "
                "(a network with a window)",
            )
        )
    share = _at_limits(env, action_reach(task))
    if share > LIMITED:
        found.append(
            warning(
                "drives",
                f"with random actions drives are at their limits in {100 * share:.0f} % of all steps, where an action "
                "changes nothing",
                "a smaller scale of the action terms (env.actions...scale), or larger limits of the actuators",
            )
        )
    told = ", ".join(f"{count} {kind}" for kind, count in kinds.items() if kind != "none")
    text = f"{told or 'no joint is driven'}; at their limits in {100 * share:.0f} % of all steps with random actions"
    return found or [fine("drives", text)]


def check_ranges(env: NerdDynamics) -> list[Diagnosis]:
    """Whether limits of joints say how far and how fast data shall go."""
    defaults = InitialStateCfg()
    open_ended = [
        joint.name for joint in env.robot_spec.joints if joint.kind == "prismatic" and _is_open(joint, defaults.slide)
    ]
    if not open_ended:
        return [fine("ranges", "limits of the joints say how far and how fast data go")]
    return [
        warning(
            "ranges",
            f"{_named(open_ended)} slide without limits: data begin up to {defaults.slide:g} m away, at up to "
            f"{SLIDE_SPEED:g} m/s",
            "nerd generate ... --ranges slide=METRES slide_vel=METRES_PER_SECOND",
        )
    ]


def check_mechanics(env: NerdDynamics) -> list[Diagnosis]:
    """Whether mechanics know all forces at the joints."""
    try:
        require_known_forces(env.robot_spec)
    except ValueError as error:
        return [warning("mechanics", str(error), "nerd train DATA (learns from motion alone)")]
    return [fine("mechanics", "all forces at the joints are known to mechanics: nerd train DATA --preset mechanics")]


def check_self_collisions(env: NerdDynamics) -> list[Diagnosis]:
    """Whether bodies of the robot may touch each other, which models see only if they are asked to."""
    pairs = env.robot_spec.touching_bodies
    if not pairs:
        return [fine("self-collision", "bodies of the robot do not touch each other")]
    return [
        warning(
            "self-collision",
            f"{len(pairs)} pairs of bodies of the robot may touch each other ({'-'.join(pairs[0])}, ...); networks do "
            "not see that, and mechanics only where it is asked to",
            "nerd train DATA --preset mechanics --prior.self-contacts 4, or, in the task's "
            "configuration, enabled_self_collisions=False among spawn.articulation_props of its robot",
        )
    ]


def check_events(env: NerdDynamics) -> list[Diagnosis]:
    """Which events make the robots differ, and which kind of model follows."""
    has_laws = any(is_explicit(joint) for joint in env.robot_spec.joints)
    found = []
    for each in find_randomised_properties(env.cfg.events):
        if each.is_followed(has_laws):
            who, way = "mechanics follow, a network does not", "nerd train DATA --preset mechanics, or "
        else:
            who, way = "no model follows", ""
        text = f"{each} makes the robots differ, which {who}; data hold it still"
        found.append(warning("events", text, f"{way}env.{each.path}=null"))
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


def _named(names: list[str]) -> str:
    """Some names, the first few of many."""
    return ", ".join(names[:NAMED]) + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")


def _is_open(joint: Joint, farthest: float) -> bool:
    """Whether neither limits nor a largest speed say where a joint may be."""
    return max(-joint.lower, joint.upper) > farthest and joint.velocity_limit > SLIDE_SPEED


def _at_limits(env: NerdDynamics, reach: float) -> float:
    """Share of steps and driven joints in which a drive cannot give the effort that its law asks for."""
    generator = torch.Generator().manual_seed(0)
    size = (env.num_envs, env.action_manager.total_action_dim)
    cut, asked = 0, 0
    action = torch.zeros(size, device=env.device)
    with torch.inference_mode():
        for step in range(STEPS):
            if step % HELD == 0:
                action = (reach * (2.0 * torch.rand(size, generator=generator) - 1.0)).to(env.device)
            env.step(action)
            computed, applied = (getattr(env.robot.data, name).torch for name in ("computed_torque", "applied_torque"))
            cut += int(((computed - applied).abs() > 1e-3 * computed.abs()).sum())
            asked += int((computed != 0.0).sum())
    return cut / max(asked, 1)


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
