# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Readings of the neural step for a person, and requests that the person makes while it runs.

A panel keeps requests. They come from the threads of a user interface, at any time; the environment applies them
between two of its steps with :meth:`NerdPanel.apply`. A request that fails is shown, and the run goes on unchanged.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

from ..physics.modes import MODES

if TYPE_CHECKING:
    from ..physics.neural_physics import NeuralPhysics

REFRESH_PERIOD = 0.25
"""Time between two readings [s]; each of them waits for the device."""


@dataclass(frozen=True)
class Readings:
    """What a panel shows."""

    mode: str
    """Mode of the last step."""
    checkpoint: str
    """Path or name of the model; empty without one."""
    held_now: int
    """Environments that the guard held in the last step."""
    held_total: int
    """Steps that the guard held since the model was loaded, over all environments."""
    errors: dict[str, float] = field(default_factory=dict)
    """Mean absolute one-step error against the solver by quantity [m, rad, m/s, rad/s]; only in ``mixed`` mode."""
    answered: int = 0
    """Requests that were done or refused so far."""
    message: str = ""
    """Why the last request failed; empty if it did not."""

    def markdown(self) -> str:
        """The readings as a few lines of Markdown."""
        lines = [f"**Mode** {self.mode}", f"**Held** {self.held_now} now, {self.held_total} in all"]
        if self.errors:
            shown = "".join(f"\n- {name}: {value:.2e}" for name, value in self.errors.items())
            lines.append(f"**One-step error**\n{shown}")
        else:
            lines.append("**One-step error** only in mixed mode")
        if self.message:
            lines.append(f"**Refused** {self.message}")
        return "\n\n".join(lines)


class PanelEnv(Protocol):
    """What a panel needs of an environment; :class:`nerd_isaaclab.envs.nerd_env.NerdDynamics` has it."""

    sim: Any
    """Isaac Lab's simulation context."""

    @property
    def nerd(self) -> NeuralPhysics | None:
        """What takes over the step of the physics manager; None while no checkpoint was loaded."""

    @property
    def nerd_mode(self) -> str:
        """The mode that the last step ran in."""
        ...

    @property
    def nerd_cfg(self) -> Any:
        """Choice of the dynamics in the task's configuration."""

    @property
    def nerd_panel(self) -> NerdPanel:
        """The panel of the environment."""
        ...

    def set_nerd_mode(self, mode: str) -> None:
        """Asks for a mode."""

    def load_nerd_checkpoint(self, path: str) -> None:
        """Loads a model."""


class NerdPanel:
    """Requests of a person to an environment, and readings of it."""

    modes = MODES

    def __init__(self, env: PanelEnv):
        """Starts without requests.

        Args:
            env: Environment that applies the requests before each of its steps.
        """
        self._env = env
        self._lock = threading.Lock()
        self._asked: list[tuple[Literal["mode", "checkpoint"], str]] = []
        self._answered = 0
        self._message = ""

    def request_mode(self, mode: str) -> None:
        """Asks for ``physx``, ``neural`` or ``mixed``. Callable from any thread."""
        with self._lock:
            self._asked.append(("mode", mode))

    def request_checkpoint(self, path: str) -> None:
        """Asks for another model, by its directory or the name of a shipped one. Callable from any thread."""
        with self._lock:
            self._asked.append(("checkpoint", path.strip()))

    def apply(self) -> None:
        """Applies the requests in their order. Called by the environment between two steps."""
        if not self._asked:
            return
        with self._lock:
            asked, self._asked = self._asked, []
        self._message = ""
        self._answered += len(asked)
        for what, value in asked:
            try:
                if what == "mode":
                    self._env.set_nerd_mode(value)
                else:
                    self._env.load_nerd_checkpoint(value)
            except (ValueError, OSError) as error:  # the kinds whose message is the answer
                self._message = str(error)

    def read(self) -> Readings:
        """Reads the present values. Waits for the device."""
        neural = self._env.nerd
        held_now = held_total = 0
        errors: dict[str, float] = {}
        if neural is not None:
            held_now = int(neural.held.sum()) if self._env.nerd_mode != "physx" else 0
            held_total = int(neural.held_count.sum())
            if self._env.nerd_mode == "mixed" and neural.one_step_error is not None:
                errors = {name.removeprefix("error_"): float(value) for name, value in neural.error_summary().items()}
        return Readings(
            mode=self._env.nerd_mode,
            checkpoint=self._env.nerd_cfg.checkpoint or "",
            held_now=held_now,
            held_total=held_total,
            errors=errors,
            answered=self._answered,
            message=self._message,
        )


class Ticker:
    """Calls a function at most once in a period, however often it is called itself."""

    def __init__(self, function: Callable[[], None], period: float = REFRESH_PERIOD):
        self._function, self._period = function, period
        self._next = 0.0

    def __call__(self, _event: object = None) -> None:
        """Calls the function if it is time."""
        now = time.monotonic()
        if now >= self._next:
            self._next = now + self._period
            self._function()
