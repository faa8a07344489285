# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The inertias in a specification are the engine's, and carry impulses as the engine does."""

from __future__ import annotations

import torch

from nerd_core.mechanics.multibody import Multibody
from nerd_core.robot.frames import into_frame, rotation_matrix
from support.seam import make_env

COUNT, HEIGHT = 16, 6.0


def test_an_ant_in_the_air_answers_efforts_as_its_inverse_mass_says():
    """What an effort adds to all velocities of an Ant in any pose within a control step, beside the fall, is the
    inverse mass matrix times the effort's impulse, to three hundredths.
    """
    from nerd_isaaclab.collect.lean_scene import LeanScene

    env = make_env("NeRD-Ant-Run", COUNT)
    try:
        env.reset(seed=1)
        scene = LeanScene(env)
        spec, generator = scene.spec, torch.Generator().manual_seed(0)
        at, multibody = spec.state, Multibody(spec)
        first = scene.read().clone()
        first[:, at.root_pos] = torch.tensor([0.0, 0.0, HEIGHT])
        for where in (at.root_lin_vel, at.root_ang_vel, at.joint_vel):
            first[:, where] = 0.0
        middle = torch.tensor([0.5 * (joint.lower + joint.upper) for joint in spec.joints])
        first[:, at.joint_pos] = middle + 0.3 * torch.randn(COUNT, len(spec.joints), generator=generator).clamp(-1, 1)
        scene.write(first)
        first = scene.read().clone()
        effort = torch.randn(COUNT, spec.control_dim, generator=generator)
        after = scene.step(effort).clone()
        fall = spec.control_dt * torch.tensor(spec.gravity)
        turn = rotation_matrix(first[:, at.root_quat])
        gained = torch.cat(
            (
                into_frame(turn, after[:, at.root_lin_vel] - fall),
                into_frame(turn, after[:, at.root_ang_vel]),
                after[:, at.joint_vel],
            ),
            dim=-1,
        )
        inverse_mass = multibody.inverse_mass(
            multibody.mass_weighted_jacobian(multibody.frames(first[:, at.joint_pos]))
        )
        push = torch.cat((torch.zeros(COUNT, multibody.dim - len(spec.joints)), effort * spec.control_dt), -1)
        said = (inverse_mass @ push.unsqueeze(-1)).squeeze(-1)
        assert float((said - gained).norm() / gained.norm()) < 0.03
        assert sum(body.inertia.mass for body in spec.bodies if body.inertia is not None) > 0.9
    finally:
        env.close()
