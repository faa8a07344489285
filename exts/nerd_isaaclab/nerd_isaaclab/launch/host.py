# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What a result depends on besides its seed: the machine and the versions of the simulator's packages."""

from __future__ import annotations

import importlib.metadata
import platform
from typing import Any

from nerd_core.files import provenance

PACKAGES = ("isaaclab", "ovphysx", "rsl-rl-lib", "torch", "warp-lang")
"""Packages whose versions decide what a simulation and a training give."""


def host_facts() -> dict[str, Any]:
    """The machine and the versions, as plain values."""
    versions = {}
    for name in PACKAGES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            versions[name] = None
    machine = provenance.host()
    host = {"cpu": machine["cpu"], "cores": machine["cores"], "python": platform.python_version()}
    return {"host": host, "versions": versions}
