# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What goes to disk and comes back without trusting it.

``atomic`` writes files and folders that are whole or not there, whenever the process is killed; ``outputs`` finds out
beforehand whether that is possible. ``safe_files`` (plain files and JSON) and ``safe_tensors`` read what may come from
anywhere: sizes are checked before memory is taken, and nothing in a file is ever run. ``safe_state`` keeps a tree of
tensors and numbers, ``serialization`` turns dataclasses into JSON and back, and ``bounds`` are the ranges of their
numbers. ``provenance`` says which command, versions and machine made something, ``figures`` draws.

Example::

    from nerd_core.files.atomic import write_json
    from nerd_core.files.safe_files import parse_json, read_bytes

    write_json(folder / "facts.json", {"robot": spec.name})
    facts = parse_json(read_bytes(folder / "facts.json", limit=1024), "facts.json")
"""
