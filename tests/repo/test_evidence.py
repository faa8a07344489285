# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Every file of docs/evidence is there for somebody: a page names it, or a table is made of it."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

NAMED = re.compile(r"[\w*{},-]+\.(?:json|md)")
"""A name of a file in a page or a program, perhaps a pattern: ``ablations_*.json``."""


def test_every_file_of_the_evidence_is_referred_to(repo_root: Path, monkeypatch: pytest.MonkeyPatch):
    """A number that no page and no table shows is not evidence of anything: it is named, or it goes."""
    monkeypatch.syspath_prepend(str(repo_root / "benchmarks"))
    table, asked = importlib.import_module("paper_table"), set()
    read = table.Evidence.read

    def note(self, name, is_expected=True):
        asked.add(f"{name}.json")
        return read(self, name, is_expected)

    monkeypatch.setattr(table.Evidence, "read", note)
    table.page(repo_root / "docs" / "evidence")
    pages = [repo_root / "README.md", *(repo_root / "docs").glob("*.md"), *(repo_root / "policies").rglob("*.md")]
    pages += (repo_root / "exts").rglob("card.md")
    named = {name for page in pages for name in NAMED.findall(page.read_text(encoding="utf-8"))}
    files = sorted((repo_root / "docs" / "evidence").iterdir())
    unnamed = [file.name for file in files if file.name not in asked and not any(map(file.match, named))]
    assert files and not unnamed, f"nobody refers to {unnamed}"


def test_every_file_of_the_evidence_that_is_referred_to_is_there(repo_root: Path):
    """A link into the evidence leads somewhere."""
    links = {
        (page.name, link)
        for page in (repo_root / "docs").glob("*.md")
        for link in re.findall(r"\]\((evidence/[\w./-]+)\)", page.read_text(encoding="utf-8"))
    }
    assert len(links) > 20
    missing = [f"{page}: {link}" for page, link in links if not (repo_root / "docs" / link).is_file()]
    assert not missing, f"got links to nothing: {missing}"
