# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What a dataset covers, in numbers: states and controls, contacts, sizes of the steps.

A model knows only what its data covered. These numbers come from a sample of transitions spread evenly over the dataset
(all of them, when it is small); :mod:`nerd_core.data.checks` looks at every one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch

from ..contact.contacts import ContactModel, Contacts
from ..contact.grounds import PlaneGround
from ..robot.frames import ChangeCodec
from ..robot.spec import RobotSpec
from .dataset import TrajectoryBatch, TrajectoryDataset
from .sampler import WindowSampler

QUANTILES = (0.0, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1.0)
"""Quantiles of :attr:`Coverage.quantiles`."""
BINS = 60
"""Bins of a histogram."""
STEP_EDGES = tuple(10.0 ** (exponent / 8) for exponent in range(-32, 25))
"""Borders of the histogram of step sizes, in standard deviations."""
_CHUNK = 8192
_MOST_NUMBERS = 2**25
"""Numbers that are sampled; of a robot with thousands of joints that is a smaller number of transitions."""


@dataclass(frozen=True)
class Coverage:
    """How one number of the state or the control is distributed."""

    name: str
    """Name."""
    unit: str
    """Unit."""
    lower: float
    """Lower limit, or minus infinity."""
    upper: float
    """Upper limit, or infinity."""
    mean: float
    """Mean."""
    std: float
    """Standard deviation."""
    quantiles: tuple[float, ...]
    """Values at :data:`QUANTILES`; the first and the last are the extremes."""
    beyond: float
    """Share of the values beyond the limits."""
    covered: float
    """Share of the bins (between the limits, or else between the extremes) that hold anything."""
    saturated: float
    """Share of the values within a thousandth of the range of the largest or the smallest value."""
    edges: tuple[float, ...]
    """Borders of the bins."""
    counts: tuple[int, ...]
    """Values in each bin."""


@dataclass(frozen=True)
class SlotShare:
    """How often a contact slot is near the ground, and how often it touches."""

    name: str
    """Body and place of the slot."""
    active: float
    """Share of the steps in which the slot is active."""
    touching: float
    """Share of the steps in which its surface is at or below the ground."""


@dataclass(frozen=True)
class Steps:
    """How one number of the change of state is distributed, in standard deviations."""

    name: str
    """Name."""
    sigma: float
    """Standard deviation of the change."""
    largest: float
    """Largest change, in standard deviations."""
    counts: tuple[int, ...]
    """Changes between :data:`STEP_EDGES`."""


@dataclass(frozen=True)
class DatasetStats:
    """A dataset in numbers."""

    robot: str
    """Name of the robot."""
    spec_hash: str
    """Content hash of its specification."""
    dataset_hash: str
    """Content hash of the dataset."""
    trajectories: int
    """Number of trajectories that can be used."""
    excluded: int
    """Number of trajectories with a NaN or an infinity."""
    transitions: int
    """Number of transitions that can be used."""
    duration: float
    """Length of all trajectories together [s]."""
    length: tuple[int, int, int]
    """Shortest, median and longest trajectory, in transitions."""
    sampled: int
    """Number of transitions that the following comes from."""
    contact_source: str
    """``recorded``, ``computed`` (from state and recorded ground) or ``none``."""
    state: tuple[Coverage, ...]
    """The state."""
    control: tuple[Coverage, ...]
    """The control."""
    slots: tuple[SlotShare, ...]
    """The contact slots."""
    steps: tuple[Steps, ...]
    """The change of state."""


def inspect(dataset: TrajectoryDataset, sample: int = 200_000) -> DatasetStats:
    """Measures a dataset.

    Args:
        dataset: The dataset, or a view of it.
        sample: Number of transitions to look at.
    """
    spec = dataset.spec
    windows = WindowSampler(dataset, 1, 1)
    width = spec.state.dim + spec.control_dim + 8 * len(spec.slots)
    count = max(1, min(sample, windows.windows, _MOST_NUMBERS // width))
    chunk = max(1, min(_CHUNK, _MOST_NUMBERS // (8 * width)))
    numbers = np.linspace(0, windows.windows - 1, count).astype(np.int64)
    model = ContactModel(spec) if spec.slots and "ground" in dataset.arrays else None
    codec = ChangeCodec(spec)
    radius = torch.tensor([slot.radius for slot in spec.slots])
    states, controls, changes, active, touching = [], [], [], [], []
    for begin in range(0, count, chunk):
        batch = dataset.gather(*windows.locate(numbers[begin : begin + chunk]), 1).to("cpu")
        states.append(batch.state[:, 0])
        controls.append(batch.control[:, 0])
        changes.append(codec.encode(batch.state[:, 0], batch.state[:, 1]))
        contacts = _contacts(batch, model)
        if contacts is not None:
            active.append(contacts.active)
            touching.append(contacts.active & (contacts.distance <= radius))
    recorded = "contact_distance" in dataset.arrays
    return DatasetStats(
        robot=spec.name,
        spec_hash=spec.content_hash,
        dataset_hash=dataset.dataset_hash,
        trajectories=len(dataset),
        excluded=dataset.excluded,
        transitions=dataset.transitions,
        duration=dataset.transitions * spec.control_dt,
        length=(int(dataset.length.min()), int(np.median(dataset.length)), int(dataset.length.max())),
        sampled=count,
        contact_source="recorded" if recorded else "computed" if model is not None else "none",
        state=_coverages(state_coordinates(spec), torch.cat(states).double().numpy()),
        control=_coverages(control_coordinates(spec), torch.cat(controls).double().numpy()),
        slots=_slots(spec, torch.cat(active), torch.cat(touching)) if active else (),
        steps=_steps(codec, spec, torch.cat(changes).double().numpy()),
    )


def state_coordinates(spec: RobotSpec) -> list[tuple[str, str, float, float]]:
    """Name, unit and limits of each number of the state."""
    free = (-math.inf, math.inf)
    angle = {"revolute": "rad", "prismatic": "m"}
    root = spec.floating_base
    names = [(f"root pos {axis}", "m", *free) for axis in "xyz" if root]
    names += [(f"root quat {axis}", "", -1.0, 1.0) for axis in "xyzw" if root]
    names += [
        (joint.name, angle[joint.kind], *((-math.pi, math.pi) if joint.wraps else (joint.lower, joint.upper)))
        for joint in spec.joints
    ]
    names += [(f"root lin vel {axis}", "m/s", *free) for axis in "xyz" if root]
    names += [(f"root ang vel {axis}", "rad/s", *free) for axis in "xyz" if root]
    names += [(f"{joint.name} vel", f"{angle[joint.kind]}/s", *free) for joint in spec.joints]
    return names


def control_coordinates(spec: RobotSpec) -> list[tuple[str, str, float, float]]:
    """Name, unit and limits of each control channel."""
    joints = {joint.name: joint for joint in spec.joints}
    units = {
        ("effort", "revolute"): "N m",
        ("effort", "prismatic"): "N",
        ("position", "revolute"): "rad",
        ("position", "prismatic"): "m",
        ("velocity", "revolute"): "rad/s",
        ("velocity", "prismatic"): "m/s",
    }
    return [
        (f"{control.joint} {control.kind}", units[control.kind, joints[control.joint].kind], -math.inf, math.inf)
        for control in spec.controls
    ]


def change_names(codec: ChangeCodec, spec: RobotSpec) -> list[str]:
    """Name of each number of a change of state."""
    names = []
    for part, where in codec.slices.items():
        inner = spec.joint_names if part.startswith("joint") else ("x", "y", "z", "w")
        names += [f"{part} {inner[i]}" for i in range(where.stop - where.start)]
    return names


def _contacts(batch: TrajectoryBatch, model: ContactModel | None) -> Contacts | None:
    if batch.contacts is not None:
        return batch.contacts[:, 0]
    if model is None or batch.ground is None:
        return None
    return model(batch.state[:, 0], PlaneGround.from_vector(batch.ground))


def _coverages(coordinates: list[tuple[str, str, float, float]], values: np.ndarray) -> tuple[Coverage, ...]:
    return tuple(_coverage(*what, values[:, i]) for i, what in enumerate(coordinates))


def _coverage(name: str, unit: str, lower: float, upper: float, values: np.ndarray) -> Coverage:
    quantiles = np.quantile(values, QUANTILES)
    low, high = float(quantiles[0]), float(quantiles[-1])
    limited = math.isfinite(lower) and math.isfinite(upper)
    span = (lower, upper) if limited else (low, high)
    wide = (min(low, span[0]), max(high, span[1]))
    if wide[1] - wide[0] < 1e-9 * max(1.0, abs(wide[0])):
        wide = (wide[0] - 0.5, wide[1] + 0.5)
    counts, edges = np.histogram(values, BINS, wide)
    inside = counts if not limited else np.histogram(values, BINS, (lower, max(upper, lower + 1e-9)))[0]
    near = 1e-3 * (high - low)
    return Coverage(
        name=name,
        unit=unit,
        lower=lower,
        upper=upper,
        mean=float(values.mean()),
        std=float(values.std()),
        quantiles=tuple(map(float, quantiles)),
        beyond=float(((values < lower - 1e-4) | (values > upper + 1e-4)).mean()),
        covered=float((inside > 0).mean()),
        saturated=float(((values <= low + near) | (values >= high - near)).mean()),
        edges=tuple(map(float, edges)),
        counts=tuple(map(int, counts)),
    )


def _slots(spec: RobotSpec, active: torch.Tensor, touching: torch.Tensor) -> tuple[SlotShare, ...]:
    numbers: dict[str, int] = {}
    shares = []
    for i, slot in enumerate(spec.slots):
        numbers[slot.body] = numbers.get(slot.body, -1) + 1
        name = f"{slot.body} {slot.shape} {numbers[slot.body]}"
        shares.append(SlotShare(name, float(active[:, i].float().mean()), float(touching[:, i].float().mean())))
    return tuple(shares)


def _steps(codec: ChangeCodec, spec: RobotSpec, changes: np.ndarray) -> tuple[Steps, ...]:
    sigma = changes.std(axis=0)
    scaled = np.abs(changes) / np.where(sigma > 0, sigma, 1.0)
    return tuple(
        Steps(
            name=name,
            sigma=float(sigma[i]),
            largest=float(scaled[:, i].max()),
            counts=tuple(map(int, np.histogram(scaled[:, i], STEP_EDGES)[0])),
        )
        for i, name in enumerate(change_names(codec, spec))
    )


__all__ = ["Coverage", "DatasetStats", "SlotShare", "Steps", "inspect"]
