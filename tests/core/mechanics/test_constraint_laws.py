# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The laws by which constraints give way, hold and rub: the engine's, and the earlier one that was fitted to motion."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from nerd_core.contact.contacts import ContactModel
from nerd_core.contact.grounds import PlaneGround
from nerd_core.mechanics.config import ConstraintLawName, MechanicsCfg
from nerd_core.mechanics.constants import Constant
from nerd_core.mechanics.constraint_laws import iteration_share
from nerd_core.mechanics.gauss_seidel import GaussSeidel
from nerd_core.mechanics.step import Mechanics
from nerd_core.robot.frames import ChangeCodec
from nerd_core.robot.spec import Body, ContactSlot, Inertia, RobotSpec

MASS, MOMENT, ARM, DT = 2.0, 0.1, 0.4, 1.0 / 120.0


def hammer(arm: float = ARM, decimation: int = 1) -> RobotSpec:
    """A robot without weight that touches the ground with one small ball, ``arm`` beside its centre. Of two equal parts
    in one place: a single free body would be no articulation, and has another law.
    """
    half = Inertia(0.5 * MASS, moments=(0.5 * MOMENT, 0.5 * MOMENT, 0.5 * MOMENT))
    return RobotSpec(
        name="hammer",
        floating_base=True,
        joints=(),
        bodies=(Body("hammer", inertia=half), Body("other", "hammer", inertia=half)),
        controls=(),
        physics_dt=DT,
        decimation=decimation,
        gravity=(0.0, 0.0, 0.0),
        slots=(ContactSlot("hammer", (arm, 0.0, 0.0), 0.1, "sphere"),),
    )


def velocity_after(
    law: ConstraintLawName, gap: float, velocity: tuple[float, float, float], arm: float = ARM, substeps: int = 1
) -> torch.Tensor:
    """Linear velocity of a hammer after a physics step, with nothing learned and a friction of one [m/s]."""
    spec = hammer(arm)
    mechanics = Mechanics(spec, ChangeCodec(spec), MechanicsCfg(substeps, hidden=0, constraint_law=law))
    with torch.no_grad():
        mechanics.solver.constants[Constant.FRICTION_COEFFICIENT] = 0.0
    state = torch.zeros(1, spec.state.dim)
    state[:, spec.state.root_quat.stop - 1], state[:, 2] = 1.0, 0.1 + gap
    state[:, spec.state.root_lin_vel] = torch.tensor(velocity)
    contacts = ContactModel(spec)(state, PlaneGround.flat())
    change = mechanics(state, torch.zeros(1, 0), contacts).detach()
    return mechanics.codec.apply(state, change)[0, spec.state.root_lin_vel]


@pytest.mark.parametrize(("law", "softened_by"), [("engine", 1.0 / MASS), ("fitted", 1.0 / MASS + ARM**2 / MOMENT)])
def test_a_constraint_gives_way_as_its_law_says(law: ConstraintLawName, softened_by: float):
    """An impact beside the centre of mass falls short by the compliance times what the centre answers, in the fitted
    law times what the point itself answers.
    """
    response = 1.0 / MASS + ARM**2 / MOMENT
    impulse = 1.0 / (response + 0.025 * softened_by)
    assert velocity_after(law, 0.0, (0.0, 0.0, -1.0))[2] == pytest.approx(impulse / MASS - 1.0, abs=1.0e-5)


def test_friction_takes_back_a_share_in_each_iteration():
    """Below its cone, friction takes .8 of a slip in one iteration, where the fitted law takes all of it."""
    kept = {law: velocity_after(law, 0.0, (0.1, 0.0, -1.0), 0.0)[0] / 0.1 for law in ("engine", "fitted")}
    response, spun = 1.0 / MASS + 0.1**2 / MOMENT, 1.0 / MASS
    assert kept["engine"] == pytest.approx(1.0 - 0.8 * spun / (response + 0.025 * spun), abs=1.0e-4)
    assert kept["fitted"] == pytest.approx(1.0 - spun / (1.025 * response), abs=1.0e-4)


def test_friction_holds_before_its_normal_impulse_does():
    """A ball that slides and would be through the ground by the end of a physics step is braked for a quarter of the
    impulse that would end its approach, also if it leaves the ground by itself; in the fitted law it is not.
    """
    gap, rising = -0.0059, 0.18
    approach = -rising - gap / DT
    slipping = velocity_after("engine", gap, (1.0, 0.0, rising), 0.0, substeps=4)
    assert 1.0 - slipping[0] == pytest.approx(0.25 * approach / 1.025, rel=0.02)
    assert slipping[2] == pytest.approx(rising, abs=1.0e-5)
    assert velocity_after("fitted", gap, (1.0, 0.0, rising), 0.0, substeps=4)[0] == pytest.approx(1.0, abs=1.0e-5)


@pytest.mark.parametrize(("stops_release", "left"), [(True, 0.0), (False, -2.0)])
def test_a_stop_that_is_left_brings_a_joint_to_rest(stops_release: bool, left: float):
    """What a stop gave too much it takes back until the joint rests, in the fitted law until the joint would reach the
    stop; a joint that comes nearer and will not reach the stop keeps its velocity.
    """
    one = torch.ones(1)
    for velocity, expected in ((1.0, left), (-1.0, -1.0 if stops_release else -2.0)):
        sweep = GaussSeidel(torch.full((1, 1), velocity), torch.ones(1, 1, 1), contacts=0, unilateral=1)
        sweep.normal_impulse[0] = 3.0 * one
        sweep.solve_joint(0, one, 2.0 * one, None, stops_release=stops_release)
        assert float(sweep.velocity) == pytest.approx(expected)


def test_iterations_take_back_no_more_than_the_engine_does():
    """Four iterations take back .8 each, as few do; of many, each takes two over the root of their number."""
    assert iteration_share(1) == iteration_share(4) == 0.8
    assert iteration_share(16) == pytest.approx(0.5)


def test_new_mechanics_begin_with_the_law_of_the_engine():
    """Settings by default are the engine's law, and its constants are those that were measured on it."""
    spec = hammer()
    of_law = {
        law: Mechanics(spec, ChangeCodec(spec), replace(MechanicsCfg(), constraint_law=law))
        .solver.constants.detach()
        .exp()
        for law in ("engine", "fitted")
    }
    assert MechanicsCfg().constraint_law == "engine"
    for constant in (Constant.LINEAR_BIAS_SHARE, Constant.ANGULAR_BIAS_SHARE, Constant.FRICTION_RETURN):
        assert float(of_law["engine"][constant]) == pytest.approx(1.0)
        assert float(of_law["fitted"][constant]) == pytest.approx(constant.initial)
