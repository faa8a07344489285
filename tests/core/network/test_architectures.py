# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Tests of the networks: faithful sizes, causality, and three ways of evaluation that agree."""

from collections.abc import Callable

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils.flop_counter import FlopCounterMode

from nerd_core.network.architectures.base import SequenceModel
from nerd_core.network.architectures.mlp import MlpCfg
from nerd_core.network.architectures.recurrent import RecurrentCfg
from nerd_core.network.architectures.residual import ResidualMlpCfg
from nerd_core.network.architectures.transformer import PRESETS, Transformer, TransformerCfg, transformer_cfg
from nerd_core.network.config import NetworkCfg

IN_DIM, OUT_DIMS, WINDOW, LAYERS = 5, (3, 2), 4, 2

CFGS: dict[str, NetworkCfg] = {
    "rotary": TransformerCfg(width=16, layers=LAYERS, heads=2, window=WINDOW),
    "absolute": TransformerCfg(width=16, layers=LAYERS, heads=2, window=WINDOW, rotary=False, block_size=8),
    "mlp": MlpCfg(hidden=(16,)),
    "mlp-window": MlpCfg(hidden=(16,), window=3),
    "residual": ResidualMlpCfg(width=8, hidden=16, window=3),
    "gru": RecurrentCfg(cell="gru", hidden=8),
    "lstm": RecurrentCfg(cell="lstm", hidden=8),
}
ALL = pytest.mark.parametrize("name", list(CFGS))
MEMBERS = pytest.mark.parametrize("members", [1, 3])


def make(name: str, members: int = 1, seed: int = 0) -> SequenceModel:
    """A small model whose outputs are of the order of one and depend on everything they may depend on."""
    torch.manual_seed(seed)
    model = CFGS[name].build(IN_DIM, OUT_DIMS, members)
    # The residual perceptron multiplies its features in every block, and needs no more.
    gain = 1.0 if name == "residual" else 3.0
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(gain * parameter + 0.1 * torch.randn_like(parameter))
    return model


def count(model: SequenceModel) -> int:
    """Number of learned numbers."""
    return sum(parameter.numel() for parameter in model.parameters())


def stepped(model: SequenceModel, x: Tensor, resets: dict[int, Tensor] | None = None) -> Tensor:
    """Outputs of cached stepping through tokens (B, T, in_dim), with resets before some steps."""
    cache = model.init_cache(x.shape[0])
    outputs = []
    for t in range(x.shape[1]):
        if resets and t in resets:
            model.reset(cache, resets[t])
        outputs.append(model.step(x[:, t], cache))
    return torch.stack(outputs, -2)


def test_parameter_counts_are_the_published_ones():
    """With absolute positions the sizes of the published models are met exactly; so is that of the published MLP."""
    assert count(transformer_cfg("paper-192", rotary=False, block_size=32).build(6, (4,))) == 2_713_668
    assert count(transformer_cfg("paper-384", rotary=False, block_size=32).build(150, (37,))) == 10_866_597
    assert count(MlpCfg().build(215, (29,))) == 284_957


def test_rotary_positions_cost_no_parameters():
    """By default positions are rotary, and the model has fewer numbers by exactly the table of positions."""
    assert PRESETS["paper-192"].rotary
    assert count(PRESETS["paper-192"].build(6, (4,))) == 2_713_668 - 32 * 192


def test_paper_presets_have_the_published_shape():
    """The two paper presets have 6 layers, 12 heads, a window of 10 and a head of 64."""
    for width in (192, 384):
        cfg = PRESETS[f"paper-{width}"]
        assert (cfg.width, cfg.layers, cfg.heads, cfg.window, cfg.head_hidden) == (width, 6, 12, 10, 64)


def test_initialisation_is_the_published_one():
    """Weights start with a deviation of 0.02, those that end a residual path with 0.02 / sqrt(2 layers)."""
    model = transformer_cfg("small", rotary=False).build(6, (4,))
    assert isinstance(model, Transformer) and model.position is not None
    for block in model.blocks:
        assert block.qkv.weight.std().item() == pytest.approx(0.02, rel=0.05)
        assert block.mlp_in.weight.std().item() == pytest.approx(0.02, rel=0.05)
        for end in (block.attn_out, block.mlp_out):
            assert end.weight.std().item() == pytest.approx(0.02 / (2 * 4) ** 0.5, rel=0.05)
        assert torch.equal(block.attn_norm.weight, torch.ones(128))
    assert model.position.std().item() == pytest.approx(0.02, rel=0.1)
    assert model.embed.bias is not None and not model.embed.bias.any()


def test_a_residual_perceptron_begins_with_the_mean_change():
    """Before it learns, its output is zero, whatever it sees: known motion is not disturbed."""
    model = ResidualMlpCfg(width=8, hidden=16).build(IN_DIM, OUT_DIMS)
    assert not model(torch.randn(2, 3, IN_DIM)).any()


@ALL
def test_outputs_do_not_depend_on_later_tokens(name: str):
    """Causality: other tokens from position 7 on leave the outputs before it unchanged, and change those after."""
    model, x = make(name), torch.randn(3, 12, IN_DIM)
    other = x.clone()
    other[:, 7:] = torch.randn(3, 5, IN_DIM)
    torch.testing.assert_close(model(x)[:, :7], model(other)[:, :7], rtol=0, atol=2e-6)
    assert not torch.allclose(model(x)[:, 7:], model(other)[:, 7:], atol=1e-2)


@ALL
@MEMBERS
def test_three_evaluations_agree_at_every_age(name: str, members: int):
    """Stepping with a cache, extending a past and the full forward give the same to 1e-5: first token, window not full,
    just full, and many windows later.
    """
    model, x = make(name, members), torch.randn(3, 9 * WINDOW, IN_DIM)
    full = model(x)
    assert full.shape == (*((members,) if members > 1 else ()), 3, 9 * WINDOW, sum(OUT_DIMS))
    scale = full.abs().max().clamp(min=1.0)
    torch.testing.assert_close(stepped(model, x) / scale, full / scale, rtol=0, atol=1e-5)
    past, outputs = None, []
    for token in x.unbind(1):
        y, past = model.extend(token, past)
        outputs.append(y)
    torch.testing.assert_close(torch.stack(outputs, -2) / scale, full / scale, rtol=0, atol=1e-5)


@ALL
@pytest.mark.parametrize("length", [1, WINDOW - 1, WINDOW, 3 * WINDOW])
def test_extend_goes_on_from_prefill(name: str, length: int):
    """A sequence whose beginning was evaluated at once is continued as if it had been one."""
    model, x = make(name), torch.randn(2, 4 * WINDOW, IN_DIM)
    full = model(x)
    y, past = model.prefill(x[:, :length])
    torch.testing.assert_close(y, full[:, :length], rtol=0, atol=1e-5)
    for t in range(length, x.shape[1]):
        y, past = model.extend(x[:, t], past)
        torch.testing.assert_close(y, full[:, t], rtol=0, atol=1e-5)


def test_cached_step_stays_exact_for_thousands_of_steps():
    """After 2500 steps a cached step still equals the full banded forward over all 2500 tokens to 1e-5."""
    model = TransformerCfg(width=16, layers=LAYERS, heads=2, window=10).build(IN_DIM, OUT_DIMS)
    x = torch.randn(1, 2500, IN_DIM)
    with torch.no_grad():
        torch.testing.assert_close(stepped(model, x), model(x), rtol=0, atol=1e-5)


def test_positions_in_the_hundreds_of_millions_lose_nothing():
    """An environment that has run for years of simulated time is predicted like a young one, to 1e-5."""
    model, x = make("rotary"), torch.randn(2, 40, IN_DIM)
    old = model.init_cache(2)
    old["age"] += 100_000_000 * WINDOW
    outputs = torch.stack([model.step(token, old) for token in x.unbind(1)], 1)
    first = LAYERS * (WINDOW - 1) + 1  # by then the empty slots that the old cache began with are forgotten
    torch.testing.assert_close(outputs[:, first:], stepped(model, x)[:, first:], rtol=0, atol=1e-5)


def test_memory_ends_after_the_windows_of_all_layers():
    """A token influences the outputs of the next ``layers * (window - 1)`` positions and none after."""
    model, x = make("rotary"), torch.randn(1, 20, IN_DIM, requires_grad=True)
    reach = LAYERS * (WINDOW - 1)
    for t in (reach, 19):
        (gradient,) = torch.autograd.grad(model(x)[0, t].sum(), x)
        seen = gradient[0].abs().sum(-1) > 0
        assert seen.tolist() == [t - reach <= i <= t for i in range(20)]


def test_absolute_positions_recompute_each_window():
    """With learned positions each output equals that of its own last tokens alone, counted from position zero."""
    model, x = make("absolute"), torch.randn(2, 11, IN_DIM)
    full = model(x)
    for t in range(11):
        alone = model(x[:, max(0, t - WINDOW + 1) : t + 1])[:, -1]
        torch.testing.assert_close(full[:, t], alone, rtol=0, atol=1e-5)


@ALL
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_reset_is_exact_under_any_schedule(name: str, data: st.DataObject):
    """Whenever which environments are reset, by index or by mask: each is like one that begins there, to the last bit,
    and those that are not reset are like in a run without resets.
    """
    batch, steps = 4, 14
    model, x = make(name), torch.randn(batch, steps, IN_DIM)
    envs = st.sets(st.integers(0, batch - 1), max_size=batch)
    plan = data.draw(st.dictionaries(st.integers(0, steps - 1), envs, max_size=4))
    resets = {}
    for t, chosen in plan.items():
        index = torch.tensor(sorted(chosen), dtype=torch.int64)
        mask = torch.zeros(batch, dtype=torch.bool)
        mask[index] = True
        resets[t] = mask if data.draw(st.booleans()) else index
    mixed, whole = stepped(model, x, resets), stepped(model, x)
    for env in range(batch):
        begins = [0, *sorted(t for t, chosen in plan.items() if env in chosen), steps]
        for begin, end in zip(begins, begins[1:], strict=False):
            fresh = whole if begin == 0 else stepped(model, x[:, begin:])
            assert torch.equal(mixed[env, begin:end], fresh[env, : end - begin])


@ALL
def test_nan_of_one_environment_stays_there_and_a_reset_heals_it(name: str):
    """A token that is not a number spoils no other environment, and nothing of it is left after a reset."""
    model, x = make(name), torch.randn(3, 12, IN_DIM)
    bad = x.clone()
    bad[1, 5] = torch.nan
    bad[1, 6] = torch.inf
    spoilt, clean = stepped(model, bad, {7: torch.tensor([1])}), stepped(model, x, {7: torch.tensor([1])})
    assert spoilt[1, 5].isnan().all()
    assert torch.equal(spoilt[[0, 2]], clean[[0, 2]])
    assert torch.equal(spoilt[1, 7:], clean[1, 7:])


@ALL
def test_ensemble_is_its_members(name: str):
    """Every member of an ensemble gives what a plain model with its weights gives, in all three evaluations."""
    ensemble, x = make(name, members=3), torch.randn(2, 7, IN_DIM)
    for member in range(3):
        single = make(name)
        single.load_state_dict({key: value[member] for key, value in ensemble.state_dict().items()})
        torch.testing.assert_close(ensemble(x)[member], single(x), rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(stepped(ensemble, x)[member], stepped(single, x), rtol=1e-5, atol=1e-5)


def test_members_may_see_different_tokens():
    """Tokens with a leading dimension of members reach each member apart, as bootstrapped training needs."""
    model, x = make("rotary", members=3), torch.randn(3, 2, 6, IN_DIM)
    for member in range(3):
        torch.testing.assert_close(model(x)[member], model(x[member])[member], rtol=1e-5, atol=1e-5)


def test_members_start_apart():
    """Fresh members differ, or an ensemble would know nothing that one network does not."""
    model = CFGS["rotary"].build(IN_DIM, OUT_DIMS, members=2)
    y = model(torch.randn(2, 3, IN_DIM))
    assert not torch.allclose(y[0], y[1], atol=1e-3)


@pytest.mark.parametrize(("cell", "oracle"), [("gru", torch.nn.GRU), ("lstm", torch.nn.LSTM)])
def test_cells_are_those_of_torch(cell: str, oracle: Callable[..., torch.nn.RNNBase]):
    """The hidden states are those of torch's own layers with the same weights."""
    cfg = RecurrentCfg(cell=cell, hidden=8, head_hidden=0)  # type: ignore[arg-type]
    model = cfg.build(IN_DIM, (3,))
    reference = oracle(IN_DIM, 8, num_layers=cfg.layers, batch_first=True)
    for i, layer in enumerate(model.cells):  # type: ignore[arg-type, var-annotated]
        for part, linear in (("ih", layer.from_input), ("hh", layer.from_hidden)):
            getattr(reference, f"weight_{part}_l{i}").data.copy_(linear.weight)
            getattr(reference, f"bias_{part}_l{i}").data.copy_(linear.bias)
    x = torch.randn(2, 9, IN_DIM)
    torch.testing.assert_close(model(x), model.heads(reference(x)[0].unsqueeze(0))[0])  # type: ignore[operator]


@ALL
def test_gradients_through_the_past_are_those_of_the_full_forward(name: str):
    """Back-propagation through extend gives the gradients of the full forward, for the weights and every token."""
    model, x = make(name).double(), torch.randn(2, 10, IN_DIM, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(2, 10, sum(OUT_DIMS), dtype=torch.float64)
    wanted = torch.autograd.grad((model(x) * weight).sum(), [x, *model.parameters()])
    past, loss = None, torch.zeros((), dtype=torch.float64)
    for t in range(10):
        y, past = model.extend(x[:, t], past)
        loss = loss + (y * weight[:, t]).sum()
    got = torch.autograd.grad(loss, [x, *model.parameters()])
    for one, other in zip(got, wanted, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-9)


def test_extend_gradients_match_finite_differences():
    """The gradient of a chain of extends longer than the window is that of finite differences."""
    model = make("rotary").double()

    def chain(x: Tensor) -> Tensor:
        past, outputs = None, []
        for token in x.unbind(1):
            y, past = model.extend(token, past)
            outputs.append(y)
        return torch.stack(outputs, 1)

    x = torch.randn(1, 6, IN_DIM, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(chain, (x,))


@ALL
def test_step_never_looks_at_a_number(name: str):
    """A step and a reset by mask run on tensors that have no values at all, so nothing waits for the device."""
    with FakeTensorMode():
        model = CFGS[name].build(IN_DIM, OUT_DIMS)
        cache = model.init_cache(3)
        for _ in range(2):
            assert model.step(torch.randn(3, IN_DIM), cache).shape == (3, sum(OUT_DIMS))
            model.reset(cache, torch.zeros(3, dtype=torch.bool))


def test_step_costs_one_token():
    """The matrix products of a cached step are a tenth of those of the window of 10, whatever the age."""
    model = transformer_cfg("tiny").build(IN_DIM, OUT_DIMS)
    cache, costs = model.init_cache(2), []
    for _ in range(25):
        with FlopCounterMode(display=False) as counter:
            model.step(torch.randn(2, IN_DIM), cache)
        costs.append(counter.get_total_flops())
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        model(torch.randn(2, 10, IN_DIM))
    assert len(set(costs)) == 1
    assert costs[0] <= counter.get_total_flops() / 10


@ALL
def test_step_changes_the_cache_in_place_and_nothing_else(name: str):
    """The tensors of the cache keep their storage, the token keeps its values and no gradient is recorded."""
    model, token = make(name), torch.randn(3, IN_DIM)
    cache, before = model.init_cache(3), token.clone()
    storage = {key: tensor.data_ptr() for key, tensor in cache.items()}
    assert not model.step(token, cache).requires_grad
    assert {key: tensor.data_ptr() for key, tensor in cache.items()} == storage
    assert torch.equal(token, before)


def test_half_precision_step_stays_close():
    """A model in bfloat16 steps in bfloat16 and stays within its rounding of the single-precision one."""
    model, x = transformer_cfg("tiny").build(IN_DIM, (3,)), torch.randn(2, 25, IN_DIM)
    single = stepped(model, x)
    half = stepped(model.bfloat16(), x.bfloat16())
    assert half.dtype == torch.bfloat16
    torch.testing.assert_close(half.float(), single, rtol=0, atol=0.05)


def test_wrong_shapes_are_named():
    """Tokens of another length, of another number of environments, and impossible sizes are refused in words."""
    model = make("rotary")
    with pytest.raises(ValueError, match="the last of length 5"):
        model(torch.randn(2, 3, IN_DIM + 1))
    with pytest.raises(ValueError, match="the 4 environments of the cache"):
        model.step(torch.randn(1, IN_DIM), model.init_cache(4))
    with pytest.raises(ValueError, match="multiple of twice the heads"):
        TransformerCfg(width=36, heads=12)
    with pytest.raises(ValueError, match="at most as many"):
        TransformerCfg(rotary=False, window=40)
    with pytest.raises(ValueError, match=r"\['paper-192', 'paper-384', 'small', 'tiny'\]"):
        transformer_cfg("huge")
