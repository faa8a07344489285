# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What a dump says about a refused state, and that reading one is safe. Needs no engine."""

from __future__ import annotations

import dataclasses
import json
import math
import os

import pytest
import torch

from nerd_core.files.safe_files import UnsafeFile
from nerd_core.files.safe_tensors import tensor_bytes
from nerd_isaaclab.physics.guard_dump import STEPS, GuardDump, find_violations, load, save, state_names
from nerd_isaaclab.programs.replay import main as replay
from support.robots import ant, cartpole

pytestmark = pytest.mark.unit


def _dump(count: int = 2, steps: int = 5) -> GuardDump:
    """A dump of a Cartpole: the cart of the first environment too far, the pole speed of the second not a number."""
    spec = cartpole()
    generator = torch.Generator().manual_seed(0)
    state = torch.randn(count, steps, spec.state.dim, generator=generator)
    refused = state[:, -1].clone()
    refused[0, spec.state.joint_pos.start] = 1.0e3
    refused[1, spec.state.joint_vel.start + 1] = math.nan
    length = torch.tensor([steps, 2])
    state[1, : steps - 2] = 0.0
    return GuardDump(
        spec=spec,
        facts={"task": "NeRD-Cartpole", "checkpoint": "bad", "step": 70, "held": 2, "seed": 0},
        env_ids=torch.tensor([3, 7]),
        length=length,
        state=state,
        control=torch.randn(count, steps, spec.control_dim, generator=generator),
        refused=refused,
    )


def test_a_dump_comes_back_as_it_was_written(tmp_path):
    """Every tensor to the last bit, numbers that are not finite included, the robot and the facts."""
    dump = _dump()
    save(tmp_path / "dump", dump)
    back = load(tmp_path / "dump")
    assert back.spec == dump.spec
    assert back.facts == dump.facts
    for name in ("env_ids", "length", "state", "control", "refused"):
        assert torch.equal(getattr(back, name).nan_to_num(12345.0), getattr(dump, name).nan_to_num(12345.0)), name
    assert back.plane is None


@pytest.mark.parametrize("part", ["root_pos", "joint_pos", "root_lin_vel", "root_ang_vel", "joint_vel"])
def test_every_part_of_a_state_is_named_when_it_leaves_its_bounds(part):
    """The one number that is outside is the one that is named, with its value and the bound that it left."""
    spec = ant()
    state = torch.zeros(spec.state.dim)
    state[spec.state.root_quat.stop - 1] = 1.0
    lower = torch.tensor([joint.lower for joint in spec.joints])
    upper = torch.tensor([joint.upper for joint in spec.joints])
    state[spec.state.joint_pos] = 0.5 * (lower + upper).nan_to_num(0.0)
    assert find_violations(spec, state) == []
    index = getattr(spec.state, part).start
    for value, what in ((1.0e6, "above the bound"), (-1.0e6, "below the bound"), (math.nan, "is not finite")):
        state[index] = value
        (found,) = find_violations(spec, state)
        assert found.index == index
        assert found.coordinate == state_names(spec)[index]
        assert found.coordinate.startswith(part)
        assert found.what == what
        assert found.value == value or math.isnan(value)


def test_a_vector_that_is_too_long_is_named_where_no_number_is_outside():
    """The guard also bounds speeds and the length of the quaternion."""
    spec = ant()
    state = torch.zeros(spec.state.dim)
    state[spec.state.root_quat.stop - 1] = 1.0
    state[spec.state.joint_pos] = torch.tensor([min(max(0.0, joint.lower), joint.upper) for joint in spec.joints])
    state[spec.state.root_lin_vel] = 0.9 * spec.guard.max_lin_vel
    state[spec.state.root_quat] *= 0.5
    assert [one.coordinate for one in find_violations(spec, state)] == ["|root_lin_vel|", "|root_quat|"]


def test_replay_names_what_happened(tmp_path, capsys):
    """The tables name the coordinates, values and bounds; the steps shown are those of the environment asked for."""
    save(tmp_path / "dump", _dump())
    assert replay([str(tmp_path / "dump"), "--plot", str(tmp_path / "shown" / "plot.png")]) == 0
    said = capsys.readouterr().out
    cart, pole = _dump().spec.joint_names
    assert f"joint_pos.{cart}" in said
    assert f"joint_vel.{pole}" in said
    assert "1000" in said
    assert "nan" in said
    assert (tmp_path / "shown" / "plot.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(ValueError, match=r"got --env 5, expected one of the dump's environments: \[3, 7\]"):
        replay([str(tmp_path / "dump"), "--env", "5"])


def test_replay_as_json_is_strict_json_with_everything(tmp_path, capsys):
    """No word NaN, which JSON does not have; only the known steps of every environment."""
    save(tmp_path / "dump", _dump())
    assert replay([str(tmp_path / "dump"), "--json", "-"]) == 0
    said = json.loads(capsys.readouterr().out, parse_constant=lambda word: pytest.fail(word))
    first, second = said["environments"]
    assert (first["env"], second["env"]) == (3, 7)
    assert (len(first["states"]), len(second["states"])) == (5, 2)
    assert [one["what"] for one in first["predicted_outside"]] == ["above the bound"]
    assert second["predicted_outside"][0]["value"] == "nan"
    assert said["checkpoint"] == "bad"


def _rewrite(path, **changes):
    dump = _dump()
    names = ("env_ids", "length", "state", "control", "refused")
    tensors = {name: getattr(dump, name) for name in names} | changes
    (path / STEPS).write_bytes(tensor_bytes({name: value for name, value in tensors.items() if value is not None}))


@pytest.mark.parametrize(
    "changes",
    [
        {"refused": torch.zeros(2, 3)},
        {"control": torch.zeros(2, 4, 1)},
        {"length": torch.tensor([9, 1])},
        {"length": torch.tensor([0, 1])},
        {"env_ids": torch.tensor([1.0, 2.0])},
        {"state": torch.zeros(0, 5, 4)},
        {"extra": torch.zeros(1)},
        {"refused": None},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_a_dump_that_does_not_fit_itself_is_refused(tmp_path, changes):
    """Shapes, types and lengths must agree with each other and with the robot."""
    save(tmp_path / "dump", _dump())
    _rewrite(tmp_path / "dump", **changes)
    with pytest.raises(UnsafeFile):
        load(tmp_path / "dump")


def test_damaged_and_foreign_dumps_are_refused(tmp_path):
    """A cut file, a link, another format, a folder that is no dump."""
    with pytest.raises(UnsafeFile, match="expected the directory of a dump"):
        load(tmp_path / "missing")
    save(tmp_path / "dump", _dump())
    content = (tmp_path / "dump" / STEPS).read_bytes()
    (tmp_path / "dump" / STEPS).write_bytes(content[:-1])
    with pytest.raises(UnsafeFile):
        load(tmp_path / "dump")
    (tmp_path / "elsewhere").write_bytes(content)
    (tmp_path / "dump" / STEPS).unlink()
    os.symlink(tmp_path / "elsewhere", tmp_path / "dump" / STEPS)
    with pytest.raises(UnsafeFile, match="link"):
        load(tmp_path / "dump")
    (tmp_path / "dump" / "dump.json").write_text('{"schema": "pickle"}')
    with pytest.raises(UnsafeFile, match="not of the format"):
        load(tmp_path / "dump")


def test_the_ground_is_kept(tmp_path):
    """The plane below every environment comes back, for models that see contacts."""
    dump = dataclasses.replace(_dump(), plane=torch.tensor([[0.0, 0.0, 1.0, 0.25]]).expand(2, -1).contiguous())
    save(tmp_path / "dump", dump)
    back = load(tmp_path / "dump").plane
    assert back is not None
    assert torch.equal(back, dump.plane)


@pytest.mark.parametrize("number", [math.nan, math.inf, 1.0e38])
def test_states_that_are_no_numbers_are_replayed_with_a_model(number: float, tmp_path, capsys):
    """A dump whose states came in as no numbers, or far too large ones, can be given to a model of mechanics: what that
    makes of them is shown as outside of the bounds, too.
    """
    from nerd_core import checkpoint
    from nerd_core.checkpoint_names import find_checkpoint

    spec = checkpoint.read(find_checkpoint("cartpole")).spec
    state, control = torch.full((2, 3, spec.state.dim), number), torch.zeros(2, 3, spec.control_dim)
    ids, length = torch.tensor([3, 7]), torch.tensor([3, 2])
    save(tmp_path / "dump", GuardDump(spec, {}, ids, length, state, control, refused=state[:, -1]))
    assert replay([str(tmp_path / "dump"), "--checkpoint", "cartpole", "--json", str(tmp_path / "said.json")]) == 0
    said = json.loads((tmp_path / "said.json").read_text())
    assert all(found["other_model"]["outside"] for found in said["environments"])


def test_what_a_dump_says_of_itself_is_shown_as_text_and_stands_in_for_nothing(tmp_path, capsys):
    """Names and facts with escapes, of great length, or under the names of what is found; and bounds of infinity."""
    bad = "\x1b[2J\u202e"
    spec = cartpole()
    joints = tuple(dataclasses.replace(joint, name=joint.name + bad) for joint in spec.joints)
    bodies = tuple(dataclasses.replace(body, joint=body.joint and body.joint + bad) for body in spec.bodies)
    controls = tuple(dataclasses.replace(control, joint=control.joint + bad) for control in spec.controls)
    guard = dataclasses.replace(spec.guard, max_lin_vel=math.inf)
    spec = dataclasses.replace(spec, name=bad, joints=joints, bodies=bodies, controls=controls, guard=guard)
    facts = {"checkpoint": bad * 500, "held": [bad] * 500, "step": {bad: bad}, "robot": "x", "environments": "x"}
    save(tmp_path / "dump", dataclasses.replace(_dump(), spec=spec, facts={**facts, bad: bad}))
    assert replay([str(tmp_path / "dump")]) == 0
    shown = capsys.readouterr().out
    assert all(letter.isprintable() or letter == "\n" for letter in shown) and len(shown) < 20_000
    assert replay([str(tmp_path / "dump"), "--json", "-"]) == 0
    numbers = json.loads(capsys.readouterr().out)
    assert numbers["robot"] == bad and len(numbers["environments"]) == 2
    assert replay([str(tmp_path / "dump"), "--plot", str(tmp_path / "p.png")]) == 0
