# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Tables from LeRobot data sets: a folder with ``meta/info.json`` and parquet files in ``data/``, versions 2 and 3.

Lists become columns with the names that the data set gives them, ``observation.state.elbow``, or with their numbers.
Videos are left out. Without a map of columns, ``observation.state`` are the joint positions and ``action`` drives them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..files.messages import printable
from ..files.safe_files import MAX_JSON_BYTES, UnsafeFile, parse_json, read_bytes
from .message_logs import required
from .recording import RecordingError
from .tables import ColumnMap, Table

MAX_FILES, MAX_ROWS = 100_000, 100_000_000
"""Most parquet files and rows."""

STATE, ACTION, TIME, EPISODE = "observation.state", "action", "timestamp", "episode_index"
"""Names of columns that every data set has."""


def is_lerobot(path: str | Path) -> bool:
    """Whether a folder is a LeRobot data set."""
    return (Path(path) / "meta" / "info.json").is_file() and (Path(path) / "data").is_dir()


def read_lerobot(path: str | Path) -> tuple[Table, ColumnMap]:
    """The table of a data set, and what its columns are unless somebody says.

    Args:
        path: Folder of the data set.
    """
    folder = Path(path)
    try:
        info = parse_json(read_bytes(folder / "meta" / "info.json", MAX_JSON_BYTES), "meta/info.json")
    except UnsafeFile as error:
        raise RecordingError(f"'{folder.name}': {error}") from None
    parquet = required("pyarrow.parquet", "pyarrow", folder)
    files = sorted((folder / "data").glob("chunk-*/*.parquet"))[: MAX_FILES + 1]
    if not files or len(files) > MAX_FILES or not isinstance(info, dict):
        raise RecordingError(
            f"'{folder.name}' has {len(files)} parquet files in data/chunk-*, expected 1 to {MAX_FILES}"
        )
    parts: dict[str, list[np.ndarray]] = {}
    for file in files:
        for name, values in _file_columns(parquet, file, info).items():
            parts.setdefault(name, []).append(values)
    lengths = {sum(map(len, values)) for values in parts.values()}
    if len(lengths) != 1 or max(lengths) > MAX_ROWS:
        raise RecordingError(f"'{folder.name}': its parquet files do not have the same columns, or too many rows")
    table = Table({name: np.concatenate(values) for name, values in parts.items()})
    return table, _default_map(table, info)


def _file_columns(parquet: Any, file: Path, info: dict) -> dict[str, np.ndarray]:
    """Columns of numbers of one file; lists of equal length become several."""
    try:
        found = parquet.read_table(str(file))
        plain = {name: found.column(name).to_pylist() for name in found.column_names}
    except Exception as error:  # of a library for a format that anybody may have written
        said = printable(str(error)[:300])
        raise RecordingError(f"'{file.name}' is damaged and cannot be read as parquet ({said}): get it again") from None
    columns: dict[str, np.ndarray] = {}
    for name, values in plain.items():
        try:
            numbers = np.array([np.nan if value is None else value for value in values], np.float64)
        except (TypeError, ValueError):
            continue  # texts, images, lists of different lengths
        if numbers.ndim == 1:
            columns[name] = numbers
        elif numbers.ndim == 2 and numbers.shape[1] <= 1000:
            for index, inner in enumerate(_item_names(info, name, numbers.shape[1])):
                columns[f"{name}.{inner}"] = numbers[:, index]
    return columns


def _item_names(info: dict, feature: str, count: int) -> list[str]:
    """Names of the items of a list, as the data set gives them, or their numbers."""
    features = info.get("features")
    entry = features.get(feature) if isinstance(features, dict) else None
    names = entry.get("names") if isinstance(entry, dict) else None
    if isinstance(names, dict):
        names = next(iter(names.values()), None)
    fits = isinstance(names, list) and len(names) == count and len({str(name) for name in names}) == count
    return [str(name) for name in names] if fits and names is not None else [str(index) for index in range(count)]


def _default_map(table: Table, info: dict) -> ColumnMap:
    def of(feature: str) -> tuple[str, ...]:
        return tuple(name for name in table.columns if name == feature or name.startswith(f"{feature}."))

    rate = info.get("fps")
    return ColumnMap(
        time=TIME if TIME in table.columns else "",
        rate=float(rate) if isinstance(rate, (int, float)) and 0 < rate <= 1e5 else None,
        run=EPISODE if EPISODE in table.columns else "",
        joint_pos=of(STATE),
        controls={ACTION: of(ACTION)} if of(ACTION) else {},
        held=(ACTION,) if of(ACTION) else (),
    )


__all__ = ["is_lerobot", "read_lerobot"]
