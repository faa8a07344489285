# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Watch a policy trained with RSL-RL.

    python scripts/rsl_rl/play.py --task NeRD-Cartpole --checkpoint latest --viz viser

The same as ``nerd rl play``, with the flags of ``isaaclab play --rl_library rsl_rl``.
"""

import sys

from nerd_core.cli import main

if __name__ == "__main__":
    sys.exit(main(["rl", "play", *sys.argv[1:]]))
