# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The recipes by name, found in the files ``recipe_<robot>.py``.

``DEMO`` in such a file is what ``nerd demo`` does; all other recipes in it are what ``nerd reproduce`` does.
"""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path

from .recipe import Recipe

DEMO: dict[str, Recipe] = {}
"""What ``nerd demo`` does: minutes."""

REPRODUCE: dict[str, Recipe] = {}
"""What ``nerd reproduce`` does: the shipped models and all their numbers."""

for _file in sorted(module.name for module in pkgutil.iter_modules([str(Path(__file__).parent)])):
    if _file.startswith("recipe_"):
        for _name, _recipe in vars(importlib.import_module(f"{__package__}.{_file}")).items():
            if isinstance(_recipe, Recipe):
                (DEMO if _name == "DEMO" else REPRODUCE)[_recipe.name] = _recipe
