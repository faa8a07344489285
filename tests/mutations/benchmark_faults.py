# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Faults in the benchmarks."""

from __future__ import annotations

from mutations.fault import Fault
from mutations.places import (
    ABLATION_PAGE,
    ABLATION_VARIANTS,
    ABLATIONS,
    CHANCE,
    COSTS,
    IDENTIFY,
    MODELS,
    POLICIES,
    RETURNS,
    ROUGH,
    STARTS,
    STEPS,
    TABLES,
    TEST_ABLATIONS,
    TEST_IDENTIFY,
    TEST_POLICIES,
    TEST_ROUGH,
    TEST_STEPS,
    TEST_TABLES,
    TEST_UNCERTAINTY,
    TESTS_OF_COLLECT,
    UNCERTAINTY,
)

BENCHMARK_FAULTS = (
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
    # the page of the paper's tables: which steps, which policies, and when a ground counts as better
    Fault(TABLES, "[:TABLE_3_STEPS] for name", "for name", TEST_TABLES),
    Fault(TABLES, "return all(error < paper", "return any(error < paper", TEST_TABLES),
    Fault(TABLES, 'if rest == "passive" else {}', "if rest else {}", TEST_TABLES),
    # returns of policies: of PhysX, over the seeds, beside those of policies that were trained there
    Fault(RETURNS, 'each["return_physx"]["mean"]', 'each["return_neural"]["mean"]', TEST_TABLES),
    Fault(RETURNS, 'get("task") == task and trained_in(each) == mode', 'get("task") == task', TEST_TABLES),
    Fault(RETURNS, 'each.get("task") == task and', "", TEST_TABLES),
    Fault(RETURNS, "len(set(seeds)) < len(seeds)", "not seeds and task", TEST_TABLES),
    Fault(RETURNS, "max(map(abs, gaps))", "max(gaps)", TEST_TABLES),
    Fault(RETURNS, "max(map(abs, gaps))", "min(map(abs, gaps))", TEST_TABLES),
    Fault(RETURNS, "theirs.mean <= 0.0", "theirs.mean == 0.0", TEST_TABLES),
    Fault(RETURNS, "share * theirs.standard_error)", "theirs.standard_error)", TEST_TABLES),
    Fault(RETURNS, "self.spread / math.sqrt(self.count)", "self.spread", TEST_TABLES),
    Fault(RETURNS, 'get(f"scores_{mode}", {})', 'get("scores_physx", {})', TEST_TABLES),
    Fault(RETURNS, 'score_over_seeds(solver, "physx", name)', 'score_over_seeds(solver, "neural", name)', TEST_TABLES),
    Fault(RETURNS, "share[0] >= ENOUGH", "share[0] > 1.0", TEST_TABLES),
    # what an identification found is judged by the combinations of parameters that the data tell, untold ones apart
    Fault(IDENTIFY, "off = torch.stack(found) - true", "off = torch.stack(found)", TEST_IDENTIFY),
    Fault(IDENTIFY, "covariance += 1.0e6 *", "covariance += 0.0 *", TEST_IDENTIFY),
    Fault(IDENTIFY, "along[known].max()", "along.max()", TEST_IDENTIFY),
    # rows of the ablations are judged beside the base, and differ from it in what they say
    Fault(CHANCE, "sum(logs) / len(logs)", "sum(logs)", TEST_ABLATIONS),
    Fault(CHANCE, 'if found["failure"] or base["failure"]:', "if False:", TEST_ABLATIONS),
    Fault(CHANCE, "0.5 + 0.5 * CONFIDENCE", "CONFIDENCE", TEST_ABLATIONS),
    Fault(CHANCE, "self.seeds - 1)", "1000)", TEST_ABLATIONS),
    Fault(CHANCE, "* math.sqrt(1.0 + 1.0 / self.seeds)", "", TEST_ABLATIONS),
    Fault(CHANCE, "relative < 1.0 / self.factor", "relative < 1.0", TEST_ABLATIONS),
    Fault(CHANCE, 'if not row["failure"]]', "]", TEST_ABLATIONS),
    Fault(CHANCE, "all(rows[name][1] == verdict", "any(rows[name][1] == verdict", TEST_ABLATIONS),
    Fault(ABLATIONS, "options.seed + 1 + number", "options.seed + number", TEST_ABLATIONS),
    Fault(ABLATION_PAGE, "verdicts[each].get(row", "verdicts[shown[0]].get(row", TEST_ABLATIONS),
    Fault(ABLATION_VARIANTS, "change - self._now(state)", "change", TEST_ABLATIONS),
    Fault(ABLATION_VARIANTS, "quat_mul(after[..., quat], state[..., quat])", "after[..., quat]", TEST_ABLATIONS),
    # passive errors on terrains: rows that other options gave do not stay, and robots begin clear of walls
    Fault(ROUGH, 'row["terrain"] not in terrains', "terrains", TEST_ROUGH),
    Fault(ROUGH, 'row.get("robots") == robots and', "", TEST_ROUGH),
    Fault(ROUGH, '("task", "model", "steps", "seeds")', '("task", "model", "steps")', TEST_ROUGH),
    Fault(
        STARTS,
        "least = 1e-6 if number < _TRIES // 2 else _FAR_LIFT",
        "least = 1e-6",
        TESTS_OF_COLLECT + "test_robots_beside_a_wall_are_lifted_above_it",
    ),
    # a detector of failures is judged by pairs, by the worst step, and beside the best that costs nothing
    Fault(UNCERTAINTY, "last - 0.5 * (count - 1)", "last", TEST_UNCERTAINTY),
    Fault(UNCERTAINTY, "0.5 * positive * (positive + 1)", "0.5 * positive * positive", TEST_UNCERTAINTY),
    Fault(UNCERTAINTY, "nan_to_num(math.inf).amax(0)", "nan_to_num(math.inf).amin(0)", TEST_UNCERTAINTY),
    Fault(UNCERTAINTY, "nan_to_num(math.inf)", "nan_to_num(0.0)", TEST_UNCERTAINTY),
    Fault(UNCERTAINTY, "best = max((name", "best = min((name", TEST_UNCERTAINTY),
    Fault(UNCERTAINTY, "ahead > 2.0 * error", "ahead > -2.0 * error", TEST_UNCERTAINTY),
)

__all__ = ["BENCHMARK_FAULTS"]
