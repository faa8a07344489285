# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Whether mechanics knows all forces that a robot feels.

Example::

    require_known_forces(spec)  # raises ValueError for targets that nothing follows, tendons and the like
"""

from __future__ import annotations

from ..robot.spec import RobotSpec
from .actuators import is_explicit
from .joint_drives import has_drive


def require_known_forces(spec: RobotSpec) -> None:
    """Raises ValueError for a robot whose joints feel forces that mechanics does not know, with what to do."""
    instead = "or learn the free motion of this robot instead (nerd train --free-motion)"
    led = {joint.name for joint in spec.joints if has_drive(joint) or joint.mimic is not None or is_explicit(joint)}
    deaf = [
        f"{control.kind} target of '{control.joint}'"
        for control in spec.controls
        if control.kind != "effort" and control.joint not in led
    ]
    if deaf:
        raise ValueError(
            f"got the {', '.join(deaf[:4])}{' and others' if len(deaf) > 4 else ''} of '{spec.name}', and no drive of "
            "the simulator and no actuator of the task that follows it, expected one for mechanics. "
            f"Use implicit actuators (ImplicitActuatorCfg) or actions that are efforts, {instead}"
        )
    if spec.tendons:
        raise ValueError(
            f"got the tendons {list(spec.tendons[:4])} in '{spec.name}', expected none: mechanics does not know them. "
            f"Take them out of the asset, {instead}"
        )
    if spec.other_forces:
        raise ValueError(
            f"got {', '.join(spec.other_forces[:4])} in '{spec.name}', expected none: mechanics does not know them. "
            f"Take them out of the asset, {instead}"
        )


__all__ = ["require_known_forces"]
