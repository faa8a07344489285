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
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    import numpy as np

    figure, axes = plt.subplots(1, len(options.quantities), figsize=(3.6 * len(options.quantities), 3.1), squeeze=False)
    for axis, quantity in zip(axes[0], options.quantities, strict=True):
        for path, label in zip(options.files, options.labels, strict=True):
            curve = np.array(json.loads(path.read_text(encoding="utf-8"))["curves"][quantity], dtype=float)
            steps = np.arange(1, len(curve) + 1)
            axis.plot(steps, np.cumsum(curve) / steps, label=label, linewidth=1.4)
        marks = [mark.split(":") for mark in options.paper if mark.startswith(quantity + ":")]
        if marks:
            axis.plot([int(m[1]) for m in marks], [float(m[2]) for m in marks], "k_", ms=12, mew=2, label="the paper")
        axis.set(xlabel="horizon [control steps]", title=TITLES.get(quantity, quantity), yscale="log")
        axis.grid(alpha=0.3, which="both", linewidth=0.4)
    axes[0][0].set_ylabel("mean error up to the horizon")
    axes[0][-1].legend(frameon=False, fontsize=7)
    figure.tight_layout()
    options.out.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(options.out, dpi=130)


if __name__ == "__main__":
    main()
