# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Each room of nerd_core says what lives there, and its example works as it stands."""

from __future__ import annotations

import ast
import re
import textwrap
from pathlib import Path

import pytest
import torch

from nerd_core.contact.contacts import ContactModel
from nerd_core.contact.grounds import PlaneGround
from nerd_core.data.dataset import TrajectoryDataset
from nerd_core.network.architectures.residual import ResidualMlpCfg
from nerd_core.predictor.config import PredictorCfg
from nerd_core.predictor.predictor import Predictor
from support.robots import ant, random_state, with_inertias

PACKAGE = Path(__file__).resolve().parents[2] / "source" / "nerd_core" / "nerd_core"
ROOMS = sorted(
    path.parent.name
    for path in PACKAGE.glob("*/__init__.py")
    if path.parent.name != "cli"  # has commands, no API
)


def _docstring(room: str) -> tuple[ast.Module, str]:
    tree = ast.parse((PACKAGE / room / "__init__.py").read_text(encoding="utf-8"))
    return tree, ast.get_docstring(tree) or ""


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_only_introduces_itself(room: str):
    """The __init__ of a room is a docstring and imports nothing: each name has one import path."""
    tree, text = _docstring(room)
    assert len(tree.body) == 1 and text
    modules = {path.stem for path in (PACKAGE / room).iterdir() if path.suffix == ".py"} - {"__init__"}
    named = {name for name in modules if re.search(rf"``{name}``|\.{name}`", text)}
    assert not modules or len(named) * 2 >= len(modules), f"only {sorted(named)} of {sorted(modules)} are introduced"


@pytest.mark.parametrize("room", [".", *ROOMS])
def test_the_example_of_a_room_runs(room: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """What stands below "Example::" runs, given a robot, some of its states and controls, a dataset and a folder."""
    _, text = _docstring(room)
    assert "Example::\n" in text, f"{room}/__init__.py has no example"
    block = re.match(r"(?:\n|    .*\n?)+", text.partition("Example::\n")[2])
    assert block
    example = textwrap.dedent(block[0]).replace("minutes=5.0", "updates=2")
    monkeypatch.chdir(tmp_path)
    spec, generator = with_inertias(ant()), torch.Generator().manual_seed(0)
    state = random_state(spec, 8, 0)
    control = torch.randn(8, spec.control_dim, generator=generator)
    steps = torch.stack([state] * 121, dim=1).repeat(16, 1, 1), torch.stack([control] * 120, dim=1).repeat(16, 1, 1)
    given = {
        "spec": spec,
        "state": state,
        "control": control,
        "states": torch.stack([state] * 7, dim=1),
        "controls": torch.stack([control] * 6, dim=1),
        "ground": PlaneGround.flat(),
        "contacts": ContactModel(spec)(state, PlaneGround.flat()),
        "data": TrajectoryDataset.from_tensors(spec, *steps, ground=torch.tensor([0.0, 0.0, 1.0, 0.0])),
        "predictor": Predictor(spec, PredictorCfg(network=ResidualMlpCfg(width=8, hidden=8, layers=1))),
        "folder": tmp_path,
    }
    exec(compile(example, f"{room}/__init__.py", "exec"), given)
