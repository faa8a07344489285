# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Every ``nerd`` command that a page, a help text or a docstring shows is one that the parsers know.

Nothing is run: commands, their sub-commands and their options are compared with what ``--help`` lists.
"""

from __future__ import annotations

import ast
import functools
import json
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

PAGES = ("README.md", "CONTRIBUTING.md", "docs/*.md", "exts/nerd_isaaclab/docs/*", "policies/*.md", "docker/*.md")
HISTORY = {"docs/lab-notebook.md"}
"""Pages that keep the commands of their time."""
CODE = ("source/**/*.py", "exts/**/*.py", "scripts/*.py", "benchmarks/*.py")

SCRIPT_WORDS = {"setup", "test", "help"}
"""Words of the script ``./nerd`` itself; it hands all others to the command."""
FOREIGN = {("rl", "train"), ("rl", "play")}
"""Programs of Isaac Lab, with its options."""

_COMMAND = re.compile(r"^(?:\$ )?(?:\w+=\S* )*(?:\./|\S*bin/)?nerd(?= |$)")
_INLINE = re.compile(r"``?((?:\./|\.venv/bin/)?nerd [^`]+?)``?")
_OPTIONS = re.compile(r"^[│ ]*(-.*)")
_OPTION = re.compile(r"(?<!\S)--[A-Za-z][\w.-]*")

ASK = """
import contextlib, io, json, sys
from nerd_core.cli import main
helps = {}
for words in json.load(sys.stdin):
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        try:
            main([*words, "--help"])
        except SystemExit:
            pass
    helps[" ".join(words)] = out.getvalue()
json.dump(helps, sys.stdout)
"""


@dataclass(frozen=True)
class Shown:
    """A command, and where it is shown."""

    where: str
    words: tuple[str, ...]

    @property
    def command(self) -> tuple[str, ...]:
        """What leads to a parser: the command, and its sub-command, if the next word may be one."""
        inner = self.words[1:2] if len(self.words) > 1 and re.fullmatch(r"[a-z][a-z-]*", self.words[1]) else ()
        return (*self.words[:1], *inner)

    @property
    def options(self) -> set[str]:
        """Options without their values; ``--num_envs`` is ``--num-envs``."""
        names = {word.partition("=")[0] for word in self.words if re.match(r"--[A-Za-z]", word)}
        return {name.replace("_", "-") for name in names} - {"--help"}


def _shown(where: str, text: str) -> Shown | None:
    """A command line as words; None if it is none."""
    line = _COMMAND.sub("nerd", text.strip())
    try:
        words = shlex.split(re.split(r" (?:\||&&|>|;) ", line)[0], comments=True)
    except ValueError:
        words = line.split()
    words = [word.rstrip(",.;:") for word in words]
    plain = re.fullmatch(r"[a-z][a-z-]*", words[1]) if len(words) > 1 else None
    return Shown(where, tuple(words[1:])) if words[:1] == ["nerd"] and plain else None


def _in_text(where: str, text: str) -> list[Shown]:
    """Commands in a page or a docstring: lines of their own (in Markdown, of code blocks), and those in back-quotes."""
    found = [_shown(where, match[1].replace("\n", " ")) for match in _INLINE.finditer(text)]
    if where.endswith((".md", ".rst")):
        lines = "\n".join(re.findall(r"```.*?\n(.*?)```", text, flags=re.S))
    else:
        lines = text
    for line in re.sub(r"\\\n", " ", lines).splitlines():
        if _COMMAND.match(line.strip()):
            found.append(_shown(where, line))
    return [shown for shown in found if shown is not None]


def _docstrings(path: Path) -> str:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef)
    return "\n\n".join(ast.get_docstring(node) or "" for node in ast.walk(tree) if isinstance(node, kinds))


@pytest.fixture(scope="module")
def shown(repo_root: Path) -> list[Shown]:
    """All commands that are shown anywhere."""
    found = []
    for pattern in PAGES:
        for path in sorted(repo_root.glob(pattern)):
            where = str(path.relative_to(repo_root))
            if path.suffix in (".md", ".rst") and where not in HISTORY:
                found += _in_text(where, path.read_text(encoding="utf-8"))
    for pattern in CODE:
        for path in sorted(repo_root.glob(pattern)):
            found += _in_text(str(path.relative_to(repo_root)), _docstrings(path))
    return found


@pytest.fixture(scope="module")
def helps(shown: list[Shown]) -> dict[str, str]:
    """Help text of each command and sub-command, and of the presets of ``nerd train`` that are shown."""
    questions = {shown.command for shown in shown} | {shown.command[:1] for shown in shown}
    questions |= {_question(shown) for shown in shown}
    questions = [list(words) for words in sorted(questions) if words not in FOREIGN]
    run = subprocess.run([sys.executable, "-c", ASK], input=json.dumps(questions), capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def _question(shown: Shown) -> tuple[str, ...]:
    """What to ask for help: the settings that ``nerd train`` has hang on its preset."""
    if shown.words[0] == "train" and "--preset" in shown.words:
        preset = shown.words[shown.words.index("--preset") + 1 :][:1]
        return ("train", "--preset", *preset) if preset and preset[0].isalnum() else ("train",)
    return shown.command


@functools.cache
def _options(text: str) -> frozenset[str]:
    """Options that a help text lists; those in its examples do not count."""
    lines = [found[1] for line in text.splitlines() if (found := _OPTIONS.match(line))]
    return frozenset(name.replace("_", "-") for line in lines for name in _OPTION.findall(line.replace(",", " ")))


def _sub_commands(text: str) -> set[str]:
    """Sub-commands that a help text lists in its usage, or that ``nerd rl`` shows."""
    usage = re.search(r"usage: nerd [\w-]+ .*?\{([a-z,-]+)\}", text.partition("\n\n")[0], flags=re.S)
    return set(usage[1].split(",")) if usage else set(re.findall(r"^ +nerd rl (\w+)", text, flags=re.M))


def test_commands_that_are_shown_exist(shown: list[Shown], helps: dict[str, str]):
    """Each command that is shown is known, with its sub-command and its options."""
    assert len(shown) > 80 and len({each.words[0] for each in shown}) > 12
    wrong = []
    for each in shown:
        name, *inner = each.command
        text = helps.get(name, "")
        line = f"{each.where}: nerd {' '.join(each.words)}"
        if name in SCRIPT_WORDS:
            continue
        if not text:
            wrong.append(f"{line}: there is no command '{name}'")
            continue
        subs = _sub_commands(text)
        if subs and inner and inner[0] not in subs:
            wrong.append(f"{line}: '{name}' knows {sorted(subs)}, not '{inner[0]}'")
        if each.command in FOREIGN:
            continue
        known = _options(helps[" ".join(_question(each))] if subs or name == "train" else text)
        unknown = each.options - known
        if unknown:
            wrong.append(f"{line}: unknown options {sorted(unknown)}")
    assert not wrong, "\n".join(wrong)


def test_a_wrong_option_would_be_found():
    """Of a help text only what it lists counts: not the options in its examples."""
    listed = "options:\n  -n INT, --there INT  how many\n│ --x, --no-x  │\n"
    text = f"usage: nerd toy [-h] {{a,b}}\n\n    nerd toy a --gone 3\n\n{listed}"
    assert _options(text) == {"--there", "--x", "--no-x"}
    assert _sub_commands(text) == {"a", "b"}
    (found,) = _in_text("page.md", "```bash\nA=1 ./nerd toy a --gone=3 --x \\\n  --there 2  # why\n```\n")
    assert found.options == {"--gone", "--x", "--there"} and found.command == ("toy", "a")
