# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Tests of the stepper and the roll-out: resets to the last bit, guards that hold, gradients that are right."""

import logging

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode

from nerd_core.contact.grounds import PlaneGround
from nerd_core.dynamics import NeuralDynamics, rollout
from nerd_core.network.architectures.mlp import MlpCfg
from nerd_core.network.architectures.recurrent import RecurrentCfg
from nerd_core.network.architectures.transformer import TransformerCfg
from nerd_core.network.config import NetworkCfg
from nerd_core.predictor.config import PredictorCfg
from nerd_core.predictor.predictor import Predictor
from nerd_core.robot.guard import StateGuard
from nerd_core.robot.spec import RobotSpec
from support.robots import ant, cartpole, random_state

SMALL = TransformerCfg(width=16, layers=2, heads=2, window=4)
CFGS: dict[str, NetworkCfg] = {
    "rotary": SMALL,
    "absolute": TransformerCfg(width=16, layers=2, heads=2, window=4, rotary=False),
    "mlp": MlpCfg(hidden=(16,), window=2),
    "gru": RecurrentCfg(hidden=8),
}
ALL = pytest.mark.parametrize("name", list(CFGS))
N = 5


def make(spec: RobotSpec, name: str = "rotary", **cfg) -> Predictor:
    """A predictor with fresh weights whose changes of state are small, so that nothing is held."""
    torch.manual_seed(0)
    predictor = Predictor(spec, PredictorCfg(network=CFGS[name], **cfg))
    predictor.change_normaliser.std.fill_(0.02)
    return predictor


def start(spec: RobotSpec, count: int = N, seed: int = 1) -> Tensor:
    """States near the ground, inside the guard."""
    state = random_state(spec, count, seed=seed, spread=0.2)
    middle = [0.5 * (max(joint.lower, -1.0) + min(joint.upper, 1.0)) for joint in spec.joints]
    state[:, spec.state.joint_pos] += torch.tensor(middle)
    return state


def run(
    predictor: Predictor, begin: Tensor, controls: Tensor, resets: dict[int, tuple[Tensor, Tensor]] | None = None
) -> Tensor:
    """States (T + 1, N, S) of stepping, where some environments are reset and put to new states before some steps."""
    dynamics = NeuralDynamics(predictor, begin.shape[0], ground=PlaneGround.flat())
    states = [begin]
    for t, control in enumerate(controls):
        state = states[-1].clone()
        if resets and t in resets:
            envs, new = resets[t]
            dynamics.reset(envs)
            state[envs] = new[envs]
            states[-1] = state
        states.append(dynamics.step(state, control))
    assert dynamics.report().held_total == 0
    return torch.stack(states)


@ALL
@pytest.mark.parametrize("spec", [ant(), cartpole()], ids=lambda spec: spec.name)
def test_the_reset_test(name: str, spec: RobotSpec):
    """Reset environment i at step k: it equals a fresh run to the last bit, all others a run without that reset."""
    predictor, begin, new = make(spec, name), start(spec), start(spec, seed=2)
    controls = torch.randn(24, N, spec.control_dim)
    for env, k in ((2, 1), (0, 3), (4, 11)):
        mixed = run(predictor, begin, controls, {k: (torch.tensor([env]), new)})
        fresh = run(predictor, new, controls[k:])
        assert torch.equal(mixed[k:, env], fresh[:, env])
        others = [i for i in range(N) if i != env]
        assert torch.equal(mixed[:, others], run(predictor, begin, controls)[:, others])


@settings(max_examples=12, deadline=None)
@given(plan=st.dictionaries(st.integers(0, 17), st.sets(st.integers(0, N - 1), min_size=1), max_size=5))
def test_resets_are_exact_under_any_schedule(plan: dict[int, set[int]]):
    """Under any schedule of resets every stretch between two of them equals a fresh run to the last bit."""
    spec = ant()
    predictor, begin = make(spec), start(spec)
    controls = torch.randn(18, N, spec.control_dim, generator=torch.Generator().manual_seed(0))
    news = {k: start(spec, seed=10 + k) for k in plan}
    mixed = run(predictor, begin, controls, {k: (torch.tensor(sorted(envs)), news[k]) for k, envs in plan.items()})
    plain = run(predictor, begin, controls)
    fresh = {k: run(predictor, new, controls[k:]) for k, new in news.items()}
    for env in range(N):
        starts = sorted({0, *(k for k, envs in plan.items() if env in envs)})
        for first, end in zip(starts, [*starts[1:], 18], strict=True):
            expected = fresh[first] if env in plan.get(first, ()) else plain
            assert torch.equal(mixed[first + 1 : end, env], expected[1 : end - first, env])
            assert torch.equal(mixed[first, env], expected[0, env])


def test_history_matters():
    """The reset test could not fail if the model ignored its past: with a past the prediction is another."""
    spec = cartpole()
    predictor, begin = make(spec), start(spec)
    controls = torch.randn(6, N, spec.control_dim)
    warm = run(predictor, begin, controls)
    cold = NeuralDynamics(predictor, N).step(warm[5], controls[5])
    assert not torch.equal(warm[6], cold)


@ALL
def test_rollout_is_what_stepping_gives(name: str):
    """The functional roll-out and the stateful stepper give the same trajectory to 1e-5."""
    spec = ant()
    predictor, begin = make(spec, name), start(spec)
    controls = torch.randn(20, N, spec.control_dim)
    states = rollout(predictor, begin, controls.transpose(0, 1), PlaneGround.flat())
    torch.testing.assert_close(states.transpose(0, 1), run(predictor, begin, controls), rtol=0, atol=1e-5)


def test_rollout_goes_on_from_a_history():
    """A roll-out that is given what came before continues it as if it had been one."""
    spec = ant()
    predictor, begin, ground = make(spec), start(spec), PlaneGround.flat()
    controls = torch.randn(N, 12, spec.control_dim)
    whole = rollout(predictor, begin, controls, ground)
    past = whole[:, :7]
    _, history = predictor.prefill(past, controls[:, :7], predictor.contacts(past, ground))
    rest = rollout(predictor, whole[:, 7], controls[:, 7:], ground, history)
    torch.testing.assert_close(rest, whole[:, 7:], rtol=0, atol=1e-5)


@pytest.mark.parametrize("spec", [ant(), cartpole()], ids=lambda spec: spec.name)
def test_rollout_gradients_match_finite_differences(spec: RobotSpec):
    """Gradients of a roll-out longer than the window, with contacts, to state, controls and weights, by differences."""
    predictor = make(spec).double()
    ground = PlaneGround.flat().double()
    state = start(spec, 1).double().requires_grad_()
    controls = torch.randn(1, 6, spec.control_dim, dtype=torch.float64, requires_grad=True)
    weight = predictor.network.embed.weight.detach().clone().requires_grad_()  # type: ignore[union-attr]

    def function(state: Tensor, controls: Tensor, weight: Tensor) -> Tensor:
        unit = state.clone()
        if spec.floating_base:  # differences leave the unit sphere, on which alone states live
            at = spec.state.root_quat
            unit[:, at] = torch.nn.functional.normalize(state[:, at], dim=-1)
        replaced = {"predictor.network.embed.weight": weight}
        call = Call(predictor, ground)
        return torch.func.functional_call(call, replaced, (unit, controls))

    assert torch.autograd.gradcheck(function, (state, controls, weight), atol=1e-6, fast_mode=True)


class Call(torch.nn.Module):
    """A roll-out as a module, so that its weights can be replaced."""

    def __init__(self, predictor: Predictor, ground: PlaneGround):
        super().__init__()
        self.predictor = predictor
        self.ground = ground

    def forward(self, state: Tensor, controls: Tensor) -> Tensor:
        return rollout(self.predictor, state, controls, self.ground)


@pytest.mark.parametrize("bad", [torch.nan, torch.inf, -torch.inf, 1e30])
def test_bad_states_are_held_at_the_last_good_one(bad: float):
    """A state that is not finite or absurd is answered with the last good state, flagged and counted; the others go on
    as if nothing had happened, and the environment itself goes on like a fresh one when it is sane again.
    """
    spec = ant()
    predictor, begin = make(spec), start(spec)
    controls = torch.randn(12, N, spec.control_dim)
    clean = run(predictor, begin, controls)
    dynamics = NeuralDynamics(predictor, N, ground=PlaneGround.flat())
    state = begin
    for t in range(6):
        state = dynamics.step(state, controls[t])
    spoilt = state.clone()
    spoilt[3, 8] = bad
    after = dynamics.step(spoilt, controls[6])
    others = [0, 1, 2, 4]
    assert torch.equal(after[3], clean[6, 3])
    assert torch.equal(after[others], clean[7, others])
    assert dynamics.held.tolist() == [False, False, False, True, False]
    report = dynamics.report()
    assert (report.held_now, report.held_total, report.envs) == (1, 1, (3,))
    assert "1 steps in 1 environments (3)" in str(report)
    fresh = run(predictor, after, controls[7:])
    state = after
    for t in range(7, 12):
        state = dynamics.step(state, controls[t])
        assert torch.equal(state[3], fresh[t - 6, 3])
        assert torch.equal(state[others], clean[t + 1, others])
    assert not dynamics.held.any() and dynamics.report().held_total == 1


@ALL
def test_bad_controls_are_held_and_leave_no_trace(name: str):
    """A control that is not a number holds the environment where it is, and spoils none of its later steps."""
    spec = cartpole()
    predictor, begin = make(spec, name), start(spec)
    dynamics = NeuralDynamics(predictor, N)
    controls = torch.zeros(N, spec.control_dim)
    controls[1] = torch.nan
    after = dynamics.step(begin, controls)
    assert torch.equal(after[1], begin[1])
    assert dynamics.held.tolist() == [False, True, False, False, False]
    again = dynamics.step(after, torch.zeros_like(controls))
    assert not dynamics.held.any()
    assert torch.equal(again[1], NeuralDynamics(predictor, N).step(after, torch.zeros_like(controls))[1])


@ALL
def test_nan_weights_never_reach_the_caller(name: str):
    """With weights that are not numbers every state is held; with sound weights again, the motion goes on at once."""
    spec = ant()
    predictor, begin = make(spec, name), start(spec)
    sound = {key: value.clone() for key, value in predictor.state_dict().items()}
    dynamics = NeuralDynamics(predictor, N, ground=PlaneGround.flat())
    control = torch.zeros(N, spec.control_dim)
    state = dynamics.step(begin, control)
    with torch.no_grad():
        for parameter in predictor.parameters():
            parameter.fill_(torch.nan)
    for _ in range(6):
        assert torch.equal(dynamics.step(state, control), state)
        assert dynamics.held.all()
    assert dynamics.report().held_total == 6 * N
    predictor.load_state_dict(sound)
    after = dynamics.step(state, control)
    assert not dynamics.held.any()
    assert torch.equal(after, NeuralDynamics(predictor, N, ground=PlaneGround.flat()).step(state, control))


def test_a_runaway_prediction_is_held_inside_the_guard():
    """A model that accelerates without end is stopped at the bounds of the specification, whatever the caller does."""
    spec = cartpole()
    predictor = make(spec)
    predictor.change_normaliser.mean.fill_(30.0)
    dynamics, guard = NeuralDynamics(predictor, N), StateGuard(spec)
    state = start(spec)
    for _ in range(20):
        state = dynamics.step(state, torch.zeros(N, spec.control_dim))
        assert guard(state).all()
    assert dynamics.held.all()


def test_a_first_state_that_is_bad_becomes_a_neutral_one():
    """With no good state to hold yet, a state at rest inside the limits goes out, and never a NaN."""
    spec = ant()
    dynamics = NeuralDynamics(make(spec), N, ground=PlaneGround.flat())
    after = dynamics.step(torch.full((N, spec.state.dim), torch.nan), torch.zeros(N, spec.control_dim))
    assert StateGuard(spec)(after).all() and dynamics.held.all()
    ankles = after[:, spec.state.joint_pos][:, 4:]
    assert torch.equal(ankles, torch.full_like(ankles, 0.5))


@ALL
def test_saved_histories_go_on_to_the_last_bit(name: str):
    """What was saved in the middle of a motion goes on elsewhere as it would have gone on here, resets included."""
    spec = ant()
    predictor, state = make(spec, name), start(spec)
    controls = torch.randn(20, N, spec.control_dim)
    one = NeuralDynamics(predictor, N, ground=PlaneGround.flat())
    for t in range(9):
        if t == 6:
            one.reset(torch.tensor([1]))
        state = one.step(state, controls[t])
    other = NeuralDynamics(predictor, 2, ground=PlaneGround.flat())
    other.load_state_dict(one.state_dict())
    assert other.num_envs == N
    copy = state.clone()
    for t in range(9, 20):
        state, copy = one.step(state, controls[t]), other.step(copy, controls[t])
        assert torch.equal(state, copy)


def test_a_saved_history_is_a_copy():
    """Steps after saving do not change what was saved."""
    spec = cartpole()
    dynamics = NeuralDynamics(make(spec), N)
    saved = dynamics.state_dict()
    before = {name: tensor.clone() for name, tensor in saved.items()}
    dynamics.step(start(spec), torch.randn(N, spec.control_dim))
    assert all(torch.equal(saved[name], before[name]) for name in saved)
    assert any(not torch.equal(tensor, before[name]) for name, tensor in dynamics.state_dict().items())


def test_foreign_histories_are_refused():
    """A history of another kind or shape of model is refused in words and changes nothing."""
    spec = cartpole()
    dynamics = NeuralDynamics(make(spec), N)
    with pytest.raises(ValueError, match="got the entries"):
        dynamics.load_state_dict(NeuralDynamics(make(spec, "gru"), N).state_dict())
    other = Predictor(spec, PredictorCfg(network=TransformerCfg(width=32, layers=2, heads=2, window=4)))
    with pytest.raises(ValueError, match="another model"):
        dynamics.load_state_dict(NeuralDynamics(other, N).state_dict())


@pytest.mark.parametrize("count", [2, N + 3])
def test_the_number_of_environments_may_change(count: int):
    """After a change of the number of environments those that stay go on, and new ones are like fresh ones."""
    spec = cartpole()
    predictor, state = make(spec), start(spec)
    dynamics, twin = NeuralDynamics(predictor, N), NeuralDynamics(predictor, N)
    for _ in range(6):
        control = torch.randn(N, spec.control_dim)
        twin.step(state, control)
        state = dynamics.step(state, control)
    dynamics.resize(count)
    assert dynamics.num_envs == count
    states, control = start(spec, 8, seed=3), torch.randn(8, spec.control_dim)
    got = dynamics.step(states[:count], control[:count])
    old = min(count, N)
    # Another batch size may round differently, as every matrix product may.
    torch.testing.assert_close(got[:old], twin.step(states[:N], control[:N])[:old], rtol=0, atol=1e-6)
    fresh = NeuralDynamics(predictor, count).step(states[:count], control[:count])
    torch.testing.assert_close(got[old:], fresh[old:], rtol=0, atol=1e-6)
    assert not torch.allclose(got[:old], fresh[:old], rtol=0, atol=1e-6)


def test_own_contacts_and_given_ones_are_the_same():
    """Contacts that the caller computes give the same step as those the stepper computes from its ground."""
    spec = ant()
    predictor, state = make(spec), start(spec)
    ground, control = PlaneGround.flat(0.1), torch.randn(N, spec.control_dim)
    contacts = predictor.contacts(state, ground)
    assert contacts is not None and contacts.active.any()
    own = NeuralDynamics(predictor, N, ground=ground).step(state, control)
    given_ = NeuralDynamics(predictor, N).step(state, control, contacts)
    assert torch.equal(own, given_)
    assert not torch.equal(own, NeuralDynamics(predictor, N, ground=PlaneGround.flat(-0.1)).step(state, control))
    with pytest.raises(ValueError, match="neither contacts nor a ground"):
        NeuralDynamics(predictor, N).step(state, control)


def test_forces_and_uncertainty_of_the_last_step_are_at_hand():
    """After a step the whole prediction can be read, for contact sensors and for termination terms."""
    spec = ant()
    predictor = make(spec, ensemble=2, force_head=True)
    dynamics = NeuralDynamics(predictor, N, ground=PlaneGround.flat())
    assert dynamics.prediction is None
    dynamics.step(start(spec), torch.zeros(N, spec.control_dim))
    assert dynamics.prediction is not None and dynamics.prediction.force is not None
    assert dynamics.prediction.force.shape == (N, len(spec.bodies), 3)
    assert dynamics.prediction.spread is not None and (dynamics.prediction.spread > 0).any()


@ALL
def test_a_step_never_looks_at_a_number(name: str):
    """The whole step, guard and contacts included, runs on tensors without values: nothing waits for the device."""
    spec = ant()
    with FakeTensorMode(allow_non_fake_inputs=True):
        predictor = Predictor(spec, PredictorCfg(network=CFGS[name], ensemble=2, force_head=True, variance_head=True))
        dynamics = NeuralDynamics(predictor, N, ground=PlaneGround.flat())
        for _ in range(2):
            state = dynamics.step(torch.randn(N, spec.state.dim), torch.randn(N, spec.control_dim))
            dynamics.reset(torch.zeros(N, dtype=torch.bool))
        assert state.shape == (N, spec.state.dim)


def test_without_a_compiler_the_step_runs_uncompiled(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture):
    """Where compiling fails, one warning is given and the numbers are those of the uncompiled step."""

    def broken(function, **_):
        def fail(*args):
            raise RuntimeError("no compiler found\nand a long story")

        return fail

    monkeypatch.setattr(torch, "compile", broken)
    spec = cartpole()
    predictor, state = make(spec), start(spec)
    control = torch.randn(N, spec.control_dim)
    dynamics = NeuralDynamics(predictor, N, compile=True)
    with caplog.at_level(logging.WARNING):
        after = dynamics.step(state, control)
        dynamics.step(after, control)
    assert [record.getMessage() for record in caplog.records] == [
        "the step runs uncompiled, because compiling failed: no compiler found"
    ]
    assert torch.equal(after, NeuralDynamics(predictor, N).step(state, control))


@pytest.mark.slow
def test_the_compiled_step_gives_the_same_numbers():
    """Compiled and uncompiled steps agree to 1e-5 over many windows, with a reset between."""
    spec = ant()
    predictor, state = make(spec), start(spec)
    plain = NeuralDynamics(predictor, N, ground=PlaneGround.flat())
    compiled = NeuralDynamics(predictor, N, ground=PlaneGround.flat(), compile=True)
    copy = state
    for t in range(30):
        if t == 13:
            for dynamics in (plain, compiled):
                dynamics.reset(torch.tensor([2]))
        control = torch.randn(N, spec.control_dim)
        state, copy = plain.step(state, control), compiled.step(copy, control)
        torch.testing.assert_close(state, copy, rtol=0, atol=1e-5)
    assert compiled._compiled is not None


def test_wrong_shapes_are_named():
    """States of another number of environments or another robot are refused with what was expected."""
    spec = cartpole()
    dynamics = NeuralDynamics(make(spec), N)
    with pytest.raises(ValueError, match=r"expected \(5, 4\) and \(5, 2\)"):
        dynamics.step(torch.zeros(N - 1, 4), torch.zeros(N - 1, 2))
    with pytest.raises(ValueError, match="at least 1"):
        dynamics.resize(0)


def test_noise_is_a_share_of_what_a_step_changes_and_its_absence_leaves_no_trace():
    """With noise the changes of many equal environments scatter by that share of the data's, about the prediction;
    without it they are the same to the last bit; what is not a size is refused.
    """
    spec = cartpole()
    predictor, begin = make(spec), start(spec, 1).expand(4000, -1)
    control = torch.zeros(4000, spec.control_dim)
    plain = NeuralDynamics(predictor, 4000).step(begin, control)
    assert torch.equal(plain, plain[:1].expand_as(plain))
    torch.manual_seed(5)
    noisy = NeuralDynamics(predictor, 4000, noise=0.1).step(begin, control)
    velocity = (noisy - plain)[:, spec.state.joint_vel]
    torch.testing.assert_close(velocity.std(0), torch.full((2,), 0.1 * 0.02), rtol=0.05, atol=0)
    assert velocity.mean(0).abs().max().item() < 0.1 * 0.02 * 0.1
    for wrong in (-0.1, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="expected a finite number >= 0"):
            NeuralDynamics(predictor, 1, noise=wrong)
