# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Contacts of the solver and teacher modes, on the real engine with Ants on the ground."""

from __future__ import annotations

import dataclasses

import pytest
import torch

from nerd_core.data.shards import ShardReader
from nerd_isaaclab.collect.collect_cfg import CollectCfg
from support.seam import make_env

NUM_ENVS, STEPS = 32, 60
CFG = CollectCfg("NeRD-Ant-Run", steps=STEPS, num_envs=NUM_ENVS, seed=5, contacts="both").resolved()


@pytest.fixture(scope="module")
def env():
    """One environment for the whole file."""
    from nerd_isaaclab.collect.collector import change_task

    env = make_env("NeRD-Ant-Run", NUM_ENVS, lambda cfg: change_task(cfg, CFG))
    yield env
    env.close()


@pytest.fixture(scope="module")
def collected(env, tmp_path_factory):
    """A collection with both sources of contacts, its report, and its probe for the other tests."""
    from nerd_isaaclab.collect.collector import Collector

    folder = tmp_path_factory.mktemp("both")
    collector = Collector(env, CFG, folder, 0)
    report = collector.run(NUM_ENVS * STEPS, lambda report: None)
    return folder / "shard-000", report, collector._probe


def test_what_only_reports_does_not_make_another_robot(env):
    """A task without contact sensors has the same robot: the schema that asks the engine to report contacts does not
    count in the hash of the asset, so that one model serves Isaac Lab's own Ant tasks too.
    """
    from pxr import Usd

    from nerd_isaaclab.physics.robot_description import _asset_hash, _first_prim_path

    stage, root = env.sim.stage, _first_prim_path(env.robot)
    copy = Usd.Stage.Open(stage.Flatten(False))
    reporting = [prim for prim in copy.Traverse() if "PhysxContactReportAPI" in prim.GetAppliedSchemas()]
    assert reporting
    for prim in reporting:
        prim.RemoveAppliedSchema("PhysxContactReportAPI")
    assert _asset_hash(copy, root) == _asset_hash(stage, root) == env.robot_spec.asset_hash


def test_solver_and_geometry_see_the_same_contacts(collected):
    """At least 99 % of the solver's contacts are within 5 mm of a slot, and of the touching slots within 5 mm of a
    contact; gaps differ by less than a tenth of a millimetre; the feet touch the ground in such a run.
    """
    _, report, _ = collected
    bodies = report.agreement.bodies
    assert sum("foot" in name for name in bodies) == 4
    sensor, touching = (sum(getattr(body, name) for body in bodies.values()) for name in ("sensor", "touching"))
    assert sensor > 500 and touching > 200
    assert sum(body.explained for body in bodies.values()) >= 0.99 * sensor
    assert sum(body.confirmed for body in bodies.values()) >= 0.99 * touching
    assert sum(body.gap_error for body in bodies.values()) < 1e-4 * sensor


def test_forces_are_zero_in_the_air_and_carry_the_robot(env, collected):
    """A body whose slots are far from the ground bears no force, and the forces on all bodies explain the motion of
    the whole: over the run their vertical sum is what gravity and the change of momentum ask for.
    """
    shard, _, _ = collected
    spec, batch = env.robot_spec, next(iter(ShardReader(shard)))
    force, active = torch.from_numpy(batch.body_force), torch.from_numpy(batch.contact_active).bool()
    for i, name in enumerate(spec.body_names):
        slots = torch.tensor([slot.body == name for slot in spec.slots])
        quiet = ~active[:, slots].any(-1)
        assert quiet.any() and force[quiet][:, i].abs().max() < 1e-3, name
    assert force[..., 2].sum(-1).max() > 5.0
    assert force[..., 2].min() > -1e-3


def test_resting_robots_weigh_what_they_weigh(env, collected):
    """Left alone for 4 s, the vertical contact forces of each Ant sum up to its weight within 2 %."""
    from nerd_isaaclab.collect.lean_scene import LeanScene

    probe = collected[2]
    env.reset(seed=0)
    scene, zero = LeanScene(env, probe=probe), torch.zeros(NUM_ENVS, env.robot_spec.control_dim)
    for _ in range(230):
        scene.step(zero)
    probe.clear()
    for _ in range(90):  # an Ant that still rocks weighs more and less in turn
        scene.step(zero)
    _, force = probe.take()
    weight = 9.81 * env.robot.data.body_mass.torch.sum(-1)
    torch.testing.assert_close(force[..., 2].sum(-1).mean(1), weight, rtol=0.02, atol=0.0)


def test_contacts_of_the_solver_are_recorded_at_their_slots(env, collected, tmp_path):
    """--contacts sensor stores for each touching slot what geometry says, from the solver's own data."""
    from nerd_core.contact.contacts import ContactModel
    from nerd_isaaclab.collect.contact_agreement import contacts_of_slots
    from nerd_isaaclab.collect.lean_rollouts import LeanRollouts
    from nerd_isaaclab.physics.ground import find_ground

    probe = collected[2]
    probe.clear()
    ground = find_ground(env)
    rollouts = LeanRollouts(env, dataclasses.replace(CFG, contacts="sensor", steps=20), ground, probe)
    transitions, _ = rollouts.roll(0, 1)
    geometry = ContactModel(env.robot_spec)(transitions.before, ground)
    pairs, _ = probe.take()
    found = contacts_of_slots(pairs, geometry, env.robot_spec)
    radius = torch.tensor([slot.radius for slot in env.robot_spec.slots])
    touching = geometry.active & (geometry.distance <= radius)
    assert found.active[touching].float().mean() > 0.99
    both = found.active & geometry.active
    torch.testing.assert_close(found.distance[both], geometry.distance[both], atol=5e-4, rtol=0)
    torch.testing.assert_close(found.point[both], geometry.point[both], atol=6e-3, rtol=0)


def test_a_rewritten_teacher_is_a_function_of_state_and_control(env, collected):
    """With the state written back before each physics step, transitions with contact, replayed in any order, give the
    same next state to the last bit. Running on, the solver does not: its friction remembers.
    """
    from nerd_isaaclab.collect.lean_scene import LeanScene

    del collected  # only so that the contact binding is made before the first step
    worst = {}
    for rewrite in (True, False):
        scene = LeanScene(env, rewrite=rewrite)
        env.reset(seed=1)
        generator = torch.Generator().manual_seed(0)
        states, controls = [scene.read().clone()], []
        for _ in range(50):
            controls.append((torch.rand(NUM_ENVS, env.robot_spec.control_dim, generator=generator) * 2 - 1) * 7.5)
            states.append(scene.step(controls[-1]).clone())
        differences = []
        for step in torch.randperm(50, generator=generator).tolist():
            scene.write(states[step])
            differences.append((scene.step(controls[step]) - states[step + 1]).abs().max())
        worst[rewrite] = float(torch.stack(differences).max())
    assert worst[True] == 0.0
    assert worst[False] > 1e-4
