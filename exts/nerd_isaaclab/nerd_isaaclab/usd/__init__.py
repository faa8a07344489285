# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""From bodies, joints and shapes, or from a URDF file, to a USD file that PhysX accepts. Knows no single robot."""
