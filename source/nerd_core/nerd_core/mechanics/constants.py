# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""One table of the constants of the constraint solver, and one of what its rules see and say.

PyTorch and the kernel both take their indices from here, so that a constant or feature has one name and one place.

Example::

    friction = constants[Constant.FRICTION_COEFFICIENT]
    initial = [constant.initial for constant in Constant]
"""

from __future__ import annotations

import math
from enum import IntEnum


class LearnedConstant(IntEnum):
    """Base of tables of constants that are learned: place in the vector of constants, initial value, unit, meaning."""

    initial: float
    """Value with which training begins where the robot's specification says nothing else."""
    unit: str
    """Unit."""
    meaning: str
    """What it is."""

    def __new__(cls, initial: float, unit: str, meaning: str):
        """Numbers the constants in the order in which they stand in their table."""
        member = int.__new__(cls, len(cls.__members__))
        member._value_ = len(cls.__members__)
        member.initial, member.unit, member.meaning = initial, unit, meaning
        return member


class Constant(LearnedConstant):
    """What the constraint solver learns beside its rules.

    The bias velocity of a constraint's point is what the motion of its body would add to its velocity in a physics step
    while all joint velocities stay the same, see :class:`~nerd_core.mechanics.multibody.BodyMotion`.
    """

    CONTACT_BAUMGARTE = 0.8, "1", "share of a contact's penetration that is taken back in a substep (Baumgarte 1972)"
    STOP_BAUMGARTE = 0.9, "1", "the same of a joint that is beyond its stop"
    MAX_CORRECTION_SPEED = 10.0, "m/s or rad/s", "fastest that a penetration is taken back"
    FRICTION_RETURN = 0.8, "1", "share of a contact's drift along the ground that friction takes back in a substep"
    FRICTION_COEFFICIENT = 1.0, "1", "Coulomb's coefficient of friction"
    LINEAR_BIAS_SHARE = 0.6, "1", "share of the bias velocity by the body's centre of mass that the solver sees"
    ANGULAR_BIAS_SHARE = 0.9, "1", "share of the bias velocity by the body's rotation that the solver sees"


class Feature(IntEnum):
    """What the rules see of a constraint at the beginning of a substep, all velocities [m/s or rad/s]. Those from
    :attr:`SLIP_SPEED` on are zero for joints.
    """

    GAP = 0
    """Gap over a physics step."""
    INITIAL_GAP = 1
    """Gap at the beginning of the physics step, over a physics step."""
    SPEED = 2
    """Velocity along the normal, or away from the stop."""
    NORMAL_IMPULSE = 3
    """Accumulated impulse, times what an impulse of one does to the velocity."""
    SLIP_SPEED = 4
    """Size of the velocity along the ground."""
    FRICTION_IMPULSE = 5
    """Size of the accumulated friction impulse, as a velocity."""
    FRICTION_ALONG_SLIP = 6
    """Its part along the slip."""


class Trait(IntEnum):
    """What the rules see of a constraint that stays the same over a physics step, all between -1 and 1."""

    DELASSUS = 0
    """Its entry on the diagonal of the Delassus matrix beside the typical one."""
    TANGENT_DELASSUS = 1
    """The same of the two friction directions, in the mean."""
    CONTACT_COUNT = 2
    """How many slots are near the ground."""
    IS_JOINT = 3
    """Whether it is the stop of a joint, not a contact."""


class Factor(IntEnum):
    """What the rules say about a constraint: factors, one where nothing is changed."""

    NORMAL_RELAXATION = 0
    """Relaxation of the normal impulse, between 0 and 2 as in successive over-relaxation."""
    FRICTION_RELAXATION = 1
    """Relaxation of the friction impulses, between 0 and 2."""
    OPEN_GAP_RATE = 2
    """Factor of the velocity at which an open gap may be closed."""
    PENETRATION_RATE = 3
    """Factor of the velocity at which a penetration is taken back."""
    FRICTION_RETURN = 4
    """Factor of :attr:`Constant.FRICTION_RETURN`."""
    FRICTION_COEFFICIENT = 5
    """Factor of :attr:`Constant.FRICTION_COEFFICIENT`."""


RELAXATIONS = 2
"""The first so many factors are relaxations: below two; the others are only positive."""

FEATURES, TRAITS, FACTORS = len(Feature), len(Trait), len(Factor)
"""Lengths of what the rules see and say."""

MAX_LOG_FACTOR = 4.0
"""Largest logarithm by which a factor of the rules departs from one."""

MIN_FACTOR = math.exp(-MAX_LOG_FACTOR)
"""Less than any factor of the rules that is no relaxation."""

TRAIT_CENTRE = 0.5
"""Traits are shares from 0 to 1 less this."""

CONTACT_COUNT_UNIT = 0.25
"""Of so much each slot near the ground adds to :attr:`Trait.CONTACT_COUNT`."""

COUNTED_GAP = 0.01
"""Gap [m] below which a slot is counted as near the ground."""

UNREACHABLE = 100.0
"""Gap of what cannot be closed [m or rad]: no ground, no stop."""

FASTEST_JOINT = 100.0
"""Speed of a joint [rad/s or m/s] up to which a drive that only brakes is looked at: where it stays below its effort
limit until there, the limit is left out. PhysX's default for the largest velocity of an articulation's joint."""

VERY_FAR = 1.0e9
"""A stop where there is none, for the kernel [rad or m]."""

UNLIMITED = 1.0e30
"""A limit where there is none, for the kernel: of an impulse [N m s or N s], of a speed [rad/s or m/s]."""

LEARNED = -1.0
"""A coefficient of friction that is the learned one, for the kernel."""

EPSILON = 1.0e-12
"""Added to squares of speeds and impulses, and smallest diagonal entry of the Delassus matrix: keeps roots and
quotients of what may be zero smooth."""

MIN_FRICTION = 1.0e-3
"""Least coefficient of friction with which training begins: constants are learned as logarithms."""

MOMENTUM_EPSILON = 1.0e-20
"""The same for squares of angular momenta."""


__all__ = [
    "CONTACT_COUNT_UNIT",
    "COUNTED_GAP",
    "EPSILON",
    "FACTORS",
    "FASTEST_JOINT",
    "FEATURES",
    "LEARNED",
    "MAX_LOG_FACTOR",
    "MIN_FRICTION",
    "MIN_FACTOR",
    "MOMENTUM_EPSILON",
    "RELAXATIONS",
    "TRAITS",
    "TRAIT_CENTRE",
    "UNLIMITED",
    "UNREACHABLE",
    "VERY_FAR",
    "Constant",
    "Factor",
    "Feature",
    "Trait",
]
