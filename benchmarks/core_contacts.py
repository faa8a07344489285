# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Contact queries of Ant's 25 slots against the network's step that they precede."""

from __future__ import annotations

from typing import Any

import torch
from core_stepping import MODELS
from timing import in_turns

from nerd_core.contacts import ContactModel
from nerd_core.grounds import Ground, PlaneGround
from nerd_core.height_field import HeightFieldGround
from nerd_core.models import build_model, transformer_cfg
from nerd_core.slots import capsule_slots, sphere_slots
from nerd_core.spec import Body, Control, Joint, RobotSpec

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
        "height field": HeightFieldGround(0.1 * torch.rand(200, 200), 0.1, torch.tensor([[10.0, 10.0, 0.0]])),
    }
    contacts, in_dim = ContactModel(spec), MODELS["paper-384"][0]
    model, token = build_model(transformer_cfg("paper-384"), *MODELS["paper-384"]), torch.randn(ENVS, in_dim)
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
        "contact_share_of_network_height_field": times.ratio("height field", "network"),
    }
