# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""A teacher makes data for a student: its own motion, from recorded states or from those that the student reaches."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch

from nerd_core import checkpoint
from nerd_core.cli import main
from nerd_core.contact.grounds import PlaneGround
from nerd_core.data.dataset import TrajectoryBatch, TrajectoryDataset
from nerd_core.data.layout import DataError, ShardMeta
from nerd_core.data.manifest import write_manifest
from nerd_core.data.shards import ShardWriter
from nerd_core.dynamics import rollout_states
from nerd_core.network.architectures.residual import ResidualMlp, ResidualMlpCfg
from nerd_core.predictor.config import PredictorCfg
from nerd_core.predictor.mechanics_prior import MechanicsPriorCfg
from nerd_core.predictor.predictor import Predictor
from nerd_core.training import taught
from nerd_core.training.config import TrainingError
from nerd_core.training.taught import TeachCfg, teach
from support.robots import ant, random_state, with_inertias

SPEC, COUNT, STEPS = with_inertias(ant()), 6, 10
CFG = TeachCfg(transitions=300, steps=3, batch=64, visited_steps=6, seed=2)


@cache
def teacher() -> Predictor:
    """Mechanics of which nothing is learned."""
    return Predictor(SPEC, PredictorCfg(network=None, prior=MechanicsPriorCfg(hidden=0, slots=4))).eval()


def pushing(push: float) -> Predictor:
    """A network that adds as much to each number of a state in each step, in its units."""
    torch.manual_seed(1)
    predictor = Predictor(SPEC, PredictorCfg(network=ResidualMlpCfg(width=4, hidden=4, layers=1))).eval()
    assert isinstance(predictor.network, ResidualMlp)
    for name, param in predictor.network.head.named_parameters():
        torch.nn.init.constant_(param, push if name == "bias" else 0.0)
    return predictor


@cache
def student() -> Predictor:
    """A network that moves otherwise: each step adds a little to the velocities."""
    return pushing(0.02)


@cache
def recorded() -> TrajectoryDataset:
    """Made-up trajectories above planes of different heights, whose controls tell the trajectory and the step."""
    state = torch.stack([random_state(SPEC, STEPS + 1, seed=seed, spread=0.1) for seed in range(COUNT)])
    state[..., SPEC.state.root_pos] = torch.tensor([0.0, 0.0, 0.9])
    control = torch.arange(COUNT * STEPS).view(COUNT, STEPS, 1).expand(-1, -1, SPEC.control_dim) * 0.01
    ground = torch.tensor([[0.0, 0.0, 1.0, -0.1 * each] for each in range(COUNT)])
    length = [10, 10, 7, 10, 2, 10]
    return TrajectoryDataset.from_tensors(SPEC, state, control, length=torch.tensor(length), ground=ground)


def moved(batch: TrajectoryBatch, predictor: Predictor) -> torch.Tensor:
    """Where a predictor leads from the first states of some windows, with the memory of friction, shape (B, L, S)."""
    cache, ground = predictor.init_cache(len(batch.state)), PlaneGround.from_vector(batch.ground)
    held = batch.control.unbind(1)
    states = rollout_states(predictor, batch.state[:, 0], lambda step, _: held[step], len(held), ground, cache=cache)
    return torch.stack(list(states), 1)


def everything(data: TrajectoryDataset, steps: int = CFG.steps) -> TrajectoryBatch:
    """The beginnings of all trajectories of a dataset as one batch."""
    return data.gather(np.arange(len(data)), np.zeros(len(data), dtype=np.int64), steps)


@pytest.mark.parametrize("visited", [False, True])
def test_taught_trajectories_are_the_teachers_motion(tmp_path: Path, visited: bool):
    """From the first state of each trajectory the teacher leads to all others, over the plane of its record."""
    with torch.no_grad():
        manifest = teach(teacher(), recorded(), CFG, tmp_path / "out", "mechanics", student() if visited else None)
        batch = everything(TrajectoryDataset.open(tmp_path / "out"))
        found = moved(batch, teacher())
    assert manifest.transitions >= CFG.transitions
    assert (batch.state[:, 1:] - found).abs().max() < 1.0e-6
    planes = {round(float(each), 3) for each in batch.ground[:, 3]}
    assert len(planes) > 1


def test_recorded_states_get_the_controls_of_others(tmp_path: Path):
    """Each trajectory begins in a recorded state, and few with the controls that were recorded there; controls follow
    each other as in a record, and past its end come those of another from its beginning.
    """
    data = recorded()
    teach(teacher(), data, CFG, tmp_path / "out", "mechanics")
    batch = everything(TrajectoryDataset.open(tmp_path / "out"))
    rows = data.arrays["state"]
    distance, place = torch.cdist(batch.state[:, 0], rows).min(1)
    assert distance.max() < 5.0e-3  # rounding of the distance
    own = data.arrays["control"][place, 0] == batch.control[:, 0, 0]
    assert own.float().mean() < 0.2
    ids = (batch.control[..., 0] * 100.0).round().long()
    last = {trajectory * STEPS + int(length) - 1 for trajectory, length in enumerate(data.length)}
    ended = 0
    for before, after in zip(ids[:, :-1].flatten().tolist(), ids[:, 1:].flatten().tolist(), strict=True):
        assert after % STEPS == 0 if before in last else after == before + 1
        ended += before in last
    assert ended > 0


def test_visited_states_are_the_students(tmp_path: Path):
    """Each trajectory begins where the student's roll-out from the beginning of a record, under its controls, leads
    after as many steps as the first control tells.
    """
    data = recorded()
    teach(teacher(), data, CFG, tmp_path / "out", "mechanics", student())
    batch = everything(TrajectoryDataset.open(tmp_path / "out"))
    whole = data.select(data.length == STEPS)
    paths = moved(everything(whole, STEPS), student())
    checked = 0
    for state, control in zip(batch.state[:, 0], batch.control[:, 0, 0], strict=True):
        trajectory, step = divmod(int((control * 100.0).round()), STEPS)
        if trajectory in (2, 4) or step == 0:
            continue  # short records go on with the controls of others
        row = [0, 1, 3, 5].index(trajectory)
        assert (state - paths[row, step - 1]).abs().max() < 1.0e-5
        checked += 1
    assert checked > 20


def test_lost_roll_outs_teach_nothing(tmp_path: Path):
    """States of a student that has left its bounds are replaced by recorded ones."""
    lost = Predictor(SPEC, PredictorCfg(network=ResidualMlpCfg(width=4, hidden=4, layers=1), within_data=True)).eval()
    assert lost.bounds is not None
    lost.bounds.state_upper.fill_(-1.0)
    lost.bounds.state_lower.fill_(-2.0)
    teach(teacher(), recorded(), CFG, tmp_path / "out", "mechanics", lost)
    batch = everything(TrajectoryDataset.open(tmp_path / "out"))
    assert torch.cdist(batch.state[:, 0], recorded().arrays["state"]).min(1).values.max() < 5.0e-3


def test_interrupted_lessons_go_on(tmp_path: Path):
    """A dataset that was begun with fewer transitions and gone on with has the bytes of one that was not."""
    teach(teacher(), recorded(), replace(CFG, transitions=150), tmp_path / "a", "mechanics")
    first = teach(teacher(), recorded(), CFG, tmp_path / "a", "mechanics")
    second = teach(teacher(), recorded(), CFG, tmp_path / "b", "mechanics")
    assert first.dataset_hash == second.dataset_hash
    with pytest.raises(DataError, match="seed is 3, was 2"):
        teach(teacher(), recorded(), replace(CFG, seed=3), tmp_path / "a", "mechanics")


def test_lessons_of_others_are_not_continued(tmp_path: Path):
    """Data are not gone on with by another model of the same name, or with steps of another length."""
    teach(teacher(), recorded(), CFG, tmp_path / "a", "best", models={"teacher": "one"})
    with pytest.raises(DataError, match="digest of the teacher"):
        teach(teacher(), recorded(), CFG, tmp_path / "a", "best", models={"teacher": "other"})
    with pytest.raises(DataError, match="steps"):
        teach(
            teacher(), recorded(), replace(CFG, steps=CFG.steps + 1), tmp_path / "a", "best", models={"teacher": "one"}
        )


def test_wild_teachers_are_refused(tmp_path: Path):
    """A teacher that leaves the guard of the robot everywhere is given up, with words."""
    wild = pushing(1.0e6)
    with pytest.raises(TrainingError, match="no trajectory of 5 batches"):
        teach(wild, recorded(), replace(CFG, batch=8), tmp_path / "out", "wild")
    assert taught.EMPTY_BATCHES == 5


def test_command_teaches(tmp_path: Path, capsys):
    """``nerd data teach`` writes a complete dataset that says who taught it, from a folder of data and of a model."""
    data, state = recorded(), everything(recorded().select(recorded().length == STEPS), STEPS)
    with ShardWriter(tmp_path / "data", SPEC, ShardMeta(task="made up")) as writer:
        writer.append(state.state, state.control, ground=state.ground)
    write_manifest(tmp_path / "data")
    checkpoint.save(tmp_path / "model", teacher())
    words = ["data", "teach", str(tmp_path / "data"), "--teacher", str(tmp_path / "model"), "--batch", "16"]
    assert main([*words, "--out", str(tmp_path / "out"), "--transitions", "64", "--steps", "4"]) == 0
    found = TrajectoryDataset.open(tmp_path / "out", spec=data.spec)
    assert found.complete and found.transitions == 64
    assert found.meta[0].teacher == "model 'model'" and found.meta[0].task == "made up"
    assert "64 transitions" in capsys.readouterr().out
    # once more, with more asked for: what is there is continued
    assert main([*words, "--out", str(tmp_path / "out"), "--transitions", "128", "--steps", "4"]) == 0
    assert TrajectoryDataset.open(tmp_path / "out").transitions == 128
    assert main([*words, "--out", str(tmp_path / "data")]) == 2
    assert "a folder of its own" in capsys.readouterr().err
