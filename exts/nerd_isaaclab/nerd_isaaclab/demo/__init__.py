# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""``nerd demo`` and ``nerd reproduce``: a recipe is run in phases that can be interrupted, and ends in a report.

A *recipe* (:mod:`.recipe`, data in ``recipe_<robot>.py``) says what is collected, trained and measured for a robot.
:mod:`.plan` makes *phases* of it: each runs one command of the project (:mod:`.arguments`, :mod:`.commands`) and keeps
its result in a folder (:mod:`.phases`). :mod:`.results` gathers all numbers, from which :mod:`.report` writes the page
with its :mod:`.charts` and :mod:`.card` the model card; :mod:`.motion` computes the poses that the page animates.

.. code-block:: python

    from nerd_isaaclab.demo.recipes import REPRODUCE
    from nerd_isaaclab.demo.run import run

    print(run(REPRODUCE["cartpole"], Path("runs/again"), command="by hand").page)
"""
