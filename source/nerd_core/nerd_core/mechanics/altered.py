# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""A module with other numbers, beside the one that it was made from.

Example::

    heavier = altered(multibody, {"_mass": 2.0 * mass})  # multibody stays as it is
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn


def altered[M: nn.Module](
    module: M, tables: Mapping[str, Tensor], modules: Mapping[str, nn.Module] | None = None, **attributes: Any
) -> M:
    """A module that shares everything with another but what is given. Gradients flow to the tables.

    Args:
        module: The other one, which is not changed.
        tables: Tensors in place of its buffers.
        modules: Modules in place of its parts.
        attributes: Values in place of its other attributes.
    """
    module = _itself(module)
    found = module.__class__.__new__(module.__class__)
    found.__dict__.update(module.__dict__, **attributes)
    found.__dict__["_buffers"] = {**module._buffers, **tables}
    found.__dict__["_modules"] = {**module._modules, **(modules or {})}
    return found


def _itself[M: nn.Module](module: M) -> M:
    """The module for which another one stands while torch.export traces a program: that one is known by its place, and
    a copy would have none.
    """
    base = getattr(type(module), "get_base", None)
    return module if base is None else base(module)


__all__ = ["altered"]
