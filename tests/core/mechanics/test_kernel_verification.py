# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""How far from PyTorch a kernel may be before it is refused; with a kernel made up here, so Warp is not needed."""

from __future__ import annotations

import math
import sys
import types
from dataclasses import dataclass, replace

import pytest
import torch

from nerd_core.contact.contacts import Contacts
from nerd_core.mechanics.config import MechanicsCfg
from nerd_core.mechanics.kernel import verification
from nerd_core.mechanics.step import Mechanics
from nerd_core.robot.frames import ChangeCodec
from nerd_core.robot.spec import RobotSpec
from support.robots import ant, cartpole, random_state, with_inertias

TOLERANCE = 1.0e-3
"""Of the size of a number, beside one. Written down here once more, so that it cannot be loosened unseen."""


@dataclass
class Wrong:
    """By how much a step with a memory is off."""

    state: float = 0.0
    memory: float = 0.0
    only_later: bool = False
    """Whether only a step is that begins with feet that were put down before."""


class Trial:
    """The check of a kernel that says what PyTorch says, and something more."""

    def __init__(self, spec: RobotSpec, monkeypatch: pytest.MonkeyPatch, size: float = 0.0):
        self.spec, self.size, self.seen, self.wrong_memory = spec, size, [], Wrong()
        trial = self

        class Kernel:
            def __init__(self, *_: object):
                pass

            def __call__(self, state: torch.Tensor, control: torch.Tensor, contacts: Contacts | None) -> torch.Tensor:
                return trial.reference(state, control, contacts) + trial.error(state)

            def with_memory(self, state, control, contacts, memory, rows=None):
                next_state, after = trial.remembering(state, control, contacts, memory)
                wrong = trial.wrong_memory
                where = (memory != 0.0).any() if wrong.only_later else True
                return next_state + wrong.state * where, after + wrong.memory * where

        fake = types.ModuleType("nerd_core.mechanics.kernel.robot")
        fake.RobotKernel = Kernel  # pyright: ignore[reportAttributeAccessIssue]
        monkeypatch.setitem(sys.modules, fake.__name__, fake)
        monkeypatch.delenv(verification.SWITCH, raising=False)

    def reference(self, state: torch.Tensor, control: torch.Tensor, contacts: Contacts | None) -> torch.Tensor:
        """A step whose result is of one size everywhere."""
        self.seen.append((state.clone(), control.clone(), contacts))
        return torch.full_like(state, self.size)

    def remembering(
        self, state: torch.Tensor, control: torch.Tensor, contacts: Contacts | None, memory: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """A step that counts how often it was taken."""
        return torch.full_like(state, self.size) + memory.mean(), memory + 1.0

    def accepts(self, error: object, remembers: bool = False) -> bool:
        """Whether a kernel with an error, a function of the states, is given out."""
        self.error = error if callable(error) else lambda state: torch.full_like(state, error)
        mechanics = Mechanics(self.spec, ChangeCodec(self.spec), MechanicsCfg(hidden=0), bool(self.spec.slots))
        state = random_state(self.spec, 40, seed=0, spread=0.3)
        control = torch.zeros(40, self.spec.control_dim)
        solver = next(module for module in mechanics.modules() if type(module).__name__ == "ConstraintSolver")
        remembering = self.remembering if remembers else None
        args = self.spec, solver, 0.5, state, control, self.reference
        found = verification.verified_kernel(*args, remembering=remembering)
        return found is not None


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("size", [0.0, 9.0, -99.0])
def test_the_tolerance_is_a_thousandth(size: float, sign: float, monkeypatch: pytest.MonkeyPatch):
    """A kernel that is off by 3 % less than the tolerance is used, one that is off by 3 % more is not; the tolerance
    is a thousandth of the number's size beside one.
    """
    trial = Trial(with_inertias(cartpole()), monkeypatch, size)
    bound = TOLERANCE * (1.0 + abs(size))
    assert trial.accepts(0.97 * sign * bound)
    assert not trial.accepts(1.03 * sign * bound)


def test_one_wrong_number_of_a_state_is_enough(monkeypatch: pytest.MonkeyPatch):
    """A kernel that is wrong in the last number of each state alone is refused: the largest difference counts."""
    trial = Trial(with_inertias(cartpole()), monkeypatch)

    def error(state: torch.Tensor) -> torch.Tensor:
        wrong = torch.zeros_like(state)
        wrong[:, -1] = 1.03 * TOLERANCE
        return wrong

    assert not trial.accepts(error)


@pytest.mark.parametrize(("share", "accepted"), [(0.45, True), (0.55, False)])
def test_half_of_the_states_have_to_agree(share: float, accepted: bool, monkeypatch: pytest.MonkeyPatch):
    """Wrong in fewer than half of the states a kernel is used, in more of them it is not; nothing finite counts as
    wrong, too.
    """
    trial = Trial(with_inertias(cartpole()), monkeypatch)
    for wrong in (1.0, math.nan, math.inf):

        def error(state: torch.Tensor, wrong: float = wrong) -> torch.Tensor:
            return torch.where(torch.arange(len(state))[:, None] < share * len(state), wrong, 0.0).expand_as(state)

        assert trial.accepts(error) is accepted


def test_the_trial_has_stops_and_contacts(monkeypatch: pytest.MonkeyPatch):
    """The states that are tried are those given and again with each joint at a stop, and some of the slots touch."""
    spec = with_inertias(ant())
    trial = Trial(spec, monkeypatch)
    assert trial.accepts(0.0)
    state, control, contacts = trial.seen[0]
    assert len(state) == len(control) == 80
    stops = torch.tensor([[joint.lower, joint.upper] for joint in spec.joints])
    joints = state[40:, spec.state.joint_pos]
    assert torch.isclose(joints[..., None], stops).any(-1).all()
    assert isinstance(contacts, Contacts)
    radius = torch.tensor([slot.radius for slot in spec.slots])
    assert 0.05 < float((contacts.distance < radius).float().mean()) < 0.5


@pytest.mark.parametrize("only_later", [False, True])
@pytest.mark.parametrize("part", ["state", "memory"])
def test_a_kernel_that_is_wrong_about_where_feet_were_put_down_is_refused(
    part: str, only_later: bool, monkeypatch: pytest.MonkeyPatch
):
    """Of a robot whose friction has a memory, steps with one are tried, too: their states and what they remember,
    without feet on the ground before and with them. Of others nothing of that is asked.
    """
    trial = Trial(with_inertias(ant()), monkeypatch)
    assert trial.accepts(0.0, remembers=True)
    trial.wrong_memory = Wrong(**{part: 4.0 * TOLERANCE}, only_later=only_later)
    assert not trial.accepts(0.0, remembers=True) and trial.accepts(0.0)


def test_mechanics_whose_friction_has_a_memory_try_it(monkeypatch: pytest.MonkeyPatch):
    """The kernel of a robot that has feet is tried with a memory by mechanics; that of one that touches nothing is
    not.
    """
    asked = []

    def verified(*args: object) -> None:
        asked.append(args[-1])

    monkeypatch.setattr("nerd_core.mechanics.step.verified_kernel", verified)
    for spec in (with_inertias(ant()), replace(with_inertias(cartpole()), slots=())):
        cfg = MechanicsCfg(hidden=0, substeps=4, constraint_law="engine")
        mechanics = Mechanics(spec, ChangeCodec(spec), cfg, bool(spec.slots))
        state, control = random_state(spec, 4, seed=0, spread=0.3), torch.zeros(4, spec.control_dim)
        mechanics._kernel_for(state, control, None, None)
        assert (asked.pop() is not None) == mechanics.has_memory == bool(spec.slots)
