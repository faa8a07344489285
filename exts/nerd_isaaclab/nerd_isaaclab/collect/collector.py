# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Writes batches of trajectories of the solver to a shard.

A batch hangs only on the seed, the shard and its own number. So a collection that was killed goes on where it stopped
and ends with the same bytes as one that was not.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from nerd_core import __version__
from nerd_core.contacts import ContactModel
from nerd_core.data.layout import ShardMeta, host_name
from nerd_core.data.shards import ShardWriter
from nerd_core.grounds import PlaneGround
from nerd_core.guard import StateGuard

from ..physics.ground import find_ground
from ..physics.robot_description import control_range
from .collect_cfg import CollectCfg
from .excitation import ControlRange, Excitation
from .initial_states import draw_initial_states
from .lean_scene import LeanScene

if TYPE_CHECKING:
    from ..envs.nerd_env import NerdDynamics

_BACKENDS = {"ovphysx": "ovphysx", "physx": "isaacsim", "newton": "newton"}


@dataclass
class CollectReport:
    """What a worker did."""

    transitions: int = 0
    """Control steps recorded."""
    trajectories: int = 0
    """Trajectories recorded."""
    dropped: dict[str, int] = field(default_factory=dict)
    """Trajectories not recorded, by reason."""
    kinds: dict[str, int] = field(default_factory=dict)
    """Trajectories by kind of excitation, those that were dropped included."""


class Collector:
    """Collects trajectories of one environment into one shard."""

    def __init__(self, env: NerdDynamics, cfg: CollectCfg, out: Path, shard: int):
        """Opens or continues a shard.

        Args:
            env: Environment of :attr:`CollectCfg.task` in ``physx`` mode.
            cfg: What to collect.
            out: Folder of the dataset.
            shard: Number of the shard.
        """
        self._env, self._cfg, self._shard = env, cfg, shard
        self._spec = env.robot_spec
        low, high = control_range(env, env.robot, self._spec)
        self._limits = ControlRange(low.cpu(), high.cpu())
        self._scene = LeanScene(env, rewrite=cfg.teacher_mode == "rewritten")
        self._ground = find_ground(env).to("cpu") if self._spec.slots else None
        self._contacts = ContactModel(self._spec)
        self._guard = StateGuard(self._spec)
        self._writer = ShardWriter(out, self._spec, self._meta(), shard=shard)
        self.report = CollectReport(self._writer.transitions, self._writer.trajectories)

    def run(self, transitions: int, progress: Callable[[CollectReport], None]) -> CollectReport:
        """Collects until the shard holds a number of transitions.

        Args:
            transitions: Number of transitions that the shard shall hold.
            progress: Called after each batch.
        """
        with self._writer:
            while self.report.transitions < transitions:
                self._batch(self._writer.batches)
                self.report.transitions = self._writer.transitions
                self.report.trajectories = self._writer.trajectories
                progress(self.report)
        return self.report

    @torch.no_grad()
    def _batch(self, number: int) -> None:
        cfg, spec, count = self._cfg, self._spec, self._scene.num_envs
        seed = int.from_bytes(hashlib.sha256(f"{cfg.seed}/{self._shard}/{number}".encode()).digest()[:8], "big") >> 1
        generator = torch.Generator().manual_seed(seed)
        excitation = Excitation(spec, self._limits, cfg.shares, count, cfg.steps, generator)
        self._begin(seed, generator)
        states = [self._scene.read().clone()]
        controls = []
        for step in range(cfg.steps):
            control = excitation.control(step, states[-1])
            controls.append(control)
            states.append(self._scene.step(control).clone())
        state, control = torch.stack(states, 1).cpu(), torch.stack(controls, 1).cpu()
        keep = self._keep(state)
        for kind in excitation.kinds:
            self.report.kinds[kind] = self.report.kinds.get(kind, 0) + 1
        if keep.any():
            self._write(state[keep], control[keep], keep)

    def _begin(self, seed: int, generator: torch.Generator) -> None:
        if self._cfg.initial == "wide":
            state = draw_initial_states(self._spec, self._cfg.ranges, self._scene.num_envs, generator, self._ground)
            self._scene.write(state.to(self._env.device))
        else:
            self._env.reset(seed=seed % 2**31)

    def _keep(self, state: torch.Tensor) -> torch.Tensor:
        """Which trajectories to record; counts the others by reason."""
        finite = state.isfinite().all(-1).all(-1)
        sane = self._guard(torch.where(finite[:, None, None], state, self._guard.neutral)).all(-1)
        for reason, mask in (("not finite", ~finite), ("outside the guard", finite & ~sane)):
            if mask.any():
                self.report.dropped[reason] = self.report.dropped.get(reason, 0) + int(mask.sum())
        return finite & sane

    def _write(self, state: torch.Tensor, control: torch.Tensor, keep: torch.Tensor) -> None:
        ground, contacts = None, None
        if isinstance(self._ground, PlaneGround) and self._ground.normal.dim() == 2:
            planes = torch.cat((self._ground.normal, self._ground.offset[:, None]), dim=-1)
            ground = planes.expand(len(keep), 4)[keep]
        if self._cfg.contacts == "geometry" and self._ground is not None:
            contacts = self._contacts(state[:, :-1], self._ground, keep.nonzero().squeeze(-1))
        self._writer.append(state, control, ground=ground, contacts=contacts)

    def _meta(self) -> ShardMeta:
        backend = next(
            (name for name in _BACKENDS if self._env.sim.physics_manager.__name__.lower().startswith(name)), ""
        )
        package = _BACKENDS.get(backend, backend)
        return ShardMeta(
            task=self._cfg.task,
            seed=self._cfg.seed,
            teacher=f"{backend} ({_version(package)})",
            teacher_mode=self._cfg.teacher_mode,
            excitation=", ".join(f"{kind} {share:g}" for kind, share in sorted(self._cfg.shares.items())),
            contact_source=self._cfg.contacts if self._spec.slots else "none",
            host=host_name(),
            versions={"nerd": __version__, "isaaclab": _version("isaaclab"), "torch": torch.__version__},
            notes={"initial": self._cfg.initial, "num_envs": str(self._cfg.num_envs), "steps": str(self._cfg.steps)},
        )


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "unknown"
