# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Places for output are looked at before the work, and left as they are."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from nerd_core.files.outputs import PICTURES, UnwritableOutput, require_file, require_folder


def test_what_can_be_written_passes_and_nothing_is_made(tmp_path: Path, monkeypatch):
    """New files and folders, those that are there, and None; not even a folder is left behind."""
    (tmp_path / "there.json").write_text("{}")
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    for file in (None, "there.json", "new.json", tmp_path / "a/b/new.json"):
        require_file(file, "--json")
    for folder in (None, ".", "new", tmp_path / "a/b"):
        require_folder(folder, "--out")
    require_file("x.PNG", "--plot", PICTURES)
    assert sorted(tmp_path.rglob("*")) == before


def test_what_cannot_be_written_is_named(tmp_path: Path):
    """A folder for a file, a file for a folder, and an ending that no picture has: each with what was expected."""
    (tmp_path / "file").write_text("mine")
    with pytest.raises(UnwritableOutput, match=r"got --json .*, which is a folder: expected a file"):
        require_file(tmp_path, "--json")
    with pytest.raises(UnwritableOutput, match=r"got --json .*file/x.json, but '.*file' is no folder"):
        require_file(tmp_path / "file/x.json", "--json")
    with pytest.raises(UnwritableOutput, match=r"got --out .*file, but '.*file' is no folder"):
        require_folder(tmp_path / "file", "--out")
    with pytest.raises(UnwritableOutput, match=r"got --plot x.txt, expected a name that ends with .png, .svg, .pdf"):
        require_file("x.txt", "--plot", PICTURES)
    assert (tmp_path / "file").read_text() == "mine"


def test_a_place_that_refuses_says_why(tmp_path: Path, monkeypatch):
    """What the system says of the nearest folder that is there is in the message."""

    def refuse(dir: Path) -> None:
        assert dir == tmp_path
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)
    with pytest.raises(UnwritableOutput, match=r"nothing can be written in '.*' \(Read-only file system\)"):
        require_folder(tmp_path / "a/b", "--out")
