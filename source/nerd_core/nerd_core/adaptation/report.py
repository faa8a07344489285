# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What a trial of adaptation found, as plain values and as a picture."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from ..files.figures import log_scale, new_figure, save_figure
from .trial import MET, Trial

WORSE = 1.05
"""A mean error beyond so many times that of the specification's model is worse."""


def plain_report(trial: Trial, groups: Mapping[str, slice]) -> dict[str, Any]:
    """Errors before and after, seconds until the truth is met, and how often adaptation was worse, by group and
    quantity; and the last estimates.

    Args:
        trial: What was found.
        groups: Environments by the name of what changed in them.
    """
    found: dict[str, Any] = {}
    for group, rows in groups.items():
        last = torch.where(trial.used[-1, rows, None], trial.numbers[-1, rows], 0.0)
        quantities: dict[str, Any] = {}
        for quantity in trial.errors["adapted"]:
            own, plain = (trial.mean(model, quantity, rows) for model in ("adapted", "specification"))
            quantities[quantity] = {
                **trial.before_and_after(quantity, rows),
                "seconds_until_met": trial.seconds_until_met(quantity, rows),
                "share_of_moments_worse": float((own > WORSE * plain).float().mean()),
            }
        found[group] = {
            "errors": quantities,
            "used_at_end": float(trial.used[-1, rows].float().mean()),
            "estimates": {
                name: {"mean": float(last[:, index].mean()), "std": float(last[:, index].std(correction=0))}
                for index, name in enumerate(trial.names)
            },
        }
    return {"changed_at_s": trial.changed, "met_within": MET, "groups": found}


def draw_trial(trial: Trial, groups: Mapping[str, slice], out: Path) -> None:
    """Draws the mean errors of the joints, or of the first quantity, over time, a panel a group.

    Args:
        trial: What was found.
        groups: Environments by the name of what changed in them.
        out: Picture to write.
    """
    quantities = list(trial.errors["adapted"])
    quantity = "joint_rad" if "joint_rad" in quantities else quantities[0]
    with new_figure(3.0 * len(groups), 2.8, columns=len(groups), sharey=True) as (figure, panels):
        for axis, (group, rows) in zip(panels, groups.items(), strict=True):
            for model in trial.errors:
                axis.plot(trial.seconds, trial.mean(model, quantity, rows).tolist(), label=model)
            if trial.changed is not None:
                axis.axvline(trial.changed, color="gray", lw=0.8)
            axis.set_title(group)
            axis.set_xlabel("time [s]")
            log_scale(axis, "y")
        panels[0].set_ylabel(f"{quantity}, a quarter of a second ahead")
        panels[0].legend()
        save_figure(figure, out)


__all__ = ["draw_trial", "plain_report"]
