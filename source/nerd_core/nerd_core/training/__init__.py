# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Fitting a predictor to recorded trajectories, and judging it open loop.

``run`` has the loop, on one screen, and ``config`` its settings. Before anything else ``feasibility`` looks for device
and memory; before the first update ``preparation`` sets units and chooses which weights learn. ``losses`` says what is
minimised, within the ``regimes`` of motion; ``precomputed`` keeps what a prior predicts that does not learn, and
``taught`` are data that one model makes for another.
``optimiser`` and ``soap`` change the weights, ``ema`` averages them, ``distributed`` joins several processes, and
``migration`` reads settings of earlier versions. ``saving`` lets a killed run go on, ``run_folder`` keeps a folder for
one training at a time and earlier runs from harm, ``data_identity`` tells data from others, ``interrupts`` wait for
whole updates, ``logs`` are for people. ``metrics`` measures roll-outs in metres and radians, and ``validation`` decides
by them which weights are best. ``auto_preset`` finds by short trials which of the ``presets`` suits a robot, and
``diagnosis`` why roll-outs of a model run away.

Example::

    from nerd_core.network.architectures.residual import ResidualMlpCfg
    from nerd_core.predictor.config import PredictorCfg
    from nerd_core.predictor.predictor import Predictor
    from nerd_core.training.config import TrainCfg
    from nerd_core.training.metrics import open_loop
    from nerd_core.training.run import train

    predictor = Predictor(data.spec, PredictorCfg(network=ResidualMlpCfg()))
    train(predictor, data.split("train"), data.split("valid"), TrainCfg(minutes=5.0), out="runs/ant")
    print(open_loop(predictor, data.split("test"), horizon=100).table((10, 100)))
"""
