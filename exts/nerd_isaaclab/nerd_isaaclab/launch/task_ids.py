# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Find the registered tasks by reading sources, without importing Isaac Lab.

Importing ``isaaclab_tasks`` costs seconds; its registrations are plain calls ``gym.register(id="...", kwargs={...})``
in ``__init__.py`` files, by its own convention, and so are those of the packages behind the entry-point group
``isaaclab.tasks``. They are read from the syntax tree. A task whose id is computed is not found this way; that only
costs it its line in a list and a near name, since the programs still ask Gymnasium before they give up on a task.
Calls of ``register_task`` (:mod:`nerd_isaaclab.tasks.register`) are read alike, and stand for two tasks.
The tasks that :mod:`nerd_isaaclab.tasks.derived` makes by rule are made by the same rule here.
"""

from __future__ import annotations

import ast
import difflib
import importlib.metadata
import importlib.util
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

GROUP = "isaaclab.tasks"
"""Entry-point group through which packages add tasks to Isaac Lab."""

DERIVED = "nerd_isaaclab.tasks.derived"
"""Module that registers a task ``NeRD-<id>`` for each manager-based one."""

OWN_ENV = "nerd_isaaclab.envs.nerd_env:NerdEnv"
"""Environment class of tasks that have the choice of dynamics, as ``register_task`` gives it."""

_PREFIX = "NeRD-"
_MANAGER_BASED = "isaaclab.envs:ManagerBasedRLEnv"
_LIBRARIES = ("rl_games", "rlinf", "rsl_rl", "sb3", "skrl", "torchrl")


@dataclass(frozen=True)
class TaskId:
    """One registration: its id, where configuration and environment stand, the libraries it has agents for."""

    id: str
    config: str
    env: str
    libraries: tuple[str, ...]


def find_tasks() -> list[TaskId]:
    """Return all tasks: of the packages that add some, then the stock ones, then the derived ones, sorted by id."""
    added = [point.value.partition(":")[0] for point in importlib.metadata.entry_points(group=GROUP)]
    tasks: list[TaskId] = []
    for module in [*sorted(added), "isaaclab_tasks"]:
        tasks += sorted(_scan(module), key=lambda task: task.id)
    known = {task.id: task for task in tasks}
    for task in sorted(known.values(), key=lambda task: task.id):
        if _is_derivable(task):
            # One that is registered by hand keeps its place and its configuration.
            known.setdefault(_PREFIX + task.id, replace(task, id=_PREFIX + task.id, config=f"{DERIVED}:{task.id}"))
    return list(known.values())


def check_task(task: str | None) -> None:
    """Raise an error that names similar tasks if this one is not registered.

    Args:
        task: Id as given after ``--task``; None if it was not given.
    """
    found = find_tasks()
    ids = [entry.id for entry in found]
    if task is None:
        made_here = (
            entry.id for entry in found if entry.id.startswith(_PREFIX) and not entry.config.startswith(DERIVED)
        )
        own = ", ".join(name for name in made_here if not name.endswith("-Play"))
        raise ValueError(
            f"--task is missing: expected the id of a task, for instance one of {own} ('nerd list-envs' lists all)"
        )
    name = task.split(":")[-1]
    if name not in ids and not _registered(name):
        raise ValueError(f"got the unknown task '{name[:80]}'{_near(name, ids)} ('nerd list-envs' lists all)")


def _is_derivable(task: TaskId) -> bool:
    """Whether a ``NeRD-`` task is derived from this one: the rule of :mod:`nerd_isaaclab.tasks.derived`."""
    if task.id.startswith(_PREFIX) or task.env == OWN_ENV:
        return False
    return task.env == _MANAGER_BASED or not task.env.startswith("isaaclab")


def _near(name: str, ids: list[str]) -> str:
    """The question after an unknown name; empty if nothing is near."""
    by_lower = {known.lower(): known for known in ids}
    near = [by_lower[found] for found in difflib.get_close_matches(name.lower(), by_lower, n=3, cutoff=0.6)]
    return f", did you mean {' or '.join(near)}?" if near else ""


def _registered(name: str) -> bool:
    """Whether a task with a computed id is registered. Slow, and only asked for what the sources do not name."""
    import gymnasium

    for point in importlib.metadata.entry_points(group=GROUP):
        point.load()
    import isaaclab_tasks  # noqa: F401

    return name in gymnasium.registry


def _scan(module: str) -> Iterator[TaskId]:
    """Tasks registered in the ``__init__.py`` files at and under a module."""
    for folder, name in _folders(module):
        for path in sorted(folder.rglob("__init__.py")):
            text = path.read_text(encoding="utf-8")
            if "register(" not in text and "register_task(" not in text:
                continue
            here = ".".join((name, *path.parent.relative_to(folder).parts))
            for node in ast.walk(ast.parse(text)):
                if isinstance(node, ast.Call):
                    called = ast.unparse(node.func).rpartition(".")[2]
                    if called == "register" and (task := _task(node, here)) is not None:
                        yield task
                    elif called == "register_task":
                        yield from _pair(node, here)


def _folders(module: str) -> Iterator[tuple[Path, str]]:
    """Folders of a package, found from its top package's spec alone: asking for more would import it."""
    top, *inner = module.split(".")
    try:
        spec = importlib.util.find_spec(top)
    except (ImportError, ValueError):
        return
    for root in (spec.submodule_search_locations if spec else None) or ():
        folder = Path(root, *inner)
        if folder.is_dir():
            yield folder, module


def _task(call: ast.Call, module: str) -> TaskId | None:
    """Read one call of ``gym.register``; None if it is not that of a task, or of a deprecated one."""
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    name, options = given.get("id"), given.get("kwargs")
    if not (isinstance(name, ast.Constant) and isinstance(name.value, str) and isinstance(options, ast.Dict)):
        return None
    entries = {key.value: value for key, value in zip(options.keys, options.values) if isinstance(key, ast.Constant)}
    if "env_cfg_entry_point" not in entries or "deprecated" in entries:
        return None
    libraries = tuple(library for library in _LIBRARIES if f"{library}_cfg_entry_point" in entries)
    env = _text(given["entry_point"], module) if "entry_point" in given else ""
    return TaskId(name.value, _text(entries["env_cfg_entry_point"], module), env, libraries)


def _pair(call: ast.Call, module: str) -> Iterator[TaskId]:
    """Read one call of ``register_task``: a task and its ``-Play`` variant."""
    given = dict(zip(("task_id", "env_cfg"), call.args)) | {keyword.arg: keyword.value for keyword in call.keywords}
    if "task_id" in given and "env_cfg" in given:
        if not isinstance(given["task_id"], ast.Constant):
            return  # its id is computed
        name, config = (_text(given[key], module) for key in ("task_id", "env_cfg"))
        yield TaskId(name, config, OWN_ENV, ("rsl_rl",))
        yield TaskId(f"{name}-Play", f"nerd_isaaclab.tasks.play:{name}", OWN_ENV, ("rsl_rl",))


def _text(node: ast.expr, module: str) -> str:
    """Value of a string, or of an f-string of ``__name__`` and the ``__name__`` of a sub-module."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(part, module) for part in node.values)
    if isinstance(node, ast.FormattedValue):
        source = ast.unparse(node.value)
        if source == "__name__":
            return module
        if source.endswith(".__name__"):
            return f"{module}.{source.removesuffix('.__name__')}"
    return ast.unparse(node)
