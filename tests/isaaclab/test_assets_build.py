# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Building the assets: the same bytes everywhere, nothing done twice, nothing half done, clear words on failure."""

from __future__ import annotations

import importlib.metadata
import json
import time
from pathlib import Path

import pytest

from nerd_isaaclab.assets import build as building
from nerd_isaaclab.assets import cli
from nerd_isaaclab.assets.build import build, expected_hashes, file_hash, is_current, versions
from nerd_isaaclab.assets.catalogue import all_assets, find
from nerd_isaaclab.assets.readback import measure, problems

pytestmark = pytest.mark.unit


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all assets built."""
    folder = tmp_path_factory.mktemp("assets")
    assert {outcome.state for outcome in build(folder=folder)} == {"built"}
    return folder


def test_same_bytes_in_another_folder(folder: Path, tmp_path: Path):
    """Two builds in different folders give the same files, and those of the committed table."""
    build(folder=tmp_path)
    for asset in all_assets():
        assert file_hash(tmp_path / asset.path) == file_hash(folder / asset.path), asset.name
        if expected_hashes()[asset.name]["versions"] == versions(asset):
            assert file_hash(folder / asset.path) == expected_hashes()[asset.name]["sha256"], asset.name


def test_table_of_hashes_is_complete():
    """The committed table has exactly the assets of the catalogue."""
    assert list(expected_hashes()) == [asset.name for asset in all_assets()]


@pytest.mark.parametrize("asset", all_assets(), ids=lambda asset: asset.name)
def test_assets_pass_their_check(folder: Path, asset):
    """Source and licence recorded, no ground and no physics scene brought, masses possible, joint frames meet."""
    assert problems(asset, folder) == []


def test_nothing_is_built_twice(folder: Path):
    """A second build leaves every file alone and takes less than 0.3 s; --force writes again."""
    before = {asset.name: (folder / asset.path).stat().st_mtime_ns for asset in all_assets()}
    started = time.perf_counter()
    assert {outcome.state for outcome in build(folder=folder)} == {"kept"}
    assert time.perf_counter() - started < 0.3
    assert {asset.name: (folder / asset.path).stat().st_mtime_ns for asset in all_assets()} == before
    assert [outcome.state for outcome in build(["cube"], folder, force=True)] == ["built"]
    assert (folder / find("cube").path).stat().st_mtime_ns != before["cube"]


@pytest.mark.parametrize("damage", ["deleted", "other sources", "broken stamp"])
def test_what_is_missing_or_stale_is_rebuilt(tmp_path: Path, damage: str):
    """A deleted file, a file made from other sources and an unreadable stamp all lead to a rebuild."""
    build(["cube", "ant"], tmp_path)
    stamp = tmp_path / building.STAMP
    if damage == "deleted":
        (tmp_path / find("cube").path).unlink()
    elif damage == "other sources":
        content = json.loads(stamp.read_text())
        content["cube"]["key"] = "0" * 64
        stamp.write_text(json.dumps(content))
    else:
        stamp.write_text("{")
    assert not is_current(find("cube"), tmp_path)
    states = {outcome.asset.name: outcome.state for outcome in build(["cube", "ant"], tmp_path)}
    assert states == {"cube": "built", "ant": "built" if damage == "broken stamp" else "kept"}


def test_interrupted_write_leaves_nothing_broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Ctrl-C while a file is written leaves the old file whole and no temporary one behind."""
    build(["cube"], tmp_path)
    path = tmp_path / find("cube").path
    before = path.read_bytes()

    def interrupt(*args: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "rename", interrupt)
    with pytest.raises(KeyboardInterrupt):
        build(["cube"], tmp_path, force=True)
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_missing_source_package_spares_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Without example-robot-data its robots are reported with the command that installs it; the others are built."""
    real = importlib.metadata.distribution

    def distribution(name: str) -> importlib.metadata.Distribution:
        if name == "example-robot-data":
            raise importlib.metadata.PackageNotFoundError(name)
        return real(name)

    monkeypatch.setattr(importlib.metadata, "distribution", distribution)
    outcomes = {outcome.asset.name: outcome for outcome in build(["franka", "cube"], tmp_path)}
    assert outcomes["cube"].state == "built"
    assert outcomes["franka"].state == "failed"
    assert "pip install 'nerd-isaaclab[assets]'" in outcomes["franka"].reason


def test_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """`build`, `list` and `check` work on the folder of NERD_ASSETS_DIR; a wrong name lists the right ones."""
    monkeypatch.setenv("NERD_ASSETS_DIR", str(tmp_path))
    assert cli.main(["check", "cube"]) == 1
    assert "run `nerd assets build cube`" in capsys.readouterr().out
    assert cli.main(["build", "cube"]) == 0
    assert (tmp_path / find("cube").path).is_file()
    assert cli.main(["build", "cube", "--quiet"]) == 0
    capsys.readouterr()
    assert cli.main(["check", "cube"]) == 0
    assert cli.main(["list"]) == 0
    shown = capsys.readouterr().out
    assert "0.37" in shown and "not built" in shown
    with pytest.raises(ValueError, match="ant, anymal_c"):
        cli.main(["build", "kube"])


def test_a_changed_file_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """`check` sees a file that was edited by hand, and a ground or a physics scene in it."""
    build(["cube"], tmp_path)
    path = tmp_path / find("cube").path
    path.write_text(path.read_text() + '\ndef PhysicsScene "scene"\n{\n}\n')
    found = " ".join(problems(find("cube"), tmp_path))
    assert "hashes to" in found and "/scene" in found


def test_robots_have_the_papers_collision_shapes(folder: Path):
    """Ant: a ball and 12 capsules (25 contact slots); ANYmal: 5 capsules and 4 balls (14), none on hip or shank."""
    ant = measure(folder / find("ant").path)
    kinds = [kind for body in ant.bodies.values() for kind in body.colliders]
    assert (kinds.count("Sphere"), kinds.count("Capsule"), len(kinds)) == (1, 12, 13)
    anymal = measure(folder / find("anymal_c").path)
    shapes = {name: body.colliders for name, body in anymal.bodies.items() if body.colliders}
    legs = ("LF", "RF", "LH", "RH")
    assert shapes == {
        "base": ("Capsule",),
        **{f"{leg}_THIGH": ("Capsule",) for leg in legs},
        **{f"{leg}_FOOT": ("Sphere",) for leg in legs},
    }


def test_table_of_the_manual_is_current(
    repo_root: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """The table in docs/assets.md is what `nerd assets list --markdown` prints."""
    if any(expected_hashes()[asset.name]["versions"] != versions(asset) for asset in all_assets()):
        pytest.skip("other versions of the source packages are installed than the table is for")
    monkeypatch.setenv("NERD_ASSETS_DIR", str(folder))
    cli.main(["list", "--markdown"])
    assert capsys.readouterr().out in (repo_root / "docs" / "assets.md").read_text()
