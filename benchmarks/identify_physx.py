# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Identify a Franka in PhysX whose masses and gains are up to 30 % off, and calibrate PhysX by what was found.

    python benchmarks/identify_physx.py --json identify_physx.json
    python benchmarks/identify_physx.py --seconds 20 --iterations 2 --json quick.json

The *real* robot is PhysX with parameters that are drawn and written to it. Its motion under random targets, with noise
of measurement, is all that the identification sees, which begins with the asset's parameters. What it finds is judged
on motion of other targets: in the model, beside the model with the true parameters (whose error is the floor: noisy
first states, and what mechanics does not know), and in PhysX, calibrated by the file that ``nerd identify`` writes,
beside PhysX as the asset has it.

``worst_combination`` is the largest error of the identifiable combinations of parameters (those known to within
:data:`IDENTIFIABLE`), in logarithms: .02 is two percent.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import tyro
from agreement import HELD_STEPS, ROBOTS, first_states, make_scene

GROUPS = ("masses", "stiffnesses", "dampings")
"""What is off, and looked for."""

SHARE = 0.3
"""Largest share by which parameters are off."""

IDENTIFIABLE = 0.01
"""Standard deviation of a combination below which it counts as identifiable: two percent are two of them."""

ENVS = 8
"""Robots that are measured at once."""

HELD_OUT = 0.25
"""Time of the motion to judge by, as a share of that to identify from."""


@dataclass(frozen=True)
class Options:
    """Identify a robot in PhysX, and calibrate PhysX."""

    robot: str = "franka"
    """A robot of ``agreement.py`` that is led by drives."""
    seconds: float = 60.0
    """Motion to identify from, all robots together [s]."""
    noise: tuple[float, float] = (1.0e-4, 2.0e-3)
    """Standard deviations of the noise of measured positions [rad or m] and velocities [rad/s or m/s]."""
    window: float = 0.5
    """Length of the windows [s]."""
    iterations: int = 5
    """Iterations of each stage of the search."""
    reweigh: int = 2
    """Rounds in which errors are weighted by what is left of them, see ``IdentifyCfg``."""
    seed: int = 0
    """Seed of parameters, targets, first states and noise."""
    json: Path | None = None
    """File for the numbers."""


def measure(options: Options) -> dict[str, Any]:
    """All figures."""
    import torch

    from nerd_core.contact.grounds import PlaneGround
    from nerd_core.identification.cost import CostCfg
    from nerd_core.identification.drivers import DescentCfg
    from nerd_core.identification.engine_calibration import calibration_of, read_calibration
    from nerd_core.identification.motion_data import MotionData, Run
    from nerd_core.identification.parameterisation import Parameterisation
    from nerd_core.identification.replay import replay
    from nerd_core.identification.run import CALIBRATION, IdentifyCfg, identify, with_parameters
    from nerd_core.predictor.config import PredictorCfg
    from nerd_core.predictor.mechanics_prior import MechanicsPriorCfg
    from nerd_core.predictor.predictor import Predictor
    from nerd_isaaclab.physics.engine_calibration import apply_calibration

    env, scene = make_scene(options.robot, ENVS)
    spec, drives, ground = env.robot_spec, ROBOTS[options.robot], PlaneGround.flat()
    random = torch.Generator().manual_seed(options.seed)
    only = "|".join(map(re.escape, [*_driven(spec, drives), *spec.body_names]))
    parameterisation = Parameterisation(spec, GROUPS, only=only)
    drawn = 1.0 - SHARE + 2.0 * SHARE * torch.rand(parameterisation.dim, generator=random, dtype=torch.float64)
    true = drawn.log()
    calibrations = {
        "asset": calibration_of(spec, parameterisation(torch.zeros_like(true))),
        "real": calibration_of(spec, parameterisation(true)),
    }
    first, rest = first_states(env, drives, 2 * ENVS, random)

    def motion(calibration: str, part: int, steps: int) -> tuple[Any, Any]:
        """States and controls of PhysX with some calibration; the same first states and targets for each part."""
        apply_calibration(env.robot, calibrations[calibration])
        own = torch.Generator().manual_seed(options.seed + 1 + part)
        targets = 2.0 * torch.rand(ENVS, -(-steps // HELD_STEPS), rest.shape[1], generator=own) - 1.0
        control = (rest + drives.reach * targets).repeat_interleave(HELD_STEPS, 1)[:, :steps]
        scene.write(first.view(2, ENVS, -1)[part])
        states = [scene.read().clone()]
        states += [scene.step(control[:, step]).clone() for step in range(steps)]
        return torch.stack(states, 1), control

    def measured(states: Any) -> Any:
        """What a sensor makes of states."""
        said, at = states.clone(), spec.state
        for where, size in ((at.joint_pos, options.noise[0]), (at.joint_vel, options.noise[1])):
            said[..., where] += size * torch.randn(said[..., where].shape, generator=random)
        return said

    lengths = [round(share * options.seconds / ENVS / spec.control_dt) for share in (1.0, HELD_OUT)]
    runs, truth = [], {}
    for part, (split, steps) in enumerate(zip(("", "val"), lengths, strict=True)):
        truth[split] = motion("real", part, steps)
        states, control = measured(truth[split][0]), truth[split][1]
        runs += [Run(f"{split} {row}", "", split, states[row].double(), control[row].double()) for row in range(ENVS)]
    data = MotionData(spec, tuple(runs))
    untrained = PredictorCfg(network=None, prior=MechanicsPriorCfg(hidden=0))
    cfg = IdentifyCfg(
        parameters=GROUPS,
        only=only,
        reweigh=options.reweigh,
        seconds=options.window,
        stride=options.window,  # windows that overlap would make deviations too small
        descent=DescentCfg("least_squares", (0.3, 1.0), options.iterations),
        cost=CostCfg(precision="single"),
    )
    with TemporaryDirectory() as folder:
        found = identify(Predictor(spec, untrained).eval(), data, cfg, ground=ground, out=Path(folder), say=print)
        print(found.report.text())
        calibrations["found"] = read_calibration(Path(folder) / CALIBRATION)
    held = data.windows("held-out", options.window, options.window)
    floor = replay(with_parameters(Predictor(spec, untrained), parameterisation, true), held, ground)
    figures: dict[str, Any] = {
        "robot": options.robot,
        "changed": parameterisation.dim,
        "held_out_before_rad": found.report.before.mean["joint_rad"],
        "held_out_after_rad": found.report.after.mean["joint_rad"],
        "held_out_floor_rad": floor.mean["joint_rad"],
        "over_floor": found.report.after.mean["joint_rad"] / floor.mean["joint_rad"],
        **combinations(found.report, parameterisation, true),
    }
    joints = spec.state.joint_pos
    for name in ("asset", "found", "real"):
        states, _ = motion(name, 1, lengths[1])
        apart = (states - truth["val"][0])[..., joints].square().mean().sqrt()
        figures[f"physx_{name}_rad"] = float(apart)
    env.close()
    return figures


def _driven(spec: Any, drives: Any) -> list[str]:
    return [name for name in spec.joint_names if re.fullmatch(drives.joints, name)]


def combinations(report: Any, parameterisation: Any, true: Any) -> dict[str, Any]:
    """Errors of what the data tell, by combination.

    Args:
        report: What was found.
        parameterisation: What was looked for.
        true: True free numbers, logarithms of factors.
    """
    import torch

    told, spec, found = report.identifiability, parameterisation.spec, []
    for name in parameterisation.names:
        group, _, part = name.partition(": ")
        rows = report.values[group]
        row = (spec.body_names if group == "masses" else spec.joint_names).index(part)
        found.append(torch.tensor(rows["after"][row] / rows["before"][row]).double().log())
    off = torch.stack(found) - true
    covariance = told.covariance.clone()
    for each in told.untold:
        covariance += 1.0e6 * torch.outer(each.weights, each.weights)
    variances, directions = torch.linalg.eigh(covariance)
    names = parameterisation.names
    known = variances.clamp(min=0.0).sqrt() < IDENTIFIABLE
    along = (directions.t() @ off).abs()
    single = told.deviations < IDENTIFIABLE
    return {
        "combinations": len(names),
        "identifiable": int(known.sum()),
        "worst_combination": float(along[known].max()) if bool(known.any()) else None,
        "median_combination": float(along[known].median()) if bool(known.any()) else None,
        "deviation_of_combinations": variances.clamp(min=0.0).sqrt().tolist(),
        "error_of_combinations": along.tolist(),
        "error_of_parameters": dict(zip(names, off.tolist(), strict=True)),
        "identifiable_parameters": int(single.sum()),
        "worst_parameter": float(off[single].abs().max()) if bool(single.any()) else None,
    }


def main() -> None:
    """Measures, prints and writes."""
    options = tyro.cli(Options, description=__doc__)

    from nerd_core.files.provenance import describe_run

    figures = measure(options)
    print(json.dumps(figures, indent=1))
    if options.json is not None:
        result = {**figures, "seconds": options.seconds, **describe_run(seeds={"all that is drawn": options.seed})}
        options.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
