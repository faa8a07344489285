# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The registry of robots: found by themselves, complete, cheap to import, open to other packages."""

from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path

import pytest

import nerd_isaaclab.robots
from nerd_isaaclab.collect.initial_states import InitialStateError
from nerd_isaaclab.collect.robot_ranges import ranges_of
from nerd_isaaclab.launch.task_ids import find_tasks
from nerd_isaaclab.robots import registry
from nerd_isaaclab.robots.record import RobotRecord
from nerd_isaaclab.robots.registry import all_robots, find_robot, own_robots, robot_of_spec

pytestmark = pytest.mark.unit


def test_each_file_is_a_robot():
    """Every file of the package but the three that are no robots is found, under its own name."""
    folder = Path(nerd_isaaclab.robots.__path__[0])
    files = {path.stem for path in folder.glob("*.py")} - {"__init__", "record", "registry", "spawn"}
    assert [robot.name for robot in own_robots()] == sorted(files)


def test_names_in_specifications_are_those_of_the_files():
    """What datasets and checkpoints call a robot leads to its record."""
    expected = {"cartpole": "cartpole", "ant_instanceable": "ant", "franka_panda": "franka", "anymal_c": "anymal_c"}
    for spec_name, name in expected.items():
        record = robot_of_spec(spec_name)
        assert record is not None and record.name == name
    assert robot_of_spec("nobody") is None


def test_unknown_robots_name_the_known_ones():
    """A wrong name is answered with the right ones."""
    with pytest.raises(ValueError, match="'dog', expected one of ant, anymal_c, cartpole"):
        find_robot("dog")


@pytest.mark.parametrize("robot", own_robots(), ids=lambda robot: robot.name)
def test_records_hold_what_exists(robot: RobotRecord):
    """Ranges of first states have names and shapes that the collector knows; tasks are registered."""
    ranges = ranges_of(robot.spec_name, {})
    for name, value in robot.first_states.items():
        assert getattr(ranges, name) == value
    tasks = {task.id for task in find_tasks()}
    assert robot.default_task is None or robot.default_task in tasks
    assert robot.published is None or set(robot.published.returns) <= tasks


def test_registry_imports_neither_isaac_lab_nor_torch():
    """Command lines may ask the registry for names without waiting."""
    code = (
        "import sys; from nerd_isaaclab.robots.registry import all_robots; all_robots();"
        "from nerd_isaaclab.assets import catalogue; catalogue.all_assets();"
        "print([name for name in ('torch', 'isaaclab', 'pxr', 'numpy', 'warp') if name in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Returns a function that installs a package with one robot, given the text of its module."""

    def install(text: str) -> None:
        (tmp_path / "their_robots.py").write_text(text)
        metadata = tmp_path / "their_robots-0.1.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: their-robots\nVersion: 0.1\n")
        (metadata / "entry_points.txt").write_text("[nerd_isaaclab.robots]\ntheirs = their_robots:ROBOT\n")
        registry.all_robots.cache_clear()

    monkeypatch.syspath_prepend(str(tmp_path))
    yield install
    sys.modules.pop("their_robots", None)
    monkeypatch.undo()
    registry.all_robots.cache_clear()


def test_other_packages_add_robots(installed):
    """An installed package adds a robot by an entry point; its ranges hold, and a wrong one is named."""
    installed(
        "from nerd_isaaclab.robots.record import RobotRecord\n"
        "ROBOT = RobotRecord('theirs', articulation=dict, spec_name='their_file', first_states={'slide': 0.5})\n"
    )
    assert find_robot("theirs").spec_name == "their_file"
    assert ranges_of("their_file", {}).slide == 0.5
    find_robot("theirs").first_states["glide"] = 1.0  # type: ignore[index]
    with pytest.raises(InitialStateError, match="'theirs'.*glide.*root_height"):
        ranges_of("their_file", {})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("raise RuntimeError('broken')", "broken"),
        ("ROBOT = 1", "expected a RobotRecord"),
        ("from nerd_isaaclab.robots.ant import ROBOT", "there is one of that name"),
    ],
)
def test_a_broken_package_spares_the_others(installed, caplog: pytest.LogCaptureFixture, text: str, said: str):
    """A package whose robot cannot be had, is no robot, or takes a name that is in use is left out with a warning."""
    installed(text + "\n")
    with caplog.at_level(logging.WARNING):
        assert all_robots() == own_robots()
    assert said in caplog.text


def test_a_record_needs_a_name_in_specifications():
    """A robot without an asset of ours says what its specification is called."""
    with pytest.raises(ValueError, match="neither an asset nor a spec_name"):
        RobotRecord("theirs", articulation=dict)  # type: ignore[arg-type]
