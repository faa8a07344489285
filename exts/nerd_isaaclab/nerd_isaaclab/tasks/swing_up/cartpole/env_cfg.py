# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Configuration of the Cartpole swing-up, after the published one (NeRD, arXiv 2508.15755, and its released code).

The published reward of a control step is ``5 - th^2 - 0.05 x^2 - 0.1 thd^2 - 0.1 xd^2``; ``th`` is the angle from
upright, wrapped. Isaac Lab multiplies rewards by the control step (1/60 s), so a return here is 1/60 of the published
one. Starts: ``x``, ``xd``, ``thd`` uniform in +-1, ``th`` uniform in +-pi. An episode ends after 300 steps (5 s), or
earlier when ``|x| > 4``, ``|xd| > 10`` or ``|thd| > 10``.

One number differs. The published robot takes 1500 N for a full action; that moves a cart and a pole of other masses.
Here a full action is 50 N on a cart and a pole of 1 kg each, so up to 2.5 g: a swing-up takes about a second. With
twice as much, policies learn to end episodes that start badly by exceeding a speed: hanging costs more than stopping.
"""

from isaaclab.managers import ObservationGroupCfg, ObservationTermCfg, RewardTermCfg, SceneEntityCfg
from isaaclab.managers import TerminationTermCfg as DoneTermCfg
from isaaclab.utils import configclass, replace

from .... import mdp
from ....robots import cartpole
from ...base_env_cfg import joint_efforts
from ..swing_up_env_cfg import SwingUpEnvCfg, reset_joint

CART = "slider_to_cart"
POLE = "cart_to_pole"
MAX_FORCE = 50.0
"""Force of a full action on the cart [N]."""


def _cart() -> SceneEntityCfg:
    return SceneEntityCfg("robot", joint_names=[CART])


def _pole() -> SceneEntityCfg:
    return SceneEntityCfg("robot", joint_names=[POLE])


@configclass
class ActionsCfg:
    """One number in [-1, 1]: the force on the cart."""

    force = joint_efforts(MAX_FORCE, CART)


@configclass
class ObservationsCfg:
    """Four numbers: position, wrapped angle, velocity, angular velocity."""

    @configclass
    class PolicyCfg(ObservationGroupCfg):
        """Observations of the policy, in this order."""

        cart_pos = ObservationTermCfg(func=mdp.joint_pos, params={"asset_cfg": _cart()})
        pole_angle = ObservationTermCfg(func=mdp.joint_pos_wrapped, params={"asset_cfg": _pole()})
        cart_vel = ObservationTermCfg(func=mdp.joint_vel, params={"asset_cfg": _cart()})
        pole_vel = ObservationTermCfg(func=mdp.joint_vel, params={"asset_cfg": _pole()})

    policy: PolicyCfg = PolicyCfg()


@configclass
class EventsCfg:
    """Starts: anywhere, at any angle."""

    reset_cart = reset_joint(CART, position=(-1.0, 1.0))
    reset_pole = reset_joint(POLE)


@configclass
class RewardsCfg:
    """The published sum, term by term."""

    alive = RewardTermCfg(func=mdp.constant, weight=5.0)
    pole_angle = RewardTermCfg(func=mdp.joint_pos_wrapped_l2, weight=-1.0, params={"asset_cfg": _pole()})
    cart_pos = RewardTermCfg(func=mdp.joint_pos_l2, weight=-0.05, params={"asset_cfg": _cart()})
    pole_vel = RewardTermCfg(func=mdp.joint_vel_l2, weight=-0.1, params={"asset_cfg": _pole()})
    cart_vel = RewardTermCfg(func=mdp.joint_vel_l2, weight=-0.1, params={"asset_cfg": _cart()})


@configclass
class TerminationsCfg:
    """End of the time or of the rail, a speed that is too high, or a simulation that exploded."""

    time_out = DoneTermCfg(func=mdp.time_out, time_out=True)
    cart_out = DoneTermCfg(func=mdp.joint_pos_out_of_manual_limit, params={"asset_cfg": _cart(), "bounds": (-4.0, 4.0)})
    cart_too_fast = DoneTermCfg(
        func=mdp.joint_vel_out_of_manual_limit, params={"asset_cfg": _cart(), "max_velocity": 10.0}
    )
    pole_too_fast = DoneTermCfg(
        func=mdp.joint_vel_out_of_manual_limit, params={"asset_cfg": _pole(), "max_velocity": 10.0}
    )
    diverged = DoneTermCfg(func=mdp.state_diverged)


@configclass
class CartpoleEnvCfg(SwingUpEnvCfg):
    """Swing-up of the cartpole."""

    observations: object = ObservationsCfg()
    actions: object = ActionsCfg()
    events: object = EventsCfg()
    rewards: object = RewardsCfg()
    terminations: object = TerminationsCfg()

    def __post_init__(self):
        """Fill in the cartpole, whose actions and rewards are its own."""
        super().__post_init__()
        self.scene.robot = replace(cartpole.articulation(), prim_path="{ENV_REGEX_NS}/Robot")
