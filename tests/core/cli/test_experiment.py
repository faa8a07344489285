# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""``nerd experiment``: names, options, figures and plots of an experiment that another package brings."""

from __future__ import annotations

import importlib.metadata
import json
import sys

import pytest

import nerd_core.cli as cli
from nerd_core.experiments import registry

SOURCE = '''
"""How far a stone falls.

    nerd experiment falling
"""

from dataclasses import dataclass
from pathlib import Path

from nerd_core.experiments.experiment import Experiment, Result
from nerd_core.files.bounds import SEED, bounded, check_bounds


@dataclass(frozen=True)
class FallingCfg:
    seed: int = bounded(0, **SEED)
    """Seed of the stone."""
    seconds_of_fall: float = bounded(2.0, above=0.0)
    """Time of the fall [s]."""

    def __post_init__(self):
        check_bounds(self)


def run(settings, say):
    say("dropping")
    far = 0.5 * 9.81 * settings.seconds_of_fall**2
    return Result({"far_m": far, "lost": float("nan"), "each": [1.0, float("inf")]}, {"path": Path.touch})


EXPERIMENT = Experiment(run, full=FallingCfg(), smoke=FallingCfg(seconds_of_fall=0.1))
'''


@pytest.fixture(autouse=True)
def falling(tmp_path, monkeypatch):
    """Another package with the experiments 'falling', and 'broken', which is none."""
    (tmp_path / "falling_experiment.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(tmp_path)
    names = {"falling": "falling_experiment:EXPERIMENT", "broken": "falling_experiment:run"}
    points = [importlib.metadata.EntryPoint(*each, registry.GROUP) for each in names.items()]
    monkeypatch.setattr(registry, "entry_points", lambda group: points)
    yield
    sys.modules.pop("falling_experiment", None)


def test_figures_settings_and_origin_go_to_one_flat_file(tmp_path, capsys):
    """The file has the figures beside name, seed, settings, times, versions and host; what is not finite is null."""
    file, plots = tmp_path / "figures.json", tmp_path / "plots"
    assert cli.main(["experiment", "falling", "--seed", "3", "--json", str(file), "--out", str(plots)]) == 0
    told = json.loads(file.read_text(), parse_constant=lambda word: pytest.fail(word))
    assert told["far_m"] == pytest.approx(19.62) and told["lost"] is None and told["each"] == [1.0, None]
    assert told["experiment"] == "falling" and told["smoke"] is False and told["seeds"] == {"seed": 3}
    assert told["settings"] == {"seed": 3, "seconds_of_fall": 2.0}
    assert {"versions", "host", "finished", "seconds", "processor_seconds"} <= set(told)
    assert (plots / "path.png").exists()
    assert "dropping" in capsys.readouterr().out


def test_smoke_takes_other_settings_which_options_still_change(tmp_path):
    """--smoke changes the settings to begin with, wherever it stands; an option of the experiment wins over both."""
    file = tmp_path / "figures.json"
    for words, expected in (
        (["--smoke"], 0.1),
        (["--seed", "1", "--smoke"], 0.1),
        (["--smoke", "--seconds-of-fall", "0.2"], 0.2),
        (["--seconds-of-fall", "0.3"], 0.3),
    ):
        assert cli.main(["experiment", "falling", *words, "--json", str(file)]) == 0
        assert json.loads(file.read_text())["settings"]["seconds_of_fall"] == expected


def test_the_help_lists_experiments_and_the_options_of_one(capsys):
    """Each name stands with its first line, and no name is listed whose module is not there."""
    assert cli.main(["experiment", "--help"]) == 0
    out = capsys.readouterr().out
    assert "falling" in out and "How far a stone falls." in out
    assert all("cannot be found" not in cli.summary(target) for target in registry.BUILT_IN.values())
    with pytest.raises(SystemExit) as ended:
        cli.main(["experiment", "falling", "--help"])
    assert ended.value.code == 0
    out = capsys.readouterr().out
    assert "--seconds-of-fall" in out and "--smoke" in out and "Range: more than 0." in out


def test_wrong_words_are_one_message_each(tmp_path, capsys):
    """An unknown name, an entry point that is no experiment, a setting out of range, a file that cannot be written."""
    for words, expected in (
        (["faling"], "did you mean falling?"),
        (["broken"], "is a function, expected an Experiment"),
        (["falling", "--json", str(tmp_path / "figures.txt")], ".json"),
        (["falling", "--seconds-of-fall", "0"], "got seconds_of_fall=0.0, expected more than 0"),
    ):
        assert cli.main(["experiment", *words]) == 2
        err = capsys.readouterr().err
        assert expected in err and "Traceback" not in err
    assert cli.main(["experiment"]) == 2


def test_a_built_in_name_cannot_be_taken_over(monkeypatch):
    """An entry point with the name of a built-in experiment changes nothing."""
    monkeypatch.setitem(registry.BUILT_IN, "falling", "nerd_core.experiments.experiment:Experiment")
    assert registry.find_experiments()["falling"] == "nerd_core.experiments.experiment:Experiment"
