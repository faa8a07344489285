# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The networks, one a file, behind the interface of :mod:`~nerd_core.network.architectures.base`.

Settings make a network, here an ensemble of three, which is stepped with a cache::

    network = TransformerCfg(width=64, layers=2, heads=4).build(in_dim, (out_dim,), members=3)
    cache = network.init_cache(batch)
    output = network.step(tokens, cache)  # (B, in_dim) to (3, B, out_dim)
"""
