# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Line charts as SVG text, drawn in the colours of the page: they need no script and follow its colour scheme."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 460, 310
LEFT, RIGHT, TOP, BOTTOM = 68, 14, 14, 44
POINTS = 160
"""Points of a line at most: more cannot be seen."""


@dataclass(frozen=True)
class Line:
    """One curve."""

    name: str
    """Name in the legend; empty: not in the legend."""
    x: Sequence[float]
    """Horizontal values."""
    y: Sequence[float]
    """Vertical values. Those that are not finite, or on a logarithmic axis not positive, are left out."""
    color: int = 0
    """Number of the colour."""
    dashed: bool = False
    """Whether it is dashed."""


@dataclass(frozen=True)
class Mark:
    """One figure to compare with, drawn as a diamond."""

    name: str
    """What it is, shown when pointed at."""
    x: float
    """Horizontal value."""
    y: float
    """Vertical value."""
    color: int = 0
    """Number of the colour."""


def chart(
    title: str, lines: Sequence[Line], x_label: str, y_label: str, marks: Sequence[Mark] = (), log: bool = False
) -> str:
    """A chart.

    Args:
        title: What it shows, for those who cannot see it.
        lines: The curves.
        x_label: Name and unit of the horizontal axis.
        y_label: Name and unit of the vertical axis.
        marks: Figures to compare with.
        log: Whether the vertical axis is logarithmic.
    """
    kept = [(line, _points(line, log)) for line in lines]
    x_values = [x for _, points in kept for x, _ in points] + [mark.x for mark in marks]
    y_values = [y for _, points in kept for _, y in points] + [mark.y for mark in marks]
    if not x_values:
        return "<p>No finite values to draw.</p>"
    x_low, x_high = min(0.0, *x_values), max(*x_values, 1e-9)
    y_low, y_high, y_ticks = _log_axis(y_values) if log else _linear_axis(min(y_values), max(y_values))

    def place(x: float, y: float) -> tuple[float, float]:
        share = (math.log(y / y_low) / math.log(y_high / y_low)) if log else (y - y_low) / (y_high - y_low)
        across = LEFT + (x - x_low) / (x_high - x_low) * (WIDTH - LEFT - RIGHT)
        return across, HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)

    parts = [f'<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}">']
    for tick in y_ticks:
        _, height = place(x_low, tick)
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{height:.1f}" y2="{height:.1f}"/>')
        parts.append(f'<text x="{LEFT - 7}" y="{height + 4:.1f}" text-anchor="end">{_tick(tick)}</text>')
    for tick in _linear_axis(x_low, x_high)[2]:
        if x_low <= tick <= x_high:
            across, _ = place(tick, y_low)
            parts.append(f'<text x="{across:.1f}" y="{HEIGHT - BOTTOM + 17}" text-anchor="middle">{_tick(tick)}</text>')
    base = HEIGHT - BOTTOM
    parts.append(f'<line class="axis" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{base}" y2="{base}"/>')
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(f'<text x="{middle}" y="{HEIGHT - 7}" text-anchor="middle">{escape(x_label)}</text>')
    at = (TOP + base) / 2
    parts.append(f'<text transform="rotate(-90 12 {at})" x="12" y="{at}" text-anchor="middle">{escape(y_label)}</text>')
    for line, points in kept:
        if points:
            path = " ".join(f"{x:.1f},{y:.1f}" for x, y in (place(*point) for point in points))
            dash = ' stroke-dasharray="5 4"' if line.dashed else ""
            parts.append(f'<polyline class="line c{line.color}" points="{path}"{dash}/>')
    for mark in marks:
        x, y = place(mark.x, mark.y)
        parts.append(
            f'<path class="mark c{mark.color}" d="M{x:.1f} {y - 6:.1f}l6 6l-6 6l-6 -6z">'
            f"<title>{escape(mark.name)}</title></path>"
        )
    return "".join(parts) + "</svg>" + _legend(lines, bool(marks))


def _legend(lines: Sequence[Line], has_marks: bool) -> str:
    items = {(line.name, line.color, line.dashed) for line in lines if line.name}
    keys = [
        f'<span class="key"><i class="swatch c{color}{" dashed" if dashed else ""}"></i>{escape(name)}</span>'
        for name, color, dashed in sorted(items, key=lambda item: (item[1], item[2]))
    ]
    if has_marks:
        keys.append('<span class="key"><i class="diamond"></i>the paper</span>')
    return f'<div class="legend">{"".join(keys)}</div>'


def _points(line: Line, log: bool) -> list[tuple[float, float]]:
    """The points of a line that can be drawn, thinned."""
    stride = max(1, len(line.x) // POINTS)
    kept = set(range(0, len(line.x), stride)) | {len(line.x) - 1}
    return [
        (x, y)
        for number, (x, y) in enumerate(zip(line.x, line.y, strict=True))
        if number in kept and y is not None and math.isfinite(y) and (y > 0 or not log)
    ]


def _log_axis(values: Sequence[float]) -> tuple[float, float, list[float]]:
    """Lowest and highest value of a logarithmic axis, whole powers of ten, and its ticks."""
    low = math.floor(math.log10(min(values)) + 1e-9)
    high = max(math.ceil(math.log10(max(values)) - 1e-9), low + 1)
    return 10.0**low, 10.0**high, [10.0**power for power in range(low, high + 1)]


def _linear_axis(low: float, high: float) -> tuple[float, float, list[float]]:
    """Lowest and highest value of a linear axis, round numbers, and its ticks."""
    if high <= low:
        low, high = low - 0.5, high + 0.5
    rough = (high - low) / 5
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= rough * 0.999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return first * step, last * step, [number * step for number in range(first, last + 1)]


def _tick(value: float) -> str:
    """A number at an axis."""
    if value == 0:
        return "0"
    if abs(value) < 1e-3 or abs(value) >= 1e6:
        return f"{value:.0e}".replace("e-0", "e-").replace("e+0", "e")
    return f"{value:,.6g}"
