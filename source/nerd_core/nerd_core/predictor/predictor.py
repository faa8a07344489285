# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The learned dynamics of one robot: from state, control and contacts to the next state.

A :class:`Predictor` is everything that a checkpoint holds. It joins a prior and what a network adds to it. It works on
one control step or on whole sequences and keeps no history itself; :mod:`nerd_core.dynamics` steps it.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor, nn

from ..contact.contacts import ContactModel, Contacts
from ..contact.grounds import Ground
from ..network.architectures.base import Cache, Past, SequenceModel, clear
from ..network.normalisation import Normaliser
from ..robot.frames import ChangeCodec
from ..robot.physical_parameters import PhysicalParameters
from ..robot.spec import RobotSpec
from .config import PredictorCfg
from .motion_bounds import MotionBounds
from .prediction import Encoded, Forces, Prediction
from .residual import NoResidual, Residual
from .residual_network import ResidualNetwork

NEW_NETWORK_SAMPLE = 256
"""Transitions by which to tell whether a network adds anything yet: a new one answers zero."""

MEMORY = "prior_memory"
"""Name of what the prior remembers among the entries of a cache."""


class Predictor(nn.Module):
    """The learned dynamics of one robot."""

    def __init__(self, spec: RobotSpec, cfg: PredictorCfg | None = None):
        """Makes a predictor with fresh weights.

        Args:
            spec: The robot.
            cfg: What the predictor is made of.
        """
        super().__init__()
        self.spec = spec
        self.cfg = cfg = cfg or PredictorCfg()
        self.needs_contacts = cfg.token.contacts and bool(spec.slots)
        """Whether the predictor sees contacts."""
        self.codec = ChangeCodec(spec, cfg.change)
        self.contact_model = ContactModel(spec)
        self.change_normaliser = Normaliser(self.codec.dim, self.codec.groups, self.codec.resolution)
        self.bounds = MotionBounds(spec, self.codec, cfg.outliers) if cfg.within_data else None
        """How far a step may go; None for as far as the network says."""
        self.prior = None if cfg.prior is None else cfg.prior.build(spec, self.codec, self.needs_contacts)
        """What is known without the network."""
        traits = None if self.prior is None else self.prior.traits
        self.residual: Residual = (
            NoResidual() if cfg.network is None else ResidualNetwork(spec, cfg, self.codec, traits)
        )
        """What the network adds."""

    @property
    def network(self) -> SequenceModel | None:
        """The network, if there is one."""
        return self.residual.network

    @property
    def force_scale(self) -> Tensor:
        """Root mean square of the contact forces in the training data [N], shape (). Only with a network."""
        return self.residual.force_scale

    @property
    def device(self) -> torch.device:
        """Where it lives."""
        return self.change_normaliser.mean.device

    @property
    def takes_parameters(self) -> bool:
        """Whether masses, friction, gains and the like may differ from those of the specification. What a network adds
        has not seen other numbers than those of its training.
        """
        return self.prior is not None and self.prior.traits.takes_parameters

    @property
    def gives_forces(self) -> bool:
        """Whether contact forces and what joints carry are known of each step, without a force head."""
        return self.prior is not None and self.prior.traits.gives_forces

    def contacts(self, state: Tensor, ground: Ground | None, env_ids: Tensor | None = None) -> Contacts | None:
        """Contacts of states with a ground; None when the predictor sees none.

        Args:
            state: States, shape (B, ..., S).
            ground: The ground. None only if the predictor sees no contacts.
            env_ids: Environments that the first dimension stands for, shape (B,); all of them in order by default.
        """
        if not self.needs_contacts:
            return None
        if ground is None:
            raise ValueError(
                f"the predictor of '{self.spec.name}' sees contacts of {len(self.spec.slots)} slots: "
                "got neither contacts nor a ground, expected one of them"
            )
        return self.contact_model(state, ground, env_ids)

    # -- whole sequences -------------------------------------------------------------------------------------------

    def forward(
        self,
        state: Tensor,
        control: Tensor,
        contacts: Contacts | None = None,
        parameters: PhysicalParameters | None = None,
        memory: Tensor | None = None,
    ) -> Prediction:
        """Predicts every step of some sequences, each from its own past only.

        Args:
            state: States, shape (B, T, S).
            control: Controls held over each step, shape (B, T, C).
            contacts: Contacts of the states, leading dimensions (B, T). None only if the predictor sees none.
            parameters: What of the robot differs from its specification, see :attr:`takes_parameters`.
            memory: What the prior remembers at the beginning of each step, see :meth:`new_memory`, leading dimensions
                (B, T); by default it goes without.

        Returns:
            Predictions, leading dimensions (B, T).
        """
        return self.decode(self.encode(state, control, contacts, parameters, memory), state)

    def encode(
        self,
        state: Tensor,
        control: Tensor,
        contacts: Contacts | None = None,
        parameters: PhysicalParameters | None = None,
        memory: Tensor | None = None,
    ) -> Encoded:
        """What the network is given, and what the prior predicts. The first half of :meth:`forward`.

        Args:
            state: States, shape (..., S).
            control: Controls held over the step, shape (..., C).
            contacts: Contacts of the states, same leading dimensions. None only if the predictor sees none.
            parameters: What of the robot differs from its specification, see :attr:`takes_parameters`.
            memory: See :meth:`forward`, same leading dimensions.
        """
        return self._encoded_with_memory(state, control, contacts, parameters, memory)[0]

    def _encoded_with_memory(
        self,
        state: Tensor,
        control: Tensor,
        contacts: Contacts | None,
        parameters: PhysicalParameters | None,
        memory: Tensor | None,
    ) -> tuple[Encoded, Tensor | None]:
        """What :meth:`encode` says, and what the prior remembers after the step."""
        self._check_lengths(state, control)
        if self.prior is None:
            self._refuse_parameters(parameters)
            return self.residual.encode(state, control, contacts, None), None
        change, after = self._prior_change(state, control, contacts, parameters, memory)
        return self._encoded(state, control, contacts, change), after

    def _check_lengths(self, state: Tensor, control: Tensor) -> None:
        """Raises ValueError for states or controls of another robot."""
        spec = self.spec
        if state.shape[-1] != spec.state.dim or control.shape[-1] != spec.control_dim:
            raise ValueError(
                f"got states of length {state.shape[-1]} and controls of length {control.shape[-1]}, "
                f"expected {spec.state.dim} and {spec.control_dim} for '{spec.name}'"
            )

    def _encoded(self, state: Tensor, control: Tensor, contacts: Contacts | None, change: Tensor) -> Encoded:
        """What the network is given behind a prior that predicts this change of state."""
        encoded = self.residual.encode(state, control, contacts, change)
        return encoded._replace(prior_change=self.change_normaliser(change))

    def decode(self, encoded: Encoded, state: Tensor) -> Prediction:
        """Predictions from what :meth:`encode` gave for whole sequences. The second half of :meth:`forward`.

        Args:
            encoded: The steps, leading dimensions (B, T).
            state: States, shape (B, T, S). Only forces depend on them.
        """
        return self.residual(encoded, state)

    def prior_prediction(
        self,
        state: Tensor,
        control: Tensor,
        contacts: Contacts | None = None,
        parameters: PhysicalParameters | None = None,
        memory: Tensor | None = None,
    ) -> Prediction:
        """What the prior predicts, without the network; arguments as of :meth:`encode`."""
        if self.prior is None:
            raise ValueError(f"got no prior in the predictor of '{self.spec.name}', expected one")
        change, after = self._prior_change(state, control, contacts, parameters, memory)
        return Prediction(self.change_normaliser(change), memory=after)

    def prefill(
        self,
        state: Tensor,
        control: Tensor,
        contacts: Contacts | None = None,
        parameters: PhysicalParameters | None = None,
    ) -> tuple[Prediction, Past]:
        """As :meth:`forward`, and also returns the past with which :meth:`extend` goes on from the sequences' end."""
        return self.residual.prefill(self.encode(state, control, contacts, parameters), state)

    # -- one step --------------------------------------------------------------------------------------------------

    def extend(
        self,
        state: Tensor,
        control: Tensor,
        contacts: Contacts | None = None,
        past: Past | None = None,
        parameters: PhysicalParameters | None = None,
        memory: Tensor | None = None,
    ) -> tuple[Prediction, Past]:
        """Predicts one more step. Functional: gradients flow to the inputs, the weights and through the past.

        Args:
            state: States, shape (B, S).
            control: Controls held over the step, shape (B, C).
            contacts: Contacts of the states, leading dimension (B,). None only if the predictor sees none.
            past: What the call before, or :meth:`prefill`, returned; None at the start.
            parameters: What of the robot differs from its specification, see :attr:`takes_parameters`.
            memory: What the prior remembers, from :meth:`new_memory` or :attr:`Prediction.memory` of the step before,
                leading dimension (B,); by default it goes without. Gradients flow through it, too.
        """
        encoded, after = self._encoded_with_memory(state, control, contacts, parameters, memory)
        prediction, past = self.residual.extend(encoded, state, past)
        return (prediction if after is None else replace(prediction, memory=after)), past

    def new_memory(self, batch: int, device: torch.device | str | None = None) -> Tensor | None:
        """What the prior remembers of environments in which nothing has happened yet, as where feet were put down; None
        for a predictor that remembers nothing beside the state and the history of its network.

        Args:
            batch: Environments.
            device: By default that of the predictor.
        """
        return None if self.prior is None else self.prior.new_memory(batch, device)

    def init_cache(self, batch: int, device: torch.device | str | None = None) -> Cache:
        """An empty history of ``batch`` environments for :meth:`step`: of the network, and what the prior remembers."""
        cache = self.residual.init_cache(batch, device)
        memory = self.new_memory(batch, device)
        return cache if memory is None else cache | {MEMORY: memory.unsqueeze(0)}

    @torch.no_grad()
    def step(
        self,
        state: Tensor,
        control: Tensor,
        contacts: Contacts | None,
        cache: Cache,
        parameters: PhysicalParameters | None = None,
        forces: Forces = "none",
    ) -> Prediction:
        """Predicts one more step of every environment and updates the cache in place. Without gradients. What a prior
        remembers, as where feet were put down, is in the cache; :meth:`forward` and :meth:`extend` go without it unless
        they are given a memory.

        Args:
            state: States, shape (B, S).
            control: Controls held over the step, shape (B, C).
            contacts: Contacts of the states, leading dimension (B,). None only if the predictor sees none.
            cache: History of the same environments.
            parameters: What of the robot differs from its specification, see :attr:`takes_parameters`.
            forces: What of :attr:`Prediction.body_forces` is asked for, which costs time. Only with
                :attr:`gives_forces`.
        """
        memory, own = cache.get(MEMORY), {name: each for name, each in cache.items() if name != MEMORY}
        if memory is None and forces == "none":
            return self.residual.step(self.encode(state, control, contacts, parameters), state, own)
        self._check_lengths(state, control)
        if self.prior is None or not (self.gives_forces or forces == "none"):
            raise ValueError(f"got a predictor of '{self.spec.name}' that knows no forces, expected one with mechanics")
        self._refuse_parameters(parameters)
        found = None
        if memory is not None and forces == "none":
            change = self.prior.remembering(state, control, contacts, memory[0], parameters)
        else:
            remembered = {} if memory is None else {"memory": memory[0]}
            wants_joints = forces == "joints"
            change, found = self.prior.with_forces(state, control, contacts, parameters, wants_joints, **remembered)
        prediction = self.residual.step(self._encoded(state, control, contacts, change), state, own)
        return replace(prediction, body_forces=found)

    def reset(self, cache: Cache, envs: Tensor | None = None) -> None:
        """Empties the history of some environments, see :meth:`SequenceModel.reset`."""
        self.residual.reset({name: each for name, each in cache.items() if name != MEMORY}, envs)
        if MEMORY in cache:
            clear(cache[MEMORY], envs)

    def _prior_change(
        self,
        state: Tensor,
        control: Tensor,
        contacts: Contacts | None,
        parameters: PhysicalParameters | None,
        memory: Tensor | None = None,
    ) -> tuple[Tensor, Tensor | None]:
        """The change of state that the prior predicts, and what it remembers then."""
        assert self.prior is not None  # the callers have looked
        self._refuse_parameters(parameters)
        if memory is not None:
            return self.prior.with_memory(state, control, contacts, memory, parameters)
        if parameters is None or not parameters.given:
            return self.prior(state, control, contacts), None
        return self.prior(state, control, contacts, parameters), None

    def _refuse_parameters(self, parameters: PhysicalParameters | None) -> None:
        """Raises ValueError for parameters that the predictor cannot take."""
        if parameters is not None and parameters.given and not self.takes_parameters:
            raise ValueError(
                f"got other values of {', '.join(parameters.given)} than the specification's for the predictor of "
                f"'{self.spec.name}', which has learned from the specification's alone: expected none, or a model with "
                "mechanics (nerd train --preset mechanics)"
            )

    # -- changes of state ------------------------------------------------------------------------------------------

    def next_state(self, state: Tensor, prediction: Prediction) -> Tensor:
        """The state that a prediction leads to.

        Args:
            state: States before the step, shape (..., S).
            prediction: The prediction for them; with more leading dimensions for each of several.

        Returns:
            States after the step, with the leading dimensions of the prediction.
        """
        change = self.change_normaliser.inverse(prediction.change)
        state = state.expand(*change.shape[:-1], state.shape[-1])
        if self.bounds is None:
            return self.codec.apply(state, change)
        return self.bounds.bound_state(self.codec.apply(state, self.bounds.bound_change(change)))

    def target(self, state: Tensor, next_state: Tensor) -> Tensor:
        """The normalised change that a perfect prediction would hold.

        Args:
            state: States, shape (..., S).
            next_state: States one control step later, shape (..., S).

        Returns:
            Shape (..., D).
        """
        return self.change_normaliser(self.codec.encode(state, next_state))

    # -- units that are found in the data --------------------------------------------------------------------------

    @torch.no_grad()
    def update_statistics(
        self, state: Tensor, control: Tensor, next_state: Tensor, contacts: Contacts | None = None
    ) -> None:
        """Takes a batch of transitions into the statistics of normalisers and prior.

        Args:
            state: States, shape (..., S).
            control: Controls, shape (..., C).
            next_state: States one control step later, shape (..., S).
            contacts: Contacts of ``state``. None only if the predictor sees none.
        """
        change = self.codec.encode(state, next_state)
        if self.prior is not None:
            self.prior.update_statistics(state, change)
            self.prior.update_input_statistics(state, control, contacts)
        in_views = self.residual.update_statistics(state, control, contacts, change, self.prior)
        self.change_normaliser.update(in_views)
        if self.bounds is not None:
            self.bounds.update(torch.stack((state, next_state)), in_views)

    def finalise_statistics(self, force_scale: float | None = None) -> None:
        """Sets normalisers and prior from what they have seen.

        Args:
            force_scale: Root mean square of the contact forces in the data [N], for a predictor with a force head.
        """
        if self.prior is not None:
            self.prior.finalise_statistics()
        self.residual.finalise_statistics(force_scale)
        self.change_normaliser.finalise()
        if self.bounds is not None:
            self.bounds.finalise()

    @torch.no_grad()
    def set_residual_scale(self, encoded: Encoded, target: Tensor) -> None:
        """Sets the unit of what the network adds to the mean error of the prior: a step of training, before the network
        learns. Only for priors with :attr:`PriorTraits.scaled_by_error`, and not any more once the network adds
        something, which would be changed by it.

        With ``p`` the normalised change that the prior predicts and ``t`` the true one, it is ``mean |t - p|``.

        Args:
            encoded: Transitions in which the network may add something, leading dimensions (B, T).
            target: What :meth:`target` gives for them, shape (B, T, D).
        """
        prior_change, network = encoded.prior_change, self.network
        if prior_change is None or network is None or not len(target):
            return
        if not bool(network(encoded.tokens[:NEW_NETWORK_SAMPLE]).any()):
            self.residual.set_scale((target - prior_change).abs().mean((0, 1)))


__all__ = ["Predictor"]
