# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The neural step: what stands in the place of the physics manager, and how it reads and writes the simulation.

``neural_physics`` takes over the step, ``robot_state`` reads and writes the articulation, ``robot_description`` and
``ground`` say what the robot and the ground of the running simulation are, ``contact_forces`` and ``inertial_sensors``
feed the sensors while the solver rests, and ``guard_recorder`` writes down what led to a refused state::

    from nerd_isaaclab.physics.robot_state import RobotState
    robot = RobotState(env.robot, env.robot_spec, env.scene.env_origins)
    state = robot.read()  # shape (N, S), relative to the origin of each environment
"""
