# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Networks at any point of mechanics: named quantities, and blueprints that say which of them a network changes.

``quantities`` is the table of what takes part in a physics step; ``blueprints`` has the settings of one network, as
Python and as the text of the command line; ``readings`` gives the values of quantities in some states; ``networks`` are
the networks, one for all joints, bodies or slots, or one for each; ``augmentation`` makes them for a robot, and
``augmented_step`` is mechanics with them: the step of :class:`~nerd_core.mechanics.step.Mechanics`, or its kernel.

Example::

    from nerd_core.mechanics.augmentation.blueprints import Blueprint
    from nerd_core.predictor.mechanics_prior import MechanicsPriorCfg

    friction = Blueprint(outputs=("joint_torque",), inputs=("joint_pos", "joint_vel"), sharing="separate")
    drag = Blueprint.parse("body_force,body_torque<-body_lin_vel,body_ang_vel; hidden=16,16; odd")
    cfg = MechanicsPriorCfg(blueprints=(friction, drag))
"""
