# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Speed and memory of the data layer, at the size of the published Ant data set: 10 million transitions.

.. code-block:: bash

    python benchmarks/data.py --json data.json                        # 10 M transitions, 1.5 GB in a temporary folder
    python benchmarks/data.py --transitions 1000000 --compression gzip

Writes random numbers as an Ant (29 states, 8 controls), makes the flat copy, opens it, and samples batches of 512
windows of 20 steps. Memory is measured in a process of its own, which may take at most 4 GB: what counts are anonymous
pages, which the system cannot drop.
"""

from __future__ import annotations

import json
import math
import re
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import tyro

from nerd_core.data.dataset import TrajectoryDataset
from nerd_core.data.layout import ShardMeta
from nerd_core.data.manifest import write_manifest
from nerd_core.data.sampler import WindowSampler
from nerd_core.data.shards import ShardWriter
from nerd_core.files.provenance import describe_run
from nerd_core.robot.spec import Body, Control, Joint, RobotSpec

LIMIT = 4 * 2**30
STEPS, ENVS = 100, 2048


@dataclass
class Args:
    """Speed and memory of the data layer."""

    transitions: int = 10_000_000
    """Number of transitions to write."""
    compression: Literal["none", "gzip"] = "none"
    """How to pack the segments."""
    json: Path | None = None
    """File for the results."""
    folder: Path | None = None
    """Where to write; a temporary folder by default."""
    read: Path | None = None
    """Used by the program itself: measure the reading of this dataset and print JSON."""


def ant_spec() -> RobotSpec:
    """A robot with the dimensions of Ant."""
    joints = tuple(Joint(f"joint_{i}", "revolute", (0.0, 0.0, 1.0), -math.pi, math.pi) for i in range(8))
    bodies = (Body("torso"), *(Body(f"leg_{i}", parent="torso", joint=f"joint_{i}") for i in range(8)))
    controls = tuple(Control(joint.name, "effort") for joint in joints)
    return RobotSpec("ant_sized", True, joints, bodies, controls, physics_dt=1 / 120, decimation=2)


def write(folder: Path, args: Args) -> dict[str, float]:
    """Writes the dataset and measures how fast."""
    rng = np.random.default_rng(0)
    spec = ant_spec()
    state = rng.standard_normal((ENVS, STEPS + 1, spec.state.dim), dtype=np.float32)
    control = rng.standard_normal((ENVS, STEPS, spec.control_dim), dtype=np.float32)
    begin = time.perf_counter()
    with ShardWriter(folder, spec, ShardMeta(task="benchmark"), compression=args.compression) as writer:
        while writer.transitions < args.transitions:
            state[:, 0, 0] += 1.0  # no two batches are equal
            writer.append(state, control)
        count = writer.transitions
    write_manifest(folder)
    seconds = time.perf_counter() - begin
    size = sum(path.stat().st_size for path in folder.rglob("*.h5"))
    return {"transitions": count, "file_mb": size / 1e6, "write_mb_per_s": size / 1e6 / seconds}


def read(folder: Path) -> dict[str, float]:
    """Maps the dataset twice (the flat copy is made first, then only verified) and samples from it, in 4 GB."""
    resource.setrlimit(resource.RLIMIT_DATA, (LIMIT, LIMIT))
    before = _anonymous()
    begin = time.perf_counter()
    TrajectoryDataset.open(folder, storage="mapped")
    made = time.perf_counter()
    data = TrajectoryDataset.open(folder, storage="mapped")
    opened = time.perf_counter()
    sampler = WindowSampler(data.split("train"), length=20, batch=512)
    next(sampler)
    times = []
    for _ in range(300):
        start = time.perf_counter()
        next(sampler)
        times.append(time.perf_counter() - start)
    return {
        "make_copy_s": made - begin,
        "open_s": opened - made,
        "batch_ms_median": 1e3 * float(np.median(times)),
        "batch_ms_p95": 1e3 * float(np.quantile(times, 0.95)),
        "flat_mb": sum(value.nbytes for value in data.arrays.values()) / 1e6,
        "anonymous_mb": (_anonymous() - before) / 1e6,
        "process_anonymous_mb": _anonymous() / 1e6,
    }


def _anonymous() -> int:
    """Memory of this process that the system cannot drop [bytes]."""
    found = re.search(r"RssAnon:\s+(\d+)", Path("/proc/self/status").read_text())
    assert found is not None
    return int(found[1]) * 1024


def main(args: Args) -> None:
    """Runs the benchmark."""
    if args.read is not None:
        print(json.dumps(read(args.read)))
        return
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        results = write(Path(folder), args)
        child = subprocess.run(
            [sys.executable, __file__, "--read", folder], stdout=subprocess.PIPE, text=True, check=True
        )
        results |= json.loads(child.stdout)
    for name, value in results.items():
        print(f"{name:>22} {value:12,.2f}")
    if args.json is not None:
        args.json.write_text(json.dumps({**results, "run": describe_run(seeds={"data": 0})}, indent=1) + "\n")


if __name__ == "__main__":
    main(tyro.cli(Args, description=__doc__))
