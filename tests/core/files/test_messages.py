# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What is told of an error."""

from __future__ import annotations

import pytest

from nerd_core.files.messages import CACHE_ADVICE, explain, first_line


@pytest.mark.parametrize("place", ["/house/me", "/house/me/.cache", "/house/me/.cache/warp/1.2"])
def test_a_home_that_cannot_be_written_names_the_variable_that_helps(place: str, monkeypatch):
    """The folder of caches, those above it and those in it: the message ends with what to set."""
    monkeypatch.setenv("HOME", "/house/me")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    said = explain(OSError(30, "Read-only file system", place))
    assert said == f"[Errno 30] Read-only file system: '{place}' ({CACHE_ADVICE})"
    assert "XDG_CACHE_HOME" in first_line(OSError(13, "Permission denied", place))


def test_a_home_that_cannot_be_made_names_the_variable_that_helps(monkeypatch):
    """Where homes are mounted on demand, making one fails as if a folder above it were missing."""
    monkeypatch.setenv("HOME", "/house/me")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert CACHE_ADVICE in explain(FileNotFoundError(2, "No such file or directory", "/house/me"))


def test_other_errors_say_what_they_say(monkeypatch):
    """Files of the user's, errors that are none of the system, and errors without words."""
    monkeypatch.setenv("HOME", "/house/me")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert CACHE_ADVICE not in explain(OSError(13, "Permission denied", "/house/me/x.json"))
    assert CACHE_ADVICE not in explain(FileNotFoundError(2, "No such file", "/house/me/.cache/x"))
    assert explain(ValueError("wrong")) == "wrong" and explain(KeyError()) == "KeyError"
    assert first_line(ValueError("one\ntwo")) == "one"
