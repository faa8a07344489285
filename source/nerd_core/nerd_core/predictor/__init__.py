# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The learned dynamics of one robot: ``prediction = prior + residual``.

A *prior* (:mod:`~nerd_core.predictor.prior`) predicts a control step without the network: mechanics, the free motion, a
fall, or nothing. The *residual* (:mod:`~nerd_core.predictor.residual_network`) is what a network adds, or nothing. A
:class:`~nerd_core.predictor.predictor.Predictor` joins the two and is all that a checkpoint holds.

Priors are in ``mechanics_prior``, ``free_motion`` and ``free_fall``; ``residual`` is the interface of what is added,
``config`` has the settings, ``prediction`` what goes in and comes out; ``motion_bounds`` keep a step near the data.

Example::

    from nerd_core.network.architectures.residual import ResidualMlpCfg
    from nerd_core.predictor.config import PredictorCfg
    from nerd_core.predictor.mechanics_prior import MechanicsPriorCfg
    from nerd_core.predictor.predictor import Predictor

    cfg = PredictorCfg(network=ResidualMlpCfg(), prior=MechanicsPriorCfg())
    predictor = Predictor(spec, cfg)
    prediction, past = predictor.extend(state, control, predictor.contacts(state, ground))
    next_state = predictor.next_state(state, prediction)

A new prior is one file here and one line in :data:`nerd_core.predictor.prior.BUILT_IN`, a new network one file in
``nerd_core/network/architectures`` and one line in :data:`nerd_core.network.config.BUILT_IN`; those of other packages
are found by entry points, see :mod:`nerd_core.files.kinds`.
"""
