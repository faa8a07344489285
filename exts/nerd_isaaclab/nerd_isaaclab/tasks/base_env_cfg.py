# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What all tasks have in common: time steps, physics presets, playback."""

from isaaclab.envs import ManagerBasedRLEnvCfg
from isaaclab.physics import PhysxAutoCfg
from isaaclab.utils import configclass
from isaaclab_newton.physics import MJWarpSolverCfg, NewtonCfg
from isaaclab_ov.physics import OvPhysxCfg
from isaaclab_physx.physics import PhysxCfg
from isaaclab_tasks.utils import PresetCfg

from ..envs.nerd_env_cfg import NerdCfg

CONTROL_RATE = 60.0
"""Control steps a second [Hz], as published for Cartpole and Ant."""

PHYSICS_STEPS_PER_CONTROL_STEP = 2
"""Physics steps in a control step; with the rate above the engine steps 1/120 s, as in Isaac Lab's stock tasks."""


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
class TaskEnvCfg(ManagerBasedRLEnvCfg):
    """Base of the task configurations."""

    nerd: NerdCfg = NerdCfg()
    """Which dynamics step the robot."""

    episode_steps: int = 300
    """Length of an episode in control steps. Sets :attr:`episode_length_s` when the configuration is made."""

    def __post_init__(self):
        """Fill what follows from the constants above."""
        self.decimation = PHYSICS_STEPS_PER_CONTROL_STEP
        self.sim.dt = 1.0 / (CONTROL_RATE * self.decimation)
        self.sim.render_interval = self.decimation
        self.sim.physics = PhysicsPresetsCfg()
        # Isaac Lab rounds the number of steps up, and 500 / 60 s * 60 Hz is a little more than 500 in floating point.
        self.episode_length_s = self.episode_steps / CONTROL_RATE * (1.0 - 1.0e-9)
