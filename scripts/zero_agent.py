# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Run a task with zero actions.

    python scripts/zero_agent.py --task NeRD-Cartpole --num_envs 16 --max_steps 300
    python scripts/zero_agent.py --task NeRD-Ant-Run --viz viser

The same as ``nerd zero-agent``, with the flags of ``isaaclab zero_agent``.
"""

import sys

from nerd_core.cli import main

if __name__ == "__main__":
    sys.exit(main(["zero-agent", *sys.argv[1:]]))
