# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Let Warp hand out ordinary memory where pinned host memory is asked for and there is no CUDA.

The defect: ``isaaclab_ov`` stages what it writes to the engine in pinned host arrays (``wp.zeros(..., pinned=True)``).
Pinned memory belongs to CUDA; without it Warp gives up with "Failed to allocate 64 bytes on device 'cpu'", and no
articulation can be built. Nothing is ever copied to a GPU there, so ordinary memory does the same job.

The cure: all of Warp's public allocations (``zeros``, ``empty``, ``full``, ``clone``, ...) end in the constructor of
``wp.array`` and pass ``pinned`` to it by name. That constructor is told ``pinned=False`` as long as Warp sees no CUDA
device. The request is looked at, not Isaac Lab: a version of Isaac Lab that asks elsewhere is served too, and one that
no longer asks is not affected. With CUDA every call goes through unchanged.

The way in: :func:`install` is an entry point of the group ``torch.backends``, which PyTorch calls at the end of
``import torch``. Everything that reaches an articulation imports torch first, so the cure is in force in ``isaaclab
train``, in pytest, and in any script that only imports Isaac Lab. Warp itself is not imported for it: when it is not
there yet, the cure waits for its import. Where PyTorch is told not to call such entry points
(``TORCH_DEVICE_BACKEND_AUTOLOAD=0``), importing ``nerd_isaaclab.tasks`` installs it as well.
"""

from __future__ import annotations

import functools
import importlib.util
import sys
from importlib.abc import MetaPathFinder
from types import ModuleType
from typing import Any

_MARK = "_nerd_unpinned_without_cuda"


def install() -> None:
    """Put the cure in force now, or as soon as Warp is imported. Repeated calls change nothing; it never raises."""
    warp = sys.modules.get("warp")
    if warp is not None and hasattr(warp, "array"):
        unpin_without_cuda(warp)
    elif not any(isinstance(finder, _AfterWarpImport) for finder in sys.meta_path):
        sys.meta_path.insert(0, _AfterWarpImport())


def unpin_without_cuda(warp: ModuleType) -> bool:
    """Wrap the constructor of ``warp.array``.

    Args:
        warp: The imported Warp module.

    Returns:
        Whether the cure is in force. False for a Warp that has no such class: then there is nothing to cure here.
    """
    array = getattr(warp, "array", None)
    if not isinstance(array, type):
        return False
    original = array.__init__
    if getattr(original, _MARK, False):
        return True

    @functools.wraps(original)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
        # Asked at the time of the request, never earlier: the question initialises Warp.
        if kwargs.get("pinned") and not warp.is_cuda_available():
            kwargs["pinned"] = False
        original(self, *args, **kwargs)

    setattr(__init__, _MARK, True)
    array.__init__ = __init__
    return True


class _AfterWarpImport(MetaPathFinder):
    """Applies the cure right after the first import of Warp, then leaves."""

    def __init__(self) -> None:
        self._searching = False

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        """Let the other finders find Warp, and add the cure to what its loader does."""
        if fullname != "warp" or self._searching:
            return None
        self._searching = True
        try:
            spec = importlib.util.find_spec(fullname)
        finally:
            self._searching = False
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            execute(module)
            unpin_without_cuda(module)
            if self in sys.meta_path:
                sys.meta_path.remove(self)

        # Only now, not when the spec is found: whoever merely asks whether Warp exists must not use up the cure.
        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec
