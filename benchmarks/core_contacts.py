# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Contact queries of Ant's 25 slots against the network's step that they precede."""

from __future__ import annotations

from typing import Any

import torch
from core_stepping import MODELS
from timing import in_turns

from nerd_core.contact.contacts import ContactModel
from nerd_core.contact.grounds import Ground, PlaneGround
from nerd_core.contact.triangle_mesh import TriangleMeshGround
from nerd_core.network.architectures.transformer import transformer_cfg
from nerd_core.robot.slots import capsule_slots, sphere_slots
from nerd_core.robot.spec import Body, Control, Joint, RobotSpec

ENVS = 512


def ant() -> RobotSpec:
    """Nine bodies, eight hinges and 25 slots, laid out as Ant's."""
    diagonal = (0.7071068, 0.7071068, 0.0)
    joints, bodies, slots = [], [Body("torso")], [*sphere_slots("torso", 0.25)]
    for i in range(4):
        out = (0.2 if i in (0, 3) else -0.2, 0.2 if i < 2 else -0.2, 0.0)
        half = (out[0] / 2, out[1] / 2, 0.0)
        joints.append(Joint(f"hip_{i}", "revolute", (0.0, 0.0, 1.0), -0.7, 0.7))
        joints.append(Joint(f"ankle_{i}", "revolute", (0.7071068, -0.7071068, 0.0), 0.5, 1.7))
        bodies.append(Body(f"leg_{i}", "torso", f"hip_{i}", out))
        bodies.append(Body(f"foot_{i}", f"leg_{i}", f"ankle_{i}", out))
        slots += capsule_slots("torso", 0.08, 0.14, diagonal, half)
        slots += capsule_slots(f"leg_{i}", 0.08, 0.14, diagonal, half)
        slots += capsule_slots(f"foot_{i}", 0.08, 0.28, diagonal, out)
    return RobotSpec(
        name="ant",
        floating_base=True,
        joints=tuple(joints),
        bodies=tuple(bodies),
        controls=tuple(Control(joint.name, "effort") for joint in joints),
        physics_dt=1 / 120,
        decimation=2,
        slots=tuple(slots),
    )


def rough_mesh(count: int, spacing: float) -> TriangleMeshGround:
    """Rough ground of up to 10 cm around the origin.

    Args:
        count: Number of corner points along each side.
        spacing: Distance of neighbouring corner points [m].
    """
    i, j = torch.meshgrid(torch.arange(count), torch.arange(count), indexing="ij")
    vertices = torch.stack((i * spacing, j * spacing, 0.1 * torch.rand(count, count)), -1).reshape(-1, 3)
    corner = (i * count + j)[:-1, :-1].reshape(-1)
    first = torch.stack((corner, corner + count, corner + count + 1), -1)
    second = torch.stack((corner, corner + count + 1, corner + 1), -1)
    middle = 0.5 * count * spacing
    return TriangleMeshGround(vertices, torch.cat((first, second)), torch.tensor([[middle, middle, 0.0]]))


def measure_contacts(turns: int) -> dict[str, Any]:
    """Measures forward kinematics and queries of all slots, as a share of the cached step of the published Ant model.

    Args:
        turns: How often each side runs.
    """
    torch.manual_seed(0)
    spec = ant()
    state = 0.3 * torch.randn(ENVS, spec.state.dim)
    state[:, spec.state.root_pos.start + 2] += 0.5
    state[:, spec.state.root_quat] = torch.nn.functional.normalize(torch.randn(ENVS, 4), dim=-1)
    grounds: dict[str, Ground] = {
        "plane": PlaneGround.flat(),
        "mesh": rough_mesh(200, 0.1),
    }
    contacts, in_dim = ContactModel(spec), MODELS["paper-384"][0]
    model, token = transformer_cfg("paper-384").build(*MODELS["paper-384"]), torch.randn(ENVS, in_dim)
    cache = model.init_cache(ENVS)
    functions: dict[str, Any] = {"network": lambda: model.step(token, cache)}
    for name, ground in grounds.items():
        functions[name] = lambda ground=ground: contacts(state, ground)
    with torch.no_grad():
        times = in_turns(functions, 2 * turns)
    print(
        f"contacts: {len(spec.slots)} slots of Ant, {ENVS} envs, against {times.milliseconds('network'):.2f} ms network"
    )
    for name in grounds:
        share = times.ratio(name, "network")
        print(f"  {name:13} {times.milliseconds(name):7.3f} ms, {100 * share:5.2f} % of the network")
    print()
    return {
        "contact_share_of_network": times.ratio("plane", "network"),
        "contact_share_of_network_mesh": times.ratio("mesh", "network"),
    }
