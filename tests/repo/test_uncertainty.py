# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The judge of detectors gives back what is known of made-up ones, and errors of roll-outs whose size is known."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

import pytest
import torch

from nerd_core.network.architectures.residual import ResidualMlpCfg
from nerd_core.network.token_config import TokenCfg
from nerd_core.predictor.config import PredictorCfg
from nerd_core.predictor.predictor import Predictor
from nerd_core.training.losses import StateScale
from support.testbed_cartpole import make_data

pytestmark = pytest.mark.unit


@pytest.fixture
def program(repo_root: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The benchmark, imported as it is when it runs."""
    monkeypatch.syspath_prepend(str(repo_root / "benchmarks"))
    return importlib.import_module("uncertainty")


def test_auroc_is_the_share_of_pairs_in_the_right_order(program: ModuleType):
    """Also with ties, which count half; a detector that says the opposite has what is left to one."""
    generator = torch.Generator().manual_seed(0)
    value = torch.randint(0, 6, (80,), generator=generator).float()
    failed = torch.rand(80, generator=generator) < 0.1 * value
    pairs = value[failed][:, None] - value[~failed]
    expected = float(((pairs > 0).double() + 0.5 * (pairs == 0).double()).mean())
    assert program.auroc(value, failed) == pytest.approx(expected, abs=1e-12)
    assert program.auroc(-value, failed) == pytest.approx(1.0 - expected, abs=1e-12)
    assert program.auroc(failed.float(), failed) == 1.0


def judged(program: ModuleType, own: float, trivial: float, count: int = 600) -> dict:
    """A judgement of a detector that hits with some probability, beside a trivial one."""
    generator = torch.Generator().manual_seed(1)
    failed = torch.rand(count, generator=generator) < 0.3
    noise = torch.rand(2, count, generator=generator)
    says = {
        name: torch.where(noise[row] < hits, failed.float(), torch.rand(count, generator=generator))
        for row, (name, hits) in enumerate({"spread": own, "speed": trivial}.items())
    }
    return program.judgement(says, failed, "spread", 0)


def test_a_detector_is_better_only_beyond_two_standard_errors(program: ModuleType):
    """A clear lead counts, no lead does not, and being behind is said."""
    better = judged(program, 0.8, 0.2)
    assert "is better than speed" in better["verdict"]
    assert better["ahead_of_best_trivial"][0] == pytest.approx(
        better["auroc"]["spread"][0] - better["auroc"]["speed"][0]
    )
    assert "is no better than speed" in judged(program, 0.5, 0.5)["verdict"]
    assert "is worse than speed" in judged(program, 0.2, 0.8)["verdict"]


def test_the_best_of_the_trivial_detectors_is_the_one_to_beat(program: ModuleType):
    """Another of them that says nothing does not help the model's own."""
    failed = torch.arange(400) % 3 == 0
    says = {
        "spread": failed.float() + torch.linspace(0.0, 1.5, 400),
        "speed": torch.zeros(400),
        "distance": failed.float(),
    }
    assert "worse than distance" in program.judgement(says, failed, "spread", 0)["verdict"]


def test_too_few_failures_are_not_judged(program: ModuleType):
    """With nine failures no verdict is given."""
    failed = torch.arange(400) < 9
    found = program.judgement({"spread": torch.rand(400), "speed": torch.rand(400)}, failed, "spread", 0)
    assert found["auroc"] == {} and found["failures"] == 9


def test_an_error_is_the_worst_over_the_steps(program: ModuleType):
    """A model that never moves is as far off as the truth has gone, in units of what one step changes; what leaves the
    numbers is infinitely far.
    """
    data = make_data(20, 8, seed=0)
    predictor = Predictor(data.spec, PredictorCfg(network=ResidualMlpCfg(), token=TokenCfg(contacts=False)))
    for param in predictor.parameters():
        torch.nn.init.zeros_(param)
    batch = data.gather(torch.arange(20).numpy(), torch.zeros(20, dtype=torch.long).numpy(), 8)
    scale = StateScale(data.spec)
    scale.update(batch.state[:, 0], batch.state[:, 1])
    scale.finalise()
    one, five = (program.worst_error(predictor, batch, steps, scale) for steps in (1, 5))
    still = batch.state[:, 0].clone()
    still = predictor.codec.apply(still, torch.zeros(20, predictor.codec.dim))
    apart = scale.distance(batch.state[:, 1], still).square().mean(-1).sqrt()
    assert torch.allclose(one, apart, atol=1e-4) and bool((five >= one).all()) and bool((five > one).any())
    predictor.change_normaliser.std.fill_(torch.nan)
    assert bool(program.worst_error(predictor, batch, 1, scale).isinf().all())


def test_detectors_say_what_they_are_called(program: ModuleType):
    """Speed is that of the joints, distance is zero on the data themselves, and an ensemble has a spread."""
    data = make_data(20, 8, seed=0)
    cfg = PredictorCfg(network=ResidualMlpCfg(), token=TokenCfg(contacts=False), ensemble=2)
    torch.manual_seed(0)
    predictor = Predictor(data.spec, cfg)
    for param in predictor.parameters():
        torch.nn.init.normal_(param, std=0.1)
    batch = data.gather(torch.arange(20).numpy(), torch.zeros(20, dtype=torch.long).numpy(), 5)
    found = program.detectors(predictor, batch, program.tokens_of(predictor, batch))
    assert set(found) == {"spread", "speed", "control", "distance"}
    assert torch.allclose(found["speed"], batch.state[:, 0, 2:].square().mean(-1).sqrt())
    assert float(found["distance"].max()) < 1e-2 and float(found["spread"].min()) > 0.0
