# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""SOAP (Vyas et al. 2024, arXiv 2409.11321): Adam in the eigenbasis of Shampoo's preconditioner.

The dynamics of a robot are a smooth function of few inputs that has to be fitted to many digits. There the curvature of
the loss decides. On Cartpole SOAP reached in about the same time a one-step error two to eight times below that of an
AdamW whose rate was not searched; see the laboratory notebook.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, override

import torch
from torch import Tensor

SPIKE = 5.0
"""Largest norm of a gradient in SOAP, in units of the root mean square of those before; longer ones are shortened."""


class Soap(torch.optim.Optimizer):
    """Adam in a slowly turning eigenbasis of the gradients' second moments.

    A parameter group with ``matrix=True`` holds matrices, of shape (rows, columns), or stacks of them with further
    dimensions in front; every other parameter gets plain Adam. Parameters of one shape are updated by one batched call.
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-2,
        betas: tuple[float, float] = (0.95, 0.99),
        eps: float = 1e-12,
        weight_decay: float = 0.0,
        precondition_frequency: int = 10,
        max_precondition_dim: int = 512,
    ):
        """Starts without knowledge of the curvature; the first call only learns about it and changes no matrix.

        Args:
            params: Parameter groups.
            lr: Learning rate.
            betas: Decay of the running means of gradients and of their squares (and outer products).
            eps: Added to the root of the mean square.
            weight_decay: Decoupled decay.
            precondition_frequency: Calls between two corrections of the eigenbases.
            max_precondition_dim: Longest side of a matrix that gets an eigenbasis.
        """
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "precondition_frequency": precondition_frequency,
        }
        super().__init__(params, defaults | {"max_precondition_dim": max_precondition_dim, "matrix": False})

    @override
    @torch.no_grad()
    def step(self, closure: None = None) -> None:
        """Changes the weights by their gradients."""
        for group in self.param_groups:
            for params in _same_shape(group["params"]):
                grad = torch.stack([param.grad for param in params if param.grad is not None])
                # The state of all parameters of one shape is kept with the first of them.
                update = self._update(grad, self.state[params[0]], group)
                if update is not None:
                    if group["weight_decay"]:
                        torch._foreach_mul_(params, 1.0 - group["lr"] * group["weight_decay"])
                    torch._foreach_add_(params, list(update.unbind()), alpha=-group["lr"])

    def _update(self, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> Tensor | None:
        """The direction of the update, for gradients of shape (n, ...); None in the first call for matrices."""
        (beta1, beta2), sides = group["betas"], _sides(grad, group)
        if not state:
            state["step"] = torch.zeros((), dtype=torch.float64)
            state["mean"], state["square"] = torch.zeros_like(grad), torch.zeros_like(grad)
            for side in sides:
                outer = _outer(grad, side)
                state[f"outer{side}"] = outer * (1.0 - beta2)
                # Largest first. float64: a basis that is not quite orthogonal would stay so.
                basis = torch.linalg.eigh(outer.double().nan_to_num())[1].flip(-1)
                state[f"basis{side}"] = basis.to(grad.dtype).contiguous()
            state["norm"] = grad.reshape(len(grad), -1).square().sum(1)
            if sides:
                return None
        if len(state["norm"]) != len(grad):
            raise ValueError(
                f"got a state of {len(state['norm'])} parameters of shape {list(grad.shape[1:])}, expected one of "
                f"{len(grad)}: it was saved by another run"
            )
        grad = _without_spike(grad, state["norm"], 1.0 - beta2)
        for side in sides:
            state[f"outer{side}"].lerp_(_outer(grad, side), 1.0 - beta2)
        state["step"] += 1
        step = int(state["step"])
        state["mean"].lerp_(grad, 1.0 - beta1)
        rotated, mean = grad, state["mean"]
        for side in sides:
            rotated, mean = (_rotate(x, state[f"basis{side}"], side) for x in (rotated, mean))
        state["square"].lerp_(rotated.square(), 1.0 - beta2)
        root = (state["square"] / (1.0 - beta2**step)).sqrt_().add_(group["eps"])
        update = mean / (1.0 - beta1**step) / root
        for side in sides:
            update = _rotate(update, state[f"basis{side}"].mT, side)
        if sides and step % group["precondition_frequency"] == 0:
            self._correct_bases(state, sides)
        return update

    def _correct_bases(self, state: dict[str, Any], sides: list[int]) -> None:
        """One step of power iteration for the eigenbases, sorted so that they turn as little as possible."""
        for side in sides:
            outer, basis = state[f"outer{side}"], state[f"basis{side}"]
            order = (basis * (outer @ basis)).sum(-2).argsort(-1, descending=True)
            basis = basis.gather(-1, order.unsqueeze(-2).expand_as(basis))
            index = order.unsqueeze(-1 if side == -2 else -2).expand_as(state["square"])
            state["square"] = state["square"].gather(side, index)
            # Row by row in memory, as it comes back from a file: products of another layout differ in the last bits.
            state[f"basis{side}"] = torch.linalg.qr(outer @ basis)[0].contiguous()


def _without_spike(grad: Tensor, norm: Tensor, share: float) -> Tensor:
    """Gradients of shape (n, ...), shortened where they are much longer than usual, and takes them into what is usual.

    One batch of strange transitions would otherwise pull the weights the same way for as long as the running mean
    remembers it, ten times as far as a usual update.

    Args:
        grad: The gradients.
        norm: Mean squares of their norms so far, shape (n,), changed in place.
        share: Share of the new ones in it.
    """
    square = grad.reshape(len(grad), -1).square().sum(1)
    limit = torch.where(norm > 0.0, SPIKE**2 * norm, torch.inf)
    scale = (limit / square.clamp(min=torch.finfo(grad.dtype).tiny)).clamp(max=1.0).sqrt_()
    norm.lerp_(torch.minimum(square, limit), share)
    return grad * scale.view(-1, *(1 for _ in grad.shape[1:]))


def _same_shape(params: list[Tensor]) -> list[list[Tensor]]:
    """Parameters that have gradients, by shape."""
    by_shape: dict[torch.Size, list[Tensor]] = {}
    for param in params:
        if param.grad is not None:
            by_shape.setdefault(param.shape, []).append(param)
    return list(by_shape.values())


def _sides(grad: Tensor, group: dict[str, Any]) -> list[int]:
    """Which sides of a matrix get an eigenbasis: -2 for the rows, -1 for the columns."""
    return [side for side in (-2, -1) if grad.shape[side] <= group["max_precondition_dim"]] if group["matrix"] else []


def _outer(grad: Tensor, side: int) -> Tensor:
    return grad @ grad.mT if side == -2 else grad.mT @ grad


def _rotate(x: Tensor, basis: Tensor, side: int) -> Tensor:
    """Into a basis of the rows or of the columns."""
    return basis.mT @ x if side == -2 else x @ basis


__all__ = ["Soap"]
