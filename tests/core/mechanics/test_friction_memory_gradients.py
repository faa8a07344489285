# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Gradients with a memory of friction: by all that a step is made of, the memory included, in PyTorch and by the
kernel, and through roll-outs that carry it along.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache

import pytest
import torch
from torch import Tensor

from nerd_core.contact.contacts import ContactModel, Contacts
from nerd_core.contact.grounds import PlaneGround
from nerd_core.dynamics import rollout
from nerd_core.mechanics.config import MechanicsCfg
from nerd_core.mechanics.kept_traces import without_traces
from nerd_core.mechanics.step import Mechanics
from nerd_core.predictor.config import PredictorCfg
from nerd_core.predictor.mechanics_prior import MechanicsPriorCfg
from nerd_core.predictor.predictor import Predictor
from nerd_core.robot.frames import ChangeCodec
from support.adjoint_cases import apart
from support.robots import ant, random_state, with_inertias

pytest.importorskip("warp", reason="needs Warp, which Isaac Lab brings")

SPEC, TILT, ENVS = with_inertias(ant()), math.radians(12.0), 48
CFG = MechanicsCfg(hidden=4, slots=6)
PARTS = ("state", "control", "memory", "distance", "normal")
Step = Callable[[Tensor, Tensor, Contacts, Tensor], tuple[Tensor, Tensor]]


def slope(dtype: torch.dtype) -> PlaneGround:
    """The ground."""
    return PlaneGround(torch.tensor([[math.sin(TILT), 0.0, math.cos(TILT)]], dtype=dtype), torch.zeros(1, dtype=dtype))


@cache
def situation() -> tuple[Mechanics, Tensor, Tensor, Tensor]:
    """Mechanics with rules that say something, states of Ants 3 to 240 control steps after they were dropped onto a
    slope, where their feet were put down, and efforts.
    """
    generator = torch.manual_seed(5)  # of the rules, too
    mechanics = Mechanics(SPEC, ChangeCodec(SPEC), CFG)
    for each in mechanics.parameters():
        each.data += 0.02 * torch.randn(each.shape, generator=generator)
    state = random_state(SPEC, 12, seed=3, spread=0.2)
    at = SPEC.state
    state[:, at.root_pos] = torch.tensor([0.3, -0.2, 0.6])
    for part in (at.root_lin_vel, at.root_ang_vel, at.joint_vel):
        state[:, part] = 0.0
    memory, kept, slots = mechanics.new_memory(12, state), [], ContactModel(SPEC)
    for step in range(241):
        if step in (3, 60, 120, 240):
            kept.append((state, memory.clone()))
        contacts = slots(state, slope(torch.float32))
        change = mechanics.remembering(state, torch.zeros(12, SPEC.control_dim), contacts, memory)
        state = mechanics.codec.apply(state, change)
    states, memories = (torch.cat(each) for each in zip(*kept, strict=True))
    control = 0.3 * torch.randn(ENVS, SPEC.control_dim, generator=generator)
    anchors = (memories[..., :12].unflatten(2, (2, 6))[..., :3].norm(dim=-1) > 0.0).sum(1)
    assert (anchors[:, 0] > 0).sum() > ENVS // 3 and (anchors[:, 1] > 0).sum() > 3
    return mechanics, states, control, memories


def inputs_of(dtype: torch.dtype) -> dict[str, Tensor]:
    """All that a step is made of but weights, of a type."""
    _, state, control, memory = situation()
    state, control, memory = (each.to(dtype) for each in (state, control, memory))
    contacts = ContactModel(SPEC).to(dtype)(state, slope(dtype))
    return dict(zip(PARTS, (state, control, memory, contacts.distance, contacts.normal), strict=True))


def said_by(step: Step, at: dict[str, Tensor], counted: Tensor) -> Tensor:
    """Fixed sums of what a step says of each environment, the memory after it included, shape (M,)."""
    contacts = ContactModel(SPEC).to(at["state"].dtype)(at["state"].detach(), slope(at["state"].dtype))
    contacts = replace(contacts, distance=at["distance"], normal=at["normal"])
    change, memory = step(at["state"], at["control"], contacts, at["memory"])
    generator = torch.Generator().manual_seed(6)
    weights = [torch.randn(each.shape, generator=generator).to(each) for each in (change, memory)]
    parts = [(each * weight).flatten(1).sum(1) for each, weight in zip((change, memory), weights, strict=True)]
    return counted.to(change) * (parts[0] + parts[1])


def derivatives(
    step: Step, mechanics: Mechanics, dtype: torch.dtype, counted: Tensor
) -> tuple[dict[str, Tensor], Tensor]:
    """Derivatives of those sums by each part, and by all that is learned together."""
    at = {name: each.detach().requires_grad_() for name, each in inputs_of(dtype).items()}
    learned = list(mechanics.parameters())
    found = torch.autograd.grad(said_by(step, at, counted).sum(), [*at.values(), *learned])
    return dict(zip(PARTS, found, strict=False)), torch.cat([each.flatten() for each in found[len(PARTS) :]])


def in_torch(mechanics: Mechanics) -> Step:
    """The step in PyTorch, whatever kernels there are."""

    def step(state: Tensor, control: Tensor, contacts: Contacts, memory: Tensor) -> tuple[Tensor, Tensor]:
        next_state, after = mechanics._with_memory(state, control, contacts, memory)
        return mechanics._change(state, next_state), after

    return step


def test_derivatives_are_those_of_central_differences():
    """In double precision, by states (places on the ground follow the root), efforts, ground, memory and constants: a
    hundred thousandth off in the median, of all and of those whose feet were put down before.
    """
    mechanics = copy.deepcopy(situation()[0]).double()
    every, step = torch.ones(ENVS), in_torch(mechanics)
    found, _ = derivatives(step, mechanics, torch.double, every)
    at, generator = inputs_of(torch.double), torch.Generator().manual_seed(7)
    has_feet = at["memory"][..., :12].flatten(1).any(1)
    for name, expected in found.items():
        direction = torch.randn(expected.shape, generator=generator, dtype=torch.double)
        direction = direction * (at["memory"] != 0.0) if name == "memory" else direction
        along, size = (expected * direction).flatten(1).sum(1), 1.0e-7
        with torch.no_grad():
            ahead, behind = (
                said_by(step, {**at, name: at[name] + sign * size * direction}, every) for sign in (1.0, -1.0)
            )
        by_difference = (ahead - behind) / (2.0 * size)
        off = (along - by_difference).abs() / by_difference.abs().clamp(min=1.0e-6)
        matters = by_difference.abs() > 1.0e-3
        for kind in (has_feet,) if name == "memory" else (has_feet, ~has_feet):
            assert (kind & matters).sum() > 3, name
            assert off[kind & matters].median() < 1.0e-5, f"{name}: {off[kind & matters].median():.1e}"


def test_the_kernel_is_as_near_to_double_precision_as_pytorch():
    """By all parts, and by constants and rules: derivatives by the adjoint with a memory are off from double precision
    by about what rounding makes of those of PyTorch, whether traces are kept or made once more.
    """
    mechanics, *_ = situation()
    every, exact = torch.ones(ENVS), copy.deepcopy(mechanics).double()
    ours, _ = derivatives(mechanics.with_memory, mechanics, torch.float32, every)
    assert all(each is not None for each in mechanics._gradients.values()) and mechanics._gradients
    theirs, _ = derivatives(in_torch(mechanics), mechanics, torch.float32, every)
    truth, _ = derivatives(in_torch(exact), exact, torch.double, every)
    for part, expected in truth.items():
        off, usual = apart(ours[part], expected), apart(theirs[part], expected)
        for share in (0.5, 0.75):
            limit = 5.0 * usual.nan_to_num(math.inf).quantile(share) + 5.0e-6
            assert off.quantile(share) < limit, f"{part}, {share}: got {off.quantile(share):.1e}, limit {limit:.1e}"
    near = apart(theirs["state"], truth["state"]).maximum(apart(ours["state"], truth["state"])) < 1.0e-3
    assert near.sum() > ENVS // 2
    _, of_ours = derivatives(mechanics.with_memory, mechanics, torch.float32, near)
    _, of_truth = derivatives(in_torch(exact), exact, torch.double, near)
    assert (of_ours - of_truth).norm() < 3.0e-3 * of_truth.norm()
    with without_traces():
        again, _ = derivatives(mechanics.with_memory, mechanics, torch.float32, every)
    assert all(torch.equal(again[part], ours[part]) for part in PARTS)


def test_a_step_with_gradients_says_what_one_without_says():
    """Its next state and memory are the bits of a step that changes its memory in place; the memory before is kept."""
    mechanics, state, control, memory = situation()
    contacts, before = ContactModel(SPEC)(state, slope(torch.float32)), memory.clone()
    change, after = mechanics.with_memory(state, control.clone().requires_grad_(), contacts, memory)
    assert change.requires_grad and torch.equal(memory, before)
    with torch.no_grad():
        assert all(map(torch.equal, mechanics.with_memory(state, control, contacts, memory), (change, after)))
    expected = memory.clone()
    assert torch.equal(mechanics.remembering(state, control, contacts, expected), change)
    assert torch.equal(expected, after) and not torch.equal(after, before)


def test_roll_outs_carry_a_memory_and_their_gradients_go_through_it():
    """Three steps with a memory are those of a stepper with a cache; derivatives by efforts of the first of them agree
    with central differences in double precision, and are others where the memory is held.
    """
    _, state, control, memory = situation()
    predictor = Predictor(SPEC, PredictorCfg(network=None, prior=MechanicsPriorCfg(hidden=0, slots=6))).double()
    state, memory, ground = state[36:].double(), memory[36:].double(), slope(torch.double)
    controls = control[36:].double().unsqueeze(1).repeat(1, 3, 1)

    def rolled(first: Tensor) -> Tensor:
        held = torch.cat((first.unsqueeze(1), controls[:, 1:]), 1)
        states = rollout(predictor, state, held, ground, memory=memory)
        return states[:, -1, SPEC.state.root_pos].sum(-1)

    first, direction = controls[:, 0].clone().requires_grad_(), torch.ones_like(controls[:, 0])
    (found,) = torch.autograd.grad(rolled(first).sum(), first)
    along = (found * direction).sum(-1)
    with torch.no_grad():
        size = 1.0e-6
        by_difference = (rolled(first + size * direction) - rolled(first - size * direction)) / (2.0 * size)
    off = (along - by_difference).abs() / by_difference.abs().clamp(min=1.0e-9)
    assert off.median() < 1.0e-5
    held_back = state, memory
    for step in range(3):
        contacts = predictor.contacts(held_back[0], ground)
        effort = first if step == 0 else controls[:, step]
        prediction, _ = predictor.extend(held_back[0], effort, contacts, memory=held_back[1].detach())
        assert prediction.memory is not None
        held_back = predictor.next_state(held_back[0], prediction), prediction.memory
    torch.testing.assert_close(held_back[0][:, SPEC.state.root_pos].sum(-1), rolled(first))
    (without,) = torch.autograd.grad(held_back[0][:, SPEC.state.root_pos].sum(), first)
    assert ((without * direction).sum(-1) - along).abs().max() > 0.01 * along.abs().max()
    cache = predictor.init_cache(len(state))
    cache["prior_memory"].copy_(memory.unsqueeze(0))
    stepped = state
    for step in range(3):
        said = predictor.step(stepped, controls[:, step], predictor.contacts(stepped, ground), cache)
        stepped = predictor.next_state(stepped, said)
    torch.testing.assert_close(stepped[:, SPEC.state.root_pos].sum(-1), rolled(first).detach())
