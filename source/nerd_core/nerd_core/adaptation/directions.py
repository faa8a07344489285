# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What of a robot may change while it runs, as a few numbers an environment, all zero for the specification.

============ =========================================================================== ===========================
word         numbers                                                                     unit
============ =========================================================================== ===========================
``payload``  mass added to the root, or to the last body of a fixed base                 share of the robot's mass
``friction`` for each body that ends a limb and has slots: logarithm of friction         1
``motors``   for each controlled joint: logarithm of the strength of what drives it      1
============ =========================================================================== ===========================

A drive of strength ``s`` has ``s`` times the stiffness and damping; an effort that is commanded arrives as ``s`` times
itself.

Example::

    directions = Directions(spec, ("payload", "motors"), predictor)
    parameters, control = directions(torch.zeros(64, directions.dim), control)
"""

from __future__ import annotations

import math
from typing import Literal

import torch
from torch import Tensor, nn

from ..mechanics.actuators import is_explicit
from ..mechanics.constraint_solver import ConstraintSolver
from ..mechanics.step import Mechanics
from ..predictor.predictor import Predictor
from ..robot.physical_parameters import PhysicalParameters, specified
from ..robot.spec import RobotSpec

Word = Literal["payload", "friction", "motors"]
"""What may change."""

WORDS: tuple[Word, ...] = ("payload", "friction", "motors")
"""All of it."""

LIMITS: dict[str, tuple[float, float]] = {
    "payload": (-0.3, 0.6),
    "friction": (math.log(0.1), math.log(3.0)),
    "motors": (math.log(0.1), math.log(2.0)),
}
"""Bounds of the numbers."""

STEPS = {"payload": 0.05, "friction": 0.1, "motors": 0.1}
"""Differences with which derivatives are taken."""


class AdaptationError(ValueError):
    """What is asked for cannot be adapted."""


class Directions(nn.Module):
    """Physical parameters of each environment from a few numbers."""

    names: tuple[str, ...]
    """What each number is, for instance ``motors/LF_KFE``."""
    lower: Tensor
    """Smallest numbers, shape (P,)."""
    upper: Tensor
    """Largest numbers, shape (P,)."""
    steps: Tensor
    """Differences for derivatives, shape (P,)."""
    _mass: Tensor
    _stiffness: Tensor
    _damping: Tensor
    _of_slots: Tensor
    _friction: Tensor
    _of_joints: Tensor
    _of_controls: Tensor

    def __init__(self, predictor: Predictor, words: tuple[str, ...]):
        """Finds the numbers.

        Args:
            predictor: The model, with mechanics in it.
            words: What may change, of :data:`WORDS`.
        """
        super().__init__()
        mechanics = _mechanics_of(predictor)
        spec = predictor.spec
        unknown = [word for word in words if word not in WORDS]
        if unknown or not words or len(set(words)) < len(words):
            raise AdaptationError(f"got '{'+'.join(words)[:60]}' to adapt, expected some of {', '.join(WORDS)}")
        nominal = specified(spec)
        assert nominal.mass is not None and nominal.stiffness is not None and nominal.damping is not None
        names: list[str] = []
        self.loaded = loaded_body(spec)
        self._payload = self._place(names, ["payload"] if "payload" in words else [])
        ends = _ends_with_slots(spec) if "friction" in words else []
        self._feet = self._place(names, [f"friction/{name}" for name in ends])
        joints = _driven_joints(spec) if "motors" in words else []
        self._motors = self._place(names, [f"motors/{spec.joint_names[joint]}" for joint in joints])
        self.names = tuple(names)
        table = [name.partition("/")[0] for name in names]
        assert isinstance(mechanics.solver, ConstraintSolver)
        learned = mechanics.solver.friction.detach().float() if ends else torch.zeros(())
        of_slots = [ends.index(slot.body) if slot.body in ends else len(ends) for slot in spec.slots]
        of_joints = [joints.index(each) if each in joints else len(joints) for each in range(len(spec.joints))]
        index = {name: number for number, name in enumerate(spec.joint_names)}
        of_controls = [
            of_joints[index[control.joint]] if control.kind == "effort" else len(joints) for control in spec.controls
        ]
        buffers = {
            "lower": torch.tensor([LIMITS[word][0] for word in table]),
            "upper": torch.tensor([LIMITS[word][1] for word in table]),
            "steps": torch.tensor([STEPS[word] for word in table]),
            "_mass": nominal.mass,
            "_stiffness": nominal.stiffness,
            "_damping": nominal.damping,
            "_friction": learned.expand(len(spec.slots)).clone(),
            "_of_slots": torch.tensor(of_slots, dtype=torch.long),
            "_of_joints": torch.tensor(of_joints, dtype=torch.long),
            "_of_controls": torch.tensor(of_controls, dtype=torch.long),
        }
        for name, value in buffers.items():
            self.register_buffer(name, value.to(predictor.device), persistent=False)

    @property
    def dim(self) -> int:
        """How many numbers there are (P)."""
        return len(self.names)

    def forward(self, numbers: Tensor, control: Tensor) -> tuple[PhysicalParameters, Tensor]:
        """Parameters of the environments, and what of their controls arrives.

        Args:
            numbers: The numbers, shape (M, P).
            control: Controls, shape (M, C).
        """
        found: dict[str, Tensor] = {}
        if self._payload.stop > self._payload.start:
            mass = self._mass.repeat(len(numbers), 1)
            mass[:, self.loaded] += numbers[:, self._payload.start] * self._mass.sum()
            found["mass"] = mass.clamp(min=0.1 * self._mass)  # whatever is taken off, a body keeps some
        if self._feet.stop > self._feet.start:
            friction = self._friction * _spread(numbers[:, self._feet], self._of_slots)
            found |= {"static_friction": friction, "dynamic_friction": friction}
        if self._motors.stop > self._motors.start:
            strength = numbers[:, self._motors]
            of_joints = _spread(strength, self._of_joints)
            found |= {"stiffness": self._stiffness * of_joints, "damping": self._damping * of_joints}
            control = control * _spread(strength, self._of_controls)
        return PhysicalParameters(**found), control

    @staticmethod
    def _place(names: list[str], more: list[str]) -> slice:
        """Adds names, and says where they are."""
        names.extend(more)
        return slice(len(names) - len(more), len(names))


def loaded_body(spec: RobotSpec) -> int:
    """Which body gets a payload: the root, or the last body of a fixed base.

    Args:
        spec: The robot.
    """
    return 0 if spec.floating_base else len(spec.bodies) - 1


def _spread(logarithms: Tensor, which: Tensor) -> Tensor:
    """Exponentials, shape (M, K), given to those that they belong to; the last number of ``which`` stands for one."""
    values = torch.cat((logarithms.exp(), torch.ones_like(logarithms[:, :1])), dim=1)
    return values[:, which]


def _mechanics_of(predictor: Predictor) -> Mechanics:
    mechanics = getattr(predictor.prior, "mechanics", None)
    if mechanics is None or not predictor.takes_parameters:
        raise AdaptationError(
            f"got a model of '{predictor.spec.name}' without mechanics, expected one that takes physical parameters: "
            "nerd models init, or nerd train --preset mechanics"
        )
    if not isinstance(mechanics.solver, ConstraintSolver):
        raise AdaptationError(
            f"got a model of '{predictor.spec.name}' whose contacts give way, expected rigid ones: --prior mechanics"
        )
    return mechanics


def _ends_with_slots(spec: RobotSpec) -> list[str]:
    """Bodies that end a limb and may touch the ground; of a robot without such, all that may."""
    parents, touching = {body.parent for body in spec.bodies}, {slot.body for slot in spec.slots}
    ends = [body.name for body in spec.bodies if body.name in touching and body.name not in parents]
    found = ends or [body.name for body in spec.bodies if body.name in touching]
    if not found:
        raise AdaptationError(f"got friction to adapt of '{spec.name}', which touches nothing, expected contact slots")
    return found


def _driven_joints(spec: RobotSpec) -> list[int]:
    """Joints that something drives whose strength can be followed."""
    index = {name: number for number, name in enumerate(spec.joint_names)}
    driven = sorted({index[control.joint] for control in spec.controls})
    laws = [spec.joint_names[each] for each in driven if is_explicit(spec.joints[each])]
    if laws or not driven:
        got = f"actuators outside of the engine on {laws[:4]}" if laws else "no controlled joint"
        raise AdaptationError(
            f"got motors to adapt of '{spec.name}' with {got}, expected drives of the engine or efforts: leave out "
            "'motors'"
        )
    return driven


__all__ = ["LIMITS", "STEPS", "WORDS", "AdaptationError", "Directions", "Word", "loaded_body"]
