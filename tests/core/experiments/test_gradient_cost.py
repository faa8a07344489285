# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What gradients cost: the ways that are timed give the same gradients, and the figures are the ratios they claim."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from nerd_core.experiments.gradient_cost import EXPERIMENT, SmallNetwork, Trajectories, chain


def test_the_network_has_175_parameters_and_one_gradient():
    """By hand, by the graph and by differences the derivatives of the small network are the same."""
    network = SmallNetwork(samples=32, seed=1)
    ways = [torch.cat([each.flatten() for each in way()]) for way in (network.adjoint, network.graph)]
    assert ways[0].numel() == 175
    torch.testing.assert_close(ways[0], ways[1], rtol=1e-5, atol=1e-8)
    differences = torch.cat([each.flatten() for each in network.differences()])
    assert float((differences - ways[0]).norm() / ways[0].norm()) < 1e-2


def test_differences_leave_the_weights_as_they_were():
    """What is moved for a difference is put back to the last bit."""
    network = SmallNetwork(samples=8, seed=2)
    before = [each.clone() for each in network.weights]
    network.differences()
    assert all(torch.equal(a, b) for a, b in zip(before, network.weights, strict=True))


def test_the_pendulum_of_five_links_meets_the_ground():
    """Its links are longer than its pivot is high, and within a second a ball touches; the double one has no balls."""
    settings = replace(EXPERIMENT.smoke, trajectories=2)
    trajectories = Trajectories(5, 500, settings)
    lowest, state = [], trajectories.first
    with torch.no_grad():
        mechanics = trajectories.predictor.prior.mechanics
        for step in range(80):
            contacts = trajectories.predictor.contact_model(state, trajectories.ground)
            lowest.append(float(contacts.distance[contacts.active].min()) if bool(contacts.active.any()) else 1.0)
            effort = trajectories.efforts[:, step * trajectories.efforts.shape[1] // 100]
            state = trajectories.predictor.codec.apply(state, mechanics(state, effort, contacts))
    assert 0.02 < min(lowest) < 0.032  # the radius of the balls, and no ball deep in the ground
    assert trajectories.unknowns == 175 and not chain(2, touches=False).slots


def test_the_smoke_run_gives_the_ratios():
    """Figures of all cases are there, and are ratios of the times beside them; gradients of kernel and graph agree."""
    pytest.importorskip("warp", reason="needs Warp, which Isaac Lab brings")
    figures = EXPERIMENT.run(EXPERIMENT.smoke, lambda _: None).figures
    for case in ("ground", "free"):
        differences = 2.0 * figures[f"unknowns_{case}"] * figures[f"roll_out_s_{case}"]
        assert figures[f"cost_over_fd_{case}"] == pytest.approx(differences / figures[f"adjoint_s_{case}"])
        assert figures[f"cost_over_graph_{case}"] > 1.0
        assert figures[f"gradient_difference_{case}"] < 0.01
    assert figures["cost_over_fd"] == figures["cost_over_fd_network"] > 20.0
    assert figures["cost_over_graph"] == min(figures["cost_over_graph_ground"], figures["cost_over_graph_free"])
