# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The datasets that ``nerd train`` is given, as one."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from ..data.dataset import TrajectoryDataset


def joined(paths: Sequence[Path], recorded: tuple[str, ...], leads: bool) -> TrajectoryDataset:
    """Datasets as one. A note says which of them are not finished.

    Args:
        paths: Folders of the datasets.
        recorded: Further fields to read.
        leads: Whether this process speaks.
    """
    parts = [TrajectoryDataset.open(path, recorded=recorded) for path in paths]
    for path, part in zip(paths, parts, strict=True):
        if leads and not part.complete:
            print(
                f"note: '{path.name}' has no manifest: it is being collected, or its collection was interrupted; the "
                f"{len(part):,} trajectories that are finished are used",
                file=sys.stderr,
            )
    return TrajectoryDataset.join(parts)


__all__ = ["joined"]
