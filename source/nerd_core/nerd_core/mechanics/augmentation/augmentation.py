# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The networks of a robot's blueprints: from what they see to what the quantities of a physics step become.

Example::

    augmentation = Augmentation(multibody, (Blueprint(("joint_torque",), ("joint_vel",)),))
    augmentation(readings)    # readings.changed is {"joint_torque"}
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from ...robot.spec import RobotSpec
from ..multibody import Multibody
from .blueprints import ALL, Blueprint, Term, rows_of
from .networks import ElementNetworks
from .quantities import PARAMETERS, element_names, plural
from .readings import Readings, usual


class Columns(NamedTuple):
    """What a network sees of one quantity of one element."""

    label: str
    """What it is, as a blueprint would name it."""
    columns: slice
    """Which of the numbers that the network sees."""


class _Input(NamedTuple):
    """An input of a blueprint for a robot."""

    term: Term
    """What it is."""
    rows: Tensor
    """Which elements are seen: one for each of the outputs', or those that all see, shape (E,) or (seen,)."""
    is_own: bool
    """Whether each sees its own."""
    turning: Tensor | None
    """For positions of joints: which of the elements turn without an end, bool of the shape of ``rows``; None where
    none does. These are seen by sine and cosine."""

    def features(self, value: Tensor) -> Tensor:
        """What the networks see, from the values of the seen elements, shape (M, E, width) to (M, E, columns)."""
        if self.turning is None:
            return value
        turning = self.turning.unsqueeze(-1)
        waves = torch.cat((value.sin(), value.cos()), dim=-1) * turning
        return waves if bool(self.turning.all()) else torch.cat((value * ~turning, waves), dim=-1)

    @property
    def width(self) -> int:
        """Columns for each of the seen elements."""
        if self.turning is None:
            return self.term.quantity.width
        return 2 if bool(self.turning.all()) else 3


class BlueprintNetworks(nn.Module):
    """The networks of one blueprint of a robot."""

    input_scale: Tensor
    """Unit of each number that the networks see, shape (columns,)."""
    unit: Tensor
    """How large a change that they say by one is, shape (E, outputs)."""
    _rows: Tensor

    def __init__(self, multibody: Multibody, blueprint: Blueprint):
        """Looks up what is named. Raises ValueError for what the robot does not have.

        Args:
            multibody: The bodies of the robot.
            blueprint: The blueprint.
        """
        super().__init__()
        self.blueprint, self.spec = blueprint, multibody.spec
        spec, outputs = multibody.spec, blueprint.output_terms()
        with torch.device("cpu"):  # numbers of elements are needed where a model is only sketched, too
            chosen = [rows_of(spec, each) for each in outputs]
            if any(rows != chosen[0] for rows in chosen):
                raise ValueError(
                    f"got the outputs {list(blueprint.outputs)} of different {plural(blueprint.per)}, expected the "
                    "same for all: make a blueprint for each"
                )
            self.rows = chosen[0]
            """Numbers of the elements whose quantities are changed."""
            self._inputs = [_input(spec, blueprint, term, self.rows) for term in blueprint.input_terms()]
        units = usual(multibody)
        unit = [units[each.quantity.name].expand(-1, each.quantity.width) for each in outputs]
        unit = [each[self.rows] if len(each) > 1 else each.expand(len(self.rows), -1) for each in unit]
        self._widths = [each.quantity.width for each in outputs]
        columns = sum(each.width * (1 if each.is_own else len(each.rows)) for each in self._inputs)
        self.register_buffer("unit", blueprint.scale * torch.cat(unit, dim=-1), persistent=False)
        self.register_buffer("_rows", torch.tensor(self.rows), persistent=False)
        self.register_buffer("input_scale", torch.ones(columns))
        count = len(self.rows) if blueprint.sharing == "separate" else 1
        self.networks = ElementNetworks(count, columns, blueprint.hidden, sum(self._widths), blueprint.activation)
        self._squares: list[Tensor] = []

    @property
    def elements(self) -> tuple[str, ...]:
        """Names of what its outputs belong to."""
        names = element_names(self.spec, self.blueprint.per)
        return tuple(names[row] for row in self.rows)

    def input_groups(self) -> list[Columns]:
        """What the networks see, quantity by quantity and element by element."""
        found: list[Columns] = []
        for each in self._inputs:
            names = element_names(self.spec, each.term.quantity.per)
            is_split = not each.is_own and (each.term.element == ALL or len(each.rows) > 1)
            labels = [f"{each.term.quantity.name}[{names[i]}]" for i in each.rows.tolist()]
            for label in labels if is_split else [str(each.term)]:
                begin = found[-1].columns.stop if found else 0
                found.append(Columns(label, slice(begin, begin + each.width)))
        return found

    def said(self, readings: Readings) -> Tensor:
        """What the networks say, in :attr:`unit`, shape (M, E, outputs).

        Args:
            readings: The quantities.
        """
        said = self.networks(self.features(readings) / self.input_scale)
        if not self.blueprint.odd:
            return said
        return 0.5 * (said - self.networks(self.features(readings, -1.0) / self.input_scale))

    def forward(self, readings: Readings) -> None:
        """Changes quantities of a physics step, in place.

        Args:
            readings: The quantities.
        """
        self.put(readings, self.said(readings))

    def put(self, readings: Readings, said: Tensor) -> None:
        """Changes quantities of a physics step by what networks say, in place.

        Args:
            readings: The quantities.
            said: As of :meth:`said`, shape (1 or M, E, outputs).
        """
        parts = (self.unit * said).split(self._widths, dim=-1)
        for term, delta in zip(self.blueprint.output_terms(), parts, strict=True):
            name, before = term.quantity.name, readings[term.quantity.name]
            value = self._bounded(self._base(readings, term, before) + delta, term)
            readings[name] = before.index_copy(1, self._rows, value)

    def features(self, readings: Readings, sign: float = 1.0) -> Tensor:
        """What the networks see, not in their units, shape (M, E, columns).

        Args:
            readings: The quantities.
            sign: Factor of all quantities.
        """
        found = []
        for each in self._inputs:
            value = readings[each.term.quantity.name].index_select(1, each.rows.to(self._rows.device))
            value = each.features(sign * value)
            if not each.is_own:
                value = value.flatten(1).unsqueeze(1).expand(-1, len(self.rows), -1)
            found.append(value)
        return torch.cat(found, dim=-1)

    def update_statistics(self, readings: Readings) -> None:
        """Takes quantities into the units of what the networks see, see :meth:`finalise_statistics`."""
        squares = self.features(readings).square()
        self._squares.append(squares[squares.isfinite().all(-1).all(-1)].mean((0, 1)))

    def finalise_statistics(self) -> None:
        """Sets the units of what the networks see to root mean squares, one for the numbers of a quantity together."""
        if not self._squares:
            return
        squares = torch.stack(self._squares).mean(0)
        for group in self.input_groups():
            unit = squares[group.columns].mean().sqrt()
            self.input_scale[group.columns] = unit if float(unit) > 0.0 else 1.0
        self._squares = []

    def penalty(self) -> Tensor | float:
        """What the sum of the squares of the weights costs."""
        if not self.blueprint.penalty:
            return 0.0
        return self.blueprint.penalty * sum(each.square().sum() for each in self.networks.weights)

    def _base(self, readings: Readings, term: Term, before: Tensor) -> Tensor:
        """What the networks add to, shape (M, E, width)."""
        if self.blueprint.mode == "residual":
            return before.index_select(1, self._rows)
        if term.quantity.name not in PARAMETERS:
            return torch.zeros_like(before).index_select(1, self._rows)
        specified = readings.specified(term.quantity.name)
        if term.quantity.name == "inertia":
            specified = specified.diagonal(dim1=-2, dim2=-1)
        return specified.reshape(1, -1, term.quantity.width).index_select(1, self._rows)

    def _bounded(self, value: Tensor, term: Term) -> Tensor:
        """Values within their bounds. Derivatives are those without bounds, so that what has met one can leave it."""
        given, upper = self.blueprint.lower, self.blueprint.upper
        lower = term.quantity.least if given is None else max(given, term.quantity.least)
        if lower == -math.inf and upper is None:
            return value
        within = value.clamp(lower, math.inf if upper is None else upper).detach()
        return within + (value - value.detach())


class Augmentation(nn.Module):
    """The networks of all blueprints of a robot, in their order: each sees what those before it have changed."""

    def __init__(self, multibody: Multibody, blueprints: Sequence[Blueprint]):
        """Makes the networks.

        Args:
            multibody: The bodies of the robot.
            blueprints: The blueprints.
        """
        super().__init__()
        self.parts = nn.ModuleList(BlueprintNetworks(multibody, each) for each in blueprints)

    def networks_of(self) -> list[BlueprintNetworks]:
        """The networks of each blueprint."""
        return [each for each in self.parts if isinstance(each, BlueprintNetworks)]

    def forward(self, readings: Readings) -> None:
        """Changes quantities of a physics step, in place.

        Args:
            readings: The quantities.
        """
        for each in self.parts:
            each(readings)

    def penalty(self) -> Tensor | float:
        """What the weights cost."""
        return sum((each.penalty() for each in self.networks_of()), 0.0)


def _input(spec: RobotSpec, blueprint: Blueprint, term: Term, rows: list[int]) -> _Input:
    """An input of a blueprint. Raises ValueError for a quantity that says nothing of the outputs' elements."""
    per, seen = term.quantity.per, rows_of(spec, term)
    is_own = term.element is None and per == blueprint.per
    if is_own:
        seen = rows
    elif term.element is None and per == "body" and blueprint.per in ("joint", "slot"):
        is_own, seen = True, [_body_of(spec, blueprint, row) for row in rows]
    elif term.element is None and per != "robot":
        raise ValueError(
            f"got the input '{term}', which belongs to {plural(per)}, for outputs of {plural(blueprint.per)}: expected "
            f"'{term}[*]' for that of all {plural(per)}, or '{term}[name]' for that of one"
        )
    turning = None
    if term.quantity.name == "joint_pos" and any(spec.joints[i].wraps for i in seen):
        turning = torch.tensor([bool(spec.joints[i].wraps) for i in seen])
    return _Input(term, torch.tensor(seen), is_own, turning)


def _body_of(spec: RobotSpec, blueprint: Blueprint, row: int) -> int:
    """Number of the body of a slot, or of the body behind a joint."""
    if blueprint.per == "slot":
        return spec.body_names.index(spec.slots[row].body)
    return next(i for i, body in enumerate(spec.bodies) if body.joint == spec.joint_names[row])


__all__ = ["Augmentation", "BlueprintNetworks", "Columns"]
