# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What a control step keeps for its adjoint (:mod:`nerd_core.mechanics.kernel.adjoint`): bodies, constraints and
impulses of each physics step and substep, so that nothing is computed twice.
"""

from __future__ import annotations

from typing import Any

import warp as wp


@wp.func
def keep_substep(work: Any, substep: int, count: int):
    """Keeps what the substep begins with, or the physics step ends with: ``count`` rows, positions, and drives."""
    rows = work.rows
    joint_pos = work.joint_pos
    drives = work.drives
    kept_rows = work.kept_rows
    kept_joint_pos = work.kept_joint_pos
    kept_drives = work.kept_drives
    for i in range(count):
        kept_rows[substep, i] = rows[i]
    for i in range(kept_joint_pos.shape[1]):
        kept_joint_pos[substep, i] = joint_pos[i]
    for i in range(kept_drives.shape[1]):
        kept_drives[substep, i] = drives[i]
    anchors = work.anchors
    kept_anchors = work.kept_anchors
    for i in range(kept_anchors.shape[1]):
        kept_anchors[substep, i] = anchors[i]


@wp.func
def keep_memory(work: Any, kept: wp.array2d[wp.vec3]):
    """Keeps the memory of friction before a physics step, or at the end of the control step."""
    memory = work.memory
    for slot in range(memory.shape[0]):
        for i in range(memory.shape[1]):
            kept[slot, i] = memory[slot, i]


@wp.func
def keep_impulses(work: Any, substep: int, block: int, solved: Any):
    """Keeps all impulses as they are before a constraint is solved; in the last place those at the substep's end."""
    kept = work.kept_solved
    if block < 0:
        kept[substep, kept.shape[1] - 1] = solved
    else:
        kept[substep, block] = solved
