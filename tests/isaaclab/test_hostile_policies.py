# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Policy files and logs of runs that somebody else may have written: a sentence, and nothing in them runs."""

from __future__ import annotations

import json
import os
import pickle
import random
import struct
import zipfile
from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
import torch

from nerd_core.cli import main as nerd
from nerd_isaaclab.policies.export import export_run
from nerd_isaaclab.policies.load import load_policy
from nerd_isaaclab.policies.policy import Policy
from nerd_isaaclab.policies.rsl_rl_file import PolicyError, only_weights
from nerd_isaaclab.policies.runs import load_agent, load_curve, load_task

pytestmark = pytest.mark.unit

HEADER: dict[str, Any] = {"activation": "elu", "clip": 1.0, "facts": {"seed": 1}}
ACTOR = {
    "mlp.0.weight": torch.ones(4, 3),
    "mlp.0.bias": torch.zeros(4),
    "mlp.2.weight": torch.ones(2, 4),
    "mlp.2.bias": torch.zeros(2),
    "obs_normalizer._mean": torch.zeros(1, 3),
    "obs_normalizer._std": torch.ones(1, 3),
}
AGENT = "actor:\n  activation: elu\nclip_actions: 1.0\nseed: 3\n"
TENSORS = {name.replace("mlp", "network"): tensor for name, tensor in ACTOR.items() if name.startswith("mlp")}
TENSORS |= {"mean": torch.zeros(3), "scale": torch.ones(3)}


class Bomb:
    """Leaves a trace when it is unpickled."""

    def __init__(self, trace: Path):
        self.trace = trace

    def __reduce__(self):
        return Path.touch, (self.trace,)


def write_policy(path: Path, tensors: dict[str, torch.Tensor], header: Any) -> None:
    """Writes a policy file that may be wrong."""
    text = header if isinstance(header, str) else json.dumps(header)
    path.write_bytes(safetensors.torch.save(tensors, {"nerd_policy": text}))


def write_run(folder: Path, content: Any = None, agent: str = AGENT) -> Path:
    """Writes the log folder of a run that may be wrong."""
    (folder / "params").mkdir(parents=True)
    (folder / "params" / "agent.yaml").write_text(agent)
    if isinstance(content, bytes):
        (folder / "model_7.pt").write_bytes(content)
    else:
        torch.save({"actor_state_dict": ACTOR} if content is None else content, folder / "model_7.pt")
    return folder


def refused(path: Path) -> str:
    """The message with which a policy is refused; one sentence, whatever is in the file."""
    with pytest.raises((PolicyError, FileNotFoundError)) as error:
        load_policy(path)
    assert 20 < len(str(error.value)) < 1200
    return str(error.value)


def test_a_sound_policy_and_a_sound_run_load(tmp_path):
    """What the hostile ones are made from is taken."""
    write_policy(tmp_path / "p.safetensors", TENSORS, HEADER)
    first, second = load_policy(tmp_path / "p.safetensors"), load_policy(write_run(tmp_path / "run"))
    assert first.obs_dim == second.obs_dim == 3
    name = "network.0.weight"
    assert torch.equal(first.state_dict()[name], second.state_dict()[name])


@pytest.mark.parametrize(
    "header",
    [
        "",
        "nothing",
        "[]",
        "1",
        "[" * 1000,
        {},
        {**HEADER, "activation": "exec"},
        {**HEADER, "activation": ["elu"]},
        {**HEADER, "activation": "x" * 5000},
        {**HEADER, "clip": "1"},
        {**HEADER, "clip": 0},
        {**HEADER, "clip": -1.0},
        {**HEADER, "clip": True},
        '{"activation": "elu", "clip": NaN, "facts": {}}',
        '{"activation": "elu", "clip": 1e999, "facts": {}}',
        '{"activation": "elu", "clip": ' + "9" * 4000 + ', "facts": {}}',
        '{"activation": "elu", "clip": ' + "9" * 60 + ', "facts": 3}',
        {**HEADER, "facts": []},
        {key: value for key, value in HEADER.items() if key != "facts"},
    ],
    ids=lambda header: str(header)[:40],
)
def test_hostile_headers_are_refused(header, tmp_path):
    """Texts that are no JSON, wrong types, missing entries, numbers that are none and those of 4,000 digits."""
    write_policy(tmp_path / "p.safetensors", TENSORS, header)
    assert "p.safetensors' cannot be loaded" in refused(tmp_path / "p.safetensors")


@pytest.mark.parametrize(
    "changes",
    [
        {"mean": None},
        {"scale": None},
        {"mean": torch.zeros(())},
        {"mean": torch.zeros(0)},
        {"mean": torch.zeros(9), "scale": torch.ones(9)},
        {"mean": torch.zeros(3, dtype=torch.int64)},
        {"mean": torch.full((3,), torch.nan)},
        {"scale": torch.zeros(3)},
        {"scale": -torch.ones(3)},
        {"network.0.weight": None},
        {"network.0.weight": torch.ones(4)},
        {"network.0.weight": torch.ones(0, 3), "network.0.bias": torch.ones(0)},
        {"network.0.weight": torch.ones(5, 3)},
        {"network.0.weight": torch.full((4, 3), torch.inf)},
        {"network.0.bias": None},
        {"network.2.bias": torch.ones(7)},
        {"network.2.weight": torch.ones(2, 5)},
        {name: None for name in TENSORS if name.startswith("network")},
        {f"network.{'9' * 5000}.weight": torch.ones(1), "network.0.weight": None, "network.2.weight": None},
    ],
    ids=lambda changes: " ".join(changes)[:40],
)
def test_tensors_that_do_not_fit_are_refused(changes, tmp_path):
    """Missing, empty, wrong in shape or type, not finite, and scales that would divide by zero."""
    tensors = {name: tensor for name, tensor in {**TENSORS, **changes}.items() if tensor is not None}
    write_policy(tmp_path / "p.safetensors", tensors, HEADER)
    refused(tmp_path / "p.safetensors")
    actor = {f"mlp{name.removeprefix('network')}": tensor for name, tensor in tensors.items() if "network" in name}
    if {name for name in changes if "network" in name}:
        refused(write_run(tmp_path / "run", {"actor_state_dict": actor}))


def test_garbage_and_cut_files_are_refused(tmp_path):
    """Two hundred files that are cut, flipped, empty or of another format, as a policy and as a checkpoint of a run."""
    write_policy(tmp_path / "p.safetensors", TENSORS, HEADER)
    policy, run = (tmp_path / "p.safetensors"), write_run(tmp_path / "run")
    rng = random.Random(0)
    for path, where in ((policy, policy), (run / "model_7.pt", run)):
        sound = path.read_bytes()
        for number in range(100):
            content = bytearray(sound)
            if number < 50:
                content = content[: rng.randrange(len(content))]
            elif number < 90:
                for _ in range(rng.choice([1, 4, 64])):
                    content[rng.randrange(min(len(content), 800))] ^= 1 << rng.randrange(8)
            else:
                content = bytearray(rng.choice([b"", b"\0" * 64, b"{}", rng.randbytes(999), pickle.dumps([1])]))
            path.write_bytes(content)
            try:
                load_policy(where)
            except (PolicyError, FileNotFoundError) as error:
                assert 20 < len(str(error)) < 1200


def test_what_is_no_plain_file_is_refused(tmp_path):
    """A directory, a pipe and a link in the place of a policy."""
    (tmp_path / "a" / "policy.safetensors").mkdir(parents=True)
    (tmp_path / "b").mkdir()
    os.mkfifo(tmp_path / "b" / "policy.safetensors")
    (tmp_path / "c").mkdir()
    write_policy(tmp_path / "elsewhere", TENSORS, HEADER)
    (tmp_path / "c" / "policy.safetensors").symlink_to(tmp_path / "elsewhere")
    for name in "abc":
        refused(tmp_path / name)
    assert "is a link" in refused(tmp_path / "c")


def test_nothing_in_a_checkpoint_runs(tmp_path):
    """A pickle that would run something is refused where we read it, and where RSL-RL does so itself (nerd rl play)."""
    trace = tmp_path / "ran"
    run = write_run(tmp_path / "run", {"actor_state_dict": ACTOR, "infos": Bomb(trace)})
    assert "can run code" in refused(run)
    with only_weights(), pytest.raises(pickle.UnpicklingError):
        torch.load(run / "model_7.pt", weights_only=False)
    assert not trace.exists()
    assert "TORCH_FORCE_WEIGHTS_ONLY_LOAD" not in os.environ
    torch.load(run / "model_7.pt", weights_only=False)
    assert trace.exists()  # so the file does run where nobody looks


def test_play_and_train_read_only_weights(monkeypatch):
    """While Isaac Lab's programs run, PyTorch is told to read tensors and plain values alone, whatever RSL-RL asks."""
    seen = []

    def look(*_: Any) -> int:
        seen.append((os.environ.get("TORCH_FORCE_WEIGHTS_ONLY_LOAD"), "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD" in os.environ))
        return 0

    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "1")
    monkeypatch.setattr("nerd_isaaclab.launch.isaaclab_programs.run_isaaclab_program", look)
    assert nerd(["rl", "play", "--task", "T"]) == 0 and nerd(["rl", "train", "--task", "T"]) == 0
    assert seen == [("1", False), ("1", False)] and os.environ["TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"] == "1"


def test_checkpoints_that_ask_for_memory_are_refused(tmp_path):
    """A packed archive, a pickle as large as the memory, and a tensor that is larger than the file."""
    packed = tmp_path / "packed.zip"
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("archive/data.pkl", b"\0" * 10**7)
    assert "more memory" in refused(write_run(tmp_path / "a", packed.read_bytes()))
    views = {**ACTOR, "mlp.0.weight": torch.ones(1).expand(2**20, 2**20)}
    assert "this file's size" in refused(write_run(tmp_path / "b", {"actor_state_dict": views}))
    for content in ({}, [], {"actor_state_dict": []}, {"actor_state_dict": {"mlp.0.weight": 3}}, torch.ones(3)):
        refused(write_run(tmp_path / f"c{len(list(tmp_path.iterdir()))}", content))


@pytest.mark.parametrize(
    "agent",
    [
        "",
        "[1, 2]",
        "a: [",
        "a: &a [*a",
        "\t",
        "[" * 3000,
        "!!python/object/apply:os.system [echo]",
        "actor: {activation: !!python/object/apply:os.system [echo]}",
        "actor: [elu]",
        "actor: {activation: 3}",
        "actor: {activation: elu}\nclip_actions: x",
        "actor: {activation: elu}\nclip_actions: " + "9" * 5000,
        "actor: {activation: elu}\nclip_actions: .nan",
        "actor: {activation: elu}\nclip_actions: 2020-99-99",
        "? {a: b}\n: c",
        "a: b\na: " + "x" * 2**21,
    ],
    ids=lambda agent: agent[:40],
)
def test_hostile_settings_of_an_agent_are_refused(agent, tmp_path):
    """YAML that is none, that is nested deeply, too long, of another structure, or that wants to run something."""
    refused(write_run(tmp_path / "run", agent=agent))


def test_facts_of_a_run_cannot_fill_the_memory(tmp_path):
    """References in YAML that stand for a tree of 10^9 leaves are not followed, and a task has to be a name."""
    laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
    laughs += "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 10)) + "seed: *a9\n"
    run = write_run(tmp_path / "run", agent=AGENT.replace("seed: 3\n", laughs))
    assert load_agent(run)["actor"] == {"activation": "elu"}
    for task in ('{"task": ["x"]}', "[]", '{"task": "' + "x" * 500 + '"}'):
        (run / "run.json").write_text(task)
        assert load_task(run) is None
    (run / "run.json").write_text('{"task": ')
    with pytest.raises(ValueError, match=r"run\.json"):
        load_task(run)


def test_damaged_events_and_names_are_refused_by_export(tmp_path):
    """An event file that is garbage, and a checkpoint whose name tells no iteration."""
    run = write_run(tmp_path / "run")
    for content in (b"", b"\0" * 99, struct.pack("<QI", 2**60, 1) + b"x" * 50, random.Random(0).randbytes(4000)):
        (run / "events.out.tfevents.1.host").write_bytes(content)
        with pytest.raises(ValueError, match="event file"):
            load_curve(run)
    with pytest.raises(ValueError, match="event file"):
        export_run(run, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_message_of_a_policy_is_one_line_without_a_traceback(tmp_path, capsys, monkeypatch):
    """The command says what is wrong and ends with 2."""
    monkeypatch.delenv("NERD_DEBUG", raising=False)
    (tmp_path / "p.safetensors").write_bytes(b"\x00" * 100)
    assert nerd(["rl", "score", "--task", "NeRD-Cartpole", "--policy", str(tmp_path / "p.safetensors")]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and "cannot be loaded" in error


def test_a_policy_is_saved_as_it_can_be_loaded(tmp_path):
    """What the checks ask for is what the class itself writes."""
    policy = Policy([(torch.ones(2, 3), torch.zeros(2))], torch.zeros(3), torch.ones(3), "tanh", None, {"a": [1]})
    policy.save(tmp_path / "p.safetensors")
    assert Policy.load(tmp_path / "p.safetensors").facts == {"a": [1]}
