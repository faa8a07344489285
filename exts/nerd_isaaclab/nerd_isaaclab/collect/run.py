# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Collects a dataset: starts the workers, watches them, and sums up what they did."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tqdm import tqdm

from nerd_core.checkpoint_names import find_checkpoint
from nerd_core.data.manifest import write_manifest
from nerd_core.files.atomic import write_json
from nerd_core.files.outputs import require_folder
from nerd_core.files.serialization import from_plain, to_plain
from nerd_core.robot.spec import RobotSpec

from ..launch.engine_process import EngineProcess
from ..launch.task_ids import check_task
from .collect_cfg import CollectCfg, CollectError
from .contact_agreement import Agreement, BodyAgreement
from .messages import CollectReport, Order
from .origin import require_same_origin

LOOK_SECONDS = 0.2
"""Time between two looks at the workers [s]."""

MAX_WORKERS = 256
"""Most processes of a collection. Each takes gigabytes."""

REPORT = "report.json"
"""File in the folder of a dataset with what was collected."""

# The solver's own threads and OpenMP would fight for the cores; who has set NERD_PHYSX_THREADS wanted something else.
_ENVIRONMENT = {"OMP_NUM_THREADS": "1"}


@dataclass(frozen=True)
class CollectResult:
    """What was collected."""

    transitions: int
    """Control steps in the dataset."""
    trajectories: int
    """Trajectories in the dataset."""
    new_transitions: int
    """Control steps that this call has added; the others were there already."""
    seconds: float
    """Time that the workers recorded, without the start of their engines [s]."""
    transitions_per_second: int
    """Speed of the recording [control steps/s], all workers together."""
    dropped: dict[str, int]
    """Trajectories that were left out, by reason."""
    kinds: dict[str, int]
    """Roll-outs by kind of excitation, those that were left out included."""
    contact_agreement: dict[str, BodyAgreement] = field(default_factory=dict)
    """How the contacts of the solver and those by geometry agree, by body; empty unless both were asked for."""
    warnings: tuple[str, ...] = ()
    """What the user of the data should know."""


def collect(
    cfg: CollectCfg,
    out: str | Path,
    transitions: int = 1_000_000,
    workers: int = 1,
    device: str = "auto",
    quiet: bool = False,
    robot: RobotSpec | None = None,
) -> CollectResult:
    """Collects trajectories of a task's robot from the solver into a dataset.

    Each worker is a process with an engine of its own, so this may be called any number of times in one Python session.
    A dataset that is there already is continued: whatever ended an earlier call, the same call goes on where it stopped
    and ends with the same bytes. ``report.json`` in the folder holds the result, too.

    .. code-block:: python

        from nerd_isaaclab.collect.collect_cfg import CollectCfg
        from nerd_isaaclab.collect.run import collect

        result = collect(CollectCfg("NeRD-Cartpole", seed=1), out="data/cartpole", transitions=200_000, workers=2)
        print(result.transitions_per_second)

    Args:
        cfg: What to collect.
        out: Folder of the dataset. :meth:`nerd_core.data.dataset.TrajectoryDataset.open` reads it.
        transitions: Number of control steps that the dataset has to hold at the end.
        workers: Number of processes. Each fills a shard of its own, so use the same number to continue a dataset.
        device: Device of the simulation, ``cpu`` or ``cuda:0``; ``auto`` takes the GPU where there is one.
        quiet: Whether to show no progress.
        robot: Robot that the task must have, for instance that of a model to be judged; None for any.

    Raises:
        ValueError: A task, policy, model, share or range that does not exist, before anything is started; or the
            message of a worker that failed.
    """
    from nerd_core.training.feasibility import choose_device  # needs PyTorch, which a help does not

    out = Path(out)
    check_task(cfg.task)
    if transitions < 1 or not 1 <= workers <= MAX_WORKERS:
        raise CollectError(
            f"got {transitions} transitions and {workers} workers, expected at least 1 of each and at most "
            f"{MAX_WORKERS} workers"
        )
    cfg = _with_paths(cfg.resolved())
    place = str(choose_device(device))
    require_folder(out, "--out")
    require_same_origin(out, cfg)
    is_new = not out.exists()
    out.mkdir(parents=True, exist_ok=True)
    known = None if robot is None else robot.to_json()
    running: list[_Worker] = []
    try:
        for shard in range(workers):
            share = transitions // workers + (shard < transitions % workers)
            running.append(_Worker(Order(cfg, str(out), shard, share, place, known)))
        _watch(running, transitions, quiet)
    finally:
        for worker in running:
            worker.process.stop()
        if is_new:
            with contextlib.suppress(OSError):
                out.rmdir()  # goes only if nothing was recorded
    manifest = write_manifest(out)
    result = _sum_up(running)
    if manifest.transitions > result.transitions:
        more = manifest.transitions - result.transitions
        text = (
            f"'{out.name}' holds {more:,} transitions more, of shards that an earlier call with more workers has filled"
        )
        result = dataclasses.replace(result, warnings=(*result.warnings, text))
    write_json(out / REPORT, report(result))
    return result


def report(result: CollectResult) -> dict[str, Any]:
    """The result as plain values, as ``report.json`` holds it.

    Args:
        result: What was collected.
    """
    plain = to_plain(result)
    del plain["warnings"]
    if not result.contact_agreement:
        del plain["contact_agreement"]
    return plain


class _Worker:
    """A process that fills one shard."""

    def __init__(self, order: Order):
        environment = {"NERD_PHYSX_THREADS": "0"} if "NERD_PHYSX_THREADS" not in os.environ else {}
        self.begun_with: int | None = None
        self.begun_at = time.monotonic()
        self.process = EngineProcess(
            "nerd_isaaclab.collect.worker", order, environment | _ENVIRONMENT, on_progress=self._begin
        )

    def _begin(self, progress: dict[str, Any]) -> None:
        if self.begun_with is None:
            self.begun_at, self.begun_with = time.monotonic(), progress["transitions"]

    @property
    def report(self) -> CollectReport:
        """What it has done so far."""
        return from_plain(CollectReport, self.process.progress or {})

    @property
    def transitions(self) -> int:
        """Transitions in its shard."""
        return (self.process.progress or {}).get("transitions", 0)


def _watch(workers: Sequence[_Worker], transitions: int, quiet: bool) -> None:
    """Shows how far the workers are until all have ended.

    Raises:
        CollectError: A worker failed.
    """
    with tqdm(total=transitions, unit="step", unit_scale=True, desc="starting", disable=True if quiet else None) as bar:
        is_running = False
        while True:
            codes = [worker.process.code for worker in workers]
            if not is_running and all(worker.begun_with is not None for worker in workers):
                # the time that engines take to start, and what earlier runs did, say nothing about the rate
                bar.initial = bar.n = sum(worker.begun_with or 0 for worker in workers)
                bar.start_t = bar.last_print_t = time.time()
                bar.set_description("collect")
                is_running = True
            if is_running:
                bar.update(min(transitions, sum(worker.transitions for worker in workers)) - bar.n)
            failed = [worker for worker, code in zip(workers, codes, strict=True) if code]
            if failed:
                bar.close()
                raise CollectError(failed[0].process.failure())
            if all(code == 0 for code in codes):
                bar.update(transitions - bar.n)
                return
            time.sleep(LOOK_SECONDS)


def _sum_up(workers: Sequence[_Worker]) -> CollectResult:
    seconds = max(time.monotonic() - min(worker.begun_at for worker in workers), 1e-3)  # engines had started
    reports = [worker.report for worker in workers]
    total = sum(each.transitions for each in reports)
    new = total - sum(worker.begun_with or 0 for worker in workers)
    agreement = Agreement()
    for each in reports:
        agreement.add(each.agreement)
    return CollectResult(
        transitions=total,
        trajectories=sum(each.trajectories for each in reports),
        new_transitions=new,
        seconds=round(seconds, 1),
        transitions_per_second=round(new / seconds),
        dropped=_sum(each.dropped for each in reports),
        kinds=_sum(each.kinds for each in reports),
        contact_agreement=agreement.bodies,
        warnings=tuple(dict.fromkeys(text for each in reports for text in each.warnings)),
    )


def _sum(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for count in counts:
        for name, value in count.items():
            total[name] = total.get(name, 0) + value
    return total


def _with_paths(cfg: CollectCfg) -> CollectCfg:
    """The same with the directory of the visited model, and only if model and policy are there."""
    from ..policies.load import load_policy

    if cfg.policy is not None:
        if not Path(cfg.policy).exists():
            raise CollectError(
                f"got --policy {cfg.policy}, where nothing is: expected a policy file or the log folder of a run"
            )
        load_policy(cfg.policy)
    visited = None if cfg.visited is None else str(find_checkpoint(cfg.visited).absolute())
    return dataclasses.replace(cfg, visited=visited)
