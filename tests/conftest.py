# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Markers of the test suite: set by folder, skipped by what the machine and the command line offer.

========================  ============  ===================================================
folder                    marker        runs
========================  ============  ===================================================
``tests/core``, ``repo``  ``unit``      always, in a few processes
``tests/isaaclab``        ``kitless``   always, one process a file (the engine starts once)
any                       ``gpu``       with ``--gpu``
any                       ``isaacsim``  with ``--isaacsim``
any                       ``long``      with ``--long``, as the tier ci does
any                       ``slow``      with ``--slow``
========================  ============  ===================================================

Where many files of the engine run, their processes are forked from one that has imported Isaac Lab; a file that looks
at what an import does marks itself ``pytestmark = pytest.mark.fresh`` and starts from nothing.

A file in ``tests/isaaclab`` that needs no engine marks itself ``pytestmark = pytest.mark.unit``. What several test
files share stands in ``tests/support`` and is imported as ``from support.<module> import ...``.
"""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

# A shell starts what runs in its background with ctrl-C ignored, and every process below inherits that. Tests that
# interrupt a program need the usual answer to it, wherever the tests themselves were started.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = Path(__file__).resolve().parents[1]
_MARKER_OF_FOLDER = {"core": "unit", "repo": "unit", "isaaclab": "kitless"}
_OPT_IN = {
    "gpu": "needs an NVIDIA GPU: ask for it with --gpu",
    "isaacsim": "needs Isaac Sim (Kit): ask for it with --isaacsim",
    "long": "takes longer than half a minute: part of --tier ci",
    "slow": "takes minutes: ask for it with --slow",
}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add one switch for each tier that does not run by itself."""
    for name, reason in _OPT_IN.items():
        parser.addoption(f"--{name}", action="store_true", help=f"also run tests marked {name} ({reason})")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark tests by their folder and skip the tiers nobody asked for."""
    for item in items:
        path = Path(str(item.path))
        folder = path.relative_to(ROOT / "tests").parts[0] if path.is_relative_to(ROOT / "tests") else ""
        marker = _MARKER_OF_FOLDER.get(folder)
        own = {mark.name for mark in item.iter_markers()}
        if marker is not None and not own & {"unit", "kitless", "isaacsim"}:
            item.add_marker(marker)
        for name, reason in _OPT_IN.items():
            if name in own and not config.getoption(f"--{name}"):
                item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session")
def repo_root() -> Path:
    """Return the root folder of the repository."""
    return ROOT
