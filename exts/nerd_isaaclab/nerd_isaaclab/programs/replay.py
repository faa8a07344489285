# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""``nerd replay``: shows what led to a state that the guard refused.

    nerd replay dumps/dump-0001
    nerd replay dumps/dump-0001 --plot refused.png --json refused.json
    nerd replay dumps/dump-0001 --checkpoint runs/ant/best

Dumps are written by an environment with env.nerd.dump_dir=<folder>. With a checkpoint, the same states and controls
are given to that model: does it leave the bounds there too?
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro
from rich.markup import escape
from rich.table import Table

from nerd_core.cli.options import read_options
from nerd_core.cli.terminal import console
from nerd_core.files.bounds import bounded, check_bounds
from nerd_core.files.messages import shortened
from nerd_core.files.outputs import PICTURES, require_file

if TYPE_CHECKING:
    import torch

    from ..physics.guard_dump import BoundViolation, GuardDump

MAX_COLUMNS = 6
"""Coordinates in the table of the last steps."""

MAX_FACT = 200
"""Longest word of a dump that is shown [characters]."""

MAX_ROWS = 200
"""Numbers outside of their bounds that are shown."""


@dataclass
class Replay:
    """Show what led to a state that the guard refused."""

    dump: Annotated[Path, tyro.conf.Positional]
    """Directory of a dump."""
    steps: int = bounded(8, at_least=1)
    """Number of the last steps to show."""
    env: int | None = bounded(None, at_least=0)
    """Environment to show the steps of; by default the first of the dump."""
    checkpoint: str | None = None
    """Model to give the same states and controls to: its directory, or the name of a shipped one."""
    json: Path | None = None
    """File for everything as JSON; ``-`` prints it instead of the tables."""
    plot: Path | None = None
    """File for a picture of the offending coordinates, PNG, SVG or PDF."""

    def __post_init__(self):
        check_bounds(self)


def main(argv: list[str]) -> int:
    """Show what led to a state that the guard refused.

    Args:
        argv: Arguments, without the program's name.
    """
    args = read_options(Replay, argv, "nerd replay", __doc__)
    from ..physics.guard_dump import load

    require_file(None if str(args.json) == "-" else args.json, "--json")
    require_file(args.plot, "--plot", PICTURES)
    dump = load(args.dump)
    chosen = _chosen(dump, args.env)
    predicted = None if args.checkpoint is None else simulate(dump, args.checkpoint)
    result = describe(dump, predicted)
    if args.json is not None and str(args.json) != "-":
        args.json.parent.mkdir(parents=True, exist_ok=True)
        args.json.write_text(json.dumps(result, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    if str(args.json) == "-":
        print(json.dumps(result, indent=1, allow_nan=False))
    else:
        _show(dump, result, chosen, args.steps)
    if args.plot is not None:
        draw(dump, chosen, args.plot)
    return 0


def describe(dump: GuardDump, predicted: torch.Tensor | None = None) -> dict[str, Any]:
    """Everything in a dump as plain values. Numbers that are not finite are given as words.

    Args:
        dump: The dump.
        predicted: What another model makes of every state, shape (E, K, S).
    """
    from ..physics.guard_dump import find_violations, state_names

    environments = []
    for row, env in enumerate(dump.env_ids.tolist()):
        known = int(dump.length[row])
        state = dump.state[row, -known:]
        found: dict[str, Any] = {
            "env": env,
            "steps_since_reset": known,
            "came_in_outside": [_plain(one) for one in find_violations(dump.spec, state[-1])],
            "predicted_outside": [_plain(one) for one in find_violations(dump.spec, dump.refused[row])],
            "states": [[_number(value) for value in step] for step in state.tolist()],
            "controls": [[_number(value) for value in step] for step in dump.control[row, -known:].tolist()],
            "refused": [_number(value) for value in dump.refused[row].tolist()],
        }
        if predicted is not None:
            other = predicted[row, -1]
            found["other_model"] = {
                "outside": [_plain(one) for one in find_violations(dump.spec, other)],
                "difference_to_refused": _number(float((other - dump.refused[row]).abs().max())),
            }
        environments.append(found)
    return {
        **dump.facts,  # first: what the file says of itself does not stand in for what was found
        "robot": dump.spec.name,
        "spec": dump.spec.content_hash,
        "coordinates": state_names(dump.spec),
        "environments": environments,
    }


def simulate(dump: GuardDump, model: str) -> torch.Tensor:
    """What a model makes of every recorded state, with the history that it had, shape (E, K, S).

    Where the past is longer than what a dump remembers, a model lacks its beginning in the first steps.

    Args:
        dump: The dump.
        model: Directory of the model, or the name of a shipped one.
    """
    import torch

    from nerd_core import checkpoint
    from nerd_core.checkpoint_names import find_checkpoint
    from nerd_core.contact.grounds import PlaneGround

    predictor = checkpoint.load(find_checkpoint(model), expected_spec=dump.spec).eval()
    if predictor.needs_contacts and dump.plane is None:
        raise ValueError("the dump holds no ground (only flat ones are stored), and this model sees contacts")
    ground = None if dump.plane is None else PlaneGround.from_vector(dump.plane)
    cache = predictor.init_cache(len(dump.env_ids))
    steps = dump.state.shape[1]
    predicted = torch.empty_like(dump.state)
    with torch.no_grad():
        for step in range(steps):
            predictor.reset(cache, dump.length == steps - step)  # histories begin with the first known step
            state = dump.state[:, step]
            said = predictor.step(state, dump.control[:, step], predictor.contacts(state, ground), cache)
            predicted[:, step] = predictor.next_state(state, said)
    return predicted


def draw(dump: GuardDump, row: int, path: Path) -> None:
    """Draws the offending coordinates of one environment over its last steps, with their bounds.

    Args:
        dump: The dump.
        row: Which of its environments.
        path: Picture to write.
    """
    from nerd_core.files.figures import BLUE, ORANGE, RED, new_figure, save_figure

    from ..physics.guard_dump import state_names

    names, known = state_names(dump.spec), int(dump.length[row])
    shown = _columns(dump, row)
    time = list(range(1 - known, 1))
    bounds = {one.index: one for one in _violations(dump, row)}
    with new_figure(9.0, 1.8 * (len(shown) + 1), rows=len(shown) + 1, sharex=True) as (figure, panels):
        for axes, index in zip(panels, shown, strict=False):
            axes.plot(time, dump.state[row, -known:, index].tolist(), color=BLUE, marker=".")
            value = float(dump.refused[row, index])
            if math.isfinite(value):
                axes.plot([0, 1], [float(dump.state[row, -1, index]), value], color=RED, linestyle=":", marker="x")
            else:
                axes.axvline(1, color=RED, linestyle=":")
            axes.set_ylabel(names[index] if math.isfinite(value) else f"{names[index]}\n{value}")
            bound = bounds.get(index)
            if bound is not None and math.isfinite(value):
                axes.axhline(bound.lower if value < bound.lower else bound.upper, color=ORANGE, linestyle="--")
        panels[-1].step(time, dump.control[row, -known:].tolist(), where="post", linewidth=1.0)
        panels[-1].set_ylabel("controls")
        panels[-1].set_xlabel("control steps; 1 is the refused one")
        figure.suptitle(f"{dump.spec.name}, environment {int(dump.env_ids[row])}")
        save_figure(figure, path, dpi=110)


def _show(dump: GuardDump, result: dict[str, Any], row: int, steps: int) -> None:
    screen = console(markup=False)  # words in a dump are somebody else's
    shown = len(result["environments"])
    held = dump.facts.get("held", shown)
    model = str(dump.facts.get("checkpoint") or "not from a file")[:MAX_FACT]
    screen.print(
        f"{dump.spec.name}, model {model}: the guard held {shortened(held)} environments in step "
        f"{shortened(dump.facts.get('step'))}" + ("" if held == shown else f", {shown} are in the dump")
    )
    table = Table(title="What left its bounds", title_justify="left")
    for name in ("env", "where", "coordinate", "value", "bounds", "what"):
        table.add_column(name, overflow="fold")
    places = {"came_in_outside": "came in", "predicted_outside": "predicted"}
    rows_left = MAX_ROWS
    for found in result["environments"]:
        others = found.get("other_model", {"outside": []})["outside"]
        rows = [(words, one) for key, words in places.items() for one in found[key]]
        rows += [("other model", one) for one in others]
        for words, one in rows[:rows_left]:
            bounds = f"{_short(one['lower'])} to {_short(one['upper'])}"
            table.add_row(
                str(found["env"]), words, escape(one["coordinate"]), _short(one["value"]), bounds, one["what"]
            )
        rows_left = max(0, rows_left - len(rows))
        if "other_model" in found and not others and rows_left:
            table.add_row(str(found["env"]), "other model", "stays inside", "", "", "")
    screen.print(table)
    if not rows_left:
        screen.print(f"(the first {MAX_ROWS} are shown, --json - has all)")

    columns, names, known = _columns(dump, row), result["coordinates"], int(dump.length[row])
    more = " or more" if known == dump.facts.get("memory") else ""
    screen.print(f"\nEnvironment {int(dump.env_ids[row])}, {known}{more} steps since its history began:")
    table = Table()
    for name in ("step", *(escape(names[i]) for i in columns), "controls"):
        table.add_column(name, justify="right")
    for step in range(-min(steps, known), 0):
        controls = " ".join(f"{value:.3g}" for value in dump.control[row, step].tolist())
        table.add_row(str(step + 1), *(_short(float(dump.state[row, step, i])) for i in columns), controls)
    table.add_row("refused", *(_short(float(dump.refused[row, i])) for i in columns), "", style="red")
    screen.print(table)


def _chosen(dump: GuardDump, env: int | None) -> int:
    """Which of a dump's environments to show."""
    held = dump.env_ids.tolist()
    if env is None:
        return 0
    if env not in held:
        raise ValueError(f"got --env {env}, expected one of the dump's environments: {shortened(held, 200)}")
    return held.index(env)


def _violations(dump: GuardDump, row: int) -> list[BoundViolation]:
    from ..physics.guard_dump import find_violations

    return find_violations(dump.spec, dump.state[row, -1]) or find_violations(dump.spec, dump.refused[row])


def _columns(dump: GuardDump, row: int) -> list[int]:
    """Coordinates to show of an environment: those outside their bounds, or the first ones if it was a length."""
    found = [one.index for one in _violations(dump, row) if one.index is not None]
    return (found or list(range(dump.spec.state.dim)))[:MAX_COLUMNS]


def _plain(one: BoundViolation) -> dict[str, Any]:
    return {
        "coordinate": one.coordinate,
        "value": _number(one.value),
        "lower": _number(one.lower),
        "upper": _number(one.upper),
        "what": one.what,
    }


def _number(value: float) -> float | str:
    """A number for JSON, which cannot hold numbers that are not finite."""
    return value if math.isfinite(value) else str(value)


def _short(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.4g}"
