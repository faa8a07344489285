# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The cached single step of a model, for programs that do not have this library.

One call advances every environment by one control step at the cost of one token. The history is not hidden in the
model: it goes in as tensors and comes out as tensors, so that the caller may keep, copy or drop it. The batch is free.
``interface.json`` beside the model names every input and output with meaning, unit, frame and shape.
"""

from __future__ import annotations

import contextlib
import copy
import logging
import math
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn

from .contact.contacts import Contacts
from .files.atomic import replace_directory
from .files.messages import first_line
from .files.provenance import versions
from .files.safe_files import json_bytes
from .mechanics.kernel.verification import without_kernels
from .predictor.predictor import Predictor
from .predictor.residual_network import ResidualNetwork
from .robot.frames import wrap_to_pi
from .robot.spec import RobotSpec

SCHEMA = "nerd.export/1"
"""Name and version of the format of ``interface.json``."""

INTERFACE, ONNX, PROGRAM = "interface.json", "step.onnx", "step.pt2"

TOLERANCE = 1.0e-5
"""Largest difference between an exported model and this library, relative to one plus the size of the number."""

Format = Literal["torch", "onnx"]
Values = tuple[Tensor, ...]


class ExportError(ValueError):
    """A model that cannot be exported, or whose export does not give the same numbers."""


class CachedStep(nn.Module):
    """One step of a predictor as a function of tensors alone.

    Inputs, in order: state, control, the four tensors of the contacts if the model sees contacts, the mask of the
    environments to reset, the tensors of the history. Outputs: the next state, the contact forces if the model
    predicts them, the tensors of the history.
    """

    def __init__(self, predictor: Predictor):
        """Wraps a predictor, which must be on the CPU.

        Args:
            predictor: The model.
        """
        super().__init__()
        self.predictor = predictor
        self.cache_names = tuple(predictor.init_cache(1))

    @property
    def input_names(self) -> tuple[str, ...]:
        """Names of the inputs, in order."""
        contacts = ("distance", "normal", "point", "active") if self.predictor.needs_contacts else ()
        cache = (f"history_{name}" for name in self.cache_names)
        return ("state", "control", *(f"contact_{name}" for name in contacts), "reset", *cache)

    @property
    def output_names(self) -> tuple[str, ...]:
        """Names of the outputs, in order."""
        force = ("force",) if self.predictor.cfg.force_head else ()
        return ("next_state", *force, *(f"next_history_{name}" for name in self.cache_names))

    def forward(self, *inputs: Tensor) -> Values:
        """One step; see the class for the order of inputs and outputs. Changes no input."""
        state, control, *rest = inputs
        contacts = None
        if self.predictor.needs_contacts:
            contacts, rest = Contacts(*rest[:4]), rest[4:]
        reset, *history = rest
        cache = {name: tensor.clone() for name, tensor in zip(self.cache_names, history, strict=True)}
        self.predictor.reset(cache, reset)
        prediction = self.predictor.step(state, control, contacts, cache)
        force = () if prediction.force is None else (prediction.force,)
        return (self.predictor.next_state(state, prediction), *force, *cache.values())


def export(
    predictor: Predictor,
    path: str | Path,
    formats: Sequence[Format] = ("torch", "onnx"),
    check_steps: int = 200,
    overwrite: bool = False,
) -> dict[str, float]:
    """Writes the exported step, after it was seen to give the same numbers as this library.

    Args:
        predictor: The model.
        path: Directory to write.
        formats: ``"torch"`` for a ``torch.export`` program, ``"onnx"`` for ONNX.
        check_steps: Steps of the comparison, with resets in between.
        overwrite: Whether an earlier export at the same place may be replaced.

    Returns:
        By name of file, the largest difference seen, relative to one plus the size of the number.
    """
    path = Path(path)
    if path.exists() and not (overwrite and (path / INTERFACE).is_file()):
        raise ExportError(f"'{path}' exists: choose another place, or --overwrite an earlier export")
    if not formats or set(formats) - {"torch", "onnx"}:
        raise ExportError(f"got the formats {list(formats)}, expected some of 'torch' and 'onnx'")
    obstacle = "" if predictor.prior is None else predictor.prior.export_obstacle()
    if obstacle:
        raise ExportError(f"'{predictor.spec.name}': no exported program can hold {obstacle}")
    step = CachedStep(_on_cpu(predictor)).eval()
    report: dict[str, float] = {}
    with replace_directory(path) as folder:
        program = _trace(step)
        if "torch" in formats:
            with _quiet():
                torch.export.save(program, folder / PROGRAM)
                runner = torch.export.load(folder / PROGRAM).module()
            report[PROGRAM] = compare(step, lambda inputs: runner(*inputs), check_steps)
        if "onnx" in formats:
            _write_onnx(step, program, folder / ONNX)
            report[ONNX] = compare(step, onnx_runner(folder / ONNX), check_steps)
        tolerance = _tolerance(step, check_steps)
        for name, error in report.items():
            if not math.isfinite(error):
                raise ExportError(
                    f"'{name}' cannot be compared with this library: from states that are drawn at random within its "
                    "data one of them says what is no number; a model that is held near its data (--within-data) can be"
                )
            if not error <= tolerance:
                raise ExportError(
                    f"'{name}' differs from this library by {error:.2e}, expected at most {tolerance:.1e}"
                )
        document = interface(step) | {
            "check": {"steps": check_steps, "largest_difference": report, "allowed_difference": tolerance}
        }
        (folder / INTERFACE).write_bytes(json_bytes(document))
    return report


def onnx_runner(path: str | Path, threads: int = 1) -> Any:
    """A function from the inputs of :class:`CachedStep` to its outputs that runs an exported ONNX file.

    Args:
        path: The file.
        threads: Threads that the runtime may use.
    """
    ort = _require("onnxruntime")
    options = ort.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = threads, 3
    session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    names = [item.name for item in session.get_inputs()]

    def run(inputs: Values) -> Values:
        given = {name: tensor.numpy() for name, tensor in zip(names, inputs, strict=True)}
        return tuple(torch.from_numpy(array) for array in session.run(None, given))

    return run


def compare(step: CachedStep, runner: Any, steps: int, batch: int = 5, seed: int = 0) -> float:
    """Largest difference between the predictor's own step in place and an exported one, each with its own history.

    Args:
        step: The wrapped predictor.
        runner: Function from inputs to outputs, both in the order of :class:`CachedStep`.
        steps: Number of steps. States and controls are drawn from the range of the training data.
        batch: Number of environments; each is reset at random, on average every 20 steps.
        seed: Seed of states, controls and resets.
    """
    generator = torch.Generator().manual_seed(seed)
    predictor, spec = step.predictor, step.predictor.spec
    cache = predictor.init_cache(batch)
    history = tuple(tensor.clone() for tensor in cache.values())
    worst = 0.0
    for index in range(steps):
        reset = torch.rand(batch, generator=generator) < (1.0 if index == 0 else 0.05)
        *inputs, _ = _example(step, batch, generator)
        state, control, *rest = inputs
        contacts = Contacts(*rest) if predictor.needs_contacts else None
        predictor.reset(cache, reset)
        with without_kernels():  # the program is that of PyTorch
            prediction = predictor.step(state, control, contacts, cache)
        expected = predictor.next_state(state, prediction)
        with torch.no_grad():
            outputs = runner((*inputs, reset, *history))
        worst = max(worst, _difference(spec, outputs[0], expected))
        if prediction.force is not None:
            worst = max(worst, _relative(outputs[1] - prediction.force, prediction.force))
        history = tuple(outputs[len(outputs) - len(history) :])
    return worst


def interface(step: CachedStep) -> dict[str, Any]:
    """Names, meanings, units, frames and shapes of all inputs and outputs, as plain values.

    Args:
        step: The wrapped predictor.
    """
    predictor, spec = step.predictor, step.predictor.spec
    slots = len(spec.slots)
    known: dict[str, tuple[list[int | str], str, str]] = {
        "state": (["N", spec.state.dim], "float32", "state before the step; its parts stand under 'state'"),
        "control": (["N", spec.control_dim], "float32", "held over the step; in the order under 'controls'"),
        "contact_distance": (
            ["N", slots],
            "float32",
            "signed distance [m] from each slot's point to the ground, radius not taken off; 0 if not active",
        ),
        "contact_normal": (["N", slots, 3], "float32", "unit normal of the ground, environment axes; 0 if not active"),
        "contact_point": (
            ["N", slots, 3],
            "float32",
            "closest point of the ground [m], relative to the origin of the environment; 0 if not active",
        ),
        "contact_active": (["N", slots], "bool", "whether the distance is below the slot's gate"),
        "reset": (["N"], "bool", "forget the history of these environments before the step"),
        "next_state": (["N", spec.state.dim], "float32", "state after the step, as 'state'"),
        "force": (["N", len(spec.bodies), 3], "float32", "contact force on each body [N], environment axes"),
    }
    for name, tensor in predictor.init_cache(1).items():
        shape: list[int | str] = [tensor.shape[0], "N", *tensor.shape[2:]]
        dtype = str(tensor.dtype).removeprefix("torch.")
        known[f"history_{name}"] = (shape, dtype, "history; anything at first, with reset true for all environments")
        known[f"next_history_{name}"] = (shape, dtype, f"history after the step: the next step's history_{name}")
    return {
        "schema": SCHEMA,
        "versions": versions(),
        "robot": spec.name,
        "spec_hash": spec.content_hash,
        "step_seconds": spec.control_dt,
        "conventions": {
            "N": "number of environments, free",
            "units": "SI",
            "quaternion": "xyzw",
            "positions": "of the root link's origin, relative to the origin of the environment; environment axes",
            "velocities": "of the root link's origin, environment axes",
        },
        "inputs": [_entry(name, known[name]) for name in step.input_names],
        "outputs": [_entry(name, known[name]) for name in step.output_names],
        "state": _state_parts(spec),
        "controls": [{"joint": control.joint, "kind": control.kind} for control in spec.controls],
        "bodies": list(spec.body_names),
        "contact_slots": [
            {"body": slot.body, "point_m": list(slot.point), "radius_m": slot.radius, "gate_m": slot.gate}
            for slot in (spec.slots if predictor.needs_contacts else ())
        ],
    }


def _entry(name: str, described: tuple[list[int | str], str, str]) -> dict[str, Any]:
    shape, dtype, meaning = described
    return {"name": name, "shape": shape, "dtype": dtype, "meaning": meaning}


def _state_parts(spec: RobotSpec) -> list[dict[str, Any]]:
    """Columns, unit and names of each part of a state."""
    layout = spec.state
    unit = {"revolute": "rad", "prismatic": "m"}
    joints = [{"joint": joint.name, "unit": unit[joint.kind]} for joint in spec.joints]
    rates = [{"joint": joint.name, "unit": f"{unit[joint.kind]}/s"} for joint in spec.joints]
    parts: list[tuple[str, slice, Any]] = [
        ("root_pos", layout.root_pos, "m"),
        ("root_quat", layout.root_quat, "1"),
        ("joint_pos", layout.joint_pos, joints),
        ("root_lin_vel", layout.root_lin_vel, "m/s"),
        ("root_ang_vel", layout.root_ang_vel, "rad/s"),
        ("joint_vel", layout.joint_vel, rates),
    ]
    return [
        {"name": name, "first": where.start, "end": where.stop, "unit" if isinstance(unit, str) else "joints": unit}
        for name, where, unit in parts
        if where.stop > where.start
    ]


# -- inside ----------------------------------------------------------------------------------------------------


def _on_cpu(predictor: Predictor) -> Predictor:
    """A copy in float32 on the CPU, so that the caller's model stays where it is."""
    found = Predictor(predictor.spec, predictor.cfg)
    found.load_state_dict(predictor.state_dict())
    return found.eval().requires_grad_(False)


def _tolerance(step: CachedStep, check_steps: int) -> float:
    """Largest difference that an export may have. Another order of operations is another rounding, of which steep
    models make much: networks that see distances of a tenth of a millimetre, feet that are pressed deep into the
    ground, as states of the comparison are and no robot is. So an export may differ by four times what single precision
    differs from double, the largest of some hundred differences being a rough measure.
    """
    return max(TOLERANCE, 4.0 * compare(step, _in_double(step), check_steps))


def _in_double(step: CachedStep) -> Any:
    """The same step in double precision, as a function from and to inputs and outputs in single."""
    exact = copy.deepcopy(step).double()

    def run(inputs: Values) -> Values:
        given = (each.double() if each.is_floating_point() else each for each in inputs)
        return tuple(each.float() if each.is_floating_point() else each for each in exact(*given))

    return run


def _example(step: CachedStep, batch: int, generator: torch.Generator) -> Values:
    """Inputs up to and including the reset mask, drawn from the range of the training data where that is known."""
    predictor, spec = step.predictor, step.predictor.spec

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator)

    state = normal(batch, spec.state.dim)
    control = normal(batch, spec.control_dim)
    residual = predictor.residual
    if isinstance(residual, ResidualNetwork):
        normaliser, slices = residual.token_normaliser, residual.tokenizer.slices
        for part in ("joint_pos", "root_lin_vel", "root_ang_vel", "joint_vel"):
            where, columns = slices.get(part), getattr(spec.state, part)
            if where is not None and where.stop - where.start == columns.stop - columns.start:
                state[:, columns] = state[:, columns] * normaliser.std[where] + normaliser.mean[where]
        if "control" in slices:
            control = control * normaliser.std[slices["control"]] + normaliser.mean[slices["control"]]
    if spec.floating_base:
        state[:, spec.state.root_quat] = nn.functional.normalize(state[:, spec.state.root_quat], dim=-1)
    contacts: Values = ()
    if predictor.needs_contacts:
        slots = len(spec.slots)
        gate = torch.tensor([slot.gate for slot in spec.slots])
        distance = gate * (0.5 + normal(batch, slots))
        direction = nn.functional.normalize(normal(batch, slots, 3), dim=-1)
        contacts = Contacts.gated(distance, direction, 0.2 * normal(batch, slots, 3), gate).tensors()
    return (state, control, *contacts, torch.rand(batch, generator=generator) < 0.5)


def _trace(step: CachedStep) -> torch.export.ExportedProgram:
    """The step as a program with a free batch."""
    batch = 3  # not 1, which would be taken for a constant
    inputs = _example(step, batch, torch.Generator().manual_seed(0))
    history = tuple(step.predictor.init_cache(batch).values())
    free = torch.export.Dim("batch", min=1, max=2**20)
    shapes = (*({0: free} for _ in inputs), *({1: free} for _ in history))
    # In the long programs of mechanics torch meets questions on the batch that it cannot answer while it traces, though
    # the answer is the same for every batch: they become assertions of the program.
    with _quiet(), torch.no_grad(), _named_failure("torch.export"):
        program = torch.export.export(
            step,
            (*inputs, *history),
            dynamic_shapes=(shapes,),
            prefer_deferred_runtime_asserts_over_guards=_is_unrolled(step),
        )
    # Splitting what a robot has none of is dead code, and such a program could be written and not read.
    program.graph_module.graph.eliminate_dead_code()
    program.graph_module.recompile()
    return program


def _is_unrolled(step: CachedStep) -> bool:
    """Whether the program is long."""
    return step.predictor.prior is not None and step.predictor.prior.is_unrolled


def _write_onnx(step: CachedStep, program: torch.export.ExportedProgram, path: Path) -> None:
    """The program as one ONNX file, weights inside, with our names."""
    _require("onnx")
    _require("onnxscript")
    # The optimiser of ONNX programs takes minutes for a long one; the runtime finds what it saves, too.
    with _quiet(), _named_failure("torch.onnx"):
        model = torch.onnx.export(
            program,
            optimize=not _is_unrolled(step),
            input_names=step.input_names,
            output_names=step.output_names,
            dynamo=True,
            verbose=False,
        )
    if model is None:
        raise ExportError("torch.onnx gave no model")
    model.save(path, external_data=False)


@contextlib.contextmanager
def _named_failure(exporter: str) -> Iterator[None]:
    """Turns what an exporter says of an operator that it does not know into an error of ours that names it."""
    try:
        yield
    except Exception as error:
        cause = error
        while isinstance(cause.__cause__, Exception):
            cause = cause.__cause__
        raise ExportError(
            f"{exporter} got something in this model that it cannot write ({first_line(cause)}), expected operators "
            "that it knows: leave this format out (--format), or take what needs the operator out of the model"
        ) from error


def _require(module: str) -> Any:
    import importlib

    try:
        return importlib.import_module(module)
    except ModuleNotFoundError:
        raise ExportError(
            f"ONNX export needs '{module}', which is not installed: pip install 'nerd-core[export]'"
        ) from None


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keeps the exporters' own progress notes and deprecation warnings from the user."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)


def _difference(spec: RobotSpec, got: Tensor, expected: Tensor) -> float:
    """Largest difference of states, angles on the circle."""
    difference = got - expected
    wraps = [spec.state.joint_pos.start + i for i, joint in enumerate(spec.joints) if joint.wraps]
    difference[:, wraps] = wrap_to_pi(difference[:, wraps])
    return _relative(difference, expected)


def _relative(difference: Tensor, expected: Tensor) -> float:
    """Largest difference relative to one plus the size of the number; infinite if anything is not finite."""
    worst = (difference.abs() / (1.0 + expected.abs())).max() if difference.numel() else torch.zeros(())
    return worst.item() if bool(worst.isfinite()) else float("inf")


__all__ = ["CachedStep", "ExportError", "compare", "export", "interface", "onnx_runner"]
