# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Gradients of mechanics: what they cost beside a step without, and how near they are to central differences.

    python benchmarks/gradients.py --json gradients.json      # some minutes
    python benchmarks/gradients.py --model runs/ant/best --states 16

*Cost*: a control step of 512 robots forward by the kernel, and forward and backward by the kernel and its adjoint, in
turns; by all physical parameters both over a step without them, and over one with them, in which every joint has a
drive, friction and limits; and back-propagation through time, 64 robots for 32 steps, contacts with the ground and all.
*Accuracy*: robots that were thrown on the ground with random efforts, their states sorted by what touches; for each,
derivatives of a random sum of the change of state by all of the state and the control, against central differences in
double precision; and by each physical parameter of environments that differ in all of them, along a random direction.
"Double" is PyTorch in double precision, "single" what training and policies get: the kernel and its adjoint. Numbers
at the top are the worst of all regimes and parameters, each the median of its states: derivatives at a kink are no
differences. A parameter counts in a regime where at least four states feel it.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
import tyro
from timing import in_turns
from torch import Tensor

from nerd_core import checkpoint
from nerd_core.contact.grounds import PlaneGround
from nerd_core.files.provenance import describe_run
from nerd_core.predictor.predictor import Predictor
from nerd_core.robot.physical_parameters import OWN_SHAPES, PhysicalParameters, specified

COUNT = 512
"""Robots whose step is timed."""
ROLLED, HORIZON = 64, 32
"""Robots and steps of back-propagation through time."""
EPSILON = 1.0e-6
"""Half the distance of central differences."""
AIR, NEAR_STOP = 0.1, 0.0
"""Gap above which a robot is in the air [m], and below which a joint is at its stop [rad]."""

WITHOUT_GRADIENT = ("joint_friction", "bounce_threshold")
"""Parameters that decide which law holds."""
FELT, FEWEST = 1.0e-4, 4
"""Share of the largest derivative from which on a state feels a parameter, and how many have to."""

Step = Callable[..., Tensor]


@dataclass(frozen=True)
class Options:
    """Gradients of mechanics: cost and accuracy."""

    model: str = "ant"
    """Checkpoint whose prior is mechanics, a directory or the name of a shipped model."""
    states: int = 24
    """States of each regime."""
    turns: int = 25
    """How often each side of a comparison runs."""
    seed: int = 0
    """Seed of the states and of the sums that are differentiated."""
    json: Path | None = None
    """File to write the numbers to."""


def main(options: Options) -> dict[str, Any]:
    """Measures, prints and writes."""
    from nerd_core.checkpoint_names import find_checkpoint

    load = os.getloadavg()[0]
    predictor = checkpoint.load(find_checkpoint(options.model))
    states, controls = thrown(predictor, options.seed)
    numbers: dict[str, Any] = cost(predictor, states, controls, options.turns)
    regimes = sorted_by_touch(predictor, states, controls, options.states)
    numbers["regimes"] = {name: accuracy(predictor, *each, options.seed) for name, each in regimes.items()}
    parameters = {name: by_parameters(predictor, *each, options.seed) for name, each in regimes.items()}
    numbers["by_parameter"] = {
        kind: {
            name: max(found)
            for name in OWN_SHAPES
            if (found := [each[name][kind] for each in parameters.values() if name in each])
        }
        for kind in ("double", "single")
    }
    numbers["parameters_by_regime"] = parameters
    for kind in ("double", "single"):
        of_states = [each[f"fd_median_{kind}"] for each in numbers["regimes"].values()]
        numbers[f"fd_median_{kind}"] = max(*of_states, *numbers["by_parameter"][kind].values())
    numbers["load_before"], numbers["run"] = load, describe_run(seeds={"states": options.seed})
    print(json.dumps({name: value for name, value in numbers.items() if name != "run"}, indent=1))
    if options.json is not None:
        options.json.write_text(json.dumps(numbers, indent=1) + "\n", encoding="utf-8")
    return numbers


def step_of(predictor: Predictor) -> Step:
    """The change of state of a control step by mechanics, contacts with flat ground and all."""
    mechanics: Any = predictor.prior.get_submodule("mechanics")
    ground = PlaneGround.flat()

    def step(state: Tensor, control: Tensor, parameters: PhysicalParameters | None = None) -> Tensor:
        contacts = predictor.contact_model(state, ground) if predictor.spec.slots else None
        return mechanics(state, control, contacts, parameters)

    return step


@torch.no_grad()
def thrown(predictor: Predictor, seed: int, steps: int = 60) -> tuple[Tensor, Tensor]:
    """States of robots thrown on the ground with random efforts, and controls, each of shape (steps, COUNT, N)."""
    spec, generator, step = predictor.spec, torch.Generator().manual_seed(seed), step_of(predictor)

    def random(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator)

    state = torch.zeros(COUNT, spec.state.dim)
    middle = torch.tensor([0.5 * (joint.lower + joint.upper) for joint in spec.joints]).nan_to_num(0.0)
    state[:, spec.state.joint_pos] = middle + 0.2 * random(COUNT, len(spec.joints))
    state[:, spec.state.joint_vel] = random(COUNT, len(spec.joints))
    if spec.floating_base:
        state[:, spec.state.root_pos] = 0.6 + 0.1 * random(COUNT, 3)
        turned = torch.tensor([0.0, 0.0, 0.0, 1.0]) + 0.15 * random(COUNT, 4)
        state[:, spec.state.root_quat] = torch.nn.functional.normalize(turned, dim=-1)
        state[:, spec.state.root_lin_vel] = 0.7 * random(COUNT, 3)
        state[:, spec.state.root_ang_vel] = random(COUNT, 3)
    states, controls = [], []
    for _ in range(steps):
        control = 5.0 * random(COUNT, spec.control_dim)
        states.append(state)
        controls.append(control)
        state = predictor.codec.apply(state, step(state, control))
    return torch.stack(states), torch.stack(controls)


def cost(predictor: Predictor, states: Tensor, controls: Tensor, turns: int) -> dict[str, Any]:
    """Times of a step with and without gradients, and of back-propagation through time."""
    mechanics: Any = predictor.prior.get_submodule("mechanics")
    state, control = states[30], controls[30]
    contacts = predictor.contact_model(state, PlaneGround.flat())
    weights = torch.randn_like(mechanics(state, control, contacts))
    learned = list(mechanics.parameters())

    def forward() -> None:
        with torch.no_grad():
            mechanics(state, control, contacts)

    def backward(wanted: list[Tensor]) -> None:
        x, u = state.detach().requires_grad_(), control.detach().requires_grad_()
        torch.autograd.grad((weights * mechanics(x, u, contacts)).sum(), [x, u, *wanted])

    rows = differing(predictor, COUNT, torch.Generator().manual_seed(1))

    def with_parameters() -> None:
        x, wanted = state.detach().requires_grad_(), rows.map(lambda each: each.detach().requires_grad_())
        tensors = [x, *(getattr(wanted, name) for name in wanted.given)]
        torch.autograd.grad((weights * mechanics(x, control, contacts, wanted)).sum(), tensors, allow_unused=True)

    def forward_with_parameters() -> None:
        with torch.no_grad():
            mechanics(state, control, contacts, rows)

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    functions = {"forward": forward, "both": partial(backward, []), "with rules": partial(backward, learned)}
    functions |= {"with parameters": with_parameters, "forward with parameters": forward_with_parameters}
    times = in_turns(functions, turns)
    if not (mechanics._gradients and all(each is not None for each in mechanics._gradients.values())):
        raise RuntimeError("got no adjoint of the kernel, expected one: see the warning above")
    numbers: dict[str, Any] = {
        "backward_over_forward_ant_512": times.ratio("both", "forward"),
        "with_rules_over_forward": times.ratio("with rules", "forward"),
        "with_all_parameters_over_forward": times.ratio("with parameters", "forward"),
        "with_all_parameters_over_theirs": times.ratio("with parameters", "forward with parameters"),
        "forward_ms": times.milliseconds("forward"),
        "forward_and_backward_ms": times.milliseconds("both"),
    }
    by_threads = {}
    for count in sorted({1, len(os.sched_getaffinity(0))}):
        torch.set_num_threads(count)
        by_threads[str(count)] = through_time(predictor, states[20, :ROLLED], controls[20, :ROLLED])
    torch.set_num_threads(threads)
    numbers["bptt_ant_64x32_s"] = min(each["wall_s"] for each in by_threads.values())
    numbers["bptt_by_threads"] = by_threads
    return numbers


def through_time(predictor: Predictor, state: Tensor, control: Tensor, repeats: int = 7) -> dict[str, float]:
    """Median times of back-propagation through time: of the clock, and of the processor [s]."""
    step, wall, busy = step_of(predictor), [], []
    for _ in range(repeats):
        controls = control.expand(HORIZON, -1, -1).clone().requires_grad_()
        begin, begin_busy, x = time.perf_counter(), time.process_time(), state
        for each in controls:
            x = predictor.codec.apply(x, step(x, each))
        torch.autograd.grad(x.sum(), controls)
        wall.append(time.perf_counter() - begin)
        busy.append(time.process_time() - begin_busy)
    return {"wall_s": sorted(wall)[repeats // 2], "processor_s": sorted(busy)[repeats // 2]}


def sorted_by_touch(
    predictor: Predictor, states: Tensor, controls: Tensor, count: int
) -> dict[str, tuple[Tensor, Tensor]]:
    """Some states of each regime with their controls: in the air, at a stop, on one foot, on more, before an impact."""
    spec, state, control = predictor.spec, states.flatten(0, 1), controls.flatten(0, 1)
    radius = torch.tensor([slot.radius for slot in spec.slots])
    contacts = predictor.contact_model(state, PlaneGround.flat())
    gap = contacts.distance.masked_fill(~contacts.active, torch.inf) - radius  # far slots are at zero
    touching = torch.stack([(gap[:, of] < 0.0).any(-1) for of in _slots_by_body(predictor)]).sum(0)
    lowest = gap.amin(-1)
    after = torch.cat((lowest.view(states.shape[:2])[1:], torch.full((1, states.shape[1]), 1.0))).flatten()
    pos = state[:, spec.state.joint_pos]
    lower, upper = (torch.tensor([getattr(joint, end) for joint in spec.joints]) for end in ("lower", "upper"))
    stopped = (torch.minimum(pos - lower, upper - pos) < NEAR_STOP).any(-1)
    air = lowest > AIR
    chosen = {
        "air": air & ~stopped,
        "stop": air & stopped,
        "one foot": touching == 1,
        "more feet": touching > 1,
        "impact": (lowest > 0.0) & (after < 0.0),
    }
    found = {}
    for name, where in chosen.items():
        rows = where.nonzero().flatten()
        rows = rows[:: max(1, len(rows) // count)][:count]
        if not len(rows):
            raise RuntimeError(f"got no state of the regime '{name}', expected some: take another seed")
        found[name] = state[rows], control[rows]
    return found


def _slots_by_body(predictor: Predictor) -> list[list[int]]:
    """Numbers of the slots of each body."""
    bodies = {slot.body for slot in predictor.spec.slots}
    return [[i for i, slot in enumerate(predictor.spec.slots) if slot.body == body] for body in sorted(bodies)]


def accuracy(predictor: Predictor, state: Tensor, control: Tensor, seed: int) -> dict[str, Any]:
    """Relative errors of derivatives in double and single precision."""
    exact = checkpoint_in_double(predictor)
    weights = torch.randn(len(state), predictor.codec.dim, generator=torch.Generator().manual_seed(seed)).double()
    expected = central_differences(step_of(exact), state.double(), control.double(), weights)
    numbers: dict[str, Any] = {"states": len(state)}
    for name, model, dtype in (("double", exact, torch.double), ("single", predictor, torch.float32)):
        found = derivatives(step_of(model), state.to(dtype), control.to(dtype), weights.to(dtype))
        off = (found - expected).norm(dim=-1) / expected.norm(dim=-1)
        numbers[f"fd_median_{name}"] = float(off.median())
        numbers[f"fd_of_nine_in_ten_{name}"] = float(off.quantile(0.9))
    numbers["size"] = float(expected.norm(dim=-1).median())
    return numbers


def differing(predictor: Predictor, count: int, generator: torch.Generator) -> PhysicalParameters:
    """Parameters of environments that differ in all of them: masses and the like a fifth around the specification's,
    what it has none of up to a usual size.
    """
    spec = predictor.spec
    own, joints, slots = specified(spec), len(spec.joints), len(spec.slots)

    def between(low: float, high: float, *shape: int) -> Tensor:
        return low + (high - low) * torch.rand(count, *shape, generator=generator)

    values: dict[str, Tensor] = {}
    for name in ("mass", "centre_of_mass", "parent_pos", "armature", "lower_limit", "upper_limit"):
        nominal = getattr(own, name)
        values[name] = nominal * between(0.8, 1.2, *nominal.shape)
    assert own.inertia is not None and own.gravity is not None
    values["inertia"] = own.inertia * between(0.8, 1.2, len(spec.bodies), 1, 1)
    values["gravity"] = own.gravity + between(-0.5, 0.5, 3)
    usual = {
        "stiffness": (0.5, 2.0),
        "damping": (0.05, 0.2),
        "effort_limit": (0.05, 1.0),
        "velocity_limit": (4.0, 12.0),
    }
    usual |= {f"joint_{kind}": (0.01, 0.05) for kind in ("friction", "dynamic_friction", "viscous_friction")}
    values |= {name: between(*ends, joints) for name, ends in usual.items()}
    values |= {"static_friction": between(0.8, 1.2, slots), "dynamic_friction": between(0.3, 0.8, slots)}
    values |= {"restitution": between(0.1, 0.5, slots), "bounce_threshold": between(0.1, 0.3)}
    for name in ("external_force", "external_torque"):
        values[name] = 0.5 * torch.randn(count, len(spec.bodies), 3, generator=generator)
    return PhysicalParameters(**values)


def by_parameters(predictor: Predictor, state: Tensor, control: Tensor, seed: int) -> dict[str, dict[str, float]]:
    """Relative errors of derivatives by each parameter along a direction, in double and in single precision."""
    rows = differing(predictor, len(state), torch.Generator().manual_seed(seed))
    numbers = _by_rows(predictor, state, control, rows, rows.given, seed)
    # Static friction is that of what slides, too, where there is no dynamic friction beside it.
    one_friction = replace(rows, dynamic_friction=None)
    return numbers | _by_rows(predictor, state, control, one_friction, ("static_friction",), seed)


def _by_rows(
    predictor: Predictor, state: Tensor, control: Tensor, rows: PhysicalParameters, names: tuple[str, ...], seed: int
) -> dict[str, dict[str, float]]:
    """What :func:`by_parameters` says, of some of the parameters."""
    exact, generator = checkpoint_in_double(predictor), torch.Generator().manual_seed(seed)
    weights = torch.randn(len(state), predictor.codec.dim, generator=generator).double()
    found = {}
    for kind, model, dtype in (("double", exact, torch.double), ("single", predictor, torch.float32)):
        wanted = rows.map(lambda each, dtype=dtype: each.detach().to(dtype, copy=True).requires_grad_())
        said = step_of(model)(state.to(dtype), control.to(dtype), wanted)
        tensors = [getattr(wanted, name) for name in rows.given]
        by = torch.autograd.grad((weights.to(dtype) * said).sum(), tensors, allow_unused=True)
        found[kind] = dict(zip(rows.given, by, strict=True))
    numbers = {}
    for name in names:
        if name in WITHOUT_GRADIENT:
            continue
        value = getattr(rows, name).double()
        direction = torch.randn(value.shape, generator=generator, dtype=torch.double)
        direction = direction + direction.mT if name == "inertia" else direction
        direction = 0.1 * value.abs().amax().clamp(max=1.0) * direction  # a tenth of what may be much less than one
        expected = difference_along(step_of(exact), state, control, rows, name, direction, weights)
        felt = expected.abs() > FELT * expected.abs().max()
        if int(felt.sum()) >= FEWEST:
            along = {kind: (by[name].double() * direction).flatten(1).sum(-1) for kind, by in found.items()}
            off = {kind: ((each - expected).abs() / expected.abs())[felt] for kind, each in along.items()}
            numbers[name] = {kind: float(each.median()) for kind, each in off.items()} | {"states": int(felt.sum())}
    return numbers


@torch.no_grad()
def difference_along(
    step: Step,
    state: Tensor,
    control: Tensor,
    rows: PhysicalParameters,
    name: str,
    direction: Tensor,
    weights: Tensor,
) -> Tensor:
    """Central differences of sums along a direction of one parameter, shape (M,)."""
    sides = []
    for sign in (1.0, -1.0):
        values = {each: getattr(rows, each).double() for each in rows.given}
        values[name] = values[name] + sign * EPSILON * direction
        sides.append((weights * step(state.double(), control.double(), PhysicalParameters(**values))).sum(-1))
    return (sides[0] - sides[1]) / (2.0 * EPSILON)


def checkpoint_in_double(predictor: Predictor) -> Predictor:
    """The same model in double precision."""
    import copy

    return copy.deepcopy(predictor).double()


def derivatives(step: Step, state: Tensor, control: Tensor, weights: Tensor) -> Tensor:
    """Derivatives of sums by states and controls, shape (M, S + C)."""
    state, control = state.detach().requires_grad_(), control.detach().requires_grad_()
    return torch.cat(torch.autograd.grad((weights * step(state, control)).sum(), [state, control]), dim=-1).double()


@torch.no_grad()
def central_differences(step: Step, state: Tensor, control: Tensor, weights: Tensor) -> Tensor:
    """The same by central differences."""
    x, found = torch.cat((state, control), -1), []
    for column in range(x.shape[1]):
        moved = []
        for sign in (1.0, -1.0):
            y = x.clone()
            y[:, column] += sign * EPSILON
            moved.append((weights * step(y[:, : state.shape[1]], y[:, state.shape[1] :])).sum(-1))
        found.append((moved[0] - moved[1]) / (2.0 * EPSILON))
    return torch.stack(found, -1)


if __name__ == "__main__":
    main(tyro.cli(Options))
