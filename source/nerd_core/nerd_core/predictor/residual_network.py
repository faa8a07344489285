# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What a network adds to a prior, or predicts alone: tokens, their normaliser, equivalent views, network, heads."""

from __future__ import annotations

from typing import override

import torch
from torch import Tensor

from ..contact.contacts import Contacts
from ..network.architectures.base import Cache, Past, SequenceModel
from ..network.drive_scale import DriveScale
from ..network.equivalent_views import EquivalentViews
from ..network.normalisation import Normaliser
from ..network.tokens import Tokenizer
from ..robot.frames import ChangeCodec, out_of_frame, rotation_matrix
from ..robot.spec import RobotSpec
from .config import PredictorCfg
from .prediction import Encoded, Prediction
from .prior import Prior, PriorTraits
from .residual import Residual

LOG_VAR_RANGE = (-14.0, 4.0)
"""Bounds of the predicted logarithm of the variance, in units of the normalised change of state."""

FORCE_REACH = 0.05
"""Largest gap between a slot and the ground before a control step for which a force is predicted on its body [m]: a
foot that comes down at 2.5 m/s goes as far in a step of 20 ms."""

MIN_RESIDUAL_SCALE = 1.0e-5
"""Smallest unit of what a network adds, beside the usual change."""


class ResidualNetwork(Residual):
    """A network with all that translates between it and a robot."""

    network: SequenceModel
    _carrier: Tensor
    _radius: Tensor
    residual_scale: Tensor
    """Unit of what the network adds to the prior, normalised, shape (D,): the usual error of the prior. Only behind
    priors with :attr:`PriorTraits.scaled_by_error`; one until it is set."""

    def __init__(self, spec: RobotSpec, cfg: PredictorCfg, codec: ChangeCodec, traits: PriorTraits | None = None):
        """Makes a network with fresh weights.

        Args:
            spec: The robot.
            cfg: What the predictor is made of; it must have a network.
            codec: Writes changes of state.
            traits: How to treat what the prior leaves; None without a prior.
        """
        super().__init__()
        if cfg.network is None:
            raise ValueError("got no network in the settings of a predictor, expected one")
        self.spec, self.codec, self.traits = spec, codec, traits
        hidden = () if traits is None else traits.hidden_parts
        self.tokenizer = Tokenizer(spec, cfg.token, hidden)
        self.token_normaliser = Normaliser(
            self.tokenizer.dim, self.tokenizer.groups, self.tokenizer.least_units, cfg.within_data
        )
        self._outputs = {"change": codec.dim}
        if cfg.variance_head:
            self._outputs["log_var"] = codec.dim
        if cfg.force_head:
            self._outputs["force"] = 3 * len(spec.bodies)
        self.views: EquivalentViews | None = None
        if cfg.token.symmetric:
            if cfg.network.has_memory:
                raise ValueError(
                    f"got {cfg.network} for symmetric views, expected one without memory: views change at any step"
                )
            self.views = EquivalentViews(self.tokenizer, codec, self._outputs)
        by_drive = traits is not None and traits.scaled_by_drive
        self.drive_scale = DriveScale(self.tokenizer) if by_drive else None
        more = (0 if self.views is None else self.views.extra_features) + (0 if self.drive_scale is None else 1)
        self.network = cfg.network.build(self.tokenizer.dim + more, tuple(self._outputs.values()), cfg.ensemble)
        self._members = cfg.ensemble
        self.register_buffer("force_scale", torch.ones(()))
        names = spec.body_names
        carrier = [[slot.body == name for name in names] for slot in spec.slots]
        self.register_buffer("_carrier", torch.tensor(carrier).reshape(-1, len(names)).float(), persistent=False)
        radius = torch.tensor([slot.radius for slot in spec.slots], dtype=torch.float32)
        self.register_buffer("_radius", radius, persistent=False)
        if traits is not None and traits.scaled_by_error:
            self.register_buffer("residual_scale", torch.ones(codec.dim))

    # -- tokens ----------------------------------------------------------------------------------------------------

    @override
    def encode(self, state: Tensor, control: Tensor, contacts: Contacts | None, prior_change: Tensor | None) -> Encoded:
        raw, active = self.raw_tokens(state, control, contacts, prior_change)
        near = self.near_bodies(contacts)
        contacts = self.tokenizer.visible_contacts(contacts)
        tokens, scale, view = self.token_normaliser(raw, self.tokenizer.mask(contacts)), None, None
        if self.drive_scale is not None:
            tokens, scale = self.drive_scale(raw, tokens, self.token_normaliser)
        if self.views is not None:
            tokens, view = self.views.canonicalise(tokens, raw, contacts)
        if scale is not None:
            tokens = torch.cat((tokens, scale), dim=-1)
        return Encoded(
            tokens.to(next(self.network.parameters()).dtype), active=active, drive_scale=scale, near=near, view=view
        )

    def near_bodies(self, contacts: Contacts | None) -> Tensor | None:
        """Bodies with a slot within :data:`FORCE_REACH` of the ground, shape (..., bodies), bool; None where it is not
        asked for or not known.
        """
        if contacts is None or "force" not in self._outputs:
            return None
        slots = contacts.active & (contacts.distance - self._radius < FORCE_REACH)
        return slots.to(self._carrier.dtype) @ self._carrier > 0.0

    def raw_tokens(
        self, state: Tensor, control: Tensor, contacts: Contacts | None, prior_change: Tensor | None
    ) -> tuple[Tensor, Tensor | None]:
        """Tokens that are not normalised, in the robot's own view, and where the network may add anything; arguments as
        of :meth:`encode`.
        """
        picked, traits, look = self.tokenizer.visible_contacts(contacts), self.traits, self.tokenizer
        if prior_change is None or traits is None or not traits.looks_ahead:
            return look(state, control, picked), None
        ahead, stops = self.codec.apply(state, prior_change), traits.leaves_stops
        tokens = look(
            state, control, picked, ahead=ahead, ahead_knows_stops=not stops, ahead_falls=traits.ignores_ground
        )
        if not traits.only_near_contact or not (stops or look.has_contacts):
            return tokens, None
        return tokens, look.near_contact(tokens, state, ahead, picked, stops=stops).unsqueeze(-1)

    # -- evaluation ------------------------------------------------------------------------------------------------

    @override
    def forward(self, encoded: Encoded, state: Tensor) -> Prediction:
        return self.decode(self.network(encoded.tokens), encoded, state)

    @override
    def prefill(self, encoded: Encoded, state: Tensor) -> tuple[Prediction, Past]:
        output, past = self.network.prefill(encoded.tokens)
        return self.decode(output, encoded, state), past

    @override
    def extend(self, encoded: Encoded, state: Tensor, past: Past | None) -> tuple[Prediction, Past]:
        output, past = self.network.extend(encoded.tokens, past)
        return self.decode(output, encoded, state), past

    @override
    def init_cache(self, batch: int, device: torch.device | str | None = None) -> Cache:
        return self.network.init_cache(batch, device)

    @override
    def step(self, encoded: Encoded, state: Tensor, cache: Cache) -> Prediction:
        return self.decode(self.network.step(encoded.tokens, cache), encoded, state)

    @override
    def reset(self, cache: Cache, envs: Tensor | None = None) -> None:
        self.network.reset(cache, envs)

    def decode(self, output: Tensor, encoded: Encoded, state: Tensor) -> Prediction:
        """The prediction that the output of the network means, of an ensemble also its members.

        Args:
            output: Output of the network, shape (..., sum of the heads); with more than one member (E, ..., ...).
            encoded: What the network was given.
            state: States, shape (..., S).
        """
        said = self._decode_heads(output.to(state.dtype), encoded, state)
        if self._members == 1:
            return said
        log_var = said.log_var
        if log_var is not None:
            # The variance of a mixture is the mean of the variances and the variance of the means.
            log_var = (log_var.exp().mean(0) + said.change.var(0, correction=0)).log()
        force = None if said.force is None else said.force.mean(0)
        return Prediction(said.change.mean(0), log_var, force, said.near, said.drive_scale, members=said)

    def _decode_heads(self, output: Tensor, encoded: Encoded, state: Tensor) -> Prediction:
        """The parts of the output, in the robot's own view and units, the prior added."""
        if self.views is not None and encoded.view is not None:
            output = self.views.restore(output, encoded.view)
        parts = dict(zip(self._outputs, output.split(list(self._outputs.values()), dim=-1), strict=True))
        change, log_var, force = parts["change"], parts.get("log_var"), parts.get("force")
        if encoded.prior_change is not None:
            change = change if encoded.drive_scale is None else change * encoded.drive_scale
            change = change * self.residual_scale if self.traits is not None and self.traits.scaled_by_error else change
            change = change if encoded.active is None else change.where(encoded.active, 0.0)
            change = change + encoded.prior_change
        if log_var is not None:
            low, high = LOG_VAR_RANGE
            middle, reach = 0.5 * (low + high), 0.5 * (high - low)
            log_var = middle + reach * torch.tanh((log_var - middle) / reach)
        if force is not None:
            force = force.unflatten(-1, (-1, 3)) * self.force_scale
            if self.spec.floating_base:
                force = out_of_frame(rotation_matrix(state[..., self.spec.state.root_quat]).unsqueeze(-3), force)
            if encoded.near is not None:
                force = force.where(encoded.near.unsqueeze(-1), 0.0)
        return Prediction(change, log_var, force, encoded.near, encoded.drive_scale)

    # -- statistics ------------------------------------------------------------------------------------------------

    @override
    def update_statistics(
        self, state: Tensor, control: Tensor, contacts: Contacts | None, change: Tensor, prior: Prior | None
    ) -> Tensor:
        prior_change = None if prior is None else prior(state, control, contacts)
        tokens, _ = self.raw_tokens(state, control, contacts, prior_change)
        mask = self.tokenizer.mask(self.tokenizer.visible_contacts(contacts))
        if self.views is not None:
            tokens, mask, change = self.views.in_all_views(tokens, mask, change)
        self.token_normaliser.update(tokens, mask)
        return change

    @override
    def finalise_statistics(self, force_scale: float | None = None) -> None:
        self.token_normaliser.finalise()
        if force_scale is not None:
            self.force_scale.fill_(force_scale)

    @override
    def set_scale(self, error: Tensor) -> None:
        if self.traits is not None and self.traits.scaled_by_error:
            self.residual_scale.copy_(error.clamp(min=MIN_RESIDUAL_SCALE))


__all__ = ["LOG_VAR_RANGE", "MIN_RESIDUAL_SCALE", "ResidualNetwork"]
