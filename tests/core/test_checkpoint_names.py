# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""A checkpoint is found by its path, and by its name where an installed package brings it."""

from __future__ import annotations

from importlib.metadata import EntryPoint

import pytest

from nerd_core import checkpoint, checkpoint_names
from nerd_core.checkpoint_names import GROUP, UnknownCheckpoint, find_checkpoint, shipped_checkpoints
from nerd_core.cli import main
from nerd_core.predictor.config import PredictorCfg
from nerd_core.predictor.predictor import Predictor
from support.checkpoints import SMALL, pendulum


@pytest.fixture
def shipped(tmp_path, monkeypatch):
    """A folder with one checkpoint, `swing`, which an installed package brings."""
    checkpoint.save(tmp_path / "models" / "swing", Predictor(pendulum(), PredictorCfg(network=SMALL)))

    class Found(EntryPoint):
        def load(self):
            return tmp_path / "models"

    points = [Found("a_package", "a_package:FOLDER", GROUP)]
    monkeypatch.setattr(checkpoint_names, "entry_points", lambda group: points if group == GROUP else [])
    return tmp_path / "models" / "swing"


def test_names_of_packages_are_found(shipped):
    """The folder of an entry point gives each checkpoint in it by its name, and nothing else that lies there."""
    (shipped.parent / "notes").mkdir()
    assert shipped_checkpoints() == {"swing": shipped}
    assert find_checkpoint("swing") == shipped


def test_a_path_goes_before_a_name(shipped, tmp_path, monkeypatch):
    """What lies in the folder where a person stands is meant, whatever packages bring."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "swing").mkdir()
    assert find_checkpoint("swing").resolve() == tmp_path / "swing"


def test_an_unknown_name_is_told_what_is_near(shipped):
    """A name that nobody brings is refused with the one that was probably meant, and with all there are."""
    with pytest.raises(UnknownCheckpoint, match="got the model 'swin', .*did you mean 'swing'.*shipped are: swing"):
        find_checkpoint("swin")
    with pytest.raises(UnknownCheckpoint, match="shipped are: swing"):
        find_checkpoint("elephant")


def test_commands_take_names(shipped, capsys):
    """`nerd checkpoint` shows, compares and verifies a shipped model by its name, and refuses an unknown one."""
    assert main(["checkpoint", "info", "swing", "--json"]) == 0
    assert main(["checkpoint", "diff", "swing", str(shipped)]) == 0
    assert main(["checkpoint", "verify", "swing"]) == 0
    capsys.readouterr()
    assert main(["checkpoint", "verify", "swin", "swing"]) == 1  # unknown is not damaged
    said = capsys.readouterr()
    assert said.err.startswith("unknown  swin: ") and "shipped are: swing" in said.err and "damaged" not in said.err
    assert said.out.count("sound") == 1
    assert main(["checkpoint", "info", "swin"]) == 2
    assert "did you mean" in capsys.readouterr().err
