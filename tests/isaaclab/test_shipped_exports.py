# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Shipped models as programs for others: those that are written in less than a minute are, in both formats."""

from __future__ import annotations

from pathlib import Path

import pytest

from nerd_core import checkpoint
from nerd_core.checkpoint_names import shipped_checkpoints
from nerd_core.export import export

pytestmark = pytest.mark.unit

PAGE = Path(__file__).parents[2] / "docs" / "checkpoints.md"
QUICK = ("cartpole-quick", "pendulum-network")
"""Models whose programs are written in seconds; the others take up to minutes, and are run by hand for the page."""


def said_of() -> dict[str, list[str]]:
    """What the page's table says of each model: cells by name."""
    lines = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    rows = [[cell.strip(" `") for cell in line.split("|")[1:-1]] for line in lines]
    return {row[0]: row[1:] for row in rows if row[0] in shipped_checkpoints()}


def test_the_page_says_of_every_shipped_model_which_formats_it_has():
    """The table has a row for each model of this package, and a cell for either format."""
    said = said_of()
    assert set(said) == set(shipped_checkpoints())
    assert all(len(cells) == 3 and all(cells[:2]) for cells in said.values())


@pytest.mark.long  # some ten seconds each
@pytest.mark.parametrize("name", QUICK)
def test_quick_models_export_in_both_formats(name: str, tmp_path: Path):
    """The program of PyTorch and that of ONNX give the numbers of this library, by the export's own measure."""
    report = export(checkpoint.load(shipped_checkpoints()[name]), tmp_path / name, check_steps=20)
    assert set(report) == {"step.pt2", "step.onnx"} and max(report.values()) < 1e-3


@pytest.mark.slow  # up to a minute each
@pytest.mark.parametrize("name", ["cube-real", "dfki-pendulum"])
def test_models_of_measured_robots_export(name: str, tmp_path: Path):
    """Calibrated mechanics and those behind a transmission are programs, too."""
    export(checkpoint.load(shipped_checkpoints()[name]), tmp_path / name, formats=("torch",), check_steps=20)
