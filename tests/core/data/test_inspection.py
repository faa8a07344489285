# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Inspection: the numbers are right, and what is wrong with a dataset is found and said."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from nerd_core.cli import main as nerd
from nerd_core.data.checks import check
from nerd_core.data.dataset import TrajectoryDataset
from nerd_core.data.inspection import inspect
from nerd_core.data.layout import ShardMeta
from nerd_core.data.manifest import find_segments, write_manifest
from nerd_core.data.shards import ShardWriter
from support.trajectories import SPEC, make_padded


def _calm(count: int = 12, steps: int = 20, seed: int = 0) -> dict:
    """A robot that moves as its velocities say, between its limits, over a ground, with controls that saturate."""
    rng = np.random.default_rng(seed)
    at, dt = SPEC.state, SPEC.control_dt
    state = np.zeros((count, steps + 1, at.dim), np.float32)
    state[..., at.root_quat] = (0, 0, 0, 1)
    state[..., at.root_lin_vel] = rng.uniform(-1, 1, (count, 1, 3))
    state[..., at.joint_vel] = rng.uniform(-0.2, 0.2, (count, 1, 2))
    time = dt * np.arange(steps + 1)[None, :, None]
    state[..., at.root_pos] = rng.uniform(0.0, 2.0, (count, 1, 3)) + time * state[..., at.root_lin_vel]
    state[..., at.joint_pos] = (0.0, 0.2) + time * state[..., at.joint_vel]
    control = np.clip(rng.uniform(-2, 2, (count, steps, 2)), -1, 1).astype(np.float32)
    return {"state": state, "control": control, "ground": np.array([0, 0, 1, 0], np.float32)}


def _write(root, data: dict, shard: int = 0) -> None:
    with ShardWriter(root, SPEC, ShardMeta(task="hop", seed=shard, versions={"a": "1"}), shard=shard) as writer:
        writer.append(**data)


def test_coverage_is_measured(tmp_path):
    """Extremes, quantiles, shares beyond limits, saturation and step sizes equal those computed directly."""
    data = _calm()
    data["state"][:, :, SPEC.state.joint_pos.start] *= 20
    stats = inspect(TrajectoryDataset.from_tensors(SPEC, **data))
    first = data["state"][:, :-1]
    assert stats.sampled == stats.transitions == 240 and stats.duration == pytest.approx(240 * SPEC.control_dt)
    for i, coverage in enumerate(stats.state):
        values = first[..., i].astype(np.float64)
        assert coverage.quantiles[0] == values.min() and coverage.quantiles[-1] == values.max()
        assert coverage.quantiles[4] == pytest.approx(np.median(values))
        assert sum(coverage.counts) == 240
    hip = stats.state[SPEC.state.joint_pos.start]
    assert (hip.name, hip.unit, hip.lower) == ("hip", "rad", -1.0)
    assert hip.beyond == pytest.approx((np.abs(first[..., 7]) > 1.0).mean()) and hip.beyond > 0
    for i, channel in enumerate(stats.control):
        assert channel.saturated == pytest.approx((np.abs(data["control"][..., i]) > 0.998).mean())
    height = first[..., 2]
    torso = stats.slots[1]
    assert torso.name == "torso sphere 0" and stats.contact_source == "computed"
    assert torso.active == pytest.approx((height < 0.8).mean())
    assert torso.touching == pytest.approx((height <= 0.2).mean())
    assert all(step.sigma < 1e-5 for step in stats.steps if step.name.startswith("root"))


def test_a_sample_stands_for_the_whole():
    """Statistics of a tenth of the transitions are close to those of all."""
    data = TrajectoryDataset.from_tensors(SPEC, **make_padded(100, 100))
    whole, part = inspect(data), inspect(data, sample=whole_tenth(data))
    assert part.sampled == whole.sampled // 10
    for one, other in zip(whole.state, part.state, strict=True):
        assert other.mean == pytest.approx(one.mean, abs=0.15) and other.std == pytest.approx(one.std, rel=0.15)
    assert whole.contact_source == "recorded"
    assert whole.slots[0].active == pytest.approx(0.4, abs=0.03)


def whole_tenth(data: TrajectoryDataset) -> int:
    """A tenth of the number of transitions."""
    return data.transitions // 10


def test_a_sane_dataset_has_no_findings(tmp_path):
    """Nothing is found where nothing is wrong; without a manifest, that alone."""
    _write(tmp_path, _calm())
    assert [finding.what for finding in check(tmp_path)] == ["no manifest"]
    write_manifest(tmp_path)
    assert check(tmp_path) == []


@pytest.mark.parametrize(
    ("what", "level", "spoil"),
    [
        ("trajectories with NaN", "warning", lambda s: s.__setitem__((3, 5, 0), np.nan)),
        ("constant trajectories", "warning", lambda s: s.__setitem__(3, s[3, :1])),
        ("duplicate trajectories", "warning", lambda s: s.__setitem__(3, s[2])),
        (
            "quaternions that are not unit",
            "error",
            lambda s: s.__setitem__((3, 5, SPEC.state.root_quat), (0, 0, 0, 1.1)),
        ),
        ("states beyond the guard", "warning", lambda s: s.__setitem__((3, slice(None), SPEC.state.joint_vel), 1e3)),
        ("jumps in time", "error", lambda s: s.__setitem__((3, slice(8, None), 0), s[3, 8:, 0] + 0.4)),
        ("jumps in time", "error", lambda s: s.__setitem__((3, slice(8, None), 7), s[3, 8:, 7] + 0.3)),
        ("jumps in time", "error", lambda s: s.__setitem__((3, slice(8, None), SPEC.state.root_quat), (0, 0, 1, 0))),
    ],
)
def test_what_is_wrong_is_found(tmp_path, what, level, spoil):
    """One spoilt trajectory among twelve is found, counted once and named; no other finding comes with it."""
    data = _calm()
    if what == "duplicate trajectories":
        data["control"][3] = data["control"][2]
    spoil(data["state"])
    _write(tmp_path, data)
    write_manifest(tmp_path)
    (finding,) = check(tmp_path)
    assert (finding.what, finding.level, finding.count) == (what, level, 1)
    assert "shard-000/000000.h5, trajectory 3" in finding.first


def test_one_seed_in_two_shards_is_found(tmp_path):
    """The same trajectories in two shards are duplicates, and the first pair is named."""
    _write(tmp_path, _calm(), shard=0)
    _write(tmp_path, _calm(), shard=1)
    write_manifest(tmp_path)
    (finding,) = check(tmp_path)
    assert (finding.what, finding.count) == ("duplicate trajectories", 12)
    assert "shard-001" in finding.first and "shard-000" in finding.first


def test_a_damaged_segment_does_not_hide_the_others(tmp_path):
    """An unreadable segment is one finding; the rest is checked all the same."""
    data = _calm()
    data["state"][0, 0, 0] = np.nan
    _write(tmp_path, _calm(seed=1), shard=0)
    _write(tmp_path, data, shard=1)
    path = tmp_path / "shard-000" / "000000.h5"
    content = bytearray(path.read_bytes())
    content[-100] ^= 1
    path.write_bytes(content)
    assert {finding.what: finding.count for finding in check(tmp_path)} == {
        "unreadable segments": 1,
        "no manifest": 1,
        "trajectories with NaN": 1,
    }


def test_the_commands(tmp_path, capsys):
    """Each command of 'nerd data' runs, prints what it should, and gives JSON when asked."""
    root = tmp_path / "hops"
    _write(root, _calm())
    assert nerd(["data", "check", str(root), "--strict"]) == 1
    assert nerd(["data", "seal", str(root)]) == 0
    assert nerd(["data", "check", str(root), "--strict"]) == 0
    capsys.readouterr()
    assert nerd(["data", "info", str(root), "--json"]) == 0
    info = json.loads(capsys.readouterr().out)
    assert (info["robot"], info["complete"], info["transitions"]) == ("hopper", True, 240)
    assert info["shards"][0]["meta"]["task"] == "hop"
    assert nerd(["data", "stats", str(root), "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["state"]) == SPEC.state.dim
    for command in ("info", "stats"):
        assert nerd(["data", command, str(root)]) == 0
        assert "hopper" in capsys.readouterr().out
    assert nerd(["data", "plot", str(root), "--out", str(tmp_path / "page.png")]) == 0
    assert (tmp_path / "page.png").read_bytes().startswith(b"\x89PNG")


def test_errors_are_one_line(tmp_path, capsys):
    """What is missing or damaged gives a message and exit code 2, no traceback."""
    (tmp_path / "empty").mkdir()
    for path in (tmp_path / "nowhere", tmp_path / "empty"):
        for command in ("info", "stats", "check", "plot", "seal"):
            assert nerd(["data", command, str(path)]) == 2
            error = capsys.readouterr().err
            assert error.startswith("nerd data: ") and "Traceback" not in error and str(path) in error


def test_limits_of_wrapping_joints():
    """An angle that wraps is measured against a full turn, not against its limits."""
    import dataclasses

    from nerd_core.data.inspection import state_coordinates
    from nerd_core.robot.spec import Joint

    spec = dataclasses.replace(SPEC, joints=(Joint("hip", "revolute", (0.0, 1.0, 0.0), -9.0, 9.0), SPEC.joints[1]))
    assert state_coordinates(spec)[7] == ("hip", "rad", -math.pi, math.pi)


NAUGHTY = "evil\x1b]0;owned\x07\x1b[2J\u202e\x9b31m\ud800$\\frac{[bold]"
"""A name with escape sequences, a mark that turns the direction of writing, half a character, and mark-up."""


@pytest.fixture
def naughty(tmp_path):
    """A dataset in whose every name stands what terminals obey."""
    import dataclasses

    joints = tuple(dataclasses.replace(joint, name=NAUGHTY + joint.name) for joint in SPEC.joints)
    bodies = tuple(
        dataclasses.replace(
            body,
            name=NAUGHTY + body.name,
            parent=body.parent and NAUGHTY + body.parent,
            joint=body.joint and NAUGHTY + body.joint,
        )
        for body in SPEC.bodies
    )
    spec = dataclasses.replace(
        SPEC,
        name=NAUGHTY,
        joints=joints,
        bodies=bodies,
        controls=tuple(dataclasses.replace(control, joint=NAUGHTY + control.joint) for control in SPEC.controls),
        slots=tuple(dataclasses.replace(slot, body=NAUGHTY + slot.body) for slot in SPEC.slots),
    )
    words = {name: NAUGHTY for name in ("task", "teacher", "excitation", "command", "host")}
    meta = ShardMeta(**words, versions={NAUGHTY: NAUGHTY}, notes={NAUGHTY: NAUGHTY + "\n" + NAUGHTY})
    data = _calm()
    data["state"][3, 5:, 0] += 1.0
    root = tmp_path / "naughty"
    for shard in range(2):
        with ShardWriter(root, spec, meta, shard=shard) as writer:
            writer.append(**data)
        spec = dataclasses.replace(spec, decimation=spec.decimation + shard)
    return root


def test_names_reach_no_terminal(naughty, tmp_path, capfd):
    """Names of robot, joints, bodies, facts and origin are shown with their escape sequences written out, by each
    command of 'nerd data' and in errors.
    """
    words = [["info"], ["stats"], ["check"], ["plot", "--out", str(tmp_path / "page.png")], ["seal"]]
    words += [[command, "--json"] for command in ("info", "stats", "check")]
    for command, *options in words:
        nerd(["data", command, str(naughty), *options])
        told = capfd.readouterr()
        text = told.out + told.err
        assert not [char for char in text if not (char.isprintable() or char == "\n")], (command, text)
        assert "evil" in text or command in ("plot", "seal", "check"), command
    other = ShardMeta(task="x")
    with pytest.raises(ValueError, match="evil"):
        ShardWriter(naughty, find_segments(naughty).spec, other)
    with ShardWriter(naughty, SPEC, other, shard=7) as writer:
        writer.append(**_calm())
    assert nerd(["data", "info", str(naughty)]) == 2
    told = capfd.readouterr().err
    assert "evil" in told and not [char for char in told if not (char.isprintable() or char == "\n")]
