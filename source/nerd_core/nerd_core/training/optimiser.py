# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Which optimiser changes the weights, its learning rate over a run, and its state as a plain tree."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import nn

from ..files.bounds import bounded, check_bounds
from .soap import Soap


@dataclass(frozen=True)
class OptimiserCfg:
    """How weights are changed."""

    kind: Literal["soap", "adamw"] = "soap"
    """SOAP costs more for each update and needs far fewer; AdamW is the published choice."""
    lr: float = bounded(1.0e-2, above=0.0)
    """Highest learning rate. About 1e-2 for SOAP on perceptrons, 3e-3 on transformers, 1e-3 for AdamW."""
    final_lr: float = bounded(0.0, at_least=0.0, at_most=1.0)
    """Learning rate at the end, as a share of the highest."""
    warmup: float = bounded(0.02, at_least=0.0, below=1.0)
    """Share of the run over which the learning rate rises from zero."""
    decay: Literal["cosine", "linear"] = "cosine"
    """Shape of the fall from the highest to the last learning rate."""
    betas: tuple[float, float] = bounded((0.95, 0.99), at_least=0.0, below=1.0)
    """Decay of the running means of gradients and of their squares."""
    eps: float = bounded(1.0e-12, at_least=0.0)
    """Added to the root of the mean square. Small, because the gradients of a well-fitted model are."""
    weight_decay: float = bounded(0.0, at_least=0.0)
    """Decoupled decay of matrices."""
    precondition_frequency: int = bounded(10, at_least=1)
    """Updates between two corrections of SOAP's eigenbases. The name is that of the paper's code."""
    max_precondition_dim: int = bounded(512, at_least=0)
    """Sides of a matrix longer than this get no eigenbasis in SOAP: the cost of one grows with the third power."""

    def __post_init__(self):
        check_bounds(self)

    def rate(self, progress: float) -> float:
        """The learning rate at a share of the run between 0 and 1."""
        if progress < self.warmup:
            return self.lr * progress / self.warmup
        done = min(1.0, (progress - self.warmup) / (1.0 - self.warmup))
        fall = 0.5 * (1.0 + math.cos(math.pi * done)) if self.decay == "cosine" else 1.0 - done
        return self.lr * (self.final_lr + (1.0 - self.final_lr) * fall)


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
    return Soap(
        groups,
        lr=cfg.lr,
        betas=cfg.betas,
        eps=cfg.eps,
        precondition_frequency=cfg.precondition_frequency,
        max_precondition_dim=cfg.max_precondition_dim,
    )


def optimiser_state(optimiser: torch.optim.Optimizer) -> dict[str, Any]:
    """What an optimiser remembers, as a tree of tensors and plain values for :mod:`nerd_core.files.safe_state`."""
    return {str(index): dict(entries) for index, entries in optimiser.state_dict()["state"].items()}


def fresh_state(optimiser: torch.optim.Optimizer) -> dict[str, dict[str, torch.Tensor]]:
    """What an optimiser like this one remembers after its first call: entries of the shapes that a saved state has.

    Args:
        optimiser: The optimiser, which is left as it is.
    """
    groups = [dict(group) for group in optimiser.param_groups]
    for group in groups:
        group["params"] = [torch.zeros_like(param) for param in group["params"]]
        for param in group["params"]:
            param.grad = torch.zeros_like(param)
    same_kind: Any = type(optimiser)
    twin = same_kind(groups)
    twin.step()
    return optimiser_state(twin)


def load_optimiser_state(optimiser: torch.optim.Optimizer, tree: dict[str, Any]) -> None:
    """Goes on from :func:`optimiser_state`, of an optimiser of the same model and configuration."""
    state = {int(index): entries for index, entries in tree.items()}
    optimiser.load_state_dict({"state": state, "param_groups": optimiser.state_dict()["param_groups"]})


__all__ = ["OptimiserCfg", "fresh_state", "load_optimiser_state", "make_optimiser", "optimiser_state"]
