# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Collects for a few seconds, as ``nerd generate`` would, and looks at what came of it."""

from __future__ import annotations

import tempfile
from pathlib import Path

from ..collect.collect_cfg import CollectCfg
from ..collect.contact_agreement import EVENT_FORCE, BodyAgreement
from ..collect.run import CollectResult, collect
from .diagnosis import Diagnosis, fine, obstacle, warning

ENVS, STEPS = 32, 50
"""Size of the rehearsal: environments, and control steps of each."""

WANTED = 0.9
"""Share of the solver's contacts that slots have to explain."""

FEW = 20
"""Contacts of a body below which nothing is concluded."""


def rehearse(task: str, physics: str, device: str, overrides: tuple[str, ...]) -> list[Diagnosis]:
    """Collects some roll-outs with the contacts of solver and geometry, in a process of its own.

    Args:
        task: Id of the task.
        physics: Physics preset.
        device: Device of the simulation.
        overrides: Changes of the task's configuration.
    """
    cfg = CollectCfg(task, steps=STEPS, num_envs=ENVS, contacts="both", physics=physics, overrides=overrides)
    with tempfile.TemporaryDirectory() as scratch:
        try:
            result = collect(cfg, Path(scratch) / "data", transitions=ENVS * STEPS, device=device, quiet=True)
        except ValueError as error:
            return [obstacle("rehearsal", f"nothing could be collected: {error}", "as the message says")]
    return judge(result)


def judge(result: CollectResult) -> list[Diagnosis]:
    """What a collection tells.

    Args:
        result: What was collected, with ``contacts="both"``.
    """
    dropped = sum(result.dropped.values())
    tried = dropped + result.trajectories
    found = [warning("rehearsal", text, "see docs/collecting.md") for text in result.warnings]
    if dropped > 0.05 * tried:
        reasons = ", ".join(f"{reason}: {number}" for reason, number in result.dropped.items())
        text = f"{dropped} of {tried} trajectories had to be left out ({reasons})"
        found.append(warning("rehearsal", text, "nerd generate ... --initial task, or narrower --ranges"))
    unexplained = {
        name: body for name, body in result.contact_agreement.items() if body.sensor >= FEW and _share(body) < WANTED
    }
    for name, body in unexplained.items():
        text = f"'{name}': slots explain {100 * _share(body):.0f} % of {body.sensor} contacts that the solver reports"
        found.append(warning("contacts", text, "give the body simpler shapes, or learn with --free-motion first"))
    unseen = {
        name: body for name, body in result.contact_agreement.items()
        if body.forced >= FEW and body.unseen > (1.0 - WANTED) * body.forced
    }  # fmt: skip
    for name, body in unseen.items():
        text = (
            f"'{name}' feels more than {EVENT_FORCE:g} N in {body.forced} steps, and in {body.unseen} of them none of "
            "its slots is near the ground: a model says that nothing touches it"
        )
        found.append(warning("contacts", text, "give the body shapes, or remove the terms that read its forces"))
    if not found:
        contacts = sum(body.sensor for body in result.contact_agreement.values())
        found.append(fine("rehearsal", f"{tried} roll-outs, none left out; slots explain {contacts} contacts"))
    return found


def _share(body: BodyAgreement) -> float:
    return body.explained / max(body.sensor, 1)
