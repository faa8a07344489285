# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Collecting from the Cartpole on the real engine: the same bytes whatever happens, with and without managers."""

from __future__ import annotations

import dataclasses
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from nerd_core import checkpoint
from nerd_core.checkpoint_names import find_checkpoint
from nerd_core.data.manifest import MANIFEST
from nerd_core.data.shards import ShardReader, ShardWriter
from nerd_core.dynamics import rollout
from nerd_isaaclab.collect.collect_cfg import CollectCfg, CollectError
from support.seam import make_env

NUM_ENVS, STEPS, BATCHES, LONG = 16, 20, 4, 180
TRANSITIONS = NUM_ENVS * STEPS * BATCHES
LEAN = CollectCfg("NeRD-Cartpole", steps=STEPS, num_envs=NUM_ENVS, seed=3)
MANAGED = dataclasses.replace(LEAN, managers=True, initial="wide", shares={"random": 0.5, "ou": 0.5})


def collect(env, cfg: CollectCfg, out: Path, shard: int = 0, transitions: int = TRANSITIONS):
    """Runs a collector and returns its report."""
    from nerd_isaaclab.collect.collector import Collector

    return Collector(env, cfg, out, shard).run(transitions, lambda report: None)


def content(folder: Path) -> dict[str, bytes]:
    """The segments below a folder, by name."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*.h5"))}


@pytest.fixture(scope="module")
def lean_env():
    """One environment for the tests without managers."""
    from nerd_isaaclab.collect.collector import change_task

    env = make_env("NeRD-Cartpole", NUM_ENVS, lambda cfg: change_task(cfg, LEAN))
    yield env
    env.close()


@pytest.fixture(scope="module")
def reference(lean_env, tmp_path_factory):
    """Two shards of a collection that nothing disturbed."""
    folder = tmp_path_factory.mktemp("reference")
    for shard in range(2):
        collect(lean_env, LEAN, folder, shard)
    return folder


def test_the_same_collection_twice_gives_the_same_bytes(lean_env, reference, tmp_path):
    """Seed, shard and number of a batch decide every byte of it; two shards differ."""
    collect(lean_env, LEAN, tmp_path, 0)
    first, again = content(reference), content(tmp_path)
    assert len(again) == BATCHES and all(first[name] == again[name] for name in again)
    assert first["shard-000/000000.h5"] != first["shard-001/000000.h5"]


def test_an_interrupted_collection_goes_on_to_the_same_bytes(lean_env, reference, tmp_path):
    """Stopped after each batch in turn, with rubbish in the place of an unfinished one, it ends as if it had not been,
    its report included.
    """
    for batches in range(1, BATCHES + 1):
        report = collect(lean_env, LEAN, tmp_path, 0, batches * NUM_ENVS * STEPS)
        (tmp_path / "shard-000" / f"{batches:06d}.h5.writing").write_bytes(b"rubbish")
    (tmp_path / "shard-000" / f"{BATCHES:06d}.h5.writing").unlink()
    expected = {name: data for name, data in content(reference).items() if name.startswith("shard-000")}
    assert content(tmp_path) == expected
    assert report.transitions == TRANSITIONS and sum(report.kinds.values()) == NUM_ENVS * BATCHES


def test_recorded_steps_are_what_the_solver_does(lean_env, reference):
    """Each recorded state, written back to the engine and stepped under the recorded control, gives the next one."""
    check_by_replay(lean_env, reference / "shard-000", tolerance=2e-3)


def check_by_replay(env, shard: Path, tolerance: float) -> None:
    """Replays all transitions of a shard in the engine, each from its written state."""
    from nerd_isaaclab.collect.lean_scene import LeanScene

    scene = LeanScene(env)
    for batch in ShardReader(shard):
        ends = torch.from_numpy(batch.rows("state")[1:] - 1)
        state = torch.from_numpy(batch.state)
        is_last = torch.zeros(len(state), dtype=torch.bool)
        is_last[ends] = True
        before, after = state[~is_last], state[1:][~is_last[:-1]]
        for start in range(0, len(before), NUM_ENVS):
            part, control = before[start : start + NUM_ENVS], batch.control[start : start + NUM_ENVS]
            full = torch.zeros(NUM_ENVS, state.shape[-1])
            full[: len(part)] = part
            effort = torch.zeros(NUM_ENVS, control.shape[-1])
            effort[: len(part)] = torch.from_numpy(control)
            scene.write(full)
            got = scene.step(effort)[: len(part)]
            torch.testing.assert_close(got, after[start : start + NUM_ENVS], atol=tolerance, rtol=1e-4)


def test_trajectories_outside_the_guard_are_left_out_and_reported(lean_env, tmp_path, monkeypatch):
    """What leaves the guard is not recorded but counted; when nothing is left, the collection ends with an error."""
    spec = lean_env.robot_spec
    for limit, usable in ((8.0, True), (1e-6, False)):
        guard = dataclasses.replace(spec.guard, max_ang_vel=limit)
        monkeypatch.setattr(lean_env, "_spec", dataclasses.replace(spec, guard=guard))
        if usable:
            report = collect(lean_env, LEAN, tmp_path, 7)
            assert report.transitions >= TRANSITIONS
            assert report.trajectories + report.dropped["outside the guard"] == sum(report.kinds.values())
        else:
            with pytest.raises(CollectError, match="not one usable trajectory"):
                collect(lean_env, LEAN, tmp_path, 8)


def test_a_shard_of_other_settings_or_another_robot_is_left_alone(lean_env, reference):
    """Continuing with another seed, or another robot, is refused in words and changes nothing."""
    before = content(reference)
    with pytest.raises(ValueError, match="begun with another origin"):
        collect(lean_env, dataclasses.replace(LEAN, seed=4), reference)
    spec = dataclasses.replace(lean_env.robot_spec, physics_dt=0.01)
    with pytest.raises(ValueError, match="physics_dt"):
        ShardWriter(reference, spec, ShardReader(reference / "shard-000").meta, shard=0)
    assert content(reference) == before


@pytest.mark.long  # half a minute: five starts of the engine; its twin above goes on in one process
def test_killed_workers_lose_nothing_and_two_workers_write_two_shards(reference, tmp_path):
    """'nerd generate' with two workers, killed while they write and called again, gives the bytes of the reference."""
    command = [sys.executable, "-m", "nerd_core", "generate", "--task", "NeRD-Cartpole", "--out", str(tmp_path)]
    command += ["--transitions", str(2 * TRANSITIONS), "--workers", "2", "--num-envs", str(NUM_ENVS)]
    command += ["--steps", str(STEPS), "--seed", "3", "--device", "cpu"]
    run = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=dict(os.environ))
    end = time.monotonic() + 120
    while not list(tmp_path.rglob("*.h5")) and run.poll() is None and time.monotonic() < end:
        time.sleep(0.01)
    run.send_signal(signal.SIGINT)
    said = run.communicate(timeout=60)[1]
    assert "Traceback" not in said, said
    assert run.returncode in (0, 130)
    done = subprocess.run(command, capture_output=True, text=True, timeout=180)
    assert done.returncode == 0, done.stderr
    assert content(tmp_path) == content(reference)
    assert (tmp_path / MANIFEST).is_file() and "dropped" in done.stdout


# -- with managers: one more environment, after the others ------------------------------------------------------------


@pytest.fixture(scope="module")
def managed_env(lean_env, reference):
    """The environment with a recorder, once the one without is gone."""
    from nerd_isaaclab.collect.collector import change_task

    lean_env.close()
    env = make_env("NeRD-Cartpole", NUM_ENVS, lambda cfg: change_task(cfg, dataclasses.replace(MANAGED, steps=LONG)))
    yield env
    env.close()


def test_managers_cut_trajectories_where_they_reset(managed_env, tmp_path):
    """With managers the same collection gives the same bytes twice; episodes that end cut trajectories, so none of the
    recorded steps crosses a reset: each is what the solver makes of it.
    """
    cfg = dataclasses.replace(MANAGED, initial="wide")  # fast starts: many leave the rail
    for name in ("one", "two"):
        report = collect(managed_env, cfg, tmp_path / name)
    assert content(tmp_path / "one") == content(tmp_path / "two")
    lengths = [length for batch in ShardReader(tmp_path / "one" / "shard-000") for length in batch.length.tolist()]
    assert sum(lengths) == report.transitions and min(lengths) < STEPS <= max(lengths) == STEPS
    assert len(lengths) > NUM_ENVS * BATCHES
    check_by_replay(managed_env, tmp_path / "one" / "shard-000", tolerance=2e-3)


def test_a_policy_acts_with_noise(managed_env, repo_root, tmp_path):
    """Under the kept policy and noise most poles stand after 3 s, under random actions few; noise differs by seed."""
    path = repo_root / "policies" / "NeRD-Cartpole" / "policy.safetensors"
    standing, controls = {}, {}
    for kind, noise in (("policy", 0.2), ("policy", 0.0), ("random", 0.0)):
        cfg = dataclasses.replace(MANAGED, shares={kind: 1.0}, policy=str(path), policy_noise=noise, steps=LONG)
        folder = tmp_path / f"{kind}-{noise}"
        collect(managed_env, cfg, folder, transitions=NUM_ENVS * LONG // 2)
        batch = next(iter(ShardReader(folder / "shard-000")))
        last = torch.from_numpy(batch.state[batch.rows("state")[1:] - 1])
        standing[kind, noise] = (last[:, 1].cos() > 0.9).float().mean()
        controls[kind, noise] = batch.control
    assert standing["policy", 0.0] > 0.7 and standing["policy", 0.2] > 0.5 and standing["random", 0.0] < 0.5
    size = min(len(control) for control in controls.values())
    assert (controls["policy", 0.0][:size] != controls["policy", 0.2][:size]).any()


def test_the_solver_takes_over_where_a_model_has_led(managed_env, tmp_path):
    """With managers and a visited model trajectories begin where the model leads from the task's resets in a drawn
    number of steps. What is recorded then is the solver's, and the same command gives the same bytes.
    """
    cfg = dataclasses.replace(MANAGED, shares={"zero": 1.0}, steps=10, initial="task")
    model = str(find_checkpoint("cartpole-quick"))
    first = {}
    for name, visited in (("plain", None), ("one", model), ("two", model)):
        collect(managed_env, dataclasses.replace(cfg, visited=visited, visited_steps=60), tmp_path / name)
        batches = list(ShardReader(tmp_path / name / "shard-000"))
        first[name] = torch.cat([torch.from_numpy(batch.state[batch.rows("state")[:-1]]) for batch in batches])
    assert content(tmp_path / "one") == content(tmp_path / "two")
    path = rollout(checkpoint.load(model), first["plain"][:NUM_ENVS], torch.zeros(NUM_ENVS, 60, 1))
    away = (path - first["one"][:NUM_ENVS, None])[..., [0, 2, 3]].abs().amax(-1)  # angles may count turns
    steps = int(away.median(0).values.argmin())
    assert steps > 0 and (away[:, steps] < 1e-2).float().mean() > 0.7  # some episodes end
    check_by_replay(managed_env, tmp_path / "one" / "shard-000", tolerance=2e-3)


def test_a_recorder_of_its_own_writes_what_a_task_does(managed_env, tmp_path):
    """Put into any task's recorders with a folder, the term writes every step of the task to a shard by itself."""
    from nerd_isaaclab.recorders.transition_recorder import TransitionRecorder, TransitionRecorderCfg

    term = TransitionRecorder(TransitionRecorderCfg(out=str(tmp_path), steps=8), managed_env)
    managed_env.recorder_manager._terms["transitions"] = term
    managed_env.reset(seed=0)
    for _ in range(20):
        managed_env.step(torch.rand(NUM_ENVS, 1) * 2.0 - 1.0)
    term.close("")
    batches = list(ShardReader(tmp_path / "shard-recorded"))
    assert sum(batch.transitions for batch in batches) == 20 * NUM_ENVS
    for batch in batches:
        assert batch.ground is not None and (batch.ground == [0.0, 0.0, 1.0, 0.0]).all()
    check_by_replay(managed_env, tmp_path / "shard-recorded", tolerance=2e-3)
