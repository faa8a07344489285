# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Whether a log and a model are of the same mechanism, and the log at the steps of the model.

Example::

    recordings = for_robot(read_recordings("cube.h5"), checkpoint.load(model).spec)
"""

from __future__ import annotations

from dataclasses import replace

from ..robot.spec import RobotSpec
from .conversion import ConversionCfg, converted
from .recording import RecordingError, RecordingSet

STEP_TOLERANCE = 0.02
"""By how much the step of a model may differ from that of the frames, as a share."""


def at_steps_of(recordings: RecordingSet, spec: RobotSpec) -> RecordingSet:
    """The recordings for trajectories at the control steps of a model.

    Args:
        recordings: The recordings.
        spec: The robot of the model, whose states are as those of the recordings.
    """
    require_fitting(recordings.spec, spec)
    if recordings.time_base == "rate":
        ratio = spec.control_dt * recordings.rate
        if abs(ratio - 1.0) > STEP_TOLERANCE:
            raise RecordingError(
                f"got a model with steps of {spec.control_dt * 1e3:.4g} ms for frames of "
                f"{1e3 / recordings.rate:.4g} ms, expected the same: import the file with --rate, and train on that"
            )
        return recordings
    return converted(recordings, ConversionCfg(rate=1.0 / spec.control_dt))


def require_fitting(recorded: RobotSpec, spec: RobotSpec) -> None:
    """Raises :class:`RecordingError` if the states of a model are not those of recordings.

    Args:
        recorded: The robot of the recordings.
        spec: The robot of the model. Masses, slots, drives and its name may differ.
    """

    def shape(robot: RobotSpec) -> tuple:
        joints = tuple((joint.name, joint.kind) for joint in robot.joints)
        return robot.floating_base, joints, tuple((each.joint, each.kind) for each in robot.controls)

    if shape(recorded) != shape(spec):
        got, expected = (
            f"a {'free' if robot.floating_base else 'fixed'} base with the joints {list(robot.joint_names)} and "
            f"{robot.control_dim} controls"
            for robot in (spec, recorded)
        )
        raise RecordingError(f"got a model of {got}, expected {expected}: is it a model of this mechanism?")


def for_robot(recordings: RecordingSet, spec: RobotSpec) -> RecordingSet:
    """The recordings as those of a specification of the same mechanism: a model that was made in a simulator, with the
    simulator's masses and physics steps, can then learn from them.

    Args:
        recordings: The recordings.
        spec: The specification. Masses, friction and slots are its own.
    """
    return replace(at_steps_of(recordings, spec), spec=spec)


__all__ = ["STEP_TOLERANCE", "at_steps_of", "for_robot", "require_fitting"]
