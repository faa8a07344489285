# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Physical parameters in the kernel: it says what PyTorch says, environment by environment."""

from __future__ import annotations

import copy
from dataclasses import replace

import pytest
import torch

from nerd_core.mechanics.config import MechanicsCfg
from nerd_core.mechanics.kernel.verification import OF_DRIVES
from nerd_core.mechanics.step import Mechanics
from nerd_core.robot.frames import ChangeCodec
from nerd_core.robot.physical_parameters import OWN_SHAPES, PhysicalParameters, specification_with, specified
from nerd_core.robot.spec import RobotSpec
from support.robots import ant, random_tree, with_inertias

from .test_kernel import ENVS, mechanics_of, pytorch_alone, situation
from .test_physical_parameters import drawn, rubbed

pytest.importorskip("warp", reason="needs Warp, which Isaac Lab brings")

PASSIVE = [name for name in OWN_SHAPES if name not in OF_DRIVES]
"""Parameters with which a robot without drives still has none."""


def by_kernel(mechanics: Mechanics, *args: object) -> torch.Tensor:
    """What the kernel for parameters says; fails where PyTorch would have to step in."""
    with torch.no_grad():
        said = mechanics(*args)
    kernels = {kind: robot for kind, robot in mechanics._kernels.items() if kind[1] is not None}
    assert kernels and all(robot is not None for robot in kernels.values())
    return said


@pytest.mark.parametrize("spec", [rubbed(ant()), rubbed(random_tree(3, floating=False))], ids=["ant", "tree-fixed"])
@pytest.mark.parametrize("lead", [(ENVS,), ()], ids=["each", "same"])
def test_the_kernel_takes_all_parameters_as_pytorch_does(spec: RobotSpec, lead: tuple[int, ...]):
    """With all parameters at once, of each environment or the same for all, the kernel is as near to double precision
    as PyTorch in single precision is.
    """
    mechanics, situated = mechanics_of(spec), situation(spec)
    exact = drawn(spec, lead=lead)
    single = exact.map(torch.Tensor.float)
    said, by_pytorch = by_kernel(mechanics, *situated, single), pytorch_alone(mechanics, *situated, single)
    state, control, contacts = situated
    doubled = None if contacts is None else contacts.map(lambda x: x if x.dtype == torch.bool else x.double())
    truth = copy.deepcopy(mechanics).double()(state.double(), control.double(), doubled, exact).detach()
    size = 1.0 + truth.abs().amax(-1)
    for share in (0.5, 0.9):
        ours, theirs = (((each - truth).abs().amax(-1) / size).quantile(share) for each in (said, by_pytorch))
        assert ours < 3.0 * theirs + 2.0e-6, f"{share}: got {ours:.1e}, PyTorch is off by {theirs:.1e}"


def test_each_parameter_alone_reaches_the_kernel():
    """Each parameter by itself moves the kernel's step as it moves that of PyTorch, and no other environment's."""
    spec = rubbed(ant())
    mechanics, situated = mechanics_of(spec), situation(spec)
    plain = by_kernel(mechanics, *situated, specified(spec))
    for name in OWN_SHAPES:
        parameters = replace(specified(spec), **{name: getattr(drawn(spec, name), name).float()})
        if name == "bounce_threshold":
            parameters = replace(parameters, restitution=torch.full((len(spec.slots),), 0.9))
        said = by_kernel(mechanics, *situated, parameters)
        expected = pytorch_alone(mechanics, *situated, parameters)
        apart = (said - expected).abs().amax(-1) / (1.0 + expected.abs().amax(-1))
        assert apart.quantile(0.9) < 1e-3, f"{name}: {apart.quantile(0.9)}"
        assert name == "joint_friction" or not torch.equal(said, plain), name


def test_parameters_that_come_again_are_those_of_now():
    """What a kernel keeps of parameters from step to step follows changes in place, other memory, and memory of which
    it has to make a copy.
    """
    spec = rubbed(ant())
    mechanics, situated = mechanics_of(spec), situation(spec)
    nominal = specified(spec).mass
    assert nominal is not None
    one = nominal.expand(ENVS, -1).clone()
    two = 1.3 * one
    spread = (1.3 * nominal).unsqueeze(0).expand(ENVS, -1)  # not of one piece: a copy is read
    first = by_kernel(mechanics, *situated, PhysicalParameters(mass=one))
    second = by_kernel(mechanics, *situated, PhysicalParameters(mass=two))
    assert not torch.equal(first, second)
    assert torch.equal(by_kernel(mechanics, *situated, PhysicalParameters(mass=one)), first)
    one.mul_(1.3)
    assert torch.equal(by_kernel(mechanics, *situated, PhysicalParameters(mass=one)), second)
    assert torch.equal(by_kernel(mechanics, *situated, PhysicalParameters(mass=spread)), second)
    spread[:1].div_(1.3)
    again = by_kernel(mechanics, *situated, PhysicalParameters(mass=spread))
    assert (again - first).abs().amax(-1).median() < 1e-5  # rounded twice


def test_rows_of_the_kernel_are_independent():
    """An environment with parameters of its own changes no other one, to the last bit."""
    spec = rubbed(ant())
    mechanics, situated = mechanics_of(spec), situation(spec)
    parameters = drawn(spec, lead=(ENVS,)).map(torch.Tensor.float)
    said = by_kernel(mechanics, *situated, parameters)
    mass = parameters.mass
    assert mass is not None
    other = mass.clone()
    other[7] = 3.0 * other[7]
    again = by_kernel(mechanics, *situated, replace(parameters, mass=other))
    changed = (said != again).any(-1).nonzero().flatten().tolist()
    assert changed == [7]


@pytest.mark.parametrize("robot", ["ant", "tree"])
def test_a_robot_without_drives_has_none_with_masses_of_its_own(robot: str):
    """A robot that is braked at most keeps the smaller kernel with masses, stops, friction and wrenches of its own, and
    gets drives where gains are given; both say what PyTorch says.
    """
    spec = with_inertias(ant() if robot == "ant" else random_tree(2))
    mechanics, situated = mechanics_of(spec), situation(spec)
    for names in (PASSIVE, ["stiffness", "damping", "effort_limit"]):
        parameters = drawn(spec, *names, lead=(ENVS,)).map(torch.Tensor.float)
        said, expected = by_kernel(mechanics, *situated, parameters), mechanics(*situated, parameters).detach()
        apart = (said - expected).abs().amax(-1) / (1.0 + expected.abs().amax(-1))
        assert apart.quantile(0.9) < 1e-3
    assert [kind[1] for kind in mechanics._kernels] == [False, True]


def test_the_kernel_with_parameters_is_that_of_another_specification():
    """A heavier Ant in the kernel is the Ant whose specification says so, by a kernel without parameters."""
    spec = with_inertias(ant())
    moved = drawn(spec, "mass", "inertia", "centre_of_mass").map(torch.Tensor.float)
    torch.manual_seed(0)
    cfg = MechanicsCfg(substeps=4, hidden=0)
    heavier = specification_with(spec, moved)
    situated = situation(spec)
    with torch.no_grad():
        own = Mechanics(heavier, ChangeCodec(heavier), cfg)(*situated)
        plain = Mechanics(spec, ChangeCodec(spec), cfg)(*situated)
    said = by_kernel(Mechanics(spec, ChangeCodec(spec), cfg), *situated, moved)
    apart, moved_by = ((each - own).abs().amax(-1) / (1.0 + own.abs().amax(-1)) for each in (said, plain))
    assert apart.quantile(0.9) < 1e-3 and apart.median() < 0.01 * moved_by.median()


def test_an_environment_without_sane_parameters_stops_no_other():
    """Masses that are negative or no number leave the environment without a next state, and the others with theirs."""
    spec = rubbed(ant())
    mechanics, situated = mechanics_of(spec), situation(spec)
    mass = specified(spec).mass
    assert mass is not None
    mass = mass.repeat(ENVS, 1)
    mass[0], mass[1, 2] = -1.0, float("nan")
    said = by_kernel(mechanics, *situated, PhysicalParameters(mass=mass))
    assert not said[:2].isfinite().all(-1).any() and said[2:].isfinite().all()
