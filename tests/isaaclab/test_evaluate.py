# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The judge of models gets a model with a known error and has to give that error back; no engine."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from nerd_core import checkpoint
from nerd_core.data.layout import ShardMeta
from nerd_core.data.shards import ShardWriter
from nerd_core.robot.spec import RobotSpec
from nerd_core.training.metrics import OpenLoopErrors
from nerd_isaaclab.collect.collect_cfg import CollectCfg
from nerd_isaaclab.collect.excitation import ControlRange, Excitation
from nerd_isaaclab.evaluation import open_loop
from nerd_isaaclab.evaluation.open_loop import EvaluateCfg, _published_names, evaluate
from nerd_isaaclab.programs import evaluate as evaluate_program
from support.robots import ant, cartpole

pytestmark = pytest.mark.unit

LOST = 50.0
"""First velocity of joint 0 that makes the model leave the finite numbers [m/s or rad/s]."""


def truth(spec: RobotSpec, state: torch.Tensor, control: torch.Tensor) -> torch.Tensor:
    """States in which the position of joint 0 grows by the sum of the controls in each step, and nothing else moves.

    Args:
        spec: The robot.
        state: First states, shape (N, S).
        control: Controls, shape (N, T, C).

    Returns:
        Shape (N, T + 1, S).
    """
    states = state[:, None].repeat(1, control.shape[1] + 1, 1)
    states[:, 1:, spec.state.joint_pos.start] += control.sum(-1).cumsum(1)
    return states


class StubPredictor(nn.Module):
    """Predicts :func:`truth` with an error that grows by the same amount in each step.

    A trajectory that begins with a velocity of at least :data:`LOST` leaves the finite numbers in step
    :attr:`lost_at`.
    """

    force_scale: torch.Tensor

    def __init__(self, spec: RobotSpec, drift: dict[int, float], lost_at: int = 3):
        """Makes the model.

        Args:
            spec: The robot.
            drift: What is added in each step, by column of the state.
            lost_at: Step, from 1 on, in which trajectories are lost.
        """
        super().__init__()
        self.spec, self.lost_at, self.done, self.bounds = spec, lost_at, 0, None
        self.register_buffer("force_scale", torch.ones(()))
        self.register_buffer("drift", torch.zeros(spec.state.dim))
        for column, amount in drift.items():
            self.get_buffer("drift")[column] = amount

    @property
    def device(self) -> torch.device:
        """Where it computes."""
        return self.force_scale.device

    def init_cache(self, batch: int, device: torch.device) -> dict:
        """Begins to count steps anew."""
        self.done = 0
        return {}

    def contacts(self, state: torch.Tensor, ground: object, env_ids: object = None) -> None:
        """The model sees none."""

    def step(self, state: torch.Tensor, control: torch.Tensor, contacts: None, cache: dict, parameters: None = None):
        """The change of state, shape (N, S)."""
        self.done += 1
        change = self.get_buffer("drift").repeat(len(state), 1)
        change[:, self.spec.state.joint_pos.start] += control.sum(-1)
        if self.done == self.lost_at:
            change[state[:, self.spec.state.joint_vel.start] >= LOST] = math.nan
        return change

    def next_state(self, state: torch.Tensor, prediction: torch.Tensor) -> torch.Tensor:
        """The state after a change."""
        return state + prediction


class Bench:
    """Takes the place of the solver and of the model's file, and notes what was asked of them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
        self.model = tmp_path / "some_model"
        self.model.mkdir()
        self.asked: list[CollectCfg] = []
        self.transitions: list[int] = []
        self.folders: list[Path] = []
        self.lost = 0
        monkeypatch.setattr(open_loop, "collect", self._collect)
        monkeypatch.setattr(checkpoint, "load", self._load)

    def use(self, spec: RobotSpec, drift: dict[int, float], lost: int = 0) -> None:
        """Sets the robot, the error of the model in each step, and how many trajectories it loses in step 3."""
        self.predictor, self.lost = StubPredictor(spec, drift), lost

    def _load(self, path: Path) -> StubPredictor:
        assert path == self.model
        return self.predictor

    def _collect(self, cfg: CollectCfg, folder: Path, transitions: int, quiet: bool, robot: RobotSpec) -> None:
        self.asked.append(cfg)
        self.transitions.append(transitions)
        self.folders.append(folder)
        spec, generator = self.predictor.spec, torch.Generator().manual_seed(cfg.seed)
        reach = torch.full((spec.control_dim,), 0.5)
        shares = cfg.resolved().shares
        self.controls = Excitation(spec, ControlRange(-reach, reach), shares, cfg.num_envs, cfg.steps, generator)
        state = torch.zeros(cfg.num_envs, spec.state.dim)
        if spec.floating_base:
            state[:, spec.state.root_quat.stop - 1] = 1.0
        state[: self.lost, spec.state.joint_vel.start] = LOST
        self.control = torch.stack([self.controls.control(step, state) for step in range(cfg.steps)], 1)
        with ShardWriter(folder, spec, ShardMeta(task=cfg.task)) as writer:
            writer.append(truth(spec, state, self.control).numpy(), self.control.numpy())


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Bench:
    """The bench."""
    return Bench(monkeypatch, tmp_path)


def test_horizons_stay_within_the_roll_outs():
    """A horizon that no roll-out reaches is refused; by default those are shown that are reached, or else the end."""
    with pytest.raises(ValueError, match="got the horizon 500 for roll-outs of 20 steps, expected none beyond them"):
        EvaluateCfg("cartpole", steps=20, horizons=(500,))
    assert EvaluateCfg("cartpole").shown_horizons == (100, 500, 1000)
    assert EvaluateCfg("cartpole", steps=500).shown_horizons == (100, 500)
    assert EvaluateCfg("cartpole", steps=20).shown_horizons == (20,)
    assert EvaluateCfg("cartpole", steps=20, horizons=(3,)).shown_horizons == (3,)


def test_errors_of_a_fixed_base_are_exact(bench: Bench):
    """A slide that is off by .01 m and a hinge by .002 rad more in each step give means of (H + 1) / 2 of that up to
    each horizon and k of that after step k; the slide counts as position of the base, which has no orientation.
    """
    bench.use(cartpole(), {0: 0.01, 1: -0.002})
    result = evaluate(EvaluateCfg(bench.model, trajectories=5, steps=20, horizons=(1, 10, 20)), quiet=True)
    assert list(result.horizons) == ["1", "10", "20"]
    for horizon in (1, 10, 20):
        found = result.horizons[str(horizon)]
        assert found["base_position_m"] == pytest.approx(0.01 * (horizon + 1) / 2, rel=1e-4)
        assert found["joint_rad"] == pytest.approx(0.002 * (horizon + 1) / 2, rel=1e-4)
        assert found["base_orientation_rad"] is None and len(found) == 3
    assert result.curves["joint_m"] == pytest.approx([0.01 * k for k in range(1, 21)], rel=1e-4)
    assert result.curves["joint/hinge"] == pytest.approx([0.002 * k for k in range(1, 21)], rel=1e-4)
    assert (result.trajectories, result.diverged, result.model) == (5, 0, "some_model")
    assert result.spec == cartpole().content_hash


def test_fingers_are_no_base():
    """Only a sliding joint through which all the rest hangs from the root is a cart; fingers at the end of an arm are
    joints of their own, and so are the slides of a gantry beside each other.
    """
    cart = cartpole()
    assert _published_names(cart)["base_position_m"] == "joint/slide" and "joint_m" not in _published_names(cart)
    slide, hinge = cart.joints
    finger = dataclasses.replace(
        cart,
        joints=(dataclasses.replace(slide, kind="revolute"), dataclasses.replace(hinge, kind="prismatic", wraps=False)),
    )
    names = _published_names(finger)
    assert names["base_position_m"] == "base_position_m" and names["joint_m"] == "joint_m"
    assert _published_names(ant())["base_position_m"] == "base_position_m"


def test_errors_of_a_floating_base_are_exact(bench: Bench):
    """A root that is off by 5 mm along two axes has an error of 5 mm times the root of two; one of eight hinges that
    is off by .08 rad makes a mean of .01.
    """
    spec = ant()
    at = spec.state
    bench.use(spec, {at.root_pos.start: 0.005, at.root_pos.start + 2: -0.005, at.joint_pos.start + 3: 0.008})
    result = evaluate(EvaluateCfg(bench.model, "NeRD-Ant-Run", trajectories=3, steps=9, horizons=(9,)), quiet=True)
    found = result.horizons["9"]
    assert found["base_position_m"] == pytest.approx(5 * 0.005 * math.sqrt(2.0), rel=1e-4)
    assert found["base_orientation_rad"] == pytest.approx(0.0, abs=1e-6)
    assert found["joint_rad"] == pytest.approx(5 * 0.001, rel=1e-4)
    assert result.curves[f"joint/{spec.joints[3].name}"] == pytest.approx([0.008 * k for k in range(1, 10)], rel=1e-3)
    assert set(result.curves) == {"base_position_m", "base_orientation_rad", "joint_rad"} | {
        f"joint/{joint.name}" for joint in spec.joints
    }


@pytest.mark.parametrize("protocol", ["passive", "driven"])
def test_driven_is_driven_and_passive_is_not(bench: Bench, protocol: Any):
    """What the solver is asked for has no control in passive roll-outs, and in driven ones controls that are drawn
    anew in each step over their whole range; the model gets the same ones, or it would be off here.
    """
    bench.use(cartpole(), {})
    cfg = EvaluateCfg(bench.model, trajectories=50, steps=40, horizons=(40,), protocol=protocol)
    result = evaluate(cfg, quiet=True)
    control = bench.control
    if protocol == "passive":
        assert not control.any()
    else:
        assert control.abs().max() > 0.49 and (control.flatten(0, 1).std(0) - 1 / math.sqrt(12.0)).abs().max() < 0.02
        centred = control[..., 0] - control[..., 0].mean()
        assert abs(float((centred[:, 1:] * centred[:, :-1]).mean() / centred.square().mean())) < 0.1
    assert result.protocol == protocol and result.horizons["40"]["base_position_m"] == pytest.approx(0.0, abs=1e-5)


def test_the_solver_is_asked_for_what_was_said(bench: Bench):
    """Task, length, number, seed, first states, mode, preset and overrides of the roll-outs are those of the order."""
    bench.use(cartpole(), {})
    cfg = EvaluateCfg(
        bench.model,
        "NeRD-Cartpole",
        initial="wide",
        teacher_mode="rewritten",
        trajectories=6,
        steps=7,
        horizons=(7,),
        seed=42,
        physics="newton",
        overrides=("env.decimation=3",),
    )
    result = evaluate(cfg, quiet=True)
    (asked,) = bench.asked
    assert (asked.task, asked.steps, asked.num_envs, asked.seed) == ("NeRD-Cartpole", 7, 6, 42)
    assert (asked.initial, asked.teacher_mode, asked.physics) == ("wide", "rewritten", "newton")
    assert asked.overrides == ("env.decimation=3",) and not asked.managers and asked.policy is None
    assert bench.transitions == [42] and not bench.folders[0].exists(), "the roll-outs are thrown away"
    assert (result.task, result.initial, result.teacher_mode) == ("NeRD-Cartpole", "wide", "rewritten")


def test_the_task_of_the_robot_is_taken_when_none_is_named(bench: Bench):
    """A cartpole is judged on the task of its record, and the roll-outs begin as that task resets its robot."""
    bench.use(cartpole(), {})
    result = evaluate(EvaluateCfg(bench.model, trajectories=2, steps=3, horizons=(3,)), quiet=True)
    assert result.task == bench.asked[0].task == "NeRD-Cartpole" and bench.asked[0].initial == "task"


def test_diverged_trajectories_are_counted_and_make_means_infinite(bench: Bench):
    """Two of 300 roll-outs that leave the finite numbers in step 3 are counted, though more than one batch is judged;
    means are infinite from there on.
    """
    bench.use(cartpole(), {0: 0.01}, lost=2)
    result = evaluate(EvaluateCfg(bench.model, trajectories=300, steps=5, horizons=(2, 3, 5)), quiet=True)
    assert (result.trajectories, result.diverged) == (300, 2)
    assert result.horizons["2"]["base_position_m"] == pytest.approx(0.015, rel=1e-4)
    assert result.horizons["3"]["base_position_m"] == result.horizons["5"]["base_position_m"] == math.inf
    assert result.curves["joint_rad"][:2] == pytest.approx([0.0, 0.0]) and result.curves["joint_rad"][2] == math.inf


def test_the_number_that_compares_models_is_a_geometric_mean():
    """Errors of 4 m and 9 rad make a score of 6, whatever the single joints are off by."""
    curves = {"joint_m": [4.0, 4.0], "joint_rad": [6.0, 12.0], "joint/slide": [70.0, 70.0]}
    errors = OpenLoopErrors({name: torch.tensor(curve) for name, curve in curves.items()}, 1, 0)
    assert errors.score() == pytest.approx(6.0)


def test_kept_roll_outs_are_used_to_the_asked_number(bench: Bench, tmp_path: Path):
    """Of roll-outs that were kept, only as many as asked for are judged, and the folder stays."""
    bench.use(cartpole(), {0: 0.01})
    cfg = EvaluateCfg(bench.model, trajectories=8, steps=4, horizons=(4,), data=tmp_path / "kept")
    assert evaluate(cfg, quiet=True).trajectories == 8
    predictor, folder = bench.predictor, bench.folders[0]
    assert folder == tmp_path / "kept"
    fewer = EvaluateCfg(bench.model, "NeRD-Cartpole", trajectories=3, steps=4, horizons=(4,))
    assert open_loop.measure(fewer, predictor, folder).trajectories == 3


def test_the_program_shows_and_writes_the_same_numbers(bench: Bench, tmp_path: Path, capsys):
    """The table of ``nerd evaluate`` holds the numbers of its JSON, and says how many roll-outs were lost."""
    bench.use(cartpole(), {0: 0.01, 1: 0.002}, lost=1)
    words = ["--model", str(bench.model), "--trajectories", "4", "--steps", "4", "--horizons", "1", "2", "4"]
    assert evaluate_program.main([*words, "--protocol", "driven", "--json", str(tmp_path / "out.json")]) == 0
    plain, shown = json.loads((tmp_path / "out.json").read_text()), capsys.readouterr().out
    lines = [line.replace("│", " ").split() for line in shown.splitlines()]
    for horizon, errors in plain["horizons"].items():
        assert [horizon, *("-" if value is None else f"{value:.3g}" for value in errors.values())] in lines
    assert plain["horizons"]["2"]["base_position_m"] == pytest.approx(0.015, rel=1e-4)
    assert plain["protocol"] == "driven" and plain["diverged"] == 1
    assert "1 trajectories left the finite numbers" in shown
    assert plain["left_guard"] == [3] and plain["at_bounds"] == []
    assert "1 trajectories left the guard, the first after 3 steps" in shown
    assert plain["spread"]["4"]["joint_m"]["median"] == pytest.approx(0.025, rel=1e-3)
    assert "q90 of the trajectories" in shown
