# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Discovery by sparse group lasso: groups that are not worth it are zero, and what is there is found."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from nerd_core.identification import discovery
from nerd_core.identification.discovery import (
    LassoCfg,
    Response,
    discover,
    error_of,
    in_own_units,
    refit,
    response_of,
)
from nerd_core.identification.parameterisation import IdentificationError
from nerd_core.mechanics.augmentation.augmented_step import AugmentedMechanics
from nerd_core.mechanics.augmentation.blueprints import Blueprint
from nerd_core.mechanics.config import MechanicsCfg
from nerd_core.robot.frames import ChangeCodec
from support.identified_arm import arm

QUICK = LassoCfg(kappas=(0.003, 0.03), ridges=(3.0e-3,), iterations=150, folds=3, refit_iterations=40)
SEES_ALL = "joint_torque<-joint_pos[*],joint_vel[*]; sharing=separate; hidden=6"


def candidates(text: str = SEES_ALL) -> AugmentedMechanics:
    """An arm without friction whose motion a network may correct."""
    spec = arm(friction=0.0, viscous=0.0)
    torch.manual_seed(0)
    return AugmentedMechanics(
        spec, ChangeCodec(spec), MechanicsCfg(substeps=1, hidden=0, blueprints=(Blueprint.parse(text),))
    ).double()


def steps(damping: Tensor, count: int = 200) -> tuple[Tensor, Tensor, Tensor]:
    """States, efforts and next states of an arm whose joints are braked by their speed."""
    mechanics = candidates()
    random = torch.Generator().manual_seed(2)
    state = torch.randn(count, 4, generator=random, dtype=torch.float64)
    control = 0.1 * torch.randn(count, 2, generator=random, dtype=torch.float64)
    change = mechanics(state, control - damping * state[:, 2:])
    return state, control, mechanics.codec.apply(state, change).detach()


def test_what_is_needed_is_the_torque_that_is_missing():
    """Networks would have to say exactly the torque that mechanics do not know, whatever the masses."""
    damping = torch.tensor([0.02, 0.01], dtype=torch.float64)
    mechanics, measured = candidates(), steps(damping)
    networks = mechanics.augmentation.networks_of()[0]
    response = response_of(mechanics, networks, *measured)
    torque = (response.needed * response.unit * networks.unit).squeeze(-1)
    torch.testing.assert_close(torque, -damping * measured[0][:, 2:], rtol=1e-6, atol=1e-9)
    torch.testing.assert_close(response.needed.square().mean(0), torch.ones(2, 1, dtype=torch.float64))
    assert not bool(networks.networks.biases[-1].any())  # the networks are as they were


def test_damping_is_discovered_and_nothing_else():
    """Of four inputs of each of two networks, the velocity of its own joint alone survives, and a joint without damping
    gets no torque; the networks say the damping within five percent.
    """
    damping = torch.tensor([0.02, 0.0], dtype=torch.float64)
    mechanics, measured = candidates(), steps(damping)
    networks = mechanics.augmentation.networks_of()[0]
    response = response_of(mechanics, networks, *measured)
    found = discover(networks, response, QUICK)
    assert found.groups == {("shoulder", "joint_vel[shoulder]")}
    assert found.path[-1].groups <= found.path[0].groups
    assert "* " in found.table() and "joint_vel[shoulder] -> shoulder" in found.table()
    vel = measured[0][:, 2:]
    said = (found.networks(response.features) * networks.unit).squeeze(-1).detach()
    slope = float(-(said[:, 0] * vel[:, 0]).sum() / vel[:, 0].square().sum())
    assert slope == pytest.approx(0.02, rel=0.05)
    assert not bool(said[:, 1].any())


def test_proximal_steps_make_exact_zeros():
    """A group below its price is zero, one above keeps its direction and loses the price, single weights included."""
    group = torch.tensor([[[3.0], [4.0]], [[0.3], [0.4]]])
    price = torch.full((2, 1, 1), 0.5001 / 2.0**0.5)
    found = discovery._proximal(group, price, within=0.0)
    torch.testing.assert_close(found[0], group[0] * (1.0 - 0.5001 / 5.0))
    assert not bool(found[1].any())
    single = discovery._proximal(group, torch.full((2, 1, 1), 0.35), within=1.0)
    torch.testing.assert_close(single.flatten(), torch.tensor([2.65, 3.65, 0.0, 0.05]))


def test_a_fit_of_some_groups_sees_no_others():
    """Networks that are fitted to some groups answer nothing else, and are better than none."""
    mechanics, measured = candidates(), steps(torch.tensor([0.02, 0.01], dtype=torch.float64))
    networks = mechanics.augmentation.networks_of()[0]
    response = response_of(mechanics, networks, *measured)
    chosen = frozenset({("elbow", "joint_vel[elbow]")})
    fitted = refit(networks, response, QUICK, chosen)
    assert 0.4 < float(error_of(fitted, response).detach()) < 0.51  # one of two outputs
    (own,) = (each.columns for each in networks.input_groups() if each.label == "joint_vel[elbow]")
    others = response.features.clone()
    others[..., [i for i in range(others.shape[-1]) if i != own.start]] += 1.0
    torch.testing.assert_close(fitted(others), fitted(response.features))
    before = fitted(response.features).detach()
    torch.testing.assert_close(in_own_units(fitted, response)(response.features), before * response.unit)


def test_held_out_folds_are_held_out(monkeypatch: pytest.MonkeyPatch):
    """Candidates are judged on steps that their networks were not fitted to."""
    mechanics, measured = candidates(), steps(torch.tensor([0.02, 0.01], dtype=torch.float64), 60)
    networks = mechanics.augmentation.networks_of()[0]
    response = response_of(mechanics, networks, *measured)
    seen: list[Response] = []
    monkeypatch.setattr(discovery, "refit", lambda n, r, c, g: seen.append(r) or refit(n, r, c, g))
    folds = torch.arange(60).tensor_split(3)
    candidate = discovery._judged(networks, response, QUICK, frozenset(), folds)
    assert [len(each.needed) for each in seen] == [40, 40, 40]
    for fold, each in zip(folds, seen, strict=True):
        assert not any(bool((each.features == response.features[i]).all((1, 2)).any()) for i in fold.tolist())
    assert candidate.error == pytest.approx(float(response.needed.square().mean()), rel=1e-9)


def test_what_cannot_be_searched_is_refused():
    """Shared networks, outputs that motion cannot tell apart, motion that mechanics explain, steps without end, and
    masses, in which a step is not linear, are refused by one message each.
    """
    measured = steps(torch.tensor([0.02, 0.01], dtype=torch.float64), 20)
    broken = measured[0].clone()
    broken[3, 2] = torch.nan
    exact = steps(torch.zeros(2, dtype=torch.float64), 20)
    for text, given, words in (
        ("joint_torque<-joint_vel", measured, "sharing=separate"),
        ("body_force<-body_lin_vel; sharing=separate", measured, "cannot tell apart"),
        (SEES_ALL, exact, "nothing to discover"),
        (SEES_ALL, (broken, *measured[1:]), "not finite"),
        ("armature<-joint_vel; sharing=separate", measured, "not linear"),
    ):
        mechanics = candidates(text)
        with pytest.raises(IdentificationError, match=words):
            response_of(mechanics, mechanics.augmentation.networks_of()[0], *given)
    with pytest.raises(IdentificationError, match="rising"):
        replace(QUICK, kappas=(0.1, 0.01))


def test_groups_that_the_path_keeps_are_taken_away(monkeypatch: pytest.MonkeyPatch):
    """Where the path leaves nothing between too much and nothing, groups are taken away one by one, and only those
    whose loss costs nothing.
    """
    mechanics, measured = candidates(), steps(torch.tensor([0.02, 0.01], dtype=torch.float64))
    networks = mechanics.augmentation.networks_of()[0]
    response = response_of(mechanics, networks, *measured)
    kept = {(joint, f"joint_vel[{joint}]") for joint in ("shoulder", "elbow")}
    more = frozenset(kept | {("elbow", "joint_pos[elbow]"), ("shoulder", "joint_vel[elbow]")})
    monkeypatch.setattr(discovery, "_path", lambda n, r, c, ridge: [discovery.PathPoint(ridge, 0.1, more, 0.0)])
    found = discover(networks, response, QUICK)
    assert found.groups == kept
    judged = {each.groups: each.error for each in found.candidates}
    assert judged[frozenset(kept)] < 1.0e-3 < 0.1 < min(judged[found.groups - {group}] for group in kept)
