# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Arms that bring their tool to a point. Robot-free here, a folder for each robot."""
