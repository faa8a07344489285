# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The table of everything that a dataset can hold.

Layout, checks, files, the flat copy and the batches of training follow from :data:`FIELDS`. A new quantity is one more
row here, and whoever records it passes it under its name: ``writer.append(state, control, temperature=values)``. It
comes back as ``batch.temperature`` from ``TrajectoryDataset.open(path, recorded=("temperature",))``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..robot.spec import RobotSpec

Rows = Literal["trajectory", "state", "step"]
"""What one row of an array belongs to: a trajectory; a state, of which a trajectory of ``T`` steps has ``T + 1``; or a
step."""


@dataclass(frozen=True)
class Field:
    """One quantity of the data."""

    meaning: str
    """What it is, with its frame."""
    unit: str
    """Unit; empty for a pure number."""
    shape: Callable[[RobotSpec], tuple[int, ...]]
    """Shape of one row."""
    rows: Rows = "step"
    """What one row belongs to."""
    dtype: str = "<f4"
    """Element type, as numpy writes it."""
    required: bool = False
    """Whether each dataset holds it."""
    always_loaded: bool = False
    """Whether it is loaded without being asked for where the whole dataset holds it."""
    group: str = ""
    """Fields of one group are recorded together or not at all, and are passed as one object with a member for each."""
    member: str = ""
    """Name of the member of that object."""


FIELDS: dict[str, Field] = {
    "length": Field(
        "number of transitions of the trajectory",
        unit="",
        shape=lambda spec: (),
        rows="trajectory",
        dtype="<i8",
        required=True,
    ),
    "state": Field(
        "state, see StateLayout; positions relative to the origin of the environment, world axes",
        unit="m, rad, m/s, rad/s",
        shape=lambda spec: (spec.state.dim,),
        rows="state",
        required=True,
    ),
    "control": Field(
        "what the actuators hold during the step",
        unit="of the channel",
        shape=lambda spec: (spec.control_dim,),
        required=True,
    ),
    "ground": Field(
        "plane under the trajectory: unit normal (3) and offset, normal . p = offset for its points, environment frame",
        unit="m",
        shape=lambda spec: (4,),
        rows="trajectory",
        always_loaded=True,
    ),
    "contact_distance": Field(
        "signed distance of each slot's point to the ground before the step; zero where not active",
        unit="m",
        shape=lambda spec: (len(spec.slots),),
        group="contacts",
        member="distance",
    ),
    "contact_normal": Field(
        "unit normal of the ground at its closest point, environment axes; zero where not active",
        unit="",
        shape=lambda spec: (len(spec.slots), 3),
        group="contacts",
        member="normal",
    ),
    "contact_point": Field(
        "closest point of the ground, relative to the origin of the environment; zero where not active",
        unit="m",
        shape=lambda spec: (len(spec.slots), 3),
        group="contacts",
        member="point",
    ),
    "contact_active": Field(
        "whether the ground is near the slot, 0 or 1",
        unit="",
        shape=lambda spec: (len(spec.slots),),
        dtype="|u1",
        group="contacts",
        member="active",
    ),
    "body_force": Field(
        "contact force on each body over the step, environment axes",
        unit="N",
        shape=lambda spec: (len(spec.bodies), 3),
    ),
}
"""All fields by name, in the order in which files hold them."""


def group_members(group: str) -> dict[str, str]:
    """Names of the fields of a group, and the member of the object that each is; empty if there is no such group."""
    return {name: field.member for name, field in FIELDS.items() if field.group and field.group == group}


def named_fields(recorded: tuple[str, ...]) -> list[str]:
    """Names of fields, with the names of groups replaced by those of their fields."""
    return [name for each in recorded for name in (group_members(each) or (each,))]


def rows_per_trajectory(name: str, length: np.ndarray) -> np.ndarray:
    """Number of rows that each trajectory has in the array of a field, shape (N,).

    Args:
        name: Name of the field.
        length: Number of transitions of each trajectory, shape (N,).
    """
    rows = FIELDS[name].rows
    if rows == "trajectory":
        return np.ones_like(length)
    return length + 1 if rows == "state" else length


def dtype_of(name: str) -> np.dtype:
    """Element type of the array of a field."""
    return np.dtype(FIELDS[name].dtype)


def shape_of(name: str, spec: RobotSpec, length: np.ndarray) -> tuple[int, ...]:
    """Shape that the array of a field must have.

    Args:
        name: Name of the field.
        spec: The robot.
        length: Number of transitions of each trajectory, shape (N,).
    """
    return shape_for(name, spec, len(length), int(length.sum()))


def shape_for(name: str, spec: RobotSpec, trajectories: int, transitions: int) -> tuple[int, ...]:
    """Shape that the array of a field must have, by the totals of its trajectories.

    Args:
        name: Name of the field.
        spec: The robot.
        trajectories: Number of trajectories.
        transitions: Number of transitions of all of them together.
    """
    rows = {"trajectory": trajectories, "state": transitions + trajectories, "step": transitions}
    return (rows[FIELDS[name].rows], *FIELDS[name].shape(spec))


__all__ = [
    "FIELDS",
    "Field",
    "dtype_of",
    "group_members",
    "named_fields",
    "rows_per_trajectory",
    "shape_for",
    "shape_of",
]
