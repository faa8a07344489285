# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Who steps the robots of an environment."""

MODES = ("physx", "neural", "mixed")
"""Names of the modes: the solver steps all environments, the model does, or each its share."""
