# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Measurements of real mechanisms: from a file of logs to trajectories that a model learns from.

``recording`` has :class:`~nerd_core.recordings.recording.Recording`, one run as it was measured, and the set of all
runs of a file with the robot that it is of. ``reading`` opens a file; ``schemas`` knows HDF5 files of tosses and
pendulums, ``hdf5`` reads such files without trusting them (in a process of its own, ``hdf5_child``), ``mechanisms``
makes the specifications. ``derivatives`` finds velocities where none were recorded, ``conversion`` makes trajectories
at equal steps of time. ``tables`` brings the columns of other logs to recordings by a map: ``csv_files``,
``message_logs`` (MCAP, bags of ROS), ``lerobot``, with robots from ``urdf``. ``physics`` and ``plausibility`` look for
wrong units, frames and clocks, ``delays`` for the time between command and effort.

Example::

    import numpy as np

    from nerd_core.recordings.conversion import ConversionCfg, in_memory
    from nerd_core.recordings.mechanisms import double_pendulum
    from nerd_core.recordings.recording import Recording, RecordingSet

    time = np.sort(np.random.default_rng(0).uniform(0.0, 2.0, 400))  # irregular stamps [s]
    angle = np.stack((0.1 * np.sin(5.0 * time), 0.1 * np.cos(5.0 * time)), axis=1)
    run = Recording("run", time, joint_pos=angle, joint_vel=None, split="train")
    robot = double_pendulum("arm", 100.0, (0.3, 0.3), (1.0, 1.0), (0.2, 0.2), (0.05, 0.05), driven=False)
    log = RecordingSet("my log", robot, (run,), time_base="stamps", rate=100.0, facts={})
    dataset = in_memory(log, ConversionCfg(piece=0.5))  # what nerd_core.training.run.train takes
"""
