# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Whether recordings agree with physics: a table of what they say, and findings in words where they do not.

A number that is measured in each run is summed up by its median over the runs, with a standard error from the spread
of the runs. It deviates where it is off by more than a tolerance, and by more than five standard errors.

Example::

    report = check_physics(read_recordings(path))
    for finding in report.findings:
        print(finding.what, finding.advice)
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ..data.checks import Finding
from ..data.dataset import TrajectoryDataset
from .conversion import resampled
from .delays import effort_delays
from .physics import (
    SHORT_FIT_SECONDS,
    Agreement,
    States,
    agreement,
    free_fall,
    into_world,
    is_double_pendulum,
    pendulum_gravity,
    rest_height,
    rest_velocity,
    run_states,
    turns,
)
from .recording import Recording, RecordingSet

SURE = 5.0
"""Standard errors by which a number has to be off."""

FEWEST = 5
"""Runs that are needed for a number."""

SCALE_TOLERANCE, TILT_TOLERANCE = 0.01, math.radians(0.6)
"""Share by which free fall may differ from gravity, and angle by which it may point elsewhere [rad]."""

RATE_TOLERANCE = 0.03
"""Share by which velocities, and the clock of a pendulum, may be off."""

REST_TOLERANCE = 1.0e-3
"""Height of what carries a robot at rest [m]."""

STILL_LINEAR, STILL_ANGULAR = 0.02, 0.1
"""Velocities that a robot at rest may have [m/s] and [rad/s or m/s]."""

FITS = 0.35
"""Typical difference of velocities and motion, beside the motion, up to which they belong to each other."""

EXPLAINED = 0.98
"""Share of the motion of a pendulum that its equation has to explain before it tells anything of the clock."""

PENDULUM_TILT = math.radians(2.0)
"""Angle by which the vertical of a pendulum may be off [rad]."""

DELAY_RUNS, LONG_DELAY = 16, 0.02
"""Runs in which delays are looked for, and the longest that is nothing special [s]."""

UNITS = {180.0 / math.pi: "degrees", math.pi / 180.0: "radians where degrees are said", 1000.0: "millimetres"}
UNITS |= {0.001: "kilometres, or metres where millimetres are said", 2.0 * math.pi: "radians where turns are said"}
UNITS |= {60.0: "per minute", 1.0 / (2.0 * math.pi): "turns"}
"""Units that velocities are in, by how many times too large they are."""


@dataclass(frozen=True)
class Measurement:
    """A number that recordings say, and what physics says."""

    name: str
    """What it is."""
    value: float
    """Median over the runs."""
    error: float
    """Its standard error."""
    expected: float
    """What it should be."""
    tolerance: float
    """How far it may be off."""
    unit: str
    """Its unit; empty for a pure number."""
    runs: int
    """Runs that say it."""

    @property
    def deviates(self) -> bool:
        """Whether it is off for sure."""
        return abs(self.value - self.expected) > max(self.tolerance, SURE * self.error)


@dataclass(frozen=True)
class PhysicsReport:
    """What recordings say of the world."""

    measurements: tuple[Measurement, ...]
    """The numbers."""
    findings: tuple[Finding, ...]
    """What does not agree with physics."""


def check_physics(recordings: RecordingSet) -> PhysicsReport:
    """Compares recordings with physics.

    Args:
        recordings: The recordings, as they were read.
    """
    stated = recordings.stated_rate
    if stated is not None and recordings.time_base == "frames":
        scale = recordings.rate / stated
        runs = [replace(each, time=scale * each.time) for each in recordings.recordings]
    else:
        runs = [_at_equal_steps(each) for each in recordings.recordings]
    spec = recordings.spec
    states = [run_states(each, spec) for each in runs]
    found: list[tuple[list[Measurement], list[Finding]]] = [
        _falls(states, recordings),
        _velocities(states),
        _rests(states, recordings),
        _pendulum(states, recordings),
        _delays(recordings),
    ]
    return PhysicsReport(
        tuple(each for measurements, _ in found for each in measurements),
        tuple(each for _, findings in found for each in findings),
    )


def measured_dataset(path: str | Path) -> RecordingSet | None:
    """The trajectories of a dataset as recordings; None for one that was not measured.

    Args:
        path: Folder of the dataset.
    """
    data = TrajectoryDataset.open(path)
    if any(meta.teacher_mode != "measured" for meta in data.meta) or not data.meta:
        return None
    spec, at, runs = data.spec, data.spec.state, []
    state, control = data.arrays["state"].double().numpy(), data.arrays["control"].double().numpy()
    for number in range(len(data)):
        first, count = int(data.first_row[number]), int(data.length[number]) + 1
        if count < 3:
            continue
        part = state[first : first + count]
        free = spec.floating_base
        runs.append(
            Recording(
                name=f"trajectory {number}",
                time=spec.control_dt * np.arange(count),
                joint_pos=np.unwrap(part[:, at.joint_pos], axis=0) if spec.joints else part[:, at.joint_pos],
                joint_vel=part[:, at.joint_vel],
                efforts={"control": control[first : first + count]} if spec.controls else {},
                root_pos=part[:, at.root_pos] if free else None,
                root_quat=part[:, at.root_quat] if free else None,
                root_lin_vel=part[:, at.root_lin_vel] if free else None,
                root_ang_vel=part[:, at.root_ang_vel] if free else None,
            )
        )
    if not runs:
        return None
    effort = "control" if spec.controls else ""
    return RecordingSet("dataset", spec, tuple(runs), "rate", 1.0 / spec.control_dt, {}, effort)


def _at_equal_steps(recording: Recording) -> Recording:
    steps = np.diff(recording.time)
    dt = float(np.median(steps))
    if float(np.abs(steps / dt - 1.0).max()) < 1e-3:
        return recording
    time = np.arange(recording.time[0], recording.time[-1] + 1e-9, dt)
    efforts = {
        name: np.stack([np.interp(time, recording.time, column) for column in values.T], axis=1)
        for name, values in recording.efforts.items()
    }
    return replace(resampled(recording, time), efforts=efforts)


def _falls(states: list[States], recordings: RecordingSet) -> tuple[list[Measurement], list[Finding]]:
    """Free fall: the length scale by its size, the tilt by its direction."""
    spec, findings = recordings.spec, []
    gravity = np.array(spec.gravity)
    size = float(np.linalg.norm(gravity))
    falls = [fall for each in states if (fall := free_fall(each, spec)) is not None]
    if len(falls) < FEWEST or not size:
        return [], []
    middle, error = _middle(falls)
    strength = float(np.linalg.norm(middle))
    along = float(middle @ gravity) / size
    tilt = math.acos(max(-1.0, min(1.0, along / max(strength, 1e-9))))
    spread = float(np.linalg.norm(error[:2])) if len(error) > 2 else 0.0
    scale = Measurement(
        "length scale by free fall", strength / size, float(error[2]) / size, 1.0, SCALE_TOLERANCE, "", len(falls)
    )
    slant = Measurement(
        "tilt of the vertical by free fall", tilt, spread / max(strength, 1e-9), 0.0, TILT_TOLERANCE, "rad", len(falls)
    )
    if scale.deviates:
        findings.append(
            Finding(
                "warning",
                "a length scale that is not one",
                len(falls),
                f"bodies fall with {strength:.3f} m/s^2 instead of {size:.2f} (standard error {float(error[2]):.3f})",
                f"lengths are {abs(1.0 - scale.value):.1%} too {'short' if scale.value < 1.0 else 'long'}, or the "
                f"clock is {abs(1.0 - math.sqrt(scale.value)):.1%} off: divide lengths by {scale.value:.4f}, or give "
                f"the model a gravity of {strength:.3f} m/s^2",
            )
        )
    if slant.deviates:
        findings.append(
            Finding(
                "warning",
                "a vertical that is tilted",
                len(falls),
                f"bodies fall along ({middle[0]:.3f}, {middle[1]:.3f}, {middle[2]:.3f}) m/s^2",
                f"the axes are tilted by {math.degrees(tilt):.2f} degrees against gravity: turn them, or give the "
                "model that direction of gravity",
            )
        )
    return [scale, slant], findings


def _velocities(states: list[States]) -> tuple[list[Measurement], list[Finding]]:
    """Whether recorded velocities are those of the motion: units, axes, order of the quaternion."""
    measurements, findings = [], []

    def judge(name: str, found: list[Agreement], others: dict[str, list[Agreement]]) -> None:
        if len(found) < min(FEWEST, len(states)):
            return
        slope, error = _middle([[each.slope] for each in found])
        residual = float(np.median([each.residual for each in found]))
        measured = Measurement(
            f"{name} velocity by motion", float(slope[0]), float(error[0]), 1.0, RATE_TOLERANCE, "", len(found)
        )
        measurements.append(measured)
        if residual > FITS:
            explained = [said for said, other in others.items() if np.median([each.residual for each in other]) < FITS]
            advice = explained[0] if explained else "units, axes, order or times of positions and velocities differ"
            where = f"typical difference: {residual:.0%} of the velocity"
            findings.append(
                Finding("warning", f"{name} velocities that are not the motion's", len(found), where, advice)
            )
        elif measured.deviates:
            near = [words for factor, words in UNITS.items() if abs(measured.value / factor - 1.0) < 0.1]
            advice = f"they are in {near[0]}" if near else "the clock of positions and velocities is not the same"
            where = f"velocities are {measured.value:.4g} times the change of positions per second"
            findings.append(Finding("warning", f"{name} velocities of another size", len(found), where, advice))

    moving = [each for each in states if each.recording.root_pos is not None]

    def all_of(changes: Iterable[tuple[np.ndarray, np.ndarray, float]]) -> list[Agreement]:
        return [found for each in changes if (found := agreement(*each)) is not None]

    linear = [(each, each.recording.root_pos, each.recording.root_lin_vel) for each in moving]
    pairs = [(np.diff(pos, axis=0), vel, each.dt) for each, pos, vel in linear if pos is not None and vel is not None]
    quats = [each.recording.root_quat for each in moving if each.recording.root_quat is not None]
    if pairs:
        body = [(change, into_world(quat, vel), dt) for (change, vel, dt), quat in zip(pairs, quats, strict=True)]
        said = "they are in the axes of the body: turn them into those of the world"
        judge("linear", all_of(pairs), {said: all_of(body)})
    rates = [each.recording.root_ang_vel for each in moving if each.recording.root_ang_vel is not None]
    if rates and len(rates) == len(quats):
        dts = [each.dt for each in moving]
        cases = list(zip(quats, rates, dts, strict=True))
        rolled = [(np.roll(quat, -1, axis=1), rate, dt) for quat, rate, dt in cases]
        judge(
            "angular",
            all_of((turns(quat), rate, dt) for quat, rate, dt in cases),
            {
                "they are in the axes of the body: turn them into those of the world": all_of(
                    (turns(quat), into_world(quat, rate), dt) for quat, rate, dt in cases
                ),
                "quaternions are wxyz: put w last": all_of((turns(quat), rate, dt) for quat, rate, dt in rolled),
                "quaternions are wxyz, and angular velocities in the axes of the body": all_of(
                    (turns(quat), into_world(quat, rate), dt) for quat, rate, dt in rolled
                ),
            },
        )
    joints = [
        (np.diff(each.recording.joint_pos, axis=0), each.recording.joint_vel, each.dt)
        for each in states
        if each.recording.joint_vel is not None and each.recording.joint_pos.shape[1]
    ]
    if joints:
        judge("joint", all_of(joints), {})
    return measurements, findings


def _rests(states: list[States], recordings: RecordingSet) -> tuple[list[Measurement], list[Finding]]:
    """What is at rest has no velocity, and touches the ground."""
    measurements, findings = [], []
    still = [found for each in states if (found := rest_velocity(each))]
    for name in ("linear", "angular", "joint"):
        of_name = [found[name] for found in still if name in found]
        if len(of_name) < FEWEST:
            continue
        middle, error = _middle(of_name)
        limit, unit = (STILL_LINEAR, "m/s") if name == "linear" else (STILL_ANGULAR, "rad/s")
        measured = Measurement(
            f"{name} velocity at rest",
            *(float(np.linalg.norm(middle)), float(np.linalg.norm(error)), 0.0, limit, unit, len(of_name)),
        )
        measurements.append(measured)
        if measured.deviates:
            where = f"{name} velocity of {np.round(middle, 4).tolist()} {unit} while nothing moves"
            advice = "take the bias off"
            findings.append(Finding("warning", f"{name} velocities of a robot at rest", len(of_name), where, advice))
    heights = [found for each in states if (found := rest_height(each)) is not None]
    if len(heights) >= FEWEST:
        (height, root), (error, _) = _middle(heights)
        measured = Measurement(
            "height of what rests", float(height), float(error), 0.0, REST_TOLERANCE, "m", len(heights)
        )
        measurements.append(measured)
        if measured.deviates:
            where = f"its lowest points are at {height * 1e3:.2f} mm, its root at {root * 1e3:.2f} mm"
            advice = (
                f"the ground is not at height zero, the shapes have another size, or lengths are "
                f"{abs(height) / (root - height):.1%} too {'short' if height < 0 else 'long'}: compare with free fall"
            )
            findings.append(
                Finding("warning", "robots at rest that do not touch the ground", len(heights), where, advice)
            )
    return measurements, findings


def _pendulum(states: list[States], recordings: RecordingSet) -> tuple[list[Measurement], list[Finding]]:
    """The unit of time, and the vertical, by the swing of a double pendulum's lower link."""
    spec = recordings.spec
    if not is_double_pendulum(spec):
        return [], []
    found, otherwise = [], []
    for each in states:
        signal = each.recording.efforts.get(recordings.effort)
        effort = None if signal is None else signal[:, 1]
        result = pendulum_gravity(each, spec, effort)
        if result is not None and result.explained > EXPLAINED:
            found.append((result.gravity, result.tilt))
            short = pendulum_gravity(each, spec, effort, SHORT_FIT_SECONDS)
            otherwise.append((result.gravity - short.gravity, result.tilt - short.tilt) if short else (np.inf, np.inf))
    if len(found) < FEWEST:
        return [], []
    size = float(np.linalg.norm(spec.gravity))
    (gravity, tilt), spread = _middle(found)
    error, tilt_error = np.hypot(spread, np.median(np.abs(otherwise), axis=0))
    pace = math.sqrt(size / float(gravity))
    rate = 1.0 / float(np.median([each.dt for each in states]))
    clock = Measurement(
        *("rate of the frames by gravity", rate * pace, 0.5 * rate * pace * float(error) / float(gravity)),
        *(rate, RATE_TOLERANCE * rate, "Hz", len(found)),
    )
    slant = Measurement(
        *("tilt of the vertical by the pendulum", float(abs(tilt)), float(tilt_error), 0.0, PENDULUM_TILT, "rad"),
        len(found),
    )
    findings = []
    if clock.deviates:
        findings.append(
            Finding(
                "warning",
                "a frame rate that gravity contradicts",
                len(found),
                f"at {rate:.4g} frames a second the pendulum swings as under {gravity:.2f} m/s^2",
                f"there are about {clock.value:.1f} frames in a second, or the upper link is {pace**2:.2f} times as "
                f"long: import with --rate {clock.value:.1f}",
            )
        )
    if slant.deviates:
        where = f"by {math.degrees(float(tilt)):.2f} degrees"
        advice = "measure angles from the direction of gravity"
        findings.append(Finding("warning", "a vertical that is tilted", len(found), where, advice))
    return [clock, slant], findings


def _delays(recordings: RecordingSet) -> tuple[list[Measurement], list[Finding]]:
    """How much later measured efforts follow commands, where a log has both."""
    first = recordings.recordings[0]
    commands = sorted(first.held & set(first.efforts))
    samples = sorted(set(first.efforts) - first.held)
    if not commands or not samples:
        return [], []
    runs = recordings.recordings[:: max(1, len(recordings.recordings) // DELAY_RUNS)]
    measurements, findings = [], []
    for delay in effort_delays(replace(recordings, recordings=runs), commands[0], samples[0]):
        error = (delay.longest - delay.shortest) / max(1.0, math.sqrt(delay.runs)) / 2.5
        name = f"delay of the effort of '{delay.joint}' behind its command"
        measured = Measurement(name, delay.seconds, error, 0.0, LONG_DELAY, "s", delay.runs)
        measurements.append(measured)
        if measured.deviates:
            where = f"{delay.seconds * 1e3:.1f} ms ({delay.shortest * 1e3:.1f} to {delay.longest * 1e3:.1f} ms)"
            advice = f"import commands with --delay {delay.seconds:.4f}, or the measured efforts"
            findings.append(Finding("warning", f"a long delay of '{delay.joint}'", delay.runs, where, advice))
    return measurements, findings


def _middle(rows: list) -> tuple[np.ndarray, np.ndarray]:
    """Medians of columns, and their standard errors by the median absolute deviation."""
    table = np.asarray(rows, np.float64)
    middle = np.median(table, axis=0)
    deviation = 1.4826 * np.median(np.abs(table - middle), axis=0)
    return middle, 1.2533 * deviation / math.sqrt(len(table))


__all__ = ["Measurement", "PhysicsReport", "check_physics", "measured_dataset"]
