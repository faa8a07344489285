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
FIRST = f"{EXTENSION}/policies/first_episodes.py"
SCORE = f"{EXTENSION}/evaluation/score.py"
WORKER = f"{EXTENSION}/evaluation/score_worker.py"
TRANSFER = f"{EXTENSION}/evaluation/transfer.py"
EVALUATE = f"{EXTENSION}/evaluation/open_loop.py"
REPORT = f"{EXTENSION}/demo/report.py"
RESULTS = f"{EXTENSION}/demo/results.py"
METRICS = f"{LIBRARY}/training/metrics.py"
REPLAY = f"{LIBRARY}/identification/replay.py"
IDENTIFIABILITY = f"{LIBRARY}/identification/identifiability.py"
COST = f"{LIBRARY}/identification/cost.py"
MANY_STARTS = f"{LIBRARY}/identification/many_starts.py"
EVOLUTION = f"{LIBRARY}/identification/evolution.py"
CALIBRATION = f"{LIBRARY}/identification/engine_calibration.py"
BASINS = f"{LIBRARY}/experiments/basin_hopping.py"
GRADIENT_COST = f"{LIBRARY}/experiments/gradient_cost.py"
TOSSED_CUBE = f"{LIBRARY}/experiments/tossed_cube.py"
EMA = f"{LIBRARY}/training/ema.py"
RUN = f"{LIBRARY}/training/run.py"
VALIDATION = f"{LIBRARY}/training/validation.py"
SAVING = f"{LIBRARY}/training/saving.py"
KERNEL = f"{LIBRARY}/mechanics/kernel/verification.py"
ADJOINT = f"{LIBRARY}/mechanics/kernel/adjoint/verification.py"
ADJOINT_PARAMETERS = f"{LIBRARY}/mechanics/kernel/adjoint/physical_parameters.py"
ADJOINT_STOPS = f"{LIBRARY}/mechanics/kernel/adjoint/joint_stops.py"
ADJOINT_SOLVER = f"{LIBRARY}/mechanics/kernel/adjoint/constraint_solver.py"
STEP = f"{EXTENSION}/physics/neural_physics.py"
STATE = f"{EXTENSION}/physics/robot_state.py"
GROUND = f"{EXTENSION}/physics/ground.py"
SHAPES = f"{EXTENSION}/physics/static_shapes.py"
EXCITATION = f"{EXTENSION}/collect/excitation.py"
AGREEMENT = f"{EXTENSION}/collect/contact_agreement.py"
STARTS = f"{EXTENSION}/collect/initial_states.py"
POLICIES = "benchmarks/first_policies.py"
MODELS = "benchmarks/first_models.py"
REHEARSAL = f"{EXTENSION}/doctor/rehearsal.py"
STEPS = "benchmarks/agreement.py"
COSTS = "benchmarks/step_cost.py"
TABLES = "benchmarks/paper_table.py"
VISITED = f"{EXTENSION}/collect/visited_states.py"
ODE_JUDGE = f"{LIBRARY}/experiments/neural_ode/fitting.py"
WALKING = f"{EXTENSION}/experiments/mpc/walking.py"
WALK_TIMES = f"{EXTENSION}/experiments/mpc/timing.py"
WALK_NETWORK = f"{EXTENSION}/experiments/mpc/force_network.py"

ABLATIONS, ABLATION_VARIANTS = "benchmarks/ablations.py", "benchmarks/ablation_variants.py"
UNCERTAINTY = "benchmarks/uncertainty.py"
STOPPING = f"{EXTENSION}/refine/stopping.py"
ROUNDS = f"{EXTENSION}/refine/rounds.py"

SWIMMER = f"{LIBRARY}/experiments/swimmer.py"
FOLDS = f"{LIBRARY}/identification/discovery.py"
IDENTIFY = "benchmarks/identify_physx.py"
TEST_IDENTIFY = "tests/repo/test_identify_physx.py"
TOSSED = f"{LIBRARY}/experiments/tossed_cube.py"
TEST_TOSSED = "tests/core/experiments/test_tossed_cube.py"
TEST_SWIMMER = "tests/core/experiments/test_swimmer.py"
TEST_FOLDS = "tests/core/identification/test_discovery.py"

JUDGE_ERRORS = f"{LIBRARY}/judging/errors.py"
JUDGE_WINDOWS = f"{LIBRARY}/judging/windows.py"
JUDGE = f"{LIBRARY}/judging/judge.py"
PHYSICS = f"{LIBRARY}/recordings/physics.py"
PLAUSIBLE = f"{LIBRARY}/recordings/plausibility.py"

TEST_TABLES = "tests/repo/test_paper_table.py"
TEST_JUDGE_ERRORS = "tests/core/judging/test_errors.py"
TEST_PLAUSIBLE = "tests/core/recordings/test_plausibility.py"
TEST_JUDGE = "tests/core/judging/test_judge.py"
TEST_ODE = "tests/core/experiments/test_neural_ode.py"
TEST_WALK = "tests/isaaclab/test_mpc_planning.py"
TEST_ABLATIONS = "tests/repo/test_ablations.py"
TEST_UNCERTAINTY = "tests/repo/test_uncertainty.py"
TEST_REFINE = "tests/isaaclab/test_refine_stopping.py"
TEST_ROUNDS = "tests/isaaclab/test_refine_rounds.py"
TEST_SCORE = "tests/isaaclab/test_score.py"
TEST_EVALUATE = "tests/isaaclab/test_evaluate.py"
TEST_REPORT = "tests/isaaclab/test_report_numbers.py"
TEST_CURVE = "tests/isaaclab/test_demo_report.py::test_numbers_are_strict_json"
TEST_METRICS = "tests/core/training/test_metrics.py"
TEST_REPLAY = "tests/core/identification/test_replay.py"
TEST_TOLD = "tests/core/identification/test_identifiability.py"
TEST_WINDOWS = "tests/core/identification/test_cost.py"
TEST_MANY_STARTS = "tests/core/identification/test_many_starts.py"
TEST_EVOLUTION = "tests/core/identification/test_evolution.py"
TEST_CALIBRATION = "tests/core/identification/test_engine_calibration.py"
TEST_BASINS = "tests/core/experiments/test_basin_hopping.py"
TEST_GRADIENT_COST = "tests/core/experiments/test_gradient_cost.py"
TEST_TOSSED_CUBE = "tests/core/experiments/test_tossed_cube.py"
TEST_EMA = "tests/core/training/test_ema.py"
TEST_BEST = "tests/core/training/test_run.py::test_the_best_weights_are_kept_and_patience_ends_a_run"
TEST_KERNEL = "tests/core/mechanics/test_kernel_verification.py"
TEST_ADJOINT = "tests/core/mechanics/test_adjoint_verification.py"
TEST_BY_PARAMETERS = "tests/core/mechanics/test_adjoint_parameters.py"
TEST_LEFT_STOP = (
    "tests/core/mechanics/test_kernel_adjoint.py::test_a_stop_that_is_left_passes_on_what_brings_its_joint_to_rest"
)
TEST_GRADIENTS = (
    "tests/core/mechanics/test_kernel_adjoint.py::test_gradients_are_as_near_to_double_precision_as_those_of_pytorch"
)
TEST_ENGINES_LAW = f"{TEST_GRADIENTS}[engine: stops, fixed]"
TEST_ANTS_LAW = f"{TEST_GRADIENTS}[engine: ant with rules]"
TEST_STEP = "tests/isaaclab/test_neural_physics.py"
TEST_STATE = "tests/isaaclab/test_robot_state.py"
TEST_GROUND = "tests/isaaclab/test_ground.py"
TEST_POLICIES = "tests/repo/test_first_policies.py"
TEST_REHEARSAL = "tests/isaaclab/test_doctor.py::test_rehearsal_is_judged"
TEST_STEPS = "tests/repo/test_agreement.py"
TEST_VISITED = "tests/isaaclab/test_visited_states.py"
TEST_CHARTS = "tests/isaaclab/test_demo_report.py::test_charts_of_the_page_show_the_results"
TEST_JSON = "tests/isaaclab/test_demo_report.py::test_numbers_are_strict_json"
_COLLECT = "tests/isaaclab/test_collect.py::"
_AGREEMENT = "tests/isaaclab/test_contact_agreement.py::"
TEST_BOLTED = _COLLECT + "test_a_base_that_is_bolted_to_the_ground_may_touch_it"
TEST_RANGE = _COLLECT + "test_controls_stay_in_their_range_and_repeat"
TEST_SHARES = _COLLECT + "test_shares_are_kept_and_nothing_gets_no_trajectory"
TEST_AMPLITUDES = _COLLECT + "test_random_fills_the_range_as_published_and_others_have_drawn_amplitudes"
TEST_BANG = _COLLECT + "test_bang_is_held_at_the_ends_of_the_range"
TEST_MEMORY = _COLLECT + "test_only_random_forgets_from_step_to_step"
TEST_PD = _COLLECT + "test_pd_pushes_towards_its_targets"
TEST_CLEAR = _COLLECT + "test_floating_robots_start_clear_of_any_plane"
TEST_FILLED = _COLLECT + "test_ranges_are_filled"
TEST_AGREE = _AGREEMENT + "test_contacts_that_are_the_same_agree_wherever_the_engine_puts_the_point"
TEST_HOVERS = _AGREEMENT + "test_what_hovers_does_not_touch"
TEST_ELSEWHERE = _AGREEMENT + "test_contacts_elsewhere_are_not_explained"
TEST_PLACED = _AGREEMENT + "test_contacts_of_the_solver_take_the_place_of_geometry"
ADAPT_TRIAL = "source/nerd_core/nerd_core/adaptation/trial.py"
ADAPT_REPORT = "source/nerd_core/nerd_core/adaptation/report.py"
ADAPT_FOLLOWER = "source/nerd_core/nerd_core/adaptation/follower.py"
TEST_ADAPT = "tests/core/adaptation/test_follower.py"
TEST_ADAPT_REJECTS = "tests/core/adaptation/test_follower.py::test_an_estimate_that_predicts_worse_is_thrown_away"
TEST_ADAPT_TRIAL = "tests/core/adaptation/test_trial.py"


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
    Fault(PLAY, "if not playing.any():", "if not playing.all():", TEST_SCORE),
    Fault(PLAY, "torch.where(playing[:, None], reader.read(), torch.nan)", "reader.read()", TEST_SCORE),
    Fault(PLAY, "[:RECORDED].cpu()", ".cpu()", TEST_SCORE),
    Fault(FIRST, "torch.where(rows, value.float(), self.commands.get(name, 0.0))", "value.float()", TEST_SCORE),
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
    Fault(TRANSFER, "compare(neural[name], values)", "compare(values, neural[name])", TEST_SCORE),
    Fault(TRANSFER, "statistics.stdev(pairs) / math.sqrt(len(pairs))", "statistics.stdev(pairs)", TEST_SCORE),
    Fault(TRANSFER, "num_envs=cfg.episodes", "num_envs=256", TEST_SCORE),
    Fault(TRANSFER, "*cfg.overrides)", ")", TEST_SCORE),
    Fault(TRANSFER, "(neural - physx) / abs(physx)", "(physx - neural) / abs(physx)", TEST_SCORE),
    Fault(TRANSFER, "(neural - physx) / abs(physx)", "(neural - physx) / physx", TEST_SCORE),
    Fault(TRANSFER, "(neural - physx) / abs(physx)", "(neural - physx) / abs(neural)", TEST_SCORE),
    Fault(TRANSFER, '("env.nerd.mode", "env.nerd.checkpoint")', '("env.nerd.checkpoint",)', TEST_SCORE),
    # roll-outs of the protocol that was asked for
    Fault(EVALUATE, '"driven": {"random": 1.0}', '"driven": {"zero": 1.0}', TEST_EVALUATE),
    Fault(EVALUATE, '"driven": {"random": 1.0}', '"driven": {"held": 1.0}', TEST_EVALUATE),
    Fault(EVALUATE, '"passive": {"zero": 1.0}', '"passive": {"random": 1.0}', TEST_EVALUATE),
    Fault(EVALUATE, "seed=cfg.seed,", "seed=1,", TEST_EVALUATE),
    Fault(EVALUATE, "num_envs=cfg.trajectories", "num_envs=cfg.trajectories // 2", TEST_EVALUATE),
    Fault(EVALUATE, "diverged=errors.diverged", "diverged=0", TEST_EVALUATE),
    Fault(EVALUATE, 'if cart is None else f"joint/{cart}"', "", TEST_EVALUATE),
    Fault(EVALUATE, "cfg.steps, cfg.trajectories)", "cfg.steps)", TEST_EVALUATE),
    Fault(
        EVALUATE,
        "initial=cfg.initial,\n        teacher_mode=cfg.teacher_mode,\n        physics",
        "physics",
        TEST_EVALUATE,
    ),
    Fault(EVALUATE, "overrides=cfg.overrides,", "", TEST_EVALUATE),
    Fault(
        EVALUATE, "task=cfg.task or default_task(predictor.spec.name)", 'task=cfg.task or "NeRD-Ant-Run"', TEST_EVALUATE
    ),
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
    Fault(METRICS, "(dataset.length >= horizon)", "(dataset.length > horizon)", TEST_EVALUATE),
    Fault(METRICS, "controls[:, step]", "controls[:, 0]", TEST_METRICS),
    Fault(METRICS, "quat_conjugate(truth[..., at.root_quat])", "truth[..., at.root_quat]", TEST_METRICS),
    Fault(METRICS, "joints[..., index] for", "joints[..., 0] for", TEST_EVALUATE),
    Fault(METRICS, 'if not name.startswith("joint/")', "if True", TEST_EVALUATE),
    Fault(METRICS, "predictor.train(was_training)", "predictor.train()", TEST_METRICS),
    Fault(METRICS, "if horizon <= self.steps}", "if horizon < self.steps}", TEST_EVALUATE),
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
    # gradients come from the kernel only after they have agreed with those of PyTorch
    Fault(ADJOINT, "inputs += [getattr(rows, name) for name in rows.given]", "rows.given", TEST_ADJOINT),
    Fault(ADJOINT_PARAMETERS, "adjoints[i].force + by_centre", "adjoints[i].force", TEST_BY_PARAMETERS),
    Fault(ADJOINT_PARAMETERS, "wp.cross(centre, by_angular_momentum)", "by_momentum * 0.0", TEST_BY_PARAMETERS),
    Fault(ADJOINT, "LARGEST_DIFFERENCE = 1.0e-2", "LARGEST_DIFFERENCE = 1.1e-2", TEST_ADJOINT),
    Fault(ADJOINT, "if apart < LARGEST_DIFFERENCE:", "if True:", TEST_ADJOINT),
    Fault(ADJOINT, ".median()", ".amin()", TEST_ADJOINT),
    Fault(ADJOINT, "apart = apart.nan_to_num(math.inf)", "apart = apart.nan_to_num(0.0)", TEST_ADJOINT),
    Fault(ADJOINT, "of_learned.nan_to_num(math.inf)", "of_learned.nan_to_num(0.0)", TEST_ADJOINT),
    Fault(ADJOINT, "(apart <= typical)", "(apart < math.inf)", TEST_ADJOINT),
    Fault(ADJOINT, "return max(float(typical), ", "return min(float(typical), ", TEST_ADJOINT),
    Fault(ADJOINT, "touching.distance, touching.normal", "touching.distance", TEST_ADJOINT),
    Fault(ADJOINT_STOPS, "correction >= 0.0 and excess >= 0.0:", "correction >= 1.0e9:", TEST_LEFT_STOP),
    Fault(
        ADJOINT_STOPS,
        "softened = softened + softness(robot, work, softer, zeros)",
        "softened = softened + 0.0",
        TEST_LEFT_STOP,
    ),
    Fault(
        ADJOINT_STOPS,
        "by_softness[softer] = by_softness[softer] + by_softened",
        "by_softness[softer] = by_softness[softer] + 0.0",
        TEST_ENGINES_LAW,
    ),
    Fault(ADJOINT_STOPS, "side = gap", "side = initial_gap", TEST_ANTS_LAW),
    Fault(
        ADJOINT_SOLVER, "by_rows[i].own_motion - substep_dt * ahead", "by_rows[i].own_motion - 0.0", TEST_ENGINES_LAW
    ),
    Fault(
        ADJOINT_SOLVER,
        "by_rows[i].approach + robot.solver.friction_floor / softened",
        "by_rows[i].approach + 0.0 / softened",
        TEST_ENGINES_LAW,
    ),
    # whom the model steps, whose history is emptied, and what the engine is left with
    Fault(STEP, "self._dynamics.reset(old ^ new)", "self._dynamics.reset(new)", TEST_STEP),
    Fault(STEP, "self._dynamics.reset(old ^ new)", "self._dynamics.reset(None)", TEST_STEP),
    Fault(STEP, "self._dynamics.held & self._neural", "self._dynamics.held.clone()", TEST_STEP),
    Fault(STEP, "((new - old) / self._control_dt)[env_ids]", "((new - old) / self._physics_dt)[env_ids]", TEST_STEP),
    Fault(
        STEP,
        "acceleration[env_ids] = ((new - old) / self._control_dt)[env_ids]",
        "acceleration[:] = (new - old) / self._control_dt",
        TEST_STEP,
    ),
    Fault(STEP, "(new_joints - joints) / self._control_dt", "(new_joints - joints) / self._physics_dt", TEST_STEP),
    Fault(STEP, "== self._left).all(dim=-1)", "== self._left).any(dim=-1)", TEST_STEP),
    Fault(
        STEP,
        "(self._robot.read_engine() == self._left)",
        "((self._robot.read_engine() - self._left).abs() < 1.0e-5)",
        TEST_STEP,
    ),
    Fault(STEP, "self._dynamics.reset(~kept)", "pass", TEST_STEP),
    Fault(STEP, "self._dynamics.reset(~kept)", "self._dynamics.reset(None if (~kept).any() else ~kept)", TEST_STEP),
    Fault(STEP, "state = torch.where(kept[:, None], self._state, state)", "pass", TEST_STEP),
    Fault(STEP, "torch.where(neural[:, None], self._prediction, solved)", "self._prediction", TEST_STEP),
    Fault(STEP, "self._prediction - solved", "solved - self._prediction", TEST_STEP),
    Fault(STEP, "if self._substep == 0:", "if True:", TEST_STEP),
    Fault(STEP, "self._left[env_ids] = torch.nan", "pass", TEST_STEP),
    Fault(STEP, "self.contact_forces[env_ids] = 0.0", "pass", TEST_STEP),
    Fault(STEP, "valid = ~self._dynamics.held & ", "valid = ", TEST_STEP),
    Fault(STEP, "self.held_count += self.held", "self.held_count += self._dynamics.held", TEST_STEP),
    Fault(
        STEP,
        "with self._robot.at_coming_update(self._control_dt):",
        "with self._robot.at_coming_update(self._physics_dt):",
        TEST_STEP,
    ),
    Fault(STEP, "self.one_step_error[self._neural_ids]", "self.one_step_error", TEST_STEP),
    Fault(STEP, "error[:, part].abs().mean()", "error[:, part].mean()", TEST_STEP),
    Fault(STEP, "self._neural is None or self.stock.handles_decimation()", "True", TEST_STEP),
    Fault(STEP, "self._substep = 0\n        self.one_step_error = None", "self.one_step_error = None", TEST_STEP),
    # states as the engine and the model count them
    Fault(STATE, "2.0 * _TURN * torch.sign(angle)", "_TURN * torch.sign(angle)", TEST_STATE),
    Fault(STATE, "(angle.abs() > _TURN)", "(angle.abs() > 0.5 * _TURN)", TEST_STATE),
    Fault(STATE, "_TURN * torch.round(moved / _TURN)", "_TURN * torch.floor(moved / _TURN)", TEST_STATE),
    Fault(STATE, "if self._is_physx:", "if True:", TEST_STATE),
    Fault(STATE, "velocity[:, :3] - torch.linalg.cross(velocity[:, 3:], centre)", "velocity[:, :3]", TEST_STATE),
    Fault(STATE, "pose[:, :3] - self._origins", "pose[:, :3]", TEST_STATE),
    Fault(STATE, "self._origins[env_ids]", "self._origins[: len(env_ids)]", TEST_STATE),
    Fault(STATE, "data.root_link_pose_w.torch, data.root_com_vel_w.torch]", "data.root_link_pose_w.torch]", TEST_STATE),
    Fault(STATE, "data._sim_timestamp = now + dt", "data._sim_timestamp = now", TEST_STATE),
    Fault(STATE, "finally:\n            data._sim_timestamp = now", "finally:\n            pass", TEST_STATE),
    Fault(STATE, "targets[kind][:, joints] = control[:, columns]", "targets[kind][:, columns] = control", TEST_STATE),
    # the ground that contacts are computed with
    Fault(GROUND, "if len(planes) == 1:", "if True:", TEST_GROUND),
    Fault(GROUND, "origins[:, None] * normals", "0.0 * origins[:, None] * normals", TEST_GROUND),
    Fault(GROUND, "placement=placement", "placement=None", TEST_GROUND),
    Fault(SHAPES, "points @ matrix[:3, :3] + matrix[3, :3]", "points + matrix[3, :3]", TEST_GROUND),
    Fault(SHAPES, "float(normal @ matrix[3, :3])", "float(matrix[3, 2])", TEST_GROUND),
    Fault(SHAPES, "matrix[axis, :3] / np.linalg.norm(matrix[axis, :3])", "matrix[axis, :3]", TEST_GROUND),
    Fault(GROUND, "triangles.append(found[1] + count)", "triangles.append(found[1])", TEST_GROUND),
    Fault(SHAPES, "corners[end - count : end]", "corners[end - 4 : end]", TEST_GROUND),
    Fault(SHAPES, "for i in range(1, len(face) - 1)", "for i in range(1, 2)", TEST_GROUND),
    Fault(SHAPES, "walk.PruneChildren()", "pass", TEST_GROUND),
    Fault(
        SHAPES, "GetCollisionEnabledAttr().Get() is not False", "GetCollisionEnabledAttr() is not False", TEST_GROUND
    ),
    # what is collected is what was asked for
    Fault(EXCITATION, "limits.middle + unit", "unit", TEST_RANGE),
    Fault(EXCITATION, "0.5 * (self.high - self.low)", "(self.high - self.low)", TEST_RANGE),
    Fault(EXCITATION, "torch.where(whole, unit, unit * amplitude)", "unit * amplitude", TEST_AMPLITUDES),
    Fault(EXCITATION, "torch.where(whole, unit, unit * amplitude)", "unit", TEST_AMPLITUDES),
    Fault(EXCITATION, "torch.tensor(list(shares.values()))", "torch.ones(len(shares))", TEST_SHARES),
    Fault(EXCITATION, "torch.where(held < 0.0, -1.0, 1.0)", "held.sign().cumprod(1)", TEST_BANG),
    Fault(EXCITATION, "keep * value + (1.0 - keep**2).sqrt()", "(1.0 - keep**2).sqrt()", TEST_MEMORY),
    Fault(EXCITATION, "(self._target[:, step] - position)", "(position - self._target[:, step])", TEST_PD),
    Fault(EXCITATION, "- self._damping * velocity", "+ self._damping * velocity", TEST_PD),
    Fault(STARTS, "(CLEARANCE - _gap(contacts, state, ground))", "(-0.05 - _gap(contacts, state, ground))", TEST_CLEAR),
    Fault(STARTS, "body.joint is not None or moves[body.parent]", "True", TEST_BOLTED),
    Fault(STARTS, "(cfg.slide_vel, SLIDE_SPEED)", "(cfg.joint_vel, SLIDE_SPEED)", TEST_FILLED),
    Fault(STARTS, "0.5 * (upper - lower) * cfg.joint_pos_share", "0.4 * (upper - lower)", TEST_FILLED),
    Fault(AGREEMENT, "geometry.distance <= radius", "geometry.distance <= 0.0", TEST_AGREE),
    Fault(AGREEMENT, "(touching & confirmed)[..., slots]", "confirmed[..., slots]", TEST_HOVERS),
    Fault(AGREEMENT, "near |= (point - geometry.point[at])", "near &= (point - geometry.point[at])", TEST_AGREE),
    Fault(AGREEMENT, "TOLERANCE = 5.0e-3", "TOLERANCE = 1.0e-2", TEST_ELSEWHERE),
    Fault(AGREEMENT, "pairs.gap[row] + radius[slot]", "pairs.gap[row]", TEST_PLACED),
    Fault(VISITED, "torch.where(self._guard(drawn).unsqueeze(-1), drawn, first)", "drawn", TEST_VISITED),
    Fault(VISITED, "path[times, envs]", "path[0 * times, envs]", TEST_VISITED),
    # agreement with the engine by regime, and what a step costs
    Fault(STEPS, "(gap < IN_CONTACT).any(-1)", "(gap < IN_CONTACT).all(-1)", TEST_STEPS),
    Fault(STEPS, "for moment in (state, after):", "for moment in (state,):", TEST_STEPS),
    Fault(STEPS, "floor = compare(spec, other, truth)", "floor = compare(spec, said, truth)", TEST_STEPS),
    Fault(STEPS, "torch.tensor([0.5, 0.9])", "torch.tensor([0.5, 0.5])", TEST_STEPS),
    Fault(STEPS, "codec.encode(state, said) - codec.encode(state, after)", "codec.encode(state, said)", TEST_STEPS),
    Fault(COSTS, "(median(times), threads)", "(max(times), threads)", TEST_STEPS),
    Fault(COSTS, "ours / theirs for", "theirs / ours for", TEST_STEPS),
    Fault(POLICIES, 'modes["neural"]["ends"].get(GUARD', 'modes["physx"]["ends"].get(GUARD', TEST_POLICIES),
    Fault(POLICIES, 'for mode in ("physx", "neural"))', 'for mode in ("neural", "physx"))', TEST_POLICIES),
    Fault(MODELS, "known | rows", "rows | known", "tests/repo/test_first_models.py"),
    Fault(REHEARSAL, "(1.0 - WANTED) * body.forced", "WANTED * body.forced", TEST_REHEARSAL),
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
    Fault(REPORT, "{100 * neural['ends'][name]:.1f} %", "{100 * share:.1f} %", TEST_REPORT),
    Fault(REPORT, 'if share or neural["ends"][name]:', "if share:", TEST_REPORT),
    Fault(REPORT, "published.get(horizon, {})", 'published.get("100", {})', TEST_REPORT),
    Fault(REPORT, 'for mode in ("neural", "physx")', 'for mode in ("physx", "neural")', TEST_REPORT),
    Fault(REPORT, "means.append(total / count)", "means.append(total)", TEST_CHARTS),
    Fault(REPORT, "[seconds / 60 for seconds", "[seconds for seconds", TEST_CHARTS),
    Fault(REPORT, "if isinstance(value, float) and not math.isfinite(value)", "if False", TEST_JSON),
    Fault(REPORT, '"diverged"\n', '"0"\n', TEST_REPORT),
    Fault(RESULTS, '("neural", policy.seeds), ("physx", policy.physx_seeds)', '("neural", policy.seeds),', TEST_REPORT),
    Fault(RESULTS, "not policy.physx_seeds", "policy.physx_seeds", TEST_REPORT),
    Fault(
        RESULTS,
        "for policy in recipe.policies\n        ],",
        "for policy in recipe.policies[:0]\n        ],",
        TEST_REPORT,
    ),
    Fault(
        RESULTS,
        "zip(policy.seeds, transfers, strict=True)",
        "zip(policy.seeds, transfers[::-1], strict=True)",
        TEST_REPORT,
    ),
    # recordings: what is cut out of them, what a model may see, how errors are summed up
    Fault(
        JUDGE_ERRORS, "torch.linalg.vector_norm(pos - truth, dim=-1)", "(pos - truth).abs().sum(-1)", TEST_JUDGE_ERRORS
    ),
    Fault(JUDGE_ERRORS, "quat_mul(quat_conjugate(truth), quat)", "quat_mul(truth, quat)", TEST_JUDGE_ERRORS),
    Fault(JUDGE_ERRORS, "return wrap_to_pi(angle - truth)", "return angle - truth", TEST_JUDGE_ERRORS),
    Fault(JUDGE_ERRORS, "known.sum(1) / valid.sum(1)", "known.mean(1)", TEST_JUDGE_ERRORS),
    Fault(JUDGE_ERRORS, "known = torch.where(valid, errors, 0.0)", "known = errors", TEST_JUDGE_ERRORS),
    Fault(
        JUDGE_ERRORS,
        "torch.where(known.isfinite().all(1), means, torch.inf)",
        "means.nan_to_num(0.0)",
        TEST_JUDGE_ERRORS,
    ),
    Fault(
        JUDGE_ERRORS,
        "errors.square().mean(-1), valid).sqrt()",
        "errors.square().sum(-1), valid).sqrt()",
        TEST_JUDGE_ERRORS,
    ),
    Fault(
        JUDGE_ERRORS,
        "window_means(errors.square().mean(-1), valid).sqrt()",
        "window_means(errors.abs().mean(-1), valid)",
        TEST_JUDGE_ERRORS,
    ),
    Fault(JUDGE_ERRORS, "~(errors <= limit) & valid", "~(errors <= limit)", TEST_JUDGE_ERRORS),
    Fault(JUDGE_ERRORS, "~(errors <= limit) & valid", "(errors > limit) & valid", TEST_JUDGE_ERRORS),
    Fault(JUDGE_ERRORS, "passes.int().argmax(1), valid.sum(1))", "passes.int().argmax(1), 0)", TEST_JUDGE_ERRORS),
    Fault(JUDGE_ERRORS, "values.quantile(0.9, ", "values.quantile(0.95, ", TEST_JUDGE_ERRORS),
    Fault(JUDGE_WINDOWS, "starts, length = usable[::stride], steps", "starts, length = usable[:1], steps", TEST_JUDGE),
    Fault(JUDGE_WINDOWS, "truth = states[start + 1 : end + 1]", "truth = states[start:end]", TEST_JUDGE),
    Fault(
        JUDGE_WINDOWS, "firsts[start], control[start:end], truth", "firsts[start], control[:length], truth", TEST_JUDGE
    ),
    Fault(JUDGE_WINDOWS, 'if name != "train"]', "if name]", TEST_JUDGE),
    Fault(JUDGE_WINDOWS, "else length) <= len(control)]", "else length) < len(control)]", TEST_JUDGE),
    Fault(
        JUDGE_WINDOWS,
        "firsts[FIT_FRAMES - 1 :, at.joint_pos], firsts",
        "firsts[: 1 - FIT_FRAMES, at.joint_pos], firsts",
        TEST_JUDGE,
    ),
    Fault(JUDGE_WINDOWS, "if abs(ratio - 1.0) > STEP_TOLERANCE:", "if abs(ratio - 1.0) > 100:", TEST_JUDGE),
    Fault(
        JUDGE_WINDOWS, "np.cumsum(truth[:, spec.state.joint_pos], axis=1)", "truth[:, spec.state.joint_pos]", TEST_JUDGE
    ),
    Fault(JUDGE_WINDOWS, "ConversionCfg(delay=delay)", "ConversionCfg()", TEST_JUDGE),
    Fault(JUDGE, "position / recordings.width", "position", TEST_JUDGE),
    Fault(JUDGE, "angles.cumsum(-1), true_angles.cumsum(-1)", "angles, true_angles", TEST_JUDGE),
    Fault(JUDGE, "ordered = [found[index] for index in order]", "ordered = found", TEST_JUDGE),
    Fault(JUDGE, "float(columns[name][rows].double().mean())", "means[name]", TEST_JUDGE),
    Fault(JUDGE, 'found | {"diverged": ~finite', 'found | {"diverged": ~inside & finite', TEST_JUDGE),
    Fault(JUDGE, "errors[..., place : place + 1], valid)", "errors[..., :1], valid)", TEST_JUDGE),
    Fault(
        JUDGE,
        "columns[name].double().mean()) for name in quantities}",
        "columns[name].double().median()) for name in quantities}",
        TEST_JUDGE,
    ),
    # an identified model is judged by what it makes of held-out motion, and what the data tell is not made up
    Fault(REPLAY, "each.mean(1).sqrt().mean()", "each.mean(1).mean().sqrt()", TEST_REPLAY),
    Fault(REPLAY, "each.mean((0, 1)).sqrt().mean()", "each.mean((0, 1)).mean().sqrt()", TEST_REPLAY),
    Fault(
        REPLAY, "_squares(predictor, states[:, 1:], truth[:, 1:])", "_squares(predictor, states, truth)", TEST_REPLAY
    ),
    Fault(REPLAY, "torch.atan2(difference.sin(), difference.cos())", "difference", TEST_REPLAY),
    Fault(REPLAY, "not value <= allowed * before", "value > allowed * before", TEST_REPLAY),
    Fault(IDENTIFIABILITY, "if is_kept else float", "if True else float", TEST_TOLD),
    Fault(IDENTIFIABILITY, "found = torch.where(each.weights.abs() > 0.05, torch.inf, found)", "pass", TEST_TOLD),
    Fault(COST, "bad = ~(", "bad = False & (", TEST_WINDOWS),
    # searches say what they found, and experiments count what they say
    Fault(MANY_STARTS, "errors.square().mean(-1)", "errors.square().sum(-1)", TEST_MANY_STARTS),
    Fault(EVOLUTION, "if costs[first] < best.value:", "if True:", TEST_EVOLUTION),
    Fault(CALIBRATION, "if spec.floating_base or body.parent is not None:", "if True:", TEST_CALIBRATION),
    Fault(BASINS, "<= FOUND * truth", "<= 100.0 * truth", TEST_BASINS),
    Fault(GRADIENT_COST, "2.0 * trajectories.unknowns * roll_out", "20.0 * trajectories.unknowns", TEST_GRADIENT_COST),
    Fault(GRADIENT_COST, "by_graph / adjoint", "adjoint / by_graph", TEST_GRADIENT_COST),
    Fault(GRADIENT_COST, "(above - self.loss())", "(above + self.loss())", TEST_GRADIENT_COST),
    Fault(TOSSED_CUBE, "places.norm(dim=-1).mean()", "places.norm(dim=-1).mean() * 0.0", TEST_TOSSED_CUBE),
    # what measurements say of gravity, of the ground, of units and of the clock
    Fault(PHYSICS, "return found[2]", "return 2.0 * found[2]", TEST_PLAUSIBLE),
    Fault(PHYSICS, "height, axis=1)[:, :CARRIERS]", "height, axis=1)", TEST_PLAUSIBLE),
    Fault(PLAUSIBLE, "middle @ gravity", "middle[:2] @ gravity[:2]", TEST_PLAUSIBLE),
    Fault(PLAUSIBLE, "rate * pace, 0.5", "rate / pace, 0.5", TEST_PLAUSIBLE),
    Fault(PLAUSIBLE, "max(self.tolerance, SURE * self.error)", "100.0", TEST_PLAUSIBLE),
    Fault(PLAUSIBLE, "np.roll(quat, -1, axis=1), rate, dt)", "quat, rate, dt)", TEST_PLAUSIBLE),
    # what adaptation is worth, and what of it is used
    Fault(ADAPT_TRIAL, "first = 0 if not len(beyond) else int(beyond[-1]) + 1", "first = 0", TEST_ADAPT_TRIAL),
    Fault(ADAPT_TRIAL, "int(beyond[-1]) + 1", "int(beyond[0]) + 1", TEST_ADAPT_TRIAL),
    Fault(ADAPT_TRIAL, "after = torch.tensor(self.seconds) >= self.changed", "after = slice(None)", TEST_ADAPT_TRIAL),
    Fault(ADAPT_TRIAL, "motion.truth if changed else nothing", "motion.truth", TEST_ADAPT_TRIAL),
    Fault(ADAPT_REPORT, "(own > WORSE * plain)", "(own > 0.0 * plain)", TEST_ADAPT_TRIAL),
    Fault(ADAPT_FOLLOWER, "gain > torch.where", "gain > -1.0e9 * torch.where", TEST_ADAPT),
    Fault(ADAPT_FOLLOWER, "worse = rows[gain < -self.cfg.evidence]", "worse = rows[:0]", TEST_ADAPT_REJECTS),
    Fault(
        ADAPT_FOLLOWER,
        "(self.numbers[chosen] + change).clamp(self.directions.lower, self.directions.upper)",
        "self.numbers[chosen] + change",
        TEST_ADAPT,
    ),
    Fault(
        ADAPT_FOLLOWER,
        "(nominal.isfinite() & own.isfinite()).all(-1)",
        "(nominal.isfinite() | True).all(-1)",
        TEST_ADAPT,
    ),
    Fault(ADAPT_FOLLOWER, "(own[followed] - beside)", "(beside - own[followed])", TEST_ADAPT),
    Fault(ADAPT_FOLLOWER, "self.surprise[rows] > ATTENTIVE", "self.surprise[rows] > 1.0e9", TEST_ADAPT),
    Fault(ADAPT_FOLLOWER, "% self.cfg.calm == 0", "% 1 == 0", TEST_ADAPT),
    # the page of the paper's tables: which steps, which policies, and when a ground counts as better
    Fault(TABLES, "[:TABLE_3_STEPS] for name", "for name", TEST_TABLES),
    Fault(TABLES, "return all(error < paper", "return any(error < paper", TEST_TABLES),
    Fault(TABLES, 'fmean(each["return_physx"]', 'fmean(each["return_neural"]', TEST_TABLES),
    Fault(TABLES, 'if each.get("trained_in", "neural") == "neural"]', "]", TEST_TABLES),
    Fault(TABLES, 'if rest == "passive" else None', "if rest else None", TEST_TABLES),
    # how well a quadruped walks, how fast its planners are, and how near the network is to the programme
    Fault(WALKING, "[..., :2], axis=-1)", "[..., :1], axis=-1)", TEST_WALK),
    Fault(WALKING, "np.where(disturbed, 0, quiet + 1)", "np.where(fallen, 0, quiet + 1)", TEST_WALK),
    Fault(WALKING, "falls += int(fallen.sum())", "pass", TEST_WALK),
    Fault(WALKING, "robots.place(fallen, start, stance)", "pass", TEST_WALK),
    Fault(WALK_TIMES, "qp.append(mpc.solver_seconds - before)", "qp.append(mpc.solver_seconds)", TEST_WALK),
    Fault(WALK_NETWORK, "rest = slice(min(count, len(seen) - 1), None)", "rest = slice(None, count)", TEST_WALK),
    # models of continuous time are judged by the angles of whole roll-outs, and one that is lost is
    Fault(ODE_JUDGE, "error = (angles - truth).square()", "error = (angles - truth)[:, :1].square()", TEST_ODE),
    Fault(ODE_JUDGE, "if bool(torch.isfinite(error).all())", "if True", TEST_ODE),
    Fault(ODE_JUDGE, "mean((1, 2)).sqrt()", "mean((0, 1, 2)).sqrt()", TEST_ODE),
    # a swimmer's models are judged by all states at all steps, what is discovered on folds that are held out
    Fault(SWIMMER, "apart[:, 1:].square().mean((0, 2))", "apart[:, 1:, :4].square().mean((0, 2))", TEST_SWIMMER),
    Fault(FOLDS, "if number != held])", "])", TEST_FOLDS),
    Fault(FOLDS, "if fewer.error > limit:", "if fewer.error >= 0.0:", TEST_FOLDS),
    Fault(FOLDS, "if fewer.error > limit:", "if fewer.error > 10.0:", TEST_FOLDS),
    # what an identification found is judged by the combinations of parameters that the data tell, untold ones apart
    Fault(IDENTIFY, "off = torch.stack(found) - true", "off = torch.stack(found)", TEST_IDENTIFY),
    Fault(IDENTIFY, "covariance += 1.0e6 *", "covariance += 0.0 *", TEST_IDENTIFY),
    Fault(IDENTIFY, "along[known].max()", "along.max()", TEST_IDENTIFY),
    # a tossed cube is judged on tosses that were not searched with
    Fault(
        TOSSED,
        "tosses.paths(contacts, tosses.judged), tosses.judged)",
        "tosses.paths(contacts, tosses.searched), tosses.searched)",
        TEST_TOSSED,
    ),
    # rounds of a refinement stop at a gap that was measured well enough, over starts that judged no model before
    Fault(STOPPING, "share = (neural - physx) / abs(physx)", "share = (neural - physx) / physx", TEST_REFINE),
    Fault(STOPPING, "None if error is None else float(error) / abs(physx)", "error", TEST_REFINE),
    Fault(STOPPING, "abs(self.share) + STANDARD_ERRORS", "self.share + STANDARD_ERRORS", TEST_REFINE),
    Fault(STOPPING, "STANDARD_ERRORS * (self.standard_error or 0.0)", "0.0", TEST_REFINE),
    Fault(STOPPING, "gap.physx >= cfg.least_return", "gap.neural >= cfg.least_return", TEST_REFINE),
    Fault(STOPPING, "key=lambda number: gaps[number].bound", "key=lambda number: -number", TEST_REFINE),
    Fault(STOPPING, "len(gaps) - 1 - best >= cfg.patience", "len(gaps) - best >= cfg.patience", TEST_REFINE),
    Fault(ROUNDS, "number, self.cfg.seed + 1 + number)", "number, self.cfg.seed + 1)", TEST_ROUNDS),
    Fault(ROUNDS, "number, self.cfg.seed + 1 + 1000)", "number, self.cfg.seed + 1)", TEST_ROUNDS),
    # rows of the ablations are judged beside the base, and differ from it in what they say
    Fault(ABLATIONS, "math.exp(sum(logs) / len(logs))", "math.exp(sum(logs))", TEST_ABLATIONS),
    Fault(ABLATIONS, 'if found["failure"] or base["failure"]:', "if False:", TEST_ABLATIONS),
    Fault(ABLATION_VARIANTS, "change - self._now(state)", "change", TEST_ABLATIONS),
    Fault(ABLATION_VARIANTS, "quat_mul(after[..., quat], state[..., quat])", "after[..., quat]", TEST_ABLATIONS),
    # a detector of failures is judged by pairs, by the worst step, and beside the best that costs nothing
    Fault(UNCERTAINTY, "last - 0.5 * (count - 1)", "last", TEST_UNCERTAINTY),
    Fault(UNCERTAINTY, "0.5 * positive * (positive + 1)", "0.5 * positive * positive", TEST_UNCERTAINTY),
    Fault(UNCERTAINTY, "nan_to_num(math.inf).amax(0)", "nan_to_num(math.inf).amin(0)", TEST_UNCERTAINTY),
    Fault(UNCERTAINTY, "nan_to_num(math.inf)", "nan_to_num(0.0)", TEST_UNCERTAINTY),
    Fault(UNCERTAINTY, "best = max((name", "best = min((name", TEST_UNCERTAINTY),
    Fault(UNCERTAINTY, "ahead > 2.0 * error", "ahead > -2.0 * error", TEST_UNCERTAINTY),
)
