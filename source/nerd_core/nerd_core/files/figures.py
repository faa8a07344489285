# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Matplotlib figures in one style: one palette, names shown as they are, and the same bytes for the same numbers.

.. code-block:: python

    with new_figure(4.2, 3.2) as (figure, axes):
        axes[0].plot(steps, errors, color=BLUE)
        log_scale(axes[0], "y")
        save_figure(figure, Path("errors.png"))

Importing this takes half a second: import it where something is drawn.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, StrMethodFormatter

INK, FAINT, GRID = "#1b2733", "#8896a3", "#e3e4e1"
"""Text, secondary lines and text, grid."""
BLUE, ORANGE, GREEN, TEAL, RED = "#2b6fd6", "#b5571a", "#3d7a00", "#3a9188", "#c0392b"
"""Data, in this order; red is for limits and what lies beyond them."""

STYLE = {
    # Names of robots, joints and tasks come from files: a "$" in them starts no formula.
    "text.parse_math": False,
    # Identifiers inside an SVG would be random otherwise.
    "svg.hashsalt": "nerd",
    "font.size": 9,
    "text.color": INK,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.edgecolor": FAINT,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "xtick.major.size": 0,
    "xtick.minor.size": 0,
    "ytick.major.size": 0,
    "ytick.minor.size": 0,
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "legend.frameon": False,
    "legend.fontsize": 8,
}
"""Settings of Matplotlib that make the style."""

UNDATED = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
"""What is left out of a file so that the same numbers give the same bytes, by the ending of its name."""


def plot_style() -> AbstractContextManager[None]:
    """The style, for what is drawn and saved inside of the ``with`` statement."""
    return rc_context(STYLE)  # pyright: ignore[reportArgumentType]  (names of settings are a long Literal)


@contextmanager
def new_figure(
    width: float, height: float, rows: int = 1, columns: int = 1, sharex: bool = False, sharey: bool = False
) -> Iterator[tuple[Figure, list[Axes]]]:
    """A figure of panels, to be drawn and saved inside of the ``with`` statement.

    Args:
        width: Width of the figure [inch].
        height: Height of the figure [inch].
        rows: Number of rows of panels.
        columns: Number of columns of panels.
        sharex: Whether all panels have the same horizontal axis.
        sharey: Whether all panels have the same vertical axis.

    Yields:
        The figure, and its panels row by row.
    """
    with plot_style():
        figure = Figure(figsize=(width, height), facecolor="white", layout="constrained")
        panels = list(figure.subplots(rows, columns, squeeze=False, sharex=sharex, sharey=sharey).flat)
        for axes in panels:
            axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.6g}"))
            axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,.6g}"))
        yield figure, panels


def log_scale(axes: Axes, *names: str) -> None:
    """Makes axes logarithmic. Values that are not positive are left out.

    Args:
        axes: The panel.
        names: ``"x"``, ``"y"`` or both.
    """
    for name in names:
        set_scale, axis = (axes.set_xscale, axes.xaxis) if name == "x" else (axes.set_yscale, axes.yaxis)
        set_scale("log", nonpositive="mask")
        # Matplotlib's own formatters write powers of ten as formulas, which are off.
        axis.set_major_formatter(FuncFormatter(lambda value, _: _plain(value)))
        axis.set_minor_formatter(FuncFormatter(partial(_between_decades, axis)))


def _between_decades(axis: Axis, value: float, position: int) -> str:
    """Label of a minor tick, where so few powers of ten are in view that they alone would not do: 2 and 5, or all."""
    low, high = axis.get_view_interval()
    return _plain(value) if high < 4 * low or (high < 30 * low and f"{value:e}"[0] in "25") else ""


def _plain(value: float) -> str:
    """A number in few letters: 1e-4, 0.001, 1000."""
    mantissa, exponent = f"{value:.2e}".split("e")
    return f"{value:g}" if 1e-3 <= value < 1e5 else f"{float(mantissa):g}e{int(exponent)}"


def save_figure(figure: Figure, path: Path, dpi: float = 150) -> None:
    """Writes a figure, and makes the folder for it.

    Args:
        figure: The figure.
        path: File to write; its ending chooses between PNG, SVG and PDF.
        dpi: Pixels of an inch in a PNG.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=dpi, metadata=UNDATED.get(path.suffix.lower()))


def svg_text(figure: Figure) -> str:
    """A figure as SVG whose texts stay text, in the font of whoever shows it.

    Args:
        figure: The figure.
    """
    text = io.StringIO()
    with rc_context({"svg.fonttype": "none"}):
        figure.savefig(text, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    return text.getvalue()
