# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Names of the experiments, and where each stands. None is imported before it is asked for.

Example::

    experiment = load_experiment("basin-hopping")
"""

from __future__ import annotations

import difflib
from importlib import import_module
from importlib.metadata import entry_points

from .experiment import Experiment

GROUP = "nerd.experiments"
"""Group of entry points through which other packages add experiments."""

BUILT_IN = {
    "basin-hopping": "nerd_core.experiments.basin_hopping:EXPERIMENT",
    "gradient-cost": "nerd_core.experiments.gradient_cost:EXPERIMENT",
    "swimmer": "nerd_core.experiments.swimmer:EXPERIMENT",
    "discovery": "nerd_core.experiments.discovery:EXPERIMENT",
    "neural-ode": "nerd_core.experiments.neural_ode.run:EXPERIMENT",
    "tossed-cube": "nerd_core.experiments.tossed_cube:EXPERIMENT",
}
"""Experiments of this package, as ``module:name``."""


class UnknownExperiment(ValueError):
    """A name that stands for no experiment, or for one that is at fault."""


def find_experiments() -> dict[str, str]:
    """All experiments by name, as ``module:name``. A built-in name cannot be taken over."""
    added = {point.name: point.value for point in entry_points(group=GROUP) if point.name not in BUILT_IN}
    return BUILT_IN | dict(sorted(added.items()))


def load_experiment(name: str) -> Experiment:
    """Imports an experiment. Raises :class:`UnknownExperiment` if there is none of that name.

    Args:
        name: Its name.
    """
    known = find_experiments()
    if name not in known:
        near = difflib.get_close_matches(name, known, n=2, cutoff=0.5)
        hint = f"did you mean {' or '.join(near)}?" if near else f"there are: {', '.join(known)}"
        raise UnknownExperiment(f"got the unknown experiment '{name[:80]}', {hint}")
    module, _, attribute = known[name].partition(":")
    found = getattr(import_module(module), attribute, None)
    if not isinstance(found, Experiment):
        raise UnknownExperiment(
            f"the experiment '{name}' ({known[name]}) is a {type(found).__name__}, expected an Experiment of "
            "nerd_core.experiments.experiment: another version of the package that brings it may have one"
        )
    return found


__all__ = ["BUILT_IN", "GROUP", "UnknownExperiment", "find_experiments", "load_experiment"]
