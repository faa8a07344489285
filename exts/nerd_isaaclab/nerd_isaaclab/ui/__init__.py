# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Controls for a person who watches: a window in Omniverse, and the same on the page of the viser viewer.

``panel`` is what both show and ask for, and knows of neither. ``window`` is the only module that imports ``omni``::

    env.nerd_panel.request_mode("neural")  # done before the next step, from any thread
    readings = env.nerd_panel.read()
    print(readings.markdown())
"""
