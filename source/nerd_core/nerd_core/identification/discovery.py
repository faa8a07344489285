# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Which forces mechanics lack, and what they depend on: sparse group lasso over the inputs and outputs of a blueprint.

Networks that see more than they need are fitted to what mechanics leave of measured steps, and what is not worth its
price is taken away group by group: an input of a network (its weights in the first layer), or an output (its weights in
the last). With ``w`` for such groups and ``u`` for all other weights, what is minimised is (Simon et al. 2013)::

    mean squared error + kappa sum_g ((1 - a) sqrt(|g|) |w_g|_2 + a |w_g|_1) + ridge |u|_2^2

by Adam with proximal steps, after each of which a group that is not worth it *is* zero. The price ``kappa`` rises along
a path; each set of groups that is left somewhere on it is fitted again without a price, and judged on held-out folds.
The smallest one that is not worse than the best by more than the standard error, or explains enough, is chosen; groups
are then taken away from it one by one as long as that holds (a path may leave nothing between too much and too little).

A step is linear in forces as long as nothing strikes a stop or the ground, so mechanics say once for each measured step
which forces it would have taken (:func:`response_of`), and a search of thousands of fits takes seconds.

Example::

    response = response_of(mechanics, networks, state, control, next_state)
    found = discover(networks, response, LassoCfg())
    found.groups    # (("elbow", "joint_vel[elbow]"), ...)
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from ..files.bounds import SEED, bounded, check_bounds
from ..mechanics.augmentation.augmentation import BlueprintNetworks
from ..mechanics.augmentation.augmented_step import AugmentedMechanics
from ..mechanics.augmentation.networks import ElementNetworks
from .force_fit import ForceSteps
from .parameterisation import IdentificationError

Group = tuple[str, str]
"""Name of the joint, body or slot whose network it is, and of what this network sees."""

LEAST_SHARE = 0.01
"""Least unit of an output, as a share of the largest, so that what is not needed is not blown up."""

NOTHING = 1.0e-7
"""Share of what is usual for a robot that is not worth a search."""


@dataclass(frozen=True)
class LassoCfg:
    """How groups are chosen."""

    kappas: tuple[float, ...] = bounded((3.0e-4, 1.0e-3, 3.0e-3, 1.0e-2, 3.0e-2, 0.1), above=0.0)
    """Prices of groups along the path, rising, as shares of what is needed."""
    ridges: tuple[float, ...] = bounded((1.0e-3, 3.0e-3), at_least=0.0)
    """Prices of all other weights; a path is taken for each."""
    within: float = bounded(0.2, at_least=0.0, at_most=1.0)
    """Share of the price that single weights pay, and not their groups (``a``)."""
    iterations: int = bounded(300, at_least=1)
    """Steps of Adam at each price; three times as many at the first."""
    refit_iterations: int = bounded(200, at_least=1)
    """Iterations of L-BFGS for a set of groups without a price."""
    learning_rate: float = bounded(0.02, above=0.0)
    """Step of Adam."""
    enough: float = bounded(1.0e-3, at_least=0.0, below=1.0)
    """Share of what is needed that may be left unexplained: no group is kept for less."""
    folds: int = bounded(5, at_least=2)
    """Parts of the data, each of which is held out once."""
    seed: int = bounded(0, **SEED)
    """Seed of first weights."""

    def __post_init__(self):
        check_bounds(self)
        if not self.kappas or list(self.kappas) != sorted(self.kappas) or not self.ridges:
            raise IdentificationError(f"got the prices {self.kappas} and {self.ridges}, expected some, kappas rising")


class Response(NamedTuple):
    """What the outputs of a blueprint would have to be for mechanics to make measured steps."""

    features: Tensor
    """What networks see, in their units, shape (N, E, F)."""
    needed: Tensor
    """What they would have to say, each in units of its root mean square, shape (N, E, O)."""
    unit: Tensor
    """These units, in those of the blueprint's own networks, shape (E, O)."""

    def pick(self, index: Tensor) -> Response:
        """Some of the steps."""
        return Response(self.features[index], self.needed[index], self.unit)


class PathPoint(NamedTuple):
    """What is left at one price."""

    ridge: float
    """Price of other weights."""
    kappa: float
    """Price of groups."""
    groups: frozenset[Group]
    """Groups that are not zero."""
    error: float
    """Mean squared error of the fit with the price, as a share of what is needed."""


class Candidate(NamedTuple):
    """A set of groups on the path."""

    groups: frozenset[Group]
    """The groups."""
    error: float
    """Mean squared error on held-out folds, as a share of what is needed."""
    spread: float
    """Standard error of it."""


class Discovery(NamedTuple):
    """What was found."""

    groups: frozenset[Group]
    """Groups that were chosen."""
    networks: ElementNetworks
    """Networks with these groups alone, fitted without a price."""
    path: list[PathPoint]
    """The path."""
    candidates: list[Candidate]
    """Sets of groups on it, the largest first."""

    def table(self) -> str:
        """The candidates as a table for people."""
        rows = ["groups  held-out error  standard error  which"]
        for each in self.candidates:
            mark = "*" if each.groups == self.groups else " "
            names = ", ".join(f"{label} -> {element}" for element, label in sorted(each.groups)) or "nothing"
            rows.append(f"{mark} {len(each.groups):4d}  {each.error:14.3e}  {each.spread:14.1e}  {names}")
        return "\n".join(rows)


@torch.no_grad()
def response_of(
    mechanics: AugmentedMechanics, networks: BlueprintNetworks, state: Tensor, control: Tensor, next_state: Tensor
) -> Response:
    """What networks would have to say in measured steps.

    Args:
        mechanics: Mechanics with new networks of one blueprint, separate for all elements.
        networks: These networks.
        state: States, shape (N, S).
        control: Controls, shape (N, C).
        next_state: States one control step later, shape (N, S).
    """
    is_alone = len(mechanics.augmentation.parts) == 1
    if networks.blueprint.sharing != "separate" or bool(networks.networks.weights[-1].any()) or not is_alone:
        raise IdentificationError(
            "got networks that are shared, not new, or not alone, expected new ones of one "
            "blueprint with sharing=separate"
        )
    steps = ForceSteps.of(mechanics, state, control, next_state)
    left, jacobian = steps.left, steps.answers[0].flatten(2)
    if jacobian.shape[1] < jacobian.shape[2] or bool((torch.linalg.matrix_rank(jacobian) < jacobian.shape[2]).any()):
        raise IdentificationError(
            f"got the outputs {list(networks.blueprint.outputs)} of '{mechanics.spec.name}', which its motion cannot "
            "tell apart: expected fewer of them, as joint_torque alone"
        )
    needed = torch.linalg.lstsq(jacobian, left.unsqueeze(-1)).solution.squeeze(-1)
    own = needed.square().mean(0).sqrt()
    if not float(own.max()) > NOTHING:
        raise IdentificationError(
            f"got steps of '{mechanics.spec.name}' that mechanics explain as they are: there is nothing to discover"
        )
    own = own.clamp(min=LEAST_SHARE * float(own.max()))
    shape = networks.unit.shape
    features = networks.features(steps.readings) / networks.input_scale
    return Response(features, (needed / own).unflatten(-1, shape), own.unflatten(0, shape))


def discover(
    networks: BlueprintNetworks, response: Response, cfg: LassoCfg, say: Callable[[str], None] | None = None
) -> Discovery:
    """The groups that explain what mechanics leave.

    Args:
        networks: Networks of the blueprint; they are not changed.
        response: Measured steps.
        cfg: How to choose.
        say: Told of each path, in words.
    """
    groups = [(element, each.label) for element in networks.elements for each in networks.input_groups()]
    path: list[PathPoint] = []
    for ridge in cfg.ridges:
        path += _path(networks, response, cfg, ridge)
        if say is not None:
            say(f"ridge {ridge:g}: {', '.join(str(len(each.groups)) for each in path[-len(cfg.kappas) :])} groups left")
    sets = {each.groups for each in path} | {frozenset(), frozenset(groups)}
    order = torch.randperm(len(response.needed), generator=torch.Generator().manual_seed(cfg.seed))
    folds = order.tensor_split(cfg.folds)
    judged = {each: _judged(networks, response, cfg, each, folds) for each in sets}
    best = min(judged.values(), key=lambda each: each.error)
    limit = max(best.error + best.spread, cfg.enough)
    near = [each for each in judged.values() if each.error <= limit]
    chosen = min(near, key=lambda each: (len(each.groups), each.error))
    # What the path kept beside what is needed: groups whose price was paid because two features are cheaper than one.
    while chosen.groups:
        smaller = [chosen.groups - {group} for group in sorted(chosen.groups)]
        judged |= {each: _judged(networks, response, cfg, each, folds) for each in smaller if each not in judged}
        fewer = min((judged[each] for each in smaller), key=lambda each: each.error)
        if fewer.error > limit:
            break
        chosen = fewer
    candidates = sorted(judged.values(), key=lambda each: (-len(each.groups), sorted(each.groups)))
    fitted = in_own_units(refit(networks, response, cfg, chosen.groups), response)
    return Discovery(chosen.groups, fitted, path, candidates)


def refit(networks: BlueprintNetworks, response: Response, cfg: LassoCfg, groups: frozenset[Group]) -> ElementNetworks:
    """New networks that see some groups alone, fitted without a price but the smallest ridge.

    Args:
        networks: Networks of the blueprint.
        response: Measured steps.
        cfg: How to fit.
        groups: What is seen.
    """
    fitted = _new(networks, cfg.seed)
    inputs, outputs = _masks(networks, groups, response.features)
    parameters = list(fitted.parameters())
    _mask(fitted, inputs, outputs)
    optimiser = torch.optim.LBFGS(
        parameters,
        max_iter=cfg.refit_iterations,
        history_size=20,
        line_search_fn="strong_wolfe",
        tolerance_change=1e-14,
    )

    def closure() -> Tensor:
        optimiser.zero_grad()
        cost = error_of(fitted, response) + 1.0e-3 * min(cfg.ridges) * _squares(fitted)
        cost.backward()
        for parameter, mask in _masked(fitted, inputs, outputs):
            assert parameter.grad is not None
            parameter.grad = parameter.grad * mask
        return cost

    if groups:
        optimiser.step(closure)  # type: ignore[arg-type]
    return fitted


@torch.no_grad()
def in_own_units(fitted: ElementNetworks, response: Response) -> ElementNetworks:
    """Networks that say what a blueprint's own would say, from fitted ones, which are changed.

    Args:
        fitted: Networks that say in the units of the response.
        response: What they were fitted to.
    """
    for last in (fitted.weights[-1], fitted.biases[-1]):
        last.mul_(response.unit.unsqueeze(1))
    return fitted


def error_of(networks: ElementNetworks, response: Response) -> Tensor:
    """Mean squared error of what networks say, as a share of what they would have to say, shape ()."""
    return (response.needed - networks(response.features)).square().mean()


# -- inside ----------------------------------------------------------------------------------------------------------


def _path(networks: BlueprintNetworks, response: Response, cfg: LassoCfg, ridge: float) -> list[PathPoint]:
    """What is left at rising prices, each fit going on from the one before."""
    fitted, found = _new(networks, cfg.seed), []
    steps = _ProximalAdam(networks, fitted, cfg)
    for place, kappa in enumerate(cfg.kappas):
        count = cfg.iterations * (1 if place else 3)
        for number in range(count):
            fitted.zero_grad()
            (error_of(fitted, response) + ridge * _squares(fitted)).backward()
            steps.step(kappa, 1.0 - 0.9 * number / count)
        left = _groups_left(networks, fitted)
        with torch.no_grad():
            found.append(PathPoint(ridge, kappa, left, float(error_of(fitted, response))))
    return found


class _ProximalAdam:
    """Adam (Kingma and Ba 2015) whose unit of steps is one for each group, so that the proximal step is exact in it."""

    def __init__(self, networks: BlueprintNetworks, fitted: ElementNetworks, cfg: LassoCfg):
        """Starts from rest.

        Args:
            networks: Networks of the blueprint, which know the groups.
            fitted: Networks that are fitted, in place.
            cfg: Settings.
        """
        self._cfg, self._count = cfg, 0
        self._groups = [each.columns for each in networks.input_groups()]
        self._fitted = fitted
        self._mean = [torch.zeros_like(each) for each in fitted.parameters()]
        self._square = [torch.zeros_like(each) for each in fitted.parameters()]

    @torch.no_grad()
    def step(self, kappa: float, share: float) -> None:
        """Moves the weights.

        Args:
            kappa: Price of groups.
            share: Share of the step in the settings.
        """
        self._count += 1
        rate, units = share * self._cfg.learning_rate, {}
        for place, parameter in enumerate(self._fitted.parameters()):
            assert parameter.grad is not None
            self._mean[place].lerp_(parameter.grad, 0.1)
            self._square[place].lerp_(self._grouped(parameter, parameter.grad.square()), 0.01)
            size = (self._square[place] / (1.0 - 0.99**self._count)).sqrt() + 1.0e-8
            units[parameter] = rate / size
            parameter.sub_(units[parameter] * self._mean[place] / (1.0 - 0.9**self._count))
        self._shrink(kappa, units)

    def _grouped(self, parameter: Tensor, squares: Tensor) -> Tensor:
        """Squares of slopes, the same in all of a group."""
        first, last, bias = self._fitted.weights[0], self._fitted.weights[-1], self._fitted.biases[-1]
        if parameter is first:
            parts = [squares[:, columns] for columns in self._groups]
            return torch.cat([part.mean((1, 2), keepdim=True).expand_as(part) for part in parts], dim=1)
        return (
            squares.mean((1, 2), keepdim=True).expand_as(squares) if parameter is last or parameter is bias else squares
        )

    def _shrink(self, kappa: float, units: dict[Tensor, Tensor]) -> None:
        """The proximal step of the price of groups."""
        within, first, last = self._cfg.within, self._fitted.weights[0], self._fitted.weights[-1]
        for columns in self._groups:
            price = kappa * units[first][:, columns][:, :1, :1]
            first[:, columns] = _proximal(first[:, columns], price, within)
        price = kappa * units[last][:, :1, :1]
        last.copy_(_proximal(last, price, within))


def _proximal(group: Tensor, price: Tensor, within: float) -> Tensor:
    """Weights of groups, one for each network, after the proximal step of a price: smaller, or exactly zero."""
    soft = group.sign() * (group.abs() - price * within).clamp(min=0.0)
    norm = soft.square().sum((1, 2), keepdim=True).sqrt()
    price = price * (1.0 - within) * math.sqrt(group[0].numel())
    return soft * (1.0 - price / norm.clamp(min=1.0e-30)).clamp(min=0.0)


def _groups_left(networks: BlueprintNetworks, fitted: ElementNetworks) -> frozenset[Group]:
    """Groups of inputs that reach an output."""
    alive = fitted.weights[-1].detach().abs().sum((1, 2)) > 0.0
    return frozenset(
        (element, each.label)
        for row, element in enumerate(networks.elements)
        for each in networks.input_groups()
        if bool(alive[row]) and bool(fitted.weights[0][row, each.columns].detach().any())
    )


def _judged(
    networks: BlueprintNetworks, response: Response, cfg: LassoCfg, groups: frozenset[Group], folds: tuple[Tensor, ...]
) -> Candidate:
    """A set of groups on held-out folds."""
    errors = []
    for held in range(len(folds)):
        learned = torch.cat([each for number, each in enumerate(folds) if number != held])
        fitted = refit(networks, response.pick(learned), cfg, groups)
        with torch.no_grad():
            errors.append(float(error_of(fitted, response.pick(folds[held]))))
    values = torch.tensor(errors, dtype=torch.float64)
    return Candidate(groups, float(values.mean()), float(values.std() / math.sqrt(len(values))))


def _new(networks: BlueprintNetworks, seed: int) -> ElementNetworks:
    """Networks of the same shape, with weights of a seed in all layers."""
    fitted = copy.deepcopy(networks.networks)
    random = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weight in fitted.weights:
            weight.copy_(torch.randn(weight.shape, generator=random, dtype=torch.float64) / math.sqrt(weight.shape[1]))
        for bias in fitted.biases:
            bias.zero_()
    return fitted


def _squares(fitted: ElementNetworks) -> Tensor:
    """Sum of the squares of the weights that belong to no group of inputs."""
    return torch.stack([each.square().sum() for each in fitted.weights[1:]]).sum()


def _masks(networks: BlueprintNetworks, groups: frozenset[Group], like: Tensor) -> tuple[Tensor, Tensor]:
    """Ones for what some groups see and for the networks that see anything, shapes (E, F, 1) and (E, 1, 1)."""
    inputs = like.new_zeros(len(networks.elements), like.shape[-1], 1)
    for row, element in enumerate(networks.elements):
        for each in networks.input_groups():
            inputs[row, each.columns] = float((element, each.label) in groups)
    return inputs, inputs.amax((1, 2), keepdim=True)


def _masked(fitted: ElementNetworks, inputs: Tensor, outputs: Tensor) -> list[tuple[Tensor, Tensor]]:
    """The tensors of networks that belong to groups, with their masks."""
    return [(fitted.weights[0], inputs), (fitted.weights[-1], outputs), (fitted.biases[-1], outputs)]


@torch.no_grad()
def _mask(fitted: ElementNetworks, inputs: Tensor, outputs: Tensor) -> None:
    """Sets what belongs to no chosen group to zero, in place."""
    for parameter, mask in _masked(fitted, inputs, outputs):
        parameter.mul_(mask)


__all__ = [
    "Candidate",
    "Discovery",
    "Group",
    "LassoCfg",
    "PathPoint",
    "Response",
    "discover",
    "error_of",
    "in_own_units",
    "refit",
    "response_of",
]
