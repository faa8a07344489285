# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Draw the open-loop errors of several models beside each other, from what ``nerd evaluate --json`` wrote.

    python benchmarks/compare_curves.py ant.png --files one.json two.json --labels "one network" "with a solver"
    python benchmarks/compare_curves.py cart.png --files a.json --labels A --quantities joint_m --paper joint_m:100:2e-4

Curves are means over all steps up to the horizon, as the paper defines its errors.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import tyro

TITLES = {
    "base_position_m": "position [m]",
    "base_orientation_rad": "base orientation [rad]",
    "joint_rad": "joints [rad]",
    "joint_m": "cart [m]",
}


@dataclass(frozen=True)
class Options:
    """Draw the open-loop errors of several models beside each other."""

    out: tyro.conf.Positional[Path]
    """Picture to write."""
    files: tuple[Path, ...]
    """Results of ``nerd evaluate --json``."""
    labels: tuple[str, ...]
    """What to call them, in the same order."""
    quantities: tuple[str, ...] = ("base_position_m", "base_orientation_rad", "joint_rad")
    """What to draw, a panel each."""
    paper: tuple[str, ...] = ()
    """Published errors to mark, each ``quantity:horizon:error``."""


def main() -> None:
    """Reads and draws."""
    options = tyro.cli(Options, description=__doc__)
    if len(options.files) != len(options.labels):
        raise SystemExit(f"got {len(options.files)} files and {len(options.labels)} labels, expected one label a file")
    import numpy as np

    from nerd_core.files.figures import log_scale, new_figure, save_figure

    width = 3.6 * len(options.quantities)
    with new_figure(width, 3.1, columns=len(options.quantities)) as (figure, panels):
        for axes, quantity in zip(panels, options.quantities, strict=True):
            for path, label in zip(options.files, options.labels, strict=True):
                curve = np.array(json.loads(path.read_text(encoding="utf-8"))["curves"][quantity], dtype=float)
                steps = np.arange(1, len(curve) + 1)
                axes.plot(steps, np.cumsum(curve) / steps, label=label)
            marks = [mark.split(":") for mark in options.paper if mark.startswith(quantity + ":")]
            if marks:
                horizons, errors = [int(mark[1]) for mark in marks], [float(mark[2]) for mark in marks]
                axes.plot(horizons, errors, "k_", ms=12, mew=2, label="the paper")
            axes.set(xlabel="horizon [control steps]", title=TITLES.get(quantity, quantity))
            log_scale(axes, "y")
        panels[0].set_ylabel("mean error up to the horizon")
        panels[-1].legend()
        save_figure(figure, options.out)


if __name__ == "__main__":
    main()
