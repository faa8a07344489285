# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Train a policy with RSL-RL.

    python scripts/rsl_rl/train.py --task NeRD-Cartpole
    python scripts/rsl_rl/train.py --task NeRD-Ant-Run --num_envs 512 --max_iterations 500
    python scripts/rsl_rl/train.py --task NeRD-Ant-Run --num_envs 4096 --device cuda:0

The same as ``nerd rl train``, with the flags of ``isaaclab train --rl_library rsl_rl``.
"""

import sys

from nerd_core.cli import main

if __name__ == "__main__":
    sys.exit(main(["rl", "train", *sys.argv[1:]]))
