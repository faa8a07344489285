# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Checkpoints that come with the extension: one folder each, a trained model with its card.

Wherever a checkpoint is asked for, the name of one of these does as well as a path::

    from nerd_core import checkpoint
    from nerd_core.checkpoint_names import find_checkpoint
    predictor = checkpoint.load(find_checkpoint("cartpole"))

On a command line: ``env.nerd.checkpoint=cartpole``. ``nerd models list`` shows them.
"""

from pathlib import Path

FOLDER = Path(__file__).resolve().parent
"""Where they are: what the entry point of this package names (:mod:`nerd_core.checkpoint_names`)."""
