# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""One training update against the plain matrix products of the very same shapes.

An update is everything: reading the batch, contacts, tokens, loss, gradients, clipping and the optimiser. The products
are those of the linear layers, once forward and twice backward; what attention multiplies is not counted among them.
Shapes are the published ones: windows of 10 tokens, batches of 512, AdamW.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from core_contacts import ant
from timing import in_turns
from torch import Tensor

from nerd_core.data.dataset import TrajectoryDataset
from nerd_core.network.architectures.transformer import Transformer, transformer_cfg
from nerd_core.network.token_config import TokenCfg
from nerd_core.predictor.config import PredictorCfg
from nerd_core.predictor.predictor import Predictor
from nerd_core.robot.spec import Body, Control, Joint, RobotSpec
from nerd_core.training.config import TrainCfg
from nerd_core.training.optimiser import OptimiserCfg
from nerd_core.training.run import Run, update_weights

BATCH, WINDOW, STEPS = 512, 10, 100
TRAJECTORIES = 1000

OPTIMISERS = {"adamw": OptimiserCfg(kind="adamw", lr=1e-4, eps=1e-8), "soap": OptimiserCfg(kind="soap", lr=1e-4)}


def cartpole() -> RobotSpec:
    """A cart with a pole, with the published tokens of 6 numbers."""
    return RobotSpec(
        name="cartpole",
        floating_base=False,
        joints=(Joint("slide", "prismatic", (1.0, 0.0, 0.0), -4.0, 4.0), Joint("hinge", "revolute", (0.0, 1.0, 0.0))),
        bodies=(Body("rail"), Body("cart", "rail", "slide"), Body("pole", "cart", "hinge")),
        controls=(Control("slide", "effort"), Control("hinge", "effort")),
        physics_dt=1.0 / 300.0,
        decimation=5,
    )


MODELS = {"paper-192": (cartpole, "cartpole"), "paper-384": (ant, "ant")}


def measure_training(
    models: Sequence[str] = tuple(MODELS),
    turns: int = 5,
    optimisers: Sequence[str] = tuple(OPTIMISERS),
    compile: bool = False,
) -> dict[str, Any]:
    """Measures updates of the published models.

    Args:
        models: Presets.
        turns: How often each side runs.
        optimisers: Names in :data:`OPTIMISERS`; the first decides the summary.
        compile: Whether the loss is compiled.

    Returns:
        Shares by name; ``train_share_of_gemm`` and ``data_share_of_step`` are the worst over the models.
    """
    numbers: dict[str, Any] = {"train_compiled": compile}
    print(f"training{' (compiled)' if compile else ''}: batch {BATCH} x {WINDOW}, an update against its products")
    for preset in models:
        for optimiser in optimisers:
            run = make_run(preset, OPTIMISERS[optimiser], compile)
            model = run.predictor.network
            assert isinstance(model, Transformer)
            functions: dict[str, Callable[[], Any]] = {
                "update": lambda run=run: update_weights(run, 0.5),
                "products": products(model),
                "data": lambda run=run: next(run.windows),
            }
            with run:
                times = in_turns(functions, turns, warm_up=2)
            name = f"d{model.cfg.width}_{optimiser}"
            numbers[f"train_share_of_gemm_{name}"] = share = times.ratio("products", "update")
            numbers[f"data_share_of_step_{name}"] = data = times.ratio("data", "update")
            numbers[f"updates_per_second_{name}"] = rate = 1e3 / times.milliseconds("update")
            print(f"  {preset:10} {optimiser:6} {rate:6.2f} updates/s, {share:6.1%} of the products, data {data:6.2%}")
    first = [f"d{transformer_cfg(preset).width}_{optimisers[0]}" for preset in models]
    numbers["train_share_of_gemm"] = min(numbers[f"train_share_of_gemm_{name}"] for name in first)
    numbers["data_share_of_step"] = max(numbers[f"data_share_of_step_{name}"] for name in first)
    print()
    return numbers


def make_run(preset: str, optimiser: OptimiserCfg, compile: bool = False) -> Run:
    """A training run on random data: how fast it goes does not depend on what it learns."""
    torch.manual_seed(0)
    spec = MODELS[preset][0]()
    state = 0.3 * torch.randn(TRAJECTORIES, STEPS + 1, spec.state.dim)
    if spec.floating_base:
        state[..., spec.state.root_quat.stop - 1] += 2.0
        state[..., spec.state.root_quat] /= state[..., spec.state.root_quat].norm(dim=-1, keepdim=True)
        state[..., spec.state.root_pos.stop - 1] += 0.5
    control = torch.randn(TRAJECTORIES, STEPS, spec.control_dim)
    ground = torch.tensor([0.0, 0.0, 1.0, 0.0]) if spec.slots else None
    data = TrajectoryDataset.from_tensors(spec, state, control, ground=ground)
    cfg = PredictorCfg(network=transformer_cfg(preset), token=TokenCfg.published())
    train_cfg = TrainCfg(
        updates=10**9,
        batch_size=BATCH,
        window_length=WINDOW,
        optimiser=optimiser,
        compile=compile,
        normaliser_transitions=10_000,
    )
    return Run(Predictor(spec, cfg), data, None, train_cfg, out=None, resume=False, quiet=True)


def products(model: Transformer) -> Callable[[], None]:
    """The products of all linear layers for one batch: ``x W^T``, and for the gradients ``g W`` and ``g^T x``."""
    weights = [param.detach() for param in model.parameters() if param.dim() == 2]
    rows = BATCH * WINDOW
    sides = {side for weight in weights for side in weight.shape}
    features: dict[int, Tensor] = {side: torch.randn(rows, side) for side in sides}

    def run() -> None:
        for weight in weights:
            x, gradient = features[weight.shape[1]], features[weight.shape[0]]
            torch.mm(x, weight.T)
            torch.mm(gradient, weight)
            torch.mm(gradient.T, x)

    return run


if __name__ == "__main__":
    measure_training()
