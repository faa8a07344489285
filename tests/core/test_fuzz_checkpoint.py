# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Damaged and hostile checkpoints: always a clear error or a correct load; never a crash, a hang or a memory blow-up.

The loads run in a process of their own under a limit of memory, because that is the only way to see a crash. To repeat
one case by hand::

    PYTHONPATH=tests python tests/core/test_fuzz_checkpoint.py FOLDER COUNT FIRST_SEED
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch

from nerd_core import checkpoint
from nerd_core.checkpoint import CheckpointError
from support.checkpoints import Files, sound_checkpoints
from support.damage import MANIFEST, damaged, write_case

TESTS = Path(__file__).parents[1]

EXTRA_MEMORY = 768 * 2**20
"""Address space [bytes] that the process may take beyond what it has when the libraries are loaded."""

SLOWEST_CASE = 5.0
"""Longest time that one load may take [s], on a busy machine."""

# -- the process that loads ------------------------------------------------------------------------------------


def run(folder: Path, count: int, first_seed: int) -> None:
    """Loads ``count`` spoiled checkpoints and prints what happened as JSON."""
    torch.set_num_threads(1)
    sound = sound_checkpoints(folder)
    for name in sorted(path for path in folder.iterdir()):
        checkpoint.load(name)
    taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (taken + EXTRA_MEMORY, taken + EXTRA_MEMORY))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    outcomes: Counter[str] = Counter()
    problems: list[str] = []
    slowest = 0.0
    for seed in range(first_seed, first_seed + count):
        (folder / "seed").write_text(str(seed))
        files, original, mended = damaged(seed, sound)
        path = folder / "case"
        shutil.rmtree(path, ignore_errors=True)
        write_case(path, files)
        start = time.monotonic()
        try:
            outcome = _load(path)
        except CheckpointError as error:
            outcome = "refused" if 20 < len(str(error)) < 4000 else f"a poor message: {str(error)[:100]}"
        except BaseException as error:  # everything else is what this test looks for
            outcome = f"{type(error).__name__}: {str(error)[:300]}"
        slowest = max(slowest, time.monotonic() - start)
        sound_files = {name: content for name, content in files.items() if name != "card.md"}
        if outcome == "loaded" and not mended and any(sound_files[name] != original.get(name) for name in sound_files):
            # Without mending, only a whole other checkpoint may load.
            outcome = "loaded something else" if not _is_one_of(sound_files, sound) else outcome
        outcomes[outcome] += 1
        if outcome not in ("loaded", "refused"):
            problems.append(f"seed {seed}: {outcome}")
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    print(json.dumps({"outcomes": outcomes, "problems": problems[:20], "slowest": slowest, "grown_mib": grown / 1024}))


def _load(path: Path) -> str:
    """Loads a checkpoint completely and uses it once."""
    predictor = checkpoint.load(path)
    found = checkpoint.read(path)
    if found.has_training_state:
        checkpoint.load_training_state(path)
    weights = predictor.state_dict()
    if any(not torch.equal(weights[name], tensor) for name, tensor in found.tensors.items()):
        return "loaded other numbers than the file holds"
    return "loaded"


def _is_one_of(files: Files, sound: list[Files]) -> bool:
    manifest = json.loads(files[MANIFEST])["files"]
    return all(any(files[name] == other.get(name) for other in sound) for name in manifest)


# -- the tests -------------------------------------------------------------------------------------------------


def fuzz(folder: Path, count: int, first_seed: int) -> dict[str, Any]:
    """Runs the loads in a process of their own and returns what it printed."""
    words = [sys.executable, __file__, str(folder), str(count), str(first_seed)]
    paths = [str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(words, capture_output=True, text=True, env=env, timeout=60 + 0.5 * count)
    seed = (folder / "seed").read_text() if (folder / "seed").exists() else "none"
    assert done.returncode == 0, f"the process died at seed {seed} with {done.returncode}:\n{done.stderr[-2000:]}"
    return json.loads(done.stdout.splitlines()[-1])


def check(report: dict[str, Any], count: int) -> None:
    """The claim: every load ended in a clear error or a correct load, in bounded time and memory."""
    assert not report["problems"], "\n".join(report["problems"])
    assert sum(report["outcomes"].values()) == count
    assert report["outcomes"]["refused"] > 0.6 * count
    assert report["outcomes"].get("loaded", 0) > 0
    assert report["slowest"] < SLOWEST_CASE
    assert report["grown_mib"] < 512


def test_damaged_checkpoints_are_refused_or_load_correctly(tmp_path):
    """Two hundred spoiled checkpoints: no crash, no hang, no memory blow-up, no other exception than ours."""
    check(fuzz(tmp_path, 200, first_seed=1), 200)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_thousands_of_damaged_checkpoints(tmp_path):
    """The same over 5,000 others."""
    check(fuzz(tmp_path, 5000, first_seed=10_000), 5000)


if __name__ == "__main__":
    run(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
