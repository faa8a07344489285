# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What a token holds: the settings of :class:`~nerd_core.network.tokens.Tokenizer`, and the scales of its features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

GAP_BAND = 0.05
"""Gap between a slot's surface and the ground at which the features of contact motion saturate [m]."""

FINE_SCALE = 3.0e-4
"""Distance at which the fine features of a contact begin to saturate [m]. A robot at rest is held by a penetration of
a twentieth of a millimetre; a tenth more, and the solver pushes it out at a centimetre a second."""


@dataclass(frozen=True)
class TokenCfg:
    """What a token holds."""

    angles: Literal["sincos", "raw"] = "sincos"
    """Whether a joint that wraps is seen as the sine and cosine of its angle, or as the angle in [-pi, pi)."""
    ignored_joint_pos: tuple[str, ...] = ()
    """Joints whose coordinate is left out because the dynamics cannot depend on it, for instance an endless rail."""
    root: Literal["minimal", "published"] = "minimal"
    """Whether the root's pose in its own frame, always zero and identity, is left out or kept as in the published
    models. Only for floating robots."""
    gravity: bool | None = None
    """Whether the direction of gravity in the root's frame is seen; by default for floating robots."""
    limits: bool = False
    """Whether a joint with limits also says how far it is beyond each of them, and how far it would be after one
    control step: at its present velocity, or where a prior leads that leaves stops to the network, see
    :data:`~nerd_core.robot.stops.STOP_BAND`. Dynamics are not smooth there, which a network otherwise has to find
    out."""
    contacts: bool = True
    """Whether the contact slots of the robot are seen. A robot without slots has none to see."""
    contact_motion: bool = False
    """Whether each slot also says how far it would move in one control step, how near it is to the ground, and how near
    it would then be, see :data:`GAP_BAND`: where the prior leads, or at the present velocities. Impacts and friction
    depend on that motion, which a network otherwise has to compute from the robot's kinematics."""
    contact_fine: bool = False
    """Whether each slot also says gap, sinking (beside that of a fall) and sliding on the scale of :data:`FINE_SCALE`.
    Friction and rest depend on tenths of millimetres, which features in centimetres do not tell apart."""
    distinct_slots: bool = False
    """Whether of contact slots that are always in the same place only the first is seen, as where capsules of
    neighbouring bodies meet in a joint. 14 of the Ant's 25 are left."""
    symmetric: bool = False
    """Whether a symmetric robot is shown to the network in only one of its equivalent views, the canonical one, in
    which the slots nearest to the ground come first. An Ant has eight views, so the network has an eighth as much to
    learn. For networks without memory. Masses are not compared: leave it off where these are not symmetric."""
    told_view: bool = False
    """Whether the token also says which of the equivalent views it is. A solver that takes contacts one after the
    other, as PhysX does, is itself not quite symmetric where several meet."""
    contact_bit: bool | None = None
    """Whether each slot also says if it is active; by default with the minimal root. Without it a slot far from the
    ground has the same features as one with the mean of the training data."""

    @classmethod
    def published(cls, gravity: bool | None = None) -> TokenCfg:
        """The tokens of the published models."""
        return cls(angles="raw", root="published", gravity=gravity)


__all__ = ["FINE_SCALE", "GAP_BAND", "TokenCfg"]
