# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Random planes on the real engine, and the double pendulum that swings into them."""

from __future__ import annotations

import dataclasses

import pytest
import torch

from nerd_core.contact.contacts import ContactModel
from nerd_core.contact.grounds import PlaneGround
from nerd_core.data.shards import ShardReader
from nerd_isaaclab.collect.collect_cfg import CollectCfg
from support.seam import make_env

NUM_ENVS, STEPS = 64, 60
CFG = CollectCfg(
    "NeRD-Double-Pendulum",
    steps=STEPS,
    num_envs=NUM_ENVS,
    seed=2,
    shares={"zero": 1.0},
    contacts="both",
    ground="random-planes",
    ranges={"joint_vel": (3.0,)},
)


@pytest.fixture(scope="module")
def collected(tmp_path_factory):
    """Two collections with the same settings in one engine, the report of one with contacts, and the robot."""
    from nerd_isaaclab.collect.collector import Collector, change_task

    env = make_env("NeRD-Double-Pendulum", NUM_ENVS, lambda cfg: change_task(cfg, CFG))
    folders = [tmp_path_factory.mktemp(name) for name in ("first", "again")]
    report = Collector(env, CFG, tmp_path_factory.mktemp("both"), 0).run(3 * NUM_ENVS * STEPS, lambda report: None)
    cfg = dataclasses.replace(CFG, contacts="geometry")  # the engine can be asked for contacts once, before it steps
    for folder in folders:
        Collector(env, cfg, folder, 0).run(3 * NUM_ENVS * STEPS, lambda report: None)
    yield [folder / "shard-000" for folder in folders], report, env.robot_spec
    env.close()


def gaps(spec, batch) -> torch.Tensor:
    """Gap between each slot's surface and the plane of its trajectory, at every state, shape (N, T + 1, K)."""
    model = ContactModel(spec)
    model.gate.fill_(torch.inf)
    state = torch.from_numpy(batch.state).reshape(batch.count, -1, spec.state.dim)
    ground = PlaneGround.from_vector(torch.from_numpy(batch.ground))
    return model(state, ground).distance - torch.tensor([slot.radius for slot in spec.slots])


def test_planes_are_hit_and_hold(collected):
    """Every trajectory starts clear of its own plane and many hit it: the boxes stand where the planes are said to be.
    A tip at 10 m/s moves 8 cm in a physics step, so a few sink in for a moment; hardly any stays inside.
    """
    folders, report, spec = collected
    assert not report.dropped
    planes = []
    for batch in ShardReader(folders[0]):
        gap = gaps(spec, batch)
        assert gap[:, 0].min() > 0.0
        hit = (gap < 0.01).any(-1).any(-1)
        assert hit.float().mean() > 0.2
        assert (gap.amin((1, 2)) > -0.05).float().mean() > 0.9
        assert (gap[:, -1].amin(-1) > -0.03).float().mean() > 0.95
        planes.append(torch.from_numpy(batch.ground))
    planes = torch.cat(planes)
    assert len(planes.unique(dim=0)) == len(planes)  # a plane a trajectory


def test_solver_and_planes_agree(collected):
    """At least 95 % of the solver's contacts with the boxes are within 5 mm of a slot on the plane."""
    _, report, _ = collected
    bodies = report.agreement.bodies.values()
    assert sum(body.sensor for body in bodies) > 100
    assert sum(body.explained for body in bodies) >= 0.95 * sum(body.sensor for body in bodies)


def test_planes_do_not_spoil_repetition(collected):
    """The same batches again, after others, give the same bytes: moving the boxes leaves nothing behind."""
    folders, _, _ = collected
    first, again = (sorted(folder.glob("*.h5")) for folder in folders)
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in again]
    assert len(first) == 3
