# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Planted faults in the code that judges, see ``tests/mutations/faults.py``: tests of the fast tier notice each.

``./nerd test --slow tests/repo/test_mutations.py`` plants one after the other, some five seconds each. All are
noticed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mutations.fault import Fault
from mutations.faults import FAULTS
from mutations.places import EXTENSION, LIBRARY

NAMES = [f"{number:02d} {fault.right.strip()[:40]}" for number, fault in enumerate(FAULTS)]
TESTS_FAILED = 1  # exit code of pytest


def test_every_fault_can_still_be_planted(repo_root: Path):
    """The right text of each fault stands in its file exactly once, the wrong one makes a file that Python can read,
    and the tests named exist. Whoever changes such a line changes the list with it.
    """
    wrong = []
    for fault in FAULTS:
        text = (repo_root / fault.file).read_text(encoding="utf-8")
        file, _, test = fault.test.partition("[")[0].partition("::")  # without the case of a test that has several
        if text.count(fault.right) != 1:
            wrong.append(f"{fault.file}: '{fault.right}' stands there {text.count(fault.right)} times")
        elif f"def {test}" not in (repo_root / file).read_text(encoding="utf-8"):
            wrong.append(f"{file}: there is no {test}")
        else:
            compile(text.replace(fault.right, fault.wrong), fault.file, "exec")
    assert not wrong, "\n".join(wrong)


@pytest.fixture(scope="module")
def house(repo_root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of both packages."""
    folder = tmp_path_factory.mktemp("house")
    for package in (EXTENSION, LIBRARY):
        shutil.copytree(repo_root / package, folder / package, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def run_tests(house: Path, repo_root: Path, test: str) -> subprocess.CompletedProcess[str]:
    """Runs tests with the packages of the copy."""
    places = [str((house / package).parent) for package in (LIBRARY, EXTENSION)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(places), "PYTHONDONTWRITEBYTECODE": "1"}
    words = [sys.executable, "-m", "pytest", "-q", "-x", "--no-header", "--tb=line", test]
    return subprocess.run(
        words, cwd=repo_root, env=environment, capture_output=True, text=True, timeout=240, check=False
    )


@pytest.mark.slow
@pytest.mark.parametrize("test", sorted({fault.test for fault in FAULTS}))
def test_without_a_fault_the_tests_pass(test: str, house: Path, repo_root: Path):
    """In the unchanged copy the tests pass, and it is the copy that they test."""
    ran = run_tests(house, repo_root, test)
    assert ran.returncode == 0, ran.stdout
    package = "nerd_isaaclab" if "isaaclab" in test else "nerd_core"
    broken = house / (EXTENSION if package == "nerd_isaaclab" else LIBRARY) / "__init__.py"
    whole = broken.read_text(encoding="utf-8")
    try:
        broken.write_text("raise ImportError('the copy')\n", encoding="utf-8")
        assert "the copy" in run_tests(house, repo_root, test).stdout
    finally:
        broken.write_text(whole, encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS, ids=NAMES)
def test_a_planted_fault_is_noticed(fault: Fault, house: Path, repo_root: Path):
    """With the fault in a copy of the packages, the tests named for it fail."""
    file = house / fault.file
    whole = file.read_text(encoding="utf-8")
    try:
        file.write_text(whole.replace(fault.right, fault.wrong), encoding="utf-8")
        ran = run_tests(house, repo_root, fault.test)
    finally:
        file.write_text(whole, encoding="utf-8")
    assert ran.returncode == TESTS_FAILED, f"'{fault.wrong}' in {fault.file} went unnoticed:\n{ran.stdout}"
    assert " failed" in ran.stdout
