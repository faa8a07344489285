# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Tasks of this extension, and the module named in the entry-point group ``isaaclab.tasks``.

``isaaclab train``, ``play``, ``list_envs``, ... import this module before they look up a task or read their arguments.
A script of your own writes ``import nerd_isaaclab.tasks`` before its first other import of Isaac Lab. Importing it

1. cures pinned memory without CUDA (:mod:`nerd_isaaclab.compat.pinned_memory`), sets the threads of the engine if asked
   to (:mod:`nerd_isaaclab.compat.engine_threads`), and lets no ctrl-C get lost
   (:mod:`nerd_isaaclab.compat.interrupts`);
2. falls back to local assets when NVIDIA's cannot be reached (:mod:`nerd_isaaclab.assets.root`);
3. registers the tasks with Gymnasium, those of each folder ``<family>/<robot>``, and ``NeRD-<id>`` for all other
   manager-based tasks (:mod:`nerd_isaaclab.tasks.derived`);
4. completes the command line of ``isaaclab`` without CUDA (:mod:`nerd_isaaclab.compat.no_cuda`).

The order matters: 1 and 2 must be in force before Isaac Lab's assets are imported, and 4 looks up what 3 registers.
"""

import importlib
import pkgutil
import sys

from ..assets.root import install_fallback
from ..compat import engine_threads, interrupts, no_cuda, pinned_memory, refusals

refusals.note_program(sys.argv)
pinned_memory.install()
engine_threads.install()
interrupts.install()
install_fallback()

from . import derived  # noqa: E402

for _family in pkgutil.iter_modules(__path__, f"{__name__}."):
    if _family.ispkg:
        for _robot in pkgutil.iter_modules(importlib.import_module(_family.name).__path__, f"{_family.name}."):
            if _robot.ispkg:
                importlib.import_module(_robot.name)

derived.register_derived_tasks()
no_cuda.complete_isaaclab_command(sys.argv)
