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

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, override

import torch
from torch import Tensor, nn

from ..contact.grounds import Ground
from ..dynamics import segmented_rollout
from ..files.bounds import bounded, check_bounds
from ..predictor.predictor import Predictor
from ..robot.frames import ChangeCfg, ChangeCodec
from ..robot.physical_parameters import PhysicalParameters
from .parameterisation import IdentificationError, Parameterisation

LEAST_UNIT = 1.0e-3
"""Smallest unit of an error [rad, m, rad/s or m/s]: what does not move in the data must not weigh infinitely much."""


LEAST_SHARE = 1.0e-3
"""Smallest factor by which errors are weighted more: what is never wrong must not weigh infinitely much."""

DIFFERENCES = {"double": 1.0e-4, "single": 3.0e-3}
"""Step of central differences, in free numbers and in learned weights, by precision."""

DIFFERENCES_PER_CHUNK = 8
"""Roll-outs without gradients that take as much memory as one with."""


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
    weight_prior: float | None = bounded(None, above=0.0)
    """Standard deviation of what the model learns about where it starts, before any data; None for no prior. A tenth
    keeps the losses of a transmission from explaining what only some runs show."""
    observations: float = bounded(1000.0, above=0.0)
    """Number of windows beside which the prior counts as one."""
    segment: int = bounded(25, at_least=1)
    """Steps that are kept in memory at once for the gradient."""
    chunk: int = bounded(512, at_least=1)
    """Windows that are rolled out at once."""
    precision: Literal["double", "single"] = "double"
    """Of roll-outs. In single precision the kernel takes the steps wherever it can: all without gradients, which are
    those of differences too, and those with gradients to physical parameters, first states and learned weights, by its
    adjoint."""

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
        learn_weights: bool | Sequence[str] = False,
        first_state_noise: tuple[float, float] | None = None,
        ground: Ground | None = None,
    ):
        """Keeps the windows in the precision of the roll-outs, to which the predictor is brought, too.

        Args:
            predictor: The model; it has to take physical parameters.
            parameterisation: What its parameters are made from.
            windows: Motion to be explained.
            cfg: How to judge.
            learn_weights: Whether the trainable tensors of the predictor are looked for as well; or which of them, by
                parts of their names.
            first_state_noise: Standard deviations of the measured positions and velocities, to look for the first
                states of windows as well; None to take them as measured.
            ground: What the robot stands on.
        """
        self.parameterisation, self.cfg = parameterisation, cfg or CostCfg()
        self._dtype = torch.float64 if self.cfg.precision == "double" else torch.float32
        self.predictor = predictor.to(self._dtype)
        self.windows = Windows(windows.state.to(self._dtype), windows.control.to(self._dtype), windows.source)
        self.ground = ground
        self._codec = ChangeCodec(predictor.spec, ChangeCfg(integration="none"))
        self.unit = self._units()
        _choose_weights(predictor, learn_weights)
        self.variables = Variables(
            torch.zeros(parameterisation.dim, dtype=torch.float64, requires_grad=True),
            [each for each in predictor.parameters() if each.requires_grad],
        )
        self._start = [each.detach().clone() for each in self.variables.weights]
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

    @torch.no_grad()
    def reweigh(self) -> None:
        """Brings the errors of all numbers of a state to one size, so that what is measured badly for how far it goes
        counts as little as its errors tell; their size all together stays.
        """
        left = self.residuals().square().mean((0, 1)).sqrt()
        common = left.square().mean().sqrt().clamp(min=1.0e-300)
        self.unit = self.unit * (left / common).clamp(min=LEAST_SHARE)

    @torch.no_grad()
    def jacobian(self, steps: int | None = None, index: Tensor | None = None) -> Tensor:
        """Derivatives of the errors of windows with respect to the free numbers and then to the learned weights, by
        central differences, shape (n, errors, numbers), in double precision.

        Args:
            steps: Steps of the windows that are looked at; all by default.
            index: Numbers of the windows that are looked at; all by default.
        """
        rows = torch.arange(len(self.windows)) if index is None else index
        free, columns, difference = self.variables.free, [], DIFFERENCES[self.cfg.precision]
        eye = difference * torch.eye(len(free), dtype=free.dtype)
        # Many robots at once: the differences of some free numbers, for all windows, are one roll-out.
        for part in eye.split(max(1, self.cfg.chunk * DIFFERENCES_PER_CHUNK // (2 * len(rows)))):
            sides = self._errors_of(torch.cat((free + part, free - part)), rows, steps)
            columns += list((sides[: len(part)] - sides[len(part) :]) / (2.0 * difference))
        weights = self.variables.weights
        eye = difference * torch.eye(sum(each.numel() for each in weights), dtype=self._dtype)
        for part in eye.split(max(1, self.cfg.chunk * DIFFERENCES_PER_CHUNK // (2 * len(rows)))) if weights else ():
            sides = self._errors_with_weights(torch.cat((part, -part)), rows, steps)
            columns += list((sides[: len(part)] - sides[len(part) :]) / (2.0 * difference))
        return torch.stack(columns, dim=-1).double()

    def _errors_of(self, free: Tensor, rows: Tensor, steps: int | None) -> Tensor:
        """Errors of windows for several robots, shape (robots, n, errors)."""
        count, robots = len(rows), [self.parameterisation(each) for each in free]
        stacked = PhysicalParameters(
            **{
                name: torch.stack([getattr(each, name) for each in robots]).repeat_interleave(count, 0)
                for name in robots[0].given
            }
        )
        return self._errors(rows.repeat(len(free)), steps, parameters=stacked).flatten(1).unflatten(0, (-1, count))

    def _errors_with_weights(self, moved: Tensor, rows: Tensor, steps: int | None) -> Tensor:
        """Errors of windows for several changes of the learned weights, shape (changes, n, errors)."""
        names = [name for name, each in self.predictor.named_parameters() if each.requires_grad]
        parts = moved.split([each.numel() for each in self.variables.weights], dim=-1)
        stacked = {
            f"predictor.{name}": weight.detach() + part.unflatten(-1, weight.shape)
            for name, weight, part in zip(names, self.variables.weights, parts, strict=True)
        }
        inside = _ErrorsOf(self, rows, steps)
        return torch.func.vmap(lambda weights: torch.func.functional_call(inside, weights, ()))(stacked)

    def first_states(self, rows: Tensor) -> Tensor:
        """First states of windows, as measured or as they are looked for, shape (n, S).

        Args:
            rows: Numbers of the windows.
        """
        measured, first = self.windows.state[rows, 0], self.variables.first
        if first is None or self._noise is None:
            return measured
        return self._codec.apply(measured, (first[rows] * self._noise).to(self._dtype))

    # -- inside ----------------------------------------------------------------------------------------------------

    def _errors(
        self, rows: Tensor, steps: int | None, grad: bool = False, parameters: PhysicalParameters | None = None
    ) -> Tensor:
        """Weighted errors of the states behind the first, shape (n, steps, D)."""
        steps = min(steps or self.windows.steps, self.windows.steps)
        if parameters is None and self.parameterisation.dim:
            parameters = self.parameterisation(self.variables.free)
        control = self.windows.control[rows, :steps]
        first = self.first_states(rows)
        with torch.set_grad_enabled(grad):
            states = segmented_rollout(
                self.predictor, first, control, self.cfg.segment, self.ground, parameters=parameters
            )
            states = torch.stack(list(states), dim=1)
        errors = self._codec.encode(states, self.windows.state[rows, 1 : steps + 1])
        return errors.double() / self.unit

    def prior_slopes(self) -> tuple[Tensor, Tensor]:
        """First and second derivatives of what the prior costs, with respect to the free numbers and then to the
        weights, each of shape (numbers,).
        """
        free, cfg = self.variables.free, self.cfg
        of_weights = 0.0 if cfg.weight_prior is None else 1.0 / cfg.weight_prior**2
        pairs = [(free, torch.zeros_like(free)), *zip(self.variables.weights, self._start, strict=True)]
        away = torch.cat([(value - start).detach().flatten() for value, start in pairs])
        second = torch.full_like(away, of_weights / cfg.observations)
        second[: len(free)] = 1.0 / cfg.prior**2 / cfg.observations
        return second * away, second

    def influence(self, errors: Tensor) -> Tensor:
        """How much each window counts in a least-squares step: the slope of its cost by its mean square error, (n,).

        Args:
            errors: What :meth:`residuals` gave, shape (n, steps, D).
        """
        return 1.0 / (1.0 + errors.square().mean((1, 2)) / self.cfg.robust)

    def _robust(self, errors: Tensor) -> Tensor:
        """What each window costs, shape (n,)."""
        return self.cfg.robust * torch.log1p(errors.square().mean((1, 2)) / self.cfg.robust)

    def _penalty(self, chosen: Tensor) -> Tensor:
        """What free numbers and changes of first states cost."""
        cost = 0.5 * (self.variables.free / self.cfg.prior).square().sum() / self.cfg.observations
        if self.cfg.weight_prior is not None:
            for weight, start in zip(self.variables.weights, self._start, strict=True):
                cost = cost + 0.5 * ((weight - start) / self.cfg.weight_prior).square().sum() / self.cfg.observations
        if self.variables.first is not None:
            cost = cost + 0.5 * self.variables.first[chosen].square().mean() / self.windows.steps
        return cost

    def _units(self) -> Tensor:
        """Units of errors, weights included, shape (D,): how far windows go from their first states."""
        begin = self.windows.state[:, :1].expand_as(self.windows.state[:, 1:])
        moved = self._codec.encode(begin, self.windows.state[:, 1:]).double().square().mean((0, 1)).sqrt()
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


class _ErrorsOf(nn.Module):
    """Errors of windows as a function of the predictor's weights."""

    def __init__(self, cost: RolloutCost, rows: Tensor, steps: int | None):
        super().__init__()
        self.predictor = cost.predictor
        self._of = cost, rows, steps

    @override
    def forward(self) -> Tensor:
        cost, rows, steps = self._of
        return cost._errors(rows, steps).flatten(1)


def _choose_weights(predictor: Predictor, learn: bool | Sequence[str]) -> None:
    """Gives gradients to what is looked for of what a predictor learns, and to nothing else."""
    words = [] if isinstance(learn, bool) else list(learn)
    found = {name: {word for word in words if word in name.split(".")} for name, _ in predictor.named_parameters()}
    missing = sorted(set(words).difference(*found.values()))
    if missing:
        known = sorted({name.rpartition(".")[2] for name in found})
        raise IdentificationError(
            f"got '{missing[0][:60]}' to learn, expected names of what the model learns: {', '.join(known)[:300]}"
        )
    for name, parameter in predictor.named_parameters():
        parameter.requires_grad_(learn if isinstance(learn, bool) else bool(found[name]))


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
