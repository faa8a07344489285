# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Numbers of a run for tensorboard. A training does not end because they cannot be written."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

logger = logging.getLogger(__name__)


class Logs:
    """Logs in a folder, or nowhere."""

    def __init__(self, folder: Path | None):
        """Opens the logs.

        Args:
            folder: Where to; None for nowhere.
        """
        self._writer: Any = None
        if folder is not None:
            from torch.utils.tensorboard import SummaryWriter  # imported late: it is slow to load

            self._writer = SummaryWriter(str(folder))

    def add(self, values: Mapping[str, float], update: int) -> None:
        """Writes numbers.

        Args:
            values: Numbers by name.
            update: Number of the update that they belong to.
        """
        if self._writer is None:
            return
        try:
            for name, value in values.items():
                self._writer.add_scalar(name, value, update)
        except OSError as error:
            logger.warning("the training goes on without logs: %s", error)
            self._writer = None

    def close(self) -> None:
        """Brings what waits to the disk."""
        if self._writer is None:
            return
        try:
            self._writer.close()
        except OSError as error:
            logger.warning("the logs are cut short: %s", error)
        self._writer = None


__all__ = ["Logs"]
