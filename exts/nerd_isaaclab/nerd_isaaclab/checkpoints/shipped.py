# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Models that come with the extension: one folder each, a checkpoint with its card.

Wherever a checkpoint is asked for, the name of one of these does as well as a path: ``env.nerd.checkpoint=cartpole``.
"""

from __future__ import annotations

import difflib
from pathlib import Path

_FOLDER = Path(__file__).resolve().parent


class UnknownModel(ValueError):
    """Neither a directory nor the name of a model that is shipped."""


def shipped_models() -> dict[str, Path]:
    """Directories of the shipped models, by name."""
    return {path.parent.name: path.parent for path in sorted(_FOLDER.glob("*/spec.json"))}


def shipped_model(name: str) -> Path | None:
    """Directory of a shipped model; None if there is none of that name."""
    return shipped_models().get(name)


def find_model(name_or_path: str | Path) -> Path:
    """Directory of a model given by path or by the name of a shipped one.

    Raises:
        UnknownModel: With the names there are.
    """
    path = Path(name_or_path)
    if path.is_dir():
        return path
    models = shipped_models()
    if str(name_or_path) in models:
        return models[str(name_or_path)]
    near = difflib.get_close_matches(str(name_or_path), models, n=1)
    hint = f"did you mean '{near[0]}'?" if near else f"shipped are: {', '.join(models) or 'none'}"
    raise UnknownModel(f"got the model '{name_or_path}', expected a directory or the name of a shipped model; {hint}")
