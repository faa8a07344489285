# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Networks for forces in mechanics, fitted to single measured steps without a step of mechanics in the loop.

A step is linear in forces as long as nothing strikes a stop or the ground. So it is asked once how each measured step
answers each force; what networks say then makes the rest of the step by a product, and a fit takes thousands of
iterations in seconds.

Example::

    steps = ForceSteps.of(mechanics, state, control, next_state)
    fit_forces(mechanics, steps, iterations=500)    # the networks of mechanics, in place
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from ..mechanics.augmentation.augmentation import BlueprintNetworks
from ..mechanics.augmentation.augmented_step import AugmentedMechanics
from ..mechanics.augmentation.readings import Readings
from .parameterisation import IdentificationError

LINEAR, ROUNDING = 1.0e-3, 1.0e-9
"""Largest share by which a step may differ from a linear one, and share of a step that rounding may make."""


class ForceSteps(NamedTuple):
    """Measured steps, and how they answer forces."""

    readings: Readings
    """Quantities of their beginnings."""
    left: Tensor
    """What mechanics without networks leave of the changes of velocities, shape (N, V)."""
    answers: list[Tensor]
    """The same per number that the networks of each blueprint say, shape (N, V, E, outputs)."""

    @classmethod
    @torch.no_grad()
    def of(cls, mechanics: AugmentedMechanics, state: Tensor, control: Tensor, next_state: Tensor) -> ForceSteps:
        """Asks mechanics. Raises :class:`IdentificationError` for steps that are not linear in what networks change.

        Args:
            mechanics: Mechanics, whatever their networks say.
            state: States, shape (N, S).
            control: Controls, shape (N, C).
            next_state: States one control step later, shape (N, S).
        """
        codec, every = mechanics.codec, mechanics.augmentation.networks_of()
        columns = [torch.arange(codec.dim)[part] for name, part in codec.slices.items() if name.endswith("vel")]
        velocities = torch.cat(columns)
        if not every:
            raise IdentificationError(f"got mechanics of '{mechanics.spec.name}' without blueprints, expected some")
        plain = mechanics.changed_by(every[0], torch.zeros_like(every[0].unit).unsqueeze(0), state, control)
        left = (codec.encode(state, next_state) - plain)[:, velocities]
        if not bool(left.isfinite().all()):
            raise IdentificationError(
                f"got steps of '{mechanics.spec.name}' that are not finite, expected measured states"
            )
        answers = [_answers(mechanics, each, state, control, plain)[:, velocities] for each in every]
        return cls(mechanics.readings(state, control), left, answers)


def fit_forces(mechanics: AugmentedMechanics, steps: ForceSteps, iterations: int) -> float:
    """Fits all networks of mechanics by L-BFGS, in place, and returns the mean squared error as a share of what
    mechanics left.

    Args:
        mechanics: Mechanics with networks for forces.
        steps: What is to be explained.
        iterations: Iterations.
    """
    every = mechanics.augmentation.networks_of()
    unit = steps.left.square().mean(0).sqrt()
    unit = unit.clamp(min=max(float(unit.max()) * 1.0e-6, 1.0e-12))
    parameters = list(mechanics.augmentation.parameters())
    optimiser = torch.optim.LBFGS(
        parameters, max_iter=iterations, history_size=30, line_search_fn="strong_wolfe",
        tolerance_grad=1.0e-12, tolerance_change=1.0e-15,
    )  # fmt: skip

    def error() -> Tensor:
        made = [
            torch.einsum("nveo,neo->nv", answer, each.said(steps.readings))
            for each, answer in zip(every, steps.answers, strict=True)
        ]
        return ((steps.left - torch.stack(made).sum(0)) / unit).square().mean()

    def closure() -> Tensor:
        optimiser.zero_grad()
        cost = error() + mechanics.augmentation.penalty()
        cost.backward()
        return cost

    optimiser.step(closure)  # type: ignore[arg-type]
    return float(error().detach())


def _answers(
    mechanics: AugmentedMechanics, networks: BlueprintNetworks, state: Tensor, control: Tensor, plain: Tensor
) -> Tensor:
    """Change of state per number that networks say, shape (N, D, E, outputs)."""
    shape, columns = networks.unit.shape, []
    for one in torch.eye(networks.unit.numel(), dtype=state.dtype, device=state.device):
        said = one.view(1, *shape)
        sides = [mechanics.changed_by(networks, sign * said, state, control) - plain for sign in (1.0, -1.0)]
        rounding = ROUNDING * float(plain.norm())
        if float((sides[0] + sides[1]).norm()) > LINEAR * float((sides[0] - sides[1]).norm()) + rounding:
            raise IdentificationError(
                f"got steps of '{mechanics.spec.name}' that are not linear in {list(networks.blueprint.outputs)}: "
                "expected forces or torques, and motion far from stops and ground"
            )
        columns.append(0.5 * (sides[0] - sides[1]))
    return torch.stack(columns, dim=-1).unflatten(-1, shape)


__all__ = ["ForceSteps", "fit_forces"]
