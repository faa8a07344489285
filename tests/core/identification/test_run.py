# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Identification from beginning to end: known truth is recovered, a search goes on, and ``nerd identify`` does both."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
import torch

from nerd_core import checkpoint
from nerd_core.cli import main
from nerd_core.data.layout import ShardMeta
from nerd_core.data.shards import ShardWriter
from nerd_core.identification.cost import RolloutCost, Windows
from nerd_core.identification.drivers import DescentCfg
from nerd_core.identification.engine_calibration import read_calibration
from nerd_core.identification.evolution import EvolutionCfg
from nerd_core.identification.motion_data import MotionData, Run, completed, read_motion
from nerd_core.identification.parameterisation import IdentificationError, Parameterisation
from nerd_core.identification.replay import replay
from nerd_core.identification.run import (
    CALIBRATION,
    PARTIAL,
    RESULT,
    STATE,
    IdentifyCfg,
    identify,
    with_parameters,
)
from nerd_core.network.architectures.mlp import MlpCfg
from nerd_core.predictor.config import PredictorCfg
from nerd_core.predictor.predictor import Predictor
from nerd_core.predictor.transmission_prior import TransmissionCfg
from nerd_core.recordings.mechanisms import double_pendulum
from support.identified_arm import arm, heavier, model, motion
from support.recorded_files import driven_pendulum_file

QUICK = IdentifyCfg(("masses",), seconds=0.1, descent=DescentCfg(growth=(0.5, 1.0), iterations=8))


def measured() -> MotionData:
    """Motion of the true arm, five runs, the families taking turns."""
    windows = motion(model(arm()), count=10)
    runs = [
        Run(f"run {i}", "ab"[i % 2], "", state, control)
        for i, (state, control) in enumerate(zip(windows.state, windows.control, strict=True))
    ]
    return MotionData(arm(), tuple(runs))


def test_known_truth_is_recovered(tmp_path):
    """Masses that are 30 % off are found to a hundredth, the checkpoint replays held-out motion, the report is strict
    JSON that says so, and a page, and an engine gets the same masses.
    """
    found = identify(model(heavier(arm(), 1.3)), measured(), QUICK, out=tmp_path)
    masses = found.report.values["masses"]
    assert masses["after"][1:] == pytest.approx([0.5, 0.6], rel=0.01)
    assert found.report.after.mean["joint_rad"] < 0.1 * found.report.before.mean["joint_rad"]
    plain = json.loads((tmp_path / "report.json").read_text(), parse_constant=lambda word: pytest.fail(word))
    assert plain["values"]["masses"]["after"] == masses["after"] and plain["refused"] == ""
    assert "masses [kg]" in (tmp_path / "report.txt").read_text()
    assert "<td>lower</td>" in (tmp_path / "report.html").read_text()
    calibration = read_calibration(tmp_path / CALIBRATION)
    assert calibration.bodies["lower"]["mass"] == pytest.approx((masses["after"][2],)) and not calibration.joints
    again = checkpoint.load(tmp_path / RESULT)
    assert again.spec.bodies[2].inertia.mass == pytest.approx(0.6, rel=0.01)
    windows = measured().windows("held-out", 0.1)
    assert replay(again, windows).mean["joint_rad"] == pytest.approx(found.report.after.mean["joint_rad"], rel=0.05)


def test_errors_are_weighted_behind_the_search_and_parts_left_out(tmp_path):
    """With ``only`` the other link stays as it was, with ``reweigh`` the search goes on in other units, and the costs
    before and after are told in the same ones: an untouched robot has the same cost in both runs.
    """
    cfg = replace(QUICK, only="lower", reweigh=1, descent=DescentCfg("least_squares", (1.0,), 6))
    said: list[str] = []
    found = identify(model(heavier(arm(), 1.3)), measured(), cfg, out=tmp_path, say=said.append)
    plain = identify(model(heavier(arm(), 1.3)), measured(), replace(cfg, reweigh=0))
    masses = found.report.values["masses"]
    assert masses["after"][:2] == masses["before"][:2] and masses["after"][2] < masses["before"][2]
    assert found.report.cost[0] == pytest.approx(plain.report.cost[0])
    assert found.report.cost[1] < 0.2 * found.report.cost[0]  # the upper link is as wrong as it was
    assert sum("windows of" in each and "cost" in each for each in said) == 2


def test_evolution_comes_before_the_descent(tmp_path):
    """Where generations are asked for, CMA-ES searches first, and what it found is gone on with."""
    pytest.importorskip("cma", reason="needs the package cma")
    told: list[str] = []
    descent, evolution = DescentCfg(growth=(1.0,), iterations=1), EvolutionCfg(generations=6, population=6)
    cfg = IdentifyCfg(("masses",), seconds=0.1, descent=descent, evolution=evolution)
    found = identify(model(heavier(arm(), 1.3)), measured(), cfg, say=told.append)
    assert "generation 6 of 6" in "".join(told)
    assert found.report.values["masses"]["after"][1:] == pytest.approx([0.5, 0.6], rel=0.1)


def test_the_specification_takes_the_place_of_the_parameters():
    """A model with the parameters in its specification predicts what the old one does with them."""
    old, parameterisation = model(arm()), Parameterisation(arm(), ["masses", "centres", "inertias", "frictions"])
    free = 0.2 * torch.randn(parameterisation.dim, generator=torch.Generator().manual_seed(0)).double()
    new = with_parameters(old, parameterisation, free)
    state, control = torch.randn(5, 4).double(), torch.randn(5, 2).double()
    with torch.enable_grad():
        first = old.double().prior(state, control, None, parameterisation(free))
        second = new.prior(state.float(), control.float())
    torch.testing.assert_close(second, first.float(), rtol=1e-4, atol=1e-5)


def test_a_model_that_got_worse_is_not_written(tmp_path, monkeypatch):
    """Where held-out motion is replayed worse, there is a report and no model."""
    monkeypatch.setattr("nerd_core.identification.run.gate", lambda before, after: "it is worse")
    (tmp_path / CALIBRATION).write_text("of an earlier run")
    found = identify(model(arm()), measured(), QUICK, out=tmp_path)
    assert found.report.refused and not (tmp_path / RESULT).exists() and not (tmp_path / CALIBRATION).exists()
    assert "refused: it is worse" in (tmp_path / "report.txt").read_text()


def test_a_search_goes_on_where_it_stood(tmp_path):
    """A search that is gone on with begins behind its last stage, with the numbers it had; of others it is refused."""
    start = heavier(arm(), 1.3)
    whole = identify(model(start), measured(), QUICK, out=tmp_path)
    assert (tmp_path / STATE).is_file() and (tmp_path / PARTIAL).is_dir()
    told: list[str] = []
    again = identify(model(start), measured(), QUICK, out=tmp_path, resume=True, say=told.append)
    assert "going on behind stage 2 of 2" in told
    assert again.report.values["masses"]["after"] == pytest.approx(whole.report.values["masses"]["after"])
    other = IdentifyCfg(("frictions",), seconds=0.1)
    with pytest.raises(IdentificationError, match="was for other parameters"):
        identify(model(start), measured(), other, out=tmp_path, resume=True)
    (tmp_path / STATE).write_text("{")
    with pytest.raises(IdentificationError, match="cannot be gone on with"):
        identify(model(start), measured(), QUICK, out=tmp_path, resume=True)


def test_families_are_left_out_and_splits_kept():
    """Runs of a family left out are not trained on, held-out runs are never, test runs are in neither part."""
    runs = measured().runs
    data = MotionData(arm(), runs, ("b",))
    assert {run.family for run in data.part("train")} == {"a"}
    assert not {run.name for run in data.part("train")} & {run.name for run in data.part("held-out")}
    split = [Run(run.name, "", name, run.state, run.control) for run, name in zip(runs, ["train", "val", "test"])]
    data = MotionData(arm(), tuple(split))
    assert [run.name for run in data.part("train")] == ["run 0"]
    assert [run.name for run in data.part("held-out")] == ["run 1"]


def test_windows_of_a_family_can_count_more_than_once():
    """With emphasis the windows of a family are there so many times, when they are trained on and nowhere else."""
    plain, more = (MotionData(arm(), measured().runs, (), emphasis) for emphasis in ({}, {"a": 3}))
    family = {run.name: run.family for run in plain.runs}
    once, often = ([family[name] for name in data.windows("train", 0.1).source] for data in (plain, more))
    assert often.count("a") == 3 * once.count("a") > 0 and often.count("b") == once.count("b") > 0
    assert len(plain.windows("held-out", 0.1)) == len(more.windows("held-out", 0.1))


def test_some_of_what_a_model_learns_is_looked_for():
    """Of a transmission those numbers move that are named; unknown names are refused, and names without learning."""
    predictor = Predictor(arm(), PredictorCfg(network=None, prior=TransmissionCfg(substeps=1, hidden=0))).eval()
    windows = measured().windows("train", 0.05, limit=4)
    cost = RolloutCost(predictor, Parameterisation(arm(), ()), windows, learn_weights=("load", "stribeck"))
    named = {name.rpartition(".")[2] for name, each in predictor.named_parameters() if each.requires_grad}
    assert named == {"load", "stribeck"} and len(cost.variables.weights) == 2
    with pytest.raises(IdentificationError, match="'colour' to learn, expected names.*load"):
        RolloutCost(predictor, Parameterisation(arm(), ()), windows, learn_weights=("colour",))
    with pytest.raises(ValueError, match="without learn_weights"):
        IdentifyCfg(learn=("load",))


def test_recordings_are_read_at_the_rate_of_the_robot(tmp_path):
    """A file of recordings becomes runs at the control step of the specification; its families can be left out."""
    path = driven_pendulum_file(tmp_path / "log.h5")
    found = read_motion([path], leave_out=("swing",))
    assert found.spec.control_dt == pytest.approx(1 / 200) and len(found.runs) == 3
    assert {run.family for run in found.part("train")} == {"excitation"}
    assert found.spec.bodies[0].inertia is not None
    with pytest.raises(IdentificationError, match="unknown families nothing"):
        read_motion([path], leave_out=("nothing",))
    with pytest.raises(IdentificationError, match="holds motion of"):
        read_motion([path], completed(double_pendulum("p", 100.0, (1, 1), (1, 1), (0.5, 0.5), (1, 1), driven=False)))


def test_a_model_without_mechanics_is_refused():
    """A prior that takes no physical parameters is refused, with what to start from."""
    predictor = Predictor(arm(), PredictorCfg(network=MlpCfg(hidden=(8,))))
    with pytest.raises(IdentificationError, match="takes no physical parameters"):
        identify(predictor, measured(), QUICK)


def test_the_command_identifies_and_says_what_is_wrong(tmp_path, capsys):
    """``nerd identify`` writes a model with the true masses; NaN, unknown words and bounds are one message each."""
    true, data = model(arm()), tmp_path / "data"
    windows: Windows = motion(true, count=20)
    with ShardWriter(data, arm(), ShardMeta(task="arm", seed=0)) as writer:
        writer.append(windows.state.float().numpy(), windows.control.float().numpy())
    heavier(arm(), 1.2).save(tmp_path / "arm.json")
    words = ["identify", str(data), "--spec", str(tmp_path / "arm.json"), "--parameters", "masses", "--seconds", "0.2"]
    quick = ["--descent.iterations", "8", "--descent.growth", "1.0", "--bounds", "masses=0.1:3"]
    assert main([*words, "--out", str(tmp_path / "out"), *quick]) == 0
    masses = [body.inertia.mass for body in checkpoint.read(tmp_path / "out" / RESULT).spec.bodies[1:]]
    assert masses == pytest.approx([0.5, 0.6], rel=0.01)
    capsys.readouterr()
    assert main([*words, "--out", str(tmp_path / "out"), *quick]) == 2
    assert "there is an earlier result" in capsys.readouterr().err
    for more, said in (
        (["--bounds", "masses=3:1"], "smaller than the upper one"),
        (["--bounds", "masses"], "expected one of each name=lower:upper"),
        (["--parameters", "colours"], "unknown parameters colours"),
        (["--seconds", "9"], "no run of at least"),
        (["--emphasis", "swing"], "expected one of each family=number"),
        (["--emphasis", "swing=0"], "expected one of each family=number"),
        (["--emphasis", "swing=2"], "unknown families swing"),
    ):
        assert main([*words, "--out", str(tmp_path / "other"), *more]) == 2
        assert said in capsys.readouterr().err
