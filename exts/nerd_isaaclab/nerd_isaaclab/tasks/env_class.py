# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The environment class of all tasks, as Gymnasium wants it: an import string, so that registering imports nothing."""

ENV_CLASS = "nerd_isaaclab.envs:NerdEnv"
