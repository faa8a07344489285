# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The adjoint of the kernel of mechanics: its gradients are those of PyTorch, whatever a robot has."""

from __future__ import annotations

import copy
import logging
import math
from collections.abc import Callable

import pytest
import torch

from nerd_core.contact.contacts import Contacts
from nerd_core.mechanics.kernel import verification
from nerd_core.mechanics.step import Mechanics
from support.adjoint_cases import CASES, CONSTANTS, ENVS, apart, doubled, mechanics_of, situation, with_kernel
from support.robots import cartpole, with_inertias

pytest.importorskip("warp", reason="needs Warp, which Isaac Lab brings")

Derivatives = tuple[torch.Tensor, dict[str, torch.Tensor], torch.Tensor]


def derivatives(
    step: Callable, mechanics: Mechanics, counted: torch.Tensor, *situated: torch.Tensor | Contacts | None
) -> Derivatives:
    """What a step says, derivatives of a fixed sum of it by states, controls and contacts, and by all that is learned.

    Args:
        step: The step.
        mechanics: Whose parameters are learned.
        counted: One for environments that count, shape (M, 1).
        *situated: State, control and contacts.
    """
    state, control, contacts = situated
    assert isinstance(state, torch.Tensor) and isinstance(control, torch.Tensor)
    inputs = {"state": state.detach().requires_grad_(), "control": control.detach().requires_grad_()}
    if isinstance(contacts, Contacts):
        contacts = contacts.map(lambda x: x if x.dtype == torch.bool else x.detach().requires_grad_())
        inputs |= {"distance": contacts.distance, "normal": contacts.normal}
    said = step(inputs["state"], inputs["control"], contacts)
    weights = torch.randn(said.shape, generator=torch.Generator().manual_seed(6)).to(said)
    learned = list(mechanics.parameters())
    found = torch.autograd.grad((weights * counted * said).sum(), [*inputs.values(), *learned])
    of_learned = torch.cat([each.flatten() for each in found[len(inputs) :]])
    return said.detach(), dict(zip(inputs, found, strict=False)), of_learned


@pytest.mark.parametrize("name", CASES)
def test_gradients_are_as_near_to_double_precision_as_those_of_pytorch(name: str):
    """By states, controls, distances, normals, constants and rules: derivatives by the adjoint are off from double
    precision by about what rounding makes of those of PyTorch, and environments in the air, at stops and on the ground
    are among the half and the three quarters for which this is said.
    """
    spec, cfg = CASES[name]
    mechanics, (state, control, contacts) = mechanics_of(spec, cfg), situation(spec)
    if "slides" in name:
        mechanics.solver.sliding_share = 0.7  # friction falls where a contact begins to slide
    exact, every = copy.deepcopy(mechanics).double(), torch.ones(ENVS, 1)
    doubles = state.double(), control.double(), doubled(contacts)
    _, ours, _ = derivatives(with_kernel(mechanics), mechanics, every, state, control, contacts)
    _, theirs, _ = derivatives(
        lambda *args: mechanics._change(args[0], mechanics._next_state(*args)),
        mechanics,
        every,
        state,
        control,
        contacts,
    )
    _, truth, _ = derivatives(exact, exact, every.double(), *doubles)
    for part, expected in truth.items():
        off, usual = apart(ours[part], expected), apart(theirs[part], expected)
        assert expected.abs().max() > 1.0e-3, part
        for share in (0.5, 0.75):
            limit = 5.0 * usual.nan_to_num(math.inf).quantile(share) + 5.0e-6
            assert off.quantile(share) < limit, f"{part}, {share}: got {off.quantile(share):.1e}, limit {limit:.1e}"
    # What is learned is differentiated by all environments at once: by those in which numbers are no accident.
    state_off = apart(theirs["state"], truth["state"]).maximum(apart(ours["state"], truth["state"]))
    near = (state_off.nan_to_num(math.inf) < 1.0e-4).unsqueeze(-1)
    assert near.sum() > ENVS // 2
    _, _, of_ours = derivatives(with_kernel(mechanics), mechanics, near.float(), state, control, contacts)
    _, _, of_truth = derivatives(exact, exact, near.double(), *doubles)
    assert of_truth.norm() > 1.0e-3 and (of_ours - of_truth).norm() < 3.0e-4 * of_truth.norm()


def test_a_stop_that_is_left_passes_on_what_brings_its_joint_to_rest():
    """With the law of the engine, derivatives of joints that come back from their stops are used, and are those of
    double precision.
    """
    (spec, cfg), every = CASES["engine: stops, fixed"], torch.ones(ENVS, 1)
    mechanics, (state, control, contacts) = mechanics_of(spec, cfg), situation(spec)
    exact = copy.deepcopy(mechanics).double()
    doubles = state.double(), control.double(), doubled(contacts)
    ours = derivatives(with_kernel(mechanics), mechanics, every, state, control, contacts)[1]["state"]
    truth = derivatives(exact, exact, every.double(), *doubles)[1]["state"]
    assert apart(ours, truth).median() < 1.0e-4


def test_what_a_step_says_does_not_depend_on_gradients():
    """A step with gradients gives the bits of one without."""
    spec, cfg = CASES["ant with rules"]
    mechanics, situated = mechanics_of(spec, cfg), situation(spec)
    said = derivatives(with_kernel(mechanics), mechanics, torch.ones(ENVS, 1), *situated)[0]
    with torch.no_grad():
        assert torch.equal(mechanics(*situated), said)


def test_each_environment_is_differentiated_for_itself():
    """Derivatives of a batch are the bits of those that its environments give alone, those by what is learned too,
    on one thread or several.
    """
    spec, cfg = CASES["ant with rules"]
    mechanics, (state, control, contacts) = mechanics_of(spec, cfg), situation(spec, 200)
    assert contacts is not None
    every = torch.ones(200, 1)
    _, whole, learned = derivatives(with_kernel(mechanics), mechanics, every, state, control, contacts)
    one = torch.tensor([7, 150])

    def weighted(x: torch.Tensor, u: torch.Tensor, touching: Contacts) -> torch.Tensor:
        said = torch.zeros(200, mechanics.codec.dim)
        return said.index_copy(0, one, mechanics(x, u, touching))

    _, some, _ = derivatives(weighted, mechanics, every, state[one], control[one], contacts[one])
    assert all(torch.equal(some[part], whole[part][one]) for part in whole)
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(3)
        _, again, learned_again = derivatives(with_kernel(mechanics), mechanics, every, state, control, contacts)
    finally:
        torch.set_num_threads(before)
    assert all(torch.equal(again[part], whole[part]) for part in whole) and torch.equal(learned, learned_again)


def test_graphs_of_several_steps_do_not_share_their_memory():
    """Steps that are taken before the first is differentiated, and graphs that are used twice, change no derivative."""
    spec, cfg = CASES["ant with rules"]
    mechanics, (state, control, contacts) = mechanics_of(spec, cfg), situation(spec)
    step, controls = with_kernel(mechanics), [(i + 1.0) * control.clone().requires_grad_() for i in range(3)]
    alone = [torch.autograd.grad(step(state, each, contacts).sum(), each)[0] for each in controls]
    sums = [step(state, each, contacts).sum() for each in controls]
    for _ in range(2):
        for said, each, expected in zip(sums, controls, alone, strict=True):
            assert torch.equal(torch.autograd.grad(said, each, retain_graph=True)[0], expected)
    with torch.no_grad():
        assert torch.equal(step(state, controls[0], contacts).sum(), sums[0])


def test_back_propagation_through_time_is_that_of_pytorch():
    """Gradients of what happens after eight steps agree with double precision where motion is smooth."""
    spec, cfg = with_inertias(cartpole()), CONSTANTS
    mechanics, (state, control, _) = mechanics_of(spec, cfg), situation(spec, 16)
    exact = copy.deepcopy(mechanics).double()

    def rolled(model: Mechanics, x: torch.Tensor, u: torch.Tensor) -> torch.Tensor:
        u = u.detach().requires_grad_()
        for _ in range(8):
            x = model.codec.apply(x, model(x, u))
        return torch.autograd.grad(x.sum(), u)[0]

    ours, truth = rolled(mechanics, state, control), rolled(exact, state.double(), control.double())
    assert mechanics._gradients and torch.allclose(ours.double(), truth, rtol=1e-3, atol=1e-5)


def test_second_derivatives_are_refused_with_what_to_do():
    """The adjoint has no graph of its own, and says how PyTorch is asked for one."""
    spec = with_inertias(cartpole())
    mechanics, (state, control, _) = mechanics_of(spec, CONSTANTS), situation(spec)
    said = mechanics(state, control.requires_grad_())
    with pytest.raises(RuntimeError, match="create_graph=True .* NERD_FUSED=0"):
        torch.autograd.grad(said.sum(), control, create_graph=True)


def test_a_frozen_model_is_differentiated_by_the_rest():
    """With nothing to differentiate by, a step has no graph and no adjoint is made; controls alone get gradients of a
    model that learns nothing.
    """
    spec = with_inertias(cartpole())
    mechanics, (state, control, _) = mechanics_of(spec, CONSTANTS).requires_grad_(False), situation(spec)
    assert not mechanics(state, control).requires_grad and not mechanics._gradients
    (found,) = torch.autograd.grad(mechanics(state, control.requires_grad_()).sum(), control)
    assert mechanics._gradients and found.abs().max() > 0.0


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda patch: patch.setattr(f"{ADJOINT}.make_adjoint", _fails), "no compiler"),
        (lambda patch: patch.setattr(f"{ADJOINT}.RobotGradient.pull", _wrong("all")), "are off by"),
        (lambda patch: patch.setattr(f"{ADJOINT}.RobotGradient.pull", _wrong("contacts")), "are off by"),
        (lambda patch: patch.setattr(f"{ADJOINT}.RobotGradient.pull", _wrong("learned")), "are off by"),
    ],
    ids=["no adjoint", "wrong gradients", "no gradients by contacts", "wrong gradients by what is learned"],
)
def test_pytorch_differentiates_where_the_adjoint_cannot(
    spoil: Callable, said: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    """Where the adjoint cannot be compiled or says something else, also about a part alone, PyTorch steps and one line
    says why, once; steps without gradients are the kernel's still.
    """
    import nerd_core.mechanics.kernel.adjoint.robot  # noqa: F401

    spec, cfg = CASES["ant with rules"]
    situated, mechanics = situation(spec), mechanics_of(spec, cfg)
    monkeypatch.setattr(verification, "_warned", set())
    spoil(monkeypatch)
    with caplog.at_level(logging.WARNING):
        for each in (mechanics, copy.deepcopy(mechanics)):
            found = derivatives(each, each, torch.ones(ENVS, 1), *situated)[1]
            assert list(each._gradients.values()) == [None]
            assert found["state"].isfinite().all() and found["normal"].abs().max() > 0.0
    lines = [record.getMessage() for record in caplog.records]
    assert len(lines) == 1 and said in lines[0] and "gradients of mechanics" in lines[0]
    with torch.no_grad():
        mechanics(*situated)
    assert all(kernel is not None for kernel in mechanics._kernels.values())


@pytest.mark.parametrize("spoiled", ["smooth", "delayed"])
def test_what_no_kernel_knows_is_left_to_pytorch(spoiled: str, caplog: pytest.LogCaptureFixture):
    """Smooth contacts, and motors whose efforts a task computes: PyTorch steps and differentiates by itself, and one
    line says so, once.
    """
    spec, cfg = CASES["motors, fixed"]
    situated, mechanics = situation(spec), mechanics_of(spec, cfg)
    if spoiled == "smooth":
        mechanics = mechanics.smoothed(0.05)
    else:
        mechanics.actuators.source = lambda step, pos, vel: -0.1 * vel
    verification._warned.clear()
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            found = derivatives(mechanics, mechanics, torch.ones(ENVS, 1), *situated)[1]["state"]
    exact = copy.deepcopy(mechanics).double()
    doubles = situated[0].double(), situated[1].double(), doubled(situated[2])
    truth = derivatives(exact, exact, torch.ones(ENVS, 1).double(), *doubles)[1]["state"]
    assert not mechanics._kernels and apart(found, truth).median() < 1.0e-4
    lines = [record.getMessage() for record in caplog.records]
    assert len(lines) == 1 and {"smooth": "smooth contacts", "delayed": "whose efforts a task"}[spoiled] in lines[0]


def test_motors_at_their_limits_pass_nothing_to_their_targets():
    """Of motors of each law some are at a limit in all physics steps of a control step, and have no derivative by their
    targets; others have one.
    """
    spec, cfg = CASES["motors, fixed"]
    mechanics, situated = mechanics_of(spec, cfg), situation(spec)
    found = derivatives(with_kernel(mechanics), mechanics, torch.ones(ENVS, 1), *situated)[1]["control"]
    seen = set()
    for column, control in enumerate(spec.controls):
        motor = spec.joints[spec.joint_names.index(control.joint)].actuator
        if motor is not None and control.kind == "position":
            seen.add(motor.kind)
            assert 0.02 < float((found[:, column] == 0.0).float().mean()) < 0.98, motor.kind
    assert seen == {"IdealPDActuator", "DCMotor", "RemotizedPDActuator"}


ADJOINT = "nerd_core.mechanics.kernel.adjoint.robot"


def _fails(*_: object) -> None:
    raise RuntimeError("no compiler\nwith a long story")


def _wrong(what: str) -> Callable:
    """Derivatives that are a tenth too large, in a part of them."""
    from nerd_core.mechanics.kernel.adjoint.robot import RobotGradient

    whole = RobotGradient.pull
    spoiled = {"all": range(7), "contacts": (2, 3), "learned": (4, 5, 6)}[what]

    def pull(*args: object) -> tuple[torch.Tensor, ...]:
        found = whole(*args)  # pyright: ignore[reportArgumentType]
        return tuple(1.1 * each if i in spoiled else each for i, each in enumerate(found))

    return pull
