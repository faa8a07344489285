# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Run a task with random actions.

    python scripts/random_agent.py --task NeRD-Cartpole --num_envs 16 --max_steps 300
    python scripts/random_agent.py --task NeRD-Ant-Run --viz viser

The same as ``nerd random-agent``, with the flags of ``isaaclab random_agent``.
"""

import sys

from nerd_core.cli import main

if __name__ == "__main__":
    sys.exit(main(["random-agent", *sys.argv[1:]]))
