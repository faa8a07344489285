# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The cost over roll-outs: zero at the truth, gradients as differences say, the same in pieces."""

from __future__ import annotations

from functools import partial

import pytest
import torch

from nerd_core.dynamics import rollout, segmented_rollout
from nerd_core.identification.cost import CostCfg, RolloutCost, Windows, joint_windows
from nerd_core.identification.parameterisation import IdentificationError, Parameterisation
from nerd_core.predictor.transmission_prior import TransmissionCfg
from nerd_core.robot.frames import ChangeCfg, ChangeCodec
from support.identified_arm import arm, heavier, model, motion

GROUPS = ["masses", "centres", "frictions"]


def cost_of(spec, windows, cfg=None, **more) -> RolloutCost:
    """A cost of mechanics of an arm."""
    return RolloutCost(model(spec), Parameterisation(spec, GROUPS), windows, cfg, **more)


def test_the_truth_costs_nothing():
    """Motion of a model costs that model nothing, and another one something."""
    windows = motion(model(arm()))
    assert cost_of(arm(), windows).value() < 1e-12
    assert cost_of(heavier(arm(), 1.3), windows).value() > 1e-4


def test_gradients_are_those_of_differences():
    """Gradients to parameters, first states and learned weights are those that differences give."""
    spec, windows = heavier(arm(), 1.2), motion(model(arm()), count=4, steps=8)
    predictor = model(spec, TransmissionCfg(hidden=0, substeps=1, torque_hidden=3))
    cost = RolloutCost(
        predictor, Parameterisation(spec, GROUPS), windows, learn_weights=True, first_state_noise=(0.01, 0.1)
    )
    cost.backward()
    assert cost.variables.first is not None
    by_name = dict(predictor.named_parameters())
    named = {"free": cost.variables.free, "first": cost.variables.first}
    named |= {name: by_name[f"prior.mechanics.transmission.{name}"] for name in ("gain", "load", "bias")}
    for name, leaf in named.items():
        entry = leaf.detach().view(-1)[:1]
        sides = []
        for step in (1e-6, -1e-6):
            entry += step
            sides.append(cost.value())
            entry -= step
        assert leaf.grad is not None
        assert leaf.grad.view(-1)[0].item() == pytest.approx((sides[0] - sides[1]) / 2e-6, rel=1e-3, abs=1e-9), name


def test_differences_are_the_derivatives():
    """The derivatives by differences give the gradient of the cost where all windows count alike."""
    spec, windows = heavier(arm(), 1.2), motion(model(arm()), count=3, steps=6)
    predictor = model(spec, TransmissionCfg(hidden=0, substeps=1))
    cfg = CostCfg(robust=1e9, prior=1e6)
    cost = RolloutCost(predictor, Parameterisation(spec, GROUPS), windows, cfg, learn_weights=True)
    cost.backward()
    gradients = torch.cat([each.grad.flatten() for each in cost.variables.leaves() if each.grad is not None])
    errors = cost.residuals().flatten(1)
    found = 2.0 * torch.einsum("nea,ne->a", cost.jacobian(), errors) / errors.numel()
    torch.testing.assert_close(found, gradients, rtol=1e-4, atol=1e-9)


def test_the_prior_is_what_its_slopes_say():
    """Free numbers and weights away from their start cost what the slopes of the prior say."""
    spec, windows = arm(), motion(model(arm()), count=2, steps=2)
    predictor = model(spec, TransmissionCfg(hidden=0, substeps=1))
    cfg = CostCfg(prior=2.0, weight_prior=0.1, observations=10.0)
    cost = RolloutCost(predictor, Parameterisation(spec, ["masses"]), windows, cfg, learn_weights=True)
    with torch.no_grad():
        for leaf in cost.variables.leaves():
            leaf += 0.3
    penalty = cost._penalty(torch.arange(2))
    assert penalty.item() == pytest.approx(
        0.5 / 10.0 * (2 * 0.15**2 + 9.0 * sum(each.numel() for each in cost.variables.weights)), rel=1e-9
    )
    penalty.backward()
    gradients = torch.cat([each.grad.flatten() for each in cost.variables.leaves() if each.grad is not None])
    torch.testing.assert_close(cost.prior_slopes()[0], gradients)


def test_pieces_make_no_difference():
    """Segments of steps and chunks of windows change neither cost nor gradient."""
    spec, windows = heavier(arm(), 1.2), motion(model(arm()), count=5, steps=9)
    results = []
    for cfg in (CostCfg(), CostCfg(segment=2, chunk=2)):
        cost = cost_of(spec, windows, cfg)
        results.append((cost.backward(), cost.variables.free.grad))
    assert results[0][0] == pytest.approx(results[1][0], rel=1e-12)
    torch.testing.assert_close(results[0][1], results[1][1])


def test_memory_is_that_of_a_segment():
    """Between segments only the states are kept: twice the steps hardly need more than the same memory."""
    spec = arm()

    def saved(steps: int) -> int:
        cost, count = cost_of(spec, motion(model(spec), count=2, steps=steps), CostCfg(segment=5)), 0

        def pack(tensor):
            nonlocal count
            count += 1
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            cost.cfg = CostCfg(segment=5)
            errors = cost._errors(torch.arange(2), None, grad=True)
        assert errors.requires_grad
        return count

    short, long = saved(10), saved(20)
    assert long - short < 60  # of some hundred tensors that a step alone would keep


def test_a_window_that_ran_away_counts_less():
    """An error of a hundred units costs less than a hundred times an error of ten."""
    cost = cost_of(arm(), motion(model(arm()), count=2, steps=3))
    errors = torch.stack((torch.full((3, 4), 1.0), torch.full((3, 4), 100.0))).double()
    small, large = cost._robust(errors).tolist()
    assert large < 20.0 * small


def test_nan_is_refused_with_the_run():
    """Measured numbers that are not finite are refused, with the name of the run."""
    windows = motion(model(arm()), count=3)
    state = windows.state.clone()
    state[1, 4, 2] = torch.nan
    with pytest.raises(IdentificationError, match=r"1 of 3 windows with numbers that are not finite.*'run 1'"):
        Windows(state, windows.control, windows.source)


def test_windows_out_of_runs():
    """Windows begin every stride, none reaches beyond its run, and the limit spreads over all."""
    run = torch.arange(12.0).view(12, 1)
    windows = joint_windows([("a", run, run[:11]), ("b", run[:3], run[:2])], steps=4, stride=3)
    assert windows.state[:, 0, 0].tolist() == [0.0, 3.0, 6.0]
    assert windows.state[:, -1, 0].tolist() == [4.0, 7.0, 10.0]
    assert len(joint_windows([("a", run, run[:11])], 2, 1, limit=3)) == 3
    with pytest.raises(IdentificationError, match="no run of at least 20 steps"):
        joint_windows([("a", run, run[:11])], 20, 1)


def test_single_precision_agrees_and_its_kernel_gives_the_gradients():
    """Cost, differences, and gradients to first states in single precision are those in double; the adjoint of the
    kernel gives them, those to masses too.
    """
    pytest.importorskip("warp", reason="needs Warp, which Isaac Lab brings")
    windows, found = motion(model(arm()), count=4, steps=8), {}
    for precision in ("double", "single"):
        cost = cost_of(heavier(arm(), 1.2), windows, CostCfg(precision=precision))
        plain = RolloutCost(
            model(heavier(arm(), 1.2)),
            Parameterisation(arm(), ()),
            windows,
            CostCfg(precision=precision),
            first_state_noise=(0.01, 0.1),
        )
        plain.backward()
        assert plain.variables.first is not None and plain.variables.first.grad is not None
        cost.backward()
        assert cost.variables.free.grad is not None
        found[precision] = cost.value(), cost.jacobian(), plain.variables.first.grad, cost.variables.free.grad
        for each in (plain, cost):
            assert any(each.predictor.prior.mechanics._gradients.values()) == (precision == "single")
    assert found["single"][0] == pytest.approx(found["double"][0], rel=1e-3)
    for ours, exact in zip(found["single"][1:], found["double"][1:], strict=True):
        assert float((ours - exact).norm() / exact.norm()) < 0.01


def test_what_is_measured_badly_counts_less():
    """Noise on one joint alone fills the cost before errors are weighted by what is left of them, and no more than its
    share behind; the size of all errors together stays, and so do numbers that are never wrong.
    """
    windows = motion(model(arm()), count=6, steps=8)
    at = arm().state
    noisy, random = windows.state.clone(), torch.Generator().manual_seed(3)
    noise = torch.randn(noisy.shape[:2], generator=random, dtype=noisy.dtype)
    noisy[..., at.joint_pos.start] += 1.0e-2 * noise
    noisy[..., at.joint_pos.start + 1] += 1.0e-4 * noise
    cost = cost_of(arm(), Windows(noisy, windows.control))
    before = cost.residuals().square().mean((0, 1))
    cost.reweigh()
    after = cost.residuals().square().mean((0, 1))
    assert float(before.max() / before.sum()) > 0.9
    torch.testing.assert_close(after, after.mean().expand_as(after))
    assert float(after.sum()) == pytest.approx(float(before.sum()), rel=1e-6)


def test_the_kernel_keeps_nothing_of_segments(monkeypatch: pytest.MonkeyPatch):
    """What the kernel's adjoint needs of a step is made when its gradient comes: a roll-out of twenty steps has memory
    for one or two of them, and the gradients are those of one segment without checkpoints.
    """
    pytest.importorskip("warp", reason="needs Warp, which Isaac Lab brings")
    from nerd_core.mechanics.kernel.adjoint.robot import RobotGradient

    made, new_trace = [], RobotGradient._new_trace

    def counted(self, count: int, remembers: bool):
        made.append(count)
        return new_trace(self, count, remembers)

    monkeypatch.setattr(RobotGradient, "_new_trace", counted)
    spec, windows = heavier(arm(), 1.2), motion(model(arm()), count=3, steps=20)
    predictor, codec = model(spec), ChangeCodec(spec, ChangeCfg(integration="none"))
    gradients = []
    for roll in (partial(segmented_rollout, segment=5), None):
        first = windows.state[:, 0].float().requires_grad_(True)
        made.clear()
        if roll is None:
            states = list(rollout(predictor, first, windows.control.float()).unbind(1))[1:]
        else:
            states = list(roll(predictor, first, windows.control.float()))
        codec.encode(windows.state[:, 1:].float(), torch.stack(states, 1)).square().sum().backward()
        gradients.append(first.grad)
        assert (made.count(3) <= 2) == (roll is not None)
    torch.testing.assert_close(gradients[0], gradients[1], rtol=1e-4, atol=1e-6)
