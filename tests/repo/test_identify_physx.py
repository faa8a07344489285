# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What the benchmark of identification says of combinations of parameters."""

from __future__ import annotations

import importlib
import math
from types import ModuleType, SimpleNamespace

import pytest
import torch

from nerd_core.identification.identifiability import Combination, Identifiability
from nerd_core.identification.parameterisation import Parameterisation
from support.identified_arm import arm

pytestmark = pytest.mark.unit


@pytest.fixture
def benchmark(repo_root, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The program, imported as it is when it runs; it needs no engine to judge."""
    monkeypatch.syspath_prepend(str(repo_root / "benchmarks"))
    return importlib.import_module("identify_physx")


def test_combinations_are_judged_by_their_own_errors(benchmark: ModuleType):
    """Of two masses whose sum is known to .1 % and whose difference is not, the error of the sum is the worst one; a
    combination that no motion tells of is none that is identifiable, whatever its covariance says.
    """
    parameterisation = Parameterisation(arm(), ["masses", "viscous_frictions"], only="upper|lower|elbow")
    assert parameterisation.names == ("masses: upper", "masses: lower", "viscous_frictions: elbow")
    true = torch.tensor([0.2, -0.1, 0.0], dtype=torch.float64)
    off = torch.tensor([0.11, -0.09, 0.3], dtype=torch.float64)
    after = [1.0, 0.5 * math.exp(0.31), 0.6 * math.exp(-0.19)]
    frictions = [0.01, 0.01 * math.exp(0.3)]
    values = {
        "masses": {"before": [1.0, 0.5, 0.6], "after": after},
        "viscous_frictions": {"before": [0.01, 0.01], "after": frictions},
    }
    half = 0.5 * torch.tensor([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 0.0]], dtype=torch.float64)
    apart = 0.5 * torch.tensor([[1.0, -1.0, 0.0], [-1.0, 1.0, 0.0], [0.0, 0.0, 0.0]], dtype=torch.float64)
    untold = Combination(torch.tensor([0.0, 0.0, 1.0], dtype=torch.float64), math.inf, "friction")
    told = Identifiability(parameterisation.names, torch.ones(3), 1.0e-6 * half + 0.04 * apart, (untold,), ())
    report = SimpleNamespace(identifiability=told, values=values)
    found = benchmark.combinations(report, parameterisation, true)
    assert (found["combinations"], found["identifiable"]) == (3, 1)
    assert found["worst_combination"] == pytest.approx(abs(float(off[0] + off[1])) / 2.0**0.5)
    assert found["error_of_combinations"][1] == pytest.approx(float(off[0] - off[1]) / 2.0**0.5)
    assert found["deviation_of_combinations"] == pytest.approx([1.0e-3, 0.2, 1.0e3])
    assert list(found["error_of_parameters"].values()) == pytest.approx(off.tolist())
    assert (found["identifiable_parameters"], found["worst_parameter"]) == (0, None)
