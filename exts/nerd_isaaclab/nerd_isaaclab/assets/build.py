# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Building: write what is missing or was made by other sources, leave the rest alone.

The folder is ``$NERD_ASSETS_DIR``, or ``$XDG_CACHE_HOME/nerd_isaaclab/assets`` (``~/.cache/...``). Beside the assets
stands ``stamp.json`` with, for each, the key of the sources it was made from and the hash of what was written. The key
covers the text of the asset's own module and of the modules that write USD, and the versions of the distributions it
reads, so a pull or an upgrade rebuilds what it changed and nothing else.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import inspect
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from nerd_core.files.atomic import write_text

from ..usd import usda
from ..usd.asset import Asset, assets_dir
from .catalogue import all_assets, own_assets

STAMP = "stamp.json"
"""File in the asset folder that says what was built from what."""
EXPECTED = Path(__file__).with_name("hashes.json")
"""The committed table of what every file must hash to."""


def source_key(asset: Asset) -> str:
    """Return a hash of everything an asset is made from: its module, what writes it, versions of packages."""
    digest = hashlib.sha256(_writer_digest())
    digest.update(Path(inspect.getfile(asset.build)).read_bytes())
    digest.update(repr((asset.name, asset.path, asset.build.__qualname__, versions(asset))).encode())
    return digest.hexdigest()


def file_hash(path: Path) -> str:
    """Return the SHA-256 of a file, in hex."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def versions(asset: Asset) -> dict[str, str]:
    """Return the installed versions of the distributions an asset is made from."""
    return {package: _version(package) for package in asset.packages}


def expected_hashes() -> dict[str, dict[str, Any]]:
    """Return the committed table: asset name to the ``sha256`` of its file and the ``versions`` it holds for."""
    return json.loads(EXPECTED.read_text())


def write_expected_hashes() -> None:
    """Make what was built the committed table; for developers, after a builder was changed on purpose."""
    table = {asset.name: {"sha256": file_hash(asset.file), "versions": versions(asset)} for asset in own_assets()}
    write_text(EXPECTED, json.dumps(table, indent=2) + "\n")


@dataclass(frozen=True)
class Outcome:
    """What happened to one asset."""

    asset: Asset
    state: Literal["kept", "built", "failed"]
    """Whether it was up to date, was written, or could not be made."""
    reason: str = ""
    """Why it could not be made, and what to do."""


def is_current(asset: Asset, folder: Path | None = None) -> bool:
    """Return whether the file is there and was made from today's sources."""
    folder = folder or assets_dir()
    entry = _read_stamp(folder).get(asset.name)
    return entry is not None and entry["key"] == source_key(asset) and (folder / asset.path).is_file()


def stale() -> list[str]:
    """Return the names of assets that are there but were made from other sources than those installed."""
    return [asset.name for asset in all_assets() if asset.file.is_file() and not is_current(asset)]


def build(names: Iterable[str] = (), folder: Path | None = None, force: bool = False) -> list[Outcome]:
    """Write assets that are missing or out of date.

    A file appears whole or not at all, so an interrupted build leaves nothing broken; one asset that cannot be made
    (its source package is not installed) does not keep the others from being made.

    Args:
        names: Names of assets; none: all.
        folder: Where to; ``None``: :func:`assets_dir`.
        force: Whether to write also what is up to date.
    """
    folder = folder or assets_dir()
    wanted = set(names)
    stamp = _read_stamp(folder)
    outcomes = []
    for asset in all_assets():
        if wanted and asset.name not in wanted:
            continue
        path = folder / asset.path
        key = source_key(asset)
        if not force and path.is_file() and stamp.get(asset.name, {}).get("key") == key:
            outcomes.append(Outcome(asset, "kept"))
            continue
        try:
            content = asset.text()
        except ImportError as error:
            outcomes.append(Outcome(asset, "failed", str(error)))
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, content, many_writers=True)
        stamp[asset.name] = {"key": key, "sha256": hashlib.sha256(content.encode()).hexdigest()}
        # after each, so that ctrl-C between two assets loses neither
        write_text(folder / STAMP, json.dumps(stamp, indent=2, sort_keys=True) + "\n", many_writers=True)
        outcomes.append(Outcome(asset, "built"))
    return outcomes


def _read_stamp(folder: Path) -> dict[str, dict[str, str]]:
    """Return what the folder's stamp says; a stamp that cannot be read says nothing."""
    try:
        return json.loads((folder / STAMP).read_text())
    except (OSError, ValueError):
        return {}


@functools.cache
def _writer_digest() -> bytes:
    """Return a hash of the text of the modules that turn a robot into a file."""
    digest = hashlib.sha256()
    for path in sorted(Path(usda.__file__).parent.glob("*.py")):
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return digest.digest()


def _version(package: str) -> str:
    """Return the installed version of a distribution, or that there is none."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "missing"
