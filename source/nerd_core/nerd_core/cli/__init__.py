# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The command ``nerd``: finds the program behind the first word, imports that program alone, and runs it.

A command is a function that takes the remaining words and returns an exit code (or None for 0)::

    def main(argv: list[str]) -> int | None:
        \"\"\"One line that 'nerd --help' shows.\"\"\"

Other packages add commands through the entry-point group ``nerd.commands``::

    [project.entry-points."nerd.commands"]
    collect = "some_package.collect:main"

The help reads the docstrings from the source without running it, so that it stays instant however heavy the commands.
"""

from __future__ import annotations

import ast
import difflib
import importlib
import importlib.metadata
import importlib.util
import os
import re
import sys
from pathlib import Path

from .. import __version__

GROUP = "nerd.commands"
"""Entry-point group through which other packages add commands."""

BUILT_IN = {
    "data": "nerd_core.cli.data:main",
    "train": "nerd_core.cli.train:main",
    "checkpoint": "nerd_core.cli.checkpoint:main",
    "identify": "nerd_core.cli.identify:main",
    "experiment": "nerd_core.cli.experiment:main",
}
"""Commands of this package, and where their functions stand."""

EXIT_ERROR = 2
EXIT_INTERRUPTED = 130

MOST_LINES, MOST_LETTERS = 100, 2000
"""Lines of a message that are shown, and letters of a line."""

EXPLAINED = (ValueError, OSError, ModuleNotFoundError)
"""Exceptions whose message is the answer: what was got, expected and what to do. Any other is a bug: a traceback."""


def main(argv: list[str] | None = None) -> int:
    """Runs one command and returns its exit code.

    Args:
        argv: Words after ``nerd``; by default those of the process.
    """
    words = sys.argv[1:] if argv is None else list(argv)
    if words and words[0] in ("--version", "-V"):
        print(f"nerd_core {__version__}")
        return 0
    commands = find_commands()
    if not words or words[0] in ("--help", "-h", "help"):
        print(_help(commands))
        return 0 if words else EXIT_ERROR
    if words[0] not in commands:
        print(_unknown(words[0], commands), file=sys.stderr)
        return EXIT_ERROR
    return _run(words[0], commands[words[0]], words[1:])


def find_commands() -> dict[str, str]:
    """Names of all commands and their functions as ``module:function``. A built-in name cannot be taken over."""
    added = {point.name: point.value for point in importlib.metadata.entry_points(group=GROUP)}
    return BUILT_IN | {name: added[name] for name in sorted(added) if name not in BUILT_IN}


def summary(target: str) -> str:
    """First line of the docstring of a command's function (or of its module), read without importing the module."""
    module, _, function = target.partition(":")
    path = _source(module)
    if path is None:
        return f"(cannot be found: {target})"
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, SyntaxError) as error:
        return f"(cannot be read: {error})"
    found = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == function]
    docstring = (ast.get_docstring(found[0]) if found else None) or ast.get_docstring(tree) or ""
    return help_text(docstring).partition("\n")[0]


def help_text(docstring: str | None) -> str:
    """The docstring of a program as its help shows it: without the marks of reStructuredText."""
    return re.sub(r"\.\. code-block:: \w+\n\n", "", docstring or "").replace("``", "")


def _run(name: str, target: str, argv: list[str]) -> int:
    """Imports the command and runs it; explained errors become one message."""
    module, _, function = target.partition(":")
    try:
        code = getattr(importlib.import_module(module), function)(argv)
        sys.stdout.flush()
    except KeyboardInterrupt:
        print(f"\nnerd {name}: interrupted", file=sys.stderr)
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # The reader (head, less) has gone. Python would complain once more while it closes the stream.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_ERROR
    except Exception as error:
        explained = isinstance(error, EXPLAINED) or _is_out_of_memory(error)
        if os.environ.get("NERD_DEBUG", "0") not in ("", "0") or not explained:
            raise
        return _tell(name, error)
    return int(code or 0)


def _tell(name: str, error: Exception) -> int:
    """Says in one message what an error is, and returns the exit code."""
    from ..files.messages import explain, first_line, printable  # what the help does not need

    said = explain(error)
    if _is_out_of_memory(error):
        said = f"out of memory ({first_line(error)}): choose smaller sizes"
    # A message may repeat what stands in a file of anybody.
    lines = [printable(line[:MOST_LETTERS]) for line in said.split("\n")[:MOST_LINES]]
    print(f"nerd {name}: {'\n'.join(lines)}", file=sys.stderr)
    return EXIT_ERROR


def _is_out_of_memory(error: Exception) -> bool:
    """Whether NumPy, or PyTorch on a GPU or a CPU, found no memory. PyTorch is not imported to ask."""
    return isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError" or "alloc_cpu" in str(error)


def _source(module: str) -> Path | None:
    """File of a module. Only the spec of the top package is asked for: asking for more would import the packages."""
    top, *inner = module.split(".")
    try:
        spec = importlib.util.find_spec(top)
    except (ImportError, ValueError):
        return None
    if spec is None:
        return None
    if not inner:
        return Path(spec.origin) if spec.origin else None
    for root in spec.submodule_search_locations or ():
        base = Path(root, *inner)
        for path in (base.with_suffix(".py"), base / "__init__.py"):
            if path.is_file():
                return path
    return None


def _help(commands: dict[str, str]) -> str:
    width = max(len(name) for name in commands)
    lines = [f"  {name:<{width}}  {summary(target)}" for name, target in commands.items()]
    return "\n".join(
        [
            f"nerd {__version__}: learned robot dynamics, from data to policies.",
            "",
            "usage: nerd COMMAND [...]",
            "",
            "commands:",
            *lines,
            "",
            "'nerd COMMAND --help' tells more. NERD_DEBUG=1 shows the traceback of an error.",
        ]
    )


def _unknown(name: str, commands: dict[str, str]) -> str:
    from ..files.messages import printable  # what the help does not need

    near = difflib.get_close_matches(name, commands, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(repr(word) for word in near)}?" if near else f"there are: {', '.join(commands)}"
    return f"nerd: got the unknown command '{printable(name[:80])}', {hint} ('nerd --help' lists all)"
