# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""A small robot with a floating base, and trajectories of it, for tests of the data layer."""

from __future__ import annotations

import numpy as np

from nerd_core.data.layout import Trajectories, pack_trajectories
from nerd_core.robot.spec import Body, ContactSlot, Control, Joint, RobotSpec

SPEC = RobotSpec(
    name="hopper",
    floating_base=True,
    joints=(Joint("hip", "revolute", (0.0, 1.0, 0.0), -1.0, 1.0), Joint("leg", "prismatic", (0.0, 0.0, 1.0), 0.0, 0.4)),
    bodies=(Body("torso"), Body("thigh", parent="torso", joint="hip"), Body("foot", parent="thigh", joint="leg")),
    controls=(Control("hip", "effort"), Control("leg", "position")),
    physics_dt=0.005,
    decimation=4,
    slots=(ContactSlot("foot", (0.0, 0.0, -0.1), 0.05, "sphere"), ContactSlot("torso", (0.0, 0.0, 0.0), 0.2, "sphere")),
)


def make_padded(count: int, steps: int, seed: int = 0, recorded: bool = True) -> dict[str, np.ndarray | dict]:
    """Arguments of ``ShardWriter.append``: random numbers, unit quaternions, lengths between 1 and ``steps``."""
    rng = np.random.default_rng(seed)
    state = rng.standard_normal((count, steps + 1, SPEC.state.dim)).astype(np.float32)
    quat = state[..., SPEC.state.root_quat]
    state[..., SPEC.state.root_quat] = quat / np.linalg.norm(quat, axis=-1, keepdims=True)
    out: dict = {
        "state": state,
        "control": rng.uniform(-1, 1, (count, steps, SPEC.control_dim)).astype(np.float32),
        "length": rng.integers(1, steps + 1, count),
        "ground": np.tile(np.array([0, 0, 1, 0.1], np.float32), (count, 1)),
    }
    if recorded:
        slots, bodies = len(SPEC.slots), len(SPEC.bodies)
        out["contacts"] = {
            "distance": rng.standard_normal((count, steps, slots)).astype(np.float32),
            "normal": rng.standard_normal((count, steps, slots, 3)).astype(np.float32),
            "point": rng.standard_normal((count, steps, slots, 3)).astype(np.float32),
            "active": rng.random((count, steps, slots)) < 0.4,
        }
        out["body_force"] = rng.standard_normal((count, steps, bodies, 3)).astype(np.float32)
    return out


def make_batch(count: int, steps: int, seed: int = 0, recorded: bool = True) -> Trajectories:
    """Flat trajectories with the content of :func:`make_padded`."""
    return pack_trajectories(SPEC, **make_padded(count, steps, seed, recorded))


def same(left: Trajectories, right: Trajectories) -> bool:
    """Whether two batches hold the same numbers."""
    one, other = left.arrays, right.arrays
    return one.keys() == other.keys() and all(np.array_equal(one[name], other[name], equal_nan=True) for name in one)
