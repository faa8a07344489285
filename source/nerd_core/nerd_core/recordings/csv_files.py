# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Tables from CSV files: a line of names, then a row a line; ``,``, ``;`` or tabulators between."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np

from ..files.messages import printable
from ..files.safe_files import UnsafeFile, read_bytes
from .recording import RecordingError
from .tables import Table

MAX_BYTES = 1024 * 2**20
"""Largest file [bytes]."""

MAX_COLUMNS = 4000
"""Most columns."""

MAX_TEXT = 200
"""Letters of a cell of words that are kept."""

MAX_CELL = 4096
"""Longest cell [characters]."""


def read_csv(path: str | Path) -> Table:
    """Reads a file. Columns whose cells are all numbers, or empty, are numbers; empty cells are NaN.

    Args:
        path: The file.
    """
    path = Path(path)
    try:
        text = read_bytes(path, MAX_BYTES).decode("utf-8-sig")
    except UnsafeFile as error:
        raise RecordingError(str(error)) from None
    except UnicodeDecodeError as error:
        raise RecordingError(f"'{path.name}' is no text in UTF-8 (byte {error.start}): is it a CSV file?") from None
    first = text.split("\n", 1)[0]
    if "\0" in text:
        raise RecordingError(f"'{path.name}' holds zero bytes: is it a CSV file?")
    delimiter = max(",;\t", key=first.count)
    limit = csv.field_size_limit(MAX_CELL)
    try:
        rows = list(csv.reader(io.StringIO(text), delimiter=delimiter))
    except csv.Error as error:
        raise RecordingError(f"'{path.name}' cannot be read as CSV: {error}") from None
    finally:
        csv.field_size_limit(limit)
    rows = [row for row in rows if row]
    if len(rows) < 3:
        raise RecordingError(f"'{path.name}' has {len(rows)} lines, expected a line of names and at least two rows")
    names = [name.strip().lstrip("#").strip() for name in rows[0]]
    if len(names) > MAX_COLUMNS or len(set(names)) != len(names):
        raise RecordingError(
            f"'{path.name}': the first line has {len(names)} names, expected at most {MAX_COLUMNS}, each of them once"
        )
    if all(_is_number(name) for name in names):
        raise RecordingError(f"'{path.name}': the first line holds numbers, expected the names of the columns")
    wrong = next((number for number, row in enumerate(rows) if len(row) != len(names)), None)
    if wrong is not None:
        raise RecordingError(
            f"'{path.name}': row {wrong} has {len(rows[wrong])} cells, expected {len(names)}: was the file cut short?"
        )
    columns = list(zip(*rows[1:], strict=True))
    return Table({name: _column(cells) for name, cells in zip(names, columns, strict=True)})


def _column(cells: tuple[str, ...]) -> np.ndarray:
    try:
        return np.array([float(cell) if cell.strip() else float("nan") for cell in cells])
    except ValueError:
        return np.array([printable(cell.strip()[:MAX_TEXT]) for cell in cells], object)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


__all__ = ["read_csv"]
