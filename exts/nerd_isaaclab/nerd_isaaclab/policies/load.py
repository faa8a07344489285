# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Loads a policy from wherever it may stand."""

from __future__ import annotations

from pathlib import Path

from .policy import Policy
from .runs import AGENT, last_checkpoint, load_agent

POLICY_FILE = "policy.safetensors"
"""Name of the policy in a folder that ``nerd rl export`` has written."""


def load_policy(path: str | Path) -> Policy:
    """Reads a policy: a file, a folder that ``nerd rl export`` has written, or the last checkpoint of a run.

    Args:
        path: For instance ``policies/NeRD-Cartpole`` or ``logs/rsl_rl/nerd_cartpole/<run>``.

    Raises:
        FileNotFoundError: There is none of the three.
    """
    path = Path(path)
    if (path / POLICY_FILE).is_file():
        return Policy.load(path / POLICY_FILE)
    if not path.is_dir():
        return Policy.load(path)
    if not (path / AGENT).is_file():
        raise FileNotFoundError(
            f"there is no policy in the folder {path}: expected a file {POLICY_FILE}, as 'nerd rl export' writes it, "
            f"or the log folder of a run, with {AGENT}"
        )
    return Policy.from_rsl_rl(last_checkpoint(path), load_agent(path))
