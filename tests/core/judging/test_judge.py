# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The judge gets a model with a known error and has to give that error back, on every schema."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from nerd_core.judging.config import JudgeCfg
from nerd_core.judging.judge import JudgeResult, judge
from nerd_core.judging.windows import windows
from nerd_core.predictor.config import PredictorCfg
from nerd_core.predictor.mechanics_prior import MechanicsPriorCfg
from nerd_core.predictor.predictor import Predictor
from nerd_core.recordings.mechanisms import double_pendulum, tossed_box
from nerd_core.recordings.reading import read_recordings
from nerd_core.recordings.recording import Recording, RecordingError, RecordingSet
from nerd_core.robot.frames import quat_from_rotvec, quat_mul
from nerd_core.robot.spec import RobotSpec
from support.recorded_files import driven_pendulum_file, passive_pendulum_file, real_file, toss_file

RATE = 100.0
DRIFT, TURN = 0.003, 0.02
"""What the model adds in each step [m] and [rad]."""


class Drifting(nn.Module):
    """Goes on at constant velocity and adds a drift along x, a turn, and an error of each joint, in each step.

    A motion that begins with joint velocity or height above ``lost`` leaves the finite numbers.
    """

    bounds = None

    def __init__(self, spec: RobotSpec, joints: Sequence[float] = (), lost: float = math.inf):
        super().__init__()
        self.spec, self.joints, self.lost, self.seen = spec, torch.tensor(joints), lost, []

    @property
    def device(self) -> torch.device:
        return torch.device("cpu")

    def init_cache(self, *_: Any) -> dict:
        self.seen.clear()
        return {}

    def contacts(self, *_: Any) -> None:
        return None

    def step(self, state: Tensor, control: Tensor, *_: Any) -> Tensor:
        self.seen.append((state.clone(), control.clone()))
        return state

    def next_state(self, state: Tensor, _: Tensor) -> Tensor:
        at, dt, after = self.spec.state, self.spec.control_dt, state.clone()
        after[:, at.joint_pos] += dt * state[:, at.joint_vel] + self.joints
        if self.spec.floating_base:
            after[:, at.root_pos] += dt * state[:, at.root_lin_vel] + torch.tensor([DRIFT, 0.0, 0.0])
            turn = quat_from_rotvec(dt * state[:, at.root_ang_vel])
            more = quat_from_rotvec(torch.tensor([0.0, 0.0, TURN])).expand_as(turn)
            after[:, at.root_quat] = quat_mul(more, quat_mul(turn, state[:, at.root_quat]))
            after[state[:, 2] > self.lost] = math.nan
        return after


def drifting(*args: Any, **kwargs: Any) -> Predictor:
    """A drifting model where a predictor is expected."""
    return cast(Predictor, Drifting(*args, **kwargs))


def gliding(frames: Sequence[int], splits: Sequence[str] = (), heights: Sequence[float] = ()) -> RecordingSet:
    """A box that glides along y at 0.5 m/s without turning, in runs of some frames."""
    spec = tossed_box("box", RATE, 1.0, (0.01, 0.01, 0.01), (0.1, 0.1, 0.1), 9.81)
    runs = []
    for number, count in enumerate(frames):
        time = np.arange(count) / RATE
        pos = np.stack((0 * time, 0.5 * time, 0 * time + (heights[number] if heights else 1.0)), axis=1)
        vel = np.tile([0.0, 0.5, 0.0], (count, 1))
        quat = np.tile([0.0, 0.6, 0.0, 0.8], (count, 1))
        none = np.zeros((count, 0))
        split = splits[number] if splits else "val"
        runs.append(Recording(f"run {number}", time, none, none, pos, quat, vel, 0.0 * pos, split=split))
    return RecordingSet("glides", spec, tuple(runs), "rate", RATE, {}, width=0.2)


def turning(
    frames: int = 61, rate: float = RATE, family: str = "", angle: float = 0.0, speed: float = 0.5
) -> Recording:
    """A pendulum in weightlessness: the shoulder turns at a constant speed, the elbow stays."""
    time = np.arange(frames) / rate
    pos = np.stack((angle + speed * time, 0.1 + 0.0 * time), axis=1)
    vel = np.tile([speed, 0.0], (frames, 1))
    return Recording(f"turns {family} {angle}", time, pos, vel, split="val", family=family)


def arm(rate: float = RATE, driven: bool = False) -> RobotSpec:
    """A double pendulum."""
    return double_pendulum("arm", rate, (0.3, 0.3), (1.0, 1.0), (0.2, 0.2), (0.05, 0.05), driven=driven)


def test_windows_are_all_stretches_and_errors_their_means():
    """Of each run each stretch of 10 steps; the mean over its steps of an error that grows by a drift in each."""
    recordings = gliding([11, 15, 10])
    result = judge(drifting(recordings.spec), recordings, JudgeCfg(window=10))
    assert result.counts == {
        **{"recordings": 2, "recordings_too_short": 1, "windows": 1 + 5, "steps": 60},
        **{"diverged": 0, "left_guard": 0},
    }
    assert result.position_m == pytest.approx(DRIFT * 5.5, rel=1e-4)
    assert result.rotation_rad == pytest.approx(TURN * 5.5, rel=1e-4)
    assert result.rotation_deg == pytest.approx(math.degrees(TURN * 5.5), rel=1e-4)
    assert result.position_share_of_width == pytest.approx(DRIFT * 5.5 / 0.2, rel=1e-4)
    assert (result.window, result.stride, result.joint_rmse_rad, result.horizon_steps) == (10, 1, None, None)


def test_tosses_have_windows_of_eighty_steps_unless_somebody_says():
    """The protocol of NeRD; seconds are counted in frames, a stride leaves windows out."""
    recordings = gliding([101])
    predictor = drifting(recordings.spec)
    assert judge(predictor, recordings).window == 80 and judge(predictor, recordings).counts["windows"] == 21
    result = judge(predictor, recordings, JudgeCfg(seconds=0.5, stride=7))
    assert (result.window, result.counts["windows"]) == (50, 8)


def test_whole_flights_weigh_the_same():
    """From the first frame to the last, however long: a flight of ten steps counts as one of forty."""
    recordings = gliding([11, 41])
    result = judge(drifting(recordings.spec), recordings, protocol="flights")
    assert result.counts["windows"] == 2 and result.counts["steps"] == 50 and result.window is None
    assert result.position_m == pytest.approx(DRIFT * (5.5 + 20.5) / 2, rel=1e-4)


def test_by_default_all_is_judged_but_what_was_for_training():
    """Validation and test, one of them by name, all by name; a file for training alone is judged whole."""
    recordings = gliding([11, 12, 13], ["train", "val", "test"])
    predictor = drifting(recordings.spec)

    def windows_of(found: RecordingSet, split: str = "") -> int:
        return judge(predictor, found, JudgeCfg(window=10, split=split)).counts["windows"]

    assert windows_of(recordings) == 2 + 3 and windows_of(recordings, "all") == 6 and windows_of(recordings, "val") == 2
    assert windows_of(gliding([11, 12], ["train", "train"])) == 3
    assert judge(predictor, recordings, JudgeCfg(window=10, split="test")).split == ("test",)


def test_a_window_that_is_lost_makes_the_mean_infinite_and_is_counted():
    """The median stays, and the others are not touched."""
    recordings = gliding([11, 11, 11], heights=[1.0, 9.0, 1.0])
    result = judge(drifting(recordings.spec, lost=5.0), recordings, JudgeCfg(window=10))
    assert result.counts["diverged"] == 1 and result.counts["left_guard"] == 1
    assert result.position_m == math.inf and result.spread["position_m"]["median"] == pytest.approx(DRIFT * 5.5, 1e-4)


def test_the_model_sees_first_state_and_efforts_and_is_compared_with_what_came_after():
    """The first state is the frame where the window begins; efforts are those of its steps; truth is the rest."""
    recordings = RecordingSet(
        *("log", arm(driven=True)),
        (replace(turning(), efforts={"measured": np.arange(61.0)[:, None] * [1.0, 2.0]}),),
        *("stamps", RATE, {}, "measured"),
    )
    predictor = drifting(recordings.spec, (0.0, 0.0))
    result = judge(predictor, recordings, JudgeCfg(window=20, stride=20))
    assert result.counts["windows"] == 3 and result.joint_rmse_rad == pytest.approx(0.0, abs=1e-6)
    seen = cast(Drifting, predictor).seen
    torch.testing.assert_close(seen[0][0][1], torch.tensor([0.5 * 0.2, 0.1, 0.5, 0.0]))
    for step in (0, 7):
        torch.testing.assert_close(seen[step][1][1], (20.5 + step) * torch.tensor([1.0, 2.0]))
    later = judge(predictor, recordings, JudgeCfg(window=20, stride=20, delay=0.1))
    torch.testing.assert_close(cast(Drifting, predictor).seen[0][1][1], 10.5 * torch.tensor([1.0, 2.0]))
    assert later.counts == result.counts


def test_joints_have_a_root_mean_square_and_a_horizon():
    """Errors of both joints together, of each, and the steps until a link is 0.2 rad off: links add up their joints."""
    recordings = RecordingSet("log", arm(), (turning(),), "stamps", RATE, {})
    result = judge(drifting(recordings.spec, (0.01, 0.02)), recordings, JudgeCfg(seconds=0.3))
    growth = math.sqrt(sum(step**2 for step in range(1, 31)) / 30)
    assert result.joint_rmse_rad == pytest.approx(growth * math.sqrt((0.01**2 + 0.02**2) / 2), rel=1e-3)
    assert result.joint_rmse_by_joint_rad["elbow"] == pytest.approx(growth * 0.02, rel=1e-3)
    assert result.joint_rmse_by_joint_rad["shoulder"] == pytest.approx(growth * 0.01, rel=1e-3)
    assert result.horizon_steps == 6.0 and result.horizon_s == pytest.approx(0.06) and result.horizon_open == 0
    assert judge(drifting(recordings.spec, (0.0, 0.0)), recordings, JudgeCfg(seconds=0.3)).horizon_open == 6


def test_families_and_phases_are_told_apart():
    """Each run counts for its own family; windows in which both links stand upright are those of holding."""
    runs = (turning(41, family="a"), turning(61, family="b"), turning(61, family="b", angle=math.pi - 0.1, speed=0.05))
    recordings = RecordingSet("log", arm(), runs, "stamps", RATE, {})
    cfg = JudgeCfg(window=40, stride=20)
    result = judge(drifting(recordings.spec, (0.01, 0.0)), recordings, cfg)
    assert {name: table["windows"] for name, table in result.families.items()} == {"a": 1, "b": 4}
    assert {name: table["windows"] for name, table in result.phases.items()} == {"held": 2, "moving": 3}
    shares = judge(drifting(recordings.spec, (0.01, 0.0)), recordings, replace(cfg, window=None, seconds=0.1)).families
    assert shares["a"]["joint_rmse_rad"] == pytest.approx(0.01 * math.sqrt(38.5 / 2), rel=1e-3)


def test_errors_go_to_the_family_of_their_run():
    """Runs of different length are predicted in another order than they were read in: errors stay with theirs."""
    runs = [turning(61, family="long", speed=0.5), turning(21, family="short", speed=0.5)]
    runs[0] = replace(runs[0], joint_pos=runs[0].joint_pos + np.arange(61)[:, None] * [0.01, 0.0])
    recordings = RecordingSet("log", arm(), tuple(runs), "stamps", RATE, {})
    families = judge(drifting(recordings.spec, (0.0, 0.0)), recordings, protocol="flights").families
    assert families["short"]["joint_rmse_rad"] == pytest.approx(0.0, abs=1e-6)
    assert families["long"]["joint_rmse_rad"] > 0.1


def test_a_free_run_begins_with_what_is_known_by_then(tmp_path: Path):
    """Without recorded velocities a window begins at the 15th frame at the earliest, with the rate of the polynomial
    through the frames up to its first; later frames do not change it. The step of the model is a frame.
    """
    recordings = read_recordings(passive_pendulum_file(tmp_path / "ibm.h5", runs=1, frames=60))
    spec = replace(recordings.spec, physics_dt=0.004)  # another time base: velocities are in its seconds
    found = list(windows(recordings, spec, "windows", JudgeCfg(window=20, stride=1)))
    assert len(found) == 60 - 14 - 20
    frame = 14 + 3
    want = np.sin(frame * np.array([0.02, 0.03])), np.cos(frame * np.array([0.02, 0.03])) * [0.02, 0.03] / 0.004
    np.testing.assert_allclose(np.cumsum(found[3].first[:2]), want[0], atol=1e-5)
    np.testing.assert_allclose(np.cumsum(found[3].first[2:]), want[1], atol=2e-2)
    np.testing.assert_allclose(found[3].truth[:, :2], recordings.recordings[0].joint_pos[frame + 1 : frame + 21])
    run = recordings.recordings[0]
    changed = replace(run, joint_pos=np.where(np.arange(60)[:, None] > frame, 9.0, run.joint_pos))
    again = list(windows(replace(recordings, recordings=(changed,)), spec, "windows", JudgeCfg(window=20, stride=1)))
    np.testing.assert_array_equal(again[3].first, found[3].first)


def test_stamps_are_read_at_the_steps_of_the_model(tmp_path: Path):
    """A model of 5 ms and one of 20 ms are both judged on the same half second."""
    recordings = read_recordings(driven_pendulum_file(tmp_path / "arm.h5", runs=2))
    for rate, steps in ((200.0, 100), (50.0, 25)):
        spec = replace(recordings.spec, physics_dt=1.0 / rate)
        found = list(windows(recordings, spec, "windows", JudgeCfg()))
        assert {len(each.truth) for each in found} == {steps}
        start = recordings.recordings[0].time[0]
        after = start + (1 + np.arange(steps)) / rate
        np.testing.assert_allclose(found[0].truth[:, 0], np.sin(4.0 * after), atol=1e-3)


@pytest.mark.parametrize("wrong", ["step", "joints", "window", "both"])
def test_what_cannot_be_judged_is_refused(wrong: str):
    """A model of other steps or joints, windows longer than all runs, and both lengths at once: one message each."""
    recordings = gliding([11, 12])
    predictor, cfg, said = drifting(recordings.spec), JudgeCfg(window=10), "expected the same"
    if wrong == "step":
        predictor = drifting(replace(recordings.spec, physics_dt=0.02))
    elif wrong == "joints":
        predictor, said = drifting(arm()), "is it a model of this mechanism"
    elif wrong == "window":
        cfg, said = JudgeCfg(window=12), "none of the 2 recordings is as long as a window of 12 steps"
    else:
        with pytest.raises(ValueError, match="expected one of them"):
            JudgeCfg(window=12, seconds=1.0)
        return
    with pytest.raises(RecordingError, match=said):
        judge(predictor, recordings, cfg)


def rest(path: Path) -> JudgeResult:
    """Mechanics of the file's own robot, judged on the file."""
    recordings = read_recordings(path)
    mechanics = Predictor(recordings.spec, PredictorCfg(network=None, prior=MechanicsPriorCfg(hidden=0)))
    return judge(mechanics, recordings, JudgeCfg(window=10))


def test_mechanics_predict_free_flight(tmp_path: Path):
    """Of a file in which bodies fly and turn, mechanics of the robot of that file find the positions, and the turns."""
    result = rest(toss_file(tmp_path / "cube.h5"))
    assert result.position_m is not None and result.position_m < 4e-3
    assert result.rotation_rad is not None and result.rotation_rad < 1e-2


def test_on_the_real_cube_mechanics_are_some_centimetres_off():
    """All 1,973 windows of 80 steps of the 85 tosses for validation are judged."""
    recordings = read_recordings(real_file("contactnets_cube_trainval.h5"))
    mechanics = Predictor(recordings.spec, PredictorCfg(network=None, prior=MechanicsPriorCfg(hidden=0)))
    result = judge(mechanics, recordings)
    assert result.counts["windows"] == 1973 and result.split == ("val",)
    assert result.position_m is not None and 0.01 < result.position_m < 0.2
