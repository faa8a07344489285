# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The report: one page that needs nothing but itself, and the same numbers as JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from statistics import mean
from typing import Any

from ..robots.registry import all_robots
from .charts import Line, Mark, chart

PAGE = Path(__file__).parent / "page"
"""Style and script of the page, which are written into it."""

QUANTITIES = {
    "base_position_m": ("base position", "m"),
    "base_orientation_rad": ("base orientation", "rad"),
    "joint_rad": ("joints", "rad"),
}
"""Names of the errors, in the order of their colours. On a fixed base the position is that of the sliding joint."""

AS_CODE = ("robot specification", "the model was made by")
"""Facts of the last section that are set like code."""


def write_report(results: Mapping[str, Any], clips: Mapping[str, Any], out: Path) -> tuple[Path, Path]:
    """Writes the page and the numbers.

    Args:
        results: What :func:`nerd_isaaclab.demo.results.gather` gave.
        clips: Robot and motion of the animation: the result of the motion phase.
        out: Folder for ``report.html`` and ``report.json``.

    Returns:
        The two files. In the numbers, null stands for what is not finite: JSON has no word for it.
    """
    page, numbers = out / "report.html", out / "report.json"
    page.write_text(render(results, clips), encoding="utf-8")
    numbers.write_text(json.dumps(_strict(results), indent=1, allow_nan=False) + "\n", encoding="utf-8")
    return page, numbers


def render(results: Mapping[str, Any], clips: Mapping[str, Any]) -> str:
    """The page as text.

    Args:
        results: What :func:`nerd_isaaclab.demo.results.gather` gave.
        clips: Robot and motion of the animation; without clips that part is left out.
    """
    sections = [
        _motion(clips),
        *(_errors(evaluation, results) for evaluation in results["evaluations"]),
        *(_policy(policy) for policy in results["policies"]),
        _step_cost(results["step_cost"]),
        _origin(results),
    ]
    title = f"{results['title']}: learned dynamics against PhysX"
    motion = json.dumps({"robot": clips.get("robot"), "clips": clips.get("clips", [])}).replace("<", "\\u003c")
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            f"<title>{escape(title)}</title>",
            f"<style>{(PAGE / 'page.css').read_text(encoding='utf-8')}</style></head><body>",
            _head(results),
            "<main>",
            *filter(None, sections),
            "</main>",
            f'<script type="application/json" id="motion-data">{motion}</script>',
            f"<script>{(PAGE / 'page.js').read_text(encoding='utf-8')}</script>",
            "</body></html>",
            "",
        ]
    )


def _head(results: Mapping[str, Any]) -> str:
    """Title, what was done in one sentence, and the main figures."""
    tiles = []
    first = results["evaluations"][0] if results["evaluations"] else None
    if first is not None and first["horizons"]:
        horizon, errors = list(first["horizons"].items())[-1]
        for name, (title, unit) in QUANTITIES.items():
            if errors.get(name) is not None:
                tiles.append((_number(errors[name], unit), f"{title}, mean error over {horizon} steps"))
    gaps = [each["reward_gap"] for policy in results["policies"] for each in policy["transfers"]]
    gaps = [gap for gap in gaps if gap is not None]
    if gaps:
        tiles.append((_percent(max(gaps, key=abs)), "reward gap between model and PhysX, largest of all policies"))
    model = results["model"]
    minutes = sum(each["results"].get("validation", {}).get("minutes", 0.0) for each in results["trainings"])
    if minutes:
        time = f"{minutes:.1f} min" if minutes >= 1 else f"{60 * minutes:.0f} s"
        tiles.append((time, "training of the model"))
    tiles.append(
        (
            f"{model['parameters']:,}",
            "learned numbers in the rules of contact, no network"
            if model["network"] == "none"
            else f"parameters ({model['network']})",
        )
    )
    what = "Mechanics with learned rules of contact" if model["network"] == "none" else "A network"
    if results["collections"]:
        seen = sum(item["report"]["transitions"] for item in results["collections"])
        what += f", trained on {seen:,} steps of PhysX,"
    policies = ", and what return a policy that was trained in it alone reaches in PhysX" if results["policies"] else ""
    shown = "".join(f'<div class="tile"><b>{escape(said)}</b><span>{escape(text)}</span></div>' for said, text in tiles)
    return f"""<header><p class="eyebrow">Neural robot dynamics in Isaac Lab</p>
<h1>{escape(results["title"])} <small>learned dynamics against PhysX</small></h1>
<p class="lede">{what} moves the robot in place of PhysX. This page shows how far its motion is from that of PhysX when
nothing corrects it{policies}.</p>
<div class="tiles">{shown}</div></header>"""


def _motion(clips: Mapping[str, Any]) -> str:
    """The place of the animation, which the script draws."""
    if not clips.get("clips"):
        return ""
    options = "".join(
        f'<option value="{number}">{escape(clip["label"])}</option>' for number, clip in enumerate(clips["clips"])
    )
    return f"""<section id="motion"><h2>Motion, side by side</h2>
<p>Both start in the same state. On the right the model runs on its own predictions; the outline is PhysX.</p>
<div class="controls"><label>Motion <select id="clip">{options}</select></label>
<button id="play" type="button">Pause</button><input id="time" type="range" min="0" max="1" value="0" step="1"
aria-label="time"><output id="clock"></output></div>
<div class="stage"><figure><canvas id="physx"></canvas><figcaption>PhysX</figcaption></figure>
<figure><canvas id="neural"></canvas><figcaption>Neural</figcaption></figure></div>
<div id="readout" class="readout" aria-live="off"></div><p class="note" id="motion-note"></p></section>"""


def _errors(evaluation: Mapping[str, Any], results: Mapping[str, Any]) -> str:
    """Error against horizon, with the paper's figures where they were measured alike."""
    curves = dict(evaluation["curves"])
    curves.setdefault("base_position_m", curves.get("joint_m"))
    published = results["published"]["passive"] if evaluation["protocol"] == "passive" else {}
    lines, marks = [], []
    for color, (name, (title, unit)) in enumerate(QUANTITIES.items()):
        if curves.get(name):
            values = _running_mean(curves[name])
            lines.append(Line(f"{title} [{unit}]", range(1, len(values) + 1), values, color))
            for horizon, errors in published.items():
                if name in errors and int(horizon) <= len(values):
                    said = f"{title}, {horizon} steps: {errors[name]} {unit} ({results['published']['source']})"
                    marks.append(Mark(said, int(horizon), errors[name], color))
    drawn = chart(
        "mean error against the horizon", lines, "horizon [control steps]", "mean error up to it", marks, log="xy"
    )
    compared = any(horizon in published for horizon in evaluation["horizons"])
    rows = []
    for horizon, errors in evaluation["horizons"].items():
        cells = []
        for name, (_, unit) in QUANTITIES.items():
            if errors.get(name) is not None:
                paper = published.get(horizon, {}).get(name)
                cells.append(_number(errors[name], unit))
                if compared:
                    cells.append("" if paper is None else _number(paper, unit))
        rows.append([f"{horizon} steps", *cells])
    head = ["horizon"]
    for name, (title, _) in QUANTITIES.items():
        if any(errors.get(name) is not None for errors in evaluation["horizons"].values()):
            head += [title, "paper"] if compared else [title]
    what = {"passive": "Passive motion", "driven": "Driven by random efforts"}[evaluation["protocol"]]
    start = {"task": "the task's resets", "wide": "wide ranges"}[evaluation["initial"]]
    lost = (
        f" {_text(evaluation['diverged'])} roll-outs of the model left the finite numbers."
        if evaluation["diverged"]
        else ""
    )
    return f"""<section><h2>{what}, open loop</h2>
<p>{_text(evaluation["trajectories"])} new roll-outs of PhysX ({_text(evaluation["task"])}) from {start}. The model
gets the first state and the controls, nothing else. Errors are means over all steps up to the horizon and over all
trajectories, as the paper defines them.{lost}</p>
<div class="split"><div>{drawn}</div><div>{_table(head, rows)}</div></div></section>"""


def _policy(policy: Mapping[str, Any]) -> str:
    """Reward curves and transfer of the policies of a task."""
    by_iteration, by_time = [], []
    for run in policy["runs"]:
        physx = run["mode"] == "physx"
        name = {"neural": "trained in the model", "physx": "trained in PhysX"}[run["mode"]]
        name += ", kept with the repository" if run["seed"] == "kept" else ""
        curve, color = run["curve"], 2 if physx else 0
        by_iteration.append(Line(name, curve["iteration"], curve["return"], color, dashed=physx))
        minutes = [seconds / 60 for seconds in curve["seconds"]]
        by_time.append(Line(name, minutes, curve["return"], color, dashed=physx))
    label = "mean return of an episode"
    charts = (
        f"<div>{chart('reward against iterations', by_iteration, 'iteration of PPO', label)}</div>"
        f"<div>{chart('reward against time', by_time, 'training time [min]', label)}</div>"
    )
    rows = []
    for each in policy["transfers"]:
        physx, neural = each["modes"]["physx"]["scores"], each["modes"]["neural"]["scores"]
        gap = "" if each["reward_gap"] is None else _percent(each["reward_gap"])
        rows.append([f"seed {each['seed']}", _spread(neural["return"]), _spread(physx["return"]), gap])
    if len(rows) > 1:
        returns = [
            mean(each["modes"][mode]["scores"]["return"]["mean"] for each in policy["transfers"])
            for mode in ("neural", "physx")
        ]
        gap = _percent((returns[0] - returns[1]) / abs(returns[1])) if returns[1] else ""
        rows.append(["all seeds", *(f"{value:.1f}" for value in returns), gap])
    if policy["published"]:
        said = policy["published"]
        rows.append(["the paper", f"{said['neural']:.1f}", f"{said['physics']:.1f}", _percent(said["gap"])])
    episodes = policy["transfers"][0]["episodes"] if policy["transfers"] else 0
    return f"""<section><h2>Policy trained in the model: {escape(policy["task"])}</h2>
<p>RSL-RL trains with {_text(policy["num_envs"])} environments in which the model replaces PhysX. Then the policy's
mean action is scored in {_text(episodes)} episodes in each mode, from the same first states. A return is the sum of the
rewards of an episode.</p>
<div class="split">{charts}</div>
{_table(["", "return in the model", "return in PhysX", "gap"], rows)}
{"".join(_breakdown(each) for each in policy["transfers"])}</section>"""


def _breakdown(transfer: Mapping[str, Any]) -> str:
    """Reward terms, ends of episodes and measures of the motion, in both modes."""
    neural, physx = transfer["modes"]["neural"], transfer["modes"]["physx"]
    rows = []
    for part, title in (("terms", "reward"), ("scores", ""), ("commands", "command")):
        for name in physx.get(part, {}):
            if name != "return":
                unit = physx[part][name].get("unit", "")
                unit = f" [{unit}]" if unit not in ("", "1", "share") else ""
                said = f"{title} {name.replace('_', ' ')}{unit}".strip()
                rows.append([said, _spread(neural[part][name]), _spread(physx[part][name])])
    for name, share in physx["ends"].items():
        if share or neural["ends"][name]:
            rows.append(
                [f"ended by {name.replace('_', ' ')}", f"{100 * neural['ends'][name]:.1f} %", f"{100 * share:.1f} %"]
            )
    table = _table(["mean ± std over episodes", "in the model", "in PhysX"], rows)
    return f"<details><summary>Term by term, seed {_text(transfer['seed'])}</summary>{table}</details>"


def _step_cost(cost: Mapping[str, Any] | None) -> str:
    """What an environment step costs in both modes."""
    if cost is None:
        return ""
    rows, parts = [], ""
    for robot in (record.name for record in all_robots()):
        times, ratio = cost.get(f"{robot}_ms"), cost.get(f"{robot}_{cost['num_envs']}")
        if times is None or ratio is None:
            continue
        model = cost.get(f"{robot}_model", "")
        rows.append([robot, f"{times['physx']:.2f} ms", f"{times['neural']:.2f} ms", f"{ratio:.2f}", model])
        table = _table(
            ["part of a neural step", "time"],
            [[name, f"{value:.2f} ms"] for name, value in cost.get(f"{robot}_parts_ms", {}).items()],
        )
        parts += f"<details><summary>Where the time goes, {robot}</summary>{table}</details>"
    head = ["robot", "PhysX", "neural", "neural / PhysX", "model"]
    load = f"load of the machine before it: {cost['load_before']:.1f}" if "load_before" in cost else "load not noted"
    return f"""<section><h2>Cost of a step</h2>
<p>{_text(cost["num_envs"])} environments, one environment step with all managers, measured in both modes in turn;
{load}.</p>
{_table(head, rows)}{parts}</section>"""


def _origin(results: Mapping[str, Any]) -> str:
    """Commands, versions, seeds, host."""
    origin = results["provenance"]
    host = origin["host"]
    rows = [
        ["machine", f"{host['cpu']}, {host['cores']} cores, {host['gpu'] or 'no GPU'}, {host['system']}"],
        ["versions", ", ".join(f"{name} {version}" for name, version in origin["versions"].items() if version)],
        ["seeds", ", ".join(f"{name}: {seed}" for name, seed in origin["seeds"].items()) or "none"],
        ["robot specification", results["model"]["spec"]],
        ["finished", origin["finished"]],
        ["time by phase", ", ".join(f"{name} {seconds:.0f} s" for name, seconds in results["seconds"].items())],
    ]
    made = results["model"]["made_by"].get("command")
    if made and not results["trainings"]:
        rows.insert(0, ["the model was made by", str(made)])
    cells = [(name, f"<code>{escape(said)}</code>" if name in AS_CODE else escape(said)) for name, said in rows]
    body = "".join(f"<tr><th>{escape(name)}</th><td>{cell}</td></tr>" for name, cell in cells)
    commands = escape("\n".join(results["commands"]))
    return f"""<section><h2>How it was made</h2>
<p>Every number on this page is in <code>report.json</code> beside it.</p>
<pre>{commands}</pre><div class="scroll"><table class="facts">{body}</table></div></section>"""


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    top = "".join(f"<th>{escape(name)}</th>" for name in head)
    body = "".join(
        f"<tr><th>{escape(row[0])}</th>{''.join(f'<td>{escape(cell)}</td>' for cell in row[1:])}</tr>" for row in rows
    )
    return f'<div class="scroll"><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'


def _text(value: Any) -> str:
    """A plain value as text of the page: what stands in a file is never taken for HTML."""
    return escape(str(value))


def _running_mean(values: Sequence[float]) -> list[float]:
    """Means of the first values, up to each."""
    total, means = 0.0, []
    for count, value in enumerate(values, start=1):
        total += value
        means.append(total / count)
    return means


def _strict(value: Any) -> Any:
    """The same plain values with None for numbers that are not finite."""
    if isinstance(value, Mapping):
        return {name: _strict(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_strict(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _number(value: float, unit: str) -> str:
    if not math.isfinite(value):
        return "diverged"
    return f"{value:.3g} {unit}" if value >= 1e-4 or value == 0 else f"{value:.1e} {unit}"


def _percent(share: float) -> str:
    return f"{round(100 * share, 2) + 0.0:+.2f} %"  # the sum makes -0 to 0


def _spread(summary: Mapping[str, Any]) -> str:
    return f"{summary['mean']:.4g} ± {summary['std']:.3g}"
