# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Dumps of a bad model in a real environment, and their replay with the same checkpoint. One engine for all tests."""

from __future__ import annotations

import json

import pytest
import torch

from nerd_core import checkpoint
from support.seam import make_env, untrained_predictor

NUM_ENVS = 12
MEMORY = 8
"""Steps that the model of the test looks back: two layers of a window of four."""


def _only_the_guard(cfg):
    """Lets the robot go on until the guard stops it."""
    for name in ("fallen", "diverged"):
        setattr(cfg.terminations, name, None)


@pytest.fixture(scope="module")
def dumps(tmp_path_factory):
    """A folder of dumps, of an Ant whose model throws it about, and the checkpoint of that model."""
    folder = tmp_path_factory.mktemp("guard")
    env = make_env("NeRD-Ant-Run", NUM_ENVS, change=_only_the_guard, dump_dir=str(folder / "dumps"))
    env.reset(seed=0)
    env.step(torch.zeros(NUM_ENVS, 8))
    predictor = untrained_predictor(env)
    predictor.change_normaliser.std.mul_(30.0)
    checkpoint.save(folder / "bad", predictor)
    env.load_nerd_checkpoint(str(folder / "bad"))
    env.set_nerd_mode("neural")
    env.reset(seed=0)
    generator = torch.Generator().manual_seed(0)
    events = 0
    for _ in range(60):
        env.step(torch.rand(NUM_ENVS, 8, generator=generator) * 2.0 - 1.0)
        events += int(env.nerd.held.any())
    yield folder, events
    env.close()


def test_every_event_is_dumped_up_to_a_limit(dumps):
    """One dump for each step in which the guard acted, twenty at the most."""
    folder, events = dumps
    written = sorted(path.name for path in (folder / "dumps").iterdir())
    assert events > 0, "the model was not bad enough to prove anything"
    assert written == [f"dump-{i:04d}" for i in range(1, min(events, 20) + 1)]


def test_a_dump_says_what_happened(dumps):
    """The model's name without its folder, what left its bounds, and a history that begins at the reset."""
    from nerd_isaaclab.physics.guard_dump import find_violations, load

    dump = load(dumps[0] / "dumps" / "dump-0001")
    assert dump.facts["checkpoint"] == "bad"
    assert dump.facts["mode"] == "neural"
    assert dump.facts["task"] == "NeRD-Ant-Run"
    assert dump.facts["num_envs"] == NUM_ENVS
    for row in range(len(dump.env_ids)):
        assert find_violations(dump.spec, dump.state[row, -1]) == []
        assert find_violations(dump.spec, dump.refused[row])
        assert dump.plane is not None
        assert dump.plane[row].tolist() == [0.0, 0.0, 1.0, 0.0]
        unknown = dump.state.shape[1] - int(dump.length[row])
        assert (dump.state[row, :unknown] == 0.0).all()
        assert dump.state[row, unknown:].any(dim=-1).all()


def test_the_same_model_does_it_again(dumps, tmp_path, capsys):
    """Given the recorded states and controls, the checkpoint predicts every state on the way and the refused one."""
    from nerd_isaaclab.physics.guard_dump import load
    from nerd_isaaclab.programs.replay import main, simulate

    folder, _ = dumps
    longest = 0
    for path in sorted((folder / "dumps").iterdir()):
        dump = load(path)
        longest = max(longest, int(dump.length.max()))
        predicted = simulate(dump, str(folder / "bad"))
        torch.testing.assert_close(predicted[:, -1], dump.refused, atol=1e-3, rtol=1e-4)
        for row, known in enumerate(dump.length.tolist()):
            # A past that was cut off at its full length lacks what the model still remembered in its first steps.
            start = -known if known < dump.facts["memory"] else -known + MEMORY
            difference = predicted[row, start:-1] - dump.state[row, start + 1 :] if known > 1 else torch.zeros(1)
            assert difference.abs().max() < 1e-3
    assert longest > 3, "every environment was refused at once: histories were not put to the test"
    target = tmp_path / "said.json"
    assert main([str(folder / "dumps" / "dump-0001"), "--checkpoint", str(folder / "bad"), "--json", str(target)]) == 0
    said = json.loads(target.read_text())
    assert said["environments"][0]["other_model"]["difference_to_refused"] < 1e-3
    assert "other model" in capsys.readouterr().out
