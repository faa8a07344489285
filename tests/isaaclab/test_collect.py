# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What a collection draws and how it cuts trajectories, without an engine."""

from __future__ import annotations

import dataclasses
import math

import hypothesis
import numpy as np
import pytest
import torch
from hypothesis import strategies as st

from nerd_core.contact.contacts import ContactModel
from nerd_core.contact.grounds import Ground, GroundHit, PlaneGround
from nerd_core.data.layout import check_trajectories
from nerd_core.robot.guard import StateGuard
from nerd_core.robot.spec import ContactSlot, Control
from nerd_core.robot.stops import stop_band
from nerd_isaaclab.collect.excitation import (
    AMPLITUDES,
    LEAN_KINDS,
    MANAGED_KINDS,
    SIGNALS,
    ControlRange,
    Excitation,
    ExcitationError,
    check_shares,
    draw_signals,
)
from nerd_isaaclab.collect.initial_states import InitialStateCfg, InitialStateError, draw_initial_states
from nerd_isaaclab.collect.random_planes import DEPTH, _turn_up_to, draw_planes
from nerd_isaaclab.collect.robot_ranges import ranges_of
from nerd_isaaclab.recorders.transitions import NOT_FINITE, OUTSIDE, Transitions, to_trajectories
from support.robots import ant, cartpole, random_tree

pytestmark = pytest.mark.unit

SETTINGS = hypothesis.settings(deadline=None, max_examples=25)


def generator(seed: int) -> torch.Generator:
    """A source of randomness."""
    return torch.Generator().manual_seed(seed)


def signals(kind: str, count: int = 200, steps: int = 300) -> torch.Tensor:
    """Signals of one kind, shape (N, T, 2)."""
    return draw_signals({kind: 1.0}, count, steps, 2, generator(1))[1]


def correlation(signal: torch.Tensor, lag: int) -> torch.Tensor:
    """Correlation of each trajectory with itself some steps later, shape (N,)."""
    centred = signal - signal.mean(1, keepdim=True)
    return (centred[:, lag:] * centred[:, :-lag]).mean((1, 2)) / centred.square().mean((1, 2))


# -- excitation -----------------------------------------------------------------------------------------------------


@SETTINGS
@hypothesis.given(
    weights=st.dictionaries(st.sampled_from(LEAN_KINDS), st.floats(0.01, 10.0), min_size=1),
    seed=st.integers(0, 2**31),
    steps=st.integers(1, 60),
    low=st.floats(-100.0, 100.0),
    span=st.floats(0.0, 100.0),
)
def test_controls_stay_in_their_range_and_repeat(weights, seed, steps, low, span):
    """Whatever the mixture, every control lies in its range, and the same seed draws the same."""
    spec = cartpole()
    limits = ControlRange(torch.full((2,), low), torch.full((2,), low + span))
    state = torch.randn(7, spec.state.dim, generator=generator(seed))
    drawn = []
    for _ in range(2):
        excitation = Excitation(spec, limits, weights, 7, steps, generator(seed))
        drawn.append(torch.stack([excitation.control(step, state) for step in range(steps)]))
    slack = 1e-5 * (1.0 + abs(low) + span)
    assert drawn[0].min() >= low - slack and drawn[0].max() <= low + span + slack
    assert torch.equal(drawn[0], drawn[1])


def test_shares_are_kept_and_nothing_gets_no_trajectory():
    """Of many trajectories each kind gets its share within five standard deviations; a share of zero gets none."""
    shares = check_shares({"random": 3.0, "held": 1.0, "zero": 0.0})
    kinds, _ = draw_signals(shares, 4000, 2, 1, generator(0))
    assert abs(kinds.count("random") / 4000 - 0.75) < 5 * math.sqrt(0.75 * 0.25 / 4000)
    assert set(kinds) == {"random", "held"}


def test_random_fills_the_range_as_published_and_others_have_drawn_amplitudes():
    """'random' is uniform over the whole range; 'held' trajectories reach between a tenth and all of it."""
    values = signals("random").flatten()
    assert abs(values.mean()) < 0.02 and abs(values.std() - 1 / math.sqrt(3)) < 0.01 and values.abs().max() > 0.99
    reach = signals("held").abs().amax((1, 2))
    assert reach.max() <= AMPLITUDES[1] and reach.min() < 0.25 and reach.max() > 0.85


def test_only_random_forgets_from_step_to_step():
    """Neighbouring steps of 'random' have nothing to do with each other; held, ou and spline are correlated, and less
    so over 60 steps.
    """
    assert correlation(signals("random"), 1).abs().mean() < 0.1
    for kind in ("held", "ou", "spline"):
        near, far = correlation(signals(kind), 1).mean(), correlation(signals(kind), 60).abs().mean()
        assert near > 0.6 and far < 0.5 * near, kind
    assert not signals("zero").any()


def test_bang_is_held_at_the_ends_of_the_range():
    """'bang' takes the two ends of the range equally often and nothing between, and stays as 'held' does."""
    bang = signals("bang")
    assert set(bang.unique().tolist()) == {-1.0, 1.0} and abs(bang.mean()) < 0.05
    changes = (bang[:, 1:] != bang[:, :-1]).float().mean((1, 2))
    assert changes.max() < 0.4 and changes.min() < 0.06


def test_held_holds_and_splines_are_smooth():
    """'held' stays for at least two steps on average; second differences of a spline are smaller than of 'random'."""
    held = signals("held")
    changes = (held[:, 1:] != held[:, :-1]).float().mean((1, 2))
    assert changes.max() < 0.6 and changes.min() < 0.08
    bend = {kind: signals(kind).diff(dim=1).diff(dim=1).abs().mean() for kind in ("spline", "random")}
    assert bend["spline"] < 0.25 * bend["random"]


def test_pd_pushes_towards_its_targets():
    """Below and above every target the law pushes up and down with the full effort, damped by the velocity."""
    spec = cartpole()
    limits = ControlRange(-torch.ones(2), torch.ones(2))
    law = Excitation(spec, limits, {"pd": 1.0}, 50, 5, generator(0))
    state = torch.zeros(50, spec.state.dim)
    state[:, spec.state.joint_pos] = -100.0
    assert (law.control(0, state) == 1.0).all()
    assert (law.control(0, -state) == -1.0).all()
    still = law.control(0, torch.zeros_like(state))
    state = torch.zeros_like(state)
    state[:, spec.state.joint_vel] = 1.0
    assert (law.control(0, state) <= still).all() and (law.control(0, state) < still).any()


def test_pd_is_left_out_for_robots_that_take_targets():
    """A robot with position targets gets the other kinds; as the only kind 'pd' is refused."""
    spec = cartpole()
    spec = dataclasses.replace(spec, controls=tuple(Control(joint, "position") for joint in spec.joint_names))
    limits = ControlRange(-torch.ones(2), torch.ones(2))
    assert set(Excitation(spec, limits, {"pd": 0.9, "ou": 0.1}, 20, 5, generator(0)).kinds) == {"ou"}
    with pytest.raises(ExcitationError, match="takes no efforts"):
        Excitation(spec, limits, {"pd": 1.0}, 20, 5, generator(0))


@pytest.mark.parametrize(
    ("shares", "words"),
    [
        ({"chirp": 1.0}, "got the excitations chirp, expected some of random"),
        ({"policy": 1.0}, "with --managers and --policy"),
        ({"random": 0.0}, "do not sum up to zero"),
        ({"random": -1.0, "held": 2.0}, "numbers >= 0"),
        ({"random": math.nan, "held": 1.0}, "numbers >= 0"),
        ({}, "do not sum up to zero"),
    ],
)
def test_bad_shares_are_refused_in_words(shares, words):
    """Unknown kinds, negative, infinite or missing shares are named with what was expected."""
    with pytest.raises(ExcitationError, match=words):
        check_shares(shares)
    assert set(SIGNALS) < set(LEAN_KINDS) and "pd" not in MANAGED_KINDS


# -- first states ---------------------------------------------------------------------------------------------------


@SETTINGS
@hypothesis.given(seed=st.integers(0, 2**31), tilt=st.floats(0.0, math.pi), height=st.floats(-1.0, 1.0))
def test_floating_robots_start_clear_of_any_plane(seed, tilt, height):
    """On level or tilted planes no slot starts inside the ground, quaternions are unit, joints are in their limits, and
    the same seed draws the same.
    """
    spec = ant()
    up = torch.tensor([0.0, 0.0, 1.5])
    normal = torch.nn.functional.normalize(up + torch.rand(16, 3, generator=generator(seed)), dim=-1)
    ground = PlaneGround(normal, torch.full((16,), height))
    cfg = InitialStateCfg(root_tilt=tilt)
    state, again = (draw_initial_states(spec, cfg, 16, generator(seed), ground) for _ in range(2))
    assert torch.equal(state, again)
    contacts = ContactModel(spec)(state, ground)
    radius = torch.tensor([slot.radius for slot in spec.slots])
    gaps = torch.where(contacts.active, contacts.distance - radius, torch.inf)
    assert gaps.min() > 0.0
    assert torch.allclose(state[:, spec.state.root_quat].norm(dim=-1), torch.ones(16), atol=1e-5)
    lower = torch.tensor([joint.lower for joint in spec.joints])
    upper = torch.tensor([joint.upper for joint in spec.joints])
    joints = state[:, spec.state.joint_pos]
    assert (joints >= lower - 1e-5).all() and (joints <= upper + 1e-5).all()


def test_robots_beside_a_wall_are_lifted_above_it():
    """A slot that misses a hair's breadth beside a wall is lifted above it, not by that hair's breadth again and again;
    robots that are clear of the ground stay where they are.
    """
    top, radius = 0.25, 0.1

    class Wall(Ground):
        """Half a millimetre beside a ball below the top of the wall, and nothing above."""

        def query(self, points, env_ids=None, reach=math.inf):
            distance = torch.where(points[..., 2] < top, radius + 0.5e-3, 1.0)
            normal = torch.tensor([1.0, 0.0, 0.0]).expand_as(points)
            return GroundHit(distance, normal, points - distance[..., None] * normal)

    spec = random_tree(0, bodies=1)
    spec = dataclasses.replace(spec, slots=(ContactSlot(spec.bodies[0].name, (0.0, 0.0, 0.0), radius, "sphere"),))
    cfg = InitialStateCfg(root_height=(0.1, 0.4))
    free = draw_initial_states(spec, cfg, 64, generator(0), None)[:, spec.state.root_pos][:, 2]
    height = draw_initial_states(spec, cfg, 64, generator(0), Wall())[:, spec.state.root_pos][:, 2]
    below = free < top
    assert 0 < below.sum() < 64 and (height >= top).all() and (height[below] < top + 0.02).all()
    assert torch.equal(height[~below], free[~below])


def test_ranges_are_filled():
    """Cartpole's preset gives the published ranges: 3.5 m, any angle, velocities up to 10, filled to the ends."""
    spec = cartpole()
    state = draw_initial_states(spec, ranges_of("cartpole", {}), 4000, generator(0), None)
    ends = state.abs().amax(0)
    expected = torch.tensor([3.5, math.pi, 10.0, 10.0])
    assert (ends <= expected + 1e-4).all() and (ends > 0.99 * expected).all()
    assert (state.mean(0).abs() < 0.06 * expected).all()
    cfg = InitialStateCfg(slide=1.0, slide_vel=2.0, joint_vel=7.0)
    ends = draw_initial_states(spec, cfg, 4000, generator(0), None).abs().amax(0)
    torch.testing.assert_close(ends, torch.tensor([1.0, math.pi, 2.0, 7.0]), rtol=0.01, atol=0.0)


def test_a_body_without_joints_starts_from_wide_ranges():
    """A free rigid body has no joints to draw; its pose and velocities fill the ranges."""
    spec = random_tree(0, bodies=1)
    assert not spec.joints
    cfg = InitialStateCfg(root_height=(6.0, 7.0), root_ang_vel=30.0)
    state = draw_initial_states(spec, cfg, 1000, generator(0), None)
    height, speed = state[:, spec.state.root_pos][:, 2], state[:, spec.state.root_ang_vel].abs()
    assert height.min() >= 6.0 and height.max() <= 7.0 and 30.0 < speed.max() <= 30.0 * 3**0.5


def test_a_fixed_base_inside_the_ground_is_refused():
    """A robot that cannot start clear of the ground says so and what to do."""
    spec = random_tree(3, floating=False)
    with pytest.raises(InitialStateError, match="narrow the ranges"):
        draw_initial_states(spec, InitialStateCfg(), 4, generator(0), PlaneGround.flat(100.0))


def test_a_base_that_is_bolted_to_the_ground_may_touch_it():
    """What cannot move stands in or on the ground in every state: only slots that move are kept clear of it."""
    spec = cartpole()
    slots = (
        ContactSlot(spec.bodies[0].name, (0.0, 0.0, -0.5), 0.1, "sphere"),
        ContactSlot(spec.bodies[-1].name, (0.0, 0.0, 0.0), 0.1, "sphere"),
    )
    ground = PlaneGround.flat(-0.55)
    state = draw_initial_states(dataclasses.replace(spec, slots=slots), InitialStateCfg(), 16, generator(0), ground)
    assert state.isfinite().all()
    with pytest.raises(InitialStateError, match="narrow the ranges"):
        moving = dataclasses.replace(slots[0], body=spec.bodies[1].name)
        draw_initial_states(dataclasses.replace(spec, slots=(moving,)), InitialStateCfg(), 16, generator(0), ground)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"speed": (1.0,)}, "got the range 'speed', expected one of root_height"),
        ({"root_height": (1.0,)}, "expected two numbers"),
        ({"root_height": (2.0, 1.0)}, "LOW <= HIGH"),
        ({"joint_vel": (-1.0,)}, "got joint_vel=-1.0, expected at least 0"),
        ({"joint_vel": (math.nan,)}, "got joint_vel=nan, expected a finite number, at least 0"),
        ({"joint_vel": (1.0, 2.0)}, "expected one number"),
        ({"at_stops": (2.0,)}, "expected at least 0 and at most 1"),
    ],
)
def test_bad_ranges_are_refused_in_words(changes, words):
    """Unknown ranges and wrong numbers are named with what was expected."""
    with pytest.raises(InitialStateError, match=words):
        ranges_of("ant", changes)


@SETTINGS
@hypothesis.given(seed=st.integers(0, 2**31))
def test_random_planes_are_near_and_touch_nothing(seed):
    """Planes have unit normals, leave every slot clear, and are at most 3.5 m below the root."""
    spec = dataclasses.replace(random_tree(5, floating=False), root_pos=(0.3, -0.2, 2.0))
    state = draw_initial_states(spec, InitialStateCfg(), 32, generator(seed), None)
    ground = draw_planes(spec, state, generator(seed))
    model = ContactModel(spec)
    model.gate.fill_(torch.inf)
    radius = torch.tensor([slot.radius for slot in spec.slots])
    assert (model(state, ground).distance - radius).min() > 0.0
    assert torch.allclose(ground.normal.norm(dim=-1), torch.ones(32), atol=1e-5)
    depth = ground.normal @ torch.tensor(spec.root_pos) - ground.offset
    free = model(state, PlaneGround(ground.normal, torch.zeros(32))).distance - radius
    needed = ground.normal @ torch.tensor(spec.root_pos) - free.amin(-1)  # a robot may reach farther down than that
    assert (depth <= torch.maximum(torch.tensor(DEPTH), needed + 3e-3)).all()


def test_boxes_are_turned_up_to_any_normal():
    """The rotation that poses a box turns its z axis into the normal, upside down included."""
    from nerd_core.robot.frames import quat_rotate

    normal = torch.nn.functional.normalize(torch.randn(500, 3, generator=generator(0)), dim=-1)
    normal[:2] = torch.tensor([[0.0, 0.0, -1.0], [0.0, 0.0, 1.0]])
    turned = quat_rotate(_turn_up_to(normal), torch.tensor([0.0, 0.0, 1.0]).expand(500, 3))
    torch.testing.assert_close(turned, normal, atol=1e-5, rtol=0)


# -- cutting --------------------------------------------------------------------------------------------------------


@SETTINGS
@hypothesis.given(seed=st.integers(0, 2**31), count=st.integers(1, 6), steps=st.integers(1, 12))
def test_cut_trajectories_hold_every_step_once(seed, count, steps):
    """Each kept trajectory is a run of its environment: its states are the states before its steps and the one after
    the last, its controls those of the steps; runs with bad numbers are left out and counted by reason.
    """
    spec = cartpole()
    rng = np.random.default_rng(seed)
    before = torch.from_numpy(rng.normal(size=(count, steps, 4)).astype(np.float32))
    after = torch.from_numpy(rng.normal(size=(count, steps, 4)).astype(np.float32))
    control = torch.arange(count * steps * 2).reshape(count, steps, 2).float()
    begins = torch.from_numpy(rng.random((count, steps)) < 0.3)
    for i in range(count):
        for t in range(1, steps):
            if not begins[i, t]:
                before[i, t] = after[i, t - 1]
    expected, wrong = [], {NOT_FINITE: 0, OUTSIDE: 0}
    bad = rng.random((count, steps))
    after[torch.from_numpy(bad < 0.05)] = torch.nan
    after[torch.from_numpy((bad >= 0.05) & (bad < 0.1))] = 1.0e6
    ground = torch.rand(count, 4)
    for i in range(count):
        starts = [0, *(t for t in range(1, steps) if begins[i, t]), steps]
        for a, b in zip(starts, starts[1:], strict=False):
            if after[i, a:b].isnan().any():
                wrong[NOT_FINITE] += 1
            elif after[i, a:b].abs().max() > 1e5:
                wrong[OUTSIDE] += 1
            else:
                expected.append((i, torch.cat((before[i, a:b], after[i, b - 1 : b])), control[i, a:b]))
    kept, dropped = to_trajectories(Transitions(before, control, after, begins, {"ground": ground}), StateGuard(spec))
    assert dropped == {reason: number for reason, number in wrong.items() if number}
    if not expected:
        assert kept is None
        return
    assert kept is not None and kept.ground is not None
    check_trajectories(spec, kept, "kept")
    states, controls = kept.rows("state"), kept.rows("control")
    assert kept.count == len(expected)
    for k, (i, state, held) in enumerate(expected):
        assert np.array_equal(kept.state[states[k] : states[k + 1]], state.numpy())
        assert np.array_equal(kept.control[controls[k] : controls[k + 1]], held.numpy())
        assert np.array_equal(kept.ground[k], ground[i].numpy())


# -- the command, before an engine is started -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--task", "NeRD-Cartpol"], "did you mean NeRD-Cartpole"),
        (["--shares", "chirp=1"], "expected some of random, held"),
        (["--shares", "random"], "expected KIND=NUMBER"),
        (["--shares", "policy=1"], "with --managers and --policy"),
        (["--ranges", "speed=3"], "got the range 'speed'"),
        (["--ranges", "root_height=low"], "expected NAME=NUMBER"),
        (["--num-envs", "0"], "got num_envs=0, expected at least 1"),
        (["--policy-noise", "nan"], "got policy_noise=nan"),
        (["--policy", "nowhere"], "got --policy nowhere, where nothing is"),
        (["--managers", "--teacher-mode", "rewritten"], "leave out --managers"),
        (["--managers", "--ground", "random-planes"], "leave out --managers"),
        (["--ground", "random-planes", "--initial", "task"], "needs --initial wide"),
    ],
)
def test_bad_words_are_refused_before_anything_is_made(words, said, tmp_path, capsys, monkeypatch):
    """Each wrong choice ends with one message that says what was expected, no traceback, and no folder."""
    from nerd_core.cli import main

    monkeypatch.chdir(tmp_path)
    out = tmp_path / "data"
    task = [] if "--task" in words else ["--task", "NeRD-Cartpole"]
    assert main(["generate", *task, "--out", str(out), *words]) == 2
    error = capsys.readouterr().err
    assert said in error and "Traceback" not in error
    assert not out.exists()


def test_an_override_that_names_nothing_is_refused():
    """Isaac Lab adds a field for a misspelt override; here it is an error with the near name."""
    from types import SimpleNamespace

    from nerd_isaaclab.launch.physx_task import check_overrides

    cfg = SimpleNamespace(scene=SimpleNamespace(env_spacing=4.0), rewards={"alive": {"weight": 1.0}}, props=[1])
    check_overrides(cfg, ["env.scene.env_spacing=5", "env.rewards.alive.weight=2"])
    with pytest.raises(ValueError, match="did you mean 'env_spacing'"):
        check_overrides(cfg, ["env.scene.env_spacin=5"])
    with pytest.raises(ValueError, match="no 'height'"):
        check_overrides(cfg, ["env.height=5"])
    with pytest.raises(ValueError, match="a list of 1, which Isaac Lab's overrides do not reach"):
        check_overrides(cfg, ["env.props.0=2"])


def test_a_share_of_the_joints_starts_before_its_stops():
    """With at_stops the asked share of the joints that have stops starts in the band before one of them, half at each;
    a joint that wraps has none. Without it first states are what they were before there was such a choice.
    """
    spec = cartpole()
    slide = spec.joints[0]
    states = draw_initial_states(spec, InitialStateCfg(at_stops=0.5), 4000, generator(1), None)
    plain = draw_initial_states(spec, InitialStateCfg(), 4000, generator(1), None)
    position = states[:, 0]
    above, below = position > slide.upper - stop_band(slide), position < slide.lower + stop_band(slide)
    assert position.min() >= slide.lower and position.max() <= slide.upper
    assert abs(above.float().mean() - 0.25) < 0.03 and abs(below.float().mean() - 0.25) < 0.03
    assert torch.equal(states[:, 1:2], plain[:, 1:2])
    assert torch.equal(position[~(above | below)], plain[~(above | below), 0])
