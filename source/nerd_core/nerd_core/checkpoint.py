# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""A trained model as a directory of plain files.

==================  ==============================================================================================
``spec.json``       the :class:`~nerd_core.robot.spec.RobotSpec`: what every number means
``config.json``     the settings of the predictor and of its training, and where it all came from
``model.safetensors``  weights and normalisers
``training/``       optional: what a training run needs to go on (see :mod:`nerd_core.files.safe_state`)
``manifest.json``   size and SHA-256 of each of these files
``card.md``         the same for people; not in the manifest, so that it may be edited
==================  ==============================================================================================

A checkpoint is written whole or not at all. Loading trusts nothing: sizes are held against each other before memory is
taken, then digests, names, shapes, element types and finiteness. Nothing in a checkpoint can run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from .checkpoint_limits import expected_tensors, require_bounded, size_of
from .checkpoint_migration import migrate_config, migrate_tensors, with_earlier_defaults
from .files.atomic import previous, replace_directory
from .files.provenance import versions
from .files.safe_files import MAX_JSON_BYTES, UnsafeFile, digest, json_bytes, parse_json, read_bytes
from .files.safe_state import StateError, Tree, load_state, state_files
from .files.safe_tensors import MAX_HEADER_BYTES, TensorInfo, parse_tensors, tensor_bytes
from .files.serialization import StructureError, from_plain, to_plain
from .predictor.config import PredictorCfg
from .predictor.predictor import Predictor
from .robot.comparison import require_same_spec
from .robot.spec import RobotSpec, SpecError

SCHEMA = "nerd.checkpoint/2"
"""Name and version of the format, in ``config.json``."""

EARLIER_SCHEMA = "nerd.checkpoint/1"
"""The format before, which is read as well (see :mod:`nerd_core.checkpoint_migration`)."""

MANIFEST_SCHEMA = "nerd.manifest/1"
"""Name and version of the format of ``manifest.json``."""

SPEC, CONFIG, WEIGHTS, MANIFEST, CARD = "spec.json", "config.json", "model.safetensors", "manifest.json", "card.md"
TRAINING = "training"

REQUIRED = (SPEC, CONFIG, WEIGHTS)
OPTIONAL = (f"{TRAINING}/state.json", f"{TRAINING}/tensors.safetensors")

MAX_STATE_BYTES = 256 * 2**20
"""Largest state of a training run [bytes], beside :data:`MAX_STATE_RATIO` times the size of the model."""

MAX_STATE_RATIO = 64
"""AdamW and an average need three times the model; second-order optimisers up to some dozen times."""


class CheckpointError(ValueError):
    """A checkpoint that is missing, damaged, foreign, of another version, or contradicts itself."""


@dataclass(frozen=True)
class CheckpointConfig:
    """Content of ``config.json``. Everything but :attr:`predictor` is for people and for repeating the run."""

    predictor: PredictorCfg
    """Settings of the model."""
    versions: dict[str, Any] = field(default_factory=dict)
    """Versions of the software that wrote the checkpoint."""
    training: dict[str, Any] | None = None
    """Settings of the training, as plain values."""
    provenance: dict[str, Any] = field(default_factory=dict)
    """Command, seeds, data and host (see :func:`nerd_core.files.provenance.describe_run`)."""
    results: dict[str, Any] = field(default_factory=dict)
    """Errors on held-out data and other outcomes, as plain values."""


@dataclass(frozen=True)
class Checkpoint:
    """What a checkpoint directory says, read and checked, the model not built yet."""

    path: Path
    """Directory."""
    spec: RobotSpec
    """The robot that the model was made for."""
    config: CheckpointConfig
    """Settings and origin."""
    tensors: dict[str, torch.Tensor]
    """Weights and normalisers by name, on the CPU."""
    has_training_state: bool
    """Whether a training run can go on from here."""
    schema: str
    """Format in which it was written."""


# -- writing ---------------------------------------------------------------------------------------------------


def save(
    path: str | Path,
    predictor: Predictor,
    *,
    training: Any = None,
    provenance: Mapping[str, Any] | None = None,
    results: Mapping[str, Any] | None = None,
    state: Tree = None,
    card: str = "",
) -> Path:
    """Writes a checkpoint, whole or not at all. An older one at the same place is kept until the new one is whole.

    Args:
        path: Directory to write.
        predictor: The model.
        training: Settings of the training (a dataclass or plain values), to repeat the run from.
        provenance: What :func:`nerd_core.files.provenance.describe_run` gave.
        results: Errors on held-out data and other outcomes, as plain values.
        state: What the training run needs to go on (see :func:`nerd_core.files.safe_state.save_state`); None for a
            model that is only to be used.
        card: Text for people, added to the model card.
    """
    path = Path(path)
    tensors = dict(predictor.state_dict())
    try:
        _require_finite(tensors)
        expected_tensors(predictor.spec, predictor.cfg)
        config = CheckpointConfig(
            predictor=predictor.cfg,
            versions=versions(),
            training=None if training is None else to_plain(training),
            provenance=to_plain(dict(provenance or {})),
            results=to_plain(dict(results or {})),
        )
        files = {
            SPEC: (predictor.spec.to_json() + "\n").encode(),
            CONFIG: json_bytes({"schema": SCHEMA, **to_plain(config)}),
            WEIGHTS: tensor_bytes(tensors),
        }
        if state is not None:
            files |= {f"{TRAINING}/{name}": content for name, content in state_files(state).items()}
        for name, content in files.items():
            limit = MAX_JSON_BYTES if name.endswith(".json") else _state_limit(tensors)
            if len(content) > limit:
                raise UnsafeFile(f"'{name}' would have {len(content)} bytes, more than the {limit} that are read back")
    except ValueError as error:
        raise CheckpointError(f"the checkpoint '{path}' cannot be saved: {error}") from None
    sizes = {name: {"bytes": len(content), "sha256": digest(content)} for name, content in files.items()}
    with replace_directory(path) as folder:
        for name, content in files.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_bytes(content)
        (folder / MANIFEST).write_bytes(json_bytes({"schema": MANIFEST_SCHEMA, "files": sizes}))
        (folder / CARD).write_text(model_card(path.name, predictor.spec, config, tensors, card), encoding="utf-8")
    return path


def model_card(
    name: str, spec: RobotSpec, config: CheckpointConfig, tensors: Mapping[str, torch.Tensor], text: str = ""
) -> str:
    """The model card: what the model is, how it was made and how well it does, as Markdown.

    Args:
        name: Name of the checkpoint.
        spec: The robot.
        config: Settings and origin.
        tensors: Weights and normalisers by name.
        text: Further text, put first.
    """
    base = "floating base" if spec.floating_base else "fixed base"
    facts = {
        "robot": f"{spec.name} ({base}, {len(spec.joints)} joints, {len(spec.bodies)} bodies, {len(spec.slots)} slots)",
        "specification": f"`{spec.content_hash[:16]}`",
        "step": f"{spec.control_dt:.6g} s ({spec.decimation} x {spec.physics_dt:.6g} s)",
        "prior": _one_line(to_plain(config.predictor.prior) or "none"),
        "network": _one_line(to_plain(config.predictor.network) or "none"),
        "numbers in the model": f"{sum(tensor.numel() for tensor in tensors.values()):,}",
    }
    rows = [f"| {key} | {value} |" for key, value in facts.items()]
    parts = [f"# {name}", *([text.strip()] if text.strip() else []), "\n".join(["| | |", "|---|---|", *rows])]
    if config.results:
        parts += ["## Results", "\n".join(f"- {key}: {_one_line(value)}" for key, value in config.results.items())]
    provenance = dict(config.provenance)
    command = provenance.pop("command", None)
    parts += ["## How it was made"]
    if command:
        parts += [f"```\n{command}\n```"]
    origin = {"versions": config.versions} | provenance
    parts += ["\n".join(f"- {key}: {_one_line(value)}" for key, value in origin.items())]
    if config.training is not None:
        parts += [
            "`nerd train DATA --config config.json` repeats it, with the settings of the training that stand there."
        ]
    parts += [
        "## How to use it",
        "```python\nfrom nerd_core import checkpoint\n\npredictor = checkpoint.load(PATH)\n```",
    ]
    return "\n\n".join(parts) + "\n"


# -- reading ---------------------------------------------------------------------------------------------------


def load(path: str | Path, expected_spec: RobotSpec | None = None, device: torch.device | str = "cpu") -> Predictor:
    """Reads a checkpoint, checks it and builds the model, in evaluation mode.

    Args:
        path: Directory of the checkpoint.
        expected_spec: The robot in use. Raises :class:`~nerd_core.robot.comparison.SpecMismatch` with the differences
            if the checkpoint was made for another one.
        device: Where the model shall live.
    """
    found = read(path, expected_spec)
    try:
        predictor = _build(found.spec, found.config.predictor)
    except (ValueError, RuntimeError) as error:
        raise CheckpointError(
            f"the checkpoint '{path}' cannot be loaded: its model cannot be built: {str(error)[:400]}"
        ) from None
    predictor.load_state_dict(found.tensors)
    return predictor.to(device).eval()


def read(path: str | Path, expected_spec: RobotSpec | None = None) -> Checkpoint:
    """Reads and checks everything but the state of training, and builds nothing. See :func:`load`."""
    path = _locate(path)
    try:
        manifest = _read_manifest(path)
        spec = _read_spec(path, manifest)
        config, schema = _parse_config(_read_listed(path, CONFIG, manifest, MAX_JSON_BYTES))
        if expected_spec is not None:
            require_same_spec(spec, expected_spec, f"the checkpoint '{path}'")
        expected = expected_tensors(spec, config.predictor)
        limit = size_of(expected) + MAX_HEADER_BYTES
        tensors = parse_tensors(_read_listed(path, WEIGHTS, manifest, limit), WEIGHTS)
        if schema == EARLIER_SCHEMA:
            tensors = migrate_tensors(tensors, config.predictor.network is not None)
        _require_same_tensors(tensors, expected)
        _require_finite(tensors)
    except (UnsafeFile, StructureError, SpecError) as error:
        raise CheckpointError(f"the checkpoint '{path}' cannot be loaded: {error}") from None
    resumable = OPTIONAL[0] in manifest and schema == SCHEMA
    return Checkpoint(path, spec, config, tensors, resumable, schema)


def read_config(path: str | Path) -> CheckpointConfig:
    """The settings in a ``config.json`` (or in the one of a checkpoint's directory), for instance to repeat a run."""
    path = Path(path)
    file = path / CONFIG if path.is_dir() else path
    try:
        return _parse_config(read_bytes(file, MAX_JSON_BYTES))[0]
    except (UnsafeFile, StructureError) as error:
        raise CheckpointError(f"the settings '{file}' cannot be read: {error}") from None


def load_training_state(path: str | Path) -> Tree:
    """What :func:`save` got as ``state``. Raises :class:`CheckpointError` if there is none or it is unsound."""
    found = read(path)
    path = found.path
    try:
        if found.schema != SCHEMA:
            raise UnsafeFile(
                f"no run can go on from the format {found.schema!r}: start a new one from its weights (--start)"
            )
        if not found.has_training_state:
            raise UnsafeFile("it holds no state of training: it can be used, but no run can go on from it")
        if (path / TRAINING).is_symlink():
            raise UnsafeFile(f"'{TRAINING}' is a link; links are not followed: copy the directory itself")
        manifest = _read_manifest(path)
        for name in OPTIONAL:
            _read_listed(path, name, manifest, _state_limit(found.tensors))
        return load_state(path / TRAINING)
    except (UnsafeFile, StateError) as error:
        raise CheckpointError(f"the checkpoint '{path}' cannot be loaded: {error}") from None


def _state_limit(tensors: Mapping[str, torch.Tensor]) -> int:
    """Largest size of a file of the state of training [bytes], for a model with these tensors."""
    return sum(tensor.nbytes for tensor in tensors.values()) * MAX_STATE_RATIO + MAX_STATE_BYTES


def _build(spec: RobotSpec, cfg: PredictorCfg) -> Predictor:
    """A predictor whose weights are yet to be set. Does not move the caller's random numbers."""
    with torch.random.fork_rng(devices=[]):
        return Predictor(spec, cfg)


def _locate(path: str | Path) -> Path:
    """The directory, or the older one beside it if writing was cut off between two renames."""
    path = Path(path)
    if not path.exists() and previous(path).is_dir():
        return previous(path)
    if path.is_file():
        raise CheckpointError(
            f"'{path}' is a file; a checkpoint is a directory with {', '.join(REQUIRED)}. Pickled models (.pt, .pth) "
            "are not read, because they can run code"
        )
    if not path.is_dir():
        raise CheckpointError(f"there is no checkpoint at '{path}'")
    return path


def _read_manifest(path: Path) -> dict[str, dict[str, Any]]:
    """Size and digest by name of file; only names of this format are let through."""
    if not (path / MANIFEST).exists() and not (path / CONFIG).exists():
        raise UnsafeFile(f"it holds neither '{MANIFEST}' nor '{CONFIG}': this is not a checkpoint of nerd_core")
    document = parse_json(read_bytes(path / MANIFEST, MAX_JSON_BYTES), MANIFEST)
    if not isinstance(document, dict) or document.get("schema") != MANIFEST_SCHEMA:
        got = document.get("schema") if isinstance(document, dict) else type(document).__name__
        raise UnsafeFile(f"'{MANIFEST}' has schema {str(got)[:60]!r}, this version reads {MANIFEST_SCHEMA!r}")
    files = document.get("files")
    if not isinstance(files, dict) or set(document) != {"schema", "files"}:
        raise UnsafeFile(f"'{MANIFEST}' must hold the schema and the files, and nothing else")
    if set(files) not in (set(REQUIRED), {*REQUIRED, *OPTIONAL}):
        raise UnsafeFile(f"'{MANIFEST}' lists {str(sorted(files))[:200]}, expected {REQUIRED} and maybe {OPTIONAL}")
    for name, entry in files.items():
        sound = isinstance(entry, dict) and set(entry) == {"bytes", "sha256"}
        if not sound or type(entry["bytes"]) is not int or entry["bytes"] < 0 or not isinstance(entry["sha256"], str):
            raise UnsafeFile(f"'{MANIFEST}': '{name}' must have a size in bytes and a sha256, got {str(entry)[:100]}")
    return files


def _read_listed(path: Path, name: str, manifest: dict[str, dict[str, Any]], limit: int) -> bytes:
    """Content of a file after its size and digest were held against the manifest."""
    listed = manifest[name]
    if listed["bytes"] > limit:
        raise UnsafeFile(f"'{name}' has {listed['bytes']} bytes, at most {limit} are expected for this model")
    content = read_bytes(path / name, limit)
    if len(content) != listed["bytes"]:
        raise UnsafeFile(f"'{name}' has {len(content)} bytes, the manifest says {listed['bytes']}: cut or changed")
    if digest(content) != listed["sha256"]:
        raise UnsafeFile(f"'{name}' is damaged or was changed: it does not have the SHA-256 that the manifest gives")
    return content


def _read_spec(path: Path, manifest: dict[str, dict[str, Any]]) -> RobotSpec:
    content = _read_listed(path, SPEC, manifest, MAX_JSON_BYTES)
    try:
        return RobotSpec.from_json(content.decode())
    except UnicodeDecodeError:
        raise UnsafeFile(f"'{SPEC}' is not sound JSON: it is not UTF-8") from None


def _parse_config(content: bytes) -> tuple[CheckpointConfig, str]:
    """The settings, and the format in which they were written."""
    plain = parse_json(content, CONFIG)
    schema = plain.pop("schema", None) if isinstance(plain, dict) else None
    if schema not in (SCHEMA, EARLIER_SCHEMA):
        raise UnsafeFile(
            f"'{CONFIG}' is neither of the format {SCHEMA!r} nor of {EARLIER_SCHEMA!r}, which this version reads: use "
            "the version of nerd_core that wrote it"
        )
    plain = migrate_config(plain) if schema == EARLIER_SCHEMA else plain
    require_bounded(plain.get("predictor"), "predictor")
    if "predictor" in plain:
        plain = plain | {"predictor": with_earlier_defaults(plain["predictor"])}
    return from_plain(CheckpointConfig, plain, CONFIG), schema


def _require_same_tensors(tensors: dict[str, torch.Tensor], expected: dict[str, TensorInfo]) -> None:
    missing = [name for name in expected if name not in tensors]
    unknown = [name for name in tensors if name not in expected]
    if missing or unknown:
        raise UnsafeFile(
            f"'{WEIGHTS}' is not of the model in '{CONFIG}': {len(missing)} tensors are missing "
            f"{str(missing[:3])[:200]}, {len(unknown)} are unknown {str(unknown[:3])[:200]}"
        )
    for name, info in expected.items():
        got = tensors[name]
        if tuple(got.shape) != info.shape or got.dtype != info.dtype:
            raise UnsafeFile(
                f"'{WEIGHTS}': '{name}' has shape {list(got.shape)} of {got.dtype}, the model in '{CONFIG}' has "
                f"{list(info.shape)} of {info.dtype}"
            )


def _require_finite(tensors: Mapping[str, torch.Tensor]) -> None:
    """Refuses NaN and infinity, and normalisers that would divide by zero or less."""
    for name, tensor in tensors.items():
        if not bool(torch.isfinite(tensor).all()):
            raise UnsafeFile(f"the tensor '{name}' holds numbers that are not finite")
        if name.rpartition(".")[2] == "std" and not bool((tensor > 0).all()):
            raise UnsafeFile(f"the standard deviations '{name}' must be positive")


def _one_line(value: Any) -> str:
    """A plain value for a line of Markdown."""
    if isinstance(value, dict):
        return ", ".join(f"{key} {_one_line(item)}" for key, item in value.items())
    if isinstance(value, list):
        return " ".join(_one_line(item) for item in value)
    return f"{value:.4g}" if isinstance(value, float) else str(value)


__all__ = [
    "Checkpoint",
    "CheckpointConfig",
    "CheckpointError",
    "load",
    "load_training_state",
    "model_card",
    "read",
    "read_config",
    "save",
]
