# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""SOAP, the optimiser."""

from __future__ import annotations

import torch
from torch import nn

from nerd_core.training.optimiser import OptimiserCfg, make_optimiser
from nerd_core.training.soap import Soap


def descend(cfg: OptimiserCfg, updates: int) -> float:
    """Final loss of a matrix that is fitted through an ill-conditioned map."""
    generator = torch.Generator().manual_seed(0)
    mix = torch.linalg.qr(torch.randn(12, 12, generator=generator))[0]
    inputs = torch.randn(512, 12, generator=generator) @ (mix * torch.logspace(0, -2, 12)) @ mix.T
    target = inputs @ torch.randn(12, 8, generator=generator)
    layer = nn.Linear(12, 8, bias=False)
    nn.init.zeros_(layer.weight)
    optimiser = make_optimiser(layer, cfg)
    for update in range(updates):
        for group in optimiser.param_groups:
            group["lr"] = cfg.rate(update / updates)
        loss = (layer(inputs) - target).square().mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return float((layer(inputs) - target).square().mean().detach())


def test_soap_follows_the_curvature():
    """Where curvatures differ by 10,000 along slanted directions SOAP gets ten times closer than AdamW."""
    soap = descend(OptimiserCfg(kind="soap", lr=0.1), 300)
    adam = min(descend(OptimiserCfg(kind="adamw", lr=lr, eps=1e-8), 300) for lr in (0.03, 0.1, 0.3))
    assert soap < 0.1 * adam


def test_equal_shapes_are_updated_as_if_alone():
    """Parameters of one shape are updated in one call, with the result that each would have by itself."""
    torch.manual_seed(0)
    together = [nn.Parameter(torch.randn(5, 7)) for _ in range(3)]
    alone = [nn.Parameter(param.detach().clone()) for param in together]
    optimisers = [Soap([{"params": together, "matrix": True}], lr=0.1)]
    optimisers += [Soap([{"params": [param], "matrix": True}], lr=0.1) for param in alone]
    for _ in range(25):
        for one, other in zip(together, alone, strict=True):
            one.grad = torch.randn(5, 7)
            other.grad = one.grad.clone()
        for optimiser in optimisers:
            optimiser.step()
    for one, other in zip(together, alone, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-3)


def test_a_long_side_keeps_its_own_basis():
    """A side above the limit is not decomposed, so that its cost stays linear."""
    param = nn.Parameter(torch.randn(40, 6))
    optimiser = Soap([{"params": [param], "matrix": True}], max_precondition_dim=20)
    for _ in range(12):
        param.grad = torch.randn(40, 6)
        optimiser.step()
    assert "basis-1" in optimiser.state[param]
    assert "basis-2" not in optimiser.state[param]


def test_one_strange_batch_does_not_carry_the_weights_away():
    """A single gradient that is a million times as long as those before and after moves the weights no further than
    three times what they move anyway. Without a bound the running mean would push them on for twenty updates.
    """

    def displacement(spike: float) -> float:
        generator = torch.Generator().manual_seed(0)
        weights = [nn.Parameter(torch.randn(8, 6, generator=generator)), nn.Parameter(torch.zeros(6))]
        optimiser = Soap([{"params": weights[:1], "matrix": True}, {"params": weights[1:]}], lr=1e-2)
        for step in range(140):
            if step == 100:
                before = [weight.detach().clone() for weight in weights]
            for weight in weights:
                weight.grad = 1e-6 * torch.randn(weight.shape, generator=generator) * (spike if step == 100 else 1.0)
            optimiser.step()
        return max(float((weight.detach() - old).abs().max()) for weight, old in zip(weights, before, strict=True))

    assert displacement(1e6) < 3.0 * displacement(1.0)


def test_a_number_alone_is_a_parameter():
    """A parameter without dimensions, as a prior may have one, is fitted, too."""
    scale = nn.Parameter(torch.tensor(0.2))
    optimiser = Soap([scale], lr=0.05)
    for _ in range(200):
        optimiser.zero_grad()
        (3.0 * scale - 1.5).square().backward()
        optimiser.step()
    assert abs(float(scale.detach()) - 0.5) < 0.02
