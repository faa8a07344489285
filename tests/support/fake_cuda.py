# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""A GPU that is not there: tensors without numbers on it, and a watch over what leaves it or comes to it.

Whatever asks for a number (``item``, ``tolist``, ``nonzero``, a branch on a tensor) fails under fake tensors of its own
accord. :class:`NoHostCopies` also refuses copies to and from the host, which are silent otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

DEVICE = torch.device("cuda", 0)


class HostCopy(AssertionError):
    """Something was copied between the GPU and the host."""


class NoHostCopies(TorchDispatchMode):
    """Refuses operations that read or make tensors of the host; single numbers that go along with a launch are none."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        found = func(*args, **(kwargs or {}))
        for each in tree_leaves((args, kwargs, found)):
            if isinstance(each, Tensor) and each.device.type == "cpu" and each.dim() > 0:
                raise HostCopy(f"{func} has a tensor of shape {tuple(each.shape)} on the host")
        if func is torch.ops.aten._to_copy.default and found.device != args[0].device:
            raise HostCopy(f"{func} copies from {args[0].device} to {found.device}")
        return found


@contextmanager
def fake_cuda() -> Iterator[FakeTensorMode]:
    """Within it, tensors have no numbers, and nothing may pass between the GPU and the host."""
    with FakeTensorMode() as mode, NoHostCopies():
        yield mode


def on_fake_cuda(mode: FakeTensorMode, module: nn.Module) -> nn.Module:
    """Moves a module to the GPU that is not there, in place. Tensors that are neither its parameters nor its buffers
    stay on the host, where they are found out.
    """
    with mode:
        for each in module.modules():
            for name, value in each._parameters.items():
                if value is not None:
                    each._parameters[name] = nn.Parameter(fake_like(value), requires_grad=value.requires_grad)
            for name, value in each._buffers.items():
                if value is not None:
                    each._buffers[name] = fake_like(value)
    return module


def fake_like(value: Tensor) -> Tensor:
    """A tensor of the same shape on the GPU that is not there; within a mode of fake tensors."""
    found = torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device=DEVICE)
    assert isinstance(found, FakeTensor)
    return found
