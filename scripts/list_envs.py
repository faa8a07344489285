# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""List the registered tasks.

    python scripts/list_envs.py
    python scripts/list_envs.py --keyword NeRD --show_presets

The same as ``nerd list-envs``.
"""

import sys

from nerd_core.cli import main

if __name__ == "__main__":
    sys.exit(main(["list-envs", *sys.argv[1:]]))
