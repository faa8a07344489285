# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Several processes that train one model together, each on its share of every batch. torchrun starts them."""

from __future__ import annotations

import atexit
import os
from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import Tensor, nn


@dataclass(frozen=True)
class Processes:
    """The processes of a run. Every method does nothing when there is one."""

    rank: int = 0
    """Number of this process."""
    world: int = 1
    """Number of all processes."""
    device: torch.device = torch.device("cpu")
    """Where tensors that are exchanged live."""

    @property
    def is_first(self) -> bool:
        """Whether this process validates, saves and prints."""
        return self.rank == 0

    def from_first(self, value: float) -> float:
        """The value that the first process has."""
        if self.world == 1:
            return value
        told = torch.tensor(value, dtype=torch.float64, device=self.device)
        dist.broadcast(told, 0)
        return float(told)

    def share_weights(self, model: nn.Module) -> None:
        """Gives all processes the weights of the first."""
        if self.world > 1:
            for tensor in model.state_dict().values():
                dist.broadcast(tensor, 0)

    def wait_for_all(self) -> None:
        """Returns when all processes have come here. One that ends while its last exchange is still being cleared up by
        another thread is now and then aborted by the end of its interpreter, and torchrun then ends the others.
        """
        if self.world > 1:
            dist.barrier()

    def average_gradients(self, params: Sequence[Tensor]) -> None:
        """Replaces the gradients by their mean over all processes."""
        if self.world == 1:
            return
        grads = [param.grad for param in params if param.grad is not None]
        flat = torch.cat([grad.flatten() for grad in grads])
        dist.all_reduce(flat)
        flat /= self.world
        for grad, part in zip(grads, flat.split([grad.numel() for grad in grads]), strict=True):
            grad.copy_(part.view_as(grad))


def join_processes(device: torch.device) -> Processes:
    """The processes that torchrun has started; without it, this one alone.

    Args:
        device: Where this process trains.
    """
    if not dist.is_initialized():
        if int(os.environ.get("WORLD_SIZE", "1")) == 1:
            return Processes(device=device)
        dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
        # Left to the end of the interpreter, its threads are now and then still running, and the process is aborted.
        atexit.register(dist.destroy_process_group)
    return Processes(dist.get_rank(), dist.get_world_size(), device)


def mean_over_processes(values: Tensor) -> Tensor:
    """The mean over all processes, without gradients.

    Args:
        values: Numbers of this process, any shape; not changed.
    """
    mean = values.detach().clone()
    if dist.is_available() and dist.is_initialized():
        dist.all_reduce(mean)
        mean /= dist.get_world_size()
    return mean


__all__ = ["Processes", "join_processes", "mean_over_processes"]
