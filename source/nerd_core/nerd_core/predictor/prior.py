# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What a prior is: the part of a prediction that needs no network, and how the network treats what it leaves.

A new prior is one file, with settings (:class:`PriorCfg`), a module (:class:`Prior`) and one line in :data:`BUILT_IN`;
for priors of other packages see :mod:`nerd_core.files.kinds`. This one knows that joints with friction slow down::

    @dataclass(frozen=True)
    class SlowDownCfg(PriorCfg):
        kind: Literal["slow_down"] = "slow_down"
        rate: float = 0.1
        def build(self, spec, codec, contacts):
            return SlowDown(codec, self.rate)

    class SlowDown(Prior):
        def __init__(self, codec, rate):
            super().__init__()
            self.codec, self.rate = codec, rate
        def forward(self, state, control, contacts=None):
            change = state.new_zeros(*state.shape[:-1], self.codec.dim)
            change[..., self.codec.slices["joint_vel"]] = -self.rate * state[..., self.codec.spec.state.joint_vel]
            return change
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from ..contact.contacts import Contacts
from ..files.kinds import Kinds, OfKind
from ..mechanics.forces import BodyForces
from ..robot.frames import ChangeCodec
from ..robot.physical_parameters import PhysicalParameters
from ..robot.spec import RobotSpec

BUILT_IN = {
    "mechanics": "nerd_core.predictor.mechanics_prior:MechanicsPriorCfg",
    "calibrated": "nerd_core.predictor.calibrated_mechanics:CalibratedMechanicsCfg",
    "transmission": "nerd_core.predictor.transmission_prior:TransmissionCfg",
    "free_motion": "nerd_core.predictor.free_motion:FreeMotionCfg",
    "free_fall": "nerd_core.predictor.free_fall:FreeFallCfg",
}
"""Settings of the priors that are built in, by kind."""


@dataclass(frozen=True)
class PriorTraits:
    """How a network treats what a prior leaves to it."""

    looks_ahead: bool = True
    """Whether tokens show where the prior leads: where each contact slot and each joint would be after the step.
    Otherwise the present velocities stand for it."""
    ignores_ground: bool = False
    """Whether where it leads may be below the ground, so that tokens take the fall off the motion of slots."""
    leaves_stops: bool = True
    """Whether the stops of joints are left to the network: its tokens then show how far beyond them the prior leads."""
    only_near_contact: bool = False
    """Whether the network may add something only while a slot is near the ground or, if stops are left to it, a joint
    near its stop, now or where the prior leads. For priors that are better than a network elsewhere."""
    scaled_by_error: bool = False
    """Whether the unit of what the network adds is the usual error of the prior, see
    :meth:`~nerd_core.predictor.predictor.Predictor.set_residual_scale`."""
    scaled_by_drive: bool = False
    """Whether what is left is proportional to what drives the robot, see :mod:`nerd_core.network.drive_scale`."""
    hidden_parts: tuple[str, ...] = ()
    """Parts of a token that what is left cannot depend on, so that the network does not see them."""
    takes_parameters: bool = False
    """Whether masses, friction, gains and the like may differ from the specification: its ``forward`` then has a fourth
    argument ``parameters``, see :class:`~nerd_core.robot.physical_parameters.PhysicalParameters`."""
    gives_forces: bool = False
    """Whether it tells which forces make the change, see :meth:`Prior.with_forces`."""


@dataclass(frozen=True)
class PriorCfg(OfKind):
    """Settings of a prior. A subclass has a field ``kind`` that names it in files, and makes the prior."""

    kinds: ClassVar[Kinds] = Kinds("prior", "nerd_core.priors", BUILT_IN)

    def build(self, spec: RobotSpec, codec: ChangeCodec, contacts: bool) -> Prior:
        """Makes the prior. Raises ValueError if it does not suit the robot.

        Args:
            spec: The robot.
            codec: Writes changes of state.
            contacts: Whether the robot may touch the ground, so that :meth:`Prior.forward` is given contacts.
        """
        raise NotImplementedError(f"{type(self).__name__} makes no prior: expected a method 'build'")


class Prior(nn.Module, ABC):
    """What is known of a control step without the network."""

    traits: PriorTraits = PriorTraits()
    """How a network treats what it leaves."""
    trainable: bool = True
    """Whether its weights, if it has any, learn together with those of the network, or before them."""
    is_unrolled: bool = False
    """Whether an exported program of it is long: loops of a solver, one after the other."""

    @abstractmethod
    def forward(self, state: Tensor, control: Tensor, contacts: Contacts | None = None) -> Tensor:
        """The change of state that it predicts.

        Args:
            state: States, shape (..., S).
            control: Controls held over the step, shape (..., C).
            contacts: Contacts of the states, same leading dimensions; None if the robot touches nothing.

        Returns:
            Changes as the codec writes them, not normalised, shape (..., D).
        """

    def with_forces(
        self,
        state: Tensor,
        control: Tensor,
        contacts: Contacts | None = None,
        parameters: PhysicalParameters | None = None,
        joints: bool = True,
        memory: Tensor | None = None,
    ) -> tuple[Tensor, BodyForces]:
        """The change of state, and the forces on the bodies that made it. Only with :attr:`PriorTraits.gives_forces`.

        Args:
            state: States, shape (..., S).
            control: Controls held over the step, shape (..., C).
            contacts: Contacts of the states.
            parameters: What of the robot differs from its specification, only with
                :attr:`PriorTraits.takes_parameters`.
            joints: Whether to tell what joints carry, too.
            memory: See :meth:`remembering`; None for a step without.
        """
        raise NotImplementedError(f"{type(self).__name__} gives no forces: expected a method 'with_forces'")

    def new_memory(self, batch: int, device: torch.device | str | None = None) -> Tensor | None:
        """What it remembers of environments in which nothing has happened yet: zeros of shape (batch, ...). None for a
        prior that remembers nothing beside the state.

        Args:
            batch: Environments.
            device: By default that of the prior.
        """
        return None

    def remembering(
        self,
        state: Tensor,
        control: Tensor,
        contacts: Contacts | None,
        memory: Tensor,
        parameters: PhysicalParameters | None = None,
    ) -> Tensor:
        """The change of state that it predicts with a memory, without gradients. Only with :meth:`new_memory`.

        Args:
            state: States, shape (B, S).
            control: Controls held over the step, shape (B, C).
            contacts: Contacts of the states; None if the robot touches nothing.
            memory: What the step before left, changed in place, shape (B, ...).
            parameters: What of the robot differs from its specification, only with
                :attr:`PriorTraits.takes_parameters`.
        """
        raise NotImplementedError(f"{type(self).__name__} has no memory: expected a method 'remembering'")

    def with_memory(
        self,
        state: Tensor,
        control: Tensor,
        contacts: Contacts | None,
        memory: Tensor,
        parameters: PhysicalParameters | None = None,
    ) -> tuple[Tensor, Tensor]:
        """The change of state with a memory, and the memory after the step, with gradients through both and to the
        memory before, which is not changed. Only with :meth:`new_memory`.

        Args:
            state: States, shape (..., S).
            control: Controls held over the step, shape (..., C).
            contacts: Contacts of the states; None if the robot touches nothing.
            memory: What the step before left, shape (..., *) with what :meth:`new_memory` has for one environment.
            parameters: What of the robot differs from its specification, only with
                :attr:`PriorTraits.takes_parameters`.
        """
        raise NotImplementedError(f"{type(self).__name__} has no memory: expected a method 'with_memory'")

    def update_statistics(self, state: Tensor, change: Tensor) -> None:
        """Takes transitions of the training data into its statistics, if it has any.

        Args:
            state: States, shape (..., S).
            change: Their changes, shape (..., D).
        """

    def update_input_statistics(self, state: Tensor, control: Tensor, contacts: Contacts | None) -> None:
        """Takes what it is given in the training data into its statistics, if it has any; as of :meth:`forward`."""

    def finalise_statistics(self) -> None:
        """Sets what depends on the statistics, if anything does."""

    def export_obstacle(self) -> str:
        """What of it no exported program can hold, and what to do; empty where there is nothing."""
        return ""

    def penalty(self) -> Tensor | float:
        """What training pays for its weights beside the loss."""
        return 0.0


__all__ = ["BUILT_IN", "Prior", "PriorCfg", "PriorTraits"]
