# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Read what RSL-RL and Isaac Lab leave in a run's log folder."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path
from typing import Any

import yaml

from nerd_core.files.messages import first_line
from nerd_core.files.safe_files import parse_json, read_bytes

from .rsl_rl_file import PolicyError

MAX_SETTINGS_BYTES = 2**20
"""Largest file of settings that is read [bytes]."""

MAX_TASK = 200
"""Longest id of a task [characters]."""

AGENT = "params/agent.yaml"
"""File in a run's log folder with the configuration of the agent."""


class _PlainLoader(yaml.SafeLoader):
    """Safe YAML plus the tuples and slices that Isaac Lab writes."""


_PlainLoader.add_constructor("tag:yaml.org,2002:python/tuple", yaml.SafeLoader.construct_yaml_seq)
_PlainLoader.add_multi_constructor("tag:yaml.org,2002:python/", lambda loader, suffix, node: None)


def find_run(folder: Path, known: Collection[Path] = ()) -> Path:
    """Return the latest log folder that RSL-RL has made below a folder, ``logs/rsl_rl/<experiment>/<time>``.

    Args:
        folder: Folder that the training ran in.
        known: Log folders of earlier trainings.
    """
    found = [path.parent.parent for path in sorted(folder.glob(f"logs/rsl_rl/*/*/{AGENT}"))]
    fresh = [path for path in found if path not in known]
    if not fresh:
        raise FileNotFoundError(f"the training left no log folder in {folder}: expected logs/rsl_rl/*/*/{AGENT}")
    return fresh[-1]


def load_agent(run: Path) -> dict[str, Any]:
    """Return the agent's configuration of a run."""
    path = run / AGENT
    if not path.is_file():
        raise FileNotFoundError(f"{run} is not the log folder of a run: it has no {AGENT}")
    try:
        agent = yaml.load(read_bytes(path, MAX_SETTINGS_BYTES).decode(), _PlainLoader)
    except (yaml.YAMLError, ValueError, TypeError, RecursionError, OverflowError) as error:
        raise PolicyError(f"the settings '{path}' cannot be read: {first_line(error)[:200]}") from None
    if not isinstance(agent, dict):
        raise PolicyError(f"the settings '{path}' are a {type(agent).__name__}, expected those of an agent")
    return agent


def load_task(run: Path) -> str | None:
    """Return the id of the task of a run, None if it was not noted."""
    path = run / "run.json"
    if not path.is_file():
        return None
    noted = parse_json(read_bytes(path, MAX_SETTINGS_BYTES), path.name)
    task = noted.get("task") if isinstance(noted, dict) else None
    return task if isinstance(task, str) and len(task) <= MAX_TASK else None


def last_checkpoint(run: Path) -> Path:
    """Return the checkpoint with the highest iteration."""
    numbered = {
        int(match.group(1)): path for path in run.glob("model_*.pt") if (match := re.search(r"_(\d+)$", path.stem))
    }
    if not numbered:
        raise FileNotFoundError(f"{run} has no checkpoint model_<iteration>.pt")
    return numbered[max(numbered)]


def load_curve(run: Path) -> dict[str, list[float]]:
    """Return what the run logged of its progress.

    Returns:
        Columns of equal length: iteration, time since the start [s], mean return and mean length [steps] of episodes.
    """
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(run), size_guidance={"scalars": 0})
    try:
        events.Reload()
    except Exception as error:  # whatever a damaged file of events may raise
        said = f"{type(error).__name__}, {first_line(error)[:100]}"
        raise PolicyError(f"the event file of {run} cannot be read: {said}") from None
    names = {"return": "Train/mean_reward", "length": "Train/mean_episode_length"}
    missing = [name for name in names.values() if name not in events.Tags()["scalars"]]
    if missing:
        raise ValueError(f"the event file of {run} has no {' and no '.join(missing)}: did a single episode end?")
    scalars = {column: {event.step: event for event in events.Scalars(name)} for column, name in names.items()}
    steps = sorted(set.intersection(*(set(values) for values in scalars.values())))
    start = events.FirstEventTimestamp()
    return {
        "iteration": [float(step) for step in steps],
        "seconds": [round(scalars["return"][step].wall_time - start, 2) for step in steps],
        **{column: [round(values[step].value, 4) for step in steps] for column, values in scalars.items()},
    }
