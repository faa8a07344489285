# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""How far from PyTorch gradients of a kernel may be before they are refused. They are made up here, without Warp."""

from __future__ import annotations

import math
import sys
import types
from collections.abc import Callable
from functools import partial

import pytest
import torch
from torch import Tensor

from nerd_core.contact.contacts import Contacts
from nerd_core.mechanics.config import MechanicsCfg
from nerd_core.mechanics.kernel.adjoint.verification import verified_gradient
from nerd_core.mechanics.step import Mechanics
from nerd_core.robot.frames import ChangeCodec
from nerd_core.robot.physical_parameters import PhysicalParameters
from support.robots import ant, random_state, with_inertias

TOLERANCE = 1.0e-2
"""As a share of the size of derivatives. Written down here once more, so that it cannot be loosened unseen."""

PARTS = ("state", "control", "distance", "normal", "mass", "learned")


class Trial:
    """The check of gradients that are those of a step made up here, with an error in some part of them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch):
        self.spec = with_inertias(ant())
        self.mechanics = Mechanics(self.spec, ChangeCodec(self.spec), MechanicsCfg(hidden=0, constraint_law="fitted"))
        self.wrong: dict[str, Callable[[int], Tensor] | float] = {}
        trial = self

        class Gradient:
            def __init__(self, robot: object):
                self.robot = robot

            def __call__(self, state: Tensor, control: Tensor, contacts: Contacts, rows: PhysicalParameters) -> Tensor:
                return trial.step(state, control, contacts, rows, trial.wrong)

        fake = types.ModuleType("nerd_core.mechanics.kernel.adjoint.robot")
        fake.RobotGradient = Gradient  # pyright: ignore[reportAttributeAccessIssue]
        monkeypatch.setitem(sys.modules, fake.__name__, fake)

    def step(
        self,
        state: Tensor,
        control: Tensor,
        contacts: Contacts | None,
        rows: PhysicalParameters | None,
        wrong: dict[str, Callable[[int], Tensor] | float] | None = None,
    ) -> Tensor:
        """A step that depends on all of its arguments, with derivatives that are wrong by a share of their size."""
        assert contacts is not None and rows is not None and rows.mass is not None
        count = len(state)
        learned = self.mechanics.solver.constants.expand(count, -1)
        tensors = state, control, contacts.distance, contacts.normal.flatten(1), rows.mass, learned
        parts = dict(zip(PARTS, tensors, strict=True))
        said = torch.zeros_like(state)
        for number, (name, part) in enumerate(parts.items()):
            error = (wrong or {}).get(name, 0.0)
            error = error(count) if callable(error) else torch.full((count, 1), error)
            seen = part + error * (part - part.detach())  # the same numbers, other derivatives
            said = said + (seen * (1.0 + torch.arange(part.shape[1])).cos()).sum(-1, keepdim=True) * (0.5 + number)
        return said

    def accepts(self, **wrong: Callable[[int], Tensor] | float) -> bool:
        """Whether gradients are given out that are wrong in some parts."""
        self.wrong = wrong
        state = random_state(self.spec, 40, seed=0, spread=0.3)
        control = torch.zeros(40, self.spec.control_dim)
        robot = types.SimpleNamespace(solver=self.mechanics.solver)
        parameters = PhysicalParameters(mass=torch.ones(1, len(self.spec.bodies)))
        args = self.spec, robot, state, control, lambda rows: partial(self.step, rows=rows), parameters
        return verified_gradient(*args) is not None  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("part", PARTS)
def test_the_tolerance_is_a_hundredth_of_each_part(part: str, monkeypatch: pytest.MonkeyPatch):
    """Derivatives of a part that are off by 3 % less than the tolerance are used, by 3 % more are not, whatever the
    other parts say.
    """
    trial = Trial(monkeypatch)
    assert trial.accepts() and trial.accepts(**{part: 0.97 * TOLERANCE})
    assert not trial.accepts(**{part: 1.03 * TOLERANCE}) and not trial.accepts(**{part: -1.03 * TOLERANCE})


@pytest.mark.parametrize(("share", "accepted"), [(0.45, True), (0.55, False)])
@pytest.mark.parametrize("wrong", [1.0, math.nan, math.inf])
def test_half_of_the_states_have_to_agree(share: float, accepted: bool, wrong: float, monkeypatch: pytest.MonkeyPatch):
    """Wrong in fewer than half of the states gradients are used, in more they are not; what is not finite is wrong."""

    def error(count: int) -> Tensor:
        return torch.where(torch.arange(count) < share * count, wrong, 0.0).unsqueeze(-1)

    assert Trial(monkeypatch).accepts(state=error) is accepted


@pytest.mark.parametrize("wrong", [1.0, math.nan])
def test_what_is_learned_is_differentiated_where_states_agree(wrong: float, monkeypatch: pytest.MonkeyPatch):
    """Where rounding decides in a few states, derivatives by what is learned may be anything in these and in no
    others.
    """

    def error(first: int, last: int) -> Callable[[int], Tensor]:
        def some(count: int) -> Tensor:
            number = torch.arange(count)
            return torch.where((number >= first) & (number < last), wrong, 0.0).unsqueeze(-1)

        return some

    trial = Trial(monkeypatch)
    if math.isfinite(wrong):  # zero times what is no number is none
        assert trial.accepts(state=error(0, 20), learned=error(0, 20))
    assert not trial.accepts(state=error(0, 20), learned=error(20, 40))
    assert not trial.accepts(learned=error(0, 80))
