# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Mechanics begins with what the specification says of the engine's solver, and a setting wins over it."""

from __future__ import annotations

import logging
from dataclasses import replace

import pytest
import torch

from nerd_core.mechanics.config import MechanicsCfg
from nerd_core.mechanics.constants import Constant
from nerd_core.mechanics.gauss_seidel import GaussSeidel
from nerd_core.mechanics.step import Mechanics
from nerd_core.robot.frames import ChangeCodec
from nerd_core.robot.materials import Material
from nerd_core.robot.spec import RobotSpec
from support.robots import ant, with_inertias


def _spec(**changes: object) -> RobotSpec:
    spec = with_inertias(ant())
    slots = tuple(replace(slot, material=Material(0.8, 0.6)) for slot in spec.slots)
    return replace(spec, slots=slots, **changes)


def _constants(spec: RobotSpec, cfg: MechanicsCfg) -> list[float]:
    return Mechanics(spec, ChangeCodec(spec), cfg).solver.constants.exp().tolist()


@pytest.mark.parametrize(("iterations", "shares"), [(4, (0.8, 0.9)), (8, (0.7071, 0.7071)), (16, (0.5, 0.5))])
def test_substeps_and_shares_are_those_of_the_engine(iterations: int, shares: tuple[float, float]):
    """There are as many substeps, and networks of rules, as position iterations, and a penetration, a drift and a stop
    are taken back by no more than two over their root.
    """
    spec = _spec(position_iterations=iterations)
    mechanics = Mechanics(spec, ChangeCodec(spec), MechanicsCfg(hidden=2, constraint_law="fitted"))
    assert mechanics.solver.substeps == len(mechanics.solver.rules) == iterations
    constants = mechanics.solver.constants.exp().tolist()
    contact, stop, drift = (
        constants[each] for each in (Constant.CONTACT_BAUMGARTE, Constant.STOP_BAUMGARTE, Constant.FRICTION_RETURN)
    )
    assert (contact, stop) == pytest.approx(shares, rel=1e-4) and drift == pytest.approx(contact)


def test_a_setting_wins_and_silence_means_four():
    """Substeps that are set are taken whatever the robot has, and a specification of before has four and its constants
    as they always were, to the bit.
    """
    spec = _spec(position_iterations=8)
    assert Mechanics(spec, ChangeCodec(spec), MechanicsCfg(substeps=3)).solver.substeps == 3
    before = with_inertias(ant())
    mechanics = Mechanics(before, ChangeCodec(before), MechanicsCfg(constraint_law="fitted"))
    assert mechanics.solver.substeps == 4 and mechanics.solver.sliding_share == 1.0
    assert torch.equal(mechanics.solver.constants, torch.tensor([each.initial for each in Constant]).log())


def test_friction_is_that_of_robot_and_ground():
    """The coefficient begins with the friction at rest that robot and ground make together, and what slides has a
    share of it; where the ground is not known it is one.
    """
    known = _spec(ground=Material(1.0, 1.0, friction_combine="multiply"))
    mechanics = Mechanics(known, ChangeCodec(known), MechanicsCfg())
    assert mechanics.solver.constants.exp()[Constant.FRICTION_COEFFICIENT].item() == pytest.approx(0.8)
    assert mechanics.solver.sliding_share == pytest.approx(0.6 / 0.8)
    assert _constants(_spec(), MechanicsCfg())[Constant.FRICTION_COEFFICIENT] == 1.0
    smooth = _spec(ground=Material(0.0, 0.0, friction_combine="min"))
    assert all(value > 0.0 for value in _constants(smooth, MechanicsCfg()))


def test_what_sticks_is_held_by_friction_at_rest():
    """An impulse up to the friction at rest stops a contact; a larger one is cut down to that of sliding."""
    found = []
    for speed in (0.59, 0.79, 0.81):  # a mass of one, pressed with an impulse of one
        velocity = torch.tensor([[0.0], [speed], [0.0]])
        sweep = GaussSeidel(velocity, torch.eye(3).unsqueeze(-1), contacts=1, unilateral=1)
        sweep.normal_impulse[0] = torch.ones(1)
        one, none = torch.ones(1), torch.zeros(1)
        sweep.solve_friction(0, torch.tensor([0.8]), (one, one), (none, none), torch.tensor([0.6]))
        found.append(-sweep.friction_impulse[0].item())
    assert found == pytest.approx([0.59, 0.79, 0.6], abs=1e-5)


def test_what_mechanics_leaves_out_is_named(caplog: pytest.LogCaptureFixture):
    """Velocity iterations and restitution are named in one warning with what to do; other forces are refused."""
    bouncing = replace(_spec(), name="bouncer", velocity_iterations=2, ground=Material(restitution=0.4))
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            Mechanics(bouncing, ChangeCodec(bouncing), MechanicsCfg())
    assert len(caplog.records) == 1
    for word in ("bouncer", "2 velocity iterations", "solver_velocity_iteration_count=0", "restitution"):
        assert word in caplog.text
    spec = _spec(other_forces=("the performance envelope of the drive of 'knee'",))
    with pytest.raises(ValueError, match="performance envelope of the drive of 'knee'.*Take them out of the asset"):
        Mechanics(spec, ChangeCodec(spec), MechanicsCfg())
