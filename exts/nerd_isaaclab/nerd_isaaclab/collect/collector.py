# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Writes batches of trajectories of the solver to a shard.

A batch depends only on the seed, the shard and its own number. So a collection that was killed can be continued, and
ends with the same bytes as one that was not.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import importlib.metadata
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from nerd_core import __version__
from nerd_core.contact.contacts import ContactModel
from nerd_core.contact.grounds import Ground
from nerd_core.data.layout import ShardMeta, Trajectories
from nerd_core.data.shards import ShardWriter
from nerd_core.files.atomic import write_json
from nerd_core.files.serialization import StructureError, from_plain, to_plain
from nerd_core.robot.comparison import require_same_spec
from nerd_core.robot.guard import StateGuard
from nerd_core.robot.spec import RobotSpec

from ..physics.ground import GroundError, find_ground
from ..recorders.contact_probe import ContactProbe
from ..recorders.transitions import Transitions, planes_of, to_trajectories
from .collect_cfg import CollectCfg, CollectError
from .contact_agreement import compare, contacts_of_slots
from .lean_rollouts import LeanRollouts
from .managed_rollouts import ManagedRollouts
from .messages import CollectReport
from .origin import origin_of

if TYPE_CHECKING:
    from ..envs.nerd_env import NerdDynamics

EMPTY_BATCHES = 5
"""Batches in a row without one usable trajectory after which a collection gives up."""

_BACKENDS = {"ovphysx": "ovphysx", "physx": "isaacsim", "newton": "newton"}


class Collector:
    """Collects trajectories of one environment into one shard."""

    def __init__(self, env: NerdDynamics, cfg: CollectCfg, out: Path, shard: int, robot: RobotSpec | None = None):
        """Opens or continues a shard.

        Args:
            env: Environment of :attr:`CollectCfg.task` in ``physx`` mode, made by :func:`change_task`, before its first
                step.
            cfg: What to collect.
            out: Folder of the dataset.
            shard: Number of the shard.
            robot: Robot of the model that the data are for; None for any.

        Raises:
            SpecMismatch: The task has another robot.
        """
        cfg = cfg.resolved()
        self._env, self._cfg, self._shard = env, cfg, shard
        env.reset(seed=cfg.seed)
        self._spec = env.robot_spec
        if robot is not None:
            require_same_spec(robot, self._spec, "the model")
        self._probe = ContactProbe(env) if cfg.contacts in ("sensor", "both") else None
        # Isaac Lab sets velocities to zero in the first reset of its life, and engines warm up in their first step.
        env.step(torch.zeros(env.num_envs, env.action_manager.total_action_dim, device=env.device))
        warnings: list[str] = []
        ground = self._find_ground(warnings)
        rollouts = ManagedRollouts if cfg.managers else LeanRollouts
        self._rollouts = rollouts(env, cfg, ground, self._probe)
        self._contacts = ContactModel(self._spec)
        self._guard = StateGuard(self._spec)
        self._writer = ShardWriter(out, self._spec, self._meta(), shard=shard)
        self._report_file = self._writer.path / "report.json"
        self.report = self._resume()
        self.report.warnings = tuple(warnings)

    def run(self, transitions: int, progress: Callable[[CollectReport], None]) -> CollectReport:
        """Collects until the shard holds a number of transitions.

        Args:
            transitions: Number of transitions that the shard shall hold.
            progress: Called after each batch.
        """
        with self._writer, torch.inference_mode():
            self._save_report()  # a run that was killed behind its last batch has not counted it
            while self.report.transitions < transitions:
                self._batch()
                progress(self.report)
        return self.report

    def _find_ground(self, warnings: list[str]) -> Ground | None:
        """The ground of the task, on the CPU; None where there is none to store or each trajectory has its own."""
        if not self._spec.slots or self._cfg.ground != "task":
            return None
        try:
            ground = find_ground(self._env).to("cpu")
        except GroundError as error:
            if self._cfg.contacts != "none":
                raise
            warnings.append(f"the data tell nothing of the ground, and first states may touch it: {error}")
            return None
        if self._cfg.contacts == "none" and planes_of(ground, self._env.num_envs) is None:
            warnings.append("the data tell nothing of the ground, which is not one plane: add --contacts geometry")
        return ground

    def _batch(self) -> None:
        """Adds one batch to the shard. A batch of which nothing is left is drawn again, up to a number of times."""
        for attempt in range(EMPTY_BATCHES):
            trajectories = self._roll(self._writer.batches, attempt)
            if trajectories is not None:
                break
        else:
            reasons = ", ".join(f"{reason}: {number}" for reason, number in self.report.dropped.items())
            raise CollectError(
                f"not one usable trajectory in {EMPTY_BATCHES} batches ({reasons}): narrow the first states "
                "(--ranges, --initial task), the excitation (--shares) or --steps"
            )
        self._writer.append_trajectories(trajectories)
        self.report.batches = self._writer.batches
        self.report.transitions = self._writer.transitions
        self.report.trajectories = self._writer.trajectories
        self._save_report()

    def _save_report(self) -> None:
        write_json(self._report_file, to_plain(self.report))

    def _roll(self, number: int, attempt: int) -> Trajectories | None:
        """Plays a batch."""
        name = f"{self._cfg.seed}/{self._shard}/{number}" + (f"/{attempt}" if attempt else "")
        seed = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big") >> 1
        if self._probe is not None:
            self._probe.clear()
        transitions, ground = self._rollouts.roll(number, seed)
        transitions = self._with_contacts(transitions, ground)
        trajectories, dropped = to_trajectories(transitions, self._guard)
        _add(self.report.dropped, dropped)
        for kind in self._rollouts.kinds:
            _add(self.report.kinds, {kind: 1})
        return trajectories

    def _with_contacts(self, transitions: Transitions, ground: Ground | None) -> Transitions:
        if self._cfg.contacts == "none" or ground is None:
            return transitions
        contacts, force = self._contacts(transitions.before, ground), None
        if self._probe is not None:
            pairs, force = self._probe.take()
            if self._cfg.contacts == "both":
                self.report.agreement.add(compare(pairs, contacts, self._spec, force))
            else:
                contacts = contacts_of_slots(pairs, contacts, self._spec)
        recorded = {**transitions.recorded, "contacts": contacts, "body_force": force}
        return dataclasses.replace(transitions, recorded=recorded)

    def _meta(self) -> ShardMeta:
        backend = next(
            (name for name in _BACKENDS if self._env.sim.physics_manager.__name__.lower().startswith(name)), ""
        )
        source = {"none": "none", "sensor": "sensor"}.get(self._cfg.contacts, "geometry")
        return dataclasses.replace(
            origin_of(self._cfg),
            teacher=f"{backend} ({_version(_BACKENDS.get(backend, backend))})",
            contact_source=source if self._spec.slots else "none",  # type: ignore[arg-type]
            versions={"nerd": __version__, "isaaclab": _version("isaaclab"), "torch": torch.__version__},
        )

    def _resume(self) -> CollectReport:
        """The report of the run that is continued. Numbers that the shard itself holds are taken from there: a process
        that was killed between writing a batch and the report has not counted what it dropped from that batch.
        """
        found = CollectReport()
        with contextlib.suppress(OSError, ValueError, StructureError):
            found = from_plain(CollectReport, json.loads(self._report_file.read_text(encoding="utf-8")))
        found.batches, found.transitions = self._writer.batches, self._writer.transitions
        found.trajectories = self._writer.trajectories
        return found


def change_task(env_cfg: Any, cfg: CollectCfg) -> list[str]:
    """Changes the configuration of a task as far as a collection needs it, and returns what its user should know.

    Args:
        env_cfg: Configuration of the task; changed in place.
        cfg: What to collect.
    """
    from ..envs.randomised_properties import find_randomised_properties, hold_still
    from ..recorders.transition_recorder import TransitionRecordersCfg
    from .random_planes import prepare_scene

    cfg = cfg.resolved()
    env_cfg.seed = cfg.seed
    found = (find_randomised_properties if cfg.randomised else hold_still)(env_cfg.events)
    names = ", ".join(map(str, found))
    said = f"these events make robots differ, which no model can learn: {names}"
    if found and not cfg.randomised:
        said = (
            f"held at the middle of their ranges, since one model knows one robot (--randomised leaves them): {names}"
        )
    if cfg.managers:
        env_cfg.recorders = TransitionRecordersCfg()
        env_cfg.recorders.transitions.steps = cfg.steps
    if cfg.ground == "random-planes":
        prepare_scene(env_cfg.scene)
    if cfg.contacts in ("sensor", "both"):
        robot = env_cfg.nerd.robot or "robot"
        spawn = getattr(getattr(env_cfg.scene, robot, None), "spawn", None)
        if hasattr(spawn, "activate_contact_sensors"):
            spawn.activate_contact_sensors = True
    return [said] if found else []


def _add(counts: dict[str, int], more: Mapping[str, int]) -> None:
    for name, number in more.items():
        counts[name] = counts.get(name, 0) + number


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "unknown"
