# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""``nerd checkpoint`` shows, compares, verifies and exports."""

import json
import os
import time
from dataclasses import replace

import pytest
import torch

from nerd_core import checkpoint
from nerd_core.cli import main
from nerd_core.network.architectures.mlp import MlpCfg
from nerd_core.predictor.config import PredictorCfg
from nerd_core.predictor.predictor import Predictor
from nerd_core.robot.spec import Body, Joint
from support.checkpoints import SMALL, crawler


@pytest.fixture
def saved(tmp_path):
    """A checkpoint of the crawler with settings, origin and results."""
    torch.manual_seed(0)
    return checkpoint.save(
        tmp_path / "first",
        Predictor(crawler(), PredictorCfg(network=SMALL)),
        training={"lr": 1e-3},
        provenance={"command": "nerd train data"},
        results={"error_100": 0.001},
    )


def test_info_shows_robot_model_training_origin_and_results(saved, capsys):
    """The table holds each of these, for people; --json holds the same for programs."""
    assert main(["checkpoint", "info", str(saved)]) == 0
    out = capsys.readouterr().out
    for words in (
        "crawler",
        crawler().content_hash,
        "network.width",
        "lr",
        "nerd train data",
        "error_100",
        "knee.effort",
    ):
        assert words in out
    assert main(["checkpoint", "info", str(saved), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["robot"]["name"] == "crawler" and facts["model"]["numbers"] > 1000
    assert facts["checkpoint"]["training can go on"] is False


def test_info_cannot_be_used_to_steer_the_terminal(tmp_path, capsys):
    """Escape sequences and markup in a robot's name are shown, not obeyed."""
    spec = replace(crawler(), name="\x1b[31mred\x1b[0m [/bold] [link=x]")
    path = checkpoint.save(tmp_path / "m", Predictor(spec, PredictorCfg(network=SMALL)))
    assert main(["checkpoint", "info", str(path)]) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out and "[/bold] [link=x]" in out


def test_no_command_can_be_used_to_steer_the_terminal(tmp_path, capsys, monkeypatch):
    """Names of robot, joints, facts and settings come out escaped in every command, and in the message of an error."""
    monkeypatch.delenv("NERD_DEBUG", raising=False)
    bad = "\x1b[2J\u202e"
    shin = replace(crawler().bodies[1], joint=f"j{bad}")
    spec = replace(
        crawler(),
        name=f"r{bad}",
        joints=(replace(crawler().joints[0], name=f"j{bad}"),),
        bodies=(crawler().bodies[0], shin),
        controls=(replace(crawler().controls[0], joint=f"j{bad}"),),
    )
    facts = {f"fact{bad}": {f"deep{bad}": [f"value{bad}"]}, "command": bad}
    predictor = Predictor(spec, PredictorCfg(network=SMALL))
    path = checkpoint.save(tmp_path / "m", predictor, provenance=facts, training=facts, results=facts)
    other = checkpoint.save(tmp_path / "n", Predictor(crawler(), PredictorCfg(network=SMALL)))
    for words in (["info", path], ["verify", path], ["diff", path, other], ["diff", other, path], ["info", f"no{bad}"]):
        assert main(["checkpoint", *map(str, words)]) in (0, 1, 2)
        captured = capsys.readouterr()
        assert captured.out + captured.err
        assert all(letter.isprintable() or letter == "\n" for letter in captured.out + captured.err)


def test_info_and_diff_of_a_hundred_thousand_facts_are_short_and_fast(saved, tmp_path, capsys):
    """A file may hold any number of facts: the first ones are shown in a few seconds, and how many there are more."""
    facts = {f"fact {i}": i for i in range(100_000)}
    path = checkpoint.save(tmp_path / "m", Predictor(crawler(), PredictorCfg(network=SMALL)), provenance=facts)
    start = time.process_time()
    assert main(["checkpoint", "info", str(path)]) == 0
    assert main(["checkpoint", "diff", str(path), str(saved)]) == 1
    out = capsys.readouterr().out
    assert "more" in out and out.count("\n") < 2000
    assert time.process_time() - start < 5.0


def test_info_of_a_robot_with_a_thousand_joints_is_fast(tmp_path, capsys):
    """What is made of a robot to check its tensors is made for all bodies at once: seconds, not a minute."""
    joints = tuple(Joint(f"j{i}", "revolute", (0.0, 1.0, 0.0)) for i in range(1000))
    bodies = [Body("b"), *(Body(f"b{i}", parent=f"b{i - 1}" if i else "b", joint=f"j{i}") for i in range(1000))]
    spec = replace(crawler(), joints=joints, bodies=tuple(bodies), slots=(), controls=())
    path = checkpoint.save(tmp_path / "m", Predictor(spec, PredictorCfg(network=MlpCfg(hidden=(8,)))))
    start = time.process_time()
    assert main(["checkpoint", "info", str(path)]) == 0
    assert time.process_time() - start < 5.0 and "1000" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["spec.json", "config.json", "manifest.json", "model.safetensors"])
@pytest.mark.parametrize("kind", ["directory", "link", "pipe"])
def test_verify_names_what_is_no_plain_file(name, kind, saved, tmp_path, capsys):
    """A directory, a link or a pipe in place of a file is one line, and the other checkpoints are still looked at."""
    whole = checkpoint.save(tmp_path / "second", Predictor(crawler(), PredictorCfg(network=SMALL)))
    content = (saved / name).read_bytes()
    (saved / name).unlink()
    if kind == "directory":
        (saved / name).mkdir()
    elif kind == "link":
        (tmp_path / "elsewhere").write_bytes(content)
        (saved / name).symlink_to(tmp_path / "elsewhere")
    else:
        os.mkfifo(saved / name)
    assert main(["checkpoint", "verify", str(saved), str(whole)]) == 1
    captured = capsys.readouterr()
    assert captured.err.startswith("damaged") and name in captured.err and captured.err.count("\n") == 1
    assert captured.out.count("sound") == 1


def test_diff_names_every_difference_and_sets_the_exit_code(saved, tmp_path, capsys):
    """Robots, settings and weights are compared; the same checkpoint gives 0, another 1."""
    assert main(["checkpoint", "diff", str(saved), str(saved)]) == 0
    assert capsys.readouterr().out.count("the same") == 3
    torch.manual_seed(0)
    other = Predictor(replace(crawler(), decimation=2), PredictorCfg(network=SMALL))
    other.get_parameter("residual.network.embed.weight").data.mul_(2.0)
    path = checkpoint.save(tmp_path / "second", other, training={"lr": 2e-3})
    assert main(["checkpoint", "diff", str(saved), str(path)]) == 1
    out = capsys.readouterr().out
    assert "decimation: got 4, expected 2" in out
    assert "training.lr: got 0.001, expected 0.002" in out
    assert "residual.network.embed.weight: differs by 50.00% of its norm" in out


def test_verify_checks_all_and_fails_if_one_is_damaged(saved, tmp_path, capsys):
    """Sound ones are listed, a damaged one is named with the reason, and the exit code is 1."""
    whole = checkpoint.save(tmp_path / "second", Predictor(crawler(), PredictorCfg(network=SMALL)), state={"step": 1})
    assert main(["checkpoint", "verify", str(saved), str(whole)]) == 0
    assert capsys.readouterr().out.count("sound") == 2
    state = whole / "training" / "state.json"
    state.write_text(state.read_text().replace("1", "2"))
    assert main(["checkpoint", "verify", str(saved), str(whole)]) == 1
    captured = capsys.readouterr()
    assert captured.out.count("sound") == 1 and "damaged" in captured.err and "state.json" in captured.err


def test_a_damaged_checkpoint_is_one_message(saved, capsys, monkeypatch):
    """No traceback, exit code 2, and the message says what is wrong."""
    monkeypatch.delenv("NERD_DEBUG", raising=False)
    (saved / "model.safetensors").write_bytes(b"")
    assert main(["checkpoint", "info", str(saved)]) == 2
    err = capsys.readouterr().err
    assert err.startswith("nerd checkpoint: ") and "cut or changed" in err and "Traceback" not in err


def test_help_and_wrong_words(capsys):
    """Help ends with 0; a missing path and an unknown word with tyro's explanation and 2."""
    for words, code in [(["--help"], 0), (["info"], 2), (["inf", "x"], 2)]:
        with pytest.raises(SystemExit) as ended:
            main(["checkpoint", *words])
        assert ended.value.code == code
    assert "info" in capsys.readouterr().out
