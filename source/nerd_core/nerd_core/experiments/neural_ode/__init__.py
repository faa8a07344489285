# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""A neural ordinary differential equation as a model of a mechanism, beside networks that predict steps.

``motion`` simulates or reads the motion of a double pendulum and cuts it at regular or irregular times, ``models`` has
the networks, ``fitting`` trains and judges them, ``run`` is the experiment.

Example::

    from nerd_core.experiments.neural_ode.run import EXPERIMENT

    figures = EXPERIMENT.run(EXPERIMENT.smoke, print).figures
"""
