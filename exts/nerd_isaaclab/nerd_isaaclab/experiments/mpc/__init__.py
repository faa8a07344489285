# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""A quadruped's model-predictive controller, and a network that takes the place of its quadratic programme.

A ``controller`` moves the legs of a ``quadruped`` by a ``gait``, and asks a planner for the forces of the feet that
stand (a ``problem``). Planners are the programme (``convex_mpc``) and the network (``force_network``), which learns
from it (``imitation``). ``walking`` measures them on robots in PhysX (``scene``), ``timing`` their times, and ``study``
does all of it in the process of an engine (``worker``) that ``run`` starts.

Example::

    from nerd_isaaclab.experiments.mpc.run import EXPERIMENT

    print(EXPERIMENT.run(EXPERIMENT.smoke, print).figures["speed_up"])
"""

from typing import Any

from numpy.typing import NDArray

type Array = NDArray[Any]
"""Numbers in double precision."""
