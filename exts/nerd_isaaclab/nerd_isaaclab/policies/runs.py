# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Read what RSL-RL and Isaac Lab leave in a run's log folder."""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from pathlib import Path
from typing import Any

import yaml

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
    return yaml.load(path.read_text(encoding="utf-8"), _PlainLoader)


def load_task(run: Path) -> str | None:
    """Return the id of the task of a run, None if it was not noted."""
    path = run / "run.json"
    return json.loads(path.read_text(encoding="utf-8")).get("task") if path.is_file() else None


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
    events.Reload()
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
