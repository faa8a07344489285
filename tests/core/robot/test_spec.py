# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The robot specification."""

from __future__ import annotations

import dataclasses
import json
import math
import subprocess
import sys
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nerd_core.robot.comparison import SpecMismatch, diff_specs, require_same_spec
from nerd_core.robot.materials import Material
from nerd_core.robot.spec import (
    Actuator,
    Body,
    ContactSlot,
    Control,
    Guard,
    Inertia,
    Joint,
    Mimic,
    Parameter,
    RobotSpec,
    SpecError,
)
from support.robots import ant, cartpole, random_tree, with_inertias


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 1000), floating=st.booleans())
def test_json_round_trip(seed, floating):
    """A specification that was written and read is equal, and has the same hash."""
    spec = random_tree(seed, 10, floating)
    again = RobotSpec.from_json(spec.to_json())
    assert again == spec and again.content_hash == spec.content_hash and not diff_specs(again, spec)


def test_file_round_trip(tmp_path):
    """Files work like texts; one that is missing, binary or cut off is a clear error."""
    path = tmp_path / "spec.json"
    ant().save(path)
    assert RobotSpec.load(path) == ant()
    for content in (b"\xff\xfe\x00", b"", path.read_bytes()[:500], b"[" * 100_000, b"[1]", b"{}"):
        path.write_bytes(content)
        with pytest.raises(SpecError):
            RobotSpec.load(path)
    with pytest.raises(SpecError, match="cannot read"):
        RobotSpec.load(tmp_path / "nothing.json")


def test_layout_names_every_column_once():
    """The slices of a state follow each other without gaps; a fixed base has empty ones for its root."""
    for spec, dim in ((ant(), 29), (cartpole(), 4)):
        at = spec.state
        slices = (at.root_pos, at.root_quat, at.joint_pos, at.root_lin_vel, at.root_ang_vel, at.joint_vel)
        assert [s.start for s in slices] == [0, *(s.stop for s in slices[:-1])] and slices[-1].stop == at.dim == dim
    assert cartpole().state.root_quat == slice(0, 0)
    assert ant().control_dt == pytest.approx(1 / 60)


def test_a_joint_wraps_beyond_a_full_turn():
    """By default a hinge wraps when its range exceeds a turn, and never a slide; it can be said explicitly."""
    turn = 2 * math.pi
    axis = (0.0, 0.0, 1.0)
    assert Joint("a", "revolute", axis).wraps and not Joint("a", "prismatic", axis).wraps
    assert not Joint("a", "revolute", axis, -math.pi, math.pi).wraps
    assert Joint("a", "revolute", axis, -turn, turn).wraps
    assert Joint("a", "revolute", axis, -1.0, 1.0, wraps=True).wraps
    assert not Joint("a", "revolute", axis, wraps=False).wraps
    with pytest.raises(SpecError, match="only a revolute joint can wrap"):
        Joint("a", "prismatic", axis, wraps=True)


def _meaning_changes() -> list[Any]:
    """One change to each field, at every depth, that changes what a tensor means."""
    spec = ant()
    first_joint, last_body, slot = spec.joints[0], spec.bodies[-1], spec.slots[3]
    replace = dataclasses.replace
    joints = [
        replace(first_joint, lower=-0.6),
        replace(first_joint, wraps=True),
        replace(first_joint, axis=(0.0, 1.0, 0.0)),
    ]
    bodies = [replace(last_body, parent_pos=(0.1, 0.1, 0.1)), replace(last_body, child_quat=(1.0, 0.0, 0.0, 0.0))]
    slots = [replace(slot, radius=0.09), replace(slot, point=(0.0, 0.0, 0.0)), replace(slot, body="torso")]
    return [
        *(replace(spec, joints=(joint, *spec.joints[1:])) for joint in joints),
        *(replace(spec, bodies=(*spec.bodies[:-1], body)) for body in bodies),
        *(replace(spec, slots=(*spec.slots[:5], slot, *spec.slots[6:])) for slot in slots),
        replace(spec, joints=spec.joints[::-1]),
        replace(spec, controls=spec.controls[::-1]),
        replace(spec, controls=(Control("hip_0", "position"), *spec.controls[1:])),
        replace(spec, slots=spec.slots[:-1]),
        replace(spec, physics_dt=1 / 60),
        replace(spec, decimation=4),
        replace(spec, gravity=(0.0, 0.0, -1.62)),
        replace(spec, floating_base=False),
        replace(spec, asset_hash="abc"),
        replace(spec, name="bee"),
    ]


@pytest.mark.parametrize("changed", _meaning_changes())
def test_every_change_of_meaning_changes_the_hash_and_is_named(changed):
    """A change of anything that fixes a tensor's meaning gives another hash, and a difference in words."""
    assert changed.content_hash != ant().content_hash
    assert diff_specs(changed, ant())
    with pytest.raises(SpecMismatch, match="made for another robot specification"):
        require_same_spec(changed, ant(), "the checkpoint")


def test_the_guard_does_not_change_the_meaning():
    """Bounds of a sane state can be set anew without making data or weights foreign."""
    other = dataclasses.replace(ant(), guard=Guard(max_lin_vel=5.0))
    assert other.content_hash == ant().content_hash
    require_same_spec(other, ant(), "the checkpoint")


def test_the_difference_can_be_read():
    """The difference names the place, what was got and what was expected."""
    changed = _meaning_changes()
    assert diff_specs(changed[0], ant()) == ["joints['hip_0'].lower: got -0.6, expected -0.7"]
    assert "joints: got the order" in diff_specs(dataclasses.replace(ant(), joints=ant().joints[::-1]), ant())[0]
    assert diff_specs(dataclasses.replace(ant(), slots=ant().slots[:-1]), ant()) == ["slots: got 24, expected 25"]
    lines = diff_specs(cartpole(), ant())
    assert "joints: 'hip_0' is missing" in lines and "joints: 'slide' was not expected" in lines
    with pytest.raises(SpecMismatch, match=r"\.\.\. and \d+ more"):
        require_same_spec(cartpole(), ant(), "the data")


def _driven(kind: str = "DCMotor", detail: str = "", limit: float = 7.5, **parameters: float) -> RobotSpec:
    """The Ant with one law on all joints."""
    law = Actuator(kind, tuple(Parameter(name, value) for name, value in parameters.items()), detail)
    joints = tuple(dataclasses.replace(joint, velocity_limit=limit, actuator=law) for joint in ant().joints)
    return dataclasses.replace(ant(), joints=joints)


@pytest.mark.parametrize(
    ("changed", "line"),
    [
        (_driven(stiffness=160.0, damping=5.0), "actuator.parameters['stiffness'].value: got 160.0, expected 40.0"),
        (_driven(stiffness=40.0, damping=1.0), "actuator.parameters['damping'].value: got 1.0, expected 5.0"),
        (_driven("IdealPD", stiffness=40.0, damping=5.0), 'actuator.kind: got "IdealPD", expected "DCMotor"'),
        (_driven(stiffness=40.0, damping=5.0, max_delay=3.0), "parameters: 'max_delay' was not expected"),
        (_driven(detail="ab", stiffness=40.0, damping=5.0), 'actuator.detail: got "ab", expected ""'),
        (_driven(limit=3.0, stiffness=40.0, damping=5.0), "velocity_limit: got 3.0, expected 7.5"),
    ],
)
def test_what_drives_a_joint_is_part_of_the_meaning(changed: RobotSpec, line: str):
    """Another law, other gains, a delay or another limit is another robot, told in words."""
    expected = _driven(stiffness=40.0, damping=5.0)
    assert RobotSpec.from_json(changed.to_json()) == changed != expected
    assert changed.content_hash != expected.content_hash
    with pytest.raises(SpecMismatch) as raised:
        require_same_spec(changed, expected, "the checkpoint")
    assert line in str(raised.value)


def test_rounding_is_no_difference():
    """A base that the engine put a micrometre off is the same robot; a tenth of a millimetre is not. Small numbers that
    are no positions are compared by their size.
    """
    fixed = dataclasses.replace(cartpole(), root_pos=(0.0, 0.0, 2.0))
    require_same_spec(dataclasses.replace(fixed, root_pos=(1e-6, -2e-6, 2.000001)), fixed, "the checkpoint")
    with pytest.raises(SpecMismatch, match=r"root_pos: got \[0.0001, 0.0, 2.0\], expected \[0.0, 0.0, 2.0\]"):
        require_same_spec(dataclasses.replace(fixed, root_pos=(1e-4, 0.0, 2.0)), fixed, "the checkpoint")
    thin, thick = (
        dataclasses.replace(fixed, joints=tuple(dataclasses.replace(joint, armature=value) for joint in fixed.joints))
        for value in (1e-6, 2e-6)
    )
    assert diff_specs(thin, thick)


def test_what_an_old_specification_does_not_say_is_not_compared(caplog):
    """A specification from before actuators were held matches its robot, keeps its hash, and says so once."""
    old, new = ant(), _driven(stiffness=40.0, damping=5.0)
    assert "actuator" not in str(old.meaning())
    for _ in range(2):
        require_same_spec(old, new, "the checkpoint 'old'")
    (record,) = caplog.records
    assert "'old' is from before specifications said what drives the joints" in record.getMessage()
    heavier = dataclasses.replace(new, gravity=(0.0, 0.0, -3.0))
    with pytest.raises(SpecMismatch, match="gravity"):
        require_same_spec(old, heavier, "the checkpoint 'old'")


def test_the_hash_is_the_same_in_another_process():
    """The hash depends on the content alone, not on the process, and 1 and 1.0 are the same number."""
    code = (
        "import sys; from nerd_core.robot.spec import RobotSpec; "
        "print(RobotSpec.from_json(sys.stdin.read()).content_hash)"
    )
    out = subprocess.run(
        [sys.executable, "-c", code], input=ant().to_json(), capture_output=True, text=True, check=True
    )
    assert out.stdout.strip() == ant().content_hash
    whole = dataclasses.replace(ant(), gravity=(0, 0, -10))
    assert whole.content_hash == dataclasses.replace(ant(), gravity=(-0.0, 0.0, -10.0)).content_hash


def _one(**changes: Any) -> RobotSpec:
    """A cart-pole with some fields replaced."""
    return dataclasses.replace(cartpole(), **changes)


RAIL, CART, POLE = cartpole().bodies
SLIDE, HINGE = cartpole().joints


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"bodies": ()}, "got no bodies"),
        ({"bodies": (CART, RAIL, POLE)}, "must be the root"),
        ({"bodies": (RAIL, POLE, CART)}, "the parent 'cart' of body 'pole' must precede it"),
        ({"bodies": (RAIL, CART, POLE, Body("moon"))}, "only the first may be the root"),
        ({"bodies": (RAIL, CART)}, "each joint must carry exactly one body"),
        ({"bodies": (RAIL, CART, POLE, Body("twin", "cart", "hinge"))}, "each joint must carry exactly one body"),
        ({"bodies": (RAIL, CART, Body("pole", "cart", "knee"))}, "unknown joint 'knee'"),
        ({"bodies": (Body("rail", joint="slide"), CART, POLE)}, "got the joint 'slide' at the root"),
        ({"bodies": (RAIL, CART, POLE, Body("pole", "cart"))}, r"body names must be unique, got \['pole'\]"),
        ({"joints": (SLIDE, SLIDE, HINGE)}, r"joint names must be unique, got \['slide'\]"),
        ({"joints": (SLIDE, dataclasses.replace(HINGE, axis=(0.0, 2.0, 0.0)))}, "length 2 as axis of joint 'hinge'"),
        ({"joints": (SLIDE, dataclasses.replace(HINGE, axis=(0.0, math.inf, 0.0)))}, "expected finite numbers"),
        ({"bodies": (RAIL, CART, dataclasses.replace(POLE, child_quat=(0.0,) * 4))}, "child_quat of body 'pole'"),
        ({"controls": (Control("knee", "effort"),)}, "acts on the unknown joint 'knee'"),
        ({"controls": (Control("slide", "effort"),) * 2}, "listed twice"),
        ({"controls": (Control("slide", "force"),)}, "has kind 'force', expected one of"),  # type: ignore[arg-type]
        ({"slots": (ContactSlot("wing", (0.0, 0.0, 0.0), 0.1, "sphere"),)}, "unknown body 'wing'"),
        ({"slots": (ContactSlot("pole", (0.0, 0.0, 0.0), -0.1, "sphere"),)}, "got slot radius -0.1"),
        ({"slots": (ContactSlot("pole", (0.0, math.nan, 0.0), 0.1, "sphere"),)}, "point of a slot on 'pole'"),
        ({"gravity": (0.0, 0.0, math.nan)}, "as gravity"),
        ({"root_quat": (0.0, 0.0, 0.0, 0.5)}, "as root_quat, expected length 1"),
        ({"physics_dt": 0.0}, "got physics_dt 0.0"),
        ({"decimation": 0}, "got decimation 0"),
    ],
)
def test_contradictions_are_refused(changes, message):
    """A specification that contradicts itself is refused with what was got and what was expected."""
    with pytest.raises(SpecError, match=message):
        _one(**changes)


def test_joints_that_cannot_be_are_refused():
    """Unknown kinds and limits in the wrong order are refused."""
    with pytest.raises(SpecError, match="got kind 'ball'"):
        Joint("a", "ball", (0.0, 0.0, 1.0))  # type: ignore[arg-type]
    with pytest.raises(SpecError, match="expected lower <= upper"):
        Joint("a", "revolute", (0.0, 0.0, 1.0), 1.0, -1.0)


def test_another_version_is_named():
    """A file of another schema says which one it has and which one is read."""
    plain = json.loads(ant().to_json())
    plain["schema"] = "nerd.robot_spec/9"
    with pytest.raises(SpecError, match="'nerd.robot_spec/9', this version reads 'nerd.robot_spec/1'"):
        RobotSpec.from_json(json.dumps(plain))


def test_a_huge_file_is_refused_in_good_time():
    """Checking takes time in proportion to the file, and the message stays short: 50,000 joints without bodies."""
    joint = {"name": "", "kind": "revolute", "axis": [0.0, 0.0, 1.0]}
    plain = json.loads(cartpole().to_json())
    plain["bodies"], plain["controls"] = plain["bodies"][:1], []
    plain["joints"] = [{**joint, "name": f"j{i}"} for i in range(50_000)]
    start = time.process_time()
    with pytest.raises(SpecError, match="0 on 'j0', .* and 49992 more"):
        RobotSpec.from_json(json.dumps(plain))
    assert time.process_time() - start < 5.0


@settings(deadline=None, max_examples=200)
@given(position=st.integers(0, 10**6), byte=st.integers(0, 255))
def test_a_flipped_byte_never_crashes(position, byte):
    """A file with any one byte changed is either read or refused with our own error."""
    content = bytearray(cartpole().to_json().encode())
    content[position % len(content)] = byte
    try:
        RobotSpec.from_json(content.decode("utf-8", errors="replace"))
    except SpecError as error:
        assert str(error)


def test_inertias_travel_but_do_not_change_the_meaning():
    """Masses survive the JSON form, and two specifications that differ in nothing else have the same hash."""
    plain, heavy = ant(), with_inertias(ant())
    heavy = dataclasses.replace(heavy, joints=plain.joints)
    assert heavy.content_hash == plain.content_hash and not diff_specs(heavy, plain)
    assert RobotSpec.from_json(heavy.to_json()) == heavy != plain


@pytest.mark.parametrize(
    "inertia",
    [Inertia(-1.0), Inertia(math.inf), Inertia(1.0, (math.nan, 0.0, 0.0)), Inertia(1.0, moments=(1.0, -1.0, 1.0))],
)
def test_impossible_inertias_are_refused(inertia: Inertia):
    """Negative and infinite masses and moments are named with the body that has them."""
    spec = ant()
    with pytest.raises(SpecError, match="body 'torso'"):
        dataclasses.replace(spec, bodies=(dataclasses.replace(spec.bodies[0], inertia=inertia), *spec.bodies[1:]))


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (("bodies", 0, "inertia", "mass"), 1e300, "1e.300 as mass of body"),
        (("bodies", 0, "inertia", "mass"), "inf", "inf as mass of body"),
        (("bodies", 0, "inertia", "mass"), -1, "-1.0 as mass of body"),
        (("bodies", 0, "inertia", "moments"), [1e300, 1, 1], "as moment of inertia of body"),
        (("bodies", 0, "inertia", "products"), [9.0, 0, 0], "its inertia would be negative"),
        (("bodies", 0, "inertia", "centre"), [1e300, 0, 0], "as centre of mass of body"),
        (("joints", 0, "armature"), -1, "-1.0 as armature of joint"),
        (("joints", 0, "damping"), "inf", "inf as damping of joint"),
        (("joints", 0, "friction"), -1, "-1.0 as friction of joint"),
        (("joints", 0, "effort_limit"), -1, "-1.0 as effort_limit of joint"),
        (("joints", 0, "name"), "x" * 5000, "of 5000 characters, expected at most 200"),
        (("bodies", 1, "parent"), "x" * 5000, "of 5000 characters, expected at most 200"),
        (("guard", "max_lin_vel"), -1, "-1.0 as max_lin_vel of guard"),
        (("physics_dt",), 1e300, "got physics_dt 1e.300"),
        (("decimation",), 10**9, "at most 1000000"),
        (("decimation",), int("9" * 4000), "decimation' is a number of about 4000 digits"),
        (("decimation",), int("9" * 60), "decimation: got int 9999"),
        (("gravity",), [1e300, 0, 0], "as gravity"),
        (("schema",), "x" * 5000, "has schema 'xxx"),
        (("x" * 5000,), 1, "unknown keys"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_absurd_files_get_a_short_refusal(place, value, message):
    """Numbers that no robot has, and long texts in any place, are named in a message that does not repeat them."""
    plain = json.loads(with_inertias(ant()).to_json())
    holder: Any = plain
    for key in place[:-1]:
        holder = holder[key]
    holder[place[-1]] = value
    with pytest.raises(SpecError, match=message) as refused:
        RobotSpec.from_json(json.dumps(plain))
    assert len(str(refused.value)) < 800


def test_the_sizes_of_a_file_are_bounded():
    """A file with thousands of bodies is refused: what is made of a robot grows faster than the file."""
    plain = json.loads(ant().to_json())
    plain["bodies"] += [{"name": f"b{i}", "parent": plain["bodies"][0]["name"]} for i in range(3000)]
    with pytest.raises(SpecError, match="got 30.. bodies, expected at most 1024"):
        RobotSpec.from_json(json.dumps(plain))


def test_what_moves_a_robot_changes_no_meaning():
    """Kinds of drives, targets, friction, limits of speeds, mimic joints, damping and tendons are kept in the JSON form
    and left out of the content hash, so that specifications from before there were such fields still agree; a joint
    that follows one that does not exist is refused.
    """
    spec = cartpole()
    joint = dataclasses.replace(
        spec.joints[1],
        drive="acceleration",
        target=0.3,
        dynamic_friction=0.1,
        viscous_friction=0.2,
        velocity_limit=5.0,
        mimic=Mimic("slide", 2.0, 0.1),
    )
    body = dataclasses.replace(
        spec.bodies[2], has_gravity=False, linear_damping=0.1, angular_damping=0.2, max_angular_velocity=9.0
    )
    changed = dataclasses.replace(
        spec, joints=(spec.joints[0], joint), bodies=(*spec.bodies[:2], body), tendons=("wire",)
    )
    assert changed.content_hash == spec.content_hash
    assert RobotSpec.from_json(changed.to_json()) == changed
    with pytest.raises(SpecError, match="'hinge' follows the unknown joint 'nobody'"):
        dataclasses.replace(spec, joints=(spec.joints[0], dataclasses.replace(joint, mimic=Mimic("nobody"))))


def test_what_the_solver_is_set_to_changes_no_meaning():
    """Iterations of the solver, materials of slots and ground, and forces without a place here are kept in the JSON
    form and left out of the content hash; numbers that no solver and no material has are refused.
    """
    spec = ant()
    slots = (dataclasses.replace(spec.slots[0], material=Material(0.8, 0.6)), *spec.slots[1:])
    changed = dataclasses.replace(
        spec,
        slots=slots,
        ground=Material(1.0, 1.0, 0.1, "multiply", "max"),
        position_iterations=8,
        velocity_iterations=1,
        other_forces=("wind",),
    )
    assert changed.content_hash == spec.content_hash
    assert RobotSpec.from_json(changed.to_json()) == changed
    plain = json.loads(spec.to_json())
    for name in ("ground", "position_iterations", "velocity_iterations", "other_forces"):
        del plain[name]
    for slot in plain["slots"]:
        del slot["material"]
    assert RobotSpec.from_json(json.dumps(plain)) == spec
    wrong = (
        ({"position_iterations": 0}, "got 0 position_iterations, expected 1 to 255"),
        ({"velocity_iterations": 256}, "got 256 velocity_iterations, expected 0 to 255"),
        ({"ground": Material(-0.1, 0.5)}, "friction .* of the ground"),
        ({"ground": Material(restitution=1.5)}, "restitution of 1.5 of the ground"),
        ({"slots": (dataclasses.replace(spec.slots[0], material=Material(math.nan)),)}, "of a slot on"),
    )
    for change, message in wrong:
        with pytest.raises(SpecError, match=message):
            dataclasses.replace(spec, **change)
