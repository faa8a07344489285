# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""``nerd demo`` and ``nerd reproduce``: the whole story of a model, in phases that can be interrupted, and its report.

==============  =====================================================================================
module          holds
==============  =====================================================================================
``recipes``     what is collected, trained and measured for each robot: one table
``phases``      running phases in order, with results that survive an interruption
``commands``    running the project's own commands, with progress, logs and ctrl-C passed on
``story``       the phases of a recipe, as commands
``motion``      body poses of true and predicted motion for the report's animation
``results``     the numbers of all phases in one place
``report``      the page, from these numbers
``card``        the model card, from these numbers
==============  =====================================================================================
"""
