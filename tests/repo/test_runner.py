# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Tests of tests/run.py, on small suites written for the purpose."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

PASSES = "def test_one():\n    pass\n"
FAILS = "def test_one():\n    assert 1 == 2\n"
SKIPS = "import pytest\n@pytest.mark.slow\ndef test_one():\n    pass\n"
CRASHES = "import os\ndef test_one():\n    os.kill(os.getpid(), 11)\n"
HANGS = "import time\ndef test_one():\n    time.sleep(600)\n"
# Two engines in one process are what the runner exists to prevent: this file fails when another one was there before.
NEEDS_ITS_OWN_PROCESS = """
import sys
def test_one():
    assert "nerd_engine_started" not in sys.modules
    sys.modules["nerd_engine_started"] = sys
"""
# Stands for a module that is slow to import: the Zen of Python, which says so when it is imported.
IMPORTED_BEFORE = """
def test_two():
    assert "this" in sys.modules
"""
STARTS_ANEW = """
import sys, pytest
pytestmark = pytest.mark.fresh
def test_one():
    assert "this" not in sys.modules
"""


# hypothesis alone takes a second to import, and these small suites need none of pytest's plug-ins but this one.
ENVIRONMENT = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_PLUGINS": "pytest_timeout"}


@pytest.fixture
def suite(tmp_path: Path, repo_root: Path) -> Path:
    """Return a repository with the runner, the settings and no tests."""
    for name in ("tests/run.py", "tests/forked.py", "tests/conftest.py", "pyproject.toml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(repo_root / name, tmp_path / name)
    for folder in ("core", "repo", "isaaclab"):
        (tmp_path / "tests" / folder).mkdir()
    for folder in ("core", "repo"):
        (tmp_path / "tests" / folder / "test_base.py").write_text(PASSES)
    return tmp_path


def _run(root: Path, *arguments: str) -> tuple[int, str]:
    command = [sys.executable, str(root / "tests/run.py"), "--no-lint", *arguments]
    run = subprocess.run(command, capture_output=True, text=True, timeout=100, env=ENVIRONMENT)
    return run.returncode, run.stdout + run.stderr


def _add(root: Path, name: str, text: str) -> None:
    (root / "tests" / name).write_text(text)


def test_each_engine_file_has_its_own_process(suite: Path):
    """Files that cannot share a process pass, and the last line sums up all processes."""
    _add(suite, "isaaclab/test_a.py", NEEDS_ITS_OWN_PROCESS)
    _add(suite, "isaaclab/test_b.py", NEEDS_ITS_OWN_PROCESS)
    _add(suite, "isaaclab/test_c.py", SKIPS)
    code, output = _run(suite)
    assert code == 0, output
    assert re.search(r"\n4 passed, 0 failed, 1 skipped in \d+ s\n$", output)
    assert "slowest files" in output and "ask for it with --slow" in output


def test_many_engine_files_are_forked_from_what_was_imported_once(suite: Path):
    """Each of many files has a process of its own, in which the costly module is there already, unless it asks for a
    fresh one; one that the engine takes down, one that hangs and one that fails are told as where each starts anew.
    With --slow each does.
    """
    for name in "abcdefg":
        _add(suite, f"isaaclab/test_{name}.py", NEEDS_ITS_OWN_PROCESS + IMPORTED_BEFORE)
    _add(suite, "isaaclab/test_k.py", STARTS_ANEW)
    for name, text in (("h", CRASHES), ("i", FAILS), ("j", HANGS)):
        _add(suite, f"isaaclab/test_{name}.py", text)
    code, output = _run(suite, "--timeout", "8", "--imported-once", "this,not_installed_anywhere")
    assert code == 1, output
    assert "17 passed, 3 failed" in output and "SIGSEGV" in output and "ended after 8 s" in output
    assert "assert 1 == 2" in output and output.count("The Zen of Python") == 1
    assert output.count("  2 passed, 0 failed, 0 skipped, ") == 7 and " s of the processor" in output
    for name in "hij":
        (suite / "tests" / "isaaclab" / f"test_{name}.py").unlink()
    code, output = _run(suite, "--slow", "tests/isaaclab")
    assert code == 1 and "8 passed, 7 failed" in output


def test_one_failure_fails_the_run(suite: Path):
    """A failed test makes the exit code 1; its output is shown and its file named at the end."""
    _add(suite, "isaaclab/test_a.py", FAILS)
    _add(suite, "isaaclab/test_b.py", PASSES)
    code, output = _run(suite)
    assert code == 1
    assert "3 passed, 1 failed, 0 skipped" in output and "assert 1 == 2" in output
    assert "failed: tests/isaaclab/test_a.py" in output


def test_crash_is_a_failure(suite: Path):
    """A process that the engine takes down counts as failed and says by what it was ended."""
    _add(suite, "isaaclab/test_a.py", CRASHES)
    code, output = _run(suite)
    assert code == 1 and "2 passed, 1 failed" in output and "SIGSEGV" in output


def test_hang_is_a_failure(suite: Path):
    """A process that does not end is ended after its share of time and counts as failed."""
    _add(suite, "isaaclab/test_a.py", HANGS)
    start = time.monotonic()
    code, output = _run(suite, "--timeout", "6")
    assert time.monotonic() - start < 60
    assert code == 1 and "ended after 6 s" in output


def test_only_what_is_asked_for_runs(suite: Path):
    """Paths and -k choose tests; a path that does not exist is an error before anything runs."""
    _add(suite, "isaaclab/test_a.py", FAILS)
    _add(suite, "core/test_more.py", PASSES.replace("one", "two"))
    code, output = _run(suite, "tests/core", "-k", "two")
    assert code == 0 and "1 passed, 0 failed, 0 skipped" in output
    code, output = _run(suite, "tests/core/test_nothing.py")
    assert code == 1 and "there is no tests/core/test_nothing.py" in output and "passed" not in output


def test_file_without_a_test_is_a_failure(suite: Path):
    """A test file in which nothing is found (a renamed function, say) does not pass unseen."""
    _add(suite, "isaaclab/test_a.py", "def check_one():\n    pass\n")
    code, output = _run(suite)
    assert code == 1 and "holds no test" in output


def test_ctrl_c_ends_everything(suite: Path):
    """ctrl-C ends the runner with code 130 and leaves no test process behind."""
    mark = suite / "child.pid"
    _add(suite, "isaaclab/test_a.py", f"import os\nopen({str(mark)!r}, 'w').write(str(os.getpid()))\n" + HANGS)
    command = [sys.executable, str(suite / "tests/run.py"), "--no-lint"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=ENVIRONMENT)
    end = time.monotonic() + 40
    while not (mark.exists() and mark.read_text()):
        assert time.monotonic() < end
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=20)
    assert process.returncode == 130 and "interrupted" in output and "Traceback" not in output
    with pytest.raises(ProcessLookupError):
        os.kill(int(mark.read_text()), 0)


def test_the_files_of_a_folder_are_dealt_whole_and_once(suite: Path):
    """Four processes share the unit tests: each file runs exactly once, and none stays without work."""
    for name in "abcde":
        _add(suite, f"core/test_{name}.py", PASSES.replace("one", name))
    code, output = _run(suite)
    assert code == 0, output
    assert "7 passed, 0 failed" in output
    parts = re.findall(r"tests/core, part (\d) of 4 +[\d.]+ s +(\d) passed", output)
    assert sorted(part for part, _ in parts) == ["1", "2", "3", "4"] and sum(int(count) for _, count in parts) == 6
    assert all(int(count) > 0 for _, count in parts)


@pytest.mark.parametrize(
    ("arguments", "runs"),
    [((), False), (("--tier", "unit"), False), (("--tier", "ci"), True), (("tests/core",), True)],
)
def test_long_tests_belong_to_ci(suite: Path, arguments: tuple[str, ...], runs: bool):
    """What is marked long runs in the tier ci and when its path is asked for, and says elsewhere where it runs."""
    _add(suite, "core/test_more.py", SKIPS.replace("slow", "long"))
    code, output = _run(suite, *arguments)
    assert code == 0, output
    assert ("part of --tier ci" in output) is not runs
