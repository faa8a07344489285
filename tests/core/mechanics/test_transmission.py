# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""A transmission before mechanics: an identity at first, losses that brake, and the same model from a checkpoint."""

from __future__ import annotations

import pytest
import torch

from nerd_core import checkpoint
from nerd_core.mechanics.transmission import DRAG_UNIT, Transmission
from nerd_core.predictor.transmission_prior import TransmissionCfg
from nerd_core.robot.physical_parameters import PhysicalParameters
from support.identified_arm import arm, model


def states(count: int = 6) -> tuple[torch.Tensor, torch.Tensor]:
    """States and efforts of an arm."""
    random = torch.Generator().manual_seed(0)
    return 2.0 * torch.randn(count, 4, generator=random), torch.randn(count, 2, generator=random)


def test_a_new_transmission_changes_nothing(monkeypatch: pytest.MonkeyPatch):
    """Mechanics behind a new transmission predict what mechanics predict, with a network of torques, too."""
    state, control = states()
    plain, behind = model(arm()), model(arm(), TransmissionCfg(hidden=0, substeps=1, torque_hidden=4))
    monkeypatch.setenv("NERD_FUSED", "0")  # neither with a kernel
    first, second = plain.prior(state, control), behind.prior(state, control)
    torch.testing.assert_close(first, second, rtol=0.0, atol=0.0)


def test_efforts_are_those_by_hand():
    """Gain, coupling, bias, load, friction at rest and drag are as the formula says."""
    transmission = Transmission(arm(), hidden=0)
    with torch.no_grad():
        transmission.gain.copy_(torch.tensor([0.1, 0.0]))
        transmission.coupling.copy_(torch.tensor([[9.0, 0.5], [0.0, 9.0]]))  # the diagonal is no coupling
        transmission.bias.copy_(torch.tensor([0.0, 0.01]))
        transmission.load.copy_(torch.tensor([0.2, 0.0]))
        transmission.drag.copy_(torch.tensor([0.0, 2.0]))
        transmission.stribeck.copy_(torch.tensor([0.0, 0.3]))
    effort, vel = torch.tensor([[2.0, 1.0]]), torch.tensor([[50.0, -3.0]])
    found = transmission(torch.zeros(1, 2), vel, effort)[0].tolist()
    assert found[0] == pytest.approx(2.2 + 0.5 - 0.4, abs=1e-4)
    assert found[1] == pytest.approx(1.0 + 0.01 + 0.3 * 2.718281828**-3.0 + DRAG_UNIT * 2.0 * 9.0, abs=1e-4)


def test_physical_parameters_still_count():
    """Another mass changes the motion behind a transmission as well."""
    state, control = states()
    predictor = model(arm(), TransmissionCfg(hidden=0, substeps=1))
    heavier = PhysicalParameters(mass=torch.tensor([1.0, 1.0, 1.2]))
    assert not torch.equal(predictor.prior(state, control), predictor.prior(state, control, None, heavier))


def test_it_goes_through_a_checkpoint(tmp_path):
    """A saved transmission predicts the same when it is read back."""
    predictor = model(arm(), TransmissionCfg(hidden=0, substeps=1, torque_hidden=4))
    with torch.no_grad():
        for parameter in predictor.parameters():
            parameter += 0.01
    state, control = states()
    again = checkpoint.load(checkpoint.save(tmp_path / "model", predictor))
    torch.testing.assert_close(again.prior(state, control), predictor.prior(state, control), rtol=0.0, atol=0.0)
