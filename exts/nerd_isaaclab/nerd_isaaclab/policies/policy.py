# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""A trained policy as one small file that needs neither Isaac Lab nor RSL-RL, and is never unpickled.

The file is safetensors: the weights of the network's layers, mean and scale of its observations, and as JSON text in
the header the activation, the bound of the actions, and what made it.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from torch import nn

from nerd_core.files.atomic import write_bytes
from nerd_core.files.messages import shortened
from nerd_core.files.safe_files import UnsafeFile, parse_json, read_bytes
from nerd_core.files.safe_tensors import parse_notes, parse_tensors

from .rsl_rl_file import PolicyError, read_actor

MAX_POLICY_BYTES = 2**30
"""Largest policy file that is read [bytes]."""

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
        activation: str | None,
        clip: float | None = None,
        facts: dict[str, Any] | None = None,
    ):
        super().__init__()
        if not isinstance(activation, str) or activation not in ACTIVATIONS:
            raise PolicyError(f"got the activation {shortened(activation)}, expected one of {', '.join(ACTIVATIONS)}")
        if clip is not None and (type(clip) not in (int, float) or not 0.0 < clip < math.inf):
            raise PolicyError(f"got {shortened(clip)} as the bound of the actions, expected a positive number or none")
        _check_numbers(layers, mean, scale)
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
        """Read a policy written by :meth:`save`.

        Raises:
            FileNotFoundError: There is no such file.
            PolicyError: It is damaged, or no policy.
        """
        path = Path(path)
        if not path.is_file():
            raise FileNotFoundError(f"there is no policy file {path}: 'nerd rl export' makes one from a run")
        try:
            content = read_bytes(path, MAX_POLICY_BYTES)
            tensors, header = parse_tensors(content, path.name), parse_notes(content, path.name).get("nerd_policy")
            if header is None:
                raise PolicyError("it is not a policy: its header has no entry 'nerd_policy'")
            known = parse_json(header.encode(errors="surrogatepass"), "nerd_policy")
            if not isinstance(known, dict) or not {"activation", "clip", "facts"} <= set(known):
                raise PolicyError("it is not a policy: expected activation, clip and facts in its header")
            if not isinstance(known["facts"], dict) or not {"mean", "scale"} <= set(tensors):
                raise PolicyError("it is not a policy: expected an object of facts, and tensors 'mean' and 'scale'")
            layers = _layers(tensors, "network")
            return cls(layers, tensors["mean"], tensors["scale"], known["activation"], known["clip"], known["facts"])
        except (UnsafeFile, PolicyError) as error:
            raise PolicyError(f"the policy '{path}' cannot be loaded: {error}") from None

    @classmethod
    def from_rsl_rl(cls, checkpoint: str | Path, agent: dict[str, Any], facts: dict[str, Any] | None = None) -> Policy:
        """Take the actor out of a checkpoint of RSL-RL 5.

        Args:
            checkpoint: A file ``model_<iteration>.pt``. Only tensors and plain values are read from it.
            agent: The agent's configuration, as the run keeps it in ``params/agent.yaml``.
            facts: What made the policy.
        """
        actor = read_actor(Path(checkpoint))
        try:
            layers = _layers(actor, "mlp")
            if not layers or layers[0][0].ndim != 2:
                raise PolicyError(f"it is not a multi-layer perceptron: it holds {', '.join(actor)[:200]}")
            observations = layers[0][0].shape[1]
            mean = _statistic(actor.get("obs_normalizer._mean", torch.zeros(1, observations)))
            scale = torch.ones_like(mean)
            if "obs_normalizer._std" in actor:
                scale = _statistic(actor["obs_normalizer._std"]) + _NORMALISER_FLOOR
            settings = agent.get("actor")
            activation = settings.get("activation") if isinstance(settings, dict) else None
            return cls(layers, mean, scale, activation, agent.get("clip_actions"), facts)
        except PolicyError as error:
            raise PolicyError(f"the actor of '{checkpoint}' cannot be taken: {error}") from None


def _layers(tensors: dict[str, torch.Tensor], prefix: str) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Weights and biases of the linear layers under a prefix, in their order."""
    numbers: dict[str, set[int]] = {"weight": set(), "bias": set()}
    for name in tensors:
        if match := re.fullmatch(rf"{prefix}\.(0|[1-9][0-9]{{0,3}})\.(weight|bias)", name):
            numbers[match[2]].add(int(match[1]))
    lonely = sorted(numbers["weight"] ^ numbers["bias"])
    if lonely:
        raise PolicyError(f"the layers {lonely[:8]} have weights or biases alone, expected both")
    return [(tensors[f"{prefix}.{i}.weight"], tensors[f"{prefix}.{i}.bias"]) for i in sorted(numbers["weight"])]


def _statistic(rows: torch.Tensor) -> torch.Tensor:
    """A statistic of the observations as RSL-RL keeps it, shape (1, O)."""
    if rows.ndim != 2 or len(rows) != 1:
        raise PolicyError(f"got statistics of shape {list(rows.shape)}, expected one row")
    return rows[0]


def _check_numbers(layers: list[tuple[torch.Tensor, torch.Tensor]], mean: torch.Tensor, scale: torch.Tensor) -> None:
    """Raises PolicyError unless the layers fit each other and the statistics, and all numbers are finite."""
    if not layers:
        raise PolicyError("got no layers, expected at least one")
    if mean.ndim != 1 or mean.shape != scale.shape:
        raise PolicyError(
            f"got statistics of shapes {list(mean.shape)} and {list(scale.shape)}, expected one number an observation"
        )
    width = len(mean)
    for number, (weight, bias) in enumerate(layers):
        if weight.ndim != 2 or weight.shape[1] != width or bias.shape != weight.shape[:1] or not len(bias):
            raise PolicyError(
                f"layer {number} has weights of shape {list(weight.shape)} and biases of {list(bias.shape)}, expected "
                f"some rows of {width}: the first layer takes {len(mean)} observations"
            )
        width = len(bias)
    for tensor in (mean, scale, *(tensor for layer in layers for tensor in layer)):
        if not tensor.is_floating_point() or not bool(torch.isfinite(tensor.float()).all()):
            raise PolicyError(f"got numbers of {tensor.dtype} that are not all finite, expected finite ones")
    if not bool((scale > 0).all()):
        raise PolicyError("got scales of observations that are not positive, expected what they are divided by")
