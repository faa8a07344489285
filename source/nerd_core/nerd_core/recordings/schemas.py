# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Readers of the HDF5 schemas ``realdata.*``: tosses of one and of two bodies, driven and passive double pendulums.

``realdata.toss.rigidbody.v1`` and ``realdata.toss.twolink.v1`` hold padded arrays over tosses; the double pendulums
``realdata.double_pendulum.torque.v1`` and ``realdata.double_pendulum.passive.v1`` one group a run.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from ..files.messages import shortened
from ..robot.spec import RobotSpec
from .hdf5 import Tree, read_hdf5
from .mechanisms import double_pendulum, hinged_boxes, tossed_box, vector_of
from .recording import Recording, RecordingError, RecordingSet

FACTS = ("title", "licence", "citation", "source_repository", "source_commit", "split_rule", "velocity_note")
"""Texts of a file that are kept, where they are there."""

MAX_RATE = 1.0e5
"""Largest rate of a recording [Hz]."""

TORQUE_RATE = 200.0
"""Control steps in a second of trajectories of the driven pendulum, whose stamps are irregular [Hz]."""

PENDULUM_PIECE = 1.0
"""Length of trajectories that runs of a pendulum are cut into [s]."""

MEASURED, COMMANDED = "measured", "commanded"
"""Efforts on the joints as they were measured, and as they were commanded, perturbations included."""

LINE_DENSITY = 1.0
"""Mass of a link of the passive pendulum per length [kg/m]. Its masses are not published; the motion depends on their
ratio alone, here that of the lengths of two uniform rods."""


def read_schema(path: str | Path) -> RecordingSet:
    """The recordings of an HDF5 file of one of the schemas ``realdata.*``.

    Args:
        path: The file.
    """
    file = read_hdf5(path)
    try:
        schema = file.text("schema")
        if schema not in READERS:
            raise RecordingError(
                f"got the schema {shortened(schema)}, expected one of {', '.join(READERS)}: for other files give a "
                "table of columns (docs/real-data.md)"
            )
        return READERS[schema](file, schema)
    except RecordingError as error:
        raise RecordingError(f"'{Path(path).name}': {error}") from None


def _read_box(file: Tree, schema: str) -> RecordingSet:
    rate, tosses = _rate(file), _tosses(file, joints=0)
    facts = file.json("physical_json")
    half = 0.5 * _positive(file, "cube_side_m")
    spec = _made(
        lambda: tossed_box(
            "cube",
            rate,
            _positive(file, "mass_kg"),
            vector_of(facts, "inertia_diag_kg_m2"),
            (half, half, half),
            _positive(file, "gravity_m_s2"),
        )
    )
    return _toss_set(file, schema, spec, rate, tosses, width=2.0 * half)


def _read_two_links(file: Tree, schema: str) -> RecordingSet:
    rate, tosses = _rate(file), _tosses(file, joints=1)
    facts = file.json("physical_json")
    spec = _made(lambda: hinged_boxes("elbow", rate, facts))
    width = max(vector_of(facts.get(spec.bodies[0].name, {}), "box_size_m"))
    return _toss_set(file, schema, spec, rate, tosses, width=width)


def _tosses(file: Tree, joints: int) -> tuple[Recording, ...]:
    """Runs of a file with padded arrays (N, T, ...)."""
    rate = _rate(file)
    length = file.array("length", "i", (None,))
    count = len(length)
    pos = file.array("pos", "f", (count, None, 3))
    longest = pos.shape[1]
    if count and (length.min() < 2 or length.max() > longest):
        raise RecordingError(f"'length' lies in {length.min()} to {length.max()}, expected 2 to {longest} frames")
    shape = (count, longest)
    quat = file.array("quat", "f", (*shape, 4))
    lin_vel, ang_vel = file.array("lin_vel", "f", (*shape, 3)), file.array("ang_vel", "f", (*shape, 3))
    angle, angle_rate = np.zeros((*shape, 0)), np.zeros((*shape, 0))
    if joints:
        angle = file.array("joint_angle", "f", shape)[..., None]
        angle_rate = file.array("joint_vel", "f", shape)[..., None]
    number, split = file.array("toss_id", "i", (count,)), file.array("split", "S", (count,))
    found = []
    for index in range(count):
        frames = int(length[index])
        found.append(
            Recording(
                name=f"toss_{int(number[index]):03d}",
                time=np.arange(frames) / rate,
                joint_pos=angle[index, :frames],
                joint_vel=angle_rate[index, :frames],
                root_pos=pos[index, :frames],
                root_quat=quat[index, :frames],
                root_lin_vel=lin_vel[index, :frames],
                root_ang_vel=ang_vel[index, :frames],
                split=_word(split[index]),
            )
        )
    return tuple(found)


def _toss_set(
    file: Tree, schema: str, spec: RobotSpec, rate: float, tosses: tuple[Recording, ...], width: float
) -> RecordingSet:
    return RecordingSet(
        schema,
        spec,
        tosses,
        time_base="rate",
        rate=rate,
        facts=_facts(file),
        width=width,
        velocities="recorded: backward differences of the poses and a 3-sample median, so that the velocity of a frame "
        "belongs to the step that led to it",
    )


def _read_driven_pendulum(file: Tree, schema: str) -> RecordingSet:
    model = _default_model(file.json("identified_parameters_json"))
    gear = model.get("gr", 1.0)
    pairs = {key: (model[f"{key}1"], model[f"{key}2"]) for key in ("l", "m", "r", "I", "b", "cf", "tl")}
    spec = _made(
        lambda: double_pendulum(
            "dfki-pendulum",
            TORQUE_RATE,
            pairs["l"],
            pairs["m"],
            pairs["r"],
            pairs["I"],
            gravity=model["g"],
            armature=2 * (gear**2 * model.get("Ir", 0.0),),
            coulomb=pairs["cf"],
            viscous=pairs["b"],
            effort_limits=pairs["tl"],
        )
    )
    runs = []
    for name, group in file.groups.items():
        time = group.array("time", "f", (None,))
        shape = (len(time), 2)
        commanded = group.array("tau_cmd", "f", shape)
        pushed = group.array("tau_pert", "f", shape) if "tau_pert" in group.arrays else None
        runs.append(
            Recording(
                name=name,
                time=time,
                joint_pos=group.array("pos", "f", shape),
                joint_vel=group.array("vel", "f", shape),
                efforts={
                    MEASURED: group.array("tau", "f", shape),
                    COMMANDED: commanded if pushed is None else commanded + pushed,
                },
                held=frozenset({COMMANDED}),
                split=group.text("split", file.text("split", "")),
                family=group.text("family", ""),
            )
        )
    return RecordingSet(
        schema,
        spec,
        tuple(runs),
        time_base="stamps",
        rate=TORQUE_RATE,
        facts=_facts(file),
        effort=MEASURED,
        velocities="recorded by the drives",
        piece=PENDULUM_PIECE,
    )


def _default_model(models: dict) -> dict[str, float]:
    """The first identification that the file gives, as numbers."""
    names = ("l1", "l2", "m1", "m2", "r1", "r2", "I1", "I2", "b1", "b2", "cf1", "cf2", "tl1", "tl2", "g")
    model = models.get(min(models)) if models else None
    if not isinstance(model, dict):
        raise RecordingError("'identified_parameters_json' holds no parameters")
    wrong = [name for name in names if not isinstance(model.get(name), (int, float)) or isinstance(model[name], bool)]
    if wrong:
        raise RecordingError(f"'identified_parameters_json' has no numbers {', '.join(wrong)}")
    return {name: float(value) for name, value in model.items() if isinstance(value, (int, float))}


def _read_passive_pendulum(file: Tree, schema: str) -> RecordingSet:
    rate = _rate(file, file.number("effective_rate_from_gravity_hz", _rate(file)))
    lengths = file.json("physical_json").get("arm_lengths_m")
    if not isinstance(lengths, list) or len(lengths) != 2 or not all(isinstance(each, float) for each in lengths):
        raise RecordingError("the physical facts have no two numbers 'arm_lengths_m'")
    masses = [LINE_DENSITY * length for length in lengths]
    inertias = [mass * length**2 / 3.0 for mass, length in zip(masses, lengths, strict=True)]
    centres = [0.5 * length for length in lengths]
    spec = _made(lambda: double_pendulum("ibm-pendulum", rate, lengths, masses, centres, inertias, driven=False))
    runs = []
    for name, group in file.groups.items():
        absolute = group.array("angle_unwrapped", "f", (None, 2))
        runs.append(
            Recording(
                name=name,
                time=np.arange(len(absolute)) / rate,
                joint_pos=np.stack((absolute[:, 0], absolute[:, 1] - absolute[:, 0]), axis=1),
                joint_vel=None,
                split=group.text("split", ""),
            )
        )
    return RecordingSet(
        schema,
        spec,
        tuple(runs),
        time_base="frames",
        rate=rate,
        facts=_facts(file),
        stated_rate=_rate(file),
        velocities="not recorded: rates of local cubic polynomials over 15 frames",
        piece=PENDULUM_PIECE,
    )


READERS: dict[str, Callable[[Tree, str], RecordingSet]] = {
    "realdata.toss.rigidbody.v1": _read_box,
    "realdata.toss.twolink.v1": _read_two_links,
    "realdata.double_pendulum.torque.v1": _read_driven_pendulum,
    "realdata.double_pendulum.passive.v1": _read_passive_pendulum,
}
"""Readers by schema."""


def _rate(file: Tree, rate: float | None = None) -> float:
    rate = file.number("sampling_rate_hz") if rate is None else rate
    if not 0.0 < rate <= MAX_RATE:
        raise RecordingError(f"got a sampling rate of {rate:g} Hz, expected more than 0 and at most {MAX_RATE:g}")
    return rate


def _positive(file: Tree, name: str) -> float:
    value = file.number(name)
    if not value > 0.0:
        raise RecordingError(f"the attribute '{name}' is {value:g}, expected a positive number")
    return value


def _made(build: Callable[[], RobotSpec]) -> RobotSpec:
    """The robot of a file; numbers that no robot has become an error of the file."""
    try:
        return build()
    except RecordingError:
        raise
    except (ValueError, ArithmeticError) as error:
        raise RecordingError(f"the physical facts describe no robot: {error}") from None


def _facts(file: Tree) -> dict[str, str]:
    return {name: text for name in FACTS if (text := file.text(name, ""))}


def _word(label: bytes) -> str:
    return bytes(label).decode("ascii", "replace").strip("\0 ")


__all__ = ["COMMANDED", "MEASURED", "READERS", "read_schema"]
