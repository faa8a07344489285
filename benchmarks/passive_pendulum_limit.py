# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""How long the motion of a passive double pendulum can be predicted at all from measured first states.

The model itself takes the place of the pendulum: it moves, its angles get the noise of the camera, first states are
found from them as the judge finds them (the last 15 frames), and the model predicts. Nothing is wrong with such a
model, so no model of the real pendulum can be expected to last longer from such first states. Beside it stands how
long the model predicts the real one.

    python benchmarks/passive_pendulum_limit.py --data DATA/ibm_double_pendulum_trainval.h5 --model ibm-pendulum

Prints both horizons and writes them to --json. Seconds on one core.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from nerd_core import checkpoint
from nerd_core.checkpoint_names import find_checkpoint
from nerd_core.dynamics import rollout
from nerd_core.files.atomic import write_json
from nerd_core.identification.motion_data import read_motion
from nerd_core.predictor.predictor import Predictor
from nerd_core.recordings.derivatives import FIT_FRAMES, end_fit

NOISE_RAD = (0.0007, 0.00115)
"""Standard deviation of measured absolute angles [rad]: fourth differences of the recordings over the root of 70."""

ERROR_RAD = 0.2
"""Error of an absolute angle that ends a horizon [rad]."""


def main() -> None:
    """Reads the arguments, and says both horizons."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--model", default="ibm-pendulum")
    parser.add_argument("--seconds", type=float, default=3.0, help="longest horizon [s]")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    predictor = checkpoint.load(find_checkpoint(args.model))
    found = horizons(predictor, args.data, args.seconds, args.seed)
    for name, value in found.items():
        print(f"{name:<44}{value:.3g}")
    if args.json is not None:
        write_json(args.json, found)


@torch.no_grad()
def horizons(predictor: Predictor, data: Path, seconds: float, seed: int) -> dict[str, float]:
    """Horizons of the model of the real pendulum and of itself [s].

    Args:
        predictor: The model.
        data: File of recordings; those of the validation split are predicted.
        seconds: Longest horizon [s].
        seed: Seed of the noise.
    """
    dt, random = predictor.spec.control_dt, np.random.default_rng(seed)
    steps, before = round(seconds / dt), FIT_FRAMES - 1
    windows = read_motion([data], predictor.spec).windows("held-out", (steps + before + 1) * dt, 0.6)
    count = len(windows)
    controls = torch.zeros(count, steps + before, 0)
    noise = random.standard_normal((count, steps + before + 1, 2)) * NOISE_RAD
    noise[..., 1] -= noise[..., 0]  # the second joint is relative

    def predicted(angles: np.ndarray) -> Tensor:
        value, rate = end_fit(angles[:, :FIT_FRAMES], dt * np.arange(FIT_FRAMES))
        start = torch.from_numpy(np.concatenate((value, rate), axis=1)).float()
        return rollout(predictor, start, controls[:, :steps])

    own = np.unwrap(rollout(predictor, windows.state[:, 0].float(), controls).numpy()[..., :2], axis=1)
    real = windows.state[:, : steps + before + 1, :2].numpy()
    found: dict[str, float] = {"windows": count}
    cases = {
        "real pendulum": (real, real),
        "itself, first states with noise": (own + noise, own),
        "itself, first states without noise": (own.copy(), own),
    }
    for name, (measured, truth) in cases.items():
        horizon = dt * horizon_steps(predicted(measured)[..., :2], torch.from_numpy(truth[:, before:])).double()
        found |= {f"{name}, mean [s]": float(horizon.mean()), f"{name}, median [s]": float(horizon.median())}
    return found


def horizon_steps(angles: Tensor, truth: Tensor) -> Tensor:
    """Steps until an absolute angle is off by :data:`ERROR_RAD`, all of them where none ever is, shape (N,).

    Args:
        angles: Predicted angles of the joints [rad], shape (N, T + 1, 2).
        truth: True ones.
    """
    error = (angles - truth).cumsum(-1)
    bad = torch.atan2(error.sin(), error.cos()).abs().amax(-1) > ERROR_RAD
    return torch.where(bad.any(1), bad.int().argmax(1), bad.shape[1] - 1)


if __name__ == "__main__":
    main()
