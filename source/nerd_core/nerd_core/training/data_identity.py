# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Which data a run learns from, so that it goes on with the same."""

from __future__ import annotations

import hashlib
from typing import Any

from ..data.dataset import TrajectoryDataset

Identity = dict[str, Any]
"""Plain values that are the same for the same data, by what they say of it."""


def run_identities(data: TrajectoryDataset, valid: TrajectoryDataset | None) -> dict[str, Identity | None]:
    """Identities of the data of a run, by what they are used for."""
    return {"training data": data_identity(data), "validation data": data_identity(valid)}


def data_identity(data: TrajectoryDataset | None) -> Identity | None:
    """What tells data from others: the dataset, and what was chosen of it.

    Args:
        data: A dataset or a view of some of its trajectories; None for none.
    """
    if data is None:
        return None
    chosen = hashlib.sha256(data.first_row.tobytes() + data.length.tobytes())
    return {
        "content": data.dataset_hash or _content(data),
        "fields": sorted(data.arrays),
        "trajectories": len(data),
        "transitions": data.transitions,
        "choice of trajectories": chosen.hexdigest(),
    }


def differences(got: Identity | None, expected: Identity | None) -> str:
    """In which points two identities differ, as words; empty if they do not."""
    if got is None or expected is None:
        return (
            ""
            if got == expected
            else f"got {'none' if got is None else 'some'}, expected {'none' if expected is None else 'some'}"
        )
    names = [name for name in expected if got.get(name) != expected[name]]
    return ", ".join(f"{name}: got {_short(got.get(name))}, expected {_short(expected[name])}" for name in names)


def _content(data: TrajectoryDataset) -> str:
    """Digest of data that were never a file."""
    digest = hashlib.sha256()
    for name, values in sorted(data.arrays.items()):
        digest.update(f"{name} {values.dtype} {tuple(values.shape)}\n".encode())
        digest.update(values.detach().cpu().contiguous().numpy().data)
    return digest.hexdigest()


def _short(value: Any) -> str:
    """A value for a message; of a digest its beginning."""
    return f"{value[:12]}..." if isinstance(value, str) and len(value) > 12 else str(value)


__all__ = ["Identity", "data_identity", "differences", "run_identities"]
