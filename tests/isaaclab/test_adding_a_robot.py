# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""docs/adding-a-robot.md is followed to the letter, in a virtual environment of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.kitless

PAGE = Path("docs/adding-a-robot.md")


def blocks(page: str) -> tuple[dict[str, str], list[str]]:
    """Files that the page shows, by the path in their first line, and the commands it runs."""
    files, commands = {}, []
    for language, text in re.findall(r"^```(\w+)\n(.*?)^```$", page, flags=re.MULTILINE | re.DOTALL):
        if language == "bash":
            commands += text.strip().splitlines()
        else:
            path = re.match(r"# (\S+)\n", text)
            assert path is not None, f"this block does not say which file it is:\n{text}"
            files[path[1]] = text
    return files, commands


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory, repo_root: Path) -> Path:
    """A folder with the files of the page."""
    folder = tmp_path_factory.mktemp("finger")
    for name, text in blocks((repo_root / PAGE).read_text())[0].items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


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


def test_the_page_counts_its_lines(repo_root: Path):
    """The number of lines that the page gives is the number of lines with text in its files."""
    page = (repo_root / PAGE).read_text()
    files, _ = blocks(page)
    lines = [line for text in files.values() for line in text.splitlines() if line.strip()]
    count = sum(not line.startswith("# ") for line in lines)
    assert f"It takes {count} lines." in page


def test_the_page_works_as_it_stands(package: Path, environment: dict[str, str], repo_root: Path):
    """A robot from a package of its own is built, listed, collected, trained and judged by the commands of the page."""
    shown = ""
    for command in blocks((repo_root / PAGE).read_text())[1]:
        run = subprocess.run(
            ["bash", "-c", command], cwd=package, env=environment, capture_output=True, text=True, check=False
        )
        assert run.returncode == 0, f"{command}\n{run.stdout[-2000:]}\n{run.stderr[-4000:]}"
        shown += run.stdout
    assert "finger: as it must be" in shown
    assert "Finger-Up-Play" in shown and "NeRD-Finger-Up" not in shown
    assert (package / "runs" / "finger" / "best").is_dir()
