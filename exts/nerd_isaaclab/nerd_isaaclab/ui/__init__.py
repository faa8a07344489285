# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Controls for a person who watches: a window in Omniverse, the same on the page of the viser viewer.

``panel`` is what both show and ask for, and knows of neither. ``window`` is the only module that imports ``omni``.
"""
