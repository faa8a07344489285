# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The contacts of a free body are patches: friction acts at two anchors, and feels what presses all of the shape."""

from __future__ import annotations

import logging
from dataclasses import replace

import pytest
import torch

from nerd_core.contact.contacts import ContactModel, Contacts
from nerd_core.contact.grounds import PlaneGround
from nerd_core.mechanics.config import MechanicsCfg
from nerd_core.mechanics.constants import Constant
from nerd_core.mechanics.contact_patches import find_patches
from nerd_core.mechanics.step import Mechanics
from nerd_core.robot.frames import ChangeCodec, quat_from_rotvec
from nerd_core.robot.materials import Material
from nerd_core.robot.physical_parameters import PhysicalParameters
from nerd_core.robot.slots import box_slots, capsule_slots, shapes_of_slots, sphere_slots
from nerd_core.robot.spec import Body, Inertia, RobotSpec

HALF, MASS, DT, FRICTION = 0.05, 0.4, 1.0 / 240.0, 0.2
RULES = MechanicsCfg(hidden=8, slots=16)
UNTRAINED = MechanicsCfg(hidden=0)


def box(pieces: int = 1) -> RobotSpec:
    """A cube of 10 cm; of two pieces a dumbbell of two of them, with a ball between."""
    places = [(0.0, 0.0, 0.0)] if pieces == 1 else [(-0.1, 0.0, 0.0), (0.1, 0.0, 0.0)]
    slots = [slot for place in places for slot in box_slots("box", (HALF, HALF, HALF), place)]
    slots += sphere_slots("box", 0.03) if pieces > 1 else ()
    material = Material(FRICTION, FRICTION)
    moment = MASS * (2.0 * HALF) ** 2 / 6.0 * (1.0 if pieces == 1 else 10.0)
    return RobotSpec(
        name="box",
        floating_base=True,
        joints=(),
        bodies=(Body("box", inertia=Inertia(MASS, moments=(moment, moment, moment))),),
        controls=(),
        physics_dt=DT,
        decimation=2,
        slots=tuple(replace(slot, material=material) for slot in slots),
        ground=material,
        position_iterations=4,
    )


def mechanics_of(spec: RobotSpec, cfg: MechanicsCfg = UNTRAINED) -> Mechanics:
    """Mechanics, with rules that bend strongly where there are any."""
    torch.manual_seed(0)
    mechanics = Mechanics(spec, ChangeCodec(spec), cfg)
    with torch.no_grad():
        for param in mechanics.solver.rules.parameters():
            param.add_(0.3 * torch.randn_like(param))
    return mechanics


def tossed(spec: RobotSpec, count: int, seed: int = 0) -> torch.Tensor:
    """States near the ground, half of them flat on it; sliding, falling and turning."""
    generator = torch.Generator().manual_seed(seed)
    state = torch.zeros(count, spec.state.dim)
    tilt = 0.4 * torch.randn(count, 3, generator=generator)
    tilt[::2, :2] = 0.0
    state[:, spec.state.root_quat] = quat_from_rotvec(tilt)
    lowest = ContactModel(spec).slot_points(state)[..., 2].amin(1)
    state[:, 2] = -lowest + 0.004 * torch.rand(count, generator=generator) - 0.001
    state[:, spec.state.root_lin_vel] = torch.randn(count, 3, generator=generator)
    state[:, spec.state.root_ang_vel] = 2.0 * torch.randn(count, 3, generator=generator)
    return state


def contacts_of(spec: RobotSpec, state: torch.Tensor) -> Contacts:
    """Contacts with flat ground."""
    return ContactModel(spec)(state, PlaneGround.flat())


def test_slots_know_their_shapes():
    """Eight corners are a box, two ends a capsule, one centre a ball; the next box of a body is another shape."""
    slots = (*box_slots("a", (1.0, 1.0, 1.0)), *box_slots("a", (1.0, 1.0, 1.0), (3.0, 0.0, 0.0)))
    slots += (*capsule_slots("a", 0.1, 1.0), *capsule_slots("a", 0.1, 2.0), *sphere_slots("a", 0.1))
    slots += (*sphere_slots("b", 0.1),)
    assert shapes_of_slots(slots) == [0] * 8 + [1] * 8 + [2] * 2 + [3] * 2 + [4, 5]


@pytest.mark.parametrize(
    ("touching", "anchors"),
    [((0, 2, 4, 6), {2, 4}), ((0, 1, 4, 5), {1, 4}), ((4, 5, 6, 7), {5, 6}), ((4, 6), {4, 6}), ((4, 5, 7), {4, 7})],
)
def test_anchors_of_a_box_are_those_of_the_engine(touching: tuple[int, ...], anchors: set[int]):
    """Of a face two corners across carry its friction, always the same two; of an edge both ends; of three corners the
    two that are farthest apart. Each may have half.
    """
    points = torch.tensor([slot.point for slot in box_slots("box", (HALF, HALF, HALF))]).unsqueeze(-1)
    in_reach = torch.zeros(8, 1)
    in_reach[list(touching)] = 1.0
    share = find_patches(points, torch.zeros(8, 1, dtype=torch.long), in_reach).share.squeeze(-1)
    assert {number for number, each in enumerate(share.tolist()) if each == 0.5} == anchors
    assert float(share.sum()) == 1.0


def test_a_box_is_looked_at_from_further_away_the_thicker_it_is():
    """A gap counts from two centimetres and two hundredths of the shortest edge on: the engine's contact offsets."""
    spec = replace(box(), slots=box_slots("box", (0.05, 0.1, 0.2)))
    assert mechanics_of(spec).solver.contacts.reach.tolist() == pytest.approx([0.02 + 0.02 * 0.1] * 8)


def test_a_single_contact_has_all_friction_of_its_patch_and_shapes_do_not_share():
    """A corner that touches alone has the whole share; two shapes have one patch each."""
    in_reach = torch.zeros(9, 1)
    in_reach[[3, 8]] = 1.0
    shapes = torch.tensor([0] * 8 + [1]).unsqueeze(-1)
    patches = find_patches(torch.randn(9, 3, 1), shapes, in_reach)
    assert patches.share.squeeze(-1).tolist() == [0, 0, 0, 1, 0, 0, 0, 0, 1]
    assert float(patches.same[3, 8]) == 0.0 and float(patches.same[3, 2]) == 1.0


def test_a_box_that_slides_is_braked_by_its_weight_once():
    """On a face, sliding, a cube loses the friction coefficient times gravity, whichever corners carry the friction."""
    spec = box()
    state = torch.zeros(1, spec.state.dim)
    state[:, spec.state.root_quat.stop - 1], state[:, 2], state[:, spec.state.root_lin_vel.start] = 1.0, HALF, 2.0
    mechanics, seconds = mechanics_of(spec), 0.0
    for _ in range(24):
        state = mechanics.codec.apply(state, mechanics(state, torch.zeros(1, 0), contacts_of(spec, state))).detach()
        seconds += spec.decimation * DT
    assert float(state[0, spec.state.root_lin_vel.start]) == pytest.approx(2.0 - FRICTION * 9.81 * seconds, abs=2e-3)
    assert float(state[0, 2]) == pytest.approx(HALF, abs=2e-4)


def test_constraints_of_a_free_body_are_rigid():
    """An impact of a ball ends at once, where the constraints of an articulation fall short by their compliance."""
    spec = replace(box(), slots=sphere_slots("box", HALF), gravity=(0.0, 0.0, 0.0), ground=None)
    state = torch.zeros(1, spec.state.dim)
    state[:, spec.state.root_quat.stop - 1], state[:, 2], state[:, spec.state.root_lin_vel.stop - 1] = 1.0, HALF, -1.0
    mechanics = mechanics_of(spec)
    after = mechanics.codec.apply(state, mechanics(state, torch.zeros(1, 0), contacts_of(spec, state)).detach())
    assert float(after[0, spec.state.root_lin_vel.stop - 1]) == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("pieces", [1, 2])
@pytest.mark.parametrize("cfg", [UNTRAINED, RULES], ids=["constants", "rules"])
def test_the_kernel_says_what_pytorch_says(pieces: int, cfg: MechanicsCfg):
    """A step of a box, and of a body of several shapes, is the same in the kernel, with and without rules."""
    pytest.importorskip("warp", reason="needs Warp, which Isaac Lab brings")
    spec = box(pieces)
    mechanics, state = mechanics_of(spec, replace(cfg, slots=16)), tossed(spec, 200)
    control, contacts = torch.zeros(len(state), 0), contacts_of(spec, state)
    with torch.no_grad():
        step = mechanics._step_for(state, control, contacts, None)
        assert step != mechanics._next_state, "the kernel was not made, or did not agree"
        apart = (step(state, control, contacts) - mechanics._next_state(state, control, contacts)).abs().amax(-1)
    assert float(apart.quantile(0.95)) < 1e-5, "where a corner is just in reach rounding decides, elsewhere it does not"


def test_friction_and_restitution_of_environments_are_taken_by_both():
    """Friction and restitution of each environment act alike in the kernel and in PyTorch, and act at all."""
    pytest.importorskip("warp", reason="needs Warp, which Isaac Lab brings")
    spec = box()
    mechanics, state = mechanics_of(spec), tossed(spec, 64)
    contacts, slots = contacts_of(spec, state), len(spec.slots)
    given = PhysicalParameters(
        static_friction=torch.linspace(0.0, 1.0, 64)[:, None].repeat(1, slots),
        dynamic_friction=torch.linspace(0.0, 0.8, 64)[:, None].repeat(1, slots),
        restitution=torch.linspace(0.0, 0.6, 64)[:, None].repeat(1, slots),
    )
    rows, control = given.rows(spec, (64,), state), torch.zeros(64, 0)
    with torch.no_grad():
        step = mechanics._step_for(state, control, contacts, rows)
        expected = mechanics.with_parameters(rows)._next_state(state, control, contacts)
        apart = (step(state, control, contacts) - expected).abs().amax(-1)
        plain = mechanics._next_state(state, control, contacts)
    assert float(apart.quantile(0.9)) < 1e-5
    assert float((expected - plain).abs().amax(-1)[32:].quantile(0.75)) > 1e-2, "it must matter for those that touch"


def test_gradients_flow_through_pytorch_and_one_line_says_so(caplog: pytest.LogCaptureFixture):
    """Derivatives by the learned constants agree with central differences; the kernel's adjoint knows no patches."""
    spec = box()
    mechanics, state = mechanics_of(spec).double(), tossed(spec, 16).double()
    contacts = contacts_of(spec, state.float()).map(lambda each: each.double() if each.is_floating_point() else each)
    sliding = state.clone()
    sliding[:, spec.state.root_lin_vel] = torch.tensor([2.0, 1.0, -0.5], dtype=torch.double)

    def result() -> torch.Tensor:
        return mechanics(sliding, torch.zeros(16, 0, dtype=torch.double), contacts).square().sum()

    constants = mechanics.solver.constants
    gradient = torch.autograd.grad(result(), constants)[0][Constant.FRICTION_COEFFICIENT]
    with torch.no_grad():
        found = []
        for step in (1e-6, -2e-6):
            constants[Constant.FRICTION_COEFFICIENT] += step
            found.append(result())
    assert float(gradient) == pytest.approx(float(found[0] - found[1]) / 2e-6, rel=1e-4)
    pytest.importorskip("warp", reason="needs Warp, which Isaac Lab brings")
    single, caplog_level = mechanics_of(spec), logging.WARNING
    with caplog.at_level(caplog_level):
        single(state.float(), torch.zeros(16, 0), contacts_of(spec, state.float())).sum().backward()
    assert "contacts that are patches" in caplog.text
