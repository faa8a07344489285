# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""A trained policy as one small file that needs neither Isaac Lab nor RSL-RL, and is never unpickled.

The file is safetensors: the weights of the network's layers, mean and scale of its observations, and as JSON text in
the header the activation, the bound of the actions, and what made it.
"""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
import torch
from torch import nn

from nerd_core.files.atomic import write_bytes

ACTIVATIONS: dict[str, type[nn.Module]] = {"tanh": nn.Tanh, "elu": nn.ELU, "relu": nn.ReLU}
"""Activations a policy file may name."""

_NORMALISER_FLOOR = 1.0e-2
"""RSL-RL adds this to the standard deviation of an observation before it divides."""


class Policy(nn.Module):
    """Mean action of a Gaussian policy: normalised observations through a multi-layer perceptron.

    Args:
        layers: Weight and bias of each linear layer, first to last, shapes (out, in) and (out,).
        mean: Mean of the observations, in their own units, shape (O,).
        scale: What observations are divided by after the mean is taken off, shape (O,).
        activation: Name of the activation between two layers, one of :data:`ACTIVATIONS`.
        clip: Bound of the actions to either side; None leaves them as they are.
        facts: What made the policy; anything JSON holds.
    """

    mean: torch.Tensor
    scale: torch.Tensor

    def __init__(
        self,
        layers: list[tuple[torch.Tensor, torch.Tensor]],
        mean: torch.Tensor,
        scale: torch.Tensor,
        activation: str,
        clip: float | None = None,
        facts: dict[str, Any] | None = None,
    ):
        super().__init__()
        if activation not in ACTIVATIONS:
            raise ValueError(f"got the activation '{activation}', expected one of {', '.join(ACTIVATIONS)}")
        if mean.shape != scale.shape or mean.shape[0] != layers[0][0].shape[1]:
            raise ValueError(
                f"the first layer takes {layers[0][0].shape[1]} observations, got statistics of {mean.shape[0]}"
            )
        self.activation = activation
        self.clip = clip
        self.facts = dict(facts or {})
        self.register_buffer("mean", mean.detach().clone().float())
        self.register_buffer("scale", scale.detach().clone().float())
        stack: list[nn.Module] = []
        for weight, bias in layers:
            linear = nn.Linear(weight.shape[1], weight.shape[0])
            linear.weight.data.copy_(weight)
            linear.bias.data.copy_(bias)
            stack += [linear, ACTIVATIONS[activation]()]
        self.network = nn.Sequential(*stack[:-1])

    @property
    def action_dim(self) -> int:
        """Number of actions."""
        return int(list(self.parameters())[-1].shape[0])

    @property
    def obs_dim(self) -> int:
        """Number of observations."""
        return self.mean.shape[0]

    def forward(self, obs: torch.Tensor) -> torch.Tensor:
        """Return the actions.

        Args:
            obs: Observations as the task's policy group gives them, shape (..., O).
        """
        action = self.network((obs - self.mean) / self.scale)
        return action if self.clip is None else action.clamp(-self.clip, self.clip)

    def save(self, path: str | Path) -> None:
        """Write the policy to a file, whole or not at all."""
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        tensors = {name: tensor.contiguous() for name, tensor in self.state_dict().items()}
        header = {"activation": self.activation, "clip": self.clip, "facts": self.facts}
        metadata = {"nerd_policy": json.dumps(header, sort_keys=True)}
        write_bytes(path, safetensors.torch.save(tensors, metadata))

    def digest(self) -> str:
        """SHA-256 over the weights and statistics, in hexadecimal: equal policies have equal digests."""
        digest = hashlib.sha256()
        for name, tensor in sorted(self.state_dict().items()):
            digest.update(name.encode() + tensor.cpu().contiguous().numpy().tobytes())
        return digest.hexdigest()

    @classmethod
    def load(cls, path: str | Path) -> Policy:
        """Read a policy written by :meth:`save`."""
        if not Path(path).is_file():
            raise FileNotFoundError(f"there is no policy file {path}: 'nerd rl export' makes one from a run")
        try:
            with safetensors.safe_open(str(path), framework="pt") as file:
                header = (file.metadata() or {}).get("nerd_policy")
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  (not a dict)
        except safetensors.SafetensorError as error:
            raise ValueError(f"{path} is not a policy, or damaged: {error}") from None
        if header is None:
            raise ValueError(f"{path} is not a policy: its header has no entry 'nerd_policy'")
        known = json.loads(header)
        layers = _layers(tensors, "network")
        return cls(layers, tensors["mean"], tensors["scale"], known["activation"], known["clip"], known["facts"])

    @classmethod
    def from_rsl_rl(cls, checkpoint: str | Path, agent: dict[str, Any], facts: dict[str, Any] | None = None) -> Policy:
        """Take the actor out of a checkpoint of RSL-RL 5.

        Args:
            checkpoint: A file ``model_<iteration>.pt``. Only tensors and plain values are read from it.
            agent: The agent's configuration, as the run keeps it in ``params/agent.yaml``.
            facts: What made the policy.
        """
        actor = torch.load(checkpoint, weights_only=True, map_location="cpu")["actor_state_dict"]
        layers = _layers(actor, "mlp")
        if not layers:
            raise ValueError(f"the actor of {checkpoint} is not a multi-layer perceptron: it holds {', '.join(actor)}")
        mean = actor.get("obs_normalizer._mean", torch.zeros(1, layers[0][0].shape[1]))[0]
        scale = torch.ones_like(mean)
        if "obs_normalizer._std" in actor:
            scale = actor["obs_normalizer._std"][0] + _NORMALISER_FLOOR
        return cls(layers, mean, scale, agent["actor"]["activation"], agent.get("clip_actions"), facts)


def _layers(tensors: dict[str, torch.Tensor], prefix: str) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Weights and biases of the linear layers under a prefix, in their order."""
    found = (re.fullmatch(rf"{prefix}\.(\d+)\.weight", name) for name in tensors)
    numbers = sorted(int(match.group(1)) for match in found if match)
    return [(tensors[f"{prefix}.{i}.weight"], tensors[f"{prefix}.{i}.bias"]) for i in numbers]
