# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""One module a robot: each returns its bodies, joints and shapes; :mod:`nerd_isaaclab.assets.usda` writes them."""
