# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Settings that come in kinds, such as those of networks: a file names the kind, and here its class is looked up.

Only the kinds that are built in are known, and those that an installed package declares as an *entry point* of exactly
that name. Nothing that stands in a file is ever imported. To bring a network, a package has one file and one line::

    # my_package/wave.py
    @dataclass(frozen=True)
    class WaveCfg(NetworkCfg):
        kind: Literal["wave"] = "wave"
        def build(self, in_dim, out_dims, members): ...

    # pyproject.toml of my_package
    [project.entry-points."nerd_core.networks"]
    wave = "my_package.wave:WaveCfg"
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any, ClassVar

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")


class UnknownKind(ValueError):
    """A kind that is neither built in nor brought by an installed package, or whose package is at fault."""


class Kinds:
    """The kinds of one setting."""

    def __init__(self, what: str, group: str, built_in: Mapping[str, str]):
        """Keeps the names.

        Args:
            what: What comes in these kinds, for messages.
            group: Group of entry points in which other packages declare theirs.
            built_in: Where the class of each kind that is built in stands, as ``module:class``.
        """
        self.what, self.group, self.built_in = what, group, dict(built_in)

    def installed(self) -> dict[str, EntryPoint]:
        """The entry points of installed packages, by kind."""
        return {point.name: point for point in entry_points(group=self.group) if point.name not in self.built_in}

    def settings(self, kind: Any) -> type[OfKind]:
        """The class of the settings of a kind.

        Args:
            kind: Name of the kind, which may come from a file that nobody trusts.
        """
        if isinstance(kind, str) and kind in self.built_in:
            module, name = self.built_in[kind].split(":")
            return getattr(import_module(module), name)
        installed = self.installed()
        if not isinstance(kind, str) or not _NAME.fullmatch(kind) or kind not in installed:
            others = f"installed packages bring {sorted(installed)}" if installed else "no installed package brings any"
            raise UnknownKind(
                f"got the {self.what} kind {str(kind)[:60]!r}; built in are {sorted(self.built_in)}, {others}: install "
                f"the package that brings it, one with this entry point in the group {self.group!r}"
            )
        return self._load(installed[kind])

    def _load(self, point: EntryPoint) -> type[OfKind]:
        where = f"the {self.what} kind {point.name!r} (entry point {point.value!r})"
        try:
            settings = point.load()
        except Exception as error:  # whatever importing another package may raise
            raise UnknownKind(f"{where} cannot be imported: {type(error).__name__}: {str(error)[:200]}") from error
        sound = isinstance(settings, type) and issubclass(settings, OfKind) and dataclasses.is_dataclass(settings)
        if not sound or settings.kinds is not self or settings.kind != point.name:
            raise UnknownKind(
                f"{where} is not what its package says: got {settings!r}, expected a dataclass of settings for this "
                f"{self.what} whose field 'kind' is {point.name!r} by default"
            )
        return settings


class OfKind:
    """Settings that come in kinds. A subclass is a frozen dataclass with a field ``kind`` that names it in files."""

    kinds: ClassVar[Kinds]
    """All kinds."""
    kind: str
    """The name of this one."""


__all__ = ["Kinds", "OfKind", "UnknownKind"]
