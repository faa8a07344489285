# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Settings of training runs of earlier versions, brought to the names of today.

The same tables serve ``config.json`` of checkpoints, saved runs, and the options of ``nerd train``.
"""

from __future__ import annotations

from typing import Any

RENAMED = {
    "batch": "batch_size",
    "length": "window_length",
    "clip": "max_grad_norm",
    "average": "ema_decay",
    "pace": "speed_weighting",
    "parts": "train_parts",
    "remember": "precompute",
    "noise": "state_noise",
    "statistics": "normaliser_transitions",
    "horizons": "validation_horizons",
    "trajectories": "validation_trajectories",
    "rollout.batch": "rollout.batch_size",
    "optimiser.refresh": "optimiser.precondition_frequency",
    "optimiser.max_side": "optimiser.max_precondition_dim",
}
"""Settings of :class:`~nerd_core.training.config.TrainCfg`, then and now; a dot leads into a group."""

EARLIER = {"remembered": 0}
"""Settings that an earlier version did not write, as they were before there was a choice."""

RENAMED_VALUES = {"train_parts": {"solver": "prior"}}
"""Values of settings of today, then and now."""


def migrate_settings(plain: Any) -> Any:
    """Settings of a training, as plain values, under the names of today; those that an earlier version did not write
    have the values that it used. Does not change its argument.

    What is not understood is left as it is, to be refused by name where the settings are built.

    Args:
        plain: What :func:`~nerd_core.files.serialization.to_plain` gave in this version or an earlier one.
    """
    return EARLIER | _renamed(plain, "") if isinstance(plain, dict) else plain


def _renamed(plain: Any, group: str) -> Any:
    if not isinstance(plain, dict):
        return plain
    new: dict[str, Any] = {}
    for old, value in plain.items():
        name = RENAMED.get(group + old, group + old).removeprefix(group)
        # Where a setting stands under both names the old one is left, to be refused.
        name = old if name != old and name in plain else name
        value = _renamed(value, f"{group}{name}.")
        known = RENAMED_VALUES.get(group + name, {})
        new[name] = known.get(value, value) if isinstance(value, str) else value
    return new


def completed(plain: dict[str, Any], defaults: dict[str, Any]) -> dict[str, Any]:
    """Settings with those that an earlier version did not know as they are by default, in all groups.

    Args:
        plain: Settings as plain values, under the names of today.
        defaults: All settings by default, as plain values.
    """
    whole = dict(defaults)
    for name, value in plain.items():
        known = defaults.get(name)
        whole[name] = completed(value, known) if isinstance(value, dict) and isinstance(known, dict) else value
    return whole


__all__ = ["EARLIER", "completed", "RENAMED", "RENAMED_VALUES", "migrate_settings"]
