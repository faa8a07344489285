# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Files that are either whole or not there."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
from pathlib import Path

import pytest

from nerd_core.files.atomic import (
    previous,
    recover_directory,
    replace_directory,
    replace_file,
    write_bytes,
    write_files,
    write_json,
    write_text,
)
from nerd_core.files.safe_files import parse_json


def test_what_is_written_is_there_and_nothing_else(tmp_path):
    """Each function leaves exactly its file, with its content, over an older one too."""
    for _ in range(2):
        write_bytes(tmp_path / "a", b"1")
        write_text(tmp_path / "b", "ä\n", many_writers=True)
        write_json(tmp_path / "c.json", {"x": [1, None]})
        write_files((tmp_path / name, name.encode()) for name in ("d", "e"))
    assert sorted(os.listdir(tmp_path)) == ["a", "b", "c.json", "d", "e"]
    assert (tmp_path / "a").read_bytes() == b"1" and (tmp_path / "b").read_bytes() == "ä\n".encode()
    assert parse_json((tmp_path / "c.json").read_bytes(), "c.json") == {"x": [1, None]}
    assert (tmp_path / "d").read_bytes() + (tmp_path / "e").read_bytes() == b"de"


@pytest.mark.parametrize("many_writers", [False, True])
def test_a_failed_write_keeps_the_old_file(tmp_path, many_writers):
    """An error half-way leaves the old content and no other file; so do values that JSON does not have."""
    write_json(tmp_path / "a", {"old": 1}, many_writers=many_writers)
    with pytest.raises(KeyboardInterrupt), replace_file(tmp_path / "a", many_writers=many_writers) as waiting:
        waiting.write_text("half")
        raise KeyboardInterrupt
    with pytest.raises(ValueError, match="JSON"):
        write_json(tmp_path / "a", float("nan"), many_writers=many_writers)
    assert os.listdir(tmp_path) == ["a"]
    assert parse_json((tmp_path / "a").read_bytes(), "a") == {"old": 1}


def test_files_of_one_call_get_their_names_only_when_all_are_written(tmp_path):
    """If the second of two contents cannot be made, the first file keeps its old content."""
    write_bytes(tmp_path / "a", b"old")

    def contents():
        yield tmp_path / "a", b"new"
        raise RuntimeError

    with pytest.raises(RuntimeError):
        write_files(contents())
    assert (tmp_path / "a").read_bytes() == b"old"


@pytest.mark.parametrize("renamed", [0, 1, 2])
def test_a_directory_is_whole_after_a_kill_between_two_renames(renamed, tmp_path, monkeypatch):
    """Recovered, it has the old content or the new one under its own name, and nothing else is left but unwritten."""
    with replace_directory(tmp_path / "a") as folder:
        (folder / "content").write_text("old")
    usual, calls = Path.rename, []

    def killed(self, target):
        calls.append(target)
        if len(calls) > renamed:
            raise KeyboardInterrupt
        return usual(self, target)

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(Path, "rename", killed)
        patched.setattr(shutil, "rmtree", lambda *_, **__: None)  # a killed writer tidies nothing
        with replace_directory(tmp_path / "a") as folder:
            (folder / "content").write_text("new")
        raise KeyboardInterrupt
    recover_directory(tmp_path / "a")
    assert (tmp_path / "a" / "content").read_text() == ("new" if renamed == 2 else "old")
    assert not previous(tmp_path / "a").exists()
    recover_directory(tmp_path / "none")


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_several_writers_do_not_mix(tmp_path):
    """Four processes write one file again and again: every content that is read is one of theirs, whole."""
    path = tmp_path / "a"
    contents = [bytes([number]) * 100_000 for number in range(4)]
    write_bytes(path, contents[0])
    children = []
    for content in contents:
        child = os.fork()
        if child == 0:
            with contextlib.suppress(BaseException):
                while True:
                    write_bytes(Path(path), content, many_writers=True)
            os._exit(1)
        children.append(child)
    try:
        found = {path.read_bytes() for _ in range(300)}
    finally:
        for child in children:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
    assert found <= set(contents)
