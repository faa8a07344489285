# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Streaming statistics and the normaliser."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from nerd_core.network.normalisation import PEAK, RELATIVE_FLOOR, FeatureStatistics, Normaliser


def masked_data(seed: int, count: int = 300, dim: int = 5):
    """Features of different size, a third of them undefined and filled with rubbish."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(count, dim, generator=generator) * torch.logspace(-4, 3, dim) + torch.linspace(-3, 3, dim)
    mask = torch.rand(count, dim, generator=generator) < 0.66
    return torch.where(mask, x, torch.full_like(x, 1.0e9)), mask


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 10_000), cut=st.integers(0, 300))
def test_stream_equals_whole(seed, cut):
    """Batches, merged streams and the whole give the mean and variance of the defined values, feature by feature."""
    x, mask = masked_data(seed)
    one, two = FeatureStatistics(5), FeatureStatistics(5)
    for part in (slice(0, cut // 2), slice(cut // 2, cut)):
        one.update(x[part], mask[part])
    two.update(x[cut:], mask[cut:])
    one.merge(two)
    for feature in range(5):
        values = x[mask[:, feature], feature].double()
        assert float(one.count[feature]) == len(values)
        torch.testing.assert_close(one.mean[feature], values.mean(), rtol=1e-10, atol=1e-10)
        torch.testing.assert_close(one.variance[feature], values.var(correction=0), rtol=1e-9, atol=0)


def test_large_offsets_do_not_cancel():
    """A spread of a millimetre on an offset of a kilometre is measured right."""
    statistics = FeatureStatistics(1)
    x = 1000.0 + 1e-3 * torch.randn(100_000, 1, generator=torch.Generator().manual_seed(0), dtype=torch.double)
    for part in x.split(1000):
        statistics.update(part)
    torch.testing.assert_close(statistics.variance.sqrt(), x.std(0, correction=0), rtol=1e-9, atol=0)


def test_masked_entries_stay_exactly_zero():
    """Undefined values leave as exact zeros whatever they hold, and do not enter the statistics."""
    x, mask = masked_data(1)
    normaliser = Normaliser(5)
    normaliser.update(x, mask)
    normaliser.finalise()
    y = normaliser(x.masked_fill(~mask, float("nan")), mask)
    assert torch.equal(y[~mask], torch.zeros_like(y[~mask]))
    defined = [y[mask[:, i], i] for i in range(5)]
    assert all(abs(float(v.mean())) < 1e-3 and abs(float(v.std(correction=0)) - 1) < 1e-3 for v in defined)
    torch.testing.assert_close(normaliser.inverse(y)[mask], x[mask], rtol=1e-5, atol=1e-4)


def test_small_signals_are_kept_and_noise_is_not_blown_up():
    """Tiny features keep unit variance; those that are noise beside their group, or by rounding, do not get it."""
    generator = torch.Generator().manual_seed(2)
    noise = torch.randn(4000, 5, generator=generator)
    # alone and tiny | group: 1 and 1e-6 of it | rounding on a large mean | constant
    x = noise * torch.tensor([1e-6, 2.0, 2e-6, 1e-6, 0.0]) + torch.tensor([0.0, 0.0, 0.0, 100.0, 7.0])
    normaliser = Normaliser(5, groups=[slice(0, 1), slice(1, 3)])
    normaliser.update(x)
    normaliser.finalise()
    y = normaliser(x)
    assert abs(float(y[:, 0].std()) - 1) < 1e-3
    assert abs(float(y[:, 1].std()) - 1) < 1e-3
    group = float((x[:, 1:3].square().mean()).sqrt())
    torch.testing.assert_close(normaliser.std[2], torch.tensor(RELATIVE_FLOOR * group), rtol=1e-4, atol=0)
    assert normaliser.std[3:].tolist() == [1.0, 1.0]
    assert torch.equal(y[:, 4], torch.zeros(4000))


def test_floor_bounds_what_a_model_can_add_to_a_constant():
    """With a floor, a feature that never changed is predicted within that floor; without one it keeps its unit."""
    normaliser = Normaliser(3, floor=torch.tensor([1e-6, 1e-6, 0.0]))
    normaliser.update(torch.tensor([[0.0, 1e-8, 0.0], [0.0, -1e-8, 0.0]]))
    normaliser.finalise()
    torch.testing.assert_close(normaliser.std, torch.tensor([1e-6, 1e-6, 1.0]))


def test_state_dict_restores_the_numbers():
    """Saved and loaded, a normaliser gives the same bits; one that was never fitted is the identity."""
    x, mask = masked_data(3)
    fresh = Normaliser(5)
    assert torch.equal(fresh(x), x)
    fitted = Normaliser(5)
    fitted.update(x, mask)
    fitted.finalise()
    fresh.load_state_dict(fitted.state_dict())
    assert torch.equal(fresh(x, mask), fitted(x, mask))
    assert fresh.count.dtype == torch.float64
    statistics = FeatureStatistics(5)
    statistics.load_state_dict(fitted.statistics.state_dict())
    assert torch.equal(statistics.variance, fitted.statistics.variance)
    with pytest.raises(ValueError, match="expected"):
        FeatureStatistics(4).load_state_dict(fitted.statistics.state_dict())


def test_a_feature_that_was_never_defined_passes_in_its_unit():
    """A slot that was never near anything has mean 0 and deviation 1, and does not disturb its group."""
    x, mask = torch.randn(50, 2), torch.tensor([True, False]).expand(50, 2)
    normaliser = Normaliser(2, groups=[slice(0, 2)])
    normaliser.update(x, mask)
    normaliser.finalise()
    assert float(normaliser.mean[1]) == 0.0 and float(normaliser.std[1]) == 1.0
    assert abs(float(normaliser.std[0]) - float(x[:, 0].std(correction=0))) < 1e-6


def test_a_bounded_normaliser_keeps_rare_values_small_and_strange_ones_near():
    """A feature that leaves its mean once in ten thousand steps reaches ten units and not a hundred; what the data
    never held stays within a tenth of their range; a feature that never varied cannot move the network at all.
    """
    x = torch.zeros(10_000, 3)
    x[::2, 0] = 1.0
    x[17, 1] = 1.0
    plain, bounded = Normaliser(3), Normaliser(3, bounded=True)
    for normaliser in (plain, bounded):
        normaliser.update(x)
        normaliser.finalise()
    assert float(plain(x).max()) > 99.0
    assert float(bounded(x).max()) == pytest.approx(PEAK, rel=1e-3)
    torch.testing.assert_close(bounded(x)[:, 0], plain(x)[:, 0])
    torch.testing.assert_close(bounded.inverse(bounded(x)), x, rtol=0, atol=1e-6)
    far = bounded(torch.tensor([[50.0, -50.0, 50.0]]))[0]
    torch.testing.assert_close(bounded.inverse(far), torch.tensor([1.1, -0.1, 0.0]), rtol=0, atol=1e-5)


def test_an_unbounded_normaliser_has_no_further_numbers():
    """Checkpoints of before have mean, std and count, and nothing that bounds."""
    assert set(Normaliser(3).state_dict()) == {"mean", "std", "count"}
    assert set(Normaliser(3, bounded=True).state_dict()) == {"mean", "std", "count", "lower", "upper"}
