# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Contacts between the bodies of a robot in the kernel: it says what PyTorch says."""

from __future__ import annotations

import copy
import itertools
import logging
from dataclasses import replace

import pytest
import torch

from nerd_core.contact.contacts import ContactModel, Contacts
from nerd_core.contact.grounds import PlaneGround
from nerd_core.mechanics.config import ConstraintLawName, MechanicsCfg
from nerd_core.mechanics.kernel import shape_pairs, verification
from nerd_core.mechanics.multibody import Multibody
from nerd_core.mechanics.self_contacts import SelfContacts
from nerd_core.mechanics.step import Mechanics
from nerd_core.robot.physical_parameters import PhysicalParameters
from nerd_core.robot.slots import box_slots, capsule_slots, sphere_slots
from nerd_core.robot.spec import RobotSpec
from support.robots import ant, driven, random_state, with_inertias

from .test_kernel import kernel_alone, mechanics_of, pytorch_alone, tree

pytest.importorskip("warp", reason="needs Warp, which Isaac Lab brings")

CFG = MechanicsCfg(substeps=4, hidden=16, slots=8, self_contacts=5)
COUNT, DEEPEST = 256, -0.03


def touching(spec: RobotSpec) -> RobotSpec:
    """The robot, of which all bodies may touch each other that no joint connects."""
    joined = {frozenset((body.name, body.parent)) for body in spec.bodies}
    pairs = itertools.combinations(sorted({slot.body for slot in spec.slots}), 2)
    return replace(spec, touching_bodies=tuple(pair for pair in pairs if frozenset(pair) not in joined))


def boxes(seed: int, floating: bool = True) -> RobotSpec:
    """A random tree of boxes, capsules and spheres."""
    spec, slots = tree(seed, floating), []
    for number, body in enumerate(spec.bodies):
        slots += [
            box_slots(body.name, (0.04, 0.06, 0.08), quat=(0.5, 0.5, 0.5, 0.5)),
            capsule_slots(body.name, 0.04, 0.08, (0.6, 0.8, 0.0)),
            sphere_slots(body.name, 0.06, (0.0, 0.05, 0.0)),
        ][number % 3]
    return replace(spec, slots=tuple(slots))


def limber() -> RobotSpec:
    """The Ant with joints that go so far that its legs reach each other and its torso."""
    spec = ant()
    return replace(spec, joints=tuple(replace(joint, lower=-2.2, upper=2.2) for joint in spec.joints))


ROBOTS = [
    pytest.param(touching(with_inertias(spec)), id=name)
    for name, spec in {
        "driven ant": driven(limber(), stiffness=20.0, damping=1.0, effort_limit=15.0),
        "boxes": boxes(1),
        "boxes on a fixed base": boxes(5, floating=False),
    }.items()
]


def situation(spec: RobotSpec, count: int = COUNT) -> tuple[torch.Tensor, torch.Tensor, Contacts]:
    """States with joints anywhere in their ranges, the bodies of most of them within each other by a few centimetres,
    in the air and on the ground, with controls and contacts.
    """
    state = random_state(spec, 20 * count, seed=4, spread=0.5)
    draw = torch.rand(len(state), len(spec.joints), generator=torch.Generator().manual_seed(3))
    lower, upper = (torch.tensor([getattr(each, name) for each in spec.joints]) for name in ("lower", "upper"))
    state[:, spec.state.joint_pos] = lower + draw * (upper - lower)
    multibody = Multibody(spec)
    gap = SelfContacts(multibody, 1, 0.04).nearest(multibody.frames(state[:, spec.state.joint_pos])).gap[0]
    state = state[(gap > DEEPEST) & (gap < 0.01)][:count]
    assert len(state) == count
    control = torch.randn(count, spec.control_dim, generator=torch.Generator().manual_seed(5))
    if spec.floating_base:
        state[:, 2] = torch.linspace(-0.2, 2.5, count)
    return state, control, ContactModel(spec)(state, PlaneGround.flat())


def without(spec: RobotSpec, cfg: MechanicsCfg) -> Mechanics:
    """Mechanics with the same numbers that does not look at contacts between bodies."""
    return mechanics_of(replace(spec, touching_bodies=()), cfg)


@pytest.mark.parametrize("law", ["engine", "fitted"])
@pytest.mark.parametrize("spec", ROBOTS)
def test_the_kernel_is_as_near_to_double_precision_as_pytorch(spec: RobotSpec, law: ConstraintLawName):
    """Where bodies meet, changes of state by the kernel are off from double precision by about as much as those by
    PyTorch, in the middle of all environments and in nine of ten. Without such contacts they would be others.
    """
    cfg = replace(CFG, constraint_law=law)
    mechanics, situated = mechanics_of(spec, cfg), situation(spec)
    said, by_pytorch = kernel_alone(mechanics, *situated), pytorch_alone(mechanics, *situated)
    apart = (by_pytorch - pytorch_alone(without(spec, cfg), *situated)).abs().amax(-1)
    meets = apart > 1.0e-2
    assert int(meets.sum()) > COUNT // 5
    state, control, contacts = situated
    exact = contacts.map(lambda x: x if x.dtype == torch.bool else x.double())
    truth = copy.deepcopy(mechanics).double()(state.double(), control.double(), exact).detach()
    size = 1.0 + truth.abs().amax(-1)
    for share in (0.5, 0.9):
        ours, theirs = (((each - truth).abs().amax(-1) / size)[meets].quantile(share) for each in (said, by_pytorch))
        assert ours < 3.0 * theirs + 2.0e-6, f"{share}: got {ours:.1e}, PyTorch is off by {theirs:.1e}"


def test_the_nearest_pairs_are_chosen_as_pytorch_does():
    """With room for fewer pairs than meet, those that are nearest are looked at, in the same order."""
    spec = touching(with_inertias(boxes(1)))
    cfg, situated = replace(CFG, self_contacts=2, hidden=0), situation(spec)
    mechanics, all_of_them = mechanics_of(spec, cfg), mechanics_of(spec, replace(cfg, self_contacts=20))
    expected = pytorch_alone(mechanics, *situated)
    said = kernel_alone(mechanics, *situated)
    size = 1.0 + expected.abs().amax(-1)
    assert ((said - expected).abs().amax(-1) / size).quantile(0.9) < 1.0e-3
    crowded = (pytorch_alone(all_of_them, *situated) - expected).abs().amax(-1) > 1.0e-2
    assert int(crowded.sum()) > 10


def test_spheres_around_shapes_leave_no_contact_out():
    """Of all pairs of shapes that are within reach, the spheres around them are near, too; and most pairs are not."""
    spec = touching(with_inertias(boxes(1)))
    state, multibody = situation(spec)[0], Multibody(spec)
    own = SelfContacts(multibody, 10_000, 0.04)
    frames = multibody.frames(state[:, spec.state.joint_pos])
    met = own.nearest(frames)  # all of them, in their order
    pair = torch.tensor([*own.segment_pair, *own.point_pair])
    tables, _ = shape_pairs.pair_tables(own, list(range(len(spec.slots))))
    near = []
    for row in tables:
        ends = [(row.first, row.centre), (row.second, row.other_centre)]
        places = [
            multibody.place_points(frames, torch.tensor([body]), torch.tensor([[*point]]).unsqueeze(-1))
            for body, point in ends
        ]
        near.append((places[0] - places[1]).norm(dim=1)[0] < row.near)
    near = torch.stack(near)
    in_reach = met.gap < met.reach
    assert int(in_reach.sum()) > 250
    assert bool(near[pair][in_reach].all())
    assert float(near.float().mean()) < 0.6


def test_forces_of_bodies_on_each_other_are_those_by_pytorch():
    """What bodies give each other is told as PyTorch tells it, and adds up to nothing where nothing else is touched."""
    spec = touching(with_inertias(limber()))
    state, control, contacts = situation(spec)
    state[:, 2] = 5.0
    contacts = ContactModel(spec)(state, PlaneGround.flat())
    mechanics = mechanics_of(spec, CFG)
    with torch.no_grad():
        _, said = mechanics.with_forces(state, control, contacts)
        assert all(mechanics._kernels.values()) and mechanics._kernels
        with verification.without_kernels():
            _, expected = mechanics.with_forces(state, control, contacts)
    size = expected.normal.norm(dim=-1).amax((1, 2))
    assert int((size > 1.0).sum()) > 30
    for ours, theirs in ((said.normal, expected.normal), (said.friction, expected.friction)):
        apart = (ours - theirs).norm(dim=-1).amax((1, 2)) / (1.0 + size)
        assert apart.quantile(0.9) < 1.0e-3
    total = (said.normal + said.friction).sum(2).norm(dim=-1).amax(1)
    assert bool((total < 1.0e-3 * (1.0 + size)).all())


def test_friction_of_bodies_is_what_their_shapes_have_in_the_mean():
    """Each environment's friction of slots acts between bodies, too: the mean of both, by the kernel as by PyTorch."""
    spec = touching(with_inertias(limber()))
    situated = situation(spec)
    table = 0.1 + torch.rand(COUNT, len(spec.slots), generator=torch.Generator().manual_seed(1))
    rows = PhysicalParameters(static_friction=table, dynamic_friction=0.8 * table)
    mechanics = mechanics_of(spec, replace(CFG, hidden=0))
    with torch.no_grad():
        said = mechanics(*situated, rows)
        assert all(mechanics._kernels.values()) and mechanics._kernels
        with verification.without_kernels():
            expected, other = mechanics(*situated, rows), mechanics(*situated)
    size = 1.0 + expected.abs().amax(-1)
    assert ((said - expected).abs().amax(-1) / size).quantile(0.9) < 1.0e-3
    assert float(((said - other).abs().amax(-1) / size).quantile(0.9)) > 1.0e-2


def test_gradients_go_through_pytorch_and_say_so(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch):
    """Where gradients are asked for, the step is PyTorch's, its derivatives are, too, and one line says why."""
    monkeypatch.setattr(verification, "_warned", set())
    spec = touching(with_inertias(limber()))
    state, control, contacts = situation(spec)
    state, control, contacts = state[:8], control[:8], contacts[:8]
    mechanics = mechanics_of(spec, CFG)
    asked = state.clone().requires_grad_()
    with caplog.at_level(logging.WARNING):
        mechanics(asked, control, contacts).sum().backward()
    assert "does not know contact between bodies of the robot" in caplog.text
    expected = state.clone().requires_grad_()
    with verification.without_kernels():
        mechanics(expected, control, contacts).sum().backward()
    assert asked.grad is not None and expected.grad is not None
    torch.testing.assert_close(asked.grad, expected.grad)


def test_a_kernel_that_misses_bodies_is_found_out(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch):
    """The trial of a kernel looks at states in which bodies meet: one that passes through them is not used."""
    monkeypatch.setattr(verification, "_warned", set())
    pairs = shape_pairs.pair_tables

    def far_apart(own: SelfContacts, places: list[int]) -> tuple[list, list]:
        tables, parts = pairs(own, places)
        for row in tables:
            row.near = 0.0
        return tables, parts

    from nerd_core.mechanics.kernel import robot

    monkeypatch.setattr(robot, "pair_tables", far_apart)
    mechanics = mechanics_of(touching(with_inertias(limber())), CFG)
    with caplog.at_level(logging.WARNING), torch.no_grad():
        mechanics(*situation(mechanics.spec, 32))
    assert "is off by" in caplog.text
    assert list(mechanics._kernels.values()) == [None]
