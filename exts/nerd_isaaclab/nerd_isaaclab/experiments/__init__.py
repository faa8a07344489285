# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Experiments that need an engine, for ``nerd experiment``; the others are in :mod:`nerd_core.experiments`."""
