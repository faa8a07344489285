# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Choose the number of PhysX's own worker threads on a CPU: the environment variable ``NERD_PHYSX_THREADS``.

Isaac Lab starts PhysX with eight workers whatever the machine has and offers no setting for it. With one process a
core, workers only get in each other's way; 0 lets the calling thread do the work. ``docs/collecting-on-a-cpu.md`` has
the measurements. Unset, nothing changes.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

VARIABLE = "NERD_PHYSX_THREADS"


def install(environment: Mapping[str, str] = os.environ) -> int | None:
    """Make the engine start with the wanted number of workers.

    Args:
        environment: Where the variable is looked up.

    Returns:
        The number, None if the variable is not set.
    """
    text = environment.get(VARIABLE, "")
    if not text:
        return None
    if not text.isdecimal():
        raise ValueError(f"got {VARIABLE}={text}, expected a number of threads: 0 or more")
    threads = int(text)
    import ovphysx  # light: the engine itself is loaded when it is first used

    # Isaac Lab makes this configuration inside a function, from the module's attribute, just before it starts PhysX.
    ovphysx.PhysXConfig = _with_threads(getattr(ovphysx.PhysXConfig, "wrapped", ovphysx.PhysXConfig), threads)
    return threads


def _with_threads(config_class: Any, threads: int) -> Any:
    def make(*args: Any, **kwargs: Any) -> Any:
        return config_class(*args, **{**kwargs, "num_threads": threads})

    make.wrapped = config_class  # type: ignore[attr-defined]  (so that a second call replaces the first)
    return make
