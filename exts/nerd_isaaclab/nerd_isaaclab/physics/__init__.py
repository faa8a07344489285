# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The neural step: what stands before the physics manager, and how it reads and writes the simulation."""
