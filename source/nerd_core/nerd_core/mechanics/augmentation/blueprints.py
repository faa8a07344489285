# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""A blueprint: which quantities of mechanics a network changes, which it sees, and what the network is like.

A name stands for the quantity of each joint, body or slot, of which a network sees its own and changes its own.
``joint_vel[elbow]`` is that of the elbow alone, ``joint_vel[hip|knee]`` those of two joints, and ``joint_vel[*]`` those
of all; as inputs they stand side by side, for every network to see. A joint or a slot may see what its body has. As
text, for a command line::

    joint_torque<-joint_pos,joint_vel
    joint_torque<-joint_vel[*]; sharing=separate; hidden=8; activation=elu; upper=2; lower=-2; penalty=1e-3
    body_force,body_torque<-body_lin_vel,body_ang_vel; odd
    joint_viscous_friction<-joint_pos; mode=replace

Example::

    friction = Blueprint(outputs=("joint_torque",), inputs=("joint_pos", "joint_vel"))
    friction == Blueprint.parse(str(friction))    # True
"""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from typing import Any, Literal, NamedTuple, get_args

from ...files.bounds import bounded, check_bounds
from ...files.messages import printable
from ...robot.spec import RobotSpec
from .quantities import Element, Quantity, element_names, plural, quantity

Mode = Literal["residual", "replace"]
Sharing = Literal["shared", "separate"]
Activation = Literal["tanh", "elu"]

_TERM = re.compile(r"\s*([a-z_]{1,40})\s*(?:\[([^\[\],;]{1,200})\])?\s*")

MAX_BLUEPRINTS = 64
"""Most blueprints of a robot."""

ALL = "*"
"""Stands for all elements side by side."""


class Term(NamedTuple):
    """A quantity as a blueprint names it."""

    quantity: Quantity
    """The quantity."""
    element: str | None
    """Name of the element it is that of, or of several with ``|`` between; ``*`` for all; None for each its own."""

    @classmethod
    def parse(cls, text: str) -> Term:
        """A term from its text, as ``joint_vel`` or ``joint_vel[elbow]``."""
        found = _TERM.fullmatch(text)
        if found is None:
            raise ValueError(
                f"got '{printable(text[:60])}' in a blueprint, expected the name of a quantity, as joint_vel, or "
                "joint_vel[elbow], or joint_vel[*]"
            )
        return cls(quantity(found[1]), found[2])

    def __str__(self) -> str:
        return self.quantity.name if self.element is None else f"{self.quantity.name}[{self.element}]"


@dataclass(frozen=True)
class Blueprint:
    """A network in mechanics."""

    outputs: tuple[str, ...]
    """Quantities that it changes, all of joints, all of bodies, all of slots, or all of the robot."""
    inputs: tuple[str, ...]
    """Quantities that it sees."""
    hidden: tuple[int, ...] = bounded((16, 16), at_least=1, at_most=1024)
    """Features of the hidden layers."""
    activation: Activation = "tanh"
    """What stands between layers."""
    mode: Mode = "residual"
    """Whether what the network says is added to the quantities, or stands in their place. Added, it begins as nothing.
    In their place forces begin at zero, and other quantities as the specification has them."""
    sharing: Sharing = "shared"
    """Whether one network is shared by all joints, bodies or slots, or each has one of its own."""
    odd: bool = False
    """Whether the network says the opposite for opposite inputs, as friction and drag do."""
    scale: float = bounded(1.0, above=0.0)
    """What the network says is in units of this times what is usual for the robot, see
    :func:`~nerd_core.mechanics.augmentation.readings.usual`."""
    lower: float | None = bounded(None)
    """Least value that a changed quantity may have, in its unit; None for that which makes sense."""
    upper: float | None = bounded(None)
    """Largest value that it may have; None for none."""
    penalty: float = bounded(0.0, at_least=0.0)
    """What training pays for the sum of the squares of the weights."""

    def __post_init__(self):
        check_bounds(self)
        for what, names in (("outputs", self.outputs), ("inputs", self.inputs)):
            if not names:
                raise ValueError(f"got a blueprint without {what}, expected at least one quantity, as joint_vel")
            if len(set(names)) < len(names):
                raise ValueError(f"got {what} {list(names)} of a blueprint, expected each once")
        if not self.hidden:
            raise ValueError("got a blueprint without hidden layers, expected at least one, as hidden=16")
        if len(self.hidden) > 8:
            raise ValueError(f"got {len(self.hidden)} hidden layers in a blueprint, expected at most 8")
        if self.lower is not None and self.upper is not None and self.lower >= self.upper:
            raise ValueError(
                f"got the bounds lower={self.lower:g} and upper={self.upper:g} of a blueprint, which contradict each "
                "other: expected lower < upper"
            )
        for output in self.output_terms():
            self._check_output(output)
        kinds = {output.quantity.per for output in self.output_terms()}
        if len(kinds) > 1:
            raise ValueError(
                f"got the outputs {list(self.outputs)}, which belong to {' and '.join(sorted(kinds))}, expected those "
                "of one kind: make a blueprint for each"
            )
        self.input_terms()  # reads them all

    def _check_output(self, output: Term) -> None:
        """Raises ValueError for an output that nothing can change, or never within the bounds."""
        least = output.quantity.least
        if not output.quantity.is_output:
            raise ValueError(
                f"got the output '{output.quantity.name}', which follows from state and controls alone: nothing can "
                "change it. Expected one that the table of docs/blueprints.md marks, as joint_torque"
            )
        if output.quantity.name == "contact_distance" and self.mode == "replace":
            raise ValueError("got contact_distance with mode=replace, expected mode=residual: distances are measured")
        if output.element == ALL:
            raise ValueError(f"got the output '{output}', expected '{output.quantity.name}' for that of each")
        if self.upper is not None and self.upper <= least:
            raise ValueError(
                f"got upper={self.upper:g} for '{output.quantity.name}', which is never below {least:g}: these bounds "
                f"contradict each other, expected upper > {least:g}"
            )

    @property
    def per(self) -> Element:
        """What its outputs belong to."""
        return self.output_terms()[0].quantity.per

    def output_terms(self) -> tuple[Term, ...]:
        """The outputs."""
        return tuple(map(Term.parse, self.outputs))

    def input_terms(self) -> tuple[Term, ...]:
        """The inputs."""
        return tuple(map(Term.parse, self.inputs))

    def terms(self) -> tuple[Term, ...]:
        """Both."""
        return self.output_terms() + self.input_terms()

    @classmethod
    def parse(cls, text: str) -> Blueprint:
        """A blueprint from its text.

        Args:
            text: As ``joint_torque<-joint_pos,joint_vel; hidden=8,8; odd``.
        """
        head, *options = text.split(";")
        outputs, arrow, inputs = head.partition("<-")
        if not arrow:
            raise ValueError(
                f"got the blueprint '{printable(text[:80])}', expected outputs<-inputs, as joint_torque<-joint_vel"
            )
        values: dict[str, Any] = {"outputs": _names(outputs), "inputs": _names(inputs)}
        for option in filter(str.strip, options):
            name, _, value = (part.strip() for part in option.partition("="))
            values[name] = _option(name, value)
        return cls(**values)

    def __str__(self) -> str:
        words = [f"{','.join(self.outputs)}<-{','.join(self.inputs)}"]
        for item in fields(self)[2:]:
            value = getattr(self, item.name)
            if value is True:
                words.append(item.name)
            elif value != item.default:
                words.append(f"{item.name}={','.join(map(str, value)) if isinstance(value, tuple) else value}")
        return "; ".join(words)


def _names(text: str) -> tuple[str, ...]:
    return tuple(each.strip() for each in text.split(",") if each.strip())


def _option(name: str, value: str) -> Any:
    """The value of an option of a blueprint's text."""
    words: dict[str, tuple[str, ...]] = {
        "mode": get_args(Mode),
        "sharing": get_args(Sharing),
        "activation": get_args(Activation),
    }
    numbers = ("scale", "lower", "upper", "penalty")
    if name in words:
        if value not in words[name]:
            raise ValueError(f"got {name}={printable(value[:40])} in a blueprint, expected one of {words[name]}")
        return value
    if name == "odd":
        if value not in ("", "true", "false"):
            raise ValueError(f"got odd={printable(value[:40])} in a blueprint, expected odd, or nothing")
        return value != "false"
    try:
        if name == "hidden":
            return tuple(int(each) for each in value.split(","))
        if name in numbers:
            return float(value)
    except ValueError:
        raise ValueError(f"got {name}={printable(value[:40])} in a blueprint, expected numbers") from None
    raise ValueError(
        f"got the option '{printable(name[:40])}' in a blueprint, expected one of "
        f"{', '.join((*words, 'odd', 'hidden', *numbers))}"
    )


def rows_of(spec: RobotSpec, term: Term) -> list[int]:
    """Numbers of the elements of a robot that a term names.

    Args:
        spec: The robot.
        term: What a blueprint names. Raises ValueError where the robot has nothing of that name.
    """
    per = term.quantity.per
    names = element_names(spec, per)
    if not names:
        raise ValueError(
            f"got '{term}' in a blueprint for '{spec.name}', which has no {plural(per)}: expected what it has"
        )
    if term.element is None or term.element == ALL:
        return list(range(len(names)))
    wanted = [each.strip() for each in term.element.split("|")]
    for name in wanted:
        if name not in names or wanted.count(name) > 1:
            raise ValueError(
                f"got '{printable(str(term)[:80])}' in a blueprint, and '{spec.name}' has no {per} of that name, or "
                f"not twice: expected some of {list(names[:12])}{' and others' if len(names) > 12 else ''}"
            )
    return [names.index(name) for name in wanted]


__all__ = ["ALL", "MAX_BLUEPRINTS", "Activation", "Blueprint", "Mode", "Sharing", "Term", "rows_of"]
