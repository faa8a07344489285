# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""One page that shows what a dataset covers."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.ticker import MaxNLocator

from ..files.figures import BLUE, FAINT, INK, ORANGE, RED, TEAL, log_scale, plot_style, save_figure
from ..files.messages import printable
from .inspection import STEP_EDGES, Coverage, DatasetStats
from .layout import DataError

MOST_PANELS = 600
"""Largest number of coordinates and controls on one page."""
_COLUMNS = 6
_PANEL_HEIGHT = 1.45
_BOTTOM_HEIGHT = 3.6


def plot(stats: DatasetStats, path: str | Path) -> None:
    """Draws the page as a PNG (or PDF or SVG, by the ending of the path).

    Args:
        stats: What :func:`~nerd_core.data.inspection.inspect` measured.
        path: File to write.
    """
    if len(stats.state) + len(stats.control) > MOST_PANELS:
        raise DataError(
            f"got {len(stats.state)} coordinates and {len(stats.control)} controls, a page shows at most {MOST_PANELS}"
            ": 'nerd data stats' lists them all"
        )
    rows = [math.ceil(len(part) / _COLUMNS) for part in (stats.state, stats.control)]
    heights = [1.0, *(0.45 + _PANEL_HEIGHT * count for count in rows), _BOTTOM_HEIGHT]
    with plot_style():
        figure = Figure(figsize=(15.0, sum(heights)), facecolor="white")
        top, *middle, bottom = np.asarray(figure.subfigures(4, 1, height_ratios=heights)).tolist()
        _title(top, stats)
        _histograms(middle[0], "State", stats.state, BLUE)
        _histograms(middle[1], "Control", stats.control, TEAL)
        _bottom(bottom, stats)
        save_figure(figure, Path(path), dpi=110)


def _label(name: str) -> str:
    """A name as the page shows it, which is no formula whatever it holds."""
    return printable(name[:60]).replace("$", r"\$")


def _title(area: SubFigure, stats: DatasetStats) -> None:
    hours = stats.duration / 3600
    shortest, median, longest = stats.length
    left = f"{stats.trajectories:,} trajectories · {stats.transitions:,} transitions · {hours:,.2f} h"
    lengths = f"{longest} steps each" if shortest == longest else f"{shortest} to {longest} steps, median {median}"
    right = f"{lengths} · {stats.excluded} with NaN · dataset {stats.dataset_hash[:12] or 'in memory'}"
    area.text(0.035, 0.62, _label(stats.robot), fontsize=22, fontweight="bold", va="center")
    area.text(0.035, 0.22, left, fontsize=12, va="center")
    area.text(0.985, 0.22, right, fontsize=10, color=FAINT, va="center", ha="right")
    area.text(
        0.985,
        0.62,
        f"from {stats.sampled:,} sampled transitions · dashed: limits · bar below: 5 % to 95 %, tick: median",
        fontsize=9,
        color=FAINT,
        va="center",
        ha="right",
    )


def _histograms(area: SubFigure, title: str, coverages: tuple[Coverage, ...], colour: str) -> None:
    if not coverages:
        return
    rows = math.ceil(len(coverages) / _COLUMNS)
    total = 0.45 + _PANEL_HEIGHT * rows
    area.text(0.035, 1 - 0.22 / total, title, fontsize=13, fontweight="bold", va="center")
    axes = area.subplots(rows, _COLUMNS, squeeze=False)
    area.subplots_adjust(
        left=0.035, right=0.985, top=1 - 0.62 / total, bottom=0.3 / total, wspace=0.16, hspace=0.95 if rows > 1 else 0.2
    )
    for axis, coverage in zip(axes.flat, coverages, strict=False):
        _histogram(axis, coverage, colour)
    for axis in axes.flat[len(coverages) :]:
        axis.set_visible(False)


def _histogram(axis: Axes, coverage: Coverage, colour: str) -> None:
    edges, counts = np.array(coverage.edges), np.array(coverage.counts, float)
    counts /= counts.max() or 1.0
    axis.stairs(counts, edges, fill=True, color=colour, alpha=0.85)
    axis.set_ylim(-0.16, 1.08)
    low, middle, high = (coverage.quantiles[i] for i in (2, 4, 6))
    axis.plot([low, high], [-0.09, -0.09], color=INK, linewidth=2.2, solid_capstyle="butt")
    axis.plot([middle], [-0.09], marker="|", color=ORANGE, markersize=9, markeredgewidth=2.2)
    for limit in (coverage.lower, coverage.upper):
        if math.isfinite(limit):
            axis.axvline(limit, color=RED, linewidth=1.0, linestyle=(0, (3, 2)))
    unit = f" [{coverage.unit}]" if coverage.unit else ""
    axis.set_title(f"{_label(coverage.name)}{unit}", fontsize=8.5, loc="left", pad=3)
    if coverage.beyond > 0:
        axis.set_title(f"{coverage.beyond:.2%} beyond", fontsize=7.5, color=RED, loc="right", pad=3)
    axis.set_yticks([])
    axis.xaxis.set_major_locator(MaxNLocator(5))
    _plain(axis, left=False)


def _bottom(area: SubFigure, stats: DatasetStats) -> None:
    axes = area.subplots(1, 3, width_ratios=[1.25, 1.25, 1.0])
    area.subplots_adjust(left=0.055, right=0.985, top=0.87, bottom=0.32, wspace=0.18)
    _steps(axes[0], stats)
    _contacts(axes[1], stats)
    _saturation(axes[2], stats)


def _contacts(axis: Axes, stats: DatasetStats) -> None:
    title = f"Contact slots, {stats.contact_source}" if stats.slots else "Contact slots"
    axis.set_title(title, fontsize=13, fontweight="bold", loc="left")
    _plain(axis)
    if not stats.slots:
        axis.text(0.02, 0.9, "no contacts recorded, no ground to compute them from", color=FAINT, fontsize=10)
        axis.set_axis_off()
        return
    place = np.arange(len(stats.slots))
    axis.bar(place, [100 * slot.active for slot in stats.slots], color=BLUE, alpha=0.35, label="near the ground")
    axis.bar(place, [100 * slot.touching for slot in stats.slots], color=ORANGE, label="touching")
    axis.set_xticks(place, [_label(slot.name) for slot in stats.slots], rotation=60, ha="right", fontsize=7)
    axis.set_xlim(-0.6, max(len(place), 8) - 0.4)
    axis.set_ylabel("steps [%]", fontsize=8.5)
    axis.legend(fontsize=8.5)


def _steps(axis: Axes, stats: DatasetStats) -> None:
    axis.set_title("Size of the steps", fontsize=13, fontweight="bold", loc="left")
    edges = np.array(STEP_EDGES)
    for step in stats.steps:
        counts = np.array(step.counts, float) / stats.sampled
        axis.stairs(np.where(counts > 0, counts, np.nan), edges, color=BLUE, alpha=0.35, linewidth=1.0, baseline=None)
    worst = max(stats.steps, key=lambda step: step.largest)
    axis.axvline(worst.largest, color=RED, linewidth=1.0, linestyle=(0, (3, 2)))
    axis.set_title(f"largest: {_label(worst.name)}, {worst.largest:.0f} σ", fontsize=8.5, color=RED, loc="right")
    log_scale(axis, "x", "y")
    axis.set_xlim(edges[0], max(30.0, worst.largest * 2))
    axis.set_xlabel("|change of state| in its standard deviations, one line a coordinate", fontsize=8.5)
    axis.set_ylabel("share of the steps", fontsize=8.5)
    _plain(axis)


def _saturation(axis: Axes, stats: DatasetStats) -> None:
    axis.set_title("Controls at their extremes", fontsize=13, fontweight="bold", loc="left")
    _plain(axis)
    if not stats.control:
        axis.text(0.02, 0.9, "the robot is not controlled", color=FAINT, fontsize=10)
        axis.set_axis_off()
        return
    place = np.arange(len(stats.control))
    axis.bar(place, [100 * channel.saturated for channel in stats.control], color=TEAL)
    axis.set_xticks(place, [_label(channel.name) for channel in stats.control], rotation=60, ha="right", fontsize=7)
    axis.set_xlim(-0.6, max(len(place), 8) - 0.4)
    axis.set_ylabel("steps [%]", fontsize=8.5)


def _plain(axis: Axes, left: bool = True) -> None:
    axis.grid(visible=False)
    axis.spines["left"].set_visible(left)
    axis.tick_params(labelsize=7.5, length=2.5)


__all__ = ["plot"]
