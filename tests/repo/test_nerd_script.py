# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Tests of the ./nerd script: a copy of it runs for real, with a small program in place of pip."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

# The module that stands for pip in the environments made here. It "installs" two packages the way pip does: a package
# that has a record is left alone, and the record is written last.
FAKE_PIP = '''
import os, pathlib, sys, sysconfig, time

site = pathlib.Path(sysconfig.get_paths()["purelib"])
scripts = pathlib.Path(sysconfig.get_paths()["scripts"])
if "--version" in sys.argv:
    sys.exit(0)
with open(os.environ["FAKE_CALLS"], "a") as calls:
    calls.write("pip " + " ".join(sys.argv[1:]) + "\\n")
failure = os.environ.get("FAKE_PIP_FAILURE")
if failure:
    sys.exit(failure)
if "setuptools" in sys.argv:
    sys.exit(0)
for name in ("torch", "nerd_core"):
    info = site / f"{name}-1.0.dist-info"
    if info.exists():
        continue
    with open(os.environ["FAKE_CALLS"], "a") as calls:
        calls.write(f"install {name}\\n")
    (site / name).mkdir(exist_ok=True)
    (site / name / "__init__.py").write_text("value = 1\\n")
    info.mkdir()
    (info / "METADATA").write_text(f"Name: {name}\\n")
    time.sleep(float(os.environ.get("FAKE_PIP_SECONDS", "0")))
    (info / "RECORD").write_text(f"{name}/__init__.py,sha256=x,10\\n{name}-1.0.dist-info/RECORD,,\\n")
program = scripts / "nerd"
program.write_text(f"""#!/usr/bin/env bash
echo "nerd $*" >> "$FAKE_CALLS"
exit ${{FAKE_NERD_EXIT:-0}}
""")
program.chmod(0o755)
'''

FAKE_PYTHON = """#!/usr/bin/env bash
if [[ ${{1:-}} == -m && ${{2:-}} == venv ]]; then
  {python} -m venv --without-pip "${{@:3}}" || exit 1
  mkdir -p "${{@: -1}}/lib/python3.12/site-packages/pip"
  cat {pip} > "${{@: -1}}/lib/python3.12/site-packages/pip/__main__.py"
  exit 0
fi
exec {python} "$@"
"""

# What the script may use of the system; no Python among it.
TOOLS = (
    "bash awk cat cut date df dirname du env flock grep ls mkdir mv readlink realpath rm sed sha256sum sleep tail uname"
)


class Checkout:
    """A copy of the script and of what it reads, with a home and a PATH of its own."""

    def __init__(self, folder: Path, root: Path):
        self.root = folder / "checkout"
        self.calls_file = folder / "calls.txt"
        self.home = folder / "home"
        self.tools = folder / "tools"
        for path in ("nerd", "constraints.txt", "source/nerd_core/pyproject.toml", "exts/nerd_isaaclab/pyproject.toml"):
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / path, self.root / path)
        self.home.mkdir()
        self.tools.mkdir()
        for tool in TOOLS.split():
            found = shutil.which(tool)
            assert found, f"this machine has no {tool}"
            (self.tools / tool).symlink_to(found)
        pip = folder / "fake_pip.py"
        pip.write_text(FAKE_PIP)
        self.python_text = FAKE_PYTHON.format(python=os.path.realpath(sys.executable), pip=pip)
        self.python = self.add_program(folder / "bin" / "python3.12", self.python_text)
        self.environment = {
            "PATH": f"{self.python.parent}:{self.tools}",
            "HOME": str(self.home),
            "FAKE_CALLS": str(self.calls_file),
        }

    @staticmethod
    def add_program(path: Path, text: str) -> Path:
        """Write a program that can be called."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        path.write_text(text)
        path.chmod(0o755)
        return path

    @property
    def site(self) -> Path:
        """The folder of the installed packages."""
        return self.root / ".venv/lib/python3.12/site-packages"

    def calls(self) -> list[str]:
        """What was called so far, in order; the list starts anew."""
        lines = self.calls_file.read_text().splitlines() if self.calls_file.exists() else []
        self.calls_file.unlink(missing_ok=True)
        return lines

    def start(self, *arguments: str, **environment: str) -> subprocess.Popen[str]:
        """Start the script in a process group of its own."""
        return subprocess.Popen(
            [str(self.root / "nerd"), *arguments],
            env=self.environment | environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def run(self, *arguments: str, **environment: str) -> tuple[int, str]:
        """Run the script to its end; return the exit code and what it printed."""
        process = self.start(*arguments, **environment)
        output, errors = process.communicate(timeout=60)
        return process.returncode, output + errors


@pytest.fixture
def checkout(tmp_path: Path, repo_root: Path) -> Checkout:
    """Return a fresh copy of the script in a folder of its own."""
    return Checkout(tmp_path, repo_root)


def _installed(calls: list[str]) -> list[str]:
    return [call.removeprefix("install ") for call in calls if call.startswith("install ")]


def _wait_for(condition, seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.02)


def test_help_needs_nothing(checkout: Checkout):
    """The help is printed before anything is installed, even without a Python."""
    code, output = checkout.run("--help", PATH=str(checkout.tools))
    assert code == 0 and "setup" in output and "NERD_PYTHON" in output
    assert not (checkout.root / ".venv").exists()


def test_first_call_installs_then_runs(checkout: Checkout):
    """The first call installs with the pinned versions, builds the assets, then runs the word with its arguments."""
    code, output = checkout.run("list-envs", "--all", "two words")
    calls = checkout.calls()
    assert code == 0, output
    assert _installed(calls) == ["torch", "nerd_core"]
    assert all("-c" in call and "constraints.txt" in call for call in calls if call.startswith("pip"))
    assert calls[-2:] == ["nerd assets build", "nerd list-envs --all two words"]


def test_later_calls_start_at_once(checkout: Checkout):
    """When all is there, no pip runs and the script adds less than 0.3 s."""
    checkout.run("setup")
    checkout.calls()
    times = []
    for _ in range(5):
        start = time.monotonic()
        code, _ = checkout.run("word")
        times.append(time.monotonic() - start)
        assert code == 0
    assert checkout.calls() == ["nerd word"] * 5
    assert min(times) < 0.3


def test_output_is_the_commands_alone(checkout: Checkout):
    """What the script says goes to stderr, so that the output of a command can be piped even when it sets up first."""
    checkout.run("setup")
    shutil.rmtree(checkout.site / "torch")
    output, errors = checkout.start("word").communicate(timeout=60)
    assert output == "" and "[nerd] ready" in errors


def test_exit_code_is_the_commands(checkout: Checkout):
    """What the command returns is what the script returns."""
    checkout.run("setup")
    assert checkout.run("word", FAKE_NERD_EXIT="7")[0] == 7


def test_test_word_runs_the_test_runner(checkout: Checkout):
    """`./nerd test ARGS` hands the arguments to tests/run.py in the environment's Python."""
    checkout.add_program(checkout.root / "tests/run.py", "import sys\nprint(sys.prefix, sys.argv[1:])\n")
    code, output = checkout.run("test", "--tier", "unit")
    assert code == 0 and f"{checkout.root}/.venv ['--tier', 'unit']" in output


def test_failing_shim_is_passed_over(checkout: Checkout):
    """A python3.12 on PATH that fails when called does not hide the one that pyenv keeps."""
    shim = checkout.add_program(
        checkout.home / "shims/python3.12",
        "#!/usr/bin/env bash\necho 'pyenv: python3.12: command not found' >&2\nexit 127\n",
    )
    checkout.add_program(checkout.home / ".pyenv/versions/3.12.1/bin/python", checkout.python_text)
    code, output = checkout.run("word", PATH=f"{shim.parent}:{checkout.tools}")
    assert code == 0 and ".pyenv/versions/3.12.1" in output


def test_python_of_uv_is_found(checkout: Checkout):
    """When only uv knows a Python 3.12, that one is used."""
    kept = checkout.add_program(checkout.home / "uv-python/python3.12", checkout.python_text)
    checkout.add_program(
        checkout.tools / "uv", f'#!/usr/bin/env bash\n[[ "$*" == "python find 3.12" ]] && echo {kept}\n'
    )
    code, output = checkout.run("word", PATH=str(checkout.tools))
    assert code == 0 and str(kept) in output


def test_no_python_is_one_clear_message(checkout: Checkout):
    """Without a Python 3.12 the script says what to install, and leaves nothing behind."""
    code, output = checkout.run("word", PATH=str(checkout.tools))
    assert code == 1
    assert output.count("error:") == 1 and "uv python install 3.12" in output and "NERD_PYTHON" in output
    assert not (checkout.root / ".venv").exists()


def test_wrong_named_python_is_refused(checkout: Checkout):
    """NERD_PYTHON naming something that is no Python 3.12 is an error, not a silent choice of another."""
    code, output = checkout.run("word", NERD_PYTHON="/bin/false")
    assert code == 1 and output.count("error:") == 1 and "/bin/false" in output


def test_small_disk_is_one_clear_message(checkout: Checkout):
    """With less than 10 GB nothing is begun; a complete environment is not asked for space again."""
    full_df = "#!/usr/bin/env bash\necho header\necho '/dev/x 100 90 5242880 95% /'\n"
    checkout.add_program(checkout.tools / "df", full_df)
    code, output = checkout.run("word")
    assert code == 1 and output.count("error:") == 1 and "5 GB free" in output and "NERD_VENV" in output
    assert checkout.calls() == []
    checkout.add_program(checkout.tools / "df", full_df.replace("5242880", "20971520"))
    assert checkout.run("word")[0] == 0
    checkout.add_program(checkout.tools / "df", full_df)
    assert checkout.run("word")[0] == 0


@pytest.mark.parametrize(
    ("failure", "expected"),
    [
        ("NewConnectionError: Failed to establish a new connection: [Errno 101] Network is unreachable", "no network"),
        ("ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device", "disk became full"),
        ("ERROR: ResolutionImpossible", "ResolutionImpossible"),
    ],
)
def test_failing_pip_is_one_clear_message(checkout: Checkout, failure: str, expected: str):
    """A failing pip is explained in one message that names the log, and the next call continues."""
    code, output = checkout.run("word", FAKE_PIP_FAILURE=failure)
    assert code == 1 and output.count("error:") == 1 and expected in output and "logs/setup.log" in output
    assert checkout.run("word")[0] == 0


def test_killed_install_is_healed(checkout: Checkout):
    """An install that was killed in the middle of a package is finished by the next call."""
    process = checkout.start("word", FAKE_PIP_SECONDS="30")
    _wait_for(lambda: (checkout.site / "torch-1.0.dist-info").exists())
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    assert not (checkout.site / "torch-1.0.dist-info/RECORD").exists()
    checkout.calls()
    code, output = checkout.run("word")
    assert code == 0, output
    assert _installed(checkout.calls()) == ["torch", "nerd_core"]


def test_ctrl_c_is_clean(checkout: Checkout):
    """ctrl-C ends the script and its pip with code 130 and one line, and the next call continues."""
    process = checkout.start("word", FAKE_PIP_SECONDS="30")
    _wait_for(lambda: (checkout.site / "torch-1.0.dist-info").exists())
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=20)
    assert process.returncode == 130 and "interrupted" in errors and "Traceback" not in errors
    assert checkout.run("word")[0] == 0


@pytest.mark.parametrize("broken", ["missing", "dangling"])
def test_missing_interpreter_is_healed_without_a_new_install(checkout: Checkout, broken: str):
    """When the environment's Python is gone, it is linked anew and the installed packages stay."""
    checkout.run("setup")
    checkout.calls()
    for link in (checkout.root / ".venv/bin").glob("python*"):
        link.unlink()
        if broken == "dangling":
            link.symlink_to("/nonexistent/python")
    code, output = checkout.run("word")
    assert code == 0, output
    assert _installed(checkout.calls()) == []


def test_deleted_package_is_installed_again(checkout: Checkout):
    """A package folder that somebody deleted comes back, and only that one is installed."""
    checkout.run("setup")
    checkout.calls()
    shutil.rmtree(checkout.site / "torch")
    code, output = checkout.run("word")
    assert code == 0 and "torch-1.0 is incomplete" in output
    assert _installed(checkout.calls()) == ["torch"]
    assert (checkout.site / "torch/__init__.py").exists()


def test_package_cut_short_is_installed_again(checkout: Checkout):
    """A file shorter than its record (a crash while writing) makes its package be installed again."""
    checkout.run("setup")
    checkout.calls()
    (checkout.site / "torch/__init__.py").write_text("")
    (checkout.root / ".venv/.nerd-stamp").unlink()
    assert checkout.run("word")[0] == 0
    assert _installed(checkout.calls()) == ["torch"]


def test_changed_pins_install_again(checkout: Checkout):
    """A changed constraints.txt makes the next call install, once."""
    checkout.run("setup")
    checkout.calls()
    with (checkout.root / "constraints.txt").open("a") as pins:
        pins.write("another==1.0\n")
    checkout.run("word")
    assert sum(call.startswith("pip") for call in checkout.calls()) == 2
    checkout.run("word")
    assert checkout.calls() == ["nerd word"]


def test_failed_upgrade_is_not_forgotten(checkout: Checkout):
    """When an upgrade failed half-way and its pins are taken back, the environment is still put in order."""
    checkout.run("setup")
    pins = checkout.root / "constraints.txt"
    original = pins.read_text()
    pins.write_text(original + "another==1.0\n")
    assert checkout.run("word", FAKE_PIP_FAILURE="ERROR: ResolutionImpossible")[0] == 1
    pins.write_text(original)
    checkout.calls()
    assert checkout.run("word")[0] == 0
    assert any(call.startswith("pip") for call in checkout.calls())


def test_moved_checkout_gets_a_new_environment(checkout: Checkout):
    """After the checkout was moved its environment (full of old paths) is made anew."""
    checkout.run("setup")
    checkout.calls()
    checkout.root = checkout.root.rename(checkout.root.with_name("moved"))
    code, output = checkout.run("word")
    assert code == 0 and "made elsewhere" in output
    assert _installed(checkout.calls()) == ["torch", "nerd_core"]


def test_two_calls_at_once_install_once(checkout: Checkout):
    """Of two calls at the same time one installs; the other waits, then both run their word."""
    first = checkout.start("one", FAKE_PIP_SECONDS="0.5")
    _wait_for(lambda: (checkout.root / ".venv.lock").exists())
    second = checkout.start("two", FAKE_PIP_SECONDS="0.5")
    outputs = [process.communicate(timeout=60)[1] for process in (first, second)]
    calls = checkout.calls()
    assert first.returncode == 0 and second.returncode == 0, outputs
    assert sorted(_installed(calls)) == ["nerd_core", "torch"]
    assert {"nerd one", "nerd two"} <= set(calls)
    assert any("waiting" in output for output in outputs)


def test_named_place_of_the_environment(checkout: Checkout, tmp_path: Path):
    """NERD_VENV moves the environment to another place, path with a space included."""
    place = tmp_path / "big disk" / "env"
    assert checkout.run("word", NERD_VENV=str(place))[0] == 0
    assert (place / "bin/nerd").exists() and not (checkout.root / ".venv").exists()
    checkout.calls()
    assert checkout.run("word", NERD_VENV=str(place))[0] == 0
    assert checkout.calls() == ["nerd word"]
