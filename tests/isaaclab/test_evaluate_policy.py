# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""A model is judged on motions of a policy; an engine only in the last test."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from nerd_core import checkpoint
from nerd_core.checkpoint_names import find_checkpoint
from nerd_core.robot.guard import StateGuard
from nerd_isaaclab.evaluation import open_loop, policy_driven, policy_driven_worker
from nerd_isaaclab.evaluation.open_loop import EvaluateCfg, evaluate
from nerd_isaaclab.evaluation.policy_driven import Motions, PolicyDriven, PolicyDrivenError, judge, order_of, play
from support.robots import cartpole

POLICY = Path(__file__).parents[2] / "policies" / "NeRD-Cartpole"


class Model:
    """A model of which only the robot and the bounds are asked for."""

    def __init__(self):
        self.spec, self.bounds = cartpole(), None


def motions(ended: list[int], off: float = 0.01, steps: int = 4) -> Motions:
    """Motions at rest whose slide is off by a distance in every step in the model."""
    truth = torch.zeros(len(ended), steps + 1, cartpole().state.dim)
    states = truth.clone()
    states[:, 1:, 0] += off
    return Motions(truth, states, torch.tensor(ended))


@pytest.mark.unit
def test_a_policy_only_drives_where_it_is_asked_for():
    """Passive roll-outs with a policy, actions without a policy, and kept actions are refused, and say what to do."""
    with pytest.raises(ValueError, match="expected a policy only with --protocol driven"):
        EvaluateCfg("cartpole", policy=POLICY)
    with pytest.raises(ValueError, match="--given actions or nothing only with a policy"):
        EvaluateCfg("cartpole", protocol="driven", given="nothing")
    with pytest.raises(ValueError, match="expected no --data"):
        EvaluateCfg("cartpole", protocol="driven", policy=POLICY, given="actions", data="kept")
    with pytest.raises(ValueError, match="begin as the task resets"):
        EvaluateCfg("cartpole", protocol="driven", policy=POLICY, given="nothing", initial="wide")


@pytest.mark.unit
def test_the_solver_is_driven_by_the_policy_without_noise(monkeypatch: pytest.MonkeyPatch):
    """Given the controls alone, the roll-outs are those of the policy's mean action in the solver."""
    asked = []

    def collect(cfg: Any, *_: object, **__: object) -> None:
        asked.append(cfg)

    monkeypatch.setattr(open_loop, "collect", collect)
    monkeypatch.setattr(open_loop, "measure", lambda cfg, *_: cfg)
    cfg = EvaluateCfg("cartpole", protocol="driven", policy=POLICY, trajectories=4, steps=3)
    evaluate(cfg, quiet=True)
    assert asked[0].policy == POLICY and asked[0].policy_noise == 0.0 and asked[0].resolved().shares == {"policy": 1.0}


@pytest.mark.unit
@pytest.mark.parametrize(("given", "actions"), [("actions", True), ("nothing", False)])
def test_the_order_says_what_was_asked_for(given: Any, actions: bool):
    """Task, policy, model, number, length, seed and overrides go to the engine, and whether actions are replayed."""
    words = {"seed": 7, "trajectories": 4, "steps": 3, "overrides": ("env.decimation=3",)}
    cfg = EvaluateCfg("cartpole", "NeRD-Cartpole", protocol="driven", policy=POLICY, given=given, **words)
    order = order_of(cfg)
    assert order.actions is actions and order.model == find_checkpoint("cartpole") and order.policy == POLICY
    assert (order.task, order.seed, order.trajectories, order.steps) == ("NeRD-Cartpole", 7, 4, 3)
    assert order.overrides == ("env.decimation=3",) and order.physics == "ovphysx"


@pytest.mark.unit
def test_an_episode_that_ends_in_the_model_is_lost():
    """Errors are those of the states, and an episode that only the model ended counts as one that left the guard."""
    errors = judge(motions([0, 3, 0]), Model())  # pyright: ignore[reportArgumentType]
    assert errors.left_guard == (3,) and errors.trajectories == 3
    assert errors.curves["joint/slide"].tolist() == pytest.approx([0.01] * 4)
    beyond = float(StateGuard(cartpole()).upper[0]) + 1.0
    assert judge(motions([2, 0], off=beyond), Model()).left_guard == (1, 2)  # pyright: ignore[reportArgumentType]


@pytest.mark.unit
def test_a_motion_is_lost_once():
    """A motion that met the bounds of the model before its episode ended there counts as ended, not as both."""
    model: Any = Model()
    model.bounds = SimpleNamespace(within=lambda states: states[..., 0].abs() < 0.005)
    found = judge(motions([0, 3]), model)
    assert found.left_guard == (3,) and found.at_bounds == (1,) and found.lost == 2


class Clock:
    """An environment whose only state counts its steps; environment 1 ends after two of them and begins anew."""

    num_envs, device = 2, "cpu"

    def __init__(self):
        self.modes: list[str] = []
        self.seeds: list[int] = []
        self.actions: list[torch.Tensor] = []

    def set_nerd_mode(self, mode: str) -> None:
        self.modes.append(mode)

    def reset(self, seed: int) -> tuple[dict, dict]:
        self.seeds.append(seed)
        self.count = torch.zeros(2)
        return {"policy": self.count[:, None]}, {}

    def step(self, action: torch.Tensor) -> tuple:
        self.actions.append(action)
        self.count = self.count + 1.0
        ends = torch.tensor([False, float(self.count[1]) == 2.0])
        self.count = torch.where(ends, 0.0, self.count)
        no = torch.zeros(2, dtype=torch.bool)
        return {"policy": self.count[:, None]}, torch.zeros(2), ends, no, {}

    def read(self) -> torch.Tensor:
        return self.count[:, None]


@pytest.mark.unit
def test_what_ends_stays_at_its_last_state():
    """The states of an episode that ended are its last ones, not those of the next one; the step is noted."""
    env, seen = Clock(), []

    def act(step: int, observed: Any) -> torch.Tensor:
        seen.append((step, float(observed["policy"][0])))
        return torch.full((2, 1), float(step))

    states, ended = policy_driven_worker.run(env, env.read, "neural", 9, 4, act)
    assert env.modes == ["neural"] and env.seeds == [9] and ended.tolist() == [0, 2]
    assert states[0, :, 0].tolist() == [0, 1, 2, 3, 4] and states[1, :, 0].tolist() == [0, 1, 1, 1, 1]
    assert seen == [(0, 0.0), (1, 1.0), (2, 2.0), (3, 3.0)] and [float(each[0]) for each in env.actions] == [0, 1, 2, 3]


class Slower(Clock):
    """The same, at half the speed in the model: its environment 1 ends later, after four steps."""

    def step(self, action: torch.Tensor) -> tuple:
        if self.modes[-1] == "neural":
            self.count = self.count - 0.5
        return super().step(action)


@pytest.mark.unit
@pytest.mark.parametrize("given", ["actions", "nothing"])
def test_the_policy_acts_on_what_it_is_shown(given: Any):
    """Given actions, the model's run has those of the solver's, one by one; given nothing, those for its own states.
    What ended in the solver is not whole, though it goes on in the model.
    """
    env = Slower()
    order = order_of(EvaluateCfg("cartpole", protocol="driven", policy=POLICY, given=given, steps=3, seed=9))
    truth, states, ended, whole = policy_driven_worker.play_twice(
        env, env.read, order, lambda observed: 10.0 * observed
    )
    assert truth[0, :, 0].tolist() == [0, 1, 2, 3] and states[0, :, 0].tolist() == [0, 0.5, 1, 1.5]
    assert whole.tolist() == [True, False] and ended.tolist() == [0, 0]
    assert env.modes == ["physx", "neural"] and env.seeds == [9, 9]
    acted = [float(each[0]) for each in env.actions]
    assert acted[:3] == [0, 10, 20]
    assert acted[3:] == (acted[:3] if given == "actions" else [0, 5, 10])


@pytest.mark.unit
def test_starts_that_differ_are_not_compared():
    """An environment whose seed does not decide its starts gives no roll-outs to compare."""

    class Elsewhere(Clock):
        def reset(self, seed: int) -> tuple[dict, dict]:
            found = super().reset(seed)
            self.count += len(self.seeds)
            return found

    env = Elsewhere()
    order = order_of(EvaluateCfg("cartpole", protocol="driven", policy=POLICY, given="actions", steps=1))
    with pytest.raises(ValueError, match="starts of .* differ though their seed is the same"):
        policy_driven_worker.play_twice(env, env.read, order, lambda observed: observed)


@pytest.mark.unit
def test_motions_that_end_in_the_solver_are_left_out(monkeypatch: pytest.MonkeyPatch):
    """Only episodes that go on in the solver are judged; where none does, that is said."""
    whole = np.array([True, False])

    class Process:
        def __init__(self, module: str, order: PolicyDriven):
            self.out = order.out

        def wait(self, error: type[ValueError]) -> None:
            truth = np.arange(2.0)[:, None, None].repeat(2, 1)
            file = Path(self.out, policy_driven.STATES)
            np.savez(file, truth=truth, states=truth + 0.5, ended=np.array([0, 1]), whole=whole)

    monkeypatch.setattr(policy_driven, "EngineProcess", Process)
    order = order_of(EvaluateCfg("cartpole", protocol="driven", policy=POLICY, given="actions", steps=1))
    found = play(order)
    assert found.truth.flatten().tolist() == [0.0, 0.0] and found.states.flatten().tolist() == [0.5, 0.5]
    assert found.ended.tolist() == [0]
    whole[:] = False
    with pytest.raises(PolicyDrivenError, match="whose 512 episodes all end within 1 steps"):
        play(order)


@pytest.mark.long  # a start of the engine and long episodes; the tests above judge made-up motions
def test_a_policy_swings_up_in_the_solver_and_in_the_model():
    """Given the policy's actions, or nothing but the start, the shipped Cartpole does in a second what PhysX does to a
    tenth of a millimetre, while it moves by decimetres.
    """
    sizes: dict[str, Callable[[Motions], float]] = {
        "moved": lambda found: float((found.truth[:, -1] - found.truth[:, 0])[:, 0].abs().mean()),
        "off": lambda found: float((found.states - found.truth)[..., 0].abs().mean()),
    }
    cfg = EvaluateCfg("cartpole", "NeRD-Cartpole", protocol="driven", policy=POLICY, given="nothing", trajectories=8)
    order = order_of(EvaluateCfg(**{**vars(cfg), "steps": 60, "horizons": ()}))
    found = play(order)
    assert sizes["moved"](found) > 0.1 and sizes["off"](found) < 1e-4
    predictor = checkpoint.load(find_checkpoint("cartpole"))
    assert judge(found, predictor).at(60)["joint_rad"] < 1e-3
