# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""nerd_core lives without any simulator: it is imported here with all of them out of reach."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

BLOCKED = ("isaaclab", "isaacsim", "omni", "carb", "pxr", "warp", "newton", "ovphysx", "ovstage", "nerd_isaaclab")

IMPORT_ALL = f"""
import importlib, importlib.abc, pkgutil, sys

class Blocker(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if top in {BLOCKED!r} or top.startswith("isaaclab_"):
            raise ImportError(f"nerd_core must not import {{name}}")

sys.meta_path.insert(0, Blocker())
import nerd_core
names = [module.name for module in pkgutil.walk_packages(nerd_core.__path__, "nerd_core.")]
for name in names:
    if not name.endswith("__main__") and not name.startswith("nerd_core.mechanics.kernel."):
        importlib.import_module(name)
taken = sorted(name for name in sys.modules if name.partition(".")[0] in {BLOCKED!r})
assert not taken, taken
print(len(names))
"""


def test_nerd_core_imports_without_a_simulator(repo_root: Path):
    """Every module of nerd_core can be imported when Isaac Lab, Omniverse, USD, Warp and Newton cannot, but for the
    kernels in ``mechanics.kernel``, which the rest does without.
    """
    # TORCH_DEVICE_BACKEND_AUTOLOAD=0: torch itself loads plug-ins of other packages, our extension's among them.
    environment = {"PATH": "/usr/bin:/bin", "TORCH_DEVICE_BACKEND_AUTOLOAD": "0", "OMP_NUM_THREADS": "1"}
    run = subprocess.run([sys.executable, "-c", IMPORT_ALL], capture_output=True, text=True, env=environment)
    assert run.returncode == 0, run.stderr
    files = [path for path in (repo_root / "source/nerd_core/nerd_core").rglob("*.py") if path.name != "__init__.py"]
    assert int(run.stdout) >= len(files)


@pytest.mark.parametrize(
    ("module", "line", "allowed"),
    [
        ("nerd_core/robot/stray.py", "import warp", False),
        ("nerd_core/robot/stray.py", "import nerd_isaaclab.tasks", False),
        ("nerd_core/robot/stray.py", "import scipy", True),
        ("nerd_core/stray.py", "import math", False),
        ("nerd_core/robot/spec.py", "from .. import training", False),
        ("nerd_isaaclab/envs/stray.py", "import omni.ui", False),
        ("nerd_isaaclab/stray/stray.py", "import math", False),
        ("nerd_isaaclab/envs/stray.py", "from ..tasks import derived", False),
        ("nerd_isaaclab/recorders/stray.py", "from ..collect.collect_cfg import CollectCfg", False),
        ("nerd_isaaclab/ui/stray.py", "from ..envs.nerd_env_cfg import NerdCfg", False),
        ("nerd_isaaclab/collect/stray.py", "from ..programs import generate", False),
        ("nerd_isaaclab/collect/stray.py", "from ..policies.load import load_policy", True),
        ("nerd_isaaclab/ui/stray.py", "import omni.ui", True),
    ],
)
def test_import_contracts_catch_a_stray_import(repo_root: Path, tmp_path: Path, module: str, line: str, allowed: bool):
    """The contracts in pyproject.toml hold as they are, and each kind of forbidden import breaks them."""
    shutil.copy(repo_root / "pyproject.toml", tmp_path)
    for package in ("source/nerd_core/nerd_core", "exts/nerd_isaaclab/nerd_isaaclab"):
        target = tmp_path / Path(package).name
        shutil.copytree(repo_root / package, target, ignore=shutil.ignore_patterns("__pycache__"))
    stray = tmp_path / module
    stray.parent.mkdir(exist_ok=True)
    (stray.parent / "__init__.py").touch()
    with stray.open("a") as file:
        file.write(f"\n{line}\n")
    # lint-imports looks for the packages in the working folder first, so it sees the copies.
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert (run.returncode == 0) is allowed, run.stdout
