# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The reference's Cartpole data as datasets of this project.

``cartpole_reference_warp.h5`` holds trajectories that the reference's simulator (Warp, Featherstone, 5 substeps a
frame) made with the settings of its data generator, and passive trajectories with the roll-out of a reference model
trained on them. Look at the data:

.. code-block:: bash

    python benchmarks/reference_data.py cartpole_reference_warp.h5 --out data/cartpole-reference
    nerd data plot data/cartpole-reference
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np
import tyro

from nerd_core.data.dataset import TrajectoryDataset
from nerd_core.data.layout import ShardMeta, command_line, host_name
from nerd_core.data.manifest import write_manifest
from nerd_core.data.shards import ShardWriter
from nerd_core.robot.spec import Body, Control, Joint, RobotSpec


@dataclass(frozen=True)
class ReferenceCartpole:
    """Everything in the file. States are cart position [m], pole angle [rad], cart velocity, pole velocity."""

    spec: RobotSpec
    """The robot: a cart on a rail without limits, a pole that turns freely, an effort on the cart."""
    train: TrajectoryDataset
    """4,000 trajectories of 100 steps."""
    valid: TrajectoryDataset
    """512 trajectories of 100 steps."""
    passive: TrajectoryDataset
    """256 trajectories of 1,000 steps without effort, on which errors are measured."""
    reference_rollout: np.ndarray
    """What the reference's model predicts for :attr:`passive`, shape (256, 1001, 4)."""


def cartpole_spec(frame_dt: float = 1.0 / 60.0) -> RobotSpec:
    """The reference's Cartpole. Only what its data fix: names, order, wrapping, the channel of control, the frame.

    Args:
        frame_dt: Length of a control step [s]. The teacher made 5 substeps of it.
    """
    return RobotSpec(
        name="cartpole_reference",
        floating_base=False,
        joints=(
            Joint("cart", "prismatic", (1.0, 0.0, 0.0)),
            # The asset's limits are +-2 pi and the recorded angle is wrapped to -pi .. pi.
            Joint("pole", "revolute", (0.0, 0.0, 1.0), -2.0 * math.pi, 2.0 * math.pi),
        ),
        bodies=(Body("rail"), Body("cart", parent="rail", joint="cart"), Body("pole", parent="cart", joint="pole")),
        controls=(Control("cart", "effort"),),
        physics_dt=frame_dt / 5,
        decimation=5,
        gravity=(0.0, -9.81, 0.0),
    )


def load(path: str | Path, spec: RobotSpec | None = None) -> ReferenceCartpole:
    """Reads the file into memory (40 MB).

    Args:
        path: The file.
        spec: The robot, if it is not what :func:`cartpole_spec` makes of the file.
    """
    with h5py.File(path, "r") as file:
        arrays = {
            name: np.asarray(file[name])
            for name in (
                "train/state",
                "train/effort",
                "valid/state",
                "valid/effort",
                "passive_eval/state",
                "passive_eval/reference_model_rollout",
            )
        }
        spec = spec or cartpole_spec(float(np.asarray(file.attrs["frame_dt_s"])))
    passive = arrays["passive_eval/state"]
    return ReferenceCartpole(
        spec=spec,
        train=_dataset(spec, "train", arrays["train/state"], arrays["train/effort"]),
        valid=_dataset(spec, "valid", arrays["valid/state"], arrays["valid/effort"]),
        passive=_dataset(spec, "passive", passive, np.zeros(passive[:, 1:, 0].shape, np.float32)),
        reference_rollout=arrays["passive_eval/reference_model_rollout"],
    )


def _dataset(spec: RobotSpec, name: str, state: np.ndarray, effort: np.ndarray) -> TrajectoryDataset:
    return TrajectoryDataset.from_tensors(spec, state, effort[..., None], name=name)


def main(path: tyro.conf.Positional[Path], out: Path) -> None:
    """Writes the training and validation trajectories as a dataset with two shards.

    Args:
        path: The file ``cartpole_reference_warp.h5``.
        out: Folder of the dataset to write.
    """
    data = load(path)
    for name in ("train", "valid"):
        meta = ShardMeta(
            task="Cartpole",
            teacher="warp.sim 1.8.0 Featherstone",
            excitation="uniform, new in every step",
            command=command_line(),
            host=host_name(),
        )
        view: TrajectoryDataset = getattr(data, name)
        windows = view.beginnings(int(view.length.min()))
        with ShardWriter(out, data.spec, meta, shard=name) as writer:
            if not writer.batches:
                writer.append(windows.state, windows.control)
    print(write_manifest(out).dataset_hash)


if __name__ == "__main__":
    tyro.cli(main)
