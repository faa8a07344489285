# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The double pendulum over the published grounds: where they lie, where it starts, that it comes to rest on them."""

from __future__ import annotations

import math

import pytest
import torch

from nerd_core.contact.contacts import ContactModel
from nerd_isaaclab.physics.ground import find_ground
from support.seam import make_env

NUM_ENVS, TILTED = 16, 2


@pytest.fixture(scope="module")
def env():
    """The task over a tilted ground."""
    env = make_env(f"NeRD-Double-Pendulum-Ground-{TILTED}", NUM_ENVS)
    env.reset()
    yield env
    env.close()


def gaps(env) -> torch.Tensor:
    """Gap between the surface of each slot and the ground that the model is given [m], shape (N, K)."""
    model = ContactModel(env.robot_spec)
    model.gate.fill_(torch.inf)
    data = env.robot.data
    state = torch.cat((data.joint_pos.torch, data.joint_vel.torch), dim=-1).cpu()
    radius = torch.tensor([slot.radius for slot in env.robot_spec.slots])
    return model(state, find_ground(env).to("cpu")).distance - radius


def test_grounds_are_the_published_ones():
    """Level grounds lie at the published heights, the hinge 2 m above zero; the tilted ones are turned by the published
    angles about their z-up axes, and run through the point above which the published pendulum hangs.
    """
    from nerd_isaaclab.tasks.swing_up.double_pendulum.grounds import GROUNDS

    assert GROUNDS[0] is None
    for column, height in ((1, 0.0), (3, 0.5), (4, -0.5), (5, -0.3)):
        ground = GROUNDS[column]
        assert ground.is_level and ground.height((0.3, -0.2, 2.0)) == pytest.approx(2.0 - height)
    eighth, sixteenth = math.pi / 8, math.pi / 16
    assert GROUNDS[6].normal == pytest.approx((0.0, -math.sin(eighth), math.cos(eighth)))
    # turning y about x, y and z in turn, written out
    x, y, z = 0.0, math.cos(eighth), math.sin(eighth)
    x, z = math.cos(sixteenth) * x + math.sin(sixteenth) * z, math.cos(sixteenth) * z - math.sin(sixteenth) * x
    x, y = math.cos(sixteenth) * x - math.sin(sixteenth) * y, math.sin(sixteenth) * x + math.cos(sixteenth) * y
    assert GROUNDS[2].normal == pytest.approx((x, -z, y))
    for column, height in ((2, 0.2), (6, 0.0)):
        assert GROUNDS[column].height((0.0, 1.0, height)) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("column", range(7))
def test_starts_are_clear_with_the_lower_link_up(column: int):
    """Of a thousand starts none touches its ground, and the lower link never hangs."""
    from nerd_isaaclab.tasks.swing_up.double_pendulum.events import CLEARANCE, draw_joint_pos, gap
    from nerd_isaaclab.tasks.swing_up.double_pendulum.grounds import GROUNDS

    torch.manual_seed(0)
    drawn = draw_joint_pos(1000, GROUNDS[column])
    assert gap(drawn, GROUNDS[column]).min() > CLEARANCE
    assert drawn.sum(dim=-1).cos().max() < 1e-6
    assert len(drawn.unique(dim=0)) > 950


def test_model_sees_the_slab_as_a_plane_of_its_own(env):
    """Contact queries get the published plane in every environment, wherever that stands."""
    from nerd_isaaclab.recorders.transitions import planes_of
    from nerd_isaaclab.tasks.swing_up.double_pendulum.grounds import GROUNDS

    plane = planes_of(find_ground(env), NUM_ENVS)
    expected = torch.tensor([*GROUNDS[TILTED].normal, GROUNDS[TILTED].offset]).expand(NUM_ENVS, 4)
    assert plane is not None
    torch.testing.assert_close(plane.cpu(), expected, rtol=0.0, atol=1e-4)


def test_gap_of_a_start_is_the_gap_of_the_model(env):
    """The rule that starts are drawn by measures the same distance as the contact queries do."""
    from nerd_isaaclab.tasks.swing_up.double_pendulum.events import gap
    from nerd_isaaclab.tasks.swing_up.double_pendulum.grounds import GROUNDS

    found = gap(env.robot.data.joint_pos.torch.cpu(), GROUNDS[TILTED])
    torch.testing.assert_close(found, gaps(env).amin(dim=-1), rtol=0.0, atol=1e-4)


def test_it_falls_onto_the_slab_and_stays_there(env):
    """After three seconds without effort every pendulum has met the ground, and none has sunk in by a centimetre."""
    env.reset()
    lowest = torch.full((NUM_ENVS,), torch.inf)
    for _ in range(180):
        env.step(torch.zeros(NUM_ENVS, 2))
        lowest = lowest.minimum(gaps(env).amin(dim=-1))
    assert lowest.max() < 0.01
    assert gaps(env).min() > -0.01
