# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Faults in the code that judges models and policies, each with the tests that have to notice it.

All of them stand in code whose answer a reader of a report has to trust: who is counted, in which mode, with which
weights, over which steps. The tests named need no engine and belong to the fast tier. ``tests/repo/test_mutations.py``
checks that every fault can still be planted, and with ``--slow`` plants one after the other.
"""

from __future__ import annotations

from dataclasses import dataclass

EXTENSION = "exts/nerd_isaaclab/nerd_isaaclab"
LIBRARY = "source/nerd_core/nerd_core"

PLAY = f"{EXTENSION}/policies/play.py"
SCORE = f"{EXTENSION}/evaluation/score.py"
WORKER = f"{EXTENSION}/evaluation/score_worker.py"
TRANSFER = f"{EXTENSION}/evaluation/transfer.py"
EVALUATE = f"{EXTENSION}/evaluation/open_loop.py"
REPORT = f"{EXTENSION}/demo/report.py"
RESULTS = f"{EXTENSION}/demo/results.py"
METRICS = f"{LIBRARY}/training/metrics.py"
EMA = f"{LIBRARY}/training/ema.py"
RUN = f"{LIBRARY}/training/run.py"
VALIDATION = f"{LIBRARY}/training/validation.py"
SAVING = f"{LIBRARY}/training/saving.py"
KERNEL = f"{LIBRARY}/mechanics/kernel/verification.py"

TEST_SCORE = "tests/isaaclab/test_score.py"
TEST_EVALUATE = "tests/isaaclab/test_evaluate.py"
TEST_REPORT = "tests/isaaclab/test_report_numbers.py"
TEST_CURVE = "tests/isaaclab/test_demo_report.py::test_numbers_are_strict_json"
TEST_METRICS = "tests/core/training/test_metrics.py"
TEST_EMA = "tests/core/training/test_ema.py"
TEST_BEST = "tests/core/training/test_run.py::test_the_best_weights_are_kept_and_patience_ends_a_run"
TEST_KERNEL = "tests/core/mechanics/test_kernel_verification.py"


@dataclass(frozen=True)
class Fault:
    """A wrong line in the place of a right one."""

    file: str
    """Path in the repository."""
    right: str
    """Text that stands in the file exactly once."""
    wrong: str
    """What takes its place."""
    test: str
    """Test file, or test, that must fail."""


FAULTS = (
    # episodes are counted once, each up to its own end
    Fault(PLAY, "playing &= ~ended", "playing = playing", TEST_SCORE),
    Fault(PLAY, "length += playing", "length += 1", TEST_SCORE),
    Fault(PLAY, "torch.where(playing, reward / env.step_dt, 0.0)", "reward / env.step_dt", TEST_SCORE),
    Fault(PLAY, "torch.where(playing, reward / env.step_dt, 0.0)", "torch.where(playing, reward, 0.0)", TEST_SCORE),
    Fault(
        PLAY,
        "values += torch.where(playing, env.reward_manager._step_reward[:, column], 0.0)",
        "values += env.reward_manager._step_reward[:, column]",
        TEST_SCORE,
    ),
    Fault(PLAY, "_step_reward[:, column]", "_step_reward[:, 0]", TEST_SCORE),
    Fault(PLAY, "ended = playing & (terminated | truncated)", "ended = terminated | truncated", TEST_SCORE),
    Fault(PLAY, "ended = playing & (terminated | truncated)", "ended = playing & truncated", TEST_SCORE),
    Fault(PLAY, "full |= ended & ~terminated", "full |= ended", TEST_SCORE),
    Fault(PLAY, "torch.where(value, held[score.name] + 1, 0.0)", "held[score.name] + value", TEST_SCORE),
    Fault(PLAY, "torch.where(playing, value, 0.0)", "value", TEST_SCORE),
    Fault(PLAY, "sums[score.name] / length", "sums[score.name] / env.max_episode_length", TEST_SCORE),
    Fault(PLAY, "env.step_dt >= score.hold_s", "env.step_dt > score.hold_s", TEST_SCORE),
    Fault(PLAY, "std(correction=0)", "std()", TEST_SCORE),
    Fault(PLAY, "term: number / count", "term: number", TEST_SCORE),
    Fault(PLAY, "(each / together)", "(each / 1.0)", TEST_SCORE),
    Fault(PLAY, "torch.where(playing, value, followed.get(name, 0.0))", "value", TEST_SCORE),
    # the engine's process gets what was asked for
    Fault(SCORE, "env.nerd.mode=neural", "env.nerd.mode=physx", TEST_SCORE),
    Fault(SCORE, 'f"env.nerd.checkpoint={path}", ', "", TEST_SCORE),
    Fault(WORKER, "cfg.seed = order.seed", "cfg.seed = 0", TEST_SCORE),
    Fault(WORKER, "cfg.scene.num_envs = order.num_envs", "cfg.scene.num_envs = 256", TEST_SCORE),
    Fault(
        WORKER, "resolve_task_config(name, None, overrides=overrides)", "resolve_task_config(name, None)", TEST_SCORE
    ),
    # each mode in its mode, and the gap of the two
    Fault(TRANSFER, 'cfg.checkpoint if mode == "neural" else None', "None", TEST_SCORE),
    Fault(TRANSFER, 'cfg.checkpoint if mode == "neural" else None', "cfg.checkpoint", TEST_SCORE),
    Fault(TRANSFER, "seed=cfg.seed", "seed=1", TEST_SCORE),
    Fault(TRANSFER, "num_envs=cfg.episodes", "num_envs=256", TEST_SCORE),
    Fault(TRANSFER, "*cfg.overrides)", ")", TEST_SCORE),
    Fault(TRANSFER, "(neural - physx) / abs(physx)", "(physx - neural) / abs(physx)", TEST_SCORE),
    Fault(TRANSFER, "(neural - physx) / abs(physx)", "(neural - physx) / physx", TEST_SCORE),
    Fault(TRANSFER, "(neural - physx) / abs(physx)", "(neural - physx) / abs(neural)", TEST_SCORE),
    # roll-outs of the protocol that was asked for
    Fault(EVALUATE, '"driven": {"random": 1.0}', '"driven": {"zero": 1.0}', TEST_EVALUATE),
    Fault(EVALUATE, '"driven": {"random": 1.0}', '"driven": {"held": 1.0}', TEST_EVALUATE),
    Fault(EVALUATE, '"passive": {"zero": 1.0}', '"passive": {"random": 1.0}', TEST_EVALUATE),
    Fault(EVALUATE, "seed=cfg.seed,", "seed=1,", TEST_EVALUATE),
    Fault(EVALUATE, "num_envs=cfg.trajectories", "num_envs=cfg.trajectories // 2", TEST_EVALUATE),
    Fault(EVALUATE, "diverged=errors.diverged", "diverged=0", TEST_EVALUATE),
    Fault(EVALUATE, 'if spec.floating_base else "joint_m"', 'if True else "joint_m"', TEST_EVALUATE),
    Fault(EVALUATE, "cfg.steps, cfg.trajectories)", "cfg.steps)", TEST_EVALUATE),
    # errors
    Fault(
        METRICS,
        "states[:, 1 : truth.shape[1]], truth[:, 1:]",
        "states[:, : truth.shape[1] - 1], truth[:, :-1]",
        TEST_METRICS,
    ),
    Fault(METRICS, "curve[:horizon].mean()", "curve[horizon - 1]", TEST_METRICS),
    Fault(METRICS, "torch.where(wraps, wrap_to_pi(difference), difference)", "difference", TEST_METRICS),
    Fault(METRICS, ".masked_fill(lost, math.inf)", ".masked_fill(lost, 0.0)", TEST_METRICS),
    Fault(METRICS, "lost.any(-1).sum()", "lost.all(-1).sum()", TEST_METRICS),
    Fault(METRICS, "sum(part.diverged for part in parts)", "parts[-1].diverged", TEST_EVALUATE),
    Fault(METRICS, ".sum(0) / count for name in names}", "[-1] / count for name in names}", TEST_METRICS),
    Fault(METRICS, ".sum(0) / count for name in names}", ".sum(0) for name in names}", TEST_METRICS),
    Fault(METRICS, "for value in values) / len(values))", "for value in values))", TEST_EVALUATE),
    Fault(METRICS, "_first(~guard(states[:, 1:]))", "_first(~guard(states[:, 1:])) * 0", TEST_METRICS),
    Fault(METRICS, "first_bad - 1, states", "first_bad, states", TEST_METRICS),
    Fault(METRICS, "row.quantile(0.5)", "row.mean()", TEST_METRICS),
    Fault(METRICS, "joint.kind == kind]", "True]", TEST_METRICS),
    # averaged weights are those that are judged and kept
    Fault(EMA, "min(self.decay,", "max(self.decay,", TEST_EMA),
    Fault(EMA, "1.0 - keep", "keep", TEST_EMA),
    Fault(EMA, "if param.requires_grad] if decay else []", "if False]", TEST_EMA),
    Fault(VALIDATION, "with run.ema.average_weights():", "if True:", TEST_EMA),
    Fault(RUN, "    run.ema.update()\n", "", TEST_EMA),
    Fault(
        RUN,
        "share_weights(predictor)\n            self.ema = ExponentialMovingAverage(predictor, cfg.ema_decay)",
        "share_weights(predictor)\n            self.ema = ExponentialMovingAverage(predictor, 0.0)",
        TEST_EMA,
    ),
    Fault(RUN, "self.ema.copy_to_model()", "pass", TEST_EMA),
    Fault(VALIDATION, "(lost, score) < (run.lost, run.best)", "True", TEST_BEST),
    Fault(SAVING, "with run.ema.average_weights():", "if True:", TEST_EMA),
    # a kernel is used only after it has agreed with PyTorch
    Fault(KERNEL, "LARGEST_DIFFERENCE = 1.0e-3", "LARGEST_DIFFERENCE = 3.0e-2", TEST_KERNEL),
    Fault(KERNEL, "LARGEST_DIFFERENCE = 1.0e-3", "LARGEST_DIFFERENCE = 1.1e-3", TEST_KERNEL),
    Fault(KERNEL, "if apart < LARGEST_DIFFERENCE:", "if True:", TEST_KERNEL),
    Fault(KERNEL, "(1.0 + expected.abs())", "(1.0 + expected.abs()).square()", TEST_KERNEL),
    Fault(KERNEL, ".amax(-1)", ".mean(-1)", TEST_KERNEL),
    Fault(KERNEL, ".median()", ".amin()", TEST_KERNEL),
    Fault(KERNEL, "nan_to_num(math.inf)", "nan_to_num(0.0)", TEST_KERNEL),
    # what the report shows
    Fault(REPORT, '_spread(neural["return"]), _spread(physx["return"])', '_spread(physx["return"]), ""', TEST_REPORT),
    Fault(
        REPORT, "_spread(neural[part][name]), _spread(physx[part][name])", '_spread(physx[part][name]), ""', TEST_REPORT
    ),
    Fault(REPORT, "max(gaps, key=abs)", "max(gaps)", TEST_REPORT),
    Fault(REPORT, "round(100 * share, 2)", "round(-100 * share, 2)", TEST_REPORT),
    Fault(
        REPORT,
        "(returns[0] - returns[1]) / abs(returns[1])",
        "(returns[1] - returns[0]) / abs(returns[1])",
        TEST_REPORT,
    ),
    Fault(REPORT, '["horizons"].items())[-1]', '["horizons"].items())[0]', TEST_REPORT),
    Fault(RESULTS, "round(value / control_dt, 2)", "round(value, 2)", TEST_CURVE),
)
