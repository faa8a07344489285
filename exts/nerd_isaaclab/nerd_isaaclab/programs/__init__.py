# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What ``nerd <word>`` runs: each module reads the arguments of one word, calls a function, and shows the result.

The functions stand in ``collect``, ``policies``, ``evaluation`` and ``demo``, where Python code can call them, too
(docs/python-api.md). ``agents`` and ``rl`` hand over to Isaac Lab's own programs and keep their options::

    from nerd_isaaclab.programs.evaluate import main
    code = main(["--model", "cartpole", "--trajectories", "64"])  # as: nerd evaluate --model cartpole ...
    assert code == 0
"""
