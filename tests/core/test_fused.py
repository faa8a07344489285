# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Mechanics in one kernel: it says what PyTorch says, for any robot, and steps aside where it cannot."""

from __future__ import annotations

import copy
import logging
import sys
from dataclasses import replace

import pytest
import torch

from nerd_core import fused
from nerd_core.contact_solver import ContactSolverCfg
from nerd_core.contacts import ContactModel, Contacts
from nerd_core.frames import ChangeCodec
from nerd_core.grounds import PlaneGround
from nerd_core.mechanics import Mechanics
from nerd_core.spec import RobotSpec
from support.robots import ant, cartpole, random_state, random_tree, with_inertias

pytest.importorskip("warp", reason="needs Warp, which Isaac Lab brings")

RULES = ContactSolverCfg(substeps=4, hidden=16, slots=32)
ENVS = 96


def tree(seed: int, floating: bool = True) -> RobotSpec:
    """A random tree of hinges and slides with inertias, stops and drives."""
    spec = with_inertias(random_tree(seed, floating=floating))
    return replace(spec, joints=tuple(replace(joint, lower=-0.5, upper=0.8, wraps=False) for joint in spec.joints))


ROBOTS = [
    pytest.param(spec, id=f"{spec.name}{number}")
    for number, spec in enumerate((with_inertias(ant()), with_inertias(cartpole()), tree(1), tree(2), tree(3, False)))
]


def mechanics_of(spec: RobotSpec, cfg: ContactSolverCfg = RULES) -> Mechanics:
    """Mechanics with other constants than those of the beginning, and rules that bend them strongly."""
    torch.manual_seed(0)
    mechanics = Mechanics(spec, ChangeCodec(spec), cfg, touches=bool(spec.slots))
    with torch.no_grad():
        for name, param in mechanics.named_parameters():
            param.add_((0.1 if name.endswith("constants") else 0.5) * torch.randn_like(param))
    return mechanics


def situation(spec: RobotSpec, count: int = ENVS) -> tuple[torch.Tensor, torch.Tensor, Contacts | None]:
    """States of which some touch a slope, some lean on stops and some do neither, with controls and contacts."""
    state = random_state(spec, count, seed=4, spread=0.5)
    ground = PlaneGround(torch.nn.functional.normalize(torch.tensor([[0.1, 0.2, 1.0]])), torch.zeros(1))
    control = torch.randn(count, spec.control_dim, generator=torch.Generator().manual_seed(5))
    if spec.floating_base:
        state[:, 2] = torch.linspace(-0.2, 1.5, count)
    contacts = ContactModel(spec)(state, ground) if spec.slots else None
    return state, control, contacts


def kernel_alone(mechanics: Mechanics, *args: torch.Tensor | Contacts | None) -> torch.Tensor:
    """What the kernel says; fails where PyTorch would have to step in."""
    with torch.no_grad():
        said = mechanics(*args)
    assert all(robot is not None for robot in mechanics._fused.values()) and mechanics._fused
    return said


@pytest.mark.parametrize("spec", ROBOTS)
def test_the_kernel_is_as_near_to_double_precision_as_pytorch(spec: RobotSpec):
    """Changes of state by the kernel and by PyTorch are apart by what rounding makes: each is off from double precision
    by about as much as the other, in the middle of all environments and in nine of ten.
    """
    mechanics, situated = mechanics_of(spec), situation(spec)
    said, usual = kernel_alone(mechanics, *situated), mechanics(*situated).detach()
    state, control, contacts = situated
    exact = contacts if contacts is None else contacts.map(lambda x: x if x.dtype == torch.bool else x.double())
    truth = copy.deepcopy(mechanics).double()(state.double(), control.double(), exact).detach()
    size = 1.0 + truth.abs().amax(-1)
    for share in (0.5, 0.9):
        ours, theirs = (((each - truth).abs().amax(-1) / size).quantile(share) for each in (said, usual))
        assert ours < 3.0 * theirs + 2.0e-6, f"{share}: got {ours:.1e}, PyTorch is off by {theirs:.1e}"


@pytest.mark.parametrize("cfg", [replace(RULES, hidden=0), replace(RULES, substeps=1), replace(RULES, soft=0.0)])
def test_the_kernel_knows_all_settings_of_the_solver(cfg: ContactSolverCfg):
    """Without rules, with one substep, with stiff constraints it says what PyTorch says."""
    mechanics, situated = mechanics_of(with_inertias(ant()), cfg), situation(with_inertias(ant()))
    apart = (kernel_alone(mechanics, *situated) - mechanics(*situated)).abs().amax(-1)
    assert apart.quantile(0.9) < 1.0e-3


def test_the_nearest_slots_are_chosen_as_pytorch_does():
    """With room for four slots and more of them near, those that come nearest to the ground are looked at."""
    spec, cfg = with_inertias(ant()), replace(RULES, slots=4, reach=1.0)
    state, control, contacts = situation(spec)
    state[:, 2] = 0.4
    contacts = ContactModel(spec)(state, PlaneGround.flat())
    mechanics = mechanics_of(spec, cfg)
    apart = (kernel_alone(mechanics, state, control, contacts) - mechanics(state, control, contacts)).abs().amax(-1)
    assert apart.median() < 1.0e-3, "ends of links that meet in one point are equally near: some may differ"


def test_each_environment_is_stepped_for_itself():
    """A batch gives the bits that its environments give alone, on one thread or several, in any shape."""
    spec = with_inertias(ant())
    mechanics, (state, control, contacts) = mechanics_of(spec), situation(spec, 200)
    assert contacts is not None
    said = kernel_alone(mechanics, state, control, contacts)
    one = [7, 150]
    assert torch.equal(kernel_alone(mechanics, state[one], control[one], contacts[one]), said[one])
    shaped = kernel_alone(mechanics, state.view(2, 100, -1), control.view(2, 100, -1), contacts.reshape(2, 100))
    assert torch.equal(shaped.view(200, -1), said)
    before = torch.get_num_threads()
    try:
        for threads in (1, 3):
            torch.set_num_threads(threads)
            assert torch.equal(kernel_alone(mechanics, state, control, contacts), said)
    finally:
        torch.set_num_threads(before)
    assert kernel_alone(mechanics, state[:0], control[:0], contacts[:0]).shape == (0, said.shape[1])


def test_new_weights_take_effect_and_copies_are_apart():
    """The kernel reads constants and rules anew in each call, and a copy reads its own."""
    spec = with_inertias(ant())
    mechanics, situated = mechanics_of(spec), situation(spec)
    before, other = kernel_alone(mechanics, *situated), copy.deepcopy(mechanics)
    with torch.no_grad():
        for param in mechanics.parameters():
            param.mul_(0.5)
    after = kernel_alone(mechanics, *situated)
    assert (after - before).abs().amax() > 1.0e-2
    assert torch.equal(kernel_alone(other, *situated), before)


def test_gradients_and_double_precision_are_left_to_pytorch():
    """With gradients asked for, or in double precision, no kernel is made, and gradients flow."""
    spec = with_inertias(cartpole())
    mechanics, (state, control, _) = mechanics_of(spec), situation(spec)
    mechanics(state.requires_grad_(), control).sum().backward()
    assert state.grad is not None and not mechanics._fused
    with torch.no_grad():
        double = mechanics.double()(state.double(), control.double())
    assert double.dtype == torch.float64 and not mechanics._fused


def test_what_is_not_finite_stays_where_it_is():
    """A state that is not finite spoils its own environment alone, also when it comes first."""
    spec = with_inertias(ant())
    state, control, contacts = situation(spec)
    expected = kernel_alone(mechanics_of(spec), state, control, contacts)
    state[:8] = float("nan")
    said = kernel_alone(mechanics_of(spec), state, control, contacts)
    assert not said[:8].isfinite().any(-1).all() and torch.equal(said[8:], expected[8:])


def test_without_warp_pytorch_steps(monkeypatch: pytest.MonkeyPatch):
    """Where Warp is missing, or the switch says so, mechanics step all the same."""
    spec = with_inertias(cartpole())
    state, control, _ = situation(spec)
    expected = mechanics_of(spec)(state, control)
    for set_up in (
        lambda: monkeypatch.setenv(fused.SWITCH, "0"),
        lambda: (monkeypatch.delenv(fused.SWITCH), monkeypatch.setitem(sys.modules, "nerd_core.fused.robot", None)),
    ):
        set_up()
        mechanics = mechanics_of(spec)
        with torch.no_grad():
            assert torch.equal(mechanics(state, control), expected)
        assert list(mechanics._fused.values()) == [None]


def test_a_kernel_that_disagrees_is_not_used(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture):
    """A kernel that says something else than PyTorch, as a broken compiler may make it, is refused with a warning."""
    spec = with_inertias(cartpole())
    mechanics, (state, control, _) = mechanics_of(spec), situation(spec)
    expected = mechanics(state, control)
    monkeypatch.setattr("nerd_core.mechanics.fused_robot", lambda *_: lambda state, *_: state + 0.1)
    with torch.no_grad(), caplog.at_level(logging.WARNING):
        assert torch.equal(mechanics(state, control), expected)
    assert "off by 0." in caplog.text and fused.SWITCH in caplog.text


def test_a_kernel_that_cannot_be_made_is_no_harm(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture):
    """An error of the compiler is told in one line, and PyTorch steps."""
    from nerd_core.fused import robot

    def fails(*_: object) -> None:
        raise RuntimeError("no compiler\nwith a long story")

    spec = with_inertias(cartpole())
    mechanics, (state, control, _) = mechanics_of(spec), situation(spec)
    monkeypatch.setattr(robot, "make_kernel", fails)
    with torch.no_grad(), caplog.at_level(logging.WARNING):
        assert mechanics(state, control).isfinite().all()
    assert "no compiler" in caplog.text and "long story" not in caplog.text


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs an NVIDIA GPU")
def test_on_a_gpu_the_kernel_agrees():
    """On a GPU the kernel says what PyTorch says there."""
    spec = with_inertias(ant())
    mechanics, (state, control, contacts) = mechanics_of(spec).cuda(), situation(spec)
    assert contacts is not None
    situated = state.cuda(), control.cuda(), contacts.to("cuda")
    apart = (kernel_alone(mechanics, *situated) - mechanics(*situated)).abs().amax(-1)
    assert apart.quantile(0.9) < 1.0e-3
