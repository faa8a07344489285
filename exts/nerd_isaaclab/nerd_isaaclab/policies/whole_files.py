# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Write checkpoints whole or not at all, so that ctrl-C in the middle of one leaves no broken file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from nerd_core.files.atomic import replace_file


@contextmanager
def whole_files() -> Iterator[None]:
    """While this is open, ``torch.save`` to a path writes beside it and puts the finished file in its place.

    RSL-RL saves straight to the final path, and offers no place to do it otherwise.
    """
    import torch

    original = torch.save
    torch.save = _whole(original)
    try:
        yield
    finally:
        torch.save = original


def _whole(save: Callable[..., Any]) -> Callable[..., Any]:
    """Return a ``torch.save`` that replaces files instead of filling them."""

    def save_whole(obj: Any, f: Any, *args: Any, **kwargs: Any) -> None:
        if not isinstance(f, (str, os.PathLike)):
            return save(obj, f, *args, **kwargs)
        with replace_file(os.fspath(f)) as waiting:
            save(obj, waiting, *args, **kwargs)

    return save_whole
