# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The adjoint of the kernel by physical parameters of environments: by all of them, in flight, contact and at stops."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest
import torch
from torch import Tensor

from nerd_core.contact.contacts import Contacts
from nerd_core.mechanics.kernel.verification import trial_parameters
from nerd_core.mechanics.step import Mechanics
from nerd_core.robot.physical_parameters import OWN_SHAPES, PhysicalParameters
from nerd_core.robot.spec import RobotSpec
from support.adjoint_cases import CASES, ENVS, apart, doubled, mechanics_of, situation, with_kernel

pytest.importorskip("warp", reason="needs Warp, which Isaac Lab brings")

WITHOUT_GRADIENT = {"joint_friction", "bounce_threshold"}
"""Parameters that decide which law holds, and have no gradient."""
USED = {
    "ant with rules": set(OWN_SHAPES) - {"effort_limit", "velocity_limit", "static_friction"},
    "engine: drives and damping, floating": set(OWN_SHAPES) - {"static_friction"},
    "drives and damping, fixed": set(OWN_SHAPES) - {"static_friction"},
}
"""Robots, and the parameters that matter to them; dynamic friction is that of all contacts that slide."""


@dataclass
class Situation:
    """States with controls, contacts and parameters of their own, and which of them are where."""

    state: Tensor
    control: Tensor
    contacts: Contacts | None
    rows: PhysicalParameters

    def to(self, dtype: torch.dtype) -> Situation:
        """The same in another precision, with parameters by which derivatives are taken."""
        contacts = doubled(self.contacts) if dtype == torch.double else self.contacts
        rows = self.rows.map(lambda each: each.to(dtype).detach().requires_grad_())
        return Situation(self.state.to(dtype), self.control.to(dtype), contacts, rows)

    def regimes(self, spec: RobotSpec) -> dict[str, Tensor]:
        """Which states are in flight, in contact, and at a stop."""
        pos, contact = self.state[:, spec.state.joint_pos], torch.zeros(len(self.state)).bool()
        lower, upper = self.rows.lower_limit, self.rows.upper_limit
        assert lower is not None and upper is not None
        stop = ((pos < lower) | (pos > upper)).any(-1)
        if self.contacts is not None:
            radius = torch.tensor([slot.radius for slot in spec.slots])
            contact = (self.contacts.active & (self.contacts.distance < radius)).any(-1)
        return {"flight": ~contact & ~stop, "contact": contact, "stop": stop}


def situated(name: str) -> tuple[Mechanics, Situation]:
    """Mechanics of a robot, and environments that differ in every parameter."""
    spec, cfg = CASES[name]
    generator = torch.Generator().manual_seed(9)

    def spread(parameter: str, values: Tensor) -> Tensor:
        values = values.expand(ENVS, *values.shape[1:]).clone()
        if parameter == "inertia":  # they stay symmetric
            return values * (0.9 + 0.2 * torch.rand(ENVS, values.shape[1], 1, 1, generator=generator))
        if parameter.startswith("external"):
            return values * torch.randn(values.shape, generator=generator)
        return values * (0.9 + 0.2 * torch.rand(values.shape, generator=generator))

    base = trial_parameters(spec, drives=True)
    rows = PhysicalParameters(**{each: spread(each, getattr(base, each)) for each in base.given})
    state, control, contacts = situation(spec)
    assert rows.lower_limit is not None and rows.upper_limit is not None
    within = rows.lower_limit + (0.3 + 0.4 * torch.rand(control.shape[0], len(spec.joints), generator=generator)) * (
        rows.upper_limit - rows.lower_limit
    )
    state[::2, spec.state.joint_pos] = within[::2]  # the others are at stops, most of them
    return mechanics_of(spec, cfg), Situation(state, control, contacts, rows)


def derivatives(step: Callable, at: Situation) -> dict[str, Tensor]:
    """Derivatives of a fixed sum of a step by all parameters, those by inertias as of symmetric ones."""
    said = step(at.state, at.control, at.contacts, at.rows)
    weights = torch.randn(said.shape, generator=torch.Generator().manual_seed(6)).to(said)
    tensors = [getattr(at.rows, name) for name in at.rows.given]
    found = torch.autograd.grad((weights * said).sum(), tensors, allow_unused=True)
    by = {name: torch.zeros_like(tensors[i]) if found[i] is None else found[i] for i, name in enumerate(at.rows.given)}
    return by | {"inertia": 0.5 * (by["inertia"] + by["inertia"].mT)}


def in_torch(mechanics: Mechanics) -> Callable:
    """The step of mechanics in PyTorch."""

    def step(state: Tensor, control: Tensor, contacts: Contacts | None, rows: PhysicalParameters) -> Tensor:
        return mechanics._change(state, mechanics.with_parameters(rows)._next_state(state, control, contacts))

    return step


@torch.no_grad()
def differences(step: Callable, at: Situation, name: str, direction: Tensor, size: float = 1.0e-6) -> Tensor:
    """Central differences of the same sum along a direction of one parameter, shape (ENVS,)."""
    weights, sides = None, []
    for sign in (1.0, -1.0):
        moved = {each: getattr(at.rows, each) for each in at.rows.given}
        moved[name] = moved[name] + sign * size * direction
        said = step(at.state, at.control, at.contacts, PhysicalParameters(**moved))
        weights = torch.randn(said.shape, generator=torch.Generator().manual_seed(6)).to(said)
        sides.append((weights * said).sum(-1))
    return (sides[0] - sides[1]) / (2.0 * size)


@pytest.mark.parametrize("name", [pytest.param(name, marks=[] if "ant" in name else pytest.mark.slow) for name in USED])
def test_derivatives_by_every_parameter_are_right_in_every_regime(name: str):
    """By each parameter, in flight, in contact and at stops: in double precision those of PyTorch are within 1e-5 of
    central differences, those of the kernel within 1e-2, in the median, and as near to double precision as those of
    PyTorch in single precision. Each robot but the Ant takes a minute to compile, and is slow.
    """
    mechanics, at = situated(name)
    exact, single, double = copy.deepcopy(mechanics).double(), at.to(torch.float32), at.to(torch.double)
    ours, theirs = derivatives(with_kernel(mechanics), single), derivatives(in_torch(copy.deepcopy(mechanics)), single)
    truth, regimes = derivatives(in_torch(exact), double), at.regimes(mechanics.spec)
    assert min(int(where.sum()) for where in regimes.values()) >= 4 or not mechanics.spec.floating_base
    generator, seen = torch.Generator().manual_seed(3), set()
    for parameter, expected in truth.items():
        usual = apart(theirs[parameter].double(), expected)
        limit = 5.0 * usual.quantile(0.75) + 5.0e-6
        assert apart(ours[parameter].double(), expected).quantile(0.75) < limit, parameter
        if parameter in WITHOUT_GRADIENT:
            assert not expected.any() and not ours[parameter].any()
            continue
        direction = torch.randn(expected.shape, generator=generator, dtype=torch.double)
        direction = 0.5 * (direction + direction.mT) if parameter == "inertia" else direction
        by_difference = differences(in_torch(exact), double, parameter, direction)
        for regime, where in regimes.items():
            moved = where & (by_difference.abs() > 1.0e-3 * by_difference.abs().max())
            if int(moved.sum()) < 4:
                continue
            seen.add(parameter)
            for kind, found, most in (("double", expected, 1.0e-5), ("single", ours[parameter].double(), 1.0e-2)):
                along = (found * direction).reshape(ENVS, -1).sum(-1)
                off = ((along - by_difference).abs() / by_difference.abs())[moved].median()
                assert off < most, f"{parameter}, {regime}, {kind}: off by {off:.1e}"
    assert seen >= USED[name] - WITHOUT_GRADIENT - {"upper_limit", "restitution"}, USED[name] - seen


def test_static_friction_is_differentiated_where_it_is_the_only_one():
    """Without dynamic friction, contacts slide by the static one: derivatives by it are those of double precision."""
    mechanics, at = situated("ant with rules")
    at.rows = replace(at.rows, dynamic_friction=None)
    ours = derivatives(with_kernel(mechanics), at.to(torch.float32))["static_friction"]
    exact = copy.deepcopy(mechanics).double()
    truth = derivatives(in_torch(exact), at.to(torch.double))["static_friction"]
    felt = truth.norm(dim=-1) > 0.0
    assert felt.sum() > ENVS // 4 and apart(ours.double(), truth)[felt].median() < 1.0e-3


def test_what_all_environments_share_gets_the_sum_of_their_derivatives():
    """A parameter with one row gets one row of derivatives: the sum of those of environments with rows of their own."""
    mechanics, at = situated("ant with rules")
    mass = torch.ones(1, len(mechanics.spec.bodies)) * 0.7
    found = []
    for rows in (mass, mass.expand(ENVS, -1)):
        rows = rows.clone().requires_grad_()
        said = with_kernel(mechanics)(at.state, at.control, at.contacts, PhysicalParameters(mass=rows))
        found.append(torch.autograd.grad(said.square().sum(), rows)[0])
    assert found[0].shape == mass.shape and torch.allclose(found[0], found[1].sum(0, keepdim=True), rtol=1e-4)


def test_a_default_that_becomes_double_does_no_harm():
    """Derivatives by parameters stay as they are when PyTorch's default becomes double after a kernel was tried."""
    mechanics, at = situated("drives and damping, fixed")
    contacts = None if at.contacts is None else at.contacts.map(lambda each: each[:8])
    few = Situation(at.state[:8], at.control[:8], contacts, at.rows.map(lambda each: each[:8])).to(torch.float32)
    step = with_kernel(mechanics)
    derivatives(step, at.to(torch.float32))  # the kernel is tried

    def by_mass() -> Tensor:
        assert few.rows.mass is not None
        return torch.autograd.grad(step(few.state, few.control, few.contacts, few.rows).sum(), few.rows.mass)[0]

    torch.set_default_dtype(torch.float64)
    try:
        found = by_mass()
    finally:
        torch.set_default_dtype(torch.float32)
    expected = by_mass()
    assert torch.equal(found, expected) and expected.abs().max() > 0.0
