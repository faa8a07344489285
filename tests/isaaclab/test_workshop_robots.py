# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Two robots of a package that knows nothing of this repository are described as they are: one engine each."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

from nerd_core.cli import main as nerd
from support.workshop_robots import TASKS, write_package

pytestmark = pytest.mark.kitless

DESCRIBE = """
import sys
from pathlib import Path
from support.seam import make_env
env = make_env(sys.argv[1], 4)
env.reset()
Path(sys.argv[2]).write_text(env.robot_spec.to_json())
env.close()
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the installed package."""
    return write_package(tmp_path_factory.mktemp("site"))


def spec_of(robot: str, site: Path, repo_root: Path):
    """The specification that a robot's derived task gives, made in a process of its own."""
    from nerd_core.robot.spec import RobotSpec

    out = site / f"{robot}.json"
    path = os.pathsep.join([str(site), str(repo_root / "tests"), os.environ.get("PYTHONPATH", "")])
    run = subprocess.run(
        [sys.executable, "-c", DESCRIBE, TASKS[robot], str(out)],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
    )
    assert out.exists(), run.stderr[-2000:]
    return RobotSpec.from_json(out.read_text())


def test_tasks_are_listed(site: Path, monkeypatch: pytest.MonkeyPatch, capsys):
    """The derived tasks stand in the list, which reads the package's sources."""
    monkeypatch.syspath_prepend(str(site))
    assert nerd(["list-envs", "--keyword", "Workshop"]) == 0
    listed = capsys.readouterr().out
    assert all(task in listed for task in TASKS.values())


def test_rails_and_pistons_are_sliding_joints(site: Path, repo_root: Path):
    """The planar robot: a fixed root, an endless rail and one with limits, free of drives; hips and pistons led by
    position drives with the limits of the file.
    """
    spec = spec_of("stilts", site, repo_root)
    joints = {joint.name: joint for joint in spec.joints}
    assert not spec.floating_base
    assert joints["rail_x"].kind == joints["rail_z"].kind == joints["front_piston"].kind == "prismatic"
    assert math.isinf(joints["rail_x"].upper) and (joints["rail_z"].lower, joints["rail_z"].upper) == (0.0, 3.0)
    assert joints["rail_x"].stiffness == 0.0 and joints["back_piston"].stiffness == 3000.0
    assert joints["back_piston"].velocity_limit == pytest.approx(1.5)
    assert {control.joint for control in spec.controls} == {"front_hip", "back_hip", "front_piston", "back_piston"}
    assert sum(slot.body.endswith("_foot") for slot in spec.slots) == 2


@pytest.mark.long  # a process that imports everything; rails and pistons are its twin
def test_fingers_are_free_of_each_other(site: Path, repo_root: Path):
    """The arm: six position drives, and no finger follows the other."""
    spec = spec_of("gripper", site, repo_root)
    assert [control.kind for control in spec.controls] == ["position"] * 6
    assert all(joint.mimic is None for joint in spec.joints)
    fingers = [joint for joint in spec.joints if joint.name.startswith("finger")]
    assert [(joint.upper, joint.effort_limit) for joint in fingers] == [pytest.approx((0.04, 30.0))] * 2
