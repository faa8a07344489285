# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The learned dynamics of one robot: from state, control and contacts to the next state.

A :class:`Predictor` is everything that a checkpoint holds: the tokens, both normalisers and the network. It works on
one moment or on whole sequences and keeps no history itself; :mod:`nerd_core.dynamics` steps it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from torch import Tensor, nn

from .contact_solver import ContactSolverCfg
from .contacts import ContactModel, Contacts
from .equivalent_views import EquivalentViews
from .falling import FreeFall
from .frames import ChangeCfg, ChangeCodec, out_of_frame, rotation_matrix
from .grounds import Ground
from .mechanics import Mechanics
from .models import (
    Cache,
    MlpCfg,
    NoNetworkCfg,
    Past,
    RecurrentCfg,
    ResidualMlpCfg,
    TransformerCfg,
    build_model,
)
from .normalisation import Normaliser
from .spec import RobotSpec
from .tokens import TokenCfg, Tokenizer

LOG_VAR_RANGE = (-14.0, 4.0)
"""Bounds of the predicted logarithm of the variance, in units of the normalised change of state."""


@dataclass(frozen=True)
class FreeMotionCfg:
    """The network that knows how a robot moves when nothing touches it, see :attr:`Predictor.free`."""

    model: ResidualMlpCfg
    """The network, without memory."""
    token: TokenCfg
    """What it sees; no contacts. One that sees no stops of joints either has been taught far from them. Then stops are
    left to the network around it, which sees how far free motion would carry a joint beyond them. That network adds
    nothing at all while neither ground is near, nor a stop that is left to it."""

    def __post_init__(self):
        if self.token.contacts or self.model.window != 1:
            raise ValueError(
                f"got a network of free motion with contacts={self.token.contacts} and window={self.model.window}, "
                "expected one that sees no contacts and has no memory (nerd train --token.no-contacts)"
            )


@dataclass(frozen=True)
class PredictorCfg:
    """What a predictor is made of."""

    model: TransformerCfg | MlpCfg | RecurrentCfg | ResidualMlpCfg | NoNetworkCfg = field(
        default_factory=TransformerCfg
    )
    """The network."""
    token: TokenCfg = field(default_factory=TokenCfg)
    """What the network sees."""
    change: ChangeCfg = field(default_factory=ChangeCfg)
    """How the change of state is written."""
    free: FreeMotionCfg | None = None
    """The network of free motion within, if there is one."""
    solver: ContactSolverCfg = field(default_factory=ContactSolverCfg)
    """Mechanics with a learned solver of contacts and stops instead, see :mod:`nerd_core.mechanics`. The network then
    says what they miss."""
    ensemble: int = 1
    """Number of networks, evaluated as one; their mean is the prediction, their spread says what was never seen."""
    force_head: bool = False
    """Whether to predict the contact force on each body, for sensors in neural mode."""
    variance_head: bool = False
    """Whether to predict how far off the change of state may be."""

    def __post_init__(self):
        if self.ensemble < 1:
            raise ValueError(f"got an ensemble of {self.ensemble}, expected at least 1")
        if self.solver.substeps and self.free is not None:
            raise ValueError("got a solver of contacts and a network of free motion, expected one of them")
        if isinstance(self.model, NoNetworkCfg):
            more = [name for name in ("force_head", "variance_head") if getattr(self, name)]
            more += [f"token.{name}" for name in ("symmetric", "falling") if getattr(self.token, name)]
            if not self.solver.substeps or more:
                raise ValueError(
                    f"got no network, solver.substeps={self.solver.substeps} and {more}, expected a solver of contacts "
                    "and nothing that only a network can say"
                )

    def as_free_motion(self) -> FreeMotionCfg:
        """The same network as a part of another one. Raises ValueError if it has more than such a part may have."""
        if not isinstance(self.model, ResidualMlpCfg) or self.ensemble > 1 or self.force_head or self.variance_head:
            raise ValueError(
                f"got a '{self.model.kind}' network with {self.ensemble} members, force_head={self.force_head} and "
                f"variance_head={self.variance_head} for the free motion, expected a single residual one without heads"
            )
        return FreeMotionCfg(self.model, self.token)


@dataclass(frozen=True)
class Prediction:
    """What the network says about one control step."""

    change: Tensor
    """Change of state, normalised, shape (..., D); the mean of an ensemble."""
    log_var: Tensor | None = None
    """Logarithm of the variance of :attr:`change`, shape (..., D); of an ensemble that of the mixture."""
    force: Tensor | None = None
    """Contact force on each body, environment axes [N], shape (..., bodies, 3)."""
    size: Tensor | None = None
    """Size of what drives a falling robot, shape (..., 1), see :class:`~nerd_core.falling.FreeFall`: a loss should ask
    for errors that are small beside it. None for other robots."""
    members: Prediction | None = None
    """What each member of an ensemble says, shapes (E, ..., D) and so on; None for a single network. A loss should be
    taken of these: the members must learn apart."""

    @property
    def spread(self) -> Tensor | None:
        """Standard deviation of the members' changes, normalised, shape (..., D); None for a single network."""
        return None if self.members is None else self.members.change.std(0)


class Seen(NamedTuple):
    """What the network is given, and how its output is to be read."""

    tokens: Tensor
    """Tokens, shape (..., token dim)."""
    free: Tensor | None = None
    """Change of state to which the network adds, not normalised, shape (..., D): that of a robot that touches nothing,
    or what a solver of contacts makes of it, or for a robot in the air the fall. None if it is not known."""
    near: Tensor | None = None
    """Whether there is anything to add to that, shape (..., 1); None for always."""
    size: Tensor | None = None
    """What the network's output is to be multiplied by, shape (..., 1); None for one."""
    view: Tensor | None = None
    """Which of its equivalent views the robot is seen in, shape (...); None for its own."""


class Predictor(nn.Module):
    """The learned dynamics of one robot."""

    force_scale: Tensor
    """Root mean square of the contact forces in the training data [N], shape ()."""
    missing: Tensor
    """Unit of what the network adds to a solver, normalised, shape (D,): what the solver usually misses. Only with one.
    """

    def __init__(self, spec: RobotSpec, cfg: PredictorCfg | None = None):
        """Makes a predictor with fresh weights.

        Args:
            spec: The robot.
            cfg: What the predictor is made of.
        """
        super().__init__()
        self.spec = spec
        self.cfg = cfg = cfg or PredictorCfg()
        self.tokenizer = Tokenizer(spec, cfg.token)
        self.codec = ChangeCodec(spec, cfg.change)
        self.contact_model = ContactModel(spec)
        self.token_normaliser = Normaliser(self.tokenizer.dim, self.tokenizer.groups, self.tokenizer.least_units)
        self.change_normaliser = Normaliser(self.codec.dim, self.codec.groups, self.codec.resolution)
        lengths = {"change": self.codec.dim}
        if cfg.variance_head:
            lengths["log_var"] = self.codec.dim
        if cfg.force_head:
            lengths["force"] = 3 * len(spec.bodies)
        self._outputs = lengths
        self.free: Predictor | None = None
        """Predicts the change of state of a robot that touches nothing, and is not trained any more: a smooth function
        that is learned fast from robots in the air. The network then has only to say what contacts change, and is told
        where each slot would go without them: what a solver of contacts begins with, too."""
        self._views: EquivalentViews | None = None
        if cfg.token.symmetric:
            if not isinstance(cfg.model, ResidualMlpCfg | MlpCfg) or cfg.model.window != 1:
                raise ValueError(
                    f"got a '{cfg.model.kind}' network for symmetric views, expected one without memory: views change "
                    "from step to step"
                )
            self._views = EquivalentViews(self.tokenizer, self.codec, lengths)
        if cfg.free is not None:
            alone = PredictorCfg(model=cfg.free.model, token=cfg.free.token, change=cfg.change)
            self.free = Predictor(spec, alone).requires_grad_(False)
        self.mechanics: Mechanics | None = None
        """Knows what masses, efforts, contacts and stops do; only the rules of contacts and stops are learned."""
        if cfg.solver.substeps:
            self.mechanics = Mechanics(spec, self.codec, cfg.solver, touches=self.tokenizer.has_contacts)
            self.register_buffer("missing", torch.ones(self.codec.dim))
        self._fall = FreeFall(self.tokenizer, self.codec) if cfg.token.falling else None
        more = (self._views.told if self._views is not None else 0) + (1 if self._fall is not None else 0)
        self.model = build_model(cfg.model, self.tokenizer.dim + more, tuple(lengths.values()), cfg.ensemble)
        self.register_buffer("force_scale", torch.ones(()))

    @property
    def needs_contacts(self) -> bool:
        """Whether the network sees contacts."""
        return self.tokenizer.has_contacts

    # -- whole sequences -------------------------------------------------------------------------------------------

    def forward(self, state: Tensor, control: Tensor, contacts: Contacts | None = None) -> Prediction:
        """Predicts every step of some sequences, each from its own past only.

        Args:
            state: States, shape (B, T, S).
            control: Controls held over each step, shape (B, T, C).
            contacts: Contacts of the states, leading dimensions (B, T). None only if the network sees none.

        Returns:
            Predictions, leading dimensions (B, T).
        """
        return self.say(self.see(state, control, contacts), state)

    def say(self, seen: Seen, state: Tensor) -> Prediction:
        """Predictions from what :meth:`see` gave for whole sequences; :meth:`forward` is both."""
        return self._read(self.model(seen.tokens), state, seen)

    def known(self, state: Tensor, control: Tensor, contacts: Contacts | None = None) -> Prediction:
        """What free motion or mechanics say, to which the network would add; arguments as of :meth:`forward`."""
        change = self._known_change(state, control, contacts)
        if change is None:
            raise ValueError(f"nothing is known of '{self.spec.name}' without the network, expected free motion within")
        return Prediction(self.change_normaliser(change))

    def prefill(self, state: Tensor, control: Tensor, contacts: Contacts | None = None) -> tuple[Prediction, Past]:
        """As :meth:`forward`, and also returns the past with which :meth:`extend` goes on from the sequences' end."""
        seen = self.see(state, control, contacts)
        y, past = self.model.prefill(seen.tokens)
        return self._read(y, state, seen), past

    def tokens(self, state: Tensor, control: Tensor, contacts: Contacts | None = None) -> Tensor:
        """What the network is given.

        Args:
            state: States, shape (..., S).
            control: Controls, shape (..., C).
            contacts: Contacts of the states, same leading dimensions. None only if the network sees none.

        Returns:
            Normalised tokens in the type of the network's weights, shape (..., token dim); features of contacts that
            are not active are exactly zero.
        """
        return self.see(state, control, contacts).tokens

    def contacts(self, state: Tensor, ground: Ground | None, env_ids: Tensor | None = None) -> Contacts | None:
        """Contacts of states with a ground; None when the network sees none.

        Args:
            state: States, shape (B, ..., S).
            ground: The ground. None only if the network sees no contacts.
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

    # -- one step --------------------------------------------------------------------------------------------------

    def extend(
        self, state: Tensor, control: Tensor, contacts: Contacts | None = None, past: Past | None = None
    ) -> tuple[Prediction, Past]:
        """Predicts one more step. Functional: gradients flow to the inputs, the weights and through the past.

        Args:
            state: States, shape (B, S).
            control: Controls held over the step, shape (B, C).
            contacts: Contacts of the states, leading dimension (B,). None only if the network sees none.
            past: What the call before, or :meth:`prefill`, returned; None at the start.
        """
        seen = self.see(state, control, contacts)
        y, past = self.model.extend(seen.tokens, past)
        return self._read(y, state, seen), past

    def init_cache(self, batch: int, device: torch.device | str | None = None) -> Cache:
        """An empty history of ``batch`` environments for :meth:`step`."""
        return self.model.init_cache(batch, device)

    @torch.no_grad()
    def step(self, state: Tensor, control: Tensor, contacts: Contacts | None, cache: Cache) -> Prediction:
        """Predicts one more step of every environment and updates the cache in place. Without gradients.

        Args:
            state: States, shape (B, S).
            control: Controls held over the step, shape (B, C).
            contacts: Contacts of the states, leading dimension (B,). None only if the network sees none.
            cache: History of the same environments.
        """
        seen = self.see(state, control, contacts)
        return self._read(self.model.step(seen.tokens, cache), state, seen)

    def reset(self, cache: Cache, envs: Tensor | None = None) -> None:
        """Empties the history of some environments; see :meth:`nerd_core.models.SequenceModel.reset`."""
        self.model.reset(cache, envs)

    # -- changes of state ------------------------------------------------------------------------------------------

    def free_change(self, state: Tensor, control: Tensor) -> Tensor | None:
        """The change of state if nothing touched the robot, shape (..., D), not normalised; None if that is not known.

        Args:
            state: States, shape (..., S).
            control: Controls held over the step, shape (..., C).
        """
        if self.free is None:
            return None
        seen = self.free.see(state, control, None)
        y, _ = self.free.model.extend(seen.tokens.reshape(-1, seen.tokens.shape[-1]), None)
        prediction = self.free._read(y.reshape(*seen.tokens.shape[:-1], -1), state, seen)
        return self.free.change_normaliser.inverse(prediction.change)

    def next_state(self, state: Tensor, prediction: Prediction) -> Tensor:
        """The state that a prediction leads to.

        Args:
            state: States before the step, shape (..., S).
            prediction: The prediction for them; with more leading dimensions for each of several.

        Returns:
            States after the step, with the leading dimensions of the prediction.
        """
        change = self.change_normaliser.inverse(prediction.change)
        return self.codec.apply(state.expand(*change.shape[:-1], state.shape[-1]), change)

    def target(self, state: Tensor, next_state: Tensor) -> Tensor:
        """The normalised change that a perfect prediction would hold.

        Args:
            state: States, shape (..., S).
            next_state: States one control step later, shape (..., S).

        Returns:
            Shape (..., D).
        """
        return self.change_normaliser(self.codec.encode(state, next_state))

    # -- statistics ------------------------------------------------------------------------------------------------

    @torch.no_grad()
    def update_statistics(
        self, state: Tensor, control: Tensor, next_state: Tensor, contacts: Contacts | None = None
    ) -> None:
        """Takes a batch of transitions into the statistics of both normalisers.

        Args:
            state: States, shape (..., S).
            control: Controls, shape (..., C).
            next_state: States one control step later, shape (..., S).
            contacts: Contacts of ``state``. None only if the network sees none.
        """
        change = self.codec.encode(state, next_state)
        if isinstance(self.cfg.model, NoNetworkCfg):
            self.change_normaliser.update(change)
            return
        tokens = self._raw_tokens(state, control, contacts).tokens
        mask = self.tokenizer.mask(self.tokenizer.pick(contacts))
        if self._fall is not None:
            self._fall.update(state, change)
        if self._views is not None:
            tokens, mask, change = self._views.in_all(tokens, mask, change)
        self.token_normaliser.update(tokens, mask)
        self.change_normaliser.update(change)

    def finalise_statistics(self, force_scale: float | None = None) -> None:
        """Sets the normalisers from what they have seen.

        Args:
            force_scale: Root mean square of the contact forces in the data [N], for a predictor with a force head.
        """
        if not isinstance(self.cfg.model, NoNetworkCfg):
            self.token_normaliser.finalise()
        self.change_normaliser.finalise()
        if self._fall is not None:
            self._fall.finalise()
        if force_scale is not None:
            self.force_scale.fill_(force_scale)

    # -- inside ----------------------------------------------------------------------------------------------------

    def see(self, state: Tensor, control: Tensor, contacts: Contacts | None) -> Seen:
        """What the network is given: tokens that are normalised, and in one view of those that are equivalent, and what
        is known without it. Arguments as of :meth:`forward`.
        """
        spec = self.spec
        if state.shape[-1] != spec.state.dim or control.shape[-1] != spec.control_dim:
            raise ValueError(
                f"got states of length {state.shape[-1]} and controls of length {control.shape[-1]}, "
                f"expected {spec.state.dim} and {spec.control_dim} for '{spec.name}'"
            )
        if isinstance(self.cfg.model, NoNetworkCfg):
            return Seen(state[..., :1], self._known_change(state, control, contacts))
        seen, view = self._raw_tokens(state, control, contacts), None
        contacts = self.tokenizer.pick(contacts)
        tokens, size = self.token_normaliser(seen.tokens, self.tokenizer.mask(contacts)), None
        if self._fall is not None:
            tokens, size = self._fall.in_common_units(seen.tokens, tokens, self.token_normaliser)
        if self._views is not None:
            tokens, view = self._views.see(tokens, seen.tokens, contacts)
        if size is not None:
            tokens = torch.cat((tokens, size), dim=-1)
        return seen._replace(tokens=tokens.to(next(self.model.parameters()).dtype), size=size, view=view)

    def _raw_tokens(self, state: Tensor, control: Tensor, contacts: Contacts | None) -> Seen:
        """Tokens that are not normalised, in the robot's own view, and what is known of the change of state."""
        picked = self.tokenizer.pick(contacts)
        if self._fall is not None:
            return Seen(self.tokenizer(state, control), self._fall.change(state))
        change = self._known_change(state, control, contacts)
        if change is None:
            return Seen(self.tokenizer(state, control, picked))
        ahead, stops = self.codec.apply(state, change), self.cfg.free is not None and self.cfg.free.token.limits
        tokens = self.tokenizer(
            state, control, picked, ahead=ahead, ahead_knows_stops=stops, ahead_falls=self.mechanics is None
        )
        if stops and not self.needs_contacts:
            return Seen(tokens, change)
        near = self.tokenizer.near(tokens, state, ahead, picked, stops=not stops)
        return Seen(tokens, change, near.unsqueeze(-1))

    def _known_change(self, state: Tensor, control: Tensor, contacts: Contacts | None) -> Tensor | None:
        """The change of state by free motion or mechanics, not normalised; None if neither is known."""
        if self.mechanics is None:
            return self.free_change(state, control)
        return self.mechanics(state, control, contacts)

    def _read(self, y: Tensor, state: Tensor, seen: Seen | None = None) -> Prediction:
        """Names the parts of the network's output, which says what is to be added to the free motion where that is
        known; of an ensemble also their mean.
        """
        y = y.to(state.dtype)
        if self.cfg.ensemble == 1:
            return self._split(y, state, seen)
        members = self._split(y, state, seen)
        log_var = members.log_var
        if log_var is not None:
            log_var = (log_var.exp().mean(0) + members.change.var(0, correction=0)).log()
        force = None if members.force is None else members.force.mean(0)
        return Prediction(members.change.mean(0), log_var, force, members.size, members)

    def _split(self, y: Tensor, state: Tensor, seen: Seen | None) -> Prediction:
        if self._views is not None and seen is not None and seen.view is not None:
            y = self._views.turn_back(y, seen.view)
        parts = dict(zip(self._outputs, y.split(list(self._outputs.values()), dim=-1), strict=True))
        change, log_var, force = parts["change"], parts.get("log_var"), parts.get("force")
        if seen is not None and seen.free is not None:
            change = change if seen.size is None else change * seen.size
            change = change if self.mechanics is None else change * self.missing
            change = change if seen.near is None else change.where(seen.near, 0.0)
            change = change + self.change_normaliser(seen.free)
        if log_var is not None:
            low, high = LOG_VAR_RANGE
            middle, reach = 0.5 * (low + high), 0.5 * (high - low)
            log_var = middle + reach * torch.tanh((log_var - middle) / reach)
        if force is not None:
            force = force.unflatten(-1, (-1, 3)) * self.force_scale
            if self.spec.floating_base:
                force = out_of_frame(rotation_matrix(state[..., self.spec.state.root_quat]).unsqueeze(-3), force)
        return Prediction(change, log_var, force, None if seen is None else seen.size)


__all__ = ["LOG_VAR_RANGE", "FreeMotionCfg", "Prediction", "Predictor", "PredictorCfg", "Seen"]
