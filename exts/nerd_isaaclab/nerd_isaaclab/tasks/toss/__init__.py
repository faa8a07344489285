# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Free rigid bodies that are thrown onto the ground. Nothing acts."""
