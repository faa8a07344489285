# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The first episode of each environment: what its task logs of it, and the numbers drawn for it.

Isaac Lab's command terms finish what they measure inside the reset that ends an episode, and set it to zero there; a
reset also logs means over all environments that it resets. So both are read there.

Numbers are drawn such that an episode gets the same ones whatever happens to the others, as far as a task lets it be: a
policy that is played twice from one seed, in a model and in the solver, meets the same starts, commands and noise.
What a task draws for several environments at once in the middle of episodes by an event (pushes at intervals) is the
same only while the same environments are concerned.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch


class FirstEpisodes:
    """Stands between an environment that has just been reset and its task, as long as its ``with`` block lasts."""

    def __init__(self, env: Any, playing: torch.Tensor, seed: int | None = None):
        """Notes what to watch.

        Args:
            env: An unwrapped manager-based environment.
            playing: Environments whose first episode goes on, shape (N,), bool. It is read again in every step.
            seed: Seed of all that is drawn from now on; None leaves drawing as it is.
        """
        self._env, self._playing, self._seed = env, playing, seed
        self._step = 0
        self._finished: dict[str, torch.Tensor] = {}
        self._logged: dict[str, tuple[float, int]] = {}
        self.commands: dict[str, torch.Tensor] = {}
        """What the command terms measured of each episode so far, by ``term/metric``, shapes (N,)."""
        self._terms = {name: env.command_manager.get_term(name) for name in env.command_manager.active_terms}
        self._replaced: list[tuple[Any, str]] = []

    def __enter__(self) -> FirstEpisodes:
        """Takes the place of the functions that reset and that draw."""
        for name, term in self._terms.items():
            term.metrics = _Read(term.metrics, self._finish(name))
            if self._seed is not None:
                self._replace(term, "_resample", self._one_by_one(name, term))
        self._replace(self._env, "_reset_idx", self._apart)
        if self._seed is not None and hasattr(self._env, "event_manager"):
            self._replace(self._env.event_manager, "apply", self._on_the_side)
        return self

    def __exit__(self, *error: object) -> None:
        """Gives the functions their places back."""
        for owner, name in self._replaced:
            delattr(owner, name)
        for term in self._terms.values():
            term.metrics = dict(term.metrics)

    def _replace(self, owner: Any, name: str, wrap: Callable[[Callable[..., None]], Callable[..., None]]) -> None:
        """Hides a method of an object behind one that calls it."""
        if hasattr(owner, name):
            setattr(owner, name, wrap(getattr(owner, name)))
            self._replaced.append((owner, name))

    @property
    def logs(self) -> dict[str, float]:
        """Means over the episodes of what else the task logged at their ends, by name."""
        return {name: total / count for name, (total, count) in self._logged.items()}

    def before_step(self, step: int) -> None:
        """Reads what the command terms have measured, and begins the numbers of a step.

        Args:
            step: Number of the step, from 0.
        """
        self._step = step
        if self._seed is not None:
            torch.manual_seed(_mixed(self._seed, step))
        for name, term in self._terms.items():
            for metric, value in _per_environment(term.metrics, len(self._playing)):
                self._keep(f"{name}/{metric}", value, self._playing)

    def after_step(self, ended: torch.Tensor) -> None:
        """Takes over what the command terms measured of the episodes that have ended.

        Args:
            ended: Environments whose first episode ended in this step, shape (N,), bool.
        """
        for name, value in self._finished.items():
            self._keep(name, value, ended)
        self._finished.clear()

    def _keep(self, name: str, value: torch.Tensor, rows: torch.Tensor) -> None:
        self.commands[name] = torch.where(rows, value.float(), self.commands.get(name, 0.0))

    def _finish(self, name: str) -> Callable[[dict[str, torch.Tensor]], None]:
        """What is called when a term's metrics are read to be logged."""

        def take(metrics: dict[str, torch.Tensor]) -> None:
            for metric, value in _per_environment(metrics, len(self._playing)):
                self._finished[f"{name}/{metric}"] = value.clone()

        return take

    def _apart(self, reset: Callable[[Any], None]) -> Callable[[Any], None]:
        """A reset that treats the first episodes apart from later ones, whose logs nobody reads."""

        def reset_apart(env_ids: Any) -> None:
            ids = torch.arange(len(self._playing), device=self._playing.device)[env_ids]
            first = self._playing[ids]
            ids = ids.to(env_ids.dtype) if isinstance(env_ids, torch.Tensor) else ids
            log = None
            for rows in (first, ~first):
                if rows.any():
                    with self._drawn_from("reset", self._step):
                        reset(ids[rows])
                    if log is None:
                        log = dict(self._env.extras.get("log", {}))
                        if rows is first:
                            self._add(log, int(first.sum()))
            self._env.extras["log"] = log or {}

        return reset_apart

    def _add(self, log: dict[str, Any], count: int) -> None:
        """Adds what a reset of some episodes logged, apart from what is measured of each of them."""
        known = {f"Metrics/{name}" for name in self._finished}
        for name, value in log.items():
            is_number = isinstance(value, (int, float)) or (isinstance(value, torch.Tensor) and value.numel() == 1)
            if is_number and name not in known and not name.startswith(("Episode_", "Metrics/nerd_")):
                total, before = self._logged.get(name, (0.0, 0))
                self._logged[name] = (total + float(value) * count, before + count)

    def _one_by_one(self, name: str, term: Any) -> Callable[[Callable[[Any], None]], Callable[[Any], None]]:
        """Draws the commands of each first episode from numbers of its own."""

        def wrap(resample: Callable[[Any], None]) -> Callable[[Any], None]:
            def resample_each(env_ids: Any) -> None:
                ids = torch.arange(len(self._playing), device=self._playing.device)[env_ids]
                first = self._playing[ids]
                for index, drawn in zip(ids[first].tolist(), term.command_counter[ids[first]].tolist(), strict=True):
                    with self._drawn_from(name, index, drawn):
                        resample(ids.new_tensor([index]))
                if not first.all():
                    with self._drawn_from(name, self._step):
                        resample(ids[~first])

            return resample_each

        return wrap

    def _on_the_side(self, apply: Callable[..., None]) -> Callable[..., None]:
        """Events whose draws change no number that is drawn after them."""

        def apply_on_the_side(*args: Any, **kwargs: Any) -> None:
            with self._drawn_from("events", self._step):
                apply(*args, **kwargs)

        return apply_on_the_side

    @contextmanager
    def _drawn_from(self, *words: Any) -> Iterator[None]:
        """Draws from a seed of its own, and leaves the numbers that follow as they were."""
        if self._seed is None:
            yield
            return
        device = self._playing.device
        with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
            torch.manual_seed(_mixed(self._seed, *words))
            yield


class _Read(dict):
    """The metrics of a command term; tells when they are read to be logged."""

    def __init__(self, metrics: dict[str, torch.Tensor], on_read: Callable[[dict[str, torch.Tensor]], None]):
        super().__init__(metrics)
        self._on_read = on_read

    def items(self):
        self._on_read(self)
        return super().items()


def _per_environment(metrics: dict[str, torch.Tensor], count: int) -> list[tuple[str, torch.Tensor]]:
    """The metrics that hold a number for each environment."""
    pairs = dict.items(metrics)
    return [(name, value) for name, value in pairs if isinstance(value, torch.Tensor) and value.shape == (count,)]


def _mixed(*words: Any) -> int:
    """A seed from some words: other words, other numbers."""
    return int.from_bytes(hashlib.blake2b(repr(words).encode(), digest_size=6).digest(), "big")
