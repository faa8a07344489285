# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""A step of a model on a GPU asks the GPU for no number and copies nothing between it and the host: traced on a GPU
that is not there. Kernels are launched through a stub that looks at where their arguments are.
"""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor
from torch._subclasses.fake_tensor import DataDependentOutputException

from nerd_core.contact.contacts import ContactModel
from nerd_core.contact.grounds import PlaneGround
from nerd_core.dynamics import NeuralDynamics
from nerd_core.mechanics.step import Mechanics
from nerd_core.network.architectures.mlp import MlpCfg
from nerd_core.network.architectures.transformer import TransformerCfg
from nerd_core.predictor.config import PredictorCfg
from nerd_core.predictor.mechanics_prior import MechanicsPriorCfg
from nerd_core.predictor.predictor import Predictor
from nerd_core.robot.physical_parameters import PhysicalParameters
from nerd_core.robot.spec import RobotSpec
from support.fake_cuda import DEVICE, HostCopy, fake_cuda, fake_like, on_fake_cuda
from support.robots import ant, cartpole, with_inertias

ENVS = 6
PRIOR = MechanicsPriorCfg(substeps=2, hidden=4, slots=5)
MODELS = {
    "mechanics": PredictorCfg(network=None, prior=PRIOR),
    "network behind mechanics": PredictorCfg(network=MlpCfg(hidden=(8,), window=1), prior=PRIOR),
    "transformer": PredictorCfg(network=TransformerCfg(width=8, layers=1, heads=2, window=3, head_hidden=8)),
    "bounded ensemble with forces": PredictorCfg(
        network=MlpCfg(hidden=(8,), window=2), ensemble=2, within_data=True, force_head=True, variance_head=True
    ),
}


def on_device(value: Any, *args: Any, **kwargs: Any) -> Any:
    """In the place of Warp's view of a tensor: looks at where it is."""
    assert value.device == DEVICE, f"got an argument on {value.device}, expected all of them on {DEVICE}"
    assert value.is_contiguous(), "got an argument that is not contiguous, of which Warp would make a copy"
    return value


@pytest.fixture
def stubbed_warp(monkeypatch):
    """Launches that look at their arguments and do nothing; returns the launched kernels' numbers of environments."""
    pytest.importorskip("warp", reason="needs Warp, which Isaac Lab brings")
    from nerd_core.mechanics.kernel import forces, physical_parameters, robot

    launched: list[int] = []

    def launch(self: Any, kernel: Any, count: int, arguments: list[Any]) -> None:
        launched.append(count)
        for each in arguments:
            values = vars(each).values() if isinstance(each, SimpleNamespace) else [each]
            for value in values:
                if isinstance(value, Tensor):
                    on_device(value)

    for module, names in ((robot, ("Inputs",)), (physical_parameters, ("ParameterRows",)), (forces, ("ForceArrays",))):
        for name in names:
            monkeypatch.setattr(module, name, SimpleNamespace)
        stub = SimpleNamespace(**{name: getattr(module.wp, name) for name in dir(module.wp) if name[0] != "_"})
        stub.from_torch, stub.empty = on_device, lambda *args, **kwargs: None
        monkeypatch.setattr(module, "wp", stub)
    monkeypatch.setattr(robot.RobotKernel, "load", lambda self, kernel: None)
    monkeypatch.setattr(robot.RobotKernel, "launch", launch)
    return launched


def kernel_of(mechanics: Mechanics) -> Any:
    """The kernel of mechanics as it reads its arguments, with nothing compiled."""
    from nerd_core.mechanics.kernel.robot import RobotKernel

    robot = RobotKernel(mechanics.spec, mechanics.solver, mechanics._ramp_mean, torch.device("cpu"))  # pyright: ignore
    types = robot.types
    robot.types = SimpleNamespace(weights=SimpleNamespace, features=types.features)  # pyright: ignore
    robot._telling = robot._kernel
    return robot


def step(spec: RobotSpec, cfg: PredictorCfg, forces: bool = False, parameters: bool = False, steps: int = 3) -> None:
    """Steps a model on the GPU that is not there, with resets between."""
    predictor = Predictor(spec, cfg).eval()
    mechanics: Any = getattr(predictor.prior, "mechanics", None)
    kernel = None if mechanics is None else kernel_of(mechanics)
    dynamics = NeuralDynamics(predictor, ENVS, ground=PlaneGround.flat())
    if forces:
        dynamics.ask_for_forces("joints")
    with fake_cuda() as mode:
        for module in (predictor, dynamics.guard, dynamics.ground):
            on_fake_cuda(mode, module)
        dynamics._cache = {name: fake_like(value) for name, value in dynamics._cache.items()}
        for name in ("held", "held_count", "last_good"):
            setattr(dynamics, name, fake_like(getattr(dynamics, name)))
        dynamics.device, rows = DEVICE, None
        if mechanics is not None:
            kernel._feature_scales = None
            kernel._no_contacts = tuple(map(fake_like, kernel._no_contacts))
            mechanics._kernels = {(DEVICE, drives): kernel for drives in (None, False, True)}
        state = torch.empty(ENVS, spec.state.dim, device=DEVICE)
        control = torch.empty(ENVS, spec.control_dim, device=DEVICE)
        if parameters:
            rows = PhysicalParameters(mass=torch.empty(ENVS, len(spec.bodies), device=DEVICE))
        for _ in range(steps):
            state = dynamics.step(state, control, parameters=rows)
            dynamics.reset(torch.empty(ENVS, dtype=torch.bool, device=DEVICE))
        assert state.device == DEVICE and state.shape == (ENVS, spec.state.dim)


@pytest.mark.parametrize("spec", [with_inertias(ant()), with_inertias(cartpole())], ids=lambda spec: spec.name)
@pytest.mark.parametrize("name", MODELS)
def test_a_step_stays_on_the_gpu(name, spec, stubbed_warp):
    """No number is asked for and nothing is copied, whatever the model is made of, in steps and in resets."""
    step(spec, MODELS[name])
    assert stubbed_warp == ([ENVS] * 3 if "mechanics" in name else [])


@pytest.mark.parametrize("given", [{"forces": True}, {"parameters": True}, {"forces": True, "parameters": True}])
def test_forces_and_parameters_stay_on_the_gpu(given, stubbed_warp):
    """Neither what sensors ask for nor what differs between environments costs a copy."""
    step(with_inertias(ant()), MODELS["mechanics"], **given)
    assert stubbed_warp == [ENVS] * 3


@pytest.mark.parametrize("spec", [with_inertias(ant()), with_inertias(cartpole())], ids=lambda spec: spec.name)
def test_mechanics_in_pytorch_stay_on_the_gpu(spec, stubbed_warp, monkeypatch):
    """Where PyTorch takes the step, for gradients or without a compiler, nothing is copied either: one physics step and
    one substep have every operation.
    """
    monkeypatch.setattr("nerd_core.mechanics.step.Mechanics._kernel_for", lambda *args: None)
    cfg = replace(MODELS["mechanics"], prior=replace(PRIOR, substeps=1))
    step(replace(spec, decimation=1), cfg, forces=True, steps=2)
    assert not stubbed_warp


@pytest.mark.parametrize("where", ["contacts", "kernel", "stepper"])
@pytest.mark.parametrize(
    ("planted", "error"),
    [
        (lambda value: value.sum().item(), DataDependentOutputException),
        (lambda value: value.cpu(), HostCopy),
        (lambda value: value.tolist(), DataDependentOutputException),
        (lambda value: torch.tensor([1.0, 2.0], device=value.device), HostCopy),
        (lambda value: bool((value > 0).any()), DataDependentOutputException),
    ],
    ids=["item", "cpu", "tolist", "new tensor", "branch"],
)
def test_what_asks_the_gpu_is_noticed(where, planted, error, stubbed_warp, monkeypatch):
    """A number, a copy, or a branch on a tensor, planted into the way of a step, fails the trace."""
    places = {
        "contacts": (ContactModel, "forward"),
        "kernel": (Mechanics, "_change"),
        "stepper": (NeuralDynamics, "_advance"),
    }
    owner, name = places[where]
    right = getattr(owner, name)

    def wrong(self: Any, state: Tensor, *args: Any, **kwargs: Any) -> Any:
        planted(state)
        return right(self, state, *args, **kwargs)

    monkeypatch.setattr(owner, name, wrong)
    with pytest.raises(error):
        step(with_inertias(ant()), MODELS["mechanics"])
