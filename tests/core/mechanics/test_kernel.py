# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Mechanics in one kernel: it says what PyTorch says, for any robot, and steps aside where it cannot."""

from __future__ import annotations

import contextlib
import copy
import logging
import os
import signal
import sys
import time
import types
from collections.abc import Callable
from dataclasses import replace

import pytest
import torch

from nerd_core.contact.contacts import ContactModel, Contacts
from nerd_core.contact.grounds import PlaneGround
from nerd_core.mechanics import kernel
from nerd_core.mechanics.config import ConstraintLawName, MechanicsCfg
from nerd_core.mechanics.kernel import verification
from nerd_core.mechanics.step import Mechanics
from nerd_core.robot.frames import ChangeCodec
from nerd_core.robot.materials import Material
from nerd_core.robot.physical_parameters import PhysicalParameters
from nerd_core.robot.spec import RobotSpec
from support.robots import ant, cartpole, random_state, random_tree, with_inertias

pytest.importorskip("warp", reason="needs Warp, which Isaac Lab brings")

RULES = MechanicsCfg(substeps=4, hidden=16, slots=32)
UNTRAINED = MechanicsCfg(substeps=4, hidden=0)
ENVS = 96


def tree(seed: int, floating: bool = True) -> RobotSpec:
    """A random tree of hinges and slides with inertias, stops and drives."""
    spec = with_inertias(random_tree(seed, floating=floating))
    return replace(spec, joints=tuple(replace(joint, lower=-0.5, upper=0.8, wraps=False) for joint in spec.joints))


def displaced(spec: RobotSpec) -> RobotSpec:
    """The robot with a pose in the frames of its root's joint, which it has not and which mean nothing."""
    root = replace(spec.bodies[0], parent_pos=(0.1, 0.2, 0.3), child_pos=(0.3, 0.0, 0.1))
    return replace(spec, bodies=(root, *spec.bodies[1:]))


def sticking(spec: RobotSpec) -> RobotSpec:
    """The robot on a ground that holds better what is at rest."""
    slots = tuple(replace(slot, material=Material(1.2, 0.4)) for slot in spec.slots)
    return replace(spec, slots=slots, ground=Material(1.2, 0.4))


ROBOTS = [
    pytest.param(spec, id=f"{spec.name}{number}")
    for number, spec in enumerate(
        (
            with_inertias(ant()),
            with_inertias(cartpole()),
            tree(1),
            tree(2),
            tree(3, False),
            displaced(tree(4)),
            sticking(with_inertias(ant())),
        )
    )
]


def mechanics_of(spec: RobotSpec, cfg: MechanicsCfg = RULES) -> Mechanics:
    """Mechanics with other constants than those of the beginning, and rules that change them strongly."""
    torch.manual_seed(0)
    mechanics = Mechanics(spec, ChangeCodec(spec), cfg, has_contacts=bool(spec.slots))
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
    assert all(robot is not None for robot in mechanics._kernels.values()) and mechanics._kernels
    return said


def pytorch_alone(mechanics: Mechanics, *args: torch.Tensor | Contacts | PhysicalParameters | None) -> torch.Tensor:
    """What PyTorch says."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(verification.SWITCH, "0")
        return copy.deepcopy(mechanics)(*args).detach()


@pytest.mark.parametrize("law", ["engine", "fitted"])
@pytest.mark.parametrize("spec", ROBOTS)
def test_the_kernel_is_as_near_to_double_precision_as_pytorch(spec: RobotSpec, law: ConstraintLawName):
    """Changes of state by the kernel and by PyTorch are apart by what rounding makes: each is off from double precision
    by about as much as the other, in the middle of all environments and in nine of ten.
    """
    mechanics, situated = mechanics_of(spec, replace(RULES, constraint_law=law)), situation(spec)
    said, by_pytorch = kernel_alone(mechanics, *situated), pytorch_alone(mechanics, *situated)
    state, control, contacts = situated
    exact = contacts if contacts is None else contacts.map(lambda x: x if x.dtype == torch.bool else x.double())
    truth = copy.deepcopy(mechanics).double()(state.double(), control.double(), exact).detach()
    size = 1.0 + truth.abs().amax(-1)
    for share in (0.5, 0.9):
        ours, theirs = (((each - truth).abs().amax(-1) / size).quantile(share) for each in (said, by_pytorch))
        assert ours < 3.0 * theirs + 2.0e-6, f"{share}: got {ours:.1e}, PyTorch is off by {theirs:.1e}"


@pytest.mark.parametrize("cfg", [replace(RULES, hidden=0), replace(RULES, substeps=1), replace(RULES, compliance=0.0)])
def test_the_kernel_knows_all_settings_of_the_solver(cfg: MechanicsCfg):
    """Without rules, with one substep, with stiff constraints it says what PyTorch says."""
    mechanics, situated = mechanics_of(with_inertias(ant()), cfg), situation(with_inertias(ant()))
    expected = pytorch_alone(mechanics, *situated)
    apart = (kernel_alone(mechanics, *situated) - expected).abs().amax(-1) / (1.0 + expected.abs().amax(-1))
    assert apart.quantile(0.9) < 1.0e-3


def test_the_nearest_slots_are_chosen_as_pytorch_does():
    """With room for four slots and more of them near, those that come nearest to the ground are looked at."""
    spec, cfg = with_inertias(ant()), replace(RULES, slots=4, reach=1.0)
    state, control, contacts = situation(spec)
    state[:, 2] = 0.4
    contacts = ContactModel(spec)(state, PlaneGround.flat())
    mechanics = mechanics_of(spec, cfg)
    apart = (
        (kernel_alone(mechanics, state, control, contacts) - pytorch_alone(mechanics, state, control, contacts))
        .abs()
        .amax(-1)
    )
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


def test_double_precision_is_left_to_pytorch():
    """In double precision no kernel is made, and gradients flow."""
    spec = with_inertias(cartpole())
    mechanics, (state, control, _) = mechanics_of(spec).double(), situation(spec)
    state = state.double().requires_grad_()
    said = mechanics(state, control.double())
    said.sum().backward()
    assert said.dtype == torch.float64 and state.grad is not None and not mechanics._kernels


def test_what_is_not_finite_stays_where_it_is():
    """A state that is not finite spoils its own environment alone, also when it comes first."""
    spec = with_inertias(ant())
    state, control, contacts = situation(spec)
    expected = kernel_alone(mechanics_of(spec), state, control, contacts)
    state[:8] = float("nan")
    said = kernel_alone(mechanics_of(spec), state, control, contacts)
    assert not said[:8].isfinite().any(-1).all() and torch.equal(said[8:], expected[8:])


@pytest.mark.parametrize("what", ["none", "too few", "one too many", "slots"])
def test_wrong_contacts_are_refused(what: str):
    """Contacts that are missing or of another shape than the states are refused, also after the kernel was used."""
    spec = with_inertias(ant())
    mechanics, (state, control, contacts) = mechanics_of(spec), situation(spec)
    assert contacts is not None
    kernel_alone(mechanics, state, control, contacts)
    wrong = {
        "none": None,
        "too few": contacts[:10],
        "one too many": Contacts.cat((contacts, contacts[:1])),
        "slots": contacts.map(lambda each: each[:, :-1]),
    }[what]
    with torch.no_grad(), pytest.raises(ValueError, match="got (no )?contacts .*expected"):
        mechanics(state, control, wrong)


def test_contacts_of_one_stand_for_all():
    """Contacts with a single leading entry count for each state, for the kernel as for PyTorch."""
    spec = with_inertias(ant())
    mechanics, (state, control, contacts) = mechanics_of(spec), situation(spec)
    assert contacts is not None
    repeated = contacts[[60] * ENVS]
    assert torch.equal(
        kernel_alone(mechanics, state, control, contacts[60:61]), kernel_alone(mechanics, state, control, repeated)
    )


def test_strided_input_is_read_as_it_stands():
    """States, controls and normals may be views of something larger."""
    spec = with_inertias(ant())
    mechanics, (state, control, contacts) = mechanics_of(spec), situation(spec)
    assert contacts is not None
    expected = kernel_alone(mechanics, state, control, contacts)
    backwards = replace(contacts, normal=contacts.normal.flip(-1).contiguous().flip(-1).mT.contiguous().mT)
    assert not backwards.normal.is_contiguous()
    wide = torch.cat((state, state), -1)[:, : state.shape[1]], control.t().contiguous().t()
    assert torch.equal(kernel_alone(mechanics, *wide, backwards), expected)


def test_derivatives_that_no_grad_leaves_on_are_right():
    """Forward-mode derivatives and mapped functions, which ``no_grad`` does not switch off, go through PyTorch."""
    spec = with_inertias(cartpole())
    mechanics, (state, control, _) = mechanics_of(spec), situation(spec)
    kernel_alone(mechanics, state, control)
    tangent = torch.ones_like(state)
    _, expected = torch.func.jvp(lambda x: mechanics(x, control), (state,), (tangent,))
    with torch.no_grad(), torch.autograd.forward_ad.dual_level():
        dual = mechanics(torch.autograd.forward_ad.make_dual(state, tangent), control)
        assert torch.equal(torch.autograd.forward_ad.unpack_dual(dual).tangent, expected)
    with torch.no_grad():
        mapped = torch.vmap(lambda x, u: mechanics(x[None], u[None])[0])(state[:5], control[:5])
    assert torch.allclose(mapped, mechanics(state[:5], control[:5]), atol=1e-5)


def test_a_forked_process_steps_with_threads_of_its_own():
    """A process that was forked from one that has stepped does not wait for its parent's threads."""
    spec = with_inertias(cartpole())
    mechanics, (state, control, _) = mechanics_of(spec), situation(spec, 300)
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        kernel_alone(mechanics, state, control)
        child = os.fork()
        if not child:
            with torch.no_grad():
                robot = next(iter(mechanics._kernels.values()))
                os._exit(0 if robot is not None and robot(state, control, None).isfinite().all() else 1)
        deadline = time.monotonic() + 30.0
        while (done := os.waitpid(child, os.WNOHANG)) == (0, 0) and time.monotonic() < deadline:
            time.sleep(0.05)
        if done == (0, 0):
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        assert done == (child, 0)
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda patch: patch.setenv(verification.SWITCH, "0"), None),
        (lambda patch: patch.setitem(sys.modules, "warp", None), "there is no Warp"),
        (lambda patch: patch.setitem(sys.modules, "warp", types.ModuleType("warp")), "Warp is not the one expected"),
        (lambda patch: patch.setattr("nerd_core.mechanics.kernel.robot.make_kernel", _fails), "no compiler"),
        (lambda patch: patch.setattr("nerd_core.mechanics.kernel.robot.RobotKernel.__call__", _fails), "no compiler"),
        (lambda patch: patch.setattr("nerd_core.mechanics.kernel.robot.RobotKernel.__call__", _is_wrong), "is off by"),
    ],
    ids=["switched off", "no Warp", "another Warp", "no kernel", "no launch", "a wrong kernel"],
)
def test_pytorch_steps_where_the_kernel_cannot(
    spoil: Callable, said: str | None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    """Without Warp, with another one, where compiling or launching fails, and where the kernel says something else,
    PyTorch steps; one line says why, once.
    """
    spec = with_inertias(cartpole())
    state, control, _ = situation(spec)
    expected = pytorch_alone(mechanics_of(spec), state, control)
    monkeypatch.setattr(verification, "_warned", set())
    if said is not None and "Warp" in said:
        for name in [name for name in sys.modules if name.startswith("nerd_core.mechanics.kernel.")]:
            monkeypatch.delitem(sys.modules, name)
            monkeypatch.delattr(kernel, name.rpartition(".")[2], raising=False)
    spoil(monkeypatch)
    with torch.no_grad(), caplog.at_level(logging.WARNING):
        for mechanics in (mechanics_of(spec), mechanics_of(spec)):
            assert torch.equal(mechanics(state, control), expected)
            assert list(mechanics._kernels.values()) == [None]
    lines = [record.getMessage() for record in caplog.records]
    assert len(lines) == (said is not None) and (said or "") in caplog.text and "long story" not in caplog.text


def _fails(*_: object) -> None:
    raise RuntimeError("no compiler\nwith a long story")


def _is_wrong(_: object, state: torch.Tensor, *__: object) -> torch.Tensor:
    return state + 0.1


def test_a_kernel_without_contacts_is_found_out(monkeypatch: pytest.MonkeyPatch):
    """A kernel that forgets contacts is not used, though all robots are in the air when it is tried."""
    from nerd_core.mechanics.kernel.robot import RobotKernel

    whole = RobotKernel.__call__

    def forgets(self: RobotKernel, state: torch.Tensor, control: torch.Tensor, contacts: Contacts) -> torch.Tensor:
        return whole(self, state, control, contacts.map(torch.zeros_like))

    spec = with_inertias(ant())
    mechanics, (state, control, _) = mechanics_of(spec), situation(spec)
    state[:, 2] = 5.0
    monkeypatch.setattr(RobotKernel, "__call__", forgets)
    with torch.no_grad():
        mechanics(state, control, ContactModel(spec)(state, PlaneGround.flat()))
    assert list(mechanics._kernels.values()) == [None]


@pytest.mark.parametrize("spoiled", ["states", "controls"])
def test_a_first_batch_that_is_not_finite_decides_nothing(spoiled: str):
    """Whether the kernel is used is decided on finite numbers; with none, by the next batch."""
    spec = with_inertias(cartpole())
    mechanics, (state, control, _) = mechanics_of(spec, UNTRAINED), situation(spec)
    bad = torch.full_like(state if spoiled == "states" else control, float("nan"))
    with torch.no_grad(), contextlib.suppress(RuntimeError):  # PyTorch finds no inverse of a mass matrix of NaN
        mechanics(bad, control) if spoiled == "states" else mechanics(state, bad)
    assert not mechanics._kernels
    kernel_alone(mechanics, state, control)


def test_a_default_of_double_precision_does_no_harm():
    """Single-precision models step where PyTorch's default is double."""
    spec = with_inertias(cartpole())
    mechanics, (state, control, _) = mechanics_of(spec), situation(spec)
    expected = kernel_alone(mechanics_of(spec), state, control)
    torch.set_default_dtype(torch.float64)
    try:
        assert torch.equal(kernel_alone(mechanics, state, control), expected)
    finally:
        torch.set_default_dtype(torch.float32)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs an NVIDIA GPU")
def test_on_a_gpu_the_kernel_agrees():
    """On a GPU the kernel says what PyTorch says there."""
    spec = with_inertias(ant())
    mechanics, (state, control, contacts) = mechanics_of(spec).cuda(), situation(spec)
    assert contacts is not None
    situated = state.cuda(), control.cuda(), contacts.to("cuda")
    apart = (kernel_alone(mechanics, *situated) - pytorch_alone(mechanics, *situated)).abs().amax(-1)
    assert apart.quantile(0.9) < 1.0e-3
