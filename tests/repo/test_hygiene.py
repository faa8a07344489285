# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Rules that every tracked file keeps: licence header, no trace of one machine, size, living links, one version."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

HEADER = ("Copyright (c) 2026, The nerd_isaaclab developers.", "SPDX-License-Identifier: BSD-3-Clause")
CODE = {".py", ".pyi", ".sh", ".toml", ".yaml", ".yml", ".cff"}
CODE_NAMES = {"nerd", "run", ".dockerignore"}
LARGEST_BYTES = 12 * 1024 * 1024
# Folders of the machine that something was written on, and its names. Written in pieces, so that this file passes too.
LOCAL_TRACES = re.compile(
    r"(?<![\w.])/(?:wo" r"rk|ro" r"ot|ho" r"me/(?!(?:nerd|me)\b)\w+|Us" r"ers)/|file:" r"///(?!path)"
)


def _files(root: Path) -> list[Path]:
    """List what git tracks, and what it would if asked: everything not ignored."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=root, capture_output=True, text=True)
    if listed.returncode != 0:
        pytest.skip("not a git checkout")
    return [path for name in listed.stdout.split("\0") if name and (path := root / name).is_file()]


def _text(path: Path) -> str | None:
    """Return the text of a file, or None when it is binary."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return None


def test_licence_header(repo_root: Path):
    """Every program and setting starts with the copyright and licence lines."""
    bare = []
    for path in _files(repo_root):
        if path.suffix in CODE or path.name in CODE_NAMES or path.name.startswith("Dockerfile"):
            head = "\n".join((_text(path) or "").splitlines()[:6])
            if not all(line in head for line in HEADER):
                bare.append(str(path.relative_to(repo_root)))
    assert not bare, f"without the licence header of {HEADER}: {bare}"


def test_no_local_paths(repo_root: Path):
    """No tracked text names folders of the machine it was written on."""
    found = []
    for path in _files(repo_root):
        for number, line in enumerate((_text(path) or "").splitlines(), start=1):
            if LOCAL_TRACES.search(line):
                found.append(f"{path.relative_to(repo_root)}:{number}: {line.strip()[:100]}")
    assert not found, "local paths:\n" + "\n".join(found)


def test_no_large_files(repo_root: Path):
    """No file is larger than 12 MB: whoever clones this gets a few tens of megabytes."""
    large = {str(p.relative_to(repo_root)): p.stat().st_size for p in _files(repo_root)}
    assert not [name for name, size in large.items() if size > LARGEST_BYTES]


def _anchors(page: str) -> set[str]:
    """Return the anchors that GitHub gives the headings of a Markdown page."""
    titles = re.findall(r"^#+ +(.+?) *$", re.sub(r"```.*?```", "", page, flags=re.S), flags=re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_links_of_documents_resolve(repo_root: Path):
    """Every link of a Markdown or HTML page to a file of the repository, or to a heading, leads somewhere."""
    broken = []
    for path in _files(repo_root):
        if path.suffix != ".md":
            continue
        page = re.sub(r"```.*?```", "", _text(path) or "", flags=re.S)
        links = re.findall(r"\]\(([^)\s]+)(?: +\"[^\"]*\")?\)", page) + re.findall(r"(?:src|href)=\"([^\"]+)\"", page)
        for link in links:
            if re.match(r"[a-z]+:", link):
                continue
            name, _, anchor = link.partition("#")
            target = (path.parent / name).resolve() if name else path
            if not target.exists():
                broken.append(f"{path.relative_to(repo_root)} -> {link}")
            elif anchor and target.suffix == ".md" and anchor not in _anchors(_text(target) or ""):
                broken.append(f"{path.relative_to(repo_root)} -> {link} (no such heading)")
    assert not broken, f"dead links: {broken}"


def test_versions_agree(repo_root: Path):
    """All seven places that state the version of the project state the same one."""
    extension = repo_root / "exts/nerd_isaaclab"

    def init_version(path: Path) -> str:
        found = re.search(r'^__version__ = "(.+)"$', path.read_text(), flags=re.M)
        assert found, f"{path} has no __version__"
        return found[1]

    newest = re.search(r"^(\d+\.\d+\.\d+) \(", (extension / "docs/CHANGELOG.rst").read_text(), flags=re.M)
    versions = {
        "nerd_core pyproject": _toml(repo_root / "source/nerd_core/pyproject.toml")["project"]["version"],
        "nerd_core": init_version(repo_root / "source/nerd_core/nerd_core/__init__.py"),
        "nerd_isaaclab pyproject": _toml(extension / "pyproject.toml")["project"]["version"],
        "nerd_isaaclab": init_version(extension / "nerd_isaaclab/__init__.py"),
        "extension.toml": _toml(extension / "config/extension.toml")["package"]["version"],
        "CHANGELOG": newest[1] if newest else None,
        "CITATION": str(yaml.safe_load((repo_root / "CITATION.cff").read_text())["version"]),
    }
    assert len(set(versions.values())) == 1, versions


def test_extension_points_at_files_that_exist(repo_root: Path):
    """What extension.toml names (pages, modules) is there, so that Kit can load the extension."""
    extension = repo_root / "exts/nerd_isaaclab"
    settings = _toml(extension / "config/extension.toml")
    for key in ("readme", "changelog"):
        assert (extension / settings["package"][key]).is_file(), key
    for module in settings["python"]["module"]:
        place = extension / module["name"].replace(".", "/")
        assert place.with_suffix(".py").is_file() or (place / "__init__.py").is_file(), module["name"]


def test_pins_cover_what_is_asked_for(repo_root: Path):
    """Every distribution that our two packages ask for has exactly one pinned version in constraints.txt."""
    lines = (repo_root / "constraints.txt").read_text().splitlines()
    pins = [_canonical(line.partition("==")[0]) for line in lines if line and not line.startswith("#")]
    assert len(pins) == len(set(pins)), sorted(name for name in pins if pins.count(name) > 1)
    asked = set()
    for file in ("source/nerd_core/pyproject.toml", "exts/nerd_isaaclab/pyproject.toml"):
        project = _toml(repo_root / file)["project"]
        extras = project.get("optional-dependencies", {})
        for requirement in project["dependencies"] + [item for extra in extras.values() for item in extra]:
            asked.add(_canonical(re.split(r"[\[<>=!~ ;]", requirement)[0]))
    assert asked - {"nerd-core"} <= set(pins), f"without a pin: {sorted(asked - {'nerd-core'} - set(pins))}"


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name.strip()).lower()


def _toml(path: Path) -> dict:
    return tomllib.loads(path.read_text(encoding="utf-8"))
