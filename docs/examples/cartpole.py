# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""From data to a policy in Python: collect, train, evaluate, train a policy in the model, score it in PhysX.

python docs/examples/cartpole.py
python docs/examples/cartpole.py --out runs/tiny --transitions 2000 --minutes 0.05 --trajectories 16 --iterations 0
"""

from __future__ import annotations

from pathlib import Path

import tyro

from nerd_core.data.dataset import TrajectoryDataset
from nerd_core.network.token_config import TokenCfg
from nerd_core.predictor.config import PredictorCfg
from nerd_core.predictor.mechanics_prior import MechanicsPriorCfg
from nerd_core.predictor.predictor import Predictor
from nerd_core.training.config import TrainCfg
from nerd_core.training.optimiser import OptimiserCfg
from nerd_core.training.run import train
from nerd_isaaclab.collect.collect_cfg import CollectCfg
from nerd_isaaclab.collect.run import collect
from nerd_isaaclab.evaluation.open_loop import EvaluateCfg, evaluate
from nerd_isaaclab.evaluation.transfer import TransferCfg, transfer
from nerd_isaaclab.policies.training import TrainPolicyCfg, train_policy


def main(
    out: Path = Path("runs/python-api"),
    transitions: int = 200_000,
    minutes: float = 1.0,
    trajectories: int = 128,
    iterations: int = 100,
) -> None:
    """Goes the whole way once.

    Args:
        out: Folder for everything.
        transitions: Control steps to collect.
        minutes: Time for the training of the model [min].
        trajectories: Roll-outs to measure the model on.
        iterations: Iterations of RSL-RL; 0 leaves the policy out.
    """
    collected = collect(CollectCfg("NeRD-Cartpole", steps=50, seed=1), out / "data", transitions, workers=2)
    print(f"{collected.transitions} control steps, {collected.transitions_per_second} a second")

    data = TrajectoryDataset.open(out / "data")
    # Mechanics is given, a few rules of the stops of its joints are learned; PredictorCfg() would be a network instead.
    model_cfg = PredictorCfg(network=None, prior=MechanicsPriorCfg(), token=TokenCfg(contacts=False))
    train_cfg = TrainCfg(minutes=minutes, batch_size=1024, validations=1, optimiser=OptimiserCfg(lr=1e-2))
    predictor = Predictor(data.spec, model_cfg)
    trained = train(predictor, data.split("train"), data.split("valid"), train_cfg, out / "model", overwrite=True)
    print(f"{trained.updates} updates")

    errors = evaluate(EvaluateCfg(out / "model/best", trajectories=trajectories, steps=100, horizons=(10, 100)))
    for horizon, error in errors.horizons.items():
        print(f"{horizon} steps: {error['joint_rad']:.2g} rad, {error['base_position_m']:.2g} m")

    if iterations:
        model = out / "model/best"
        policy = train_policy(TrainPolicyCfg("NeRD-Cartpole", checkpoint=model, iterations=iterations), out / "policy")
        scores = transfer(TransferCfg("NeRD-Cartpole", policy.run, checkpoint=model, episodes=128))
        for mode, score in scores.modes.items():
            print(f"return in {mode} mode: {score.scores['return'].mean:.0f}")


if __name__ == "__main__":
    tyro.cli(main)
