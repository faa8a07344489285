# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""A cost over roll-outs, with gradients to physical parameters, first states, and what the model has learned.

Windows of motion are predicted from their first states and controls. With ``r`` for the errors of a window's states in
units of how far such windows go, and ``c`` for the size from which an error counts less (a roll-out of a pendulum that
tips the other way tells nothing of its mass), a window costs ``c log(1 + mean(r^2) / c)``.

Memory is that of one segment of steps and one chunk of windows: segments are computed once more for the gradient
(checkpointing), chunks one after the other.

Example::

    cost = RolloutCost(predictor, parameterisation, windows)
    value = cost.backward(steps=20)  # the gradients stand in the leaves of cost.variables
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from ..contact.grounds import Ground
from ..files.bounds import bounded, check_bounds
from ..network.architectures.base import Past
from ..predictor.predictor import Predictor
from ..robot.frames import ChangeCfg, ChangeCodec
from ..robot.physical_parameters import PhysicalParameters
from .parameterisation import IdentificationError, Parameterisation

LEAST_UNIT = 1.0e-3
"""Smallest unit of an error [rad, m, rad/s or m/s]: what does not move in the data must not weigh infinitely much."""


@dataclass(frozen=True, eq=False)
class Windows:
    """Pieces of motion of one robot, all of the same length."""

    state: Tensor
    """States, shape (N, T + 1, S)."""
    control: Tensor
    """Controls held over each step, shape (N, T, C)."""
    source: tuple[str, ...] = ()
    """Name of the run that each is from."""

    def __post_init__(self):
        if (
            not len(self.state)
            or self.state.shape[1] < 2
            or self.control.shape[:2]
            != (
                len(self.state),
                self.state.shape[1] - 1,
            )
        ):
            raise IdentificationError(
                f"got windows of shape {tuple(self.state.shape)} with controls {tuple(self.control.shape)}, expected "
                "at least one window of at least one step"
            )
        bad = ~(self.state.isfinite().all(-1).all(-1) & self.control.isfinite().flatten(1).all(-1))
        if bool(bad.any()):
            first = int(bad.nonzero()[0])
            run = f" of run '{self.source[first][:60]}'" if self.source else ""
            raise IdentificationError(
                f"got {int(bad.sum())} of {len(bad)} windows with numbers that are not finite, the first{run}: "
                "expected measured states and controls without NaN (nerd data check says where)"
            )

    def __len__(self) -> int:
        return len(self.state)

    @property
    def steps(self) -> int:
        """Steps of a window."""
        return self.control.shape[1]

    def pick(self, index: Tensor | slice) -> Windows:
        """Some of them.

        Args:
            index: Which, as for the first dimension of a tensor.
        """
        names = ()
        if self.source:
            rows = range(len(self))[index] if isinstance(index, slice) else index.tolist()
            names = tuple(self.source[i] for i in rows)
        return Windows(self.state[index], self.control[index], names)


@dataclass(frozen=True)
class CostCfg:
    """How roll-outs are judged."""

    velocity_weight: float = bounded(0.1, at_least=0.0)
    """Weight of squared errors of velocities beside those of positions."""
    robust: float = bounded(1.0, above=0.0)
    """Mean square error of a window, in units of how far windows go, from which it counts less."""
    prior: float = bounded(10.0, above=0.0)
    """Standard deviation of the free numbers before any data: parameters that no motion tells of stay near the
    specification. One is a change of about the size of the parameter itself."""
    observations: float = bounded(1000.0, above=0.0)
    """Number of windows beside which the prior counts as one."""
    segment: int = bounded(25, at_least=1)
    """Steps that are kept in memory at once for the gradient."""
    chunk: int = bounded(512, at_least=1)
    """Windows that are rolled out at once."""

    def __post_init__(self):
        check_bounds(self)


@dataclass(eq=False)
class Variables:
    """What is looked for: leaves with gradients."""

    free: Tensor
    """Free numbers of the parameterisation, shape (dim,)."""
    weights: list[Tensor] = field(default_factory=list)
    """What the predictor learns: its trainable tensors."""
    first: Tensor | None = None
    """Changes of the first states of all windows, in units of what their noise is said to be, shape (N, D)."""

    def leaves(self) -> list[Tensor]:
        """All of them, those of no number left out."""
        return [each for each in (self.free, *self.weights, self.first) if each is not None and each.numel()]


class RolloutCost:
    """The mean cost of windows."""

    def __init__(
        self,
        predictor: Predictor,
        parameterisation: Parameterisation,
        windows: Windows,
        cfg: CostCfg | None = None,
        *,
        learn_weights: bool = False,
        first_state_noise: tuple[float, float] | None = None,
        ground: Ground | None = None,
    ):
        """Keeps the windows in double precision, in which the predictor has to be, too.

        Args:
            predictor: The model; it has to take physical parameters.
            parameterisation: What its parameters are made from.
            windows: Motion to be explained.
            cfg: How to judge.
            learn_weights: Whether the trainable tensors of the predictor are looked for as well.
            first_state_noise: Standard deviations of the measured positions and velocities, to look for the first
                states of windows as well; None to take them as measured.
            ground: What the robot stands on.
        """
        self.predictor, self.parameterisation, self.cfg = predictor.double(), parameterisation, cfg or CostCfg()
        self.windows = Windows(windows.state.double(), windows.control.double(), windows.source)
        self.ground = ground
        self._codec = ChangeCodec(predictor.spec, ChangeCfg(integration="none"))
        self.unit = self._units()
        for parameter in predictor.parameters():
            parameter.requires_grad_(learn_weights)
        self.variables = Variables(
            torch.zeros(parameterisation.dim, dtype=torch.float64, requires_grad=True),
            [each for each in predictor.parameters() if each.requires_grad],
        )
        self._noise: Tensor | None = None
        if first_state_noise is not None:
            self._noise = self._per_change(*first_state_noise)
            self.variables.first = torch.zeros(len(windows), self._codec.dim, dtype=torch.float64, requires_grad=True)

    def backward(self, steps: int | None = None, index: Tensor | None = None) -> float:
        """The cost; adds its gradient to those of the variables.

        Args:
            steps: Steps of the windows that are looked at; all by default.
            index: Numbers of the windows that are looked at; all by default.
        """
        chosen = torch.arange(len(self.windows)) if index is None else index
        total = 0.0
        for rows in chosen.split(self.cfg.chunk):
            cost = self._robust(self._errors(rows, steps, grad=True)).sum() / len(chosen)
            cost.backward()
            total += cost.item()
        penalty = self._penalty(chosen)
        if penalty.requires_grad:
            penalty.backward()
        return total + penalty.item()

    @torch.no_grad()
    def value(self, steps: int | None = None) -> float:
        """The cost alone, arguments as of :meth:`backward`."""
        everything = torch.arange(len(self.windows))
        parts = [self._robust(self._errors(rows, steps)).sum() for rows in everything.split(self.cfg.chunk)]
        return float(sum(parts) / len(everything) + self._penalty(everything))

    @torch.no_grad()
    def residuals(self, steps: int | None = None) -> Tensor:
        """Errors of all states in their units, weighted, shape (N, steps, D)."""
        everything = torch.arange(len(self.windows))
        return torch.cat([self._errors(rows, steps) for rows in everything.split(self.cfg.chunk)])

    def first_states(self, rows: Tensor) -> Tensor:
        """First states of windows, as measured or as they are looked for, shape (n, S).

        Args:
            rows: Numbers of the windows.
        """
        measured, first = self.windows.state[rows, 0], self.variables.first
        if first is None or self._noise is None:
            return measured
        return self._codec.apply(measured, first[rows] * self._noise)

    # -- inside ----------------------------------------------------------------------------------------------------

    def _errors(self, rows: Tensor, steps: int | None, grad: bool = False) -> Tensor:
        """Weighted errors of the states behind the first, shape (n, steps, D)."""
        steps = min(steps or self.windows.steps, self.windows.steps)
        parameters = self.parameterisation(self.variables.free) if self.parameterisation.dim else None
        control = self.windows.control[rows, :steps]
        states = torch.stack(list(self._motion(self.first_states(rows), control, parameters, grad)), dim=1)
        errors = self._codec.encode(states, self.windows.state[rows, 1 : steps + 1])
        return errors / self.unit

    def _motion(
        self, state: Tensor, control: Tensor, parameters: PhysicalParameters | None, grad: bool
    ) -> Iterator[Tensor]:
        """States behind the first, one after the other, computed in segments."""
        past: Past | None = None

        def advance(state: Tensor, past: Past | None, control: Tensor) -> tuple[list[Tensor], Past | None]:
            found = []
            for held in control.unbind(1):
                contacts = self.predictor.contacts(state, self.ground)
                prediction, past = self.predictor.extend(state, held, contacts, past, parameters)
                state = self.predictor.next_state(state, prediction)
                found.append(state)
            return found, past

        for segment in control.split(self.cfg.segment, dim=1):
            if grad:
                found, past = checkpoint(advance, state, past, segment, use_reentrant=False)  # type: ignore[misc]
            else:
                found, past = advance(state, past, segment)
            yield from found
            state = found[-1]

    def _robust(self, errors: Tensor) -> Tensor:
        """What each window costs, shape (n,)."""
        return self.cfg.robust * torch.log1p(errors.square().mean((1, 2)) / self.cfg.robust)

    def _penalty(self, chosen: Tensor) -> Tensor:
        """What free numbers and changes of first states cost."""
        cost = 0.5 * (self.variables.free / self.cfg.prior).square().sum() / self.cfg.observations
        if self.variables.first is not None:
            cost = cost + 0.5 * self.variables.first[chosen].square().mean() / self.windows.steps
        return cost

    def _units(self) -> Tensor:
        """Units of errors, weights included, shape (D,): how far windows go from their first states."""
        begin = self.windows.state[:, :1].expand_as(self.windows.state[:, 1:])
        moved = self._codec.encode(begin, self.windows.state[:, 1:]).square().mean((0, 1)).sqrt()
        weight = self.cfg.velocity_weight**0.5
        units = self._per_change(1.0, 1.0 / weight if weight else float("inf"))
        return moved.clamp(min=LEAST_UNIT) * units

    def _per_change(self, of_positions: float, of_velocities: float) -> Tensor:
        """One number for positions and one for velocities in a change of state, shape (D,)."""
        numbers = torch.full((self._codec.dim,), of_positions, dtype=torch.float64)
        for name, where in self._codec.slices.items():
            if name.endswith("vel"):
                numbers[where] = of_velocities
        return numbers


def joint_windows(
    motions: Sequence[tuple[str, Tensor, Tensor]], steps: int, stride: int, limit: int | None = None
) -> Windows:
    """Windows of equal length out of runs; runs shorter than one are left out.

    Args:
        motions: Name, states (T + 1, S) and controls (T, C) of each run.
        steps: Steps of a window.
        stride: Steps from the beginning of one window to that of the next.
        limit: Most windows, spread evenly over all there are; None for all.
    """
    found = [
        (name, state[begin : begin + steps + 1], control[begin : begin + steps])
        for name, state, control in motions
        for begin in range(0, len(control) - steps + 1, stride)
    ]
    if not found:
        longest = max((len(control) for _, _, control in motions), default=0)
        raise IdentificationError(
            f"got no run of at least {steps} steps (the longest has {longest}): expected longer motion or shorter "
            "windows"
        )
    if limit is not None and len(found) > limit:
        found = [found[i] for i in torch.linspace(0, len(found) - 1, limit).round().long().tolist()]
    names, states, controls = zip(*found, strict=True)
    return Windows(torch.stack(states), torch.stack(controls), tuple(names))


__all__ = ["CostCfg", "RolloutCost", "Variables", "Windows", "joint_windows"]
