# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""A model that is made without data, and what may go wrong with it, with a specification in place of an engine's."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from nerd_core import checkpoint
from nerd_core.cli import main
from nerd_core.files.serialization import to_plain
from nerd_core.robot.spec import Control, RobotSpec
from nerd_isaaclab.models import untrained
from nerd_isaaclab.models.untrained import InitModelCfg, TaskRobot, init_model, untrained_model
from support.robots import ant, cartpole, random_state, with_inertias

pytestmark = pytest.mark.unit

CARTPOLE = with_inertias(cartpole())
TASK = "NeRD-Cartpole"


def engine_of(spec: RobotSpec) -> type:
    """What stands for a process that reads a specification."""

    class Engine:
        def __init__(self, *_: Any, **__: Any):
            pass

        def wait(self, error: type[ValueError]) -> Any:
            return to_plain(TaskRobot(spec.to_json(), False))

    return Engine


def next_states(predictor, state: torch.Tensor, control: torch.Tensor) -> torch.Tensor:
    """States after one step of a model."""
    with torch.no_grad():
        prediction = predictor.step(state, control, None, predictor.init_cache(len(state)))
    return predictor.next_state(state, prediction)


def test_it_predicts_what_mechanics_say_to_the_last_bit():
    """The normalisers change no number: the next state is the one that the prior's own change leads to."""
    predictor = untrained_model(CARTPOLE, sees_ground=False)
    state, control = random_state(CARTPOLE, 32, seed=0), torch.randn(32, 2)
    with torch.no_grad():
        expected = predictor.codec.apply(state, predictor.prior(state, control))
    assert torch.equal(next_states(predictor, state, control), expected)
    assert not predictor.change_normaliser.count.any()


def test_it_is_the_same_model_each_time_and_draws_from_no_generator_of_the_caller():
    """Two models have the same weights, whatever was drawn between them, and the next random number stays the same."""
    torch.manual_seed(5)
    expected = torch.rand(1)
    torch.manual_seed(5)
    first = untrained_model(CARTPOLE).state_dict()
    assert torch.equal(torch.rand(1), expected)
    second = untrained_model(CARTPOLE).state_dict()
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_units_that_a_training_takes_from_its_data_leave_the_motion_as_it_is():
    """A training that starts from the model sets its normalisers, since their count is zero; that moves no state."""
    predictor = untrained_model(CARTPOLE, sees_ground=False)
    state, control = random_state(CARTPOLE, 256, seed=1), torch.randn(256, 2)
    before = next_states(predictor, state, control)
    predictor.update_statistics(state[:, None], control[:, None], before[:, None])
    predictor.finalise_statistics()
    assert predictor.change_normaliser.count.all()
    torch.testing.assert_close(next_states(predictor, state, control), before, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("sees_ground", [True, False])
def test_contacts_are_seen_only_of_a_ground(sees_ground: bool):
    """A robot with slots sees contacts exactly where it was said that there is a ground for it."""
    assert untrained_model(with_inertias(ant()), sees_ground).needs_contacts is sees_ground


def test_what_is_saved_can_be_loaded_and_says_that_nothing_was_learned(tmp_path: Path, monkeypatch):
    """The checkpoint gives the model back, and its card begins with what it is."""
    monkeypatch.setattr(untrained, "EngineProcess", engine_of(CARTPOLE))
    path = init_model(InitModelCfg(TASK, device="cpu"), tmp_path / "new" / "model")
    loaded, made = checkpoint.load(path, expected_spec=CARTPOLE), untrained_model(CARTPOLE, sees_ground=False)
    assert all(torch.equal(loaded.state_dict()[name], value) for name, value in made.state_dict().items())
    assert "\n\nNothing was learned: no data were seen" in (path / "card.md").read_text()
    assert checkpoint.read_config(path).training is None


def test_a_robot_that_mechanics_refuses_gets_its_sentence_and_no_folder(tmp_path: Path, monkeypatch, capsys):
    """A position target that no drive follows ends the command with 2 and the sentence of mechanics."""
    joints = tuple(replace(joint, damping=0.0) for joint in CARTPOLE.joints)
    deaf = replace(CARTPOLE, joints=joints, controls=(Control("slide", "position"),))
    monkeypatch.setattr(untrained, "EngineProcess", engine_of(deaf))
    out = tmp_path / "new" / "model"
    assert main(["models", "init", "--task", TASK, "--out", str(out), "--device", "cpu"]) == 2
    assert "got the position target of 'slide' of 'cartpole', and no drive" in capsys.readouterr().err
    assert not out.parent.exists()


def test_what_exists_is_refused_before_an_engine_starts(tmp_path: Path, monkeypatch, capsys):
    """A folder, even an empty one, and a link to nowhere stay as they are."""
    monkeypatch.setattr(untrained, "EngineProcess", None)
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for name in ("folder", "link"):
        assert main(["models", "init", "--task", TASK, "--out", str(tmp_path / name)]) == 2
        assert "exists: name a folder that does not" in capsys.readouterr().err
    assert not any((tmp_path / "folder").iterdir()) and not (tmp_path / "nowhere").exists()
