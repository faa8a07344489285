# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The tossed cube."""

from ...register import register_task

register_task("NeRD-Cube-Toss", f"{__name__}.env_cfg:CubeTossEnvCfg", agent=None)
