# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Physical parameters as free numbers: any vector stands for a robot that can exist.

Masses, frictions and gains are exponentials, so they stay positive; with bounds they follow a sigmoid between them. The
second moments of each body about its centre of mass are ``L transpose(L)`` with a lower triangle whose diagonal is an
exponential. Together with a positive mass that is the log-Cholesky form of the pseudo-inertia (Rucker and Wensing 2022,
*Smooth parameterization of rigid-body inertia*): moments of inertia are positive and fulfil the triangle inequality.

All zeros stand for the specification; a step of one is a change of about the size of the parameter itself.

Example::

    parameterisation = Parameterisation(spec, ["masses", "frictions"], {"masses": (0.1, 2.0)})
    parameters = parameterisation(torch.zeros(parameterisation.dim))
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from ..robot.physical_parameters import PhysicalParameters, specified
from ..robot.spec import RobotSpec

SMALLEST_START = {
    "frictions": 0.02,
    "viscous_frictions": 0.002,
    "armatures": 1.0e-4,
    "stiffnesses": 0.1,
    "dampings": 0.01,
}
"""Value from which a parameter of joints starts that is zero in the specification, SI: an exponential never leaves
zero."""

LEAST_LENGTH = 0.05
"""Smallest unit of a centre of mass [m]."""

Bounds = Mapping[str, tuple[float, float]]


class IdentificationError(ValueError):
    """What is asked for cannot be identified: a contradiction, or data that do not serve."""


@dataclass(frozen=True)
class Group:
    """A word for some physical parameters."""

    fields: tuple[str, ...]
    """Fields of :class:`PhysicalParameters`; all of them are given the same values."""
    unit: str
    """Unit of its values."""
    of: str
    """What it belongs to: ``bodies``, ``joints`` or ``robot``."""
    bounded: bool = True
    """Whether its values can have bounds."""


GROUPS = {
    "masses": Group(("mass",), "kg", "bodies"),
    "centres": Group(("centre_of_mass",), "m", "bodies", bounded=False),
    "inertias": Group(("inertia",), "kg m^2", "bodies", bounded=False),
    "lengths": Group(("parent_pos",), "m", "bodies", bounded=False),
    "armatures": Group(("armature",), "kg m^2 or kg", "joints"),
    "frictions": Group(("joint_friction", "joint_dynamic_friction"), "N m or N", "joints"),
    "viscous_frictions": Group(("joint_viscous_friction",), "N m s/rad or N s/m", "joints"),
    "stiffnesses": Group(("stiffness",), "N m/rad or N/m", "joints"),
    "dampings": Group(("damping",), "N m s/rad or N s/m", "joints"),
    "gravity": Group(("gravity",), "m/s^2", "robot", bounded=False),
}
"""Groups of parameters by the word that asks for them."""

INERTIA_ENTRIES = ("xx", "yx", "yy", "zx", "zy", "zz")
"""Names of the lower triangle of a matrix, row by row."""


class Parameterisation:
    """Physical parameters of one robot as functions of free numbers."""

    names: tuple[str, ...]
    """Name of each free number."""

    def __init__(self, spec: RobotSpec, groups: Iterable[str], bounds: Bounds | None = None, only: str = ".*"):
        """Lays out the free numbers. Raises :class:`IdentificationError` for what contradicts itself.

        Args:
            spec: The robot, with the inertias of its bodies.
            groups: Some of :data:`GROUPS`.
            bounds: Lower and upper bounds of the values of groups, SI.
            only: Regular expression for names of bodies and joints: the values of all others stay as they are.
        """
        self.spec, self.groups = spec, tuple(dict.fromkeys(groups))
        self.bounds = dict(bounds or {})
        self._check(spec)
        start = specified(spec).map(lambda each: each.double())
        # The root of a fixed base does not move, so no motion tells of its mass.
        self.bodies = [i for i in range(len(spec.bodies)) if spec.floating_base or spec.bodies[i].parent is not None]
        names: list[str] = []
        self._parts: list[tuple[str, slice, Callable[[Tensor], Tensor]]] = []
        for group in self.groups:
            labels, value = getattr(self, f"_{GROUPS[group].of}_part")(group, start)
            labels, value = self._narrowed(group, labels, value, start, only)
            self._parts.append((group, slice(len(names), len(names) + len(labels)), value))
            names += [f"{group}: {label}" for label in labels]
        self.names = tuple(names)
        if self.groups and not names:
            raise IdentificationError(
                f"got '{only[:60]}', which is the name of no body or joint of '{spec.name}' whose parameters are "
                f"looked for, expected some of {', '.join([*spec.body_names, *spec.joint_names][:12])}"
            )

    @property
    def dim(self) -> int:
        """Number of free numbers."""
        return len(self.names)

    def __call__(self, free: Tensor) -> PhysicalParameters:
        """The parameters, without leading dimensions. Gradients flow to the free numbers.

        Args:
            free: Free numbers, shape (dim,), float64.
        """
        found = {}
        for group, where, value in self._parts:
            made = value(free[where])
            found |= {field: made for field in GROUPS[group].fields}
        return PhysicalParameters(**found)

    def values(self, free: Tensor) -> dict[str, Tensor]:
        """The values of each group, with the last dimensions of its field.

        Args:
            free: Free numbers, shape (dim,).
        """
        return {group: value(free[where]) for group, where, value in self._parts}

    # -- the kinds of groups ---------------------------------------------------------------------------------------

    def _narrowed(
        self,
        group: str,
        labels: list[str],
        value: Callable[[Tensor], Tensor],
        start: PhysicalParameters,
        only: str,
    ) -> tuple[list[str], Callable[[Tensor], Tensor]]:
        """A group without what belongs to bodies or joints whose names do not match."""
        of = GROUPS[group].of
        if of == "robot":
            return labels, value
        names = self.spec.joint_names if of == "joints" else self.spec.body_names
        try:
            matching = [re.fullmatch(only, name) is not None for name in names]
        except re.error as error:
            raise IdentificationError(f"got '{only[:60]}', expected a regular expression: {error}") from None
        if all(matching):
            return labels, value
        kept = [name for name, matches in zip(names, matching, strict=True) if matches]
        places = [i for i, label in enumerate(labels) if any(f"{label} ".startswith(f"{name} ") for name in kept)]
        rows, columns = torch.tensor(matching), torch.tensor(places, dtype=torch.long)
        own = getattr(start, GROUPS[group].fields[-1])

        def narrowed(free: Tensor) -> Tensor:
            made = value(free.new_zeros(len(labels)).index_copy(0, columns, free))
            return torch.where(rows.view(-1, *[1] * (made.dim() - 1)), made, own)

        return [labels[i] for i in places], narrowed

    def _bodies_part(self, group: str, start: PhysicalParameters) -> tuple[list[str], Callable[[Tensor], Tensor]]:
        assert start.mass is not None and start.centre_of_mass is not None and start.inertia is not None
        if group == "lengths":
            return self._lengths(start)
        rows, bodies = torch.tensor(self.bodies), [self.spec.bodies[i].name for i in self.bodies]
        if group == "masses":
            own = start.mass
            return bodies, lambda free: own.index_copy(0, rows, self._positive(group, own[rows], free))
        if group == "centres":
            own = start.centre_of_mass
            size = own[rows].norm(dim=-1, keepdim=True).clamp(min=LEAST_LENGTH)
            labels = [f"{name} {axis}" for name in bodies for axis in "xyz"]
            return labels, lambda free: own.index_copy(0, rows, own[rows] + size * free.view(-1, 3))
        own = start.inertia
        factor = torch.linalg.cholesky(second_moments(own[rows]))
        labels = [f"{name} {entry}" for name in bodies for entry in INERTIA_ENTRIES]
        return labels, lambda free: own.index_copy(0, rows, _moments(factor @ _triangle(free.view(-1, 6))))

    def _lengths(self, start: PhysicalParameters) -> tuple[list[str], Callable[[Tensor], Tensor]]:
        """How far joints are from the frames of their parents; directions stay."""
        assert start.parent_pos is not None
        own = start.parent_pos
        away = [i for i in self.bodies if self.spec.bodies[i].parent is not None and float(own[i].norm()) > 0.0]
        rows = torch.tensor(away, dtype=torch.long)
        labels = [self.spec.bodies[i].name for i in away]
        return labels, lambda free: own.index_copy(0, rows, own[rows] * free.exp().unsqueeze(-1))

    def _joints_part(self, group: str, start: PhysicalParameters) -> tuple[list[str], Callable[[Tensor], Tensor]]:
        own = getattr(start, GROUPS[group].fields[-1]).clamp(min=0.0)
        own = torch.where(own > 0.0, own, torch.as_tensor(self._first_of(group), dtype=own.dtype))
        return list(self.spec.joint_names), lambda free: self._positive(group, own, free)

    def _robot_part(self, group: str, start: PhysicalParameters) -> tuple[list[str], Callable[[Tensor], Tensor]]:
        own = start.gravity
        assert own is not None
        return ["x", "y", "z"], lambda free: own + own.norm() * free

    def _first_of(self, group: str) -> float:
        """Where a parameter of joints starts that is zero in the specification."""
        low, high = self.bounds.get(group, (0.0, math.inf))
        first = SMALLEST_START[group]
        return first if low < first < high else 0.5 * (low + high)

    def _positive(self, group: str, own: Tensor, free: Tensor) -> Tensor:
        """Positive values, within the group's bounds if it has some."""
        if group not in self.bounds:
            return own * free.exp()
        low, high = self.bounds[group]
        share = (own - low) / (high - low)
        return low + (high - low) * torch.sigmoid(share.logit() + free)

    # -- checks ----------------------------------------------------------------------------------------------------

    def _check(self, spec: RobotSpec) -> None:
        unknown = [name for name in (*self.groups, *self.bounds) if name not in GROUPS]
        if unknown:
            raise IdentificationError(
                f"got the unknown parameters {', '.join(name[:40] for name in unknown[:4])}, expected some of "
                f"{', '.join(GROUPS)}"
            )
        idle = [name for name in self.bounds if name not in self.groups or not GROUPS[name].bounded]
        if idle:
            raise IdentificationError(
                f"got bounds of {', '.join(idle)}, expected bounds of parameters that are identified and are single "
                f"positive numbers: {', '.join(name for name in self.groups if GROUPS[name].bounded) or 'none here'}"
            )
        for group, (low, high) in self.bounds.items():
            if not 0.0 <= low < high < math.inf:
                raise IdentificationError(
                    f"got the bounds {low:g} to {high:g} of the {group}, expected a lower one of at least zero that is "
                    "smaller than the upper one, both finite"
                )
            values = getattr(specified(spec), GROUPS[group].fields[0])
            names = spec.joint_names if GROUPS[group].of == "joints" else spec.body_names
            for name, value in zip(names, values.tolist(), strict=True):
                fixed = GROUPS[group].of == "bodies" and not spec.floating_base and name == spec.bodies[0].name
                if not (low < value < high or fixed or (value == 0.0 and GROUPS[group].of == "joints")):
                    raise IdentificationError(
                        f"got the bounds {low:g} to {high:g} of the {group}, but '{name}' starts at {value:g}: "
                        "expected bounds around the values of the specification, or another specification to start from"
                    )
        if {"centres", "inertias", "masses"} & set(self.groups) and len(spec.bodies) == 1 and not spec.floating_base:
            raise IdentificationError(f"'{spec.name}' has no body that moves: there are no masses to identify")
        if "lengths" in self.groups and spec.slots:
            raise IdentificationError(
                f"got lengths of '{spec.name}' to identify, which has {len(spec.slots)} contact slots, expected a "
                "robot without: contacts are computed with the lengths of the specification"
            )
        if not spec.joints and any(GROUPS[name].of == "joints" for name in self.groups):
            raise IdentificationError(f"'{spec.name}' has no joints, so it has no parameters of joints to identify")


def second_moments(inertia: Tensor) -> Tensor:
    """Second moments ``integral of x transpose(x) dm`` of bodies from their inertias about the same point.

    Args:
        inertia: Inertias [kg m^2], shape (..., 3, 3).
    """
    trace = inertia.diagonal(dim1=-2, dim2=-1).sum(-1)[..., None, None]
    moments = 0.5 * trace * torch.eye(3, dtype=inertia.dtype) - inertia
    # A body without extent in some direction is given a little, so that there is a logarithm to move.
    return moments + 1.0e-3 * trace.clamp(min=1.0e-9) * torch.eye(3, dtype=inertia.dtype) * _is_flat(moments)


def _is_flat(moments: Tensor) -> Tensor:
    """Whether second moments are not positive definite beyond rounding, ones and zeros of shape (..., 1, 1)."""
    values = torch.linalg.eigvalsh(moments)
    return (values[..., :1] < 1.0e-6 * values[..., -1:].clamp(min=1.0e-12)).to(moments.dtype)[..., None]


def _moments(factor: Tensor) -> Tensor:
    """Inertias of bodies whose second moments are ``factor transpose(factor)``, shape (..., 3, 3)."""
    moments = factor @ factor.mT
    trace = moments.diagonal(dim1=-2, dim2=-1).sum(-1)[..., None, None]
    return trace * torch.eye(3, dtype=moments.dtype) - moments


def _triangle(free: Tensor) -> Tensor:
    """Lower triangles with exponentials on the diagonal, shape (..., 3, 3), from their free numbers (..., 6)."""
    xx, yx, yy, zx, zy, zz = free.unbind(-1)
    none = torch.zeros_like(xx)
    rows = (xx.exp(), none, none, yx, yy.exp(), none, zx, zy, zz.exp())
    return torch.stack(rows, dim=-1).unflatten(-1, (3, 3))


__all__ = ["GROUPS", "Bounds", "Group", "IdentificationError", "Parameterisation", "second_moments"]
