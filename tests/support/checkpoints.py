# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Two small robots and sound checkpoints of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from nerd_core import checkpoint
from nerd_core.network.architectures.mlp import MlpCfg
from nerd_core.network.architectures.transformer import TransformerCfg
from nerd_core.predictor.config import PredictorCfg
from nerd_core.predictor.predictor import Predictor
from nerd_core.robot.spec import Body, ContactSlot, Control, Joint, RobotSpec

Files = dict[str, Any]
"""Content of a directory by relative path: bytes, or what stands in the place of a file."""

SMALL = TransformerCfg(width=16, layers=2, heads=2, window=4, head_hidden=8)
"""A transformer that is built and run in milliseconds."""


def crawler() -> RobotSpec:
    """A floating robot with a joint and two contact slots."""
    return RobotSpec(
        name="crawler",
        floating_base=True,
        joints=(Joint("knee", "revolute", (0.0, 1.0, 0.0), -1.0, 1.0),),
        bodies=(Body("trunk"), Body("shin", parent="trunk", joint="knee", parent_pos=(0.2, 0.0, 0.0))),
        controls=(Control("knee", "effort"),),
        slots=(ContactSlot("trunk", (0.0, 0.0, 0.0), 0.1, "sphere"), ContactSlot("shin", (0.1, 0.0, 0.0), 0.0, "box")),
        physics_dt=0.005,
        decimation=4,
    )


def pendulum() -> RobotSpec:
    """A fixed robot with one joint that turns around."""
    return RobotSpec(
        name="pendulum",
        floating_base=False,
        joints=(Joint("pivot", "revolute", (0.0, 1.0, 0.0)),),
        bodies=(Body("mount"), Body("rod", parent="mount", joint="pivot")),
        controls=(Control("pivot", "effort"),),
        physics_dt=1 / 240,
        decimation=4,
    )


def sound_checkpoints(folder: Path) -> list[Files]:
    """Three small checkpoints of different robots, models and contents."""
    torch.manual_seed(0)
    wanted = [
        (crawler(), PredictorCfg(network=SMALL), True),
        (crawler(), PredictorCfg(network=TransformerCfg(width=16, layers=1, heads=2, window=4, head_hidden=8)), False),
        (pendulum(), PredictorCfg(network=MlpCfg(), ensemble=2), False),
    ]
    found = []
    for i, (spec, cfg, resumable) in enumerate(wanted):
        state = (
            {"step": 7, "best": float("inf"), "moments": {"a": torch.ones(5)}, "seed": 2**127} if resumable else None
        )
        path = checkpoint.save(folder / f"sound{i}", Predictor(spec, cfg), training={"lr": 1e-3}, state=state)
        found.append({str(file.relative_to(path)): file.read_bytes() for file in path.rglob("*") if file.is_file()})
    return found
