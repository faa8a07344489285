# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The built wheels, not only the editable install: they hold every file, and work where they are installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

PACKAGES = {"nerd_core": "source/nerd_core", "nerd_isaaclab": "exts/nerd_isaaclab"}
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input"]


@pytest.fixture(scope="module")
def wheels(repo_root: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Build both wheels from copies of the sources (setuptools leaves a build folder beside them)."""
    built = {}
    for name, folder in PACKAGES.items():
        place = tmp_path_factory.mktemp(name)
        ignored = shutil.ignore_patterns("build", "*.egg-info", "__pycache__")
        shutil.copytree(repo_root / folder, place / "source", ignore=ignored)
        command = [*PIP, "wheel", "--no-deps", "--no-build-isolation", "-w", str(place), str(place / "source")]
        run = subprocess.run(command, capture_output=True, text=True)
        assert run.returncode == 0, run.stderr[-3000:]
        (built[name],) = place.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheels: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install both wheels, without what they depend on, into an empty folder."""
    target = tmp_path_factory.mktemp("installed")
    command = [*PIP, "install", "--quiet", "--no-deps", "--no-index", "--target", str(target)]
    run = subprocess.run([*command, *map(str, wheels.values())], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr[-3000:]
    return target


@pytest.mark.parametrize("name", PACKAGES)
def test_wheel_holds_every_file(wheels: dict[str, Path], name: str):
    """Each file of the package's tree (sub-packages, USD, JSON, ...) is in the wheel, and nothing but the tree is."""
    source = wheels[name].parent / "source"
    tree = {
        str(path.relative_to(source))
        for path in (source / name).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".pyc"
    }
    with zipfile.ZipFile(wheels[name]) as wheel:
        packed = {item for item in wheel.namelist() if ".dist-info/" not in item}
    assert packed == tree


def _python(installed: Path, code: str) -> subprocess.CompletedProcess[str]:
    # The wheels come first on the path, so they win over the editable install that the tests run in.
    environment = os.environ | {"PYTHONPATH": str(installed), "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, cwd=installed, timeout=120
    )


def test_installed_wheels_register_the_tasks(installed: Path):
    """The entry point of the installed wheel registers our tasks, without starting a simulator."""
    run = _python(
        installed,
        "import importlib.metadata, sys, gymnasium, nerd_core\n"
        "points = importlib.metadata.entry_points(group='isaaclab.tasks', name='nerd_isaaclab')\n"
        "module = next(iter(points)).load()\n"
        f"assert module.__file__.startswith({str(installed)!r}), module.__file__\n"
        f"assert nerd_core.__file__.startswith({str(installed)!r}), nerd_core.__file__\n"
        "assert 'ovphysx' not in sys.modules and 'omni' not in sys.modules\n"
        "print(*sorted(name for name in gymnasium.registry if name.startswith('NeRD-')))\n",
    )
    assert run.returncode == 0, run.stderr[-3000:]
    assert {"NeRD-Cartpole", "NeRD-Cartpole-Play", "NeRD-Ant-Run", "NeRD-Ant-Run-Play"} <= set(run.stdout.split())


def test_every_entry_point_of_the_wheels_exists(installed: Path):
    """Each word of `nerd` and each plug-in that the wheels announce leads to something that can be used."""
    run = _python(
        installed,
        "import importlib.metadata\n"
        "seen = 0\n"
        f"for found in importlib.metadata.distributions(path=[{str(installed)!r}]):\n"
        "    for point in found.entry_points:\n"
        "        thing = point.load()\n"
        "        seen += 1\n"
        "        usable = thing.is_dir() if point.attr == 'FOLDER' else callable(getattr(thing, 'run', thing))\n"
        "        assert usable or not point.attr, point\n"
        "print(seen)\n",
    )
    assert run.returncode == 0, run.stderr[-3000:]
    assert int(run.stdout.split()[-1]) >= 3


def test_neither_wheel_asks_for_another_torch_or_isaaclab(wheels: dict[str, Path]):
    """Installing into an Isaac Lab environment keeps its torch and Isaac Lab: neither is asked for by exact version."""
    for wheel in wheels.values():
        with zipfile.ZipFile(wheel) as archive:
            (name,) = [item for item in archive.namelist() if item.endswith(".dist-info/METADATA")]
            metadata = archive.read(name).decode()
        for line in metadata.splitlines():
            if line.startswith("Requires-Dist:") and "extra ==" not in line:
                requirement = line.partition(":")[2].strip()
                assert not requirement.startswith("isaaclab"), requirement
                assert not (requirement.startswith("torch") and "==" in requirement), requirement
