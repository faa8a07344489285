# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The symmetries that are found in a specification are those of the engine's robot, masses and all."""

from __future__ import annotations

import pytest
import torch

from nerd_core.network.symmetry import image, symmetries_of
from nerd_core.training.metrics import compare
from support.seam import make_env

COPIES = 8


@pytest.mark.parametrize(
    ("task", "count", "effort", "steps", "close"),
    [("NeRD-Cartpole", 2, 20.0, 60, 1e-9), ("NeRD-Ant-Run", 8, 5.0, 10, 2e-4)],
)
def test_the_image_of_a_start_moves_as_the_image_of_the_motion(task, count, effort, steps, close):
    """Under the images of random efforts a Cartpole moves as its mirror image to the last bit, and an Ant that falls as
    each of its eight images. Where many contacts meet PhysX is not quite symmetric itself: it solves them in turn.
    """
    from nerd_isaaclab.collect.lean_scene import LeanScene

    env = make_env(task, count * COPIES)
    try:
        env.reset(seed=1)
        scene = LeanScene(env)
        spec, symmetries = scene.spec, symmetries_of(scene.spec)
        assert len(symmetries) == count
        first = scene.read()[:COPIES].clone()
        if spec.floating_base:
            first[:, :2] = 0.0
        scene.write(torch.cat([image(spec, each, first) for each in symmetries]))
        states, generator = [scene.read().clone()], torch.Generator().manual_seed(0)
        for _ in range(steps):
            control = effort * torch.randn(COPIES, spec.control_dim, generator=generator)
            states.append(scene.step(torch.cat([each.controls(control) for each in symmetries])).clone())
        parts = torch.stack(states, 1).split(COPIES)
        assert (parts[0][:, -1] - parts[0][:, 0]).abs().mean() > 0.1
        for each, part in zip(symmetries, parts, strict=True):
            table = compare(spec, part, image(spec, each, parts[0])).table((steps,))
            errors = next(iter(table.values()))
            assert max(errors.values()) <= close, (each.axes, errors)
    finally:
        env.close()
