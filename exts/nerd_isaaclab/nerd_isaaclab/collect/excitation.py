# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Control signals that make a robot show its dynamics.

The published method draws every control anew at every step. Such noise averages out within a few steps: it rarely
moves a heavy robot far from where it was. So other kinds stand beside it, and each trajectory gets one of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import torch

from nerd_core.robot.spec import RobotSpec

DEFAULT_SHARES: dict[str, float] = {"random": 0.3, "held": 0.2, "ou": 0.2, "spline": 0.1, "pd": 0.1, "zero": 0.1}
"""Default share of each kind."""

HOLD_STEPS = (2, 20)
"""Shortest and longest hold, and distance of a spline's points [control steps]."""
OU_STEPS = (2.0, 30.0)
"""Shortest and longest correlation of the Ornstein-Uhlenbeck process [control steps]."""
AMPLITUDES = (0.1, 1.0)
"""Smallest and largest share of the control's range that a trajectory uses; ``random`` and ``bang`` always use all."""


class ExcitationError(ValueError):
    """Shares that name no kind of excitation, or add up to nothing."""


@dataclass(frozen=True)
class ControlRange:
    """What the controls may be."""

    low: torch.Tensor
    """Smallest value of each control, shape (C,)."""
    high: torch.Tensor
    """Largest value of each control, shape (C,)."""

    @property
    def middle(self) -> torch.Tensor:
        """Middle of the range, shape (C,)."""
        return 0.5 * (self.low + self.high)

    @property
    def reach(self) -> torch.Tensor:
        """Half the length of the range, shape (C,)."""
        return 0.5 * (self.high - self.low)


def _random(count: int, steps: int, dim: int, generator: torch.Generator) -> torch.Tensor:
    return torch.rand(count, steps, dim, generator=generator) * 2.0 - 1.0


def _held(count: int, steps: int, dim: int, generator: torch.Generator) -> torch.Tensor:
    """Values that are held for a drawn time, each channel for itself."""
    low, high = HOLD_STEPS
    holds = torch.randint(low, high + 1, (count, 1, 1), generator=generator).float()
    changes = torch.rand(count, steps, dim, generator=generator) < 1.0 / holds
    changes[:, 0] = True
    number = changes.long().cumsum(1) - 1
    return _random(count, steps, dim, generator).gather(1, number)


def _bang(count: int, steps: int, dim: int, generator: torch.Generator) -> torch.Tensor:
    """As held, but at one end of the range or the other."""
    held = _held(count, steps, dim, generator)
    return torch.where(held < 0.0, -1.0, 1.0)


def draw_ou(count: int, steps: int, dim: int, generator: torch.Generator) -> torch.Tensor:
    """Ornstein-Uhlenbeck process with a standard deviation of a half, cut off at the range."""
    low, high = OU_STEPS
    time = low * (high / low) ** torch.rand(count, 1, generator=generator)
    keep = torch.exp(-1.0 / time)
    noise = torch.randn(count, steps, dim, generator=generator) * 0.5
    value, values = noise[:, 0], [noise[:, 0]]
    for step in range(1, steps):
        value = keep * value + (1.0 - keep**2).sqrt() * noise[:, step]
        values.append(value)
    return torch.stack(values, 1).clamp(-1.0, 1.0)


def _spline(count: int, steps: int, dim: int, generator: torch.Generator) -> torch.Tensor:
    """Catmull-Rom curves through drawn points."""
    low, high = HOLD_STEPS
    spacing = torch.randint(low, high + 1, (count, 1), generator=generator)
    points = _random(count, math.ceil(steps / low) + 4, dim, generator)
    time = torch.arange(steps)[None] / spacing
    first = time.floor().long()
    t = (time - first)[..., None]
    p0, p1, p2, p3 = (points.gather(1, (first + i)[..., None].expand(-1, -1, dim)) for i in range(4))
    curve = p1 + 0.5 * t * (p2 - p0 + t * (2 * p0 - 5 * p1 + 4 * p2 - p3 + t * (3 * (p1 - p2) + p3 - p0)))
    return curve.clamp(-1.0, 1.0)


def _zero(count: int, steps: int, dim: int, generator: torch.Generator) -> torch.Tensor:
    return torch.zeros(count, steps, dim)


SIGNALS = {"random": _random, "held": _held, "bang": _bang, "ou": draw_ou, "spline": _spline, "zero": _zero}
"""``random``: drawn anew each step (as published). ``held``: drawn, then held for a while. ``bang``: held at one end
of the range or the other, as trained policies like it. ``ou``: an Ornstein-Uhlenbeck process. ``spline``: smooth
curves through drawn points. ``zero``: no effort; targets in the middle."""

LEAN_KINDS = (*SIGNALS, "pd")
"""Kinds without managers. ``pd``: efforts of a proportional-derivative law towards drawn joint positions, for joints
under effort control."""

MANAGED_KINDS = (*SIGNALS, "policy")
"""Kinds with managers, for actions instead of controls. ``policy``: a trained policy, with noise."""


def check_shares(shares: Mapping[str, float], kinds: tuple[str, ...] = LEAN_KINDS) -> dict[str, float]:
    """The shares, scaled to sum up to one, without the kinds that get nothing.

    Args:
        shares: Share of trajectories by kind.
        kinds: Kinds that there are.

    Raises:
        ExcitationError: With what was got and what was expected.
    """
    unknown = sorted(set(shares) - set(kinds))
    if unknown:
        elsewhere = {"pd": "without --managers", "policy": "with --managers and --policy PATH"}
        hints = "".join(f" ('{kind}' works {elsewhere[kind]})" for kind in unknown if kind in elsewhere)
        raise ExcitationError(f"got the excitations {', '.join(unknown)}, expected some of {', '.join(kinds)}{hints}")
    total = sum(shares.values())
    if not (math.isfinite(total) and total > 0.0 and min(shares.values()) >= 0.0):
        raise ExcitationError(f"got the shares {dict(shares)}, expected numbers >= 0 that do not sum up to zero")
    return {kind: share / total for kind, share in shares.items() if share > 0.0}


def draw_signals(
    shares: Mapping[str, float], count: int, steps: int, dim: int, generator: torch.Generator
) -> tuple[list[str], torch.Tensor]:
    """Picks a kind for each trajectory and draws its signal.

    Args:
        shares: Share of each kind, see :func:`check_shares`.
        count: Number of trajectories, N.
        steps: Length of the trajectories, T.
        dim: Number of channels, C.
        generator: Source of randomness, on the CPU.

    Returns:
        The kinds, and signals in [-1, 1] of shape (N, T, C), zero for kinds that are not among :data:`SIGNALS`.
    """
    names = list(shares)
    pick = torch.multinomial(torch.tensor(list(shares.values())), count, replacement=True, generator=generator)
    unit = torch.zeros(count, steps, dim)
    for i, kind in enumerate(names):
        rows = (pick == i).nonzero().squeeze(-1)
        if len(rows) and kind in SIGNALS:
            unit[rows] = SIGNALS[kind](len(rows), steps, dim, generator)
    amplitude = AMPLITUDES[0] + (AMPLITUDES[1] - AMPLITUDES[0]) * torch.rand(count, 1, 1, generator=generator)
    kinds = [names[i] for i in pick.tolist()]
    whole = torch.tensor([kind in ("random", "bang") for kind in kinds]).view(-1, 1, 1)
    return kinds, torch.where(whole, unit, unit * amplitude)


class Excitation:
    """Controls of a batch of trajectories, drawn when it is made."""

    def __init__(
        self,
        spec: RobotSpec,
        limits: ControlRange,
        shares: Mapping[str, float],
        count: int,
        steps: int,
        generator: torch.Generator,
    ):
        """Draws the controls.

        Args:
            spec: The robot.
            limits: Range of each control.
            shares: Share of each kind, see :func:`check_shares`.
            count: Number of trajectories, N.
            steps: Length of the trajectories, T.
            generator: Source of randomness, on the CPU.
        """
        shares = check_shares(shares)
        if not spec.control_slice("effort")[0]:
            shares = _without_pd(spec, shares)
        kinds, unit = draw_signals(shares, count, steps, spec.control_dim, generator)
        self.kinds = kinds
        """Kind of each trajectory."""
        self._open_loop = limits.middle + unit.to(limits.low.device) * limits.reach
        self._law = _PdLaw(spec, limits, [kind == "pd" for kind in self.kinds], steps, generator)

    def control(self, step: int, state: torch.Tensor) -> torch.Tensor:
        """Control of every trajectory at one step, shape (N, C).

        Args:
            step: Number of the step, from 0.
            state: States before the step, shape (N, S).
        """
        return self._law(step, state, self._open_loop[:, step])


def _without_pd(spec: RobotSpec, shares: dict[str, float]) -> dict[str, float]:
    """The shares of a robot that takes no efforts; drives that track positions need no law to do so."""
    if set(shares) == {"pd"}:
        raise ExcitationError(f"got 'pd' as the only excitation, but '{spec.name}' takes no efforts: use held or ou")
    return check_shares({kind: share for kind, share in shares.items() if kind != "pd"})


class _PdLaw:
    """Efforts towards drawn joint positions, which are held for a while and then change."""

    def __init__(self, spec: RobotSpec, limits: ControlRange, rows: list[bool], steps: int, generator: torch.Generator):
        device = limits.low.device
        columns, joints = spec.control_slice("effort")
        self._active = any(rows) and bool(columns)
        if not self._active:
            return
        self._spec = spec
        self._rows = torch.tensor(rows, device=device)[:, None]
        self._columns, self._joints = torch.tensor(columns, device=device), torch.tensor(joints, device=device)
        lower = torch.tensor([max(spec.joints[j].lower, -math.pi) for j in joints])
        upper = torch.tensor([min(spec.joints[j].upper, math.pi) for j in joints])
        unit = _held(len(rows), steps, len(joints), generator)
        self._target = (lower + (upper - lower) * 0.5 * (unit + 1.0)).to(device)
        # the full effort at between a tenth and all of the joint's range away from the target, damped about critically
        share = 0.1 + 0.9 * torch.rand(len(rows), 1, generator=generator)
        self._reach = limits.reach[self._columns]
        self._middle = limits.middle[self._columns]
        self._gain = (1.0 / (share * (upper - lower).clamp(min=1e-3))).to(device)
        self._damping = (0.02 + 0.1 * torch.rand(len(rows), 1, generator=generator)).to(device)

    def __call__(self, step: int, state: torch.Tensor, control: torch.Tensor) -> torch.Tensor:
        if not self._active:
            return control
        at = self._spec.state
        position, velocity = state[:, at.joint_pos][:, self._joints], state[:, at.joint_vel][:, self._joints]
        unit = self._gain * (self._target[:, step] - position) - self._damping * velocity * self._gain
        effort = self._middle + unit.clamp(-1.0, 1.0) * self._reach
        control = control.clone()
        control[:, self._columns] = torch.where(self._rows, effort, control[:, self._columns])
        return control
