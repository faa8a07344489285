# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The double pendulum over the seven grounds of the paper's table 3: the same robot, the same model, other planes.

Starts are the published ones: any angle of the upper link, the lower one level or above, up to 2 rad/s, and nothing
inside the ground. The table is measured without efforts (``nerd evaluate --protocol passive``); with them a policy may
stand the pendulum up, as in the task without the number.
"""

from typing import ClassVar

import isaaclab.sim as sim_utils
from isaaclab.assets import AssetBaseCfg
from isaaclab.managers import EventTermCfg
from isaaclab.utils import configclass

from ....physics.slab import slab_cfg
from ....robots import double_pendulum
from ....usd.model import add, scale, turning
from . import events
from .env_cfg import DoublePendulumEnvCfg
from .grounds import GROUNDS, Ground

SLAB_HALF = (3.5, 3.5, 0.5)
"""Half the edges of a slab [m]: the pendulum reaches 3.1 m from its hinge."""


@configclass
class EventsCfg:
    """Starts as published."""

    reset_joints = EventTermCfg(func=events.reset_above_ground, mode="reset", params={"column": 0, "max_speed": 2.0})


def _below(ground: Ground, hinge: tuple[float, float, float]) -> AssetBaseCfg:
    """One plane below all environments if it is level, or a slab below each, its middle nearest to the hinge."""
    if ground.is_level:
        return AssetBaseCfg(
            prim_path="/World/ground",
            spawn=sim_utils.GroundPlaneCfg(size=(100.0, 100.0)),
            init_state=AssetBaseCfg.InitialStateCfg(pos=(0.0, 0.0, ground.offset)),
        )
    down = -(ground.height(hinge) + SLAB_HALF[2])
    x, y, z = SLAB_HALF
    return AssetBaseCfg(
        prim_path="{ENV_REGEX_NS}/Ground",
        spawn=slab_cfg((2.0 * x, 2.0 * y, 2.0 * z)),
        init_state=AssetBaseCfg.InitialStateCfg(
            pos=add(hinge, scale(ground.normal, down)), rot=turning((0.0, 0.0, 1.0), ground.normal)
        ),
    )


@configclass
class PassivePendulumEnvCfg(DoublePendulumEnvCfg):
    """Base of the seven; ``column`` is the number of the ground in the table."""

    events: object = EventsCfg()
    column: ClassVar[int] = 0

    def __post_init__(self):
        """Put the ground there."""
        super().__post_init__()
        ground = GROUNDS[self.column]
        self.scene.ground = None if ground is None else _below(ground, double_pendulum.HINGE)
        self.events.reset_joints.params["column"] = self.column


def _over(column: int) -> type[PassivePendulumEnvCfg]:
    """The configuration over one of the grounds."""
    body = {"column": column, "__annotations__": {"column": ClassVar[int]}, "__module__": __name__}
    return configclass(type(f"Ground{column}EnvCfg", (PassivePendulumEnvCfg,), body))


Ground0EnvCfg, Ground1EnvCfg, Ground2EnvCfg, Ground3EnvCfg, Ground4EnvCfg, Ground5EnvCfg, Ground6EnvCfg = (
    _over(column) for column in range(len(GROUNDS))
)
