# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Bodies of a robot touch each other where its specification says that they may, and mechanics is asked to look."""

from __future__ import annotations

import logging
import math
from dataclasses import replace

import pytest
import torch

from nerd_core.contact.contacts import ContactModel
from nerd_core.contact.grounds import PlaneGround
from nerd_core.mechanics import engine_settings
from nerd_core.mechanics.config import MechanicsCfg
from nerd_core.mechanics.kernel import verification
from nerd_core.mechanics.multibody import Multibody
from nerd_core.mechanics.self_contacts import SelfContacts
from nerd_core.mechanics.step import Mechanics
from nerd_core.robot.frames import ChangeCodec
from nerd_core.robot.slots import box_slots, capsule_slots, sphere_slots
from nerd_core.robot.spec import Body, ContactSlot, Inertia, Joint, RobotSpec, SpecError

HEIGHT = 5.0
"""Of the root above the ground [m]: nothing else is touched."""


def pair_of(first: tuple[ContactSlot, ...], second: tuple[ContactSlot, ...]) -> RobotSpec:
    """Two bodies that slide towards each other along x, from a root without a shape; they begin a metre apart."""
    inertia = Inertia(1.0, moments=(0.01, 0.01, 0.01))
    return RobotSpec(
        name="pair",
        floating_base=False,
        root_pos=(0.0, 0.0, HEIGHT),
        gravity=(0.0, 0.0, 0.0),
        joints=tuple(Joint(name, "prismatic", (1.0, 0.0, 0.0), -9.0, 9.0) for name in ("left", "right")),
        bodies=(
            Body("root", inertia=inertia),
            Body("a", "root", "left", (-0.5, 0.0, 0.0), inertia=inertia),
            Body("b", "root", "right", (0.5, 0.0, 0.0), inertia=inertia),
        ),
        controls=(),
        physics_dt=1.0 / 120.0,
        decimation=2,
        slots=(*first, *second),
        touching_bodies=(("a", "b"),),
    )


SPHERE, SMALL = sphere_slots("a", 0.1), sphere_slots("b", 0.2)
CAPSULE = capsule_slots("b", 0.1, 0.3, (0.0, 0.0, 1.0))
LEANING = capsule_slots("b", 0.1, 0.3, (math.sqrt(0.5), 0.0, math.sqrt(0.5)))
BOX, OTHER_BOX = box_slots("a", (0.1, 0.2, 0.3)), box_slots("b", (0.2, 0.1, 0.1), (0.0, 0.05, 0.0))
SHAPES = {
    "spheres": (SPHERE, SMALL, 0.1 + 0.2),
    "sphere and capsule": (SPHERE, CAPSULE, 0.1 + 0.1),
    "sphere and the end of a capsule": (SPHERE, capsule_slots("b", 0.1, 0.3, (1.0, 0.0, 0.0)), 0.1 + 0.1 + 0.3),
    "box and sphere": (BOX, SMALL, 0.1 + 0.2),
    "box and capsule": (BOX, CAPSULE, 0.1 + 0.1),
    "boxes": (BOX, OTHER_BOX, 0.1 + 0.2),
}
"""Pairs of shapes, and how far apart their centres are when they touch [m]."""


def state_of(spec: RobotSpec, apart: float, speed: float = 0.0) -> torch.Tensor:
    """A state in which the centres are so far apart and come nearer at so much, each at half of it."""
    shift = 0.5 * (1.0 - apart)
    return torch.tensor([[shift, -shift, 0.5 * speed, -0.5 * speed]])


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("gap", [0.05, 0.001, -0.004])
def test_gaps_and_normals_of_shapes(name: str, gap: float):
    """The nearest pair has the gap that geometry says, inside and outside, and a normal along the line between."""
    first, second, touching = SHAPES[name]
    spec = pair_of(first, second)
    multibody = Multibody(spec)
    frames = multibody.frames(state_of(spec, touching + gap)[:, :2])
    found = SelfContacts(multibody, 100, 0.04).nearest(frames)
    nearest = int(found.gap.argmin())
    assert float(found.gap[nearest]) == pytest.approx(gap, abs=1e-5)
    along = float(found.normal[nearest, 0])
    a_is_first = int(found.bodies[0][nearest]) == 1
    assert along == pytest.approx(-1.0 if a_is_first else 1.0, abs=1e-3)


def test_a_point_in_the_middle_of_a_box_is_pushed_out():
    """Where all faces to either side are as near, one of them is taken: there is a normal, of length one."""
    spec = pair_of(sphere_slots("a", 0.02), box_slots("b", (0.1, 0.2, 0.3)))
    multibody = Multibody(spec)
    found = SelfContacts(multibody, 100, 0.04).nearest(multibody.frames(state_of(spec, 0.0)[:, :2]))
    deepest = int(found.gap.argmin())
    assert float(found.gap[deepest]) == pytest.approx(-0.1 - 0.02, abs=1e-5)
    assert float(found.normal[deepest].norm()) == pytest.approx(1.0, abs=1e-5)


def test_two_capsules_meet_where_their_axes_come_nearest():
    """Crossed capsules meet in their middles, with a normal across both axes."""
    spec = pair_of(capsule_slots("a", 0.05, 0.4, (0.0, 1.0, 0.0)), capsule_slots("b", 0.07, 0.4))
    multibody = Multibody(spec)
    found = SelfContacts(multibody, 4, 0.04).nearest(multibody.frames(state_of(spec, 0.15)[:, :2]))
    assert found.gap.shape == (1, 1)
    assert float(found.gap) == pytest.approx(0.15 - 0.12, abs=1e-6)
    assert found.point.flatten().tolist() == pytest.approx([-0.075 + 0.05, 0.0, HEIGHT], abs=1e-5)
    assert float(found.reach) == pytest.approx(0.04 * 0.12)


def mechanics_of(spec: RobotSpec, self_contacts: int) -> Mechanics:
    """Mechanics, untrained."""
    return Mechanics(spec, ChangeCodec(spec), MechanicsCfg(hidden=0, self_contacts=self_contacts))


def moved(spec: RobotSpec, mechanics: Mechanics, state: torch.Tensor, steps: int) -> torch.Tensor:
    """The state after some control steps above flat ground."""
    ground = PlaneGround.flat()
    with torch.no_grad():
        for _ in range(steps):
            change = mechanics(state, torch.zeros(len(state), 0), ContactModel(spec)(state, ground))
            state = mechanics.codec.apply(state, change)
    return state


@pytest.mark.parametrize("name", SHAPES)
def test_bodies_stop_each_other_and_keep_their_momentum(name: str):
    """Two equal bodies that meet come to rest against each other, where without being asked they pass through."""
    first, second, touching = SHAPES[name]
    spec = pair_of(first, second)
    state = state_of(spec, touching + 0.02, speed=2.0)
    after = moved(spec, mechanics_of(spec, 4), state, 6)[0]
    apart = 1.0 - float(after[0] - after[1])
    assert apart == pytest.approx(touching, abs=3e-3)
    assert after[2:].tolist() == pytest.approx([0.0, 0.0], abs=0.02)
    through = moved(spec, mechanics_of(spec, 0), state, 6)[0]
    assert 1.0 - float(through[0] - through[1]) < touching - 0.1


@pytest.mark.parametrize("kernels", ["0", "1"], ids=["PyTorch", "kernel"])
def test_joints_have_the_last_word(kernels: str, monkeypatch: pytest.MonkeyPatch):
    """As in the engine, contacts between bodies are solved before joints: after a single iteration a joint that a
    strong drive holds is at rest, though the other body pushes against its own.
    """
    monkeypatch.setenv(verification.SWITCH, kernels)
    spec = pair_of(SPHERE, SMALL)
    held = replace(spec.joints[0], damping=1.0e6)
    spec = replace(spec, joints=(held, spec.joints[1]), decimation=1)
    mechanics = Mechanics(spec, ChangeCodec(spec), MechanicsCfg(hidden=0, self_contacts=4, substeps=1, compliance=0.0))
    state = state_of(spec, 0.3, speed=2.0)
    state[0, 2] = 0.0
    after = moved(spec, mechanics, state, 1)[0]
    assert float(after[2]) == pytest.approx(0.0, abs=1.0e-3)
    assert float(after[3]) == pytest.approx(-0.5, abs=0.01)  # each has half of the momentum, before the drive acts


def test_pairs_that_may_not_touch_do_not():
    """Without the pair in the specification nothing stops the bodies, whatever mechanics is asked for."""
    spec = replace(pair_of(SPHERE, SMALL), touching_bodies=())
    after = moved(spec, mechanics_of(spec, 4), state_of(spec, 0.32, speed=2.0), 6)[0]
    assert 1.0 - float(after[0] - after[1]) < 0.25


def test_bodies_that_are_fixed_to_each_other_do_not_meet():
    """Bodies between which there is no joint are no pair, for nothing could part them; others of them are."""
    spec = pair_of(SPHERE, SMALL)
    fixed = Body("c", "b", None, (0.1, 0.0, 0.0), inertia=Inertia(1.0, moments=(0.01, 0.01, 0.01)))
    last = replace(fixed, name="d", parent="c")
    slots = (*spec.slots, *sphere_slots("d", 0.2))
    spec = replace(spec, bodies=(*spec.bodies, fixed, last), slots=slots, touching_bodies=(("a", "d"), ("b", "d")))
    assert [pair.bodies for pair in SelfContacts(Multibody(spec), 9, 0.04).pairs] == [(1, 4)]


def test_what_is_not_looked_at_is_said(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch):
    """Mechanics that is not asked for such contacts names how many pairs may touch, and the option."""
    monkeypatch.setattr(engine_settings, "_told", set())
    with caplog.at_level(logging.WARNING):
        mechanics_of(pair_of(SPHERE, SMALL), 0)
    assert "1 pairs may touch" in caplog.text and "--prior.self-contacts" in caplog.text


@pytest.mark.parametrize("pairs", [(("a", "a"),), (("a", "nobody"),), (("a", "b"), ("b", "a"))])
def test_absurd_pairs_are_refused(pairs: tuple):
    """A body that touches itself, an unknown one and a pair that stands twice are errors."""
    with pytest.raises(SpecError, match="touching"):
        replace(pair_of(SPHERE, SMALL), touching_bodies=pairs)


def test_pairs_are_not_of_the_meaning():
    """Specifications that differ in who may touch whom go together: data and models of before stay usable."""
    spec = pair_of(SPHERE, SMALL)
    assert replace(spec, touching_bodies=()).content_hash == spec.content_hash
    assert RobotSpec.from_json(spec.to_json()) == spec


def test_gradients_of_a_touch_agree_with_central_differences():
    """Derivatives by the state through two bodies that touch, in double precision."""
    spec = pair_of(SPHERE, CAPSULE)
    mechanics = mechanics_of(spec, 2).double()
    state = state_of(spec, 0.201, speed=1.0).double().requires_grad_()
    contacts = ContactModel(spec)(state.detach().float(), PlaneGround.flat())
    contacts = contacts.map(lambda each: each.double() if each.is_floating_point() else each)

    def speed(at: torch.Tensor) -> torch.Tensor:
        return mechanics(at, torch.zeros(1, 0, dtype=torch.double), contacts)[0, -1]

    gradient = torch.autograd.grad(speed(state), state)[0][0]
    with torch.no_grad():
        for number in range(4):
            step = torch.zeros(1, 4, dtype=torch.double)
            step[0, number] = 1e-6
            slope = (speed(state + step) - speed(state - step)) / 2e-6
            assert float(gradient[number]) == pytest.approx(float(slope), rel=1e-4, abs=1e-6)
