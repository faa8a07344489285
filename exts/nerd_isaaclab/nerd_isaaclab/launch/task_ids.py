# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Find the registered tasks by reading sources, without importing Isaac Lab.

Importing ``isaaclab_tasks`` costs seconds; its registrations are plain calls ``gym.register(id="...", kwargs={...})``
in ``__init__.py`` files, by its own convention. They are read from the syntax tree, and so are those of the packages
behind the entry-point group ``isaaclab.tasks``, in whichever of their files. A task whose id is computed is not found
this way: :func:`computing_packages` tells who computes ids, and :func:`registered_tasks` asks Gymnasium, which is slow.
The programs do so before they give up on a task, and the list does where a package computes ids.
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
_PLAIN = ("nerd_isaaclab", "isaaclab_tasks")
"""Packages that register in ``__init__.py`` files alone, under ids that stand there."""
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


def computing_packages() -> list[str]:
    """Modules behind the entry points that register tasks under ids which the sources do not name."""
    added = sorted({point.value.partition(":")[0] for point in importlib.metadata.entry_points(group=GROUP)})
    return [
        module for module in added if module.partition(".")[0] not in _PLAIN and any(map(_is_computed, _calls(module)))
    ]


def registered_tasks() -> list[TaskId]:
    """All tasks as Gymnasium has them after every package was imported, sorted by id. Takes seconds.

    Packages that cannot be imported are left out, with a warning.
    """
    import gymnasium

    import nerd_isaaclab.tasks  # noqa: F401  (imports the packages and derives tasks, as the programs do)

    entries = ((spec, spec.kwargs) for spec in gymnasium.registry.values())
    found = [
        TaskId(
            spec.id,
            str(kwargs["env_cfg_entry_point"]),
            str(spec.entry_point),
            tuple(library for library in _LIBRARIES if f"{library}_cfg_entry_point" in kwargs),
        )
        for spec, kwargs in entries
        if "env_cfg_entry_point" in kwargs and not kwargs.get("deprecated")
    ]
    return sorted(found, key=lambda task: task.id)


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
    return any(task.id == name for task in registered_tasks())


def _scan(module: str) -> Iterator[TaskId]:
    """Tasks whose ids stand in the sources at and under a module."""
    for call, here in _calls(module):
        if _called(call) == "register_task":
            yield from _pair(call, here)
        elif (task := _task(call, here)) is not None:
            yield task


def _calls(module: str) -> Iterator[tuple[ast.Call, str]]:
    """Calls of ``register`` and ``register_task`` at and under a module, each with the name of its own module."""
    for path, here in _sources(module):
        text = path.read_text(encoding="utf-8")
        if "register(" not in text and "register_task(" not in text:
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and _called(node) in ("register", "register_task"):
                yield node, here


def _called(call: ast.Call) -> str:
    """Name of the function that is called."""
    return ast.unparse(call.func).rpartition(".")[2]


def _sources(module: str) -> Iterator[tuple[Path, str]]:
    """Files of a module, found from its top package's spec alone: asking for more would import it."""
    top, *inner = module.split(".")
    try:
        spec = importlib.util.find_spec(top)
    except (ImportError, ValueError):
        return
    if spec is not None and spec.submodule_search_locations is None and not inner and spec.origin is not None:
        yield Path(spec.origin), module
    for root in (spec.submodule_search_locations if spec else None) or ():
        folder = Path(root, *inner)
        for path in sorted(folder.rglob("__init__.py" if top in _PLAIN else "*.py")):
            below = path.relative_to(folder).with_suffix("").parts
            yield path, ".".join((module, *(part for part in below if part != "__init__")))
        if inner and (path := folder.with_suffix(".py")).is_file():
            yield path, module


def _given(call: ast.Call, *positional: str) -> dict[str | None, ast.expr]:
    """Arguments of a call by name; None is what ``**`` stands before."""
    return dict(zip(positional, call.args)) | {keyword.arg: keyword.value for keyword in call.keywords}


def _is_computed(found: tuple[ast.Call, str]) -> bool:
    """Whether a call registers a task under an id that is not written there."""
    call, _ = found
    is_ours = _called(call) == "register_task"
    given = _given(call, "task_id" if is_ours else "id")
    is_of_a_task = is_ours or bool({"entry_point", "kwargs", None} & set(given))
    return is_of_a_task and not isinstance(given.get("task_id" if is_ours else "id"), ast.Constant)


def _task(call: ast.Call, module: str) -> TaskId | None:
    """Read one call of ``gym.register``; None if it is not that of a task, or of a deprecated one."""
    given = _given(call, "id", "entry_point")
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
    given = _given(call, "task_id", "env_cfg")
    if "task_id" in given and "env_cfg" in given:
        if not isinstance(given["task_id"], ast.Constant):
            return  # its id is computed
        name, config = (_text(given[key], module) for key in ("task_id", "env_cfg"))
        has_agent = not any(
            word.arg == "agent" and isinstance(word.value, ast.Constant) and word.value.value is None
            for word in call.keywords
        )
        agents = ("rsl_rl",) if has_agent else ()
        yield TaskId(name, config, OWN_ENV, agents)
        yield TaskId(f"{name}-Play", f"nerd_isaaclab.tasks.play:{name}", OWN_ENV, agents)


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
