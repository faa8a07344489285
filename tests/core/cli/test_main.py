# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The command ``nerd`` finds, explains and runs its commands, and starts fast."""

import os
import subprocess
import sys
import textwrap

import pytest

import nerd_core.cli as cli


@pytest.fixture
def command(tmp_path, monkeypatch):
    """Adds a command 'probe' whose body is given as source."""

    def add(body: str) -> None:
        source = "def main(argv):\n    '''Probes things.'''\n" + textwrap.indent(textwrap.dedent(body), "    ")
        (tmp_path / "probe_command.py").write_text(source)
        sys.modules.pop("probe_command", None)

    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(cli, "find_commands", lambda: cli.BUILT_IN | {"probe": "probe_command:main"})
    return add


def test_help_lists_every_command_with_its_line(capsys, command):
    """The help names built-in and added commands, each with the first line of its docstring."""
    command("return 0")
    assert cli.main(["--help"]) == 0
    out = capsys.readouterr().out
    assert "probe       Probes things." in out
    for name in cli.BUILT_IN:
        line = next(line for line in out.splitlines() if line.split()[:1] == [name])
        assert len(line.split()) > 3 and "cannot be" not in line


def test_no_word_shows_the_help_and_fails(capsys):
    """'nerd' alone shows what it can do, with an exit code that a script notices."""
    assert cli.main([]) == 2
    assert "usage: nerd COMMAND" in capsys.readouterr().out


def test_an_unknown_command_lists_near_names(capsys):
    """A slip of the finger is answered with the right name."""
    assert cli.main(["checkpoind"]) == 2
    assert "did you mean 'checkpoint'?" in capsys.readouterr().err


def test_words_and_exit_code_pass_through(capsys, command):
    """A command gets the words after its name, and its exit code is the process's."""
    command("print(argv); return 7")
    assert cli.main(["probe", "a", "--b"]) == 7
    assert capsys.readouterr().out == "['a', '--b']\n"


@pytest.mark.parametrize("error", ["ValueError", "FileNotFoundError", "ModuleNotFoundError"])
def test_an_explained_error_is_one_message_without_traceback(capsys, command, monkeypatch, error):
    """The message stands alone with exit code 2; NERD_DEBUG=1 lets the exception through."""
    command(f"raise {error}('got 3 joints, expected 2')")
    monkeypatch.delenv("NERD_DEBUG", raising=False)
    assert cli.main(["probe"]) == 2
    assert capsys.readouterr().err == "nerd probe: got 3 joints, expected 2\n"
    monkeypatch.setenv("NERD_DEBUG", "1")
    with pytest.raises((ValueError, OSError, ImportError)):
        cli.main(["probe"])


def test_a_bug_keeps_its_traceback(command):
    """An exception that explains nothing is not swallowed."""
    command("raise KeyError('x')")
    with pytest.raises(KeyError):
        cli.main(["probe"])


def test_ctrl_c_is_a_short_line(capsys, command):
    """An interrupt ends with the shell's code for it and without a traceback."""
    command("raise KeyboardInterrupt")
    assert cli.main(["probe"]) == 130
    assert "interrupted" in capsys.readouterr().err


def test_a_built_in_name_cannot_be_taken_over(monkeypatch):
    """Another package's entry point called 'train' does not replace ours."""
    import importlib.metadata as metadata

    points = [metadata.EntryPoint(name, "elsewhere:main", cli.GROUP) for name in ("train", "collect")]
    monkeypatch.setattr(metadata, "entry_points", lambda group: points)
    assert cli.find_commands()["train"] == cli.BUILT_IN["train"]
    assert cli.find_commands()["collect"] == "elsewhere:main"


def test_the_help_runs_no_command(tmp_path, monkeypatch, capsys):
    """The one-line descriptions are read from the source, also of a module inside a package; nothing is imported."""
    package = tmp_path / "probe_package"
    package.mkdir()
    (package / "__init__.py").write_text("raise RuntimeError('imported')")
    (package / "tool.py").write_text('"""Does it.\n\nMore."""\nraise RuntimeError("imported")\n')
    monkeypatch.syspath_prepend(tmp_path)
    assert cli.summary("probe_package.tool:main") == "Does it."
    assert "cannot be found" in cli.summary("probe_nowhere.tool:main")


def test_the_help_starts_fast():
    """'nerd --help' imports no torch and takes under 0.3 s of processor time, the interpreter's start included."""
    code = "import sys, nerd_core.cli as cli; cli.main(['--help']); assert 'torch' not in sys.modules"
    times = []
    for _ in range(3):
        before = os.times()
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
        after = os.times()
        times.append(after.children_user + after.children_system - before.children_user - before.children_system)
    assert min(times) < 0.3


def test_an_unknown_command_cannot_steer_the_terminal(capsys):
    """A word that was pasted with control characters is shown without them."""
    from nerd_core.cli import main

    assert main(["\x1b[2Jtrain"]) == 2
    assert r"unknown command '\x1b[2Jtrain'" in capsys.readouterr().err
