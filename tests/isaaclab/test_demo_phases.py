# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Phases survive interruptions; commands get ctrl-C once and leave nothing behind. No engine."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from nerd_isaaclab.demo.commands import Commands
from nerd_isaaclab.demo.phases import Phase, PhaseError, lock_folder, remove_phases, run_phases

pytestmark = pytest.mark.unit


class Example:
    """Four phases that note when they run, the second interrupted as often as asked for."""

    def __init__(self, out: Path, interruptions: int = 0):
        self.out, self.ran, self.left = out, [], interruptions

    def phases(self, **settings) -> list[Phase]:
        """The phases, with settings by name."""
        needs = {"one": (), "two": ("one",), "aside": (), "three": ("two",)}
        return [
            Phase(
                name, name, "a test", 1.0, settings.get(name, 0), lambda folder, _, n=name: self.work(n, folder), used
            )
            for name, used in needs.items()
        ]

    def work(self, name: str, folder: Path) -> dict:
        """Notes the phase and what an earlier attempt has left in its folder."""
        self.ran.append(name)
        earlier = sorted(path.name for path in folder.glob("half*"))
        (folder / f"half{len(self.ran)}").touch()
        if name == "two" and self.left:
            self.left -= 1
            raise KeyboardInterrupt
        return {"earlier": earlier}

    def run(self, **settings) -> dict:
        """Runs them."""
        return run_phases(self.phases(**settings), self.out, Console(file=io.StringIO()))


def test_interrupted_run_goes_on_at_the_phase(tmp_path: Path):
    """After an interruption finished phases are not run again, and the broken one finds what it had left."""
    example = Example(tmp_path, interruptions=2)
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            example.run()
    results = example.run()
    assert example.ran == ["one", "two", "two", "two", "aside", "three"]
    assert results["two"]["earlier"] == ["half2", "half3"]
    example.run()
    assert len(example.ran) == 6


def test_other_settings_run_the_phase_and_all_that_need_it(tmp_path: Path):
    """A changed setting makes its phase and those that need it run again, without the old content, and no other."""
    example = Example(tmp_path)
    example.run()
    results = example.run(two=1)
    assert example.ran == ["one", "two", "aside", "three", "two", "three"]
    assert results["two"]["earlier"] == []


def test_damaged_result_counts_as_not_done(tmp_path: Path):
    """A result that is cut short is not believed."""
    example = Example(tmp_path)
    example.run()
    path = tmp_path / "three" / "result.json"
    path.write_text(path.read_text()[:7])
    example.run()
    assert example.ran == ["one", "two", "aside", "three", "three"]


def test_forgotten_phases_start_over(tmp_path: Path):
    """What the user asked to remove_phases is done again, and nothing else in the folder is touched."""
    example = Example(tmp_path)
    example.run()
    (tmp_path / "mine.txt").touch()
    remove_phases(example.phases(), tmp_path)
    example.run()
    assert example.ran == ["one", "two", "aside", "three"] * 2 and (tmp_path / "mine.txt").exists()


def test_failure_is_not_a_result(tmp_path: Path):
    """A phase that fails is run again next time."""
    example = Example(tmp_path)
    broken = [replace(phase, run=lambda folder, results: 1 / 0) for phase in example.phases()[:1]]
    with pytest.raises(ZeroDivisionError):
        run_phases(broken, tmp_path, Console(file=io.StringIO()))
    example.run()
    assert example.ran == ["one", "two", "aside", "three"]


def test_folder_is_used_by_one_run_and_its_commands(tmp_path: Path):
    """A second run is refused, also while a command of a killed one lives; afterwards the folder is free."""
    with lock_folder(tmp_path) as lock:
        with pytest.raises(PhaseError, match="in use"), lock_folder(tmp_path):
            pass
        orphan = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], pass_fds=(lock,))
    try:
        with pytest.raises(PhaseError, match="in use"), lock_folder(tmp_path):
            pass
    finally:
        orphan.kill()
        orphan.wait()
    with lock_folder(tmp_path):
        pass


def test_failed_command_shows_the_end_of_its_log(tmp_path: Path):
    """A command that fails names itself, with paths as the user gave them, and the end of its log."""
    log = tmp_path / "log.txt"
    with pytest.raises(PhaseError, match=r"(?s)nerd data inspect.*code 2.*nerd data"):
        Commands(tmp_path).nerd(["data", "inspect", str(tmp_path / "nothing")], threads=1, log=log)


DRIVER = """
import sys
from pathlib import Path
import nerd_isaaclab.demo.commands as commands
worker = "import signal,sys,time,pathlib\\n" \\
    "def stop(*_): pathlib.Path(sys.argv[1], 'got').open('a').write('x')\\n" \\
    "signal.signal(signal.SIGINT, stop); pathlib.Path(sys.argv[1], 'ready').touch(); time.sleep(1.5)\\n" \\
    "pathlib.Path(sys.argv[1], 'ended').touch()"
real = commands.subprocess.Popen
commands.subprocess.Popen = lambda words, **rest: real([sys.executable, "-c", worker, sys.argv[1]], **rest)
try:
    commands.Commands(Path(sys.argv[1])).nerd(["train"], threads=1)
except KeyboardInterrupt:
    sys.exit(130)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_reaches_the_command_once_and_is_waited_for(number: int, tmp_path: Path):
    """The command hears of it exactly once, even if the whole group got it, and may finish saving before we end."""
    driver = subprocess.Popen([sys.executable, "-c", DRIVER, str(tmp_path)], start_new_session=True)
    deadline = time.monotonic() + 60
    while not (tmp_path / "ready").exists():
        assert time.monotonic() < deadline and driver.poll() is None
        time.sleep(0.05)
    os.killpg(driver.pid, number)
    assert driver.wait(timeout=60) == 130
    assert (tmp_path / "ended").exists() and (tmp_path / "got").read_text() == "x"
