# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Which dynamics step the robot of a task."""

from __future__ import annotations

from isaaclab.utils import configclass

from nerd_core.files.bounds import bounded, check_bounds

WINDOW_CLASS = "nerd_isaaclab.ui.window:NerdEnvWindow"
"""Window of our tasks in Kit, as an import string, since the module can be imported only there."""


@configclass
class NerdCfg:
    """Choice of the dynamics. Reached from the command line as ``env.nerd.<field>=<value>``."""

    mode: str = "physx"
    """``physx``: the active physics backend steps every environment, as if this package were not there.
    ``neural``: the model steps every environment. ``mixed``: the model steps a share of them, the solver the others,
    and the model's one-step error against the solver is logged as ``Metrics/nerd_*``."""

    checkpoint: str | None = None
    """Directory of the trained model, or the name of a shipped one (``nerd models list``). Needed for ``neural`` and
    ``mixed``."""

    robot: str | None = None
    """Name of the articulation, or of the free rigid body, in the scene that the model drives. By default the only
    articulation, or in a scene without any the only rigid body."""

    others_rest: bool = False
    """Whether other bodies and robots of the scene may rest where they are while a model steps this one in ``neural``
    mode, unfelt by it. Otherwise a scene that has any is refused."""

    calibration: str | None = None
    """File of physical parameters that ``nerd identify`` wrote (``calibration.json``). They are written to the engine
    before the first event acts, in every mode, so that randomisation varies about them."""

    ignored_shapes: str | None = None
    """Regular expression for the paths of static shapes that the model's contacts leave out, for instance
    ``/World/envs/.*/Table/.*``. By default every static shape of the scene is ground."""

    neural_share: float = bounded(0.5, at_least=0.0, at_most=1.0)
    """Share of the environments that are neural in ``mixed`` mode, the first ones."""

    noise: float = bounded(0.0, at_least=0.0)
    """Noise on the model's step, as a share of what a control step typically changes, for the training of policies: 0.1
    to 0.2 helped the running Ant, 0.4 made it slow. Like randomised masses in a solver, it keeps a policy from counting
    on the model's errors."""

    compile: bool = False
    """Whether the model's step is compiled. Pays on a GPU, and on a CPU for small models."""

    adapt: str | None = None
    """What of the robots may change while they run, joined by ``+``: ``payload``, ``friction``, ``motors``. The model
    then follows what the solver makes of each robot in ``mixed`` mode (with ``neural_share=0`` as its shadow), and
    steps the neural ones with what was estimated, not with what the engine says. None: nothing is estimated."""

    adapt_every: int = bounded(4, at_least=1, at_most=10_000)
    """Least control steps from one look at an environment to the next."""

    adapt_budget: float = bounded(0.5, above=0.0, at_most=1.0e4)
    """Steps of the model that looks may take for each environment and control step, on average: a look costs two, and
    one more for each number. It bounds what adaptation costs."""

    dump_dir: str | None = None
    """Where states that the guard refused are written, with the steps that led there, for ``nerd replay``: one dump for
    every step in which it acted, up to twenty a run. Waits for the device in every step. None: nothing is written."""

    def __post_init__(self):
        check_bounds(self)
