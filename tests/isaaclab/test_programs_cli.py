# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The programs before an engine is started: lists, checks and messages, and what they write."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from nerd_core.checkpoint_names import find_checkpoint
from nerd_core.cli import main as nerd
from nerd_isaaclab.collect.collect_cfg import CollectCfg
from nerd_isaaclab.launch import task_ids
from nerd_isaaclab.policies.load import load_policy
from nerd_isaaclab.policies.policy import Policy
from nerd_isaaclab.policies.whole_files import whole_files
from nerd_isaaclab.programs.generate import next_steps

pytestmark = pytest.mark.unit

TASKS = {"NeRD-Cartpole", "NeRD-Ant-Run", "NeRD-Ant-Spin", "NeRD-Ant-Spin-Track"}


def test_list_is_there_at_once_and_imports_no_simulator():
    """'nerd list-envs' takes under two seconds with the start of Python, and imports neither torch nor Isaac Lab."""
    code = (
        "import sys\n"
        "from nerd_core.cli import main\n"
        "assert main(['list-envs']) == 0\n"
        "heavy = {'torch', 'warp', 'gymnasium', 'isaaclab', 'isaaclab_tasks'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    start = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    elapsed = time.perf_counter() - start
    assert done.returncode == 0, done.stderr
    assert elapsed < 2.0
    for task in TASKS:
        assert f"{task} " in done.stdout and f"{task}-Play " in done.stdout
    assert "Isaac-Cartpole " in done.stdout


def test_ids_read_from_sources_are_those_gymnasium_knows():
    """Reading the sources finds every task that importing registers (but deprecated ones), and nothing else."""
    import gymnasium
    import isaaclab_tasks  # noqa: F401

    import nerd_isaaclab.tasks  # noqa: F401

    registered = {
        spec.id: spec.kwargs["env_cfg_entry_point"]
        for spec in gymnasium.registry.values()
        if "env_cfg_entry_point" in spec.kwargs and not spec.kwargs.get("deprecated")
    }
    found = {task.id: task.config for task in task_ids.find_tasks()}
    assert set(found) == set(registered)
    assert {name: found[name] for name in found if name.startswith("NeRD-")} == {
        name: registered[name] for name in registered if name.startswith("NeRD-")
    }
    assert found["Isaac-Cartpole"] == registered["Isaac-Cartpole"]


def test_list_can_be_narrowed(capsys):
    """A keyword selects by part of the id in any case; one that matches nothing is an error, not an empty table."""
    assert nerd(["list-envs", "--keyword", "nerd-ant-spin-track"]) == 0
    listed = capsys.readouterr().out.splitlines()
    assert sum(line.startswith("NeRD-Ant-Spin-Track") for line in listed) == 2 and listed[-1] == "2 tasks"
    assert nerd(["list-envs", "--keyword", "nothing"]) == 2
    assert "no task id contains 'nothing'" in capsys.readouterr().err


def test_ids_that_a_package_computes_are_listed(tmp_path, monkeypatch, capsys):
    """A package that makes ids in a loop, in a file of any name, is imported and its tasks are listed with their
    ``NeRD-`` variants; what stands in the sources needs no import, an exit hook is no task.
    """
    import nerd_isaaclab.tasks  # noqa: F401  (registered before, as Gymnasium is one for all tests)

    what = "entry_point='isaaclab.envs:ManagerBasedRLEnv', kwargs={'env_cfg_entry_point': 'x:Y'}"
    code = "import atexit\nimport gymnasium\natexit.register(print, end='')\n"
    (tmp_path / "looping_tasks.py").write_text(
        f"{code}for name in 'AB':\n    gymnasium.register('Looping-' + name, {what})\n"
    )
    (tmp_path / "plain_tasks.py").write_text(f"{code}gymnasium.register('Plain-Task', {what})\n")
    for package in ("looping", "plain"):
        (tmp_path / f"{package}-1.dist-info").mkdir()
        entry = f"[isaaclab.tasks]\n{package} = {package}_tasks\n"
        (tmp_path / f"{package}-1.dist-info" / "entry_points.txt").write_text(entry)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert task_ids.computing_packages() == ["looping_tasks"]
    assert {"Plain-Task", "NeRD-Plain-Task"} <= {task.id for task in task_ids.find_tasks()}
    monkeypatch.setattr(task_ids, "registered_tasks", _import_again(task_ids.registered_tasks))
    monkeypatch.setattr("nerd_isaaclab.programs.list_envs.registered_tasks", task_ids.registered_tasks)
    assert nerd(["list-envs", "--keyword", "looping"]) == 0
    listed = capsys.readouterr()
    assert [line.split()[0] for line in listed.out.splitlines()[2:-1]] == [
        "Looping-A", "Looping-B", "NeRD-Looping-A", "NeRD-Looping-B"
    ]  # fmt: skip
    assert "looping_tasks computes ids of tasks" in listed.err
    task_ids.check_task("NeRD-Looping-B")


def _import_again(registered):
    """Lets the packages that came after the first import of this process be imported, as a new process would."""
    from nerd_isaaclab.tasks.derived import register_derived_tasks

    def again():
        register_derived_tasks()
        return registered()

    return again


def test_a_collection_proposes_motion_of_a_policy():
    """After data of a task with an agent the next commands are shown: train, and soon a tenth of motion of the first
    policy's own; data of a policy, or of a task without an agent, are followed by the training alone.
    """
    shown = next_steps(CollectCfg("NeRD-Ant-Run"), Path("data/my ant"), 300_000)
    assert shown.splitlines()[0] == "next: nerd train 'data/my ant' --out 'runs/my ant'"
    assert "--policy LOG_FOLDER --out 'data/my ant-policy' --transitions 30000" in shown
    assert "nerd train 'data/my ant' 'data/my ant-policy' --out 'runs/my ant-2'" in shown
    for cfg in (CollectCfg("NeRD-Ant-Run", policy="logs"), CollectCfg("No-Such-Task")):
        assert next_steps(cfg, Path("data/ant"), 300_000) == "next: nerd train data/ant --out runs/ant"


@pytest.mark.parametrize("command", [["rl", "train"], ["rl", "score", "--policy", "x"], ["zero-agent"]])
def test_unknown_task_lists_near_names(command: list[str], capsys):
    """Each program names tasks near one that does not exist before it starts anything, and asks for a missing one."""
    assert nerd([*command, "--task", "NeRD-Cartpol"]) == 2
    message = capsys.readouterr().err
    assert "unknown task 'NeRD-Cartpol', did you mean NeRD-Cartpole" in message and "nerd list-envs" in message
    assert nerd(command) == 2
    assert "--task is missing: expected the id of a task, for instance one of NeRD-Ant-Run" in capsys.readouterr().err


def test_wrong_physics_lists_the_presets(capsys):
    """A physics preset the task does not have is answered by those it has."""
    assert nerd(["rl", "train", "--task", "NeRD-Cartpole", "physics=bullet"]) == 2
    message = capsys.readouterr().err
    assert "got physics=bullet, expected one of the presets of NeRD-Cartpole" in message
    for preset in ("isaacsim_physx", "newton_mjwarp", "ovphysx"):
        assert preset in message


def test_unknown_words_after_rl_and_score_are_named(capsys):
    """Mistyped sub-commands and options are answered with what was meant or what there is."""
    assert nerd(["rl", "trian"]) == 2
    assert "unknown command 'trian', did you mean 'train'?" in capsys.readouterr().err
    with pytest.raises(SystemExit) as ended:
        nerd(["rl", "score", "--task", "NeRD-Cartpole", "--policy", "x", "--envs", "3"])
    assert ended.value.code == 2 and "--envs" in capsys.readouterr().err
    assert nerd(["rl", "score", "--task", "NeRD-Cartpole", "--policy", "x", "envs"]) == 2
    assert "unknown argument 'envs'" in capsys.readouterr().err


@pytest.mark.parametrize("program", ["transfer", "score", "evaluate", "generate", "rl"])
def test_examples_of_the_help_name_what_exists(program: str, repo_root: Path):
    """Policies and models that the examples of a help name, but for those a person is to put in, can be loaded."""
    text = (repo_root / f"exts/nerd_isaaclab/nerd_isaaclab/programs/{program}.py").read_text()
    options = re.findall(r"--(policy|checkpoint|model) (\S+)", text.split('"""')[1])
    assert options
    for option, value in options:
        if value == "latest" or value.startswith(("logs/", "runs/")):
            continue
        found = load_policy(repo_root / value) if option == "policy" else find_checkpoint(value)
        assert found


@pytest.mark.parametrize("spelling", ["--show_presets", "--show-presets"])
def test_options_have_both_spellings(spelling: str, monkeypatch):
    """An underscore in an option, as Isaac Lab writes it, does as well as a dash."""
    from nerd_isaaclab.programs import list_envs

    asked = []
    monkeypatch.setattr(list_envs, "_with_presets", lambda keyword: asked.append(keyword) or 0)
    assert nerd(["list-envs", "--keyword", "Ant", spelling]) == 0
    assert asked == ["Ant"]


@pytest.mark.parametrize("command", ["zero-agent", "random-agent", "rl train", "rl play"])
def test_programs_of_isaac_lab_have_the_name_that_was_typed(command: str, capsys):
    """What their own parsers say of a wrong word begins with our command: 'nerd train' is another one."""
    with contextlib.suppress(SystemExit):
        nerd([*command.split(), "--task", "NeRD-Cartpole", "--num_envs", "many"])
    assert f"nerd {command}: error" in capsys.readouterr().err


def test_missing_files_are_named(tmp_path, capsys):
    """A policy that is not there, a folder that is no run: the message says what was looked for."""
    assert nerd(["rl", "score", "--task", "NeRD-Cartpole", "--policy", str(tmp_path / "no.safetensors")]) == 2
    assert "there is no policy file" in capsys.readouterr().err
    assert nerd(["rl", "export", "--run", str(tmp_path), "--out", str(tmp_path / "out")]) == 2
    assert "is not the log folder of a run" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "script", ["list_envs.py", "zero_agent.py", "random_agent.py", "rsl_rl/train.py", "rsl_rl/play.py"]
)
def test_scripts_are_the_commands(script: str, repo_root: Path, monkeypatch):
    """Each script hands its arguments to the 'nerd' command it documents, and to nothing else."""
    import runpy

    given: list[list[str]] = []
    monkeypatch.setattr("nerd_core.cli.main", lambda argv: given.append(argv) or 0)
    monkeypatch.setattr(sys, "argv", [script, "--task", "T"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(repo_root / "scripts" / script), run_name="__main__")
    words = {"list_envs.py": ["list-envs"], "zero_agent.py": ["zero-agent"], "random_agent.py": ["random-agent"]}
    assert ended.value.code == 0
    assert given == [[*words.get(script, ["rl", Path(script).stem]), "--task", "T"]]


def test_interrupted_save_keeps_the_old_file_and_leaves_no_other(tmp_path, monkeypatch):
    """A checkpoint whose writing is interrupted is the old one, whole; nothing half-written lies beside it."""

    class Interrupting:
        def __reduce__(self):
            raise KeyboardInterrupt

    path = tmp_path / "model_0.pt"
    original = torch.save
    with whole_files():
        torch.save({"iter": 0}, path)
        with pytest.raises(KeyboardInterrupt):
            torch.save({"iter": 1, "bad": Interrupting()}, path)
    assert torch.save is original
    assert os.listdir(tmp_path) == ["model_0.pt"]
    assert torch.load(path, weights_only=True) == {"iter": 0}


def rsl_rl_actor():
    """Return an actor of RSL-RL with statistics of its own, and observations for it."""
    from rsl_rl.models import MLPModel
    from tensordict import TensorDict

    torch.manual_seed(0)
    obs = TensorDict({"policy": 3 * torch.randn(64, 5) + 1}, batch_size=64)
    distribution = {"class_name": "GaussianDistribution", "init_std": 1.0}
    actor = MLPModel(obs, {"actor": ["policy"]}, "actor", 2, [16, 8], "elu", True, distribution)
    actor.update_normalization(obs)
    return actor.eval(), obs


def test_policy_file_acts_as_the_actor_it_was_taken_from(tmp_path):
    """A policy taken from RSL-RL's checkpoint, saved and loaded, gives the actor's clipped mean to the last bit."""
    actor, obs = rsl_rl_actor()
    torch.save({"actor_state_dict": actor.state_dict(), "iter": 3}, tmp_path / "model_3.pt")
    agent = {"actor": {"activation": "elu"}, "clip_actions": 0.05}
    Policy.from_rsl_rl(tmp_path / "model_3.pt", agent, {"seed": 4}).save(tmp_path / "p.safetensors")
    policy = Policy.load(tmp_path / "p.safetensors")
    with torch.inference_mode():
        expected = actor(obs).clamp(-0.05, 0.05)
        assert torch.equal(policy(obs["policy"]), expected)
    assert (expected.abs() < 0.05).any() and (expected.abs() == 0.05).any()
    assert policy.facts == {"seed": 4} and policy.obs_dim == 5
    assert sorted(os.listdir(tmp_path)) == ["model_3.pt", "p.safetensors"]


def test_a_file_that_is_no_policy_is_refused(tmp_path):
    """Tensors without our header are not taken for a policy."""
    import safetensors.torch

    safetensors.torch.save_file({"mean": torch.zeros(2)}, tmp_path / "x.safetensors")
    with pytest.raises(ValueError, match="is not a policy: its header has no entry"):
        Policy.load(tmp_path / "x.safetensors")
    (tmp_path / "x.safetensors").write_bytes(b"\xff" * 300)
    with pytest.raises(ValueError, match="is not a whole safetensors file"):
        Policy.load(tmp_path / "x.safetensors")


def test_ids_that_are_computed_are_not_listed(tmp_path, monkeypatch):
    """Tasks that a package registers in a loop are left out of the list, which is read from the sources, instead of
    standing there with the text of their formula; those with plain ids are there.
    """
    (tmp_path / "looped_tasks").mkdir()
    lines = [
        "for n in (1, 2):",
        '    register_task(f"Looped-{n}", "looped_tasks.env:Cfg")',
        'register_task("Plain", "x:Cfg")',
    ]
    (tmp_path / "looped_tasks" / "__init__.py").write_text("\n".join(lines))
    monkeypatch.syspath_prepend(str(tmp_path))
    assert [task.id for task in task_ids._scan("looped_tasks")] == ["Plain", "Plain-Play"]


def test_shipped_models_are_listed_as_json(capsys: pytest.CaptureFixture[str]):
    """`nerd models list --json` prints one entry for each shipped model, with the task it is judged on, and nothing
    else.
    """
    import json

    from nerd_core.checkpoint_names import shipped_checkpoints
    from nerd_isaaclab.programs import models

    assert models.main(["list", "--json"]) == 0
    found = {each["name"]: each for each in json.loads(capsys.readouterr().out)}
    assert set(found) == set(shipped_checkpoints())
    assert found["ant"]["task"] == "NeRD-Ant-Run" and found["ant"]["bytes"] > 0 and found["ant"]["summary"]
