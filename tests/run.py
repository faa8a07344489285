# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Run the checks and tests of this repository and end with one line of counts.

    ./nerd test                                 # tier fast: lint, unit tests, PhysX tests; under 10 minutes on 2 cores
    ./nerd test --tier unit                     # lint and unit tests only
    ./nerd test --tier ci                       # what .ci/run calls: fast, the longer tests, and pyright
    ./nerd test --slow                          # also the tests that take minutes each
    ./nerd test tests/isaaclab/test_seam_reset_ant.py
    ./nerd test tests/core -- -vv --durations=9 # what follows -- goes to pytest as it is

The unit tests share a few pytest processes. A physics engine cannot be started twice in a process, so each file in
tests/isaaclab has its own. Two processes run side by side, each computing with one thread. A process that takes longer
than its share of time is ended and counted as a failure. Tests marked long are left out of the tiers fast and unit,
unless their file is asked for. Where many files of the engine run, their processes are forked from one that has
imported Isaac Lab; with --slow each starts from nothing. Logs are in logs/tests.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import os
import re
import signal
import subprocess
import sys
import threading
import time
import xml.etree.ElementTree as ElementTree
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from forked import ForkedPytest, can_fork, import_once

ROOT = Path(__file__).resolve().parents[1]
LOGS = ROOT / "logs" / "tests"
UNIT_FOLDERS = ("tests/core", "tests/repo")
ENGINE_FOLDER = "tests/isaaclab"
NOTHING_COLLECTED = 5  # pytest's exit code
TIMEOUT_S = {"unit": 900.0, "fast": 900.0, "ci": 1500.0}
CORE_PROCESSES = 4
"""Into how many processes the unit tests of a whole folder are dealt: both cores have work to the end, and none comes
near its share of time on a crowded machine."""
PYTEST = 3
"""Words in front of the arguments of pytest: python -m pytest."""
QUICK_START = ("-p", "no:unraisableexception", "-p", "no:hypothesispytest")
"""What pytest does without in a process that runs one file: a third of the time of a short one went into collecting the
engine's garbage five times at its end and into loading hypothesis, which imports itself where a test does use it."""
IMPORTED_ONCE = (
    "torch",
    "nerd_isaaclab.tasks",
    "nerd_isaaclab.envs.nerd_env",
    "isaaclab.envs.manager_based_rl_env",
    "isaaclab.envs.mdp",
    "isaaclab_ov.physics.ovphysx_manager",
    "isaaclab_ov.assets.articulation.articulation",
    "isaaclab_ov.assets.articulation.actuator_control",
    "isaaclab_tasks.utils.parse_cfg",
)
"""What most files of the engine import. The tasks come before Isaac Lab, as they have to."""
FEW_FILES = 8
"""So many files of the engine are not worth a process that imports everything beforehand."""
BIN = Path(sys.executable).parent


@dataclasses.dataclass
class Job:
    """One process: a checker, or pytest on some paths."""

    name: str
    """What the person reads, and the stem of the log."""
    command: list[str]
    """The program and its arguments."""
    is_pytest: bool
    """Whether it leaves a JUnit file with counts; else its exit code is the one result."""
    streamed: bool = False
    """Whether its lines are shown while it runs, so that a person sees the tests move."""
    forked: bool = False
    """Whether it is pytest in a process forked from one that has imported much."""

    @property
    def stem(self) -> Path:
        """Path of the log and the JUnit file, without their endings."""
        return LOGS / re.sub(r"\W+", "_", self.name.removesuffix(".py"))[:100]


@dataclasses.dataclass
class Result:
    """What a job came to."""

    name: str
    seconds: float
    processor_seconds: float = 0.0
    """What it took of the processor: on a busy machine, the smaller number."""
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    message: str = ""
    """Why the job failed, if it did so otherwise than by failed tests."""
    files: dict[str, float] = dataclasses.field(default_factory=dict)
    """Seconds by test file."""
    skip_reasons: dict[str, int] = dataclasses.field(default_factory=dict)
    """How many tests each reason has skipped."""


class Runner:
    """Runs jobs, two at a time, and can end all of them."""

    def __init__(self, timeout: float, empty_is_fine: bool):
        self.timeout = timeout
        self.empty_is_fine = empty_is_fine
        self._running: set[subprocess.Popen[str] | ForkedPytest] = set()
        self._lock = threading.Lock()
        self._stopped = False

    def run(self, job: Job) -> Result:
        """Run one job to its end or its timeout, print its line, and return what it came to."""
        start = time.monotonic()
        report, log = job.stem.with_suffix(".xml"), job.stem.with_suffix(".log")
        report.unlink(missing_ok=True)
        command = [*job.command, f"--junitxml={report}"] if job.is_pytest else job.command
        with self._lock:
            if self._stopped:
                return Result(job.name, 0.0)
            process = ForkedPytest(command[PYTEST:], log, ROOT) if job.forked else _start(command)
            self._running.add(process)
        late = threading.Event()

        def end_late() -> None:
            late.set()
            _end(process)

        alarm = threading.Timer(self.timeout, end_late)
        alarm.start()
        lines: list[str] = []
        if isinstance(process, subprocess.Popen):
            lines = _follow(process, log, job.streamed)
            code, processor_seconds = _end_of(process)
        else:
            code, processor_seconds = process.wait(), process.processor_seconds
            text = log.read_text(encoding="utf-8", errors="replace") if log.is_file() else ""
            lines = text.splitlines(keepends=True)
        alarm.cancel()
        with self._lock:
            self._running.discard(process)
        result = Result(job.name, time.monotonic() - start, processor_seconds)
        if job.is_pytest:
            _read_report(report, result)
        self._judge(job, result, code, late.is_set())
        if not self._stopped:
            _print_result(job, result, lines)
        return result

    def _judge(self, job: Job, result: Result, code: int, late: bool) -> None:
        if late:
            result.failed += 1
            result.message = f"ended after {self.timeout:.0f} s without a result; the end of its log names the test"
        elif not job.is_pytest:
            result.failed, result.message = int(code != 0), "" if code == 0 else f"exit code {code}"
        elif code == NOTHING_COLLECTED and not self.empty_is_fine:
            result.failed, result.message = 1, "holds no test"
        elif code not in (0, NOTHING_COLLECTED) and result.failed == 0:
            result.failed = 1
            how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"left with exit code {code}"
            result.message = f"all its reported tests passed, yet the process {how}"

    def stop(self) -> None:
        """End what runs and start nothing more."""
        with self._lock:
            self._stopped = True
            for process in self._running:
                _end(process)


def _start(command: list[str]) -> subprocess.Popen[str]:
    """Start a program whose output is read."""
    return subprocess.Popen(
        command,
        cwd=ROOT,
        env=_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )


def _follow(process: subprocess.Popen[str], log: Path, shown: bool) -> list[str]:
    """Read what a program writes to its end, into its log and perhaps onto the screen."""
    lines: list[str] = []
    assert process.stdout is not None
    with log.open("w", encoding="utf-8") as log_file:
        for line in process.stdout:
            lines.append(line)
            log_file.write(line)
            log_file.flush()
            if shown:
                print(line, end="", flush=True)
    return lines


def _end_of(process: subprocess.Popen[str]) -> tuple[int, float]:
    """Wait for the end of a program; its exit code, and what it and its children took of the processor."""
    try:
        _, status, usage = os.wait4(process.pid, 0)
    except ChildProcessError:  # whoever ended it has waited for it, too
        return process.wait(), 0.0
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, usage.ru_utime + usage.ru_stime


def _end(process: subprocess.Popen[str] | ForkedPytest) -> None:
    """End a job and everything it started: each job leads a process group of its own."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.kill()


def _environment() -> dict[str, str]:
    """Give each process one thread: two run at once, and PhysX and OpenMP otherwise fight for the cores."""
    environment = {"OMP_NUM_THREADS": "1", "MPLBACKEND": "Agg"} | dict(os.environ)
    environment["PATH"] = f"{BIN}{os.pathsep}{environment.get('PATH', '')}"
    environment["PYTHONUNBUFFERED"] = "1"
    return environment


def _read_report(report: Path, result: Result) -> None:
    try:
        suites = ElementTree.parse(report).getroot()
    except (OSError, ElementTree.ParseError):
        return
    for case in suites.iter("testcase"):
        file = case.get("classname", "").split("[")[0].replace(".", "/")
        result.files[file] = result.files.get(file, 0.0) + float(case.get("time", 0.0))
        skipped = case.find("skipped")
        if case.find("failure") is not None or case.find("error") is not None:
            result.failed += 1
        elif skipped is not None:
            result.skipped += 1
            reason = skipped.get("message", "")
            result.skip_reasons[reason] = result.skip_reasons.get(reason, 0) + 1
        else:
            result.passed += 1


def _print_result(job: Job, result: Result, lines: list[str]) -> None:
    state = "FAILED" if result.failed else "ok"
    counts = f"{result.passed} passed, {result.failed} failed, {result.skipped} skipped, " if job.is_pytest else ""
    counts += f"{result.processor_seconds:.1f} s of the processor"
    if result.failed and not job.streamed:
        print(f"\n--- {result.name}: the end of its output (all of it: {job.stem.with_suffix('.log')})")
        print("".join(lines[-120:]).rstrip())
    print(f"{state:6s} {result.name:44s} {result.seconds:6.1f} s  {counts} {result.message}".rstrip(), flush=True)


def _checks(tier: str) -> list[Job]:
    checks = {
        "ruff check": ["ruff", "check", "."],
        "ruff format": ["ruff", "format", "--check", "."],
        "codespell": ["codespell"],
        "import contracts": ["lint-imports", "--no-cache"],
    }
    if tier == "ci":
        checks["pyright"] = ["pyright", "--level", "error", "--pythonpath", sys.executable]
    return [Job(name, [str(BIN / command[0]), *command[1:]], is_pytest=False) for name, command in checks.items()]


def _split(paths: list[str], tier: str) -> tuple[list[str], list[str]]:
    """Sort the asked paths into those for the shared process and the engine files, each for a process of its own."""
    if not paths:
        paths = [*UNIT_FOLDERS] if tier == "unit" else [*UNIT_FOLDERS, ENGINE_FOLDER]
    unit: list[str] = []
    engine: list[str] = []
    for path in paths:
        file = Path(path.split("::")[0])
        full = (file if file.is_absolute() else ROOT / file).resolve()
        if not full.exists():
            sys.exit(f"error: there is no {path}; test files are in {', '.join((*UNIT_FOLDERS, ENGINE_FOLDER))}")
        if not full.is_relative_to(ROOT / "tests"):
            sys.exit(f"error: {path} is not in {ROOT / 'tests'}")
        if full == ROOT / "tests":
            inner_unit, inner_engine = _split([], "fast")
            unit, engine = unit + inner_unit, engine + inner_engine
        elif not full.is_relative_to(ROOT / ENGINE_FOLDER):
            unit.append(path)
        elif full.is_dir():
            engine += [str(test.relative_to(ROOT)) for test in sorted(full.rglob("test_*.py"))]
        else:
            engine.append(path)
    return unit, engine


def _starts_anew(path: str) -> bool:
    """Whether a file asks for a process in which nothing is imported."""
    return "pytest.mark.fresh" in (ROOT / path.split("::")[0]).read_text(encoding="utf-8")


def _deal(folder: str, processes: int) -> list[list[str]]:
    """Deal the test files of a folder to processes: the largest first, each to the process with the fewest bytes."""
    files = sorted((ROOT / folder).rglob("test_*.py"), key=lambda file: (-file.stat().st_size, str(file)))
    hands: list[list[Path]] = [[] for _ in range(min(processes, len(files)))]
    for file in files:
        min(hands, key=lambda hand: sum(held.stat().st_size for held in hand)).append(file)
    return [sorted(str(file.relative_to(ROOT)) for file in hand) for hand in hands]


def _unit_jobs(paths: list[str], pytest: list[str]) -> list[Job]:
    """Make the processes of the unit tests: those of the repository first, then the library's."""
    # The tests of the repository itself import nothing large, so something runs after a second; torch takes four.
    repo = [path for path in paths if path.startswith("tests/repo")]
    core = [path for path in paths if path not in repo]
    parts = {" ".join(repo): repo, " ".join(core): core}
    if core == ["tests/core"]:
        hands = _deal("tests/core", CORE_PROCESSES)
        parts = {" ".join(repo): repo} | {
            f"tests/core, part {i} of {len(hands)}": hand for i, hand in enumerate(hands, 1)
        }
    return [
        Job(name, [*pytest, "--no-header", *files], is_pytest=True, streamed=True)
        for name, files in parts.items()
        if files
    ]


def _print_summary(results: list[Result], seconds: float) -> bool:
    files = {name: spent for result in results for name, spent in result.files.items()}
    slowest = sorted(files.items(), key=lambda item: -item[1])[:10]
    if slowest:
        print("\nslowest files")
        for name, spent in slowest:
            print(f"  {spent:7.1f} s  {name}")
    reasons: dict[str, int] = {}
    for result in results:
        for reason, count in result.skip_reasons.items():
            reasons[reason] = reasons.get(reason, 0) + count
    if reasons:
        print("\nskipped")
        for reason, count in sorted(reasons.items(), key=lambda item: -item[1]):
            print(f"  {count:4d}  {reason}")
    bad = [result.name for result in results if result.failed]
    if bad:
        print(f"\nfailed: {', '.join(bad)}; logs in {LOGS}")
    passed, failed, skipped = (sum(getattr(r, key) for r in results) for key in ("passed", "failed", "skipped"))
    processor = sum(result.processor_seconds for result in results)
    print(f"\nall processes took {processor:.0f} s of the processor")
    print(f"{passed} passed, {failed} failed, {skipped} skipped in {seconds:.0f} s", flush=True)
    return not bad


def main(argv: list[str] | None = None) -> int:
    """Run the asked tier and return the exit code: 0 when everything passed."""
    argv = sys.argv[1:] if argv is None else argv
    cut = argv.index("--") if "--" in argv else len(argv)
    argv, to_pytest = argv[:cut], argv[cut + 1 :]
    parser = argparse.ArgumentParser(
        prog="./nerd test", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("paths", nargs="*", help="test files, folders or file::test; all of the tier by default")
    parser.add_argument("--tier", choices=tuple(TIMEOUT_S), default="fast", help="how much to run (default: fast)")
    parser.add_argument("-k", metavar="EXPRESSION", help="only tests whose names match, as in pytest")
    parser.add_argument("-m", metavar="MARKERS", help="only tests with these markers, as in pytest")
    parser.add_argument("-x", action="store_true", help="each process stops at its first failure")
    parser.add_argument("--gpu", action="store_true", help="also run tests that need an NVIDIA GPU")
    parser.add_argument("--isaacsim", action="store_true", help="also run tests that need Isaac Sim")
    parser.add_argument("--slow", action="store_true", help="also run tests that take minutes")
    parser.add_argument("--no-lint", action="store_true", help="no checkers, only tests")
    parser.add_argument("--timeout", type=float, help="seconds a process may take (default: 900; tier ci: 1500)")
    parser.add_argument("--imported-once", default=",".join(IMPORTED_ONCE), help=argparse.SUPPRESS)
    parser.add_argument("--processes", type=int, default=2, help="how many run side by side (default: 2)")
    args = parser.parse_args(argv)

    options = [f"--{name}" for name in ("gpu", "isaacsim") if getattr(args, name)]
    options += ["--slow"] if args.slow else []
    options += ["--long"] if args.slow or args.tier == "ci" or args.paths else []
    options += [part for key in ("k", "m") if getattr(args, key) for part in (f"-{key}", getattr(args, key))]
    options += ["-x"] if args.x else []
    pytest = [sys.executable, "-m", "pytest", *options, *to_pytest]
    unit, engine = _split(args.paths, args.tier)
    jobs = _unit_jobs(unit, pytest)
    jobs += _checks(args.tier) if not (args.no_lint or args.paths) else []
    anew = args.slow or args.gpu or args.isaacsim or not can_fork()
    forked = len(engine) > FEW_FILES and not anew
    if forked:
        os.environ.update(_environment())
        import_once(args.imported_once.split(","))
    for path in engine:
        command = [*pytest, *QUICK_START, "-v", path]
        jobs.append(Job(path, command, is_pytest=True, forked=forked and not _starts_anew(path)))

    LOGS.mkdir(parents=True, exist_ok=True)
    start = time.monotonic()
    runner = Runner(args.timeout or TIMEOUT_S[args.tier], empty_is_fine=bool(args.k or args.m or to_pytest))
    with ThreadPoolExecutor(args.processes) as pool:
        futures = [pool.submit(runner.run, job) for job in jobs]
        try:
            results = [future.result() for future in futures]
        except KeyboardInterrupt:
            runner.stop()
            print("\ninterrupted", file=sys.stderr)
            return 130
    return 0 if _print_summary(results, time.monotonic() - start) else 1


if __name__ == "__main__":
    sys.exit(main())
