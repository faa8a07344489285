# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Functions that are compiled where that is possible, and otherwise run as they are."""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable
from typing import Any

import torch

from .files.messages import first_line

logger = logging.getLogger(__name__)


class CompiledOrPlain[**P, R]:
    """A function, compiled by ``torch.compile``. Where compiling fails, a warning is given once and it runs uncompiled.

    Compiling begins with the first call, and anew with other shapes.
    """

    def __init__(self, function: Callable[P, R], what: str, **options: Any):
        """Compiles nothing yet.

        Args:
            function: The function. A call that fails to compile is repeated, so it must change nothing before that.
            what: What goes on uncompiled, for the warning.
            options: For ``torch.compile``.
        """
        self._function, self._what = function, what
        self._compiled: Callable[P, R] | None = torch.compile(function, dynamic=False, **options)
        self._proved: set[Hashable] = set()

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Calls the function."""
        return self.call(None, *args, **kwargs)

    def call(self, shape: Hashable, *args: P.args, **kwargs: P.kwargs) -> R:
        """Calls the function with arguments of a shape, whose later errors are its own and come through.

        Args:
            shape: Tells shapes apart; None if any call may have to compile.
            args: For the function.
            kwargs: For the function.
        """
        if self._compiled is None:
            return self._function(*args, **kwargs)
        if shape in self._proved:
            return self._compiled(*args, **kwargs)
        try:
            result = self._compiled(*args, **kwargs)
        except Exception as error:  # the compilers raise kinds of their own; a fault of ours comes again below
            logger.warning("%s uncompiled, because compiling failed: %s", self._what, first_line(error))
            self._compiled = None
            return self._function(*args, **kwargs)
        if shape is not None:
            self._proved.add(shape)
        return result


__all__ = ["CompiledOrPlain"]
