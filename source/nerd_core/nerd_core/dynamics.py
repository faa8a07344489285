# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Running learned dynamics: the stepper of a simulator, and the differentiable roll-out.

:class:`NeuralDynamics` keeps a history for each environment and advances all of them by one control step per call. An
environment that was reset is like a new one to the last bit, and the others do not notice. :func:`rollout` is the same
motion as a pure function: gradients flow from any state to the first one, the controls and the weights.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from .compilation import CompiledOrPlain
from .contact.contacts import Contacts
from .contact.grounds import Ground
from .mechanics.kept_traces import without_traces
from .network.architectures.base import Cache, Past
from .predictor.prediction import Forces, Prediction
from .predictor.predictor import Predictor
from .robot.guard import StateGuard
from .robot.physical_parameters import PhysicalParameters


@dataclass(frozen=True)
class GuardReport:
    """What the guard had to refuse."""

    held_now: int
    """Environments held in the last step."""
    held_total: int
    """Steps held so far, over all environments."""
    envs: tuple[int, ...]
    """Environments that were ever held, the most often held first."""

    def __str__(self):
        if not self.held_total:
            return "the guard held no step"
        shown = ", ".join(str(env) for env in self.envs[:8]) + (", ..." if len(self.envs) > 8 else "")
        return (
            f"the guard held {self.held_total} steps in {len(self.envs)} environments ({shown}), "
            f"{self.held_now} of them in the last step"
        )


class NeuralDynamics:
    """Steps a predictor for many environments, each with its own history.

    A predicted state that is not finite or leaves the guard of the robot's specification is refused: the environment
    keeps its last good state, forgets its history and is flagged in :attr:`held`. So is one that comes in with such a
    state. What goes out is therefore always sane.
    """

    held: Tensor
    """Environments that the last step held, shape (N,), bool."""
    held_count: Tensor
    """How often each environment was held, shape (N,), int64. A reset does not clear it."""
    last_good: Tensor
    """State after the last step, or the one it held, shape (N, S)."""
    prediction: Prediction | None
    """What the network said in the last step; for contact forces and uncertainty."""

    def __init__(
        self,
        predictor: Predictor,
        num_envs: int,
        device: torch.device | str | None = None,
        ground: Ground | None = None,
        compile: bool = False,
        noise: float = 0.0,
    ):
        """Starts with empty histories.

        Args:
            predictor: The learned dynamics. Moved to ``device``; not copied, so that new weights take effect at once.
            num_envs: Number of environments.
            device: Device to run on; by default the predictor's.
            ground: What the robot stands on, to compute contacts when a step is not given any.
            compile: Whether to compile the step, which pays after some ten thousand steps. Needs a C++ compiler on the
                CPU and Triton on a GPU; without them a warning is given and the step runs uncompiled. Every number of
                environments is compiled for itself.
            noise: Standard deviation of noise on each predicted change of state, as a share of the typical change in
                the training data. A policy that learns with it cannot count on what only this model would do.
        """
        if not 0.0 <= noise < float("inf"):
            raise ValueError(f"got a noise of {noise}, expected a finite number >= 0")
        self.noise = noise
        own = predictor.device
        self.device = torch.device(device) if device is not None else own
        self.predictor = predictor if own == self.device else predictor.to(self.device)
        self.spec = predictor.spec
        self.ground = None if ground is None else ground.to(self.device)
        self.guard = StateGuard(self.spec).to(self.device)
        # With fullgraph a failure to compile comes before anything was computed, so that starting over is safe.
        self._compiled = CompiledOrPlain(self._advance, "the step runs", fullgraph=True) if compile else None
        self._forces: Forces = "none"
        self._allocate(num_envs)

    @property
    def num_envs(self) -> int:
        """Number of environments."""
        return self.held.shape[0]

    def ask_for_forces(self, forces: Forces) -> None:
        """Lets :attr:`prediction` have the forces on bodies from now on, or not any more. They cost time, and are only
        for a predictor that gives them.

        Args:
            forces: Which forces are asked for.
        """
        if forces != "none" and not self.predictor.gives_forces:
            raise ValueError(f"got a predictor of '{self.spec.name}' that knows no forces, expected one with mechanics")
        self._forces = forces

    def reset(self, env_ids: Tensor | None = None) -> None:
        """Empties the history of some environments, as after a reset, a teleport or a change of the stepper.

        Args:
            env_ids: Indices, shape (n,), or a mask, bool, shape (N,), of the environments; None for all.
        """
        if env_ids is not None:
            env_ids = env_ids.to(self.device)
        self.predictor.reset(self._cache, env_ids)
        if env_ids is None:
            self.last_good.copy_(self.guard.neutral.expand_as(self.last_good))
            self.held.zero_()
        elif env_ids.dtype == torch.bool:
            self.last_good.copy_(torch.where(env_ids[:, None], self.guard.neutral, self.last_good))
            self.held.masked_fill_(env_ids, False)
        else:
            self.last_good[env_ids] = self.guard.neutral
            self.held.index_fill_(0, env_ids, False)

    @torch.no_grad()
    def step(
        self,
        state: Tensor,
        control: Tensor,
        contacts: Contacts | None = None,
        parameters: PhysicalParameters | None = None,
    ) -> Tensor:
        """Advances every environment by one control step.

        Args:
            state: States, shape (N, S).
            control: Controls held over the step, shape (N, C).
            contacts: Contacts of ``state``, for instance from a simulator's geometry, leading dimension (N,). Computed
                from the ground by default.
            parameters: What of the robots differs from the specification, leading dimension (N,) or none. Only for a
                predictor that takes them.

        Returns:
            States one control step later, shape (N, S): always finite and inside the guard.
        """
        expected = (self.num_envs, self.spec.state.dim), (self.num_envs, self.spec.control_dim)
        if (state.shape, control.shape) != expected:
            raise ValueError(
                f"got states of shape {tuple(state.shape)} and controls of shape {tuple(control.shape)}, expected "
                f"{expected[0]} and {expected[1]} (resize() changes the number of environments)"
            )
        if self._compiled is None:
            next_state, self.prediction = self._advance(state, control, contacts, parameters)
        else:
            shape = self.num_envs, self._forces, () if parameters is None else parameters.given
            next_state, self.prediction = self._compiled.call(shape, state, control, contacts, parameters)
        return next_state

    def report(self) -> GuardReport:
        """What the guard refused so far. Waits for the device."""
        count = self.held_count.cpu()
        order = count.argsort(descending=True, stable=True)
        return GuardReport(
            held_now=int(self.held.sum()),
            held_total=int(count.sum()),
            envs=tuple(int(env) for env in order[: int((count > 0).sum())]),
        )

    # -- save, restore, change the number of environments ----------------------------------------------------------

    def state_dict(self) -> dict[str, Tensor]:
        """A copy of all histories. After :meth:`load_state_dict` the motion goes on to the last bit."""
        return {name: tensor.clone() for name, tensor in self._state().items()}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Goes on from :meth:`state_dict`, with the number of environments that it holds.

        Args:
            state: What :meth:`state_dict` gave, of a stepper with a predictor of the same shape.
        """
        own = self._state()
        if set(state) != set(own):
            raise ValueError(f"history: got the entries {sorted(state)}, expected {sorted(own)}")
        count = state["held"].shape[0]
        for name, tensor in state.items():
            dim = _env_dim(name)
            expected = (*own[name].shape[:dim], count, *own[name].shape[dim + 1 :])
            if tuple(tensor.shape) != expected or tensor.dtype != own[name].dtype:
                raise ValueError(
                    f"history: got '{name}' of shape {tuple(tensor.shape)} and type {tensor.dtype}, expected "
                    f"{expected} and {own[name].dtype} (was it saved with another model?)"
                )
        if count != self.num_envs:
            self._allocate(count)
            own = self._state()
        for name, tensor in state.items():
            own[name].copy_(tensor)

    def resize(self, num_envs: int) -> None:
        """Changes the number of environments. Those that stay keep their histories, new ones have none.

        Args:
            num_envs: Number of environments from now on.
        """
        before = self._state()
        self._allocate(num_envs)
        for name, tensor in self._state().items():
            dim = _env_dim(name)
            kept = min(tensor.shape[dim], before[name].shape[dim])
            tensor.narrow(dim, 0, kept).copy_(before[name].narrow(dim, 0, kept))

    # -- inside ----------------------------------------------------------------------------------------------------

    def _allocate(self, num_envs: int) -> None:
        if num_envs < 1:
            raise ValueError(f"got {num_envs} environments, expected at least 1")
        self._cache: Cache = self.predictor.init_cache(num_envs)
        self.held = torch.zeros(num_envs, dtype=torch.bool, device=self.device)
        self.held_count = torch.zeros(num_envs, dtype=torch.int64, device=self.device)
        self.last_good = self.guard.neutral.repeat(num_envs, 1)
        self.prediction = None

    def _state(self) -> dict[str, Tensor]:
        own = {"held": self.held, "held_count": self.held_count, "last_good": self.last_good}
        return own | {f"cache.{name}": tensor for name, tensor in self._cache.items()}

    def _advance(
        self, state: Tensor, control: Tensor, contacts: Contacts | None, parameters: PhysicalParameters | None = None
    ) -> tuple[Tensor, Prediction]:
        """The step itself. No number leaves the device and no branch depends on one."""
        sane = self.guard(state)
        state = torch.where(sane[:, None], state, self.last_good)
        if contacts is None:
            contacts = self.predictor.contacts(state, self.ground)
        prediction = self.predictor.step(state, control, contacts, self._cache, parameters, self._forces)
        said = prediction
        if self.noise:
            said = Prediction(prediction.change + self.noise * torch.randn_like(prediction.change))
        next_state = self.predictor.next_state(state, said)
        good = sane & self.guard(next_state)
        next_state = torch.where(good[:, None], next_state, state)
        held = ~good
        self.held.copy_(held)
        self.held_count += held
        self.last_good.copy_(next_state)
        self.predictor.reset(self._cache, held)
        return next_state, prediction


def rollout(
    predictor: Predictor,
    state: Tensor,
    controls: Tensor,
    ground: Ground | None = None,
    history: Past | None = None,
    parameters: PhysicalParameters | None = None,
    memory: Tensor | None = None,
) -> Tensor:
    """Predicts a trajectory from its first state and the controls.

    A pure function, without a guard: gradients flow from every state to the first one, the controls and the weights of
    the predictor. Contacts are those of the predicted states. What a prior remembers beside the state, as where feet
    were put down, is left out unless a memory to begin with is given.

    Args:
        predictor: The learned dynamics.
        state: First states, shape (B, S).
        controls: Controls held over each step, shape (B, H, C).
        ground: What the robot stands on. None only if the predictor sees no contacts.
        history: What came before the first state, from :meth:`Predictor.prefill` or :meth:`Predictor.extend`; by
            default nothing.
        parameters: What of the robots differs from the specification, the same over the motion, leading dimension (B,)
            or none. Only for a predictor that takes them. Gradients flow to them, too.
        memory: What the prior remembers at the beginning, from :meth:`Predictor.new_memory`: it goes along then, and
            gradients through it; None to go without.

    Returns:
        States, the first included, shape (B, H + 1, S).
    """
    held = controls.unbind(-2)
    states = rollout_states(
        predictor,
        state,
        lambda step, _: held[step],
        len(held),
        ground,
        history=history,
        parameters=parameters,
        memory=memory,
    )
    return torch.stack([state, *states], -2)


def rollout_states(
    predictor: Predictor,
    state: Tensor,
    control: Callable[[int, Tensor], Tensor],
    steps: int,
    ground: Ground | None = None,
    *,
    env_ids: Tensor | None = None,
    history: Past | None = None,
    cache: Cache | None = None,
    parameters: PhysicalParameters | None = None,
    memory: Tensor | None = None,
) -> Iterator[Tensor]:
    """Gives the states of a roll-out one by one, without the first. Contacts are those of the predicted states.

    Args:
        predictor: The learned dynamics.
        state: First states, shape (B, S).
        control: Gives the controls of a step, shape (B, C), from its number and the states before it.
        steps: Number of steps.
        ground: What the robot stands on. None only if the predictor sees no contacts.
        env_ids: Environments of the ground that the states stand in, shape (B,); all of them in order by default.
        history: What came before the first states, see :func:`rollout`.
        cache: A history that is changed in place, from :meth:`Predictor.init_cache`: faster for a network with memory,
            with what a prior remembers, without gradients, and instead of ``history``.
        parameters: What of the robots differs from the specification, see :func:`rollout`.
        memory: What the prior remembers at the beginning, see :func:`rollout`; not with a cache, which has it.
    """
    for step in range(steps):
        contacts, held = predictor.contacts(state, ground, env_ids), control(step, state)
        if cache is None:
            prediction, history = predictor.extend(state, held, contacts, history, parameters, memory)
            memory = prediction.memory
        else:
            prediction = predictor.step(state, held, contacts, cache, parameters)
        state = predictor.next_state(state, prediction)
        yield state


def segmented_rollout(
    predictor: Predictor,
    state: Tensor,
    controls: Tensor,
    segment: int,
    ground: Ground | None = None,
    *,
    parameters: PhysicalParameters | None = None,
) -> Iterator[Tensor]:
    """Gives the states of a roll-out one by one, without the first, with gradients whose memory is that of one segment:
    each is computed once more when gradients come (checkpointing), so only its first state has to be kept.

    Args:
        predictor: The learned dynamics.
        state: First states, shape (B, S).
        controls: Controls held over each step, shape (B, H, C).
        segment: Steps of a segment.
        ground: What the robot stands on.
        parameters: What of the robots differs from the specification, see :func:`rollout`.
    """
    past: Past | None = None

    def advance(state: Tensor, past: Past | None, controls: Tensor) -> tuple[list[Tensor], Past | None]:
        found = []
        for held in controls.unbind(1):
            contacts = predictor.contacts(state, ground)
            prediction, past = predictor.extend(state, held, contacts, past, parameters)
            state = predictor.next_state(state, prediction)
            found.append(state)
        return found, past

    def lean() -> tuple[AbstractContextManager[None], AbstractContextManager[None]]:
        return without_traces(), without_traces()

    if torch.is_grad_enabled():
        # Kernels that this first step makes and tries cannot be made inside of a checkpoint, which is run twice.
        advance(state, None, controls[:, :1])
    for piece in controls.split(segment, dim=1):
        if torch.is_grad_enabled():
            found, past = checkpoint(advance, state, past, piece, use_reentrant=False, context_fn=lean)  # type: ignore
        else:
            found, past = advance(state, past, piece)
        yield from found
        state = found[-1]


def _env_dim(name: str) -> int:
    """Which dimension of an entry of the state counts the environments."""
    return 1 if name.startswith("cache.") else 0


__all__ = ["GuardReport", "NeuralDynamics", "rollout", "rollout_states", "segmented_rollout"]
