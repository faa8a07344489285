# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The quadruped's controller without an engine: legs, forces of the programme, the network, and who judges a walk."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from nerd_isaaclab.experiments.mpc.controller import Motion, TrotController, WalkCfg
from nerd_isaaclab.experiments.mpc.convex_mpc import GRAVITY, ConvexMpc, MpcCfg
from nerd_isaaclab.experiments.mpc.force_network import FitCfg, ForceNetwork, fit, within_limits
from nerd_isaaclab.experiments.mpc.gait import Gait
from nerd_isaaclab.experiments.mpc.imitation import Examples, imitate
from nerd_isaaclab.experiments.mpc.problem import (
    FEATURES,
    ForceProblem,
    Horizon,
    contacts_ahead,
    features,
    feet_ahead,
    reference,
)
from nerd_isaaclab.experiments.mpc.quadruped import Quadruped
from nerd_isaaclab.experiments.mpc.timing import measure
from nerd_isaaclab.experiments.mpc.walking import CourseCfg, walk

pytestmark = pytest.mark.unit

BODY = Quadruped(
    legs=("FL", "FR", "RL", "RR"),
    hip=np.array([[0.19, 0.05, 0.0], [0.19, -0.05, 0.0], [-0.19, 0.05, 0.0], [-0.19, -0.05, 0.0]]),
    side=np.array([0.1, -0.1, 0.1, -0.1]),
    thigh=0.21,
    calf=0.22,
    foot_radius=0.02,
    mass=16.0,
    com=np.array([0.0, 0.0, -0.02]),
    inertia=np.array([[0.18, 0.0, -0.02], [0.0, 0.51, 0.0], [-0.02, 0.0, 0.56]]),
    max_torque=np.array([23.7, 23.7, 45.4]),
)
HEIGHT = MpcCfg().height


def problems(count: int, seed: int = 0, spread: float = 1.0) -> ForceProblem:
    """Problems of robots near their standing pose, at any phase of their gait."""
    rng = np.random.default_rng(seed)
    feet = np.tile(BODY.below_hip - BODY.com, (count, 1, 1))
    feet[..., 2] = BODY.foot_radius
    feet[..., :2] += 0.05 * spread * rng.standard_normal((count, 4, 2))
    return ForceProblem(
        tilt=0.05 * spread * rng.standard_normal((count, 2)),
        height=HEIGHT + 0.01 * spread * rng.standard_normal(count),
        lin_vel=0.2 * spread * rng.standard_normal((count, 3)),
        ang_vel=0.3 * spread * rng.standard_normal((count, 3)),
        target=0.3 * spread * rng.standard_normal((count, 3)),
        lag=0.05 * spread * rng.standard_normal((count, 3)),
        feet=feet,
        time=rng.uniform(0.0, 2.0, count) * min(spread, 1.0),
    )


def joint_positions(count: int) -> np.ndarray:
    """Positions of joints well within their ranges, shape (count, 4, 3)."""
    rng = np.random.default_rng(0)
    return rng.uniform((-0.6, -0.2, -2.4), (0.6, 1.6, -0.9), (count, 4, 3))


def cost_of(problem: ForceProblem, forces: np.ndarray, gait: Gait, cfg: MpcCfg) -> float:
    """Cost of forces (steps, 4, 3) by stepping the rigid body through the horizon."""
    horizon, dt = cfg.horizon, cfg.horizon.dt
    wanted_position, wanted_velocity = (each[0] for each in reference(problem, cfg.height, horizon))
    arms = feet_ahead(problem, gait, horizon, BODY)[0]
    position = np.concatenate((problem.tilt[0], [0.0, 0.0, 0.0], problem.height))
    velocity = np.concatenate((problem.ang_vel[0], problem.lin_vel[0]))
    stands = contacts_ahead(problem, gait, horizon)[0]
    weight = np.zeros_like(forces)
    weight[..., 2] = stands * (BODY.mass * GRAVITY / stands.sum(1))[:, None]
    total = cfg.effort * float(((forces - weight) ** 2).sum())
    for k in range(horizon.steps):
        angular = np.linalg.solve(BODY.inertia, np.cross(arms[k], forces[k]).sum(0))
        linear = forces[k].sum(0) / BODY.mass - (0.0, 0.0, GRAVITY)
        acceleration = np.concatenate((angular, linear))
        position = position + dt * velocity + 0.5 * dt * dt * acceleration
        velocity = velocity + dt * acceleration
        total += float(cfg.position_weight @ (position - wanted_position[k]) ** 2)
        total += float(cfg.velocity_weight @ (velocity - wanted_velocity[k]) ** 2)
    return total


def test_joints_put_feet_where_they_are_wanted():
    """The joint positions for the places of feet are those that the feet had."""
    joints = joint_positions(100)
    assert np.abs(BODY.joints(BODY.feet(joints)) - joints).max() < 1.0e-10


def test_jacobians_are_derivatives_of_the_places_of_feet():
    """Central differences of the places of feet give the Jacobians of legs."""
    joints, step = joint_positions(50), 1.0e-6
    jacobian = BODY.jacobian(joints)
    for axis in range(3):
        moved = step * np.eye(3)[axis]
        differences = (BODY.feet(joints + moved) - BODY.feet(joints - moved)) / (2.0 * step)
        assert np.abs(differences - jacobian[..., axis]).max() < 1.0e-8


def test_diagonal_pairs_trot():
    """In a trot of duty one half exactly one diagonal pair stands at any time, and each for half a period."""
    gait = Gait()
    stands = gait.stands(np.linspace(0.0, 2.0, 1000, endpoint=False) + 1.0e-6)
    assert np.array_equal(stands[:, 0], stands[:, 3]) and np.array_equal(stands[:, 1], stands[:, 2])
    assert np.array_equal(stands[:, 0], ~stands[:, 1])
    assert stands[:, 0].mean() == pytest.approx(0.5, abs=0.01)


def test_standing_still_carries_a_quarter_of_the_weight_with_each_foot():
    """A level robot at rest at its wanted height gets a quarter of its weight on each foot, within a thousandth."""
    still = problems(1, spread=0.0)
    forces = ConvexMpc(BODY, Gait(duty=1.0), MpcCfg())(still)[0]
    assert forces[:, 2] == pytest.approx(np.full(4, 0.25 * BODY.mass * GRAVITY), rel=1.0e-3)
    assert np.abs(forces[:, :2]).max() < 0.1


def test_forces_stay_in_the_cone_and_swinging_feet_push_nothing():
    """Over random problems, in all steps of the horizon, forces keep to the friction pyramid and its top, and those of
    feet that swing are zero.
    """
    cfg, gait, asked = MpcCfg(), Gait(), problems(40, spread=2.0)
    plans = ConvexMpc(BODY, gait, cfg, 40).plan(asked)
    slack = 0.02 * BODY.mass * GRAVITY
    assert (np.abs(plans[..., :2]) <= cfg.friction * plans[..., 2:] + slack).all()
    assert plans[..., 2].min() > -slack and plans[..., 2].max() < cfg.max_force + slack
    assert (plans[~contacts_ahead(asked, gait, cfg.horizon)] == 0.0).all()
    assert (np.abs(plans[..., :2]) > 0.9 * cfg.friction * plans[..., 2:]).any(), "no problem meets the cone"


def test_no_other_forces_follow_the_wanted_motion_better():
    """The plan costs less than plans near it and far from it that keep to the constraints, with the cost taken from a
    roll-out of the rigid body.
    """
    cfg, gait = MpcCfg(tolerance=1.0e-7), Gait()
    for seed in range(5):
        asked = problems(1, seed)
        stands = contacts_ahead(asked, gait, cfg.horizon)[0].ravel()
        best = ConvexMpc(BODY, gait, cfg).plan(asked)[0]
        least = cost_of(asked, within_limits(best, stands.reshape(-1, 4), cfg), gait, cfg)
        rng = np.random.default_rng(seed)
        for size in (0.5, 5.0, 50.0):
            for _ in range(20):
                other = best + size * rng.standard_normal(best.shape)
                other = within_limits(other, stands.reshape(-1, 4), cfg)
                assert cost_of(asked, other, gait, cfg) > least - 1.0e-3 * abs(least)
        assert cost_of(asked, 1.1 * best, gait, cfg) > least


def test_the_published_programme_has_the_same_answers():
    """With feet in the air kept in the programme and limited to nothing, forces are the same."""
    cfg, gait, asked = MpcCfg(tolerance=1.0e-6), Gait(), problems(10)
    published = ConvexMpc(BODY, gait, replace(cfg, keeps_swinging=True), 10)
    published(problems(10, seed=1))  # other feet stand: limits are updated
    assert np.abs(published(asked) - ConvexMpc(BODY, gait, cfg, 10)(asked)).max() < 0.5


def test_a_solver_that_goes_on_gives_what_a_new_one_gives():
    """Solutions do not depend on the problems before, beyond the tolerance."""
    cfg, gait = MpcCfg(tolerance=1.0e-6), Gait()
    first, second = problems(1, 0), problems(1, 1)
    old = ConvexMpc(BODY, gait, cfg)
    old(first)
    assert np.abs(old(second) - ConvexMpc(BODY, gait, cfg)(second)).max() < 0.5
    assert old.solver_seconds > 0.0


def test_feet_stay_where_they_stand_while_the_robot_moves_on():
    """Seen from a centre of mass that moves at the wanted speed, a foot on the ground moves backwards at that speed."""
    gait, horizon = Gait(duty=1.0), Horizon()
    asked = replace(problems(1, spread=0.0), target=np.array([[0.5, 0.1, 0.0]]))
    arms = feet_ahead(asked, gait, horizon, BODY)[0]
    assert np.diff(arms[..., 0], axis=0) == pytest.approx(np.full((9, 4), -0.5 * horizon.dt))
    assert np.diff(arms[..., 1], axis=0) == pytest.approx(np.full((9, 4), -0.1 * horizon.dt))
    assert arms[..., 2] == pytest.approx(np.full((10, 4), BODY.foot_radius - HEIGHT))


def test_a_foot_in_its_next_stance_is_below_its_hip_in_the_middle_of_it():
    """A stance after the one that is known puts the foot below its hip half-way, whatever the speed."""
    gait, horizon = Gait(period=0.1, duty=0.5), Horizon(steps=40, dt=0.0125)
    asked = replace(problems(1, spread=0.0), target=np.array([[0.5, 0.0, 0.0]]))
    arms = feet_ahead(asked, gait, horizon, BODY)[0]
    phase = gait.leg_phase(horizon.middles)
    middle = (np.abs(phase[:, 0] - 0.25) < 0.07) & (horizon.middles > gait.period)
    assert middle.sum() > 4
    below = arms[middle, 0, 0] - (BODY.below_hip - BODY.com)[0, 0]
    assert np.abs(below).max() < 0.5 * 0.07 * gait.period + 1.0e-9


def test_what_a_network_sees_tells_problems_apart():
    """A network sees 41 numbers, and a change of any part of a problem changes them."""
    gait, horizon, asked = Gait(), Horizon(), problems(3)
    seen = features(asked, gait, horizon)
    assert seen.shape == (3, FEATURES) and np.isfinite(seen).all()
    for name, value in vars(asked).items():
        other = replace(asked, **{name: value + 0.013})
        assert (features(other, gait, horizon) != seen).any(axis=-1).all(), name


def test_the_network_keeps_to_the_limits():
    """Whatever comes in, forces are in the pyramid and swinging feet push nothing."""
    cfg = MpcCfg()
    rng = np.random.default_rng(0)
    stands = rng.random((200, 4)) < 0.5
    forces = within_limits(300.0 * rng.standard_normal((200, 12)), stands, cfg)
    assert (np.abs(forces[..., :2]) <= cfg.friction * forces[..., 2:] + 1.0e-9).all()
    assert forces[..., 2].min() == 0.0 and forces[..., 2].max() == cfg.max_force
    assert (forces[~stands] == 0.0).all()
    inside = np.tile((5.0, -5.0, 60.0), (1, 4))
    assert np.array_equal(within_limits(inside, np.ones((1, 4), dtype=bool), cfg).reshape(1, 12), inside)


def test_a_network_without_torch_gives_what_its_module_gives():
    """Weights taken out of a module, with the units of features and forces in them, give its numbers in newtons."""
    torch.manual_seed(0)
    module = torch.nn.Sequential(
        torch.nn.Linear(FEATURES, 192),
        torch.nn.ELU(),
        torch.nn.Linear(192, 192),
        torch.nn.ELU(),
        torch.nn.Linear(192, 12),
    )
    rng = np.random.default_rng(0)
    mean, scale = rng.standard_normal(FEATURES), rng.uniform(0.5, 2.0, FEATURES)
    network = ForceNetwork(module, mean, scale, 50.0, Gait(), MpcCfg())
    x = rng.standard_normal((7, FEATURES))
    with torch.no_grad():
        wanted = 50.0 * module(torch.as_tensor((x - mean) / scale, dtype=torch.float32)).numpy()
    assert network.evaluate(x.astype(np.float32)) == pytest.approx(wanted, abs=1.0e-3)
    assert network.size == 41 * 192 + 192 + 192 * 192 + 192 + 192 * 12 + 12


def test_a_network_learns_the_programme_and_says_how_well():
    """After a short training on a few hundred answers of the programme, the held-out error is well below the spread of
    the answers, and is the error of what the network says.
    """
    gait, cfg, asked = Gait(), MpcCfg(), problems(600)
    seen, forces = features(asked, gait, cfg.horizon), np.concatenate([ConvexMpc(BODY, gait, cfg, 600)(asked)])
    found = fit(seen, forces, gait, cfg, FitCfg(epochs=60), 0, lambda words: None)
    rest = slice(540, None)
    said = found.network.evaluate(seen[rest].astype(np.float32)).reshape(-1, 4, 3)
    stands = gait.stands(asked.time)[rest]
    assert found.error == pytest.approx(np.sqrt(np.mean((said - forces[rest])[stands] ** 2)), rel=1.0e-6)
    assert found.error < 0.6 * found.spread


def test_later_rounds_are_driven_by_the_network_and_answered_by_the_programme():
    """The forces that act in the first round are the programme's, later the network's; all examples hold the
    programme's, and there are as many as were asked for.
    """
    teacher, acted = ConvexMpc(BODY, Gait(), MpcCfg(), 4), []

    def walk_with(planner, transitions: int, seed: int) -> None:
        while transitions > 0:
            asked = problems(4, seed + transitions)
            acted.append((planner(asked), planner.forces[-1]))
            transitions -= 4

    found, examples = imitate(teacher, walk_with, (0.5, 0.5), 40, FitCfg(epochs=1), 0, lambda words: None)
    assert isinstance(examples, Examples) and len(examples) == 40 and len(acted) == 10
    same = [np.array_equal(force, answer) for force, answer in acted]
    assert same == [True] * 5 + [False] * 5
    assert np.isfinite(found.error)


def test_times_are_taken_of_each_part():
    """What is timed is positive, and a whole plan takes longer than the part of it that the solver or network is."""
    gait, cfg, asked = Gait(), MpcCfg(), [problems(1, seed) for seed in range(30)]
    mpc = ConvexMpc(BODY, gait, cfg)
    seen = features(asked[0], gait, cfg.horizon)
    found = fit(np.tile(seen, (20, 1)), np.ones((20, 4, 3)), gait, cfg, FitCfg(epochs=1), 0, lambda words: None)
    times = measure(mpc, found.network, asked)
    assert 0.0 < times.qp_ms < times.qp_plan_ms
    assert 0.0 < times.network_ms < times.network_plan_ms
    assert times.qp_ms < times.qp_published_ms
    assert times.qp_slowest_ms >= times.qp_ms and times.network_slowest_ms >= times.network_ms


class Gliders:
    """Robots that glide: each at a velocity of its own, whatever torques they get, and one that lies down once."""

    dt, count = 0.0025, 2

    def __init__(self, velocity: np.ndarray, lies_at: int | None = None):
        self.velocity, self.lies_at, self.steps, self.placed = velocity, lies_at, 0, []

    def place(self, robots, height, joint_pos):
        self.placed.append(robots.copy())
        self.height, self.joint_pos = height, joint_pos
        if self.steps > 0:
            self.lies_at = None

    def read(self) -> Motion:
        pos = np.zeros((2, 3))
        pos[:, 2] = self.height
        if self.lies_at is not None and self.steps >= self.lies_at:
            pos[1, 2] = 0.1
        zero = np.zeros((2, 3))
        # heading along y: what is forward is y
        turned = np.tile(np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]), (2, 1, 1))
        return Motion(pos, turned, self.velocity, zero, self.joint_pos, np.zeros((2, 4, 3)))

    def push(self, robots, change):
        pass

    def step(self, torques):
        assert np.isfinite(torques).all()
        self.steps += 1


def walked(robots: Gliders, seconds: float = 3.0):
    """A walk of gliders that should go forward at .5 m/s and not turn."""
    course = CourseCfg(forward=(0.5, 0.5), sideways=(0.0, 0.0), turning=(0.0, 0.0), push_every=10.0)
    gait = Gait()

    def even(problem):
        return np.tile((0.0, 0.0, 40.0), (2, 4, 1))

    controller = TrotController(BODY, gait, WalkCfg(), even, 2, robots.dt)
    return walk(robots, controller, BODY, HEIGHT, course, seconds, seed=0)


def test_the_error_of_a_walk_is_the_distance_to_the_wanted_velocity():
    """Robots that head along y and glide along y at .5 and .4 m/s, with .0 and .2 m/s aside, are off by 0 and by
    .2236 m/s, in the mean over both, where errors count.
    """
    went = walked(Gliders(np.array([[0.0, 0.5, 0.0], [-0.2, 0.4, 0.0]])))
    assert went.velocity_error == pytest.approx(0.5 * np.hypot(0.1, 0.2), rel=1.0e-6)
    assert went.turning_error == 0.0 and went.falls == 0
    settle = round(CourseCfg().settle / Gliders.dt)
    assert went.counts.sum() == 2 * ((1200 - settle - 1) - (settle + 1)), "the first target and the one at 2 s settle"


def test_a_fall_is_counted_once_and_put_back():
    """A robot that lies is counted and placed again; only that one, and its errors do not count for a while."""
    robots = Gliders(np.array([[0.0, 0.5, 0.0], [0.0, 0.5, 0.0]]), lies_at=400)
    went = walked(robots, 1.5)
    assert went.falls == 1
    assert [each.tolist() for each in robots.placed] == [[True, True], [False, True]]
    assert went.counts[:, 0].sum() > went.counts[:, 1].sum()


def test_a_robot_that_stands_pushes_with_its_weight():
    """Torques of a standing robot hold its weight: by the transposed Jacobians they are forces of the feet upwards."""
    gait, weight = Gait(duty=1.0), BODY.mass * GRAVITY
    feet = BODY.below_hip.copy()
    feet[:, 2] = -0.3
    joints = np.tile(BODY.joints(feet), (1, 1, 1))

    def quarter(problem):
        return np.tile((0.0, 0.0, 0.25 * weight), (1, 4, 1))

    controller = TrotController(BODY, gait, WalkCfg(), quarter, 1, 0.0025)
    zero = np.zeros((1, 3))
    motion = Motion(np.array([[0.0, 0.0, 0.32]]), np.eye(3)[None], zero, zero, joints, np.zeros((1, 4, 3)))
    torques = controller.torques(motion)
    on_feet = -np.linalg.solve(BODY.jacobian(joints).transpose(0, 1, 3, 2), torques[..., None])[..., 0]
    assert on_feet.sum(axis=1)[0] == pytest.approx((0.0, 0.0, weight), abs=1.0e-6)
