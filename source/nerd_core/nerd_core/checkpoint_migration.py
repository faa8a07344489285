# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Checkpoints of earlier versions, brought to the names of today.

Works on the plain values of ``config.json`` and on the names of tensors, before both are checked and used: what is not
understood is left as it is, and refused by name there.

Example::

    plain = migrate_config(parse_json(content, "config.json"))
    config = from_plain(CheckpointConfig, plain)
    tensors = migrate_tensors(parse_tensors(content, "model.safetensors"), config.predictor.network is not None)
"""

from __future__ import annotations

from typing import Any

from torch import Tensor

MECHANICS_FIELDS = {"soft": "compliance", "scales": "feature_scales"}
"""Fields of the mechanics (``predictor.solver``), then and now."""

TENSOR_PREFIXES = {
    "model.": "residual.network.",
    "token_normaliser.": "residual.token_normaliser.",
    "force_scale": "residual.force_scale",
    "missing": "residual.residual_scale",
    "mechanics.": "prior.mechanics.",
    "_fall.further": "prior.integration_offset",
}
"""Beginnings of names of tensors, then and now."""

EARLIER_MECHANICS = {"constraint_law": "fitted", "links_in_turn": False, "touch_order": False}
"""Settings of mechanics that a file may not name, as they were before there was a choice."""

KINDS_OF_MECHANICS = ("mechanics", "transmission", "calibrated")
"""Kinds of priors that have them."""

WITHOUT_USE = ("token_normaliser.", "force_scale", "missing")
"""Beginnings of names of tensors that a predictor without a network had, and never used."""


def migrate_config(plain: dict[str, Any]) -> dict[str, Any]:
    """The content of a ``config.json`` of format 1 with the names of today. Does not change its argument.

    Args:
        plain: What stands in the file.
    """
    plain = dict(plain)
    if isinstance(plain.get("predictor"), dict):
        plain["predictor"] = _predictor(plain["predictor"])
    return plain


def with_earlier_defaults(plain: Any) -> Any:
    """The content of a ``config.json`` of any format: settings that a version before them did not write have the
    values that it used, and not those of today. Does not change its argument.

    Args:
        plain: What stands in the file, or a part of it.
    """
    if not isinstance(plain, dict):
        return plain
    plain = {key: with_earlier_defaults(value) for key, value in plain.items()}
    return EARLIER_MECHANICS | plain if plain.get("kind") in KINDS_OF_MECHANICS else plain


def migrate_tensors(tensors: dict[str, Tensor], has_network: bool = True) -> dict[str, Tensor]:
    """The tensors of a checkpoint of format 1 under the names of today.

    Args:
        tensors: Tensors by name, as they stand in the file.
        has_network: Whether the predictor has a network.
    """
    kept = {name: it for name, it in tensors.items() if has_network or not name.startswith(WITHOUT_USE)}
    return {(name if (new := _tensor_name(name)) in tensors else new): tensor for name, tensor in kept.items()}


def _predictor(old: dict[str, Any]) -> dict[str, Any]:
    """Settings of a predictor: a network of kind 'none' is no network; what was known without it is the prior."""
    new = _renamed(old, {"model": "network"})
    network = new.get("network")
    if isinstance(network, dict) and network.get("kind") == "none" and network.get("window", 1) == 1:
        new["network"] = None
    solver, free = new.get("solver"), new.get("free")
    falls, token = _without_fall(new.get("token"))
    if "prior" in new or (solver is not None and not isinstance(solver, dict)) or not isinstance(free, dict | None):
        return new
    steps = 0 if solver is None else solver.get("substeps", 0)
    if bool(steps) + (free is not None) + falls > 1:
        return new
    new.pop("solver", None)
    new.pop("free", None)
    new["prior"] = None
    if "token" in new:
        new["token"] = token
    if solver is not None and steps:
        new["prior"] = {"kind": "mechanics", **_renamed(solver, MECHANICS_FIELDS)}
    elif free is not None:
        new["prior"] = _free_motion(free)
    elif falls:
        new["prior"] = {"kind": "free_fall"}
    return new


def _free_motion(old: dict[str, Any]) -> dict[str, Any]:
    """Settings of a network of free motion, whose token said whether it falls."""
    falls, token = _without_fall(old.get("token"))
    new = {"kind": "free_motion", **_renamed(old, {"model": "network"})}
    if "token" in new:
        new["token"] = token
    return {**new, "prior": {"kind": "free_fall"}} if falls and "prior" not in new else new


def _without_fall(token: Any) -> tuple[bool, Any]:
    """Whether a robot was said to fall, and the settings of its token without that."""
    if not isinstance(token, dict) or not isinstance(token.get("falling", False), bool):
        return False, token
    return token.get("falling", False), {key: value for key, value in token.items() if key != "falling"}


def _tensor_name(old: str) -> str:
    if old.startswith("free."):
        return "prior.predictor." + _tensor_name(old.removeprefix("free."))
    for prefix, new in TENSOR_PREFIXES.items():
        if old.startswith(prefix):
            return new + old.removeprefix(prefix)
    return old


def _renamed(settings: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    """Settings with some fields renamed. Where a field stands under both names the old one is left, to be refused."""
    return {names[key] if key in names and names[key] not in settings else key: it for key, it in settings.items()}


__all__ = [
    "EARLIER_MECHANICS",
    "KINDS_OF_MECHANICS",
    "MECHANICS_FIELDS",
    "TENSOR_PREFIXES",
    "WITHOUT_USE",
    "migrate_config",
    "migrate_tensors",
    "with_earlier_defaults",
]
