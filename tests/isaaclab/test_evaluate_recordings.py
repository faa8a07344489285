# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""``nerd evaluate`` on recordings: the protocols, what the file of numbers holds, and that no engine starts."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from nerd_core import checkpoint
from nerd_core.predictor.config import PredictorCfg
from nerd_core.predictor.mechanics_prior import MechanicsPriorCfg
from nerd_core.predictor.predictor import Predictor
from nerd_core.recordings.reading import read_recordings
from nerd_isaaclab.evaluation import open_loop
from nerd_isaaclab.programs import evaluate as program
from support.recorded_files import driven_pendulum_file, toss_file

pytestmark = pytest.mark.unit


@pytest.fixture(autouse=True)
def no_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever collects roll-outs fails."""
    monkeypatch.setattr(open_loop, "collect", lambda *_, **__: pytest.fail("an engine was asked for"))


def mechanics(path: Path, folder: Path) -> str:
    """A model of mechanics for the robot of a file."""
    spec = read_recordings(path).spec
    checkpoint.save(folder, Predictor(spec, PredictorCfg(network=None, prior=MechanicsPriorCfg(hidden=0))))
    return str(folder)


def test_windows_and_flights_of_tosses(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """Windows of some steps, also where no protocol is named, and whole flights; the file has what was asked for."""
    data = toss_file(tmp_path / "cube.h5")
    words = ["--data", str(data), "--model", mechanics(data, tmp_path / "model"), "--json", str(tmp_path / "out.json")]
    for protocol in (["--protocol", "windows"], []):
        assert program.main([*words, *protocol, "--window", "10"]) == 0
        found = json.loads((tmp_path / "out.json").read_text())
        assert (found["protocol"], found["window"], found["split"]) == ("windows", 10, ["test", "val"])
        assert found["counts"]["windows"] == 20 + 12 and found["counts"]["recordings"] == 2
        assert 0.0 < found["position_m"] < 0.01 and found["joint_rmse_rad"] is None
        assert found["position_share_of_width"] == pytest.approx(found["position_m"] / 0.1)
        assert found["rotation_deg"] == pytest.approx(math.degrees(found["rotation_rad"]))
        assert set(found["spread"]) == {"position_m", "rotation_rad"}
    assert found["made_by"]["data"]["cube.h5"] and "of the width" in capsys.readouterr().out
    assert program.main([*words, "--protocol", "flights", "--split", "all"]) == 0
    found = json.loads((tmp_path / "out.json").read_text())
    assert (found["protocol"], found["window"], found["counts"]["windows"]) == ("flights", None, 4)


def test_half_seconds_of_a_driven_pendulum(tmp_path: Path):
    """``--seconds`` counts in the steps of the model, errors stand by family; a file for training alone is judged."""
    data = driven_pendulum_file(tmp_path / "arm.h5")
    words = ["--data", str(data), "--model", mechanics(data, tmp_path / "model"), "--json", str(tmp_path / "out.json")]
    assert program.main([*words, "--protocol", "windows", "--seconds", "0.5"]) == 0
    found = json.loads((tmp_path / "out.json").read_text())
    assert (found["window"], found["stride"], found["split"]) == (100, 20, ["train"])
    assert found["joint_rmse_rad"] > 0.0 and set(found["families"]) == {"excitation", "swing"}
    assert found["position_m"] is None and found["joint_rmse_by_joint_rad"].keys() == {"shoulder", "elbow"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--protocol", "driven"], "expected --protocol windows or flights"),
        (["--window", "10", "--seconds", "1"], "expected one of them"),
        (["--window", "1000"], "is as long as a window of 1000 steps"),
        (["--split", "valid"], "no recording is of the split 'valid'"),
    ],
)
def test_what_cannot_be_judged_is_said(words: list[str], said: str, tmp_path: Path):
    """Protocols of the solver, two lengths, windows that are too long, splits that are not there."""
    data = toss_file(tmp_path / "cube.h5")
    with pytest.raises((ValueError, SystemExit), match=None if "--seconds" in words else said):
        program.main(["--data", str(data), "--model", mechanics(data, tmp_path / "model"), *words])


def test_protocols_of_recordings_need_recordings():
    """Without a file of them the message says so."""
    with pytest.raises(ValueError, match="expected --data FILE, a file of recordings"):
        program.main(["--model", "cartpole", "--protocol", "windows"])
