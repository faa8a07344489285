# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Experiments: each by one command, with figures, plots, and baselines measured in the same run.

``experiment`` says what one is, ``registry`` knows their names, and each has a module of its own: ``basin_hopping``,
``gradient_cost``, ``tossed_cube``, ``neural_ode``. ``nerd experiment NAME`` runs one; ``docs/experiments.md`` has a
section for each. A new experiment is a module with a dataclass of settings and one line in :data:`registry.BUILT_IN`,
or an entry point of the group ``nerd.experiments`` in another package::

    \"\"\"What it shows, in one line.\"\"\"

    @dataclass(frozen=True)
    class FallingCfg:
        seed: int = bounded(0, **SEED)
        heights: int = bounded(100, at_least=1)

        def __post_init__(self):
            check_bounds(self)

    def run(settings: FallingCfg, say: Say) -> Result:
        say("dropping")
        return Result({"fall_s": 0.45})

    EXPERIMENT = Experiment(run, full=FallingCfg(), smoke=FallingCfg(heights=3))

Example::

    from nerd_core.experiments.registry import find_experiments

    print(", ".join(find_experiments()))
"""
