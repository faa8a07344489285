# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The robots, one file each: how its USD file is built, its Isaac Lab configuration, ranges of first states, the task
it is judged on, published figures. :mod:`nerd_isaaclab.robots.registry` finds the files, and robots of other packages.

    from nerd_isaaclab.robots.registry import find_robot

    record = find_robot("ant")
    cfg = record.articulation()  # an ArticulationCfg
"""
