# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Finds the robots: each file of this package with a ``ROBOT``, and those of other packages.

To add a robot here, add a file. To add one from a package of your own, name it in the package's ``pyproject.toml``::

    [project.entry-points."nerd_isaaclab.robots"]
    my_robot = "my_package.my_robot:ROBOT"
"""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
import logging
import pkgutil

from .record import RobotRecord

GROUP = "nerd_isaaclab.robots"
"""Entry-point group through which packages add robots."""

_NOT_ROBOTS = ("record", "registry", "spawn")
_PACKAGE = __name__.rpartition(".")[0]

logger = logging.getLogger(__name__)


@functools.cache
def own_robots() -> tuple[RobotRecord, ...]:
    """The robots of this package, sorted by the names of their files."""
    path = importlib.import_module(_PACKAGE).__path__
    names = sorted(module.name for module in pkgutil.iter_modules(path) if module.name not in _NOT_ROBOTS)
    return tuple(importlib.import_module(f"{_PACKAGE}.{name}").ROBOT for name in names)


@functools.cache
def all_robots() -> tuple[RobotRecord, ...]:
    """The robots of this package and of all installed ones.

    A package whose robot cannot be had is left out with a warning; it must not keep the others from working.
    """
    found = {record.name: record for record in own_robots()}
    for point in sorted(importlib.metadata.entry_points(group=GROUP), key=lambda point: point.name):
        try:
            record = point.load()
        except Exception as error:
            logger.warning("The robot '%s' (%s) cannot be imported: %s", point.name, point.value, error)
            continue
        if not isinstance(record, RobotRecord):
            logger.warning("The robot '%s' is a %s, expected a RobotRecord", point.value, type(record).__name__)
        elif record.name in found:
            logger.warning("The robot '%s' (%s) is left out: there is one of that name", record.name, point.value)
        else:
            found[record.name] = record
    return tuple(found.values())


def find_robot(name: str) -> RobotRecord:
    """The robot of a name.

    Args:
        name: Its short name.

    Raises:
        ValueError: There is none; the message lists the names.
    """
    for record in all_robots():
        if record.name == name:
            return record
    known = ", ".join(record.name for record in all_robots())
    raise ValueError(f"got the unknown robot '{name}', expected one of {known}")


def robot_of_spec(spec_name: str) -> RobotRecord | None:
    """The robot that a specification, a dataset or a checkpoint is about; None if nobody registered it.

    Args:
        spec_name: Name in the specification.
    """
    return next((record for record in all_robots() if record.spec_name == spec_name), None)
