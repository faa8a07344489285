# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Optimisers, their state as a plain tree, and the schedule of the learning rate.

The dynamics of a robot are a smooth function of few inputs that has to be fitted to many digits. That is where the
curvature of the loss decides. SOAP (Vyas et al. 2024) is Adam in the eigenbasis of Shampoo's preconditioner.
On Cartpole it reached in about the same time a one-step error two to eight times below that of an AdamW whose
rate was not searched; see the laboratory notebook.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, override

import torch
from torch import Tensor, nn

SPIKE = 5.0
"""Largest norm of a gradient in SOAP, in units of the root mean square of those before; longer ones are shortened."""


@dataclass(frozen=True)
class OptimiserCfg:
    """How weights are changed."""

    kind: Literal["soap", "adamw"] = "soap"
    """SOAP costs more for each update and needs far fewer; AdamW is the published choice."""
    lr: float = 1.0e-2
    """Highest learning rate. About 1e-2 for SOAP on perceptrons, 3e-3 on transformers, 1e-3 for AdamW."""
    final_lr: float = 0.0
    """Learning rate at the end, as a share of the highest."""
    warmup: float = 0.02
    """Share of the run over which the learning rate rises from zero."""
    decay: Literal["cosine", "linear"] = "cosine"
    """Shape of the fall from the highest to the last learning rate."""
    betas: tuple[float, float] = (0.95, 0.99)
    """Decay of the running means of gradients and of their squares."""
    eps: float = 1.0e-12
    """Added to the root of the mean square. Small, because the gradients of a well-fitted model are."""
    weight_decay: float = 0.0
    """Decoupled decay of matrices."""
    refresh: int = 10
    """Updates between two corrections of SOAP's eigenbases."""
    max_side: int = 512
    """Sides of a matrix longer than this keep their own basis in SOAP: a decomposition grows with the third power."""

    def __post_init__(self):
        if not (self.lr > 0 and self.refresh >= 1 and 0 <= self.final_lr <= 1 and 0 <= self.warmup < 1):
            raise ValueError(f"got {self}, expected lr > 0, refresh >= 1, final_lr in [0, 1] and warmup in [0, 1)")

    def rate(self, progress: float) -> float:
        """The learning rate at a share of the run between 0 and 1."""
        if progress < self.warmup:
            return self.lr * progress / self.warmup
        done = min(1.0, (progress - self.warmup) / (1.0 - self.warmup))
        fall = 0.5 * (1.0 + math.cos(math.pi * done)) if self.decay == "cosine" else 1.0 - done
        return self.lr * (self.final_lr + (1.0 - self.final_lr) * fall)


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
        refresh: int = 10,
        max_side: int = 512,
    ):
        """Starts without knowledge of the curvature; the first call only learns about it and changes no matrix.

        Args:
            params: Parameter groups.
            lr: Learning rate.
            betas: Decay of the running means of gradients and of their squares (and outer products).
            eps: Added to the root of the mean square.
            weight_decay: Decoupled decay.
            refresh: Calls between two corrections of the eigenbases.
            max_side: Longest side of a matrix that gets an eigenbasis.
        """
        defaults = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "refresh": refresh}
        super().__init__(params, defaults | {"max_side": max_side, "matrix": False})

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
        """The direction to go, for gradients of shape (n, ...); None in the first call for matrices."""
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
            state["norm"] = grad.flatten(1).square().sum(1)
            if sides:
                return None
        grad = _without_spike(grad, state["norm"], 1.0 - beta2)
        for side in sides:
            state[f"outer{side}"].lerp_(_outer(grad, side), 1.0 - beta2)
        state["step"] += 1
        step = int(state["step"])
        state["mean"].lerp_(grad, 1.0 - beta1)
        turned, mean = grad, state["mean"]
        for side in sides:
            turned, mean = (_turn(x, state[f"basis{side}"], side) for x in (turned, mean))
        state["square"].lerp_(turned.square(), 1.0 - beta2)
        root = (state["square"] / (1.0 - beta2**step)).sqrt_().add_(group["eps"])
        update = mean / (1.0 - beta1**step) / root
        for side in sides:
            update = _turn(update, state[f"basis{side}"].mT, side)
        if sides and step % group["refresh"] == 0:
            self._refresh(state, sides)
        return update

    def _refresh(self, state: dict[str, Any], sides: list[int]) -> None:
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
    square = grad.flatten(1).square().sum(1)
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
    return [side for side in (-2, -1) if grad.shape[side] <= group["max_side"]] if group["matrix"] else []


def _outer(grad: Tensor, side: int) -> Tensor:
    return grad @ grad.mT if side == -2 else grad.mT @ grad


def _turn(x: Tensor, basis: Tensor, side: int) -> Tensor:
    """Into a basis of the rows or of the columns."""
    return basis.mT @ x if side == -2 else x @ basis


def make_optimiser(model: nn.Module, cfg: OptimiserCfg, members: int = 1) -> torch.optim.Optimizer:
    """The optimiser of a model.

    Args:
        model: The model.
        cfg: How weights are changed.
        members: Members of an ensemble, which are stacked in the first dimension of every parameter if more than one.
    """
    own = 2 + (members > 1)
    params = [param for param in model.parameters() if param.requires_grad]
    matrices = [param for param in params if param.ndim == own]
    others = [param for param in params if param.ndim != own]
    groups = [{"params": matrices, "weight_decay": cfg.weight_decay}, {"params": others, "weight_decay": 0.0}]
    groups = [group for group in groups if group["params"]]
    if cfg.kind == "adamw":
        return torch.optim.AdamW(groups, lr=cfg.lr, betas=cfg.betas, eps=cfg.eps, fused=True)
    for group in groups:
        group["matrix"] = group["params"] is matrices
    return Soap(groups, cfg.lr, cfg.betas, cfg.eps, refresh=cfg.refresh, max_side=cfg.max_side)


def optimiser_state(optimiser: torch.optim.Optimizer) -> dict[str, Any]:
    """What an optimiser remembers, as a tree of tensors and plain values for :mod:`nerd_core.safe_state`."""
    return {str(index): dict(entries) for index, entries in optimiser.state_dict()["state"].items()}


def load_optimiser_state(optimiser: torch.optim.Optimizer, tree: dict[str, Any]) -> None:
    """Goes on from :func:`optimiser_state`, of an optimiser of the same model and configuration."""
    state = {int(index): entries for index, entries in tree.items()}
    optimiser.load_state_dict({"state": state, "param_groups": optimiser.state_dict()["param_groups"]})


class Average:
    """Exponential moving average of a model's weights, in the first updates a plain mean."""

    def __init__(self, model: nn.Module, decay: float):
        """Starts at the model's weights.

        Args:
            model: The model.
            decay: Share of the average that one update keeps; 0 for no average at all.
        """
        self.decay = decay
        self.params: list[Tensor] = [param for param in model.parameters() if param.requires_grad] if decay else []
        self.average = [param.detach().clone() for param in self.params]
        self.count = 0

    @torch.no_grad()
    def update(self) -> None:
        """Takes in the present weights."""
        self.count += 1
        keep = min(self.decay, self.count / (self.count + 9.0))
        if self.params:
            torch._foreach_lerp_(self.average, self.params, 1.0 - keep)

    @contextlib.contextmanager
    def in_place(self) -> Iterator[None]:
        """Within, the model has the averaged weights."""
        self._swap()
        try:
            yield
        finally:
            self._swap()

    @torch.no_grad()
    def keep(self) -> None:
        """Gives the model the averaged weights for good."""
        for param, average in zip(self.params, self.average, strict=True):
            param.copy_(average)

    @torch.no_grad()
    def _swap(self) -> None:
        for param, average in zip(self.params, self.average, strict=True):
            held = param.detach().clone()
            param.copy_(average)
            average.copy_(held)

    def state_dict(self) -> dict[str, Any]:
        """The average, as a tree."""
        return {"count": self.count, "average": [average.clone() for average in self.average]}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Goes on from :meth:`state_dict`."""
        self.count = state["count"]
        for own, average in zip(self.average, state["average"], strict=True):
            own.copy_(average)


__all__ = ["Average", "OptimiserCfg", "Soap", "load_optimiser_state", "make_optimiser", "optimiser_state"]
