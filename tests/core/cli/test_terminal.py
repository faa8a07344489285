# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What is in a file cannot steer the terminal that its words are printed to."""

import pytest
from rich.table import Table

from nerd_core.cli.terminal import console, say
from nerd_core.files.messages import printable, shortened

HOSTILE = "\x1b[2J\x1b]0;owned\x07 \x9b31m \u202e \r \b \ud800 \x00"
"""Clears the screen, sets the title, turns what follows around, goes back to the beginning of the line."""


def is_harmless(text: str) -> bool:
    """Whether a terminal only shows a text."""
    return all(letter.isprintable() or letter in "\n\t" for letter in text)


def test_letters_stay_and_controls_are_written_out():
    """Letters of all languages, line ends and tabulators stay; escape, bell and turns of direction are shown."""
    assert printable("Käfer, 蟻 ±1\n\tnext") == "Käfer, 蟻 ±1\n\tnext"
    assert printable("a\x1b[31mb") == "a\\x1b[31mb"
    assert is_harmless(printable(HOSTILE)) and "\\ud800" in printable(HOSTILE) and "\\u202e" in printable(HOSTILE)


def test_values_in_messages_are_short():
    """A value of any size is cut, also a whole number that Python does not write."""
    assert shortened("x") == "'x'"
    assert len(shortened("x" * 5000)) == 60 and len(shortened([1] * 5000, 200)) == 200
    assert "too long to show" in shortened(10**5000)


@pytest.mark.parametrize("error", [False, True])
def test_nothing_reaches_a_terminal_unescaped(error, capsys):
    """Texts, cells, headings and titles of tables, and words in colour all pass the same place."""
    table = Table(title=HOSTILE)
    table.add_column(HOSTILE)
    table.add_row(HOSTILE)
    say(HOSTILE, error=error)
    console(error=error).print(table)
    console(error=error, markup=False).print(HOSTILE)
    captured = capsys.readouterr()
    shown = captured.err if error else captured.out
    assert is_harmless(shown) and shown.count("\\x1b[2J") == 5
