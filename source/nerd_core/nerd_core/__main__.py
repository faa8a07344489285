# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""``python -m nerd_core ...`` is ``nerd ...``, for a Python whose programs are not on PATH (Isaac Sim's)."""

import sys

from .cli import main

if __name__ == "__main__":
    sys.exit(main())
