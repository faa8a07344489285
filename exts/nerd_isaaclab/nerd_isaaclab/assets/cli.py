# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""``nerd assets build | list | check``: make the robots and grounds, show them, look them over."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from typing import Annotated

import tyro

from ..usd.asset import assets_dir
from .build import build, file_hash, is_current, write_expected_hashes
from .catalogue import all_assets, find


@dataclass
class Build:
    """Write what is missing or out of date."""

    names: Annotated[tuple[str, ...], tyro.conf.Positional] = ()
    """Assets to build; by default all."""
    force: bool = False
    """Write also what is up to date."""
    quiet: bool = False
    """Say nothing when there was nothing to do."""


@dataclass
class List:
    """Show every asset, its source, licence and size."""

    markdown: bool = False
    """As the table of docs/assets.md."""


@dataclass
class Check:
    """Compare every file with what it must contain."""

    names: Annotated[tuple[str, ...], tyro.conf.Positional] = ()
    """Assets to check; by default all."""
    accept: bool = False
    """Developers: make the present files the ones expected."""


def main(argv: list[str] | None = None) -> int:
    """Build, list and check robots and grounds as USD, from their sources.

    Args:
        argv: Words after ``nerd assets``; ``None``: those of the process.

    Returns:
        0 if all went well, 1 if an asset could not be built or did not pass.
    """
    commands = (
        Annotated[Build, tyro.conf.subcommand("build")]
        | Annotated[List, tyro.conf.subcommand("list")]
        | Annotated[Check, tyro.conf.subcommand("check")]
    )
    args = tyro.cli(
        commands,  # type: ignore[arg-type]
        args=argv,
        prog="nerd assets",
        description="Robots and grounds as USD, built from sources into one folder (NERD_ASSETS_DIR chooses another).",
    )
    for name in getattr(args, "names", ()):
        find(name)
    if isinstance(args, Build):
        return _build(args)
    if isinstance(args, List):
        return _list(args)
    return _check(args)


def _build(args: Build) -> int:
    """Build, and say what was done."""
    started = time.perf_counter()
    outcomes = build(list(args.names), force=args.force)
    failed = [outcome for outcome in outcomes if outcome.state == "failed"]
    built = [outcome for outcome in outcomes if outcome.state == "built"]
    for outcome in built:
        print(f"built {outcome.asset.name}: {outcome.asset.file}")
    if built or not args.quiet:
        kept = len(outcomes) - len(built) - len(failed)
        print(f"{len(built)} built, {kept} up to date in {assets_dir()} ({time.perf_counter() - started:.1f} s)")
    for outcome in failed:
        print(f"could not build {outcome.asset.name}: {outcome.reason}", file=sys.stderr)
    return 1 if failed else 0


def _list(args: List) -> int:
    """Show the table."""
    rows = table()
    if args.markdown:
        rows.insert(1, ("---",) * len(rows[0]))
        for row in rows:
            print(f"| {' | '.join(row)} |")
        return 0
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    print(f"\nin {assets_dir()}")
    return 0


def table() -> list[tuple[str, ...]]:
    """Return the rows of the table of assets, the head first."""
    from .readback import measure  # needs pxr

    rows = [("name", "bodies", "joints", "mass [kg]", "licence", "sha256", "file", "source")]
    for asset in all_assets():
        path = asset.file
        numbers, note = ("-", "-", "-"), "not built"
        if path.is_file():
            found = measure(path)
            note = file_hash(path)[:12] + ("" if is_current(asset) else " (out of date)")
            if found.bodies:
                numbers = (str(len(found.bodies)), str(len(found.joints)), f"{found.mass:.4g}")
        rows.append((asset.name, *numbers, asset.licence, note, asset.path, asset.source))
    return rows


def _check(args: Check) -> int:
    """Look every file over and say what is wrong."""
    from .readback import problems  # needs pxr

    if args.accept:
        write_expected_hashes()
    failed = 0
    for asset in all_assets():
        if args.names and asset.name not in args.names:
            continue
        found = problems(asset)
        print(f"{asset.name}: {'; '.join(found) or 'as it must be'}")
        failed += bool(found)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
