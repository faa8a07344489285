# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What a person may get wrong is told in one sentence with code 2, before an engine is started."""

from __future__ import annotations

from pathlib import Path

import pytest

from nerd_core.cli import main
from nerd_isaaclab.launch.engine_process import EngineProcess

pytestmark = pytest.mark.unit

TASK = ["--task", "NeRD-Cartpole"]


@pytest.fixture(autouse=True)
def no_engine(monkeypatch, tmp_path):
    """A folder of its own for each test, in which no engine may start."""

    def started(*_: object) -> None:
        raise AssertionError("an engine was started")

    monkeypatch.setattr(EngineProcess, "__init__", started)
    monkeypatch.chdir(tmp_path)
    Path("file").write_text("mine")


def said_by(words: list[str], capsys) -> str:
    """What a command says that ends with code 2, without the frames that tyro draws."""
    try:
        code = main(words)
    except SystemExit as ended:
        code = ended.code
    error = capsys.readouterr().err
    assert code == 2 and "Traceback" not in error
    return " ".join(error.replace("│", " ").split())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["evaluate", "--model", "cartpole", "--steps", "20", "--horizons", "500"],
            "got the horizon 500 for roll-outs",
        ),
        (["evaluate", "--model", "cartpole", "--trajectories", "0"], "got trajectories=0, expected at least 1"),
        (["evaluate", "--model", "cartpole", "--seed", "-1"], "got seed=-1, expected at least 0"),
        (["transfer", *TASK, "--policy", "x", "--checkpoint", "cartpole", "--episodes", "0"], "got episodes=0"),
        (["rl", "score", *TASK, "--policy", "x", "--num-envs", "0"], "got num_envs=0, expected at least 1"),
        (["generate", *TASK, "--out", "x", "--workers", "1000000"], "got workers=1000000, expected at least 1 and"),
        (["generate", *TASK, "--out", "x", "--transitions", "0"], "got transitions=0, expected at least 1"),
        (["generate", *TASK, "--out", "x", "--device", "tpu"], "got --device tpu, expected one that is there"),
        (["rl", "score", *TASK, "--policy", "x", "--device", "cuda:77"], "got --device cuda:77, expected one"),
        (["replay", "x", "--steps", "0"], "got steps=0, expected at least 1"),
        (["demo", "--minutes", "0"], "got minutes=0.0, expected more than 0"),
        (["demo", "--minutes", "nan"], "got minutes=nan, expected a finite number, more than 0"),
    ],
)
def test_numbers_out_of_their_range_are_refused(words, said, capsys):
    """Each command says which number it got and which it expected, and nothing is made."""
    assert said in said_by(words, capsys)
    assert [path.name for path in Path().iterdir()] == ["file"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["evaluate", "--model", "cartpole", "--json", "file/x.json"],
            "got --json file/x.json, but 'file' is no folder",
        ),
        (
            ["evaluate", "--model", "cartpole", "--plot", "x.txt"],
            "got --plot x.txt, expected a name that ends with .png",
        ),
        (["evaluate", "--model", "cartpole", "--data", "file"], "got --data file, but 'file' is no folder"),
        (["generate", *TASK, "--out", "file"], "got --out file, but 'file' is no folder"),
        (
            ["transfer", *TASK, "--policy", "x", "--checkpoint", "cartpole", "--json", "."],
            "got --json ., which is a folder",
        ),
        (["transfer", *TASK, "--policy", "x", "--checkpoint", "cartpole", "--record", "file"], "'file' is no folder"),
        (["rl", "score", *TASK, "--policy", "x", "--out", "file/x"], "got --out file/x, but 'file' is no folder"),
        (["rl", "score", *TASK, "--policy", "x", "--record", "file/x"], "got --record file/x, but 'file' is no folder"),
        (["replay", "x", "--plot", "file/x.png"], "got --plot file/x.png, but 'file' is no folder"),
        (["demo", "--smoke", "--out", "file/x"], "got --out file/x, but 'file' is no folder"),
        (["reproduce", "cartpole", "--smoke", "--out", "file/x"], "got --out file/x, but 'file' is no folder"),
        (["models", "get", "cartpole", "file/x"], "but 'file' is no folder"),
    ],
)
def test_places_that_cannot_be_written_are_told_before_the_work(words, said, capsys):
    """The file that is in the way stays as it is, and no folder is made."""
    assert said in said_by(words, capsys)
    assert [path.name for path in Path().iterdir()] == ["file"] and Path("file").read_text() == "mine"


def test_a_folder_is_no_shipped_model(capsys):
    """'nerd models get' copies shipped models alone; for a folder it says what copies it."""
    Path("mine").mkdir()
    assert "got the folder 'mine', expected the name of a shipped model: copy it with cp -r" in said_by(
        ["models", "get", "mine", "copy"], capsys
    )
    assert "did you mean 'cartpole'" in said_by(["models", "get", "cartpol", "copy"], capsys)
    assert not Path("copy").exists()


def test_a_user_without_a_home_is_told_what_to_set(capsys, monkeypatch):
    """Where even the system knows no home, the message names the variables that say where caches go."""

    def unknown(path: Path) -> Path:
        raise RuntimeError("Could not determine home directory.")

    for name in ("NERD_ASSETS_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "expanduser", unknown)
    assert "set HOME, or XDG_CACHE_HOME to a folder for caches" in said_by(["assets", "list"], capsys)
