# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The package that docs/bring-your-own-robot.md writes, taken from the page: its files, and the commands it runs."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "bring-your-own-robot.md"


def blocks(page: str) -> tuple[dict[str, str], list[str]]:
    """Files that a page shows, by the path in their first line, and the commands it runs.

    Args:
        page: Text of the page, in Markdown.
    """
    files, commands = {}, []
    for language, text in re.findall(r"^```(\w+)\n(.*?)^```$", page, flags=re.MULTILINE | re.DOTALL):
        if language == "bash":
            commands += text.strip().splitlines()
        else:
            path = re.match(r"# (\S+)\n", text)
            assert path is not None, f"this block does not say which file it is:\n{text}"
            files[path[1]] = text
    return files, commands


def write_files(folder: Path) -> Path:
    """Writes the files of the page into a folder, and gives it back."""
    for name, text in blocks(PAGE.read_text(encoding="utf-8"))[0].items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def write_package(folder: Path) -> Path:
    """Writes the package as ``pip`` leaves one behind: its files and its metadata. Gives the folder back.

    Args:
        folder: Where to. Put it on ``sys.path``, and its robot and its task are found by their entry points.
    """
    project = tomllib.loads((write_files(folder) / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    metadata = folder / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    metadata.mkdir(exist_ok=True)
    head = f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    (metadata / "METADATA").write_text(head, encoding="utf-8")
    lines = []
    for group, points in project["entry-points"].items():
        lines += [f"[{group}]", *(f"{name} = {target}" for name, target in points.items()), ""]
    (metadata / "entry_points.txt").write_text("\n".join(lines), encoding="utf-8")
    return folder


__all__ = ["PAGE", "blocks", "write_files", "write_package"]
