# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Models of real mechanisms: the recipe runs on any such file, and the shipped ones meet their numbers."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import h5py
import pytest

from nerd_core import checkpoint
from nerd_core.checkpoint_names import shipped_checkpoints
from nerd_core.judging.config import JudgeCfg
from nerd_core.judging.judge import judge
from nerd_core.predictor.calibrated_mechanics import CalibratedMechanics
from nerd_core.recordings.reading import read_recordings
from nerd_isaaclab.demo.measured import run_measured
from nerd_isaaclab.demo.recipes_measured import MEASURED
from nerd_isaaclab.programs import reproduce
from support.recorded_files import driven_pendulum_file, real_file, toss_file

BARS = {
    "cube-real": (("windows", 0.0155, 0.22, 0.16), ("flights", 0.0131, math.radians(15.5), 0.125)),
    # the identified rigid model is at .0378 m and .880 rad, constant velocity at .190 m and 1.52 rad
    "elbow-real": (("windows", 0.0345, 0.875, 0.345),),
}
"""What a model has to meet on the validation split: protocol, position [m], rotation [rad], share of the width."""


@pytest.mark.parametrize("name", sorted(set(BARS) & set(shipped_checkpoints())))
def test_a_shipped_model_meets_its_numbers(name: str):
    """On the validation split of the real recordings errors stay below what was asked for."""
    recordings = read_recordings(real_file(MEASURED[name].recordings))
    predictor = checkpoint.load(shipped_checkpoints()[name])
    for protocol, position, rotation, share in BARS[name]:
        found = judge(predictor, recordings, JudgeCfg(split="val"), protocol).plain()
        assert found["position_m"] <= position and found["rotation_rad"] <= rotation
        assert found["position_share_of_width"] <= share


@pytest.mark.parametrize("name", sorted(set(BARS) & set(shipped_checkpoints())))
def test_a_shipped_model_is_small_and_has_a_card(name: str):
    """A dozen numbers take no megabytes; the card says by which commands they were found."""
    folder = shipped_checkpoints()[name]
    assert sum(path.stat().st_size for path in folder.iterdir()) < 2**20
    card = (folder / "card.md").read_text(encoding="utf-8")
    assert f"nerd reproduce {name}" in card and "nerd train" in card and "/work" not in card
    assert isinstance(checkpoint.load(folder).prior, CalibratedMechanics)


def test_the_recipe_runs_on_a_small_file(tmp_path: Path):
    """Import, training and judging follow each other; the model has a card with commands, errors and calibration, and
    a second run does nothing again.
    """
    path = toss_file(tmp_path / "cube.h5", rate=148.0, lengths=(90, 92, 95, 91) * 2)
    few = ("--rollout.steps", "3", "--rollout.batch-size", "4", "--validation-horizons", "5")
    few = (*few, "--validation-windows", "4", "--validations", "1", "--updates", "2")
    recipe = replace(MEASURED["cube-real"], training=("--preset", "measured", *few))
    model = run_measured(recipe, path, tmp_path / "run")
    card = (model / "card.md").read_text(encoding="utf-8")
    assert "nerd data import cube.h5 --split train" in card and "| protocol flights |" in card and "gravity_z" in card
    assert str(tmp_path) not in card.replace(str(tmp_path / "run"), "")
    written = (tmp_path / "run" / "train" / "result.json").stat().st_mtime_ns
    run_measured(recipe, path, tmp_path / "run")
    assert (tmp_path / "run" / "train" / "result.json").stat().st_mtime_ns == written


@pytest.mark.long  # half a minute of commands in processes of their own; the cube's recipe above is its twin
def test_the_recipe_of_a_pendulum_identifies_a_model_and_judges_it_on_the_file_beside(tmp_path: Path):
    """Searches follow each other, each from the model of the one before; the validation file beside is judged on; the
    card has the commands with the names of the files alone.
    """
    train, val = (driven_pendulum_file(tmp_path / f"arm_{split}.h5") for split in ("train", "val"))
    with h5py.File(val, "a") as file:
        file.attrs["split"] = "val"
    search = ("--parameters", "masses", "--windows", "4", "--descent.iterations", "1", "--cost.velocity-weight", "0")
    recipe = replace(MEASURED["dfki-pendulum"], held_out=val.name, identification=(search, search))
    model = run_measured(recipe, train, tmp_path / "run")
    card = (model / "card.md").read_text(encoding="utf-8")
    assert "nerd identify arm_train.h5 arm_val.h5 --parameters masses" in card and "--data arm_val.h5" in card
    assert "--start" in card and "| protocol windows seconds 0.5 |" in card


def test_a_file_of_validation_that_is_missing_is_asked_for(tmp_path: Path):
    """A recipe with two files says which of them is not there."""
    path = driven_pendulum_file(tmp_path / "arm_train.h5")
    with pytest.raises(ValueError, match="expected a file such as 'dfki_double_pendulum_val.h5'"):
        run_measured(MEASURED["dfki-pendulum"], path, tmp_path / "run")


def test_recordings_are_asked_for():
    """Without a file of recordings the program says which one it needs."""
    with pytest.raises(ValueError, match="expected --recordings with a file such as 'contactnets_cube"):
        reproduce.main(["cube-real"])
