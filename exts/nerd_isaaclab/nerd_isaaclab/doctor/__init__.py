# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What stands between a task and a learned model of its robot, found before hours are spent.

A *diagnosis* (:mod:`.diagnosis`) says what was looked at, whether it is well, and which command mends it.
:mod:`.task_checks` look at a running task, :mod:`.model_checks` let a model step it, :mod:`.rehearsal` collects for a
few seconds, and :mod:`.data_checks` look at a dataset. :mod:`.run` puts them together; what needs an engine runs in
:mod:`.worker`.

.. code-block:: python

    from nerd_isaaclab.doctor.run import DoctorCfg, examine

    for found in examine(DoctorCfg("NeRD-Cartpole", model="cartpole")):
        print(found.level, found.topic, found.text, found.remedy)
"""
