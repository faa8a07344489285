# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Structures of a kernel whose sizes are those of a robot: what is learned, the memory of one environment, and what a
step keeps.
"""

from dataclasses import dataclass
from typing import Any

import warp as wp

from .constraint_rows import ConstraintRow
from .contact_constraints import SlotGround
from .friction_anchors import ContactAnchors
from .joint_drives import DriveState
from .multibody import BodyState
from .rules import Factors
from .shape_pairs import MeetingState
from .tables import Sizes


@dataclass(frozen=True)
class KernelTypes:
    """Structures for robots of some size."""

    generalised: Any
    """Generalised vectors."""
    features: Any
    """Hidden features of the rules."""
    factors: Any
    """Factors of the rules."""
    weights: Any
    """What is learned."""
    work: Any
    """Memory of one environment."""
    trace: Any
    """What a step keeps for its adjoint."""
    record: Any
    """What it keeps of a physics step."""


def make_types(sizes: Sizes) -> KernelTypes:
    """Structures for robots of some size."""
    generalised = wp.types.vector(length=sizes.velocities, dtype=wp.float32)
    features = wp.types.vector(length=sizes.hidden, dtype=wp.float32)

    @wp.struct
    class Weights:
        """What is learned: constants, and weights of the rules with biases behind them, by substep."""

        constants: wp.array[float]
        feature_scales: wp.array[float]
        inner: wp.array2d[features]
        outer: wp.array2d[Factors]

    @wp.struct
    class Work:
        """Memory of one environment, and where a step keeps the rows, impulses, positions and drives of its substeps
        if it does.
        """

        bodies: wp.array[BodyState]
        joint_pos: wp.array[float]
        drives: wp.array[DriveState]
        responses: wp.array[float]
        grounds: wp.array[SlotGround]
        contacts: wp.array[int]
        factors: wp.array[Factors]
        anchors: wp.array[ContactAnchors]
        memory: wp.array2d[wp.vec3]
        meetings: wp.array[MeetingState]
        meeting_count: int
        root_begin: wp.vec3
        rows: wp.array[ConstraintRow]
        whitened_rows: wp.array[generalised]
        inverse_factor: wp.array[generalised]
        inverse_factor_columns: wp.array[generalised]
        root_rotation: wp.mat33
        kept_rows: wp.array2d[ConstraintRow]
        kept_solved: wp.array2d[generalised]
        kept_joint_pos: wp.array2d[float]
        kept_drives: wp.array2d[DriveState]
        kept_anchors: wp.array2d[ContactAnchors]

    @wp.struct
    class StepRecord:
        """What a step keeps of a physics step: where it begins, and what it adds. Impulses are in whitened units."""

        quat: wp.vec4
        rotation: wp.mat33
        displacement: wp.vec3
        velocity: generalised
        slowed: generalised
        applied: generalised
        applied_impulse: generalised
        bias: generalised
        bias_impulse: generalised
        damped: generalised
        damped_impulse: generalised
        moved: generalised
        gone: wp.vec3
        turned: wp.vec3
        contacts: int
        near: int

    @wp.struct
    class Trace:
        """What a step keeps: environments first, then physics steps, substeps where there are some, and what it is.
        Anchors, and the memory of friction before each physics step and at the end, of steps with a memory only.
        """

        records: wp.array2d[StepRecord]
        bodies: wp.array3d[BodyState]
        grounds: wp.array2d[SlotGround]
        contacts: wp.array3d[int]
        responses: wp.array3d[float]
        whitened_rows: wp.array3d[generalised]
        inverse_factor: wp.array3d[generalised]
        inverse_factor_columns: wp.array3d[generalised]
        rows: wp.array4d[ConstraintRow]
        solved: wp.array4d[generalised]
        joint_pos: wp.array4d[float]
        drives: wp.array4d[DriveState]
        anchors: wp.array4d[ContactAnchors]
        memory: wp.array4d[wp.vec3]

    return KernelTypes(generalised, features, Factors, Weights, Work, Trace, StepRecord)
