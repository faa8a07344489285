# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What is added to a prior: the interface, and the one that adds nothing."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import override

import torch
from torch import Tensor, nn

from ..contact.contacts import Contacts
from ..network.architectures.base import Cache, Past, SequenceModel
from .prediction import Encoded, Prediction
from .prior import Prior


class Residual(nn.Module, ABC):
    """What a predictor adds to its prior. Like a sequence model it can be evaluated in three ways that agree."""

    network: SequenceModel | None
    """The network, if there is one."""
    force_scale: Tensor
    """Root mean square of the contact forces in the training data [N], shape (). Only with a network."""

    @abstractmethod
    def encode(self, state: Tensor, control: Tensor, contacts: Contacts | None, prior_change: Tensor | None) -> Encoded:
        """What the network is given; :attr:`Encoded.prior_change` is left to the caller.

        Args:
            state: States, shape (..., S).
            control: Controls held over the step, shape (..., C).
            contacts: Contacts of the states, same leading dimensions. None only if the predictor sees none.
            prior_change: Change of state that the prior predicts, not normalised, shape (..., D); None without a prior.
        """

    @abstractmethod
    def forward(self, encoded: Encoded, state: Tensor) -> Prediction:
        """Predictions of every step of some sequences, the prior included.

        Args:
            encoded: The steps, leading dimensions (B, T).
            state: States, shape (B, T, S).
        """

    @abstractmethod
    def prefill(self, encoded: Encoded, state: Tensor) -> tuple[Prediction, Past]:
        """As :meth:`forward`, and the past with which :meth:`extend` goes on."""

    @abstractmethod
    def extend(self, encoded: Encoded, state: Tensor, past: Past | None) -> tuple[Prediction, Past]:
        """The prediction of one more step, leading dimension (B,). Functional."""

    @abstractmethod
    def init_cache(self, batch: int, device: torch.device | str | None = None) -> Cache:
        """An empty history of ``batch`` environments for :meth:`step`."""

    @abstractmethod
    def step(self, encoded: Encoded, state: Tensor, cache: Cache) -> Prediction:
        """The prediction of one more step, leading dimension (B,). Updates the cache in place."""

    @abstractmethod
    def reset(self, cache: Cache, envs: Tensor | None = None) -> None:
        """Empties the history of some environments, see :meth:`SequenceModel.reset`."""

    @abstractmethod
    def update_statistics(
        self, state: Tensor, control: Tensor, contacts: Contacts | None, change: Tensor, prior: Prior | None
    ) -> Tensor:
        """Takes transitions into the statistics of the tokens.

        Args:
            state: States, shape (..., S).
            control: Controls, shape (..., C).
            contacts: Contacts of the states. None only if the predictor sees none.
            change: Their changes of state, not normalised, shape (..., D).
            prior: The prior, if there is one.

        Returns:
            The changes whose statistics set the unit of the predictor, shape (..., D) or with more dimensions in front.
        """

    @abstractmethod
    def finalise_statistics(self, force_scale: float | None = None) -> None:
        """Sets the units of tokens from what was seen, and that of forces [N] if given."""

    @abstractmethod
    def set_scale(self, error: Tensor) -> None:
        """Sets the unit of what the network adds, if it has one; see :meth:`Predictor.set_residual_scale`.

        Args:
            error: Usual error of the prior, normalised, shape (D,).
        """


class NoResidual(Residual):
    """Adds nothing: the prediction is that of the prior. Has no weights and no memory."""

    network = None

    @override
    def encode(self, state: Tensor, control: Tensor, contacts: Contacts | None, prior_change: Tensor | None) -> Encoded:
        return Encoded(state[..., :0])

    @override
    def forward(self, encoded: Encoded, state: Tensor) -> Prediction:
        assert encoded.prior_change is not None  # PredictorCfg sees to it
        return Prediction(encoded.prior_change)

    @override
    def prefill(self, encoded: Encoded, state: Tensor) -> tuple[Prediction, Past]:
        return self(encoded, state), ()

    @override
    def extend(self, encoded: Encoded, state: Tensor, past: Past | None) -> tuple[Prediction, Past]:
        return self(encoded, state), ()

    @override
    def init_cache(self, batch: int, device: torch.device | str | None = None) -> Cache:
        return {}

    @override
    def step(self, encoded: Encoded, state: Tensor, cache: Cache) -> Prediction:
        return self(encoded, state)

    @override
    def reset(self, cache: Cache, envs: Tensor | None = None) -> None:
        pass

    @override
    def update_statistics(
        self, state: Tensor, control: Tensor, contacts: Contacts | None, change: Tensor, prior: Prior | None
    ) -> Tensor:
        return change

    @override
    def finalise_statistics(self, force_scale: float | None = None) -> None:
        pass

    @override
    def set_scale(self, error: Tensor) -> None:
        pass


__all__ = ["NoResidual", "Residual"]
