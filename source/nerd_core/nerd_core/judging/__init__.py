# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""How far a model is from measurements of the real mechanism, by protocols that papers use.

``config`` says which protocol: **windows**, all stretches of some steps of all runs, or **flights**, whole runs from
their first frame. ``windows`` cuts them out of recordings, with the first state that every model is given; ``errors``
compares; ``judge`` rolls a model out and sums up.

Example::

    import numpy as np

    from nerd_core.judging.config import JudgeCfg
    from nerd_core.judging.judge import judge
    from nerd_core.predictor.config import PredictorCfg
    from nerd_core.predictor.mechanics_prior import MechanicsPriorCfg
    from nerd_core.predictor.predictor import Predictor
    from nerd_core.recordings.mechanisms import double_pendulum
    from nerd_core.recordings.recording import Recording, RecordingSet

    robot = double_pendulum("arm", 100.0, (0.3, 0.3), (1.0, 1.0), (0.2, 0.2), (0.05, 0.05), driven=False)
    run = Recording("hangs", 0.01 * np.arange(200), np.zeros((200, 2)), np.zeros((200, 2)), split="val")
    log = RecordingSet("my log", robot, (run,), time_base="stamps", rate=100.0, facts={})
    mechanics = Predictor(robot, PredictorCfg(network=None, prior=MechanicsPriorCfg(hidden=0)))
    result = judge(mechanics, log, JudgeCfg(seconds=0.5))
    assert result.joint_rmse_rad < 1.0e-6  # what hangs stays
"""
