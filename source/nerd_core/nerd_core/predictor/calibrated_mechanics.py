# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Mechanics of a robot that was measured: what a specification and a measurement disagree about is learned, too.

In a simulator gravity, lengths and the meaning of a velocity are known. A camera has a scale that is a few percent off,
a floor that is not level and not quite at zero, and velocities that are differences of positions, half a step old. None
of that is a matter of contacts, which rules would otherwise be bent to repair. The table :class:`Calibration` has what
is learned, and with which size it begins.

Example::

    cfg = PredictorCfg(network=None, prior=CalibratedMechanicsCfg(hidden=0))
    print(Predictor(spec, cfg).prior.calibration())    # {"gravity_z": 0.0, "ground_offset": 0.0, ...}
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Literal, override

import torch
from torch import Tensor, nn

from ..contact.contacts import Contacts
from ..mechanics.augmentation.augmented_step import make_mechanics
from ..mechanics.config import CompliantCfg
from ..mechanics.forces import BodyForces
from ..mechanics.step import Mechanics
from ..robot.frames import ChangeCodec
from ..robot.physical_parameters import PhysicalParameters, specified
from ..robot.spec import RobotSpec
from .mechanics_prior import MechanicsPrior
from .prior import PriorCfg


class Calibration(IntEnum):
    """What is learned beside the solver: place in the vector of numbers, their unit of learning, unit, meaning."""

    size: float
    """What a change of one in the parameter that is trained amounts to: a usual disagreement."""
    unit: str
    """Unit."""
    meaning: str
    """What it is."""

    def __new__(cls, size: float, unit: str, meaning: str):
        """Numbers them in the order in which they stand here."""
        member = int.__new__(cls, len(cls.__members__))
        member._value_ = len(cls.__members__)
        member.size, member.unit, member.meaning = size, unit, meaning
        return member

    GRAVITY_X = 0.3, "m/s^2", "added to gravity along x: the measured axes are tilted"
    GRAVITY_Y = 0.3, "m/s^2", "added to gravity along y"
    GRAVITY_Z = 0.3, "m/s^2", "added to gravity along z: the lengths are scaled"
    INERTIA = 0.3, "1", "logarithm of a factor of all moments of inertia: masses are nominal, or lengths scaled"
    GROUND_OFFSET = 2.0e-3, "m", "how much deeper than measured slots are when they touch: the robot is smaller"
    VELOCITY_LAG = 0.3, "control steps", "how long before its state a velocity was"


FLIGHT = 3.0
"""How far the acceleration of a step may be from gravity for a body that flies [m/s^2]."""

LEAST_FLIGHTS = 30
"""Steps of flight from which gravity is taken; with fewer it begins as the specification says."""


@dataclass(frozen=True)
class CalibratedMechanicsCfg(CompliantCfg, PriorCfg):
    """Settings of mechanics that are calibrated on measurements. Contacts give way."""

    kind: Literal["calibrated"] = "calibrated"
    """Names the prior in files."""
    inertia_axes: bool = False
    """Whether moments of inertia about the x and y axes of the bodies are learned by factors of their own, beside the
    one for all: for long bodies whose nominal moments are those of another shape."""

    @override
    def build(self, spec: RobotSpec, codec: ChangeCodec, contacts: bool) -> CalibratedMechanics:
        if not spec.floating_base:
            raise ValueError(
                f"got '{spec.name}', whose base is fixed, for calibrated mechanics, expected a robot with a free root: "
                "gravity, ground and root velocities are what it calibrates; use --prior mechanics"
            )
        return CalibratedMechanics(spec, make_mechanics(spec, codec, self, contacts), self.inertia_axes)


class CalibratedMechanics(MechanicsPrior):
    """A control step by mechanics under the gravity and above the ground that the measurements show.

    A velocity that was ``lag`` steps before its state is brought to the time of the state by gravity, and what is
    predicted is brought back.
    """

    sizes: Tensor
    """Units of learning, by :class:`Calibration`."""
    _gravity: Tensor
    _inertia: Tensor

    def __init__(self, spec: RobotSpec, mechanics: Mechanics, inertia_axes: bool = False):
        """Begins without any disagreement.

        Args:
            spec: The robot.
            mechanics: Its mechanics.
            inertia_axes: See :attr:`CalibratedMechanicsCfg.inertia_axes`.
        """
        super().__init__(mechanics)
        self._dt, self._at = spec.control_dt, spec.state
        self._flights: list[Tensor] = []
        """Of steps of flight: acceleration [m/s^2], and what a step goes beyond its velocity, over time [m/s]."""
        self.learned = nn.Parameter(torch.zeros(len(Calibration)))
        """By :class:`Calibration`, in units of :attr:`Calibration.size`."""
        self.axes = nn.Parameter(torch.zeros(2)) if inertia_axes else None
        """Logarithms of further factors of the moments about x and y, in units of that of ``INERTIA``, shape (2,)."""
        self.register_buffer("sizes", torch.tensor([each.size for each in Calibration]), persistent=False)
        self.register_buffer("_gravity", torch.tensor(spec.gravity), persistent=False)
        self.register_buffer("_inertia", specified(spec).inertia, persistent=False)

    def calibration(self) -> dict[str, float]:
        """What was learned, in the units of :class:`Calibration`, by name."""
        values = (self.learned * self.sizes).tolist()
        found = {each.name.lower(): values[each] for each in Calibration}
        if self.axes is not None:
            further = (self.axes * Calibration.INERTIA.size).tolist()
            found |= {f"inertia_{axis}": value for axis, value in zip("xy", further, strict=True)}
        return found

    def _moments(self, factor: Tensor) -> Tensor:
        """Inertias of all bodies [kg m^2], shape (bodies, 3, 3).

        Args:
            factor: Logarithm of the factor for all, shape ().
        """
        inertia = self._inertia * factor.exp()
        if self.axes is None:
            return inertia
        roots = torch.cat((0.5 * Calibration.INERTIA.size * self.axes, torch.zeros_like(self.axes[:1]))).exp()
        return roots[:, None] * inertia * roots

    @override
    def update_statistics(self, state: Tensor, change: Tensor) -> None:
        """Looks for steps of flight: those whose acceleration is near gravity. See :meth:`finalise_statistics`."""
        then, speed, place = self.mechanics.codec.apply(state, change), self._at.root_lin_vel, self._at.root_pos
        acceleration = (then[..., speed] - state[..., speed]) / self._dt
        beyond = (then[..., place] - state[..., place]) / self._dt - state[..., speed]
        flies = (acceleration - self._gravity).norm(dim=-1) < FLIGHT
        self._flights.append(torch.cat((acceleration, beyond), dim=-1)[flies])

    @override
    @torch.no_grad()
    def finalise_statistics(self) -> None:
        """Begins with the gravity and the lag that flights show.

        In flight a step of ``dt`` goes by ``dt v + (lag + r) g dt^2``, with ``r`` the mean share of a step in which
        gravity has acted: long roll-outs tell ``g`` and ``lag`` apart only slowly, flights do at once.
        """
        super().finalise_statistics()
        flights = torch.cat(self._flights) if self._flights else torch.zeros(0, 6)
        self._flights = []
        if len(flights) < LEAST_FLIGHTS:
            return
        gravity, beyond = flights.mean(0).split(3)
        steps = self.mechanics.solver.substeps * self.mechanics.spec.decimation
        lag = float(beyond @ gravity / (self._dt * gravity @ gravity)) - 0.5 * (1.0 + 1.0 / steps)
        first = slice(Calibration.GRAVITY_X, Calibration.GRAVITY_Z + 1)
        self.learned[first] = (gravity - self._gravity) / self.sizes[first]
        self.learned[Calibration.VELOCITY_LAG] = lag / self.sizes[Calibration.VELOCITY_LAG]

    @override
    def forward(
        self,
        state: Tensor,
        control: Tensor,
        contacts: Contacts | None = None,
        parameters: PhysicalParameters | None = None,
    ) -> Tensor:
        now, lag, contacts, found = self._calibrated(state, contacts, parameters)
        return self._told(state, now, lag, self.mechanics(now, control, contacts, found))

    @override
    def with_forces(
        self,
        state: Tensor,
        control: Tensor,
        contacts: Contacts | None = None,
        parameters: PhysicalParameters | None = None,
        joints: bool = True,
        memory: Tensor | None = None,
    ) -> tuple[Tensor, BodyForces]:
        now, lag, contacts, found = self._calibrated(state, contacts, parameters)
        change, forces = self.mechanics.with_forces(now, control, contacts, found, joints)
        return self._told(state, now, lag, change), forces

    def _calibrated(
        self, state: Tensor, contacts: Contacts | None, parameters: PhysicalParameters | None
    ) -> tuple[Tensor, Tensor, Contacts | None, PhysicalParameters]:
        """States at their own time, what is between that and the time of their velocities [m/s], and contacts and
        parameters as they are calibrated.
        """
        values = self.learned * self.sizes
        gravity = self._gravity + values[Calibration.GRAVITY_X : Calibration.GRAVITY_Z + 1]
        found = PhysicalParameters(gravity=gravity, inertia=self._moments(values[Calibration.INERTIA]))
        if parameters is not None:
            found = replace(found, **{name: getattr(parameters, name) for name in parameters.given})
        lag = self._dt * values[Calibration.VELOCITY_LAG] * gravity
        if contacts is not None:
            deeper = values[Calibration.GROUND_OFFSET] * contacts.active
            contacts = replace(contacts, distance=contacts.distance + deeper)
        return _pushed(state, self._at.root_lin_vel, lag), lag, contacts, found

    def _told(self, state: Tensor, now: Tensor, lag: Tensor, change: Tensor) -> Tensor:
        """A change of calibrated states as one of those that were given."""
        codec = self.mechanics.codec
        then = codec.apply(now, change)
        return codec.encode(state, _pushed(then, self._at.root_lin_vel, -lag))


def _pushed(state: Tensor, columns: slice, velocity: Tensor) -> Tensor:
    """States, shape (..., S), with a velocity [m/s] of shape (3,) added to some columns."""
    moved = state[..., columns] + velocity
    return torch.cat((state[..., : columns.start], moved, state[..., columns.stop :]), dim=-1)


__all__ = ["CalibratedMechanics", "CalibratedMechanicsCfg", "Calibration"]
