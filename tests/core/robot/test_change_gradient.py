# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Derivatives of changes of state by hand are those of PyTorch's graph."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from nerd_core.robot.change_gradient import encoded
from nerd_core.robot.frames import ChangeCfg, ChangeCodec
from support.robots import ant, cartpole, random_state

CASES = {
    "rotation vectors": (ant(), ChangeCfg()),
    "without integration": (ant(), ChangeCfg(integration="none")),
    "quaternions": (ant(), ChangeCfg(rotation="quaternion")),
    "fixed base": (cartpole(), ChangeCfg()),
}


@pytest.mark.parametrize("spin", [0.0, 1.0e-3, 0.3, 40.0])
@pytest.mark.parametrize("name", CASES)
def test_derivatives_are_those_of_the_graph(name: str, spin: float):
    """By both states, in double precision, for quaternions of any length, for turns of any size up to nearly half of
    one, and for angular velocities that turn a robot by next to nothing or by a quarter of a turn in a step.
    """
    spec, cfg = CASES[name]
    spec, generator = replace(spec, physics_dt=0.02), torch.Generator().manual_seed(3)
    codec = ChangeCodec(spec, cfg)
    state = random_state(spec, 64, seed=1, dtype=torch.float64)
    after = state + torch.logspace(-6, 0, 64).double()[:, None] * random_state(spec, 64, seed=2, dtype=torch.float64)
    if spec.floating_base:
        for each, size in ((state, 1.1), (after, 0.8)):
            each[:, spec.state.root_quat] *= size
            each[:, spec.state.root_ang_vel] *= spin
    weights = torch.randn(64, codec.dim, generator=generator, dtype=torch.double)
    found = []
    for encode in (codec.encode, lambda *states: encoded(codec, *states)):
        inputs = [each.clone().requires_grad_() for each in (state, after)]
        said = encode(*inputs)
        found.append((said.detach(), *torch.autograd.grad((weights * said).sum(), inputs)))
    for theirs, ours in zip(*found, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-6, atol=1e-6)
    assert torch.equal(found[0][0], found[1][0])


def test_single_precision_loses_nothing():
    """In single precision derivatives are as near to those in double precision as those of the graph."""
    spec, codec = ant(), ChangeCodec(ant())
    state = random_state(spec, 256, seed=1)
    after = state + torch.logspace(-7, 0, 256)[:, None] * random_state(spec, 256, seed=2)
    weights = torch.randn(256, codec.dim, generator=torch.Generator().manual_seed(0))

    def by(encode, dtype: torch.dtype) -> torch.Tensor:
        inputs = [each.to(dtype).requires_grad_() for each in (state, after)]
        return torch.cat(torch.autograd.grad((weights.to(dtype) * encode(*inputs)).sum(), inputs), -1).double()

    truth = by(codec.encode, torch.double)
    ours, theirs = (by(each, torch.float32) for each in (lambda *states: encoded(codec, *states), codec.encode))
    off, usual = ((each - truth).norm(dim=-1) / truth.norm(dim=-1) for each in (ours, theirs))
    for share in (0.5, 0.9):
        assert off.quantile(share) < 2.0 * usual.quantile(share) + 1e-6
