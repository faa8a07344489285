# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What a robot is, and where its parts are in a state.

``spec`` has :class:`~nerd_core.robot.spec.RobotSpec`, which fixes the meaning of every number that is exchanged: order,
units and frames of joints, bodies, controls and contact slots. ``comparison`` says in words where two of them differ.
``frames`` holds rotations and the change of state over a control step, ``kinematics`` the poses of the bodies,
``stops`` the limits of the joints, ``guard`` the bounds of a sane state, ``slots`` the contact slots of a shape.

Example::

    from nerd_core.robot.kinematics import ForwardKinematics
    from nerd_core.robot.spec import RobotSpec

    spec = RobotSpec.from_json(spec.to_json())
    height = state[:, spec.state.root_pos][:, 2]  # columns have names
    poses = ForwardKinematics(spec)(state)  # positions (N, B, 3) and orientations (N, B, 4)
"""
