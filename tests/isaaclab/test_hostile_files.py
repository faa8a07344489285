# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Files of every format that may come from somebody else: opened, or refused in a sentence. Needs no engine.

The files are opened in a process of their own under a limit of memory, because that is the only way to see a crash.
:mod:`support.hostile_files` makes them, and says how to repeat one by hand.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support import hostile_files

pytestmark = pytest.mark.unit

TESTS = Path(__file__).parents[1]

SLOWEST_CASE = 5.0
"""Longest processor time that opening one folder may take [s]."""

GROWTH = 1024.0
"""Most memory that the process may grow by [MiB]."""


def open_hostile_files(folder: Path, count: int, first_seed: int) -> dict[str, Any]:
    """Opens hostile files in a process of their own and returns what it printed."""
    words = [sys.executable, hostile_files.__file__, str(folder), str(count), str(first_seed)]
    paths = [str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(words, capture_output=True, text=True, env=env, timeout=120 + count)
    seed = (folder / "seed").read_text() if (folder / "seed").exists() else "none"
    assert done.returncode == 0, f"the process died at seed {seed} with {done.returncode}:\n{done.stderr[-2000:]}"
    return json.loads(done.stdout.splitlines()[-1])


def check(found: dict[str, Any], count: int) -> None:
    """The claim: no crash, no traceback, nothing that steers a terminal, in bounded time and memory."""
    assert not found["problems"], "\n".join(found["problems"])
    assert sum(sum(outcomes.values()) for outcomes in found["outcomes"].values()) == count
    for name, outcomes in found["outcomes"].items():
        assert outcomes["refused"] > 0.3 * sum(outcomes.values()), name
    assert max(found["slowest"].values()) < SLOWEST_CASE
    assert found["grown_mib"] < GROWTH


def test_hostile_files_are_opened_or_refused(tmp_path):
    """A hundred hostile folders: checkpoints, training states, policies, logs of RSL-RL, dumps, results, step costs."""
    check(open_hostile_files(tmp_path, 102, first_seed=0), 102)


@pytest.mark.slow(reason="3,000 hostile folders take minutes")
@pytest.mark.timeout(3600)
def test_thousands_of_hostile_files(tmp_path):
    """The same over 3,000 others."""
    check(open_hostile_files(tmp_path, 3000, first_seed=1000), 3000)
