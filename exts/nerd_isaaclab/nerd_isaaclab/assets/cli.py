# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""``nerd assets build | list | check``: make the robots and grounds, show them, look them over."""

from __future__ import annotations

import argparse
import sys
import time

from .build import assets_dir, build, file_hash, is_current, write_expected_hashes
from .catalogue import ASSETS, find


def main(argv: list[str] | None = None) -> int:
    """Build, list and check robots and grounds as USD, from their sources.

    Args:
        argv: Words after ``nerd assets``; ``None``: those of the process.

    Returns:
        0 if all went well, 1 if an asset could not be built or did not pass.
    """
    parser = argparse.ArgumentParser(
        prog="nerd assets",
        description="Robots and grounds as USD, built from sources into one folder (NERD_ASSETS_DIR chooses another).",
    )
    commands = parser.add_subparsers(dest="command", required=True)
    building = commands.add_parser("build", help="write what is missing or out of date")
    building.add_argument("names", nargs="*", metavar="NAME", help="assets to build (default: all)")
    building.add_argument("--force", action="store_true", help="write also what is up to date")
    building.add_argument("--quiet", action="store_true", help="say nothing when there was nothing to do")
    building.set_defaults(run=_build)
    listing = commands.add_parser("list", help="show every asset, its source, licence and size")
    listing.add_argument("--markdown", action="store_true", help="as the table of docs/assets.md")
    listing.set_defaults(run=_list)
    checking = commands.add_parser("check", help="compare every file with what it must contain")
    checking.add_argument("names", nargs="*", metavar="NAME", help="assets to check (default: all)")
    checking.add_argument("--accept", action="store_true", help="developers: make the present files the ones expected")
    checking.set_defaults(run=_check)
    arguments = parser.parse_args(argv)
    for name in getattr(arguments, "names", []):
        find(name)
    return arguments.run(arguments)


def _build(arguments: argparse.Namespace) -> int:
    """Build, and say what was done."""
    started = time.perf_counter()
    outcomes = build(arguments.names, force=arguments.force)
    failed = [outcome for outcome in outcomes if outcome.state == "failed"]
    built = [outcome for outcome in outcomes if outcome.state == "built"]
    for outcome in built:
        print(f"built {outcome.asset.name}: {assets_dir() / outcome.asset.path}")
    if built or not arguments.quiet:
        kept = len(outcomes) - len(built) - len(failed)
        print(f"{len(built)} built, {kept} up to date in {assets_dir()} ({time.perf_counter() - started:.1f} s)")
    for outcome in failed:
        print(f"could not build {outcome.asset.name}: {outcome.reason}", file=sys.stderr)
    return 1 if failed else 0


def _list(arguments: argparse.Namespace) -> int:
    """Show the table."""
    rows = table()
    if arguments.markdown:
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
    for asset in ASSETS:
        path = assets_dir() / asset.path
        numbers, note = ("-", "-", "-"), "not built"
        if path.is_file():
            found = measure(path)
            note = file_hash(path)[:12] + ("" if is_current(asset) else " (out of date)")
            if found.bodies:
                numbers = (str(len(found.bodies)), str(len(found.joints)), f"{found.mass:.4g}")
        rows.append((asset.name, *numbers, asset.licence, note, asset.path, asset.source))
    return rows


def _check(arguments: argparse.Namespace) -> int:
    """Look every file over and say what is wrong."""
    from .readback import problems  # needs pxr

    if arguments.accept:
        write_expected_hashes()
    failed = 0
    for asset in ASSETS:
        if arguments.names and asset.name not in arguments.names:
            continue
        found = problems(asset)
        print(f"{asset.name}: {'; '.join(found) or 'as it must be'}")
        failed += bool(found)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
