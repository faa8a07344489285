# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""``nerd generate``: collect trajectories of a task's robot from the solver.

    nerd generate --task NeRD-Cartpole --out data/cartpole --transitions 1000000 --workers 2
    nerd generate --task NeRD-Ant-Run --out data/ant --shares random=1 --ranges root_tilt=0.5 root_height=0.5,1.0
    nerd generate --task NeRD-Ant-Run --out data/ant-forces --contacts both --transitions 100000
    nerd generate --task NeRD-Ant-Run --out data/ant-runs --policy models/policies/NeRD-Ant-Run/policy.safetensors
    nerd generate --task NeRD-Double-Pendulum --out data/pendulum --ground random-planes
    nerd generate --task NeRD-Isaac-Cartpole --out data/passive --initial task --shares zero=1 env.scene.env_spacing=5

Words like env.<field>=<value> change the task, as for isaaclab train. Killed, or ended with ctrl-C, it goes on where it
stopped when the same command is run again. docs/collecting.md says what the choices mean and what they do to a model.
"""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import tyro
from rich.console import Console
from rich.table import Table
from tqdm import tqdm

from nerd_core.data.manifest import write_manifest
from nerd_core.provenance import file_digest
from nerd_core.serialization import from_plain, to_plain

from ..collect.collect_cfg import CollectCfg, CollectError, ContactChoice, GroundChoice, TeacherMode
from ..collect.contact_agreement import Agreement
from ..collect.excitation import DEFAULT_SHARES, LEAN_KINDS, MANAGED_KINDS, ExcitationError, check_shares
from ..collect.initial_states import InitialStateError
from ..collect.robot_ranges import ranges_of
from ..models import find_model
from .task_ids import check_task

STOP_SECONDS = 20.0
"""Time that a worker is given to end by itself [s]."""


@dataclass
class Generate:
    """Options of ``nerd generate``. Words like env.<field>=<value> change the task, as for isaaclab train."""

    task: str
    """Id of the task, see ``nerd list-envs``."""
    out: Path
    """Folder of the dataset; one that is there is continued."""
    transitions: int = 1_000_000
    """Number of control steps to record."""
    steps: int = 100
    """Length of a trajectory [control steps]; the most of it with managers, since resets cut."""
    num_envs: int = 512
    """Environments of each worker."""
    workers: int = 1
    """Processes, each with an engine and a shard of its own. Use the same number to continue."""
    seed: int = 0
    """Seed of everything that is drawn."""
    shares: tuple[str, ...] = ()
    """Share of trajectories by kind of excitation, for instance random=1 or held=.5 policy=.5. Kinds: random, held,
    bang, ou, spline, zero; without managers also pd, with managers policy. Default: a mixture of all but bang and
    policy, or with --policy the policy alone."""
    initial: Literal["auto", "wide", "task"] = "auto"
    """First states: drawn from wide ranges, or as the task resets its robot. auto: task with managers, else wide."""
    visited: str | None = None
    """Model, a directory or the name of a shipped one, whose own roll-outs from those first states give the first
    states instead: the solver then shows what should have happened where the model goes. For another round of
    training."""
    visited_steps: int = 300
    """Length of these roll-outs [control steps]; with managers the most, each batch draws its own."""
    ranges: tuple[str, ...] = ()
    """Changes of the wide ranges, for instance joint_vel=3 root_height=0.5,1.0. Each robot of this package has ranges
    of its own; names: root_height, root_tilt, root_lin_vel, root_ang_vel, joint_pos_share, slide, joint_vel,
    slide_vel, at_stops."""
    managers: bool = False
    """Run the task with all its managers, resets and events included, instead of its robot alone. Slower."""
    policy: Path | None = None
    """Policy that acts, a file or the log folder of a run; implies --managers."""
    policy_noise: float = 0.3
    """Largest standard deviation of the noise on its actions; each trajectory draws its own below."""
    teacher_mode: TeacherMode = "continuous"
    """rewritten drops the solver's friction history before each step: see docs/collecting.md."""
    contacts: ContactChoice = "none"
    """Contacts to store with each step: by geometry, or by the solver (sensor) with the forces on the bodies. both
    stores geometry and forces and reports how well the two agree. none: they are computed when they are needed."""
    ground: GroundChoice = "task"
    """The ground of the task, or for robots with a fixed base a random plane for each trajectory."""
    physics: str = "ovphysx"
    """Physics preset of the task that teaches."""
    device: str = "auto"
    """Device of the simulation; auto is the GPU where there is one."""


def main(argv: list[str]) -> int:
    """Collect trajectories of a task's robot from the solver.

    Args:
        argv: Arguments, without the program's name.
    """
    # taken out first: an option that takes several words would take these as well
    overrides = [word for word in argv if word.startswith("env.")]
    words = [word for word in argv if word not in overrides]
    args = tyro.cli(Generate, args=words, prog="nerd generate", description=__doc__)
    check_task(args.task)
    for name in ("transitions", "steps", "num_envs", "workers"):
        if getattr(args, name) < 1:
            raise ValueError(f"got --{name.replace('_', '-')} {getattr(args, name)}, expected at least 1")
    if not 0.0 <= args.policy_noise < float("inf"):
        raise ValueError(f"got --policy-noise {args.policy_noise}, expected a number >= 0")
    cfg = collect_cfg(args)
    if args.out.exists() and not args.out.is_dir():
        raise ValueError(f"got --out {args.out}, which is a file: expected a folder")
    args.out.mkdir(parents=True, exist_ok=True)
    workers: list[_Worker] = []
    try:
        workers += [_Worker(args, cfg, overrides, shard) for shard in range(args.workers)]
        code = _watch(workers, args.transitions)
    except KeyboardInterrupt:
        print("\nstopped; what is finished is safe, the same command goes on", file=sys.stderr)
        return 130
    finally:
        for worker in workers:
            worker.stop()
    if code:
        return code
    write_manifest(args.out)
    _report(workers, args.out)
    return 0


def collect_cfg(args: Generate) -> CollectCfg:
    """What the arguments ask for, checked as far as that goes without an engine.

    Args:
        args: The arguments.
    """
    managers = args.managers or args.policy is not None
    kinds = MANAGED_KINDS if managers else LEAN_KINDS
    if args.shares:
        shares = check_shares(read_shares(args.shares), kinds)
    elif args.policy is not None:
        shares = {"policy": 1.0}
    else:
        shares = check_shares({kind: share for kind, share in DEFAULT_SHARES.items() if kind in kinds})
    ranges = read_ranges(args.ranges)
    ranges_of("", ranges)
    visited = None if args.visited is None else find_model(args.visited).absolute()
    policy_hash = ""
    if args.policy is not None:
        policy_hash = _policy_hash(args.policy)
    return CollectCfg(
        task=args.task,
        steps=args.steps,
        num_envs=args.num_envs,
        seed=args.seed,
        shares=shares,
        initial=args.initial if args.initial != "auto" else "task" if managers else "wide",
        ranges=ranges,
        teacher_mode=args.teacher_mode,
        managers=managers,
        visited=None if visited is None else str(visited),
        visited_hash="" if visited is None else file_digest(visited / "manifest.json"),
        visited_steps=args.visited_steps,
        policy=None if args.policy is None else str(args.policy),
        policy_hash=policy_hash,
        policy_noise=args.policy_noise,
        contacts=args.contacts,
        ground=args.ground,
        physics=args.physics,
    )


def read_shares(words: tuple[str, ...]) -> dict[str, float]:
    """Shares from words like ``random=0.5``.

    Raises:
        ExcitationError: A word is not of that form.
    """
    shares: dict[str, float] = {}
    for word in words:
        kind, _, share = word.partition("=")
        try:
            shares[kind] = float(share)
        except ValueError:
            raise ExcitationError(f"got the share '{word}', expected KIND=NUMBER, for instance random=0.5") from None
    return shares


def read_ranges(words: tuple[str, ...]) -> dict[str, tuple[float, ...]]:
    """Ranges from words like ``joint_vel=3`` or ``root_height=0.5,1.0``.

    Raises:
        InitialStateError: A word is not of that form.
    """
    ranges: dict[str, tuple[float, ...]] = {}
    for word in words:
        name, _, numbers = word.partition("=")
        try:
            ranges[name] = tuple(float(number) for number in numbers.split(","))
        except ValueError:
            raise InitialStateError(
                f"got the range '{word}', expected NAME=NUMBER or NAME=LOW,HIGH, for instance root_height=0.5,1.0"
            ) from None
    return ranges


class _Worker:
    """A process that fills one shard, and what it last said."""

    def __init__(self, args: Generate, cfg: CollectCfg, overrides: list[str], shard: int):
        order = {
            "cfg": to_plain(cfg),
            "out": str(args.out),
            "shard": shard,
            "transitions": args.transitions // args.workers + (shard < args.transitions % args.workers),
            "device": _device(args.device),
            "overrides": overrides,
        }
        self.progress: dict = {}
        self.begun_with: int | None = None
        self.begun_at = time.monotonic()
        self.error: str | None = None
        # not in the dataset: it may be there already, and complete
        self.log = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115  (lives with us)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "nerd_isaaclab.collect.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            text=True,
            # the solver's own workers and OpenMP would fight for the cores
            env={"NERD_PHYSX_THREADS": "0", **os.environ, "OMP_NUM_THREADS": "1"},
            start_new_session=True,  # ctrl-C is ours to pass on
        )
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(order))
        self._process.stdin.close()
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            said = json.loads(line)
            self.error = said.get("error", self.error)
            self.progress = said.get("progress", self.progress)
            if self.begun_with is None and "progress" in said:
                self.begun_at, self.begun_with = time.monotonic(), self.transitions

    @property
    def transitions(self) -> int:
        """Transitions in its shard."""
        return self.progress.get("transitions", 0)

    @property
    def code(self) -> int | None:
        """Exit code; None while it runs."""
        return self._process.poll()

    def last_words(self) -> str:
        """Why it failed: what it said, or else the end of its log."""
        self._listener.join(timeout=5.0)
        if self.error is not None:
            return self.error
        self.log.seek(0)
        lines = deque((line.rstrip() for line in self.log), maxlen=20)
        return f"a worker ended with code {self.code}; its last words:\n" + "\n".join(lines)

    def stop(self) -> None:
        """Ends the process, and waits. What its shard has finished is safe."""
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._listener.join(timeout=5.0)


def _watch(workers: list[_Worker], transitions: int) -> int:
    """Shows how far the workers are until all have ended; if one fails the others are stopped."""
    with tqdm(total=transitions, unit="step", unit_scale=True, desc="starting", disable=None) as bar:
        is_running = False
        while True:
            codes = [worker.code for worker in workers]
            if not is_running and all(worker.begun_with is not None for worker in workers):
                # the time that engines take to start, and what earlier runs did, say nothing about the rate
                bar.initial = bar.n = sum(worker.begun_with or 0 for worker in workers)
                bar.start_t = bar.last_print_t = time.time()
                bar.set_description("generate")
                is_running = True
            if is_running:
                bar.update(min(transitions, sum(worker.transitions for worker in workers)) - bar.n)
            failed = [worker for worker, code in zip(workers, codes, strict=True) if code]
            if failed:
                bar.close()
                print(f"nerd generate: {failed[0].last_words()}", file=sys.stderr)
                return 2
            if all(code == 0 for code in codes):
                bar.update(transitions - bar.n)
                return 0
            time.sleep(0.2)


def _report(workers: list[_Worker], out: Path) -> None:
    """Prints what was collected, and writes it beside the data."""
    seconds = max(time.monotonic() - min(worker.begun_at for worker in workers), 1e-3)  # engines had started
    total = sum(worker.transitions for worker in workers)
    new = total - sum(worker.begun_with or 0 for worker in workers)
    agreement = Agreement()
    for worker in workers:
        agreement.add(from_plain(Agreement, worker.progress["agreement"]))
    report = {
        "transitions": total,
        "trajectories": sum(worker.progress["trajectories"] for worker in workers),
        "new_transitions": new,
        "seconds": round(seconds, 1),
        "transitions_per_second": round(new / seconds),
        "dropped": _sum(worker.progress["dropped"] for worker in workers),
        "kinds": _sum(worker.progress["kinds"] for worker in workers),
    }
    table = Table(show_header=False, title=f"collected in {out.name}")
    for name, value in report.items():
        if isinstance(value, dict):
            value = ", ".join(f"{key}: {count:,}" for key, count in sorted(value.items())) or "none"
        table.add_row(name.replace("_", " "), f"{value:,}" if isinstance(value, int) else str(value))
    console = Console()
    console.print(table)
    for warning in dict.fromkeys(text for worker in workers for text in worker.progress["warnings"]):
        print(f"note: {warning}", file=sys.stderr)
    if agreement.bodies:
        report["contact_agreement"] = {name: dataclasses.asdict(body) for name, body in agreement.bodies.items()}
        console.print(_agreement_table(agreement))
    (out / "report.json").write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


def _agreement_table(agreement: Agreement) -> Table:
    table = Table(title="contacts of the solver against geometry, within 5 mm")
    for column in ("body", "by solver", "explained", "mean gap error", "slots touching", "confirmed"):
        table.add_column(column, justify="left" if column == "body" else "right", overflow="fold")
    for name, body in agreement.bodies.items():
        table.add_row(
            name,
            f"{body.sensor:,}",
            _percent(body.explained, body.sensor),
            f"{1e3 * body.gap_error / body.explained:.3f} mm" if body.explained else "-",
            f"{body.touching:,}",
            _percent(body.confirmed, body.touching),
        )
    return table


def _percent(part: int, whole: int) -> str:
    return f"{100.0 * part / whole:.2f} %" if whole else "-"


def _policy_hash(path: Path) -> str:
    """SHA-256 of a policy's weights.

    Raises:
        CollectError: There is no such policy.
    """
    import hashlib

    from .score import load_policy

    if not path.exists():
        raise CollectError(f"got --policy {path}, where nothing is: expected a policy file or the log folder of a run")
    digest = hashlib.sha256()
    for name, tensor in sorted(load_policy(path).state_dict().items()):
        digest.update(name.encode() + tensor.contiguous().numpy().tobytes())
    return digest.hexdigest()


def _device(name: str) -> str:
    if name != "auto":
        return name
    import torch

    return "cuda:0" if torch.cuda.is_available() else "cpu"


def _sum(counts) -> dict[str, int]:
    total: dict[str, int] = {}
    for count in counts:
        for name, value in count.items():
            total[name] = total.get(name, 0) + value
    return total
