# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""docs/bring-your-own-robot.md is followed to the letter, in a virtual environment of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from nerd_core.checkpoint import read_config
from support.documented_package import PAGE, blocks, write_files

pytestmark = [pytest.mark.kitless, pytest.mark.long, pytest.mark.timeout(900)]

LONG = ("nerd rl", "nerd transfer")
"""Beginnings of the commands that belong to the long part."""


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files of the page."""
    return write_files(tmp_path_factory.mktemp("solo12"))


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Variables of a shell in a fresh virtual environment that has all packages of this one."""
    root = tmp_path_factory.mktemp("venv")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(root)], check=True)
    found = next((root / "lib").glob("python*")) / "site-packages"
    (found / "outer.pth").write_text("\n".join(path for path in sys.path if path and Path(path).is_dir()) + "\n")
    for command, module in (("nerd", "nerd_core"), ("pip", "pip")):
        (root / "bin" / command).write_text(f'#!/bin/sh\nexec "{root}/bin/python" -m {module} "$@"\n')
        (root / "bin" / command).chmod(0o755)
    path = f"{root / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "PIP_NO_INDEX": "1", "NERD_ASSETS_DIR": str(root / "assets")}


def test_the_page_counts_its_lines():
    """The number of lines that the page gives is the number of lines with text in its files."""
    page = PAGE.read_text()
    files, _ = blocks(page)
    lines = [line for text in files.values() for line in text.splitlines() if line.strip()]
    count = sum(not line.startswith("# ") for line in lines)
    assert f"It takes {count} lines." in page


def follow(package: Path, environment: dict[str, str], commands: list[str]) -> str:
    """What the commands print, each of which has to end with zero."""
    shown = ""
    for command in commands:
        run = subprocess.run(
            ["bash", "-c", command], cwd=package, env=environment, capture_output=True, text=True, check=False
        )
        assert run.returncode == 0, f"{command}\n{run.stdout[-2000:]}\n{run.stderr[-4000:]}"
        shown += run.stdout
    return shown


@pytest.fixture(scope="module")
def commands() -> list[str]:
    """The commands of the page, in order."""
    return blocks(PAGE.read_text())[1]


@pytest.fixture(scope="module")
def model(package: Path, environment: dict[str, str], commands: list[str]) -> str:
    """What the commands up to a model and its errors have printed."""
    return follow(package, environment, [each for each in commands if not each.startswith(LONG)])


def test_the_page_works_up_to_a_model(model: str, package: Path):
    """A robot from a package of its own is built, listed, examined, collected, trained and judged by the commands of
    the page; doctor says what the page says it does, and the model has what doctor asked for.
    """
    assert "solo12: as it must be" in model
    assert "Solo12-Walk-Play" in model and "NeRD-Solo12" not in model
    assert "1 warnings, 0 obstacles" in model
    told = re.search(r"^```\n(warning .*?)\n", PAGE.read_text(), flags=re.MULTILINE)
    assert told is not None and " ".join(told[1].split()) in " ".join(model.split())
    prior = read_config(package / "runs" / "solo12" / "best").predictor.prior
    assert prior is not None and prior.kind == "mechanics"


@pytest.mark.slow
def test_the_page_works_up_to_a_judged_policy(
    model: str, package: Path, environment: dict[str, str], commands: list[str]
):
    """A policy is trained in that model and judged in both by the commands of the page, contact terms included."""
    shown = follow(package, environment, [each for each in commands if each.startswith(LONG)])
    assert "Episode_Termination/base_contact" in shown and "reward of feet_air_time" in shown
    assert "reward gap, neural against physx" in shown
