# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What all tasks have in common: time steps, physics presets, how an action becomes an effort."""

from dataclasses import MISSING

import isaaclab.sim as sim_utils
from isaaclab.assets import AssetBaseCfg
from isaaclab.envs import ManagerBasedRLEnvCfg
from isaaclab.envs.mdp import JointEffortActionCfg
from isaaclab.physics import PhysxAutoCfg
from isaaclab.utils import configclass
from isaaclab_newton.physics import MJWarpSolverCfg, NewtonCfg
from isaaclab_ov.physics import OvPhysxCfg
from isaaclab_physx.physics import PhysxCfg
from isaaclab_tasks.utils import PresetCfg

from ..envs.nerd_env_cfg import NerdCfg


@configclass
class PhysicsPresetsCfg(PresetCfg):
    """Choices of ``physics=NAME``. The default is PhysX: inside Kit if Kit is asked for, without it otherwise."""

    isaacsim_physx: PhysxCfg = PhysxCfg(bounce_threshold_velocity=0.2)
    ovphysx: OvPhysxCfg = OvPhysxCfg()
    physx: PhysxAutoCfg = PhysxAutoCfg(isaacsim_physx=isaacsim_physx, ovphysx=ovphysx)
    newton_mjwarp: NewtonCfg = NewtonCfg(
        # Sizes of the constraint buffers of one env, enough for the Ant with all its capsules on the ground.
        solver_cfg=MJWarpSolverCfg(njmax=120, nconmax=30, cone="pyramidal", integrator="implicitfast", impratio=1),
        num_substeps=1,
        debug_mode=False,
        use_cuda_graph=True,
    )
    default: PhysxAutoCfg = physx


@configclass
class JointTorquesCfg:
    """Actions of a task: the torques of all joints."""

    torque: JointEffortActionCfg = MISSING  # pyright: ignore[reportAssignmentType]  (filled in by a robot's task)


@configclass
class TaskEnvCfg(ManagerBasedRLEnvCfg):
    """Base of the task configurations."""

    nerd: NerdCfg = NerdCfg()
    """Which dynamics step the robot."""

    episode_steps: int = 300
    """Length of an episode in control steps. Sets :attr:`episode_length_s` when the configuration is made."""

    def __post_init__(self):
        """Choose the engine, and the published time steps."""
        self.sim.physics = PhysicsPresetsCfg()
        self.set_control_rate()

    def set_control_rate(self, rate: float = 60.0, physics_steps: int = 2):
        """Set how often a policy acts, and what follows from it. A robot's task calls it after ``__post_init__``.

        Args:
            rate: Control steps a second [Hz]; the default is published for Cartpole and Ant.
            physics_steps: Physics steps in a control step; by default the engine steps 1/120 s, as in Isaac Lab's stock
                tasks.
        """
        self.decimation = physics_steps
        self.sim.dt = 1.0 / (rate * physics_steps)
        self.sim.render_interval = physics_steps
        # Isaac Lab rounds the number of steps up, and 500 / 60 s * 60 Hz is a little more than 500 in floating point.
        self.episode_length_s = self.episode_steps / rate * (1.0 - 1.0e-9)


def distant_light() -> AssetBaseCfg:
    """The light of a scene that needs no other."""
    return AssetBaseCfg(
        prim_path="/World/light", spawn=sim_utils.DistantLightCfg(color=(0.9, 0.9, 0.9), intensity=2500.0)
    )


def joint_efforts(limit: float, joints: str = ".*") -> JointEffortActionCfg:
    """Actions that are efforts: one number in [-1, 1] a joint.

    Args:
        limit: Effort of a full action [N m or N].
        joints: Expression for the names of the joints.
    """
    return JointEffortActionCfg(asset_name="robot", joint_names=[joints], scale=limit, clip={joints: (-limit, limit)})
