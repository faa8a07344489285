# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""A network and a prior of another package, those of the page in docs: found by their entry points and used."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[2]

PAGE = TESTS.parent / "docs" / "adding-a-network-or-prior.md"
PACKAGE = "\n\n".join(re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL))
"""The network and the prior of the page that explains how to add them, as one module."""

TRAIN = """
import sys, torch
from nerd_core import checkpoint
from nerd_core.cli.train import parse
from nerd_core.network.config import NetworkCfg
from nerd_core.predictor.predictor import Predictor
from nerd_core.predictor.prior import PriorCfg
from nerd_core.training.config import TrainCfg
from nerd_core.training.run import train
from support.testbed_cartpole import SPEC, make_data

words = ["--network", "wave", "--network.d-inner", "2048", "--prior", "slow_down", "--prior.rate", "0.2"]
cfg = parse(["data", "--out", "run", *words]).predictor
assert cfg.network == NetworkCfg.kinds.settings("wave")()
assert cfg.prior == PriorCfg.kinds.settings("slow_down")(rate=0.2)
predictor = Predictor(SPEC, cfg)
before = [param.detach().clone() for param in predictor.network.parameters()]
train(predictor, make_data(20, 12, seed=0), None, TrainCfg(updates=2, batch_size=32), quiet=True)
assert all(not torch.equal(old, new) for old, new in zip(before, predictor.network.parameters()))
checkpoint.save(sys.argv[1], predictor)
"""

LOAD = """
import sys
from nerd_core import checkpoint
predictor = checkpoint.load(sys.argv[1])
print(predictor.cfg.network, predictor.cfg.prior, type(predictor.network).__module__)
"""


@pytest.fixture
def installed(tmp_path) -> Path:
    """A folder as pip leaves it: the package, and the record of what it declares."""
    site = tmp_path / "site"
    info = site / "foreign_dynamics-1.0.dist-info"
    info.mkdir(parents=True)
    (site / "foreign_dynamics.py").write_text(PACKAGE)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: foreign-dynamics\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[nerd_core.networks]\nwave = foreign_dynamics:WaveCfg\n"
        "[nerd_core.priors]\nslow_down = foreign_dynamics:SlowDownCfg\n"
    )
    return site


def run(code: str, *words: str, paths: tuple[Path, ...] = ()) -> subprocess.CompletedProcess[str]:
    """Runs a program in a process of its own, with more folders to import from."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (*paths, TESTS))), "OMP_NUM_THREADS": "1"}
    return subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, env=env, timeout=200)


def test_network_and_prior_of_another_package(installed, tmp_path):
    """Both are trained for two updates, saved and loaded; a size in a field of a name of its own (d_inner=2048) is no
    obstacle. Without the package the checkpoint is refused, with the kind, the known ones, and what to install.
    """
    trained = run(TRAIN, str(tmp_path / "model"), paths=(installed,))
    assert trained.returncode == 0, trained.stderr[-2000:]
    loaded = run(LOAD, str(tmp_path / "model"), paths=(installed,))
    assert loaded.returncode == 0, loaded.stderr[-2000:]
    assert "d_inner=2048" in loaded.stdout and "rate=0.2" in loaded.stdout and "foreign_dynamics" in loaded.stdout
    without = run(LOAD, str(tmp_path / "model"))
    assert without.returncode != 0
    for words in ("network kind 'wave'", "built in are ['mlp', 'recurrent', 'residual', 'transformer']", "install"):
        assert words in without.stderr
    assert "nerd_core.networks" in without.stderr


def test_only_the_entry_point_of_that_name_is_imported(installed, tmp_path):
    """A package is imported when a file names its kind, and not before: others are not touched by a lookup."""
    (installed / "foreign_dynamics.py").write_text("raise RuntimeError('imported')\n")
    code = "from nerd_core.network.config import NetworkCfg\nNetworkCfg.kinds.settings({!r})"
    other, named = run(code.format("mlp"), paths=(installed,)), run(code.format("wave"), paths=(installed,))
    unknown = run(code.format("waves"), paths=(installed,))
    assert other.returncode == 0, other.stderr
    assert "cannot be imported: RuntimeError: imported" in named.stderr
    assert "installed packages bring ['wave']" in unknown.stderr and "RuntimeError" not in unknown.stderr
