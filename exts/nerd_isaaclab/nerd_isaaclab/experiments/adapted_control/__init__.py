# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What adaptation is worth to who controls: returns of a model-predictive controller whose robot changes.

PhysX moves arms that bring their tool to one target after the other. At a moment that nobody announces some get a
payload, or lose half of a motor. ``tracking_mpc`` controls them with mechanics as its model: as the specification says,
as adaptation estimates, or as told the truth. ``plant`` is the task, ``returns`` judges, ``worker`` does it in the
process of an engine that ``run`` starts.

Example::

    from nerd_isaaclab.experiments.adapted_control.run import EXPERIMENT

    print(EXPERIMENT.run(EXPERIMENT.smoke, print).figures["payload_regained"])
"""
