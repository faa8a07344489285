# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The neural step between a solver and a model with known answers: who is flagged, who moves, what is forgotten; no
engine.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from nerd_isaaclab.physics.neural_physics import NeuralPhysics
from support.robots import cartpole

pytestmark = pytest.mark.unit

NUM_ENVS, DT, DECIMATION = 5, 0.01, 2
NEURAL = torch.tensor([True, False, True, False, False])
SOLVED, SAID = 0.5, 2.0
"""What the solver adds to every number of a state in a physics step, and the model in a control step."""


class Solver:
    """Adds to every number of every state."""

    __name__ = "ovphysx_stub"
    other = "an attribute of the stock manager"

    def __init__(self, robot: Robot, handles_decimation: bool = False):
        self._robot, self._whole = robot, handles_decimation
        self.steps = self.forwards = 0

    def handles_decimation(self) -> bool:
        return self._whole

    def step(self) -> None:
        self.steps += 1
        self._robot.held = self._robot.held + SOLVED * (DECIMATION if self._whole else 1)
        self._robot.published = torch.full((NUM_ENVS, 2), 7.0), torch.full((NUM_ENVS, 3, 6), 8.0)

    def forward(self) -> None:
        self.forwards += 1


class Robot:
    """The reader and writer of a robot that is nowhere else. The engine holds states to a thousandth."""

    spec = cartpole()

    def __init__(self) -> None:
        self.held = torch.arange(NUM_ENVS * 4).reshape(NUM_ENVS, 4) / 7.0
        self.published = torch.zeros(NUM_ENVS, 2), torch.zeros(NUM_ENVS, 3, 6)
        self.clock: list[float] = []
        self.is_early = False

    def read(self) -> torch.Tensor:
        return self.held.clone()

    read_engine = read

    def read_control(self) -> torch.Tensor:
        return torch.zeros(NUM_ENVS, 2)

    def write(self, state: torch.Tensor, env_ids: torch.Tensor | None = None) -> None:
        assert self.is_early, "what is written must count as fresh after the coming update"
        self.held = self.held.clone()
        self.held[slice(None) if env_ids is None else env_ids] = (state * 1000.0).round() / 1000.0

    def take_back_wrench(self) -> None:
        assert not self.is_early, "wrenches are taken back where they were given: before bodies move"

    def unwrap(self, state: torch.Tensor, previous: torch.Tensor) -> torch.Tensor:
        return state

    def velocities(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Of the joints as in the state, of three bodies twice and three times that of the first joint."""
        joints = self.held[:, 2:].clone()
        return joints, torch.stack([number * joints[:, :1].expand(-1, 6) for number in (1.0, 2.0, 3.0)], dim=1)

    def accelerations(self) -> tuple[torch.Tensor, torch.Tensor]:
        return self.published[0].clone(), self.published[1].clone()

    @contextmanager
    def at_coming_update(self, dt: float) -> Iterator[None]:
        self.clock.append(dt)
        self.is_early = True
        yield
        self.is_early = False

    def publish_accelerations(self, joints: torch.Tensor, bodies: torch.Tensor) -> None:
        assert self.is_early
        self.published = joints.clone(), bodies.clone()


class Model:
    """Adds to every number of every state; notes the age of each history and what it was asked to step."""

    def __init__(self) -> None:
        self.held = torch.zeros(NUM_ENVS, dtype=torch.bool)
        self.refuses = torch.zeros(NUM_ENVS, dtype=torch.bool)
        self.age = torch.zeros(NUM_ENVS, dtype=torch.int64)
        self.asked: list[torch.Tensor] = []

    def reset(self, env_ids: torch.Tensor | None = None) -> None:
        self.age[slice(None) if env_ids is None else env_ids] = 0

    def step(self, state: torch.Tensor, control: torch.Tensor) -> torch.Tensor:
        self.age += 1
        self.asked.append(state.clone())
        self.held.copy_(self.refuses)
        return torch.where(self.held[:, None], state, state + SAID)


class Bench:
    """A neural step with all its neighbours."""

    def __init__(self, neural: torch.Tensor | None, whole: bool = False):
        self.robot, self.model = Robot(), Model()
        self.solver = Solver(self.robot, whole)
        make: Any = NeuralPhysics
        self.physics = make(self.solver, self.robot, self.model, DT, DECIMATION)
        self.physics.use(neural)

    def control_step(self) -> None:
        """As many calls as Isaac Lab makes in one step of an environment."""
        for _ in range(1 if self.physics.handles_decimation() else DECIMATION):
            self.physics.step()


def test_with_all_environments_neural_the_solver_rests():
    """One call is a control step: the model's states are written, kinematics are evaluated once, the solver does not
    step; accelerations are the change of velocities over a control step, put where the coming update finds them.
    """
    bench = Bench(None)
    assert bench.physics.handles_decimation()
    before, (joints, bodies) = bench.robot.held, bench.robot.velocities()
    bench.control_step()
    assert (bench.solver.steps, bench.solver.forwards) == (0, 1)
    torch.testing.assert_close(bench.robot.held, before + SAID, rtol=0, atol=1e-3)
    new_joints, new_bodies = bench.robot.velocities()
    torch.testing.assert_close(bench.robot.published[0], (new_joints - joints) / (DT * DECIMATION))
    torch.testing.assert_close(bench.robot.published[1], (new_bodies - bodies) / (DT * DECIMATION))
    assert bench.robot.clock == [pytest.approx(DT * DECIMATION)]
    assert bench.physics.one_step_error is None


@pytest.mark.parametrize("whole", [False, True])
def test_in_mixed_mode_each_environment_has_its_own_stepper(whole: bool):
    """After the substeps of a control step the solver's environments are where it put them, the neural ones where the
    model says, from the state before the first substep; the one-step error is their difference, for all.
    """
    bench = Bench(NEURAL, whole)
    assert bench.physics.handles_decimation() is whole
    before = bench.robot.held
    for _ in range(3):
        bench.control_step()
    assert bench.solver.steps == 3 * (1 if whole else DECIMATION) and bench.solver.forwards == 3
    torch.testing.assert_close(bench.robot.held[~NEURAL], before[~NEURAL] + 3 * DECIMATION * SOLVED)
    torch.testing.assert_close(bench.robot.held[NEURAL], before[NEURAL] + 3 * SAID, rtol=0, atol=1e-3)
    error = bench.physics.one_step_error
    torch.testing.assert_close(error, torch.full_like(error, SAID - DECIMATION * SOLVED), rtol=0, atol=1e-3)
    summary = bench.physics.error_summary()
    assert set(summary) == {"error_joint_pos", "error_joint_vel"}
    assert bench.robot.clock == [pytest.approx(DT * (DECIMATION if whole else 1))] * 3


def test_the_logged_error_is_that_of_the_neural_environments():
    """What the model would have said of the solver's environments is not in the mean, and errors have no sign."""
    bench = Bench(NEURAL)
    bench.control_step()
    error = torch.zeros(NUM_ENVS, 4)
    error[NEURAL, 0], error[NEURAL, 3], error[~NEURAL] = -0.5, 0.25, 9.0
    bench.physics.one_step_error = error
    summary = bench.physics.error_summary()
    assert {name: float(value) for name, value in summary.items()} == {
        "error_joint_pos": 0.25,
        "error_joint_vel": 0.125,
    }


def test_accelerations_in_mixed_mode_are_those_of_each_stepper():
    """The solver's environments keep its own accelerations; those of neural ones are the change of their velocities
    from before the first substep, over the whole control step.
    """
    bench = Bench(NEURAL)
    bench.control_step()
    joints, bodies = bench.robot.velocities()
    bench.control_step()
    new_joints, new_bodies = bench.robot.velocities()
    for found, new, old, solved in (
        (bench.robot.published[0], new_joints, joints, 7.0),
        (bench.robot.published[1], new_bodies, bodies, 8.0),
    ):
        torch.testing.assert_close(found[NEURAL], ((new - old) / (DT * DECIMATION))[NEURAL])
        assert (found[~NEURAL] == solved).all()


def test_the_guard_flags_neural_environments_alone():
    """In mixed mode a refused prediction for an environment of the solver is nobody's fault and ends no episode; with
    all environments neural each counts.
    """
    bench = Bench(NEURAL)
    bench.model.refuses = torch.tensor([True, True, False, False, True])
    bench.control_step()
    bench.control_step()
    assert bench.physics.held.tolist() == [True, False, False, False, False]
    assert bench.physics.held_count.tolist() == [2, 0, 0, 0, 0]
    bench.physics.use(None)
    bench.control_step()
    assert bench.physics.held.tolist() == [True, True, False, False, True]
    assert bench.physics.held_count.tolist() == [3, 1, 0, 0, 1]
    bench.model.refuses = torch.zeros(NUM_ENVS, dtype=torch.bool)
    bench.control_step()
    assert not bench.physics.held.any() and bench.physics.held_count.tolist() == [3, 1, 0, 0, 1]


def test_a_change_of_side_empties_the_histories_of_those_who_change():
    """From mixed to another mask, to all neural and back, who gets another stepper begins anew, and no other."""
    bench = Bench(NEURAL)
    expected = torch.zeros(NUM_ENVS, dtype=torch.int64)
    other = torch.tensor([True, True, False, False, False])
    for old, new in ((NEURAL, other), (other, None), (None, NEURAL), (NEURAL, NEURAL)):
        for _ in range(3):
            bench.control_step()
        expected += 3
        assert torch.equal(bench.model.age, expected)
        bench.physics.use(new)
        everything = torch.ones(NUM_ENVS, dtype=torch.bool)
        changed = (everything if old is None else old) != (everything if new is None else new)
        expected[changed] = 0
        assert torch.equal(bench.model.age, expected)
        assert bench.physics.neural is new and bench.physics.one_step_error is None


def test_a_change_of_side_begins_a_whole_control_step():
    """A mask that is set in the middle of a control step lets the solver make all substeps of the next one."""
    bench = Bench(NEURAL)
    bench.physics.step()
    bench.physics.use(~NEURAL)
    before = bench.robot.held
    bench.physics.step()
    torch.testing.assert_close(bench.robot.held, before + SOLVED)
    bench.physics.step()
    torch.testing.assert_close(bench.robot.held[~NEURAL], before[~NEURAL] + SAID, rtol=0, atol=1e-3)


@pytest.mark.parametrize("neural", [None, NEURAL])
def test_the_model_goes_on_with_its_own_numbers_until_somebody_writes(neural: torch.Tensor | None):
    """What the engine has rounded is not what the next step begins with, unless the engine holds another number than it
    was left with: then it begins with that, whatever its size, with an empty history, in that environment alone.
    """
    bench = Bench(neural)
    exact = bench.robot.held.clone()
    for _ in range(4):
        bench.control_step()
    mask = torch.ones(NUM_ENVS, dtype=torch.bool) if neural is None else neural
    torch.testing.assert_close(bench.model.asked[-1][mask], exact[mask] + 3 * SAID, rtol=0, atol=1e-6)
    torch.testing.assert_close(bench.model.asked[-1][~mask], exact[~mask] + 3 * DECIMATION * SOLVED)
    assert bench.model.age.tolist() == [4] * NUM_ENVS
    bench.robot.held[2, 3] += 1.0e-6
    put = bench.robot.held.clone()
    bench.control_step()
    assert bench.model.age.tolist() == [5, 5, 1, 5, 5]
    assert torch.equal(bench.model.asked[-1][2], put[2])
    others = mask & (torch.arange(NUM_ENVS) != 2)
    torch.testing.assert_close(bench.model.asked[-1][others], exact[others] + 4 * SAID, rtol=0, atol=1e-6)


def test_a_reset_environment_is_read_from_the_engine():
    """After ``forget`` of some environments, their histories and forces are gone and the engine's numbers are taken,
    though nobody has changed them; the others keep theirs.
    """
    bench = Bench(None)
    bench.control_step()
    bench.physics.contact_forces += 1.0
    bench.physics.forget(torch.tensor([1, 4]))
    assert bench.model.age.tolist() == [1, 0, 1, 1, 0]
    assert bench.physics.contact_forces[:, 0, 0].tolist() == [1.0, 0.0, 1.0, 1.0, 0.0]
    held = bench.robot.held.clone()
    bench.control_step()
    assert bench.model.age.tolist() == [2, 1, 2, 2, 1]
    assert torch.equal(bench.model.asked[-1][[1, 4]], held[[1, 4]])
    assert not torch.equal(bench.model.asked[-1][[0, 2, 3]], held[[0, 2, 3]])
    bench.physics.forget(slice(None))
    assert bench.model.age.tolist() == [0] * NUM_ENVS


def test_forces_of_refused_states_are_none():
    """Contact forces are the model's, but zero where the guard held or where they are not numbers."""
    bench = Bench(None)
    force = torch.full((NUM_ENVS, 3, 3), 2.0)
    force[3, 1, 2] = torch.nan
    bench.model.prediction = SimpleNamespace(force=force, body_forces=None)  # pyright: ignore[reportAttributeAccessIssue]
    bench.model.refuses = torch.tensor([False, True, False, False, False])
    told: list[torch.Tensor] = []
    bench.physics.on_contact_forces = lambda: told.append(bench.physics.contact_forces.clone())
    bench.control_step()
    assert len(told) == 1
    assert told[0][:, 1, 2].tolist() == [2.0, 0.0, 2.0, 0.0, 2.0]


def test_everything_else_is_the_stock_manager():
    """Attributes and the name by which Isaac Lab finds its backend are those of the manager below."""
    bench = Bench(None)
    assert bench.physics.other == Solver.other and bench.physics.__name__ == "ovphysx_stub"
