# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Report, card, charts and motion of the demo, from numbers and models made here; no engine."""

from __future__ import annotations

import base64
import copy
import json
import math
import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import torch
import tyro

from nerd_core import checkpoint
from nerd_core.cli import train
from nerd_core.cli.data_teach import Teach
from nerd_core.files import figures
from nerd_core.network.architectures.mlp import MlpCfg
from nerd_core.predictor.config import PredictorCfg
from nerd_core.predictor.predictor import Predictor
from nerd_core.robot.kinematics import ForwardKinematics
from nerd_isaaclab.demo import arguments, card, charts, motion, plan, recipes, report, results, run, steps
from nerd_isaaclab.demo.commands import Commands
from nerd_isaaclab.demo.phases import PhaseError
from nerd_isaaclab.demo.recipe import Collection, Recipe, Stage, Training, smoke
from nerd_isaaclab.programs import demo, reproduce
from nerd_isaaclab.programs.evaluate import Evaluate
from nerd_isaaclab.programs.generate import Generate
from nerd_isaaclab.programs.models import Init
from nerd_isaaclab.programs.transfer import Transfer
from nerd_isaaclab.robots.registry import all_robots, find_robot
from support import robots
from support.demo_results import phase_results

pytestmark = pytest.mark.unit


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Path:
    """A small checkpoint of a cartpole."""
    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp("model") / "cartpole"
    checkpoint.save(folder, Predictor(robots.cartpole(), PredictorCfg(network=MlpCfg())), card="# bare\n")
    return folder


@pytest.fixture(scope="module")
def found() -> dict:
    """Results of the phases of the tiny Cartpole recipe."""
    return phase_results()


@pytest.fixture(scope="module")
def numbers(found, model) -> dict:
    """The gathered numbers."""
    recipe = smoke(recipes.DEMO["cartpole"])
    return results.gather(recipe, found, model, ["nerd demo --smoke"])


class _Page(HTMLParser):
    """Collects what a page would load, and checks that its elements are nested."""

    VOID = ("meta", "input", "br", "line", "path", "polyline")

    def __init__(self, text: str):
        super().__init__()
        self.loads: list[str] = []
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.loads += [str(value) for name, value in attrs if name in ("src", "href", "action", "data", "poster")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in self.VOID:
            assert self.open.pop() == tag


def test_page_is_whole_and_loads_nothing(numbers: dict):
    """The page is well nested, names no other file or host, and shows errors, paper, gap, commands and hash."""
    text = report.render(numbers, {})
    page = _Page(text)
    assert page.open == [] and page.loads == []
    assert not re.search(r"https?:|url\(|@import", text)
    for said in ("0.505 m", "0.0002 m", "diverged", "+1.23 %", "nerd generate --task T", numbers["model"]["spec"]):
        assert said in text, said
    assert text.count('class="mark') == 4  # two figures of the paper at each of 100 and 500 steps


def test_names_from_outside_cannot_break_the_page(numbers: dict):
    """A task, a command and a clip that look like HTML are shown as text."""
    evil = "</script><script>alert(1)</script>"
    broken = copy.deepcopy(numbers)
    broken["policies"][0]["task"] = broken["commands"][0] = broken["title"] = evil
    clips = {"robot": {"name": evil}, "clips": [{"label": evil}]}
    text = report.render(broken, clips)
    assert evil not in text and _Page(text).open == []


def test_numbers_are_strict_json(numbers: dict, tmp_path: Path):
    """The JSON beside the page can be read by any parser: no word for infinity stands in it."""
    _, plain = report.write_report(numbers, {}, tmp_path)

    def refuse(word: str):
        raise AssertionError(word)

    read = json.loads(plain.read_text(), parse_constant=refuse)
    assert read["schema"] == results.SCHEMA
    assert read["evaluations"][0]["horizons"]["500"]["joint_rad"] is None
    assert read["policies"][0]["runs"][0]["curve"]["return"] == pytest.approx(
        [value / read["model"]["control_dt"] for value in (1.0, 2.0)], abs=0.01
    )


def test_step_costs_are_shown_or_refused(numbers: dict, tmp_path: Path):
    """The table of step costs holds the ratio; another JSON is refused with what is expected."""
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    times = {"ant_ms": {"physx": 30.0, "neural": 21.0}, "ant_parts_ms": {"network": 9.0}, "ant_model": "checkpoint ant"}
    good.write_text(json.dumps({"num_envs": 512, "ant_512": 0.7, "load_before": 0.1, **times}))
    bad.write_text("[]")
    text = report.render({**numbers, "step_cost": results.read_step_cost(good)}, {})
    assert "0.70" in text and "21.00 ms" in text and "9.00 ms" in text
    with pytest.raises(PhaseError, match="step_cost.py"):
        results.read_step_cost(bad)


def read_back(html: str, group: str, log: str) -> list[tuple[float, float]]:
    """The data of a curve or mark of a chart, as a reader takes them from it: by the labels at its axes."""
    root = ElementTree.fromstring(re.search(r"<svg.*</svg>", html, re.S)[0].replace("xlink:", ""))
    groups = {element.get("class", ""): element for element in root.iter("g")}
    if (use := groups[group].find(".//use")) is not None:
        points = np.array([[float(use.get("x")), float(use.get("y"))]])
    else:
        points = np.array(re.findall(r"[ML] (\S+) (\S+)", groups[group].find("path").get("d")), float)
    for column, axis in enumerate("xy"):
        places, values, below = [], [], 0.0
        for name, tick in groups.items():
            if name.startswith(f"{axis}tick_") and (label := tick.find(".//text")) is not None:
                places.append(float(label.get(axis)))
                values.append(float(label.text.replace(",", "").replace("\u2212", "-")))
                if axis == "y" and (line := tick.find(".//path")) is not None:  # a label's foot is below its line
                    below = places[-1] - float(line.get("d").split()[2])
        known = np.log10(values) if axis in log else np.array(values)
        slope, start = np.polyfit(places, known, 1)
        assert np.allclose(slope * np.array(places) + start, known, atol=1e-3 * np.ptp(known)), "uneven labels"
        read = slope * (points[:, column] + below) + start
        points[:, column] = 10.0**read if axis in log else read
    return [tuple(point) for point in points.tolist()]


@pytest.mark.parametrize("log", ["", "x", "y", "xy"])
def test_chart_shows_the_numbers(log: str):
    """Read by its ticks, each curve and each mark stands at its data, on linear and logarithmic axes; what cannot be
    drawn is left out.
    """
    x = [1.0, 2.0, 10.0, 50.0, 400.0]
    lines = [charts.Line("a", x, [0.02, 3.0, 0.1, 1.5, 0.7]), charts.Line("b", x, [1.0, math.inf, 2.5, None, 0.3], 1)]
    marks = [charts.Mark("m", 100.0, 0.2, 2)]
    html = charts.chart("t", lines, "x", "y", marks, log)
    near = {"rel": 0.01, "abs": 0.005}
    assert np.array(read_back(html, "line-0", log)) == pytest.approx(np.array([x, lines[0].y]).T, **near)
    assert np.array(read_back(html, "line-1", log)) == pytest.approx(np.array([(1, 1), (10, 2.5), (400, 0.3)]), **near)
    assert np.array(read_back(html, "mark-0", log)) == pytest.approx(np.array([(100.0, 0.2)]), **near)
    only = charts.chart("t", [charts.Line("b", [1.0, 2.0, 3.0, 4.0], [10.0, 0.1, math.inf, 0.0])], "x", "y", log="y")
    assert np.array(read_back(only, "line-0", "y")) == pytest.approx(np.array([(1.0, 10.0), (2.0, 0.1)]), rel=0.01)
    assert "No finite values" in charts.chart("t", [charts.Line("a", [0], [math.nan])], "x", "y")


def test_charts_of_the_page_show_the_results(numbers: dict):
    """The page's curves are running means of the errors and returns against iterations and minutes."""
    shown = copy.deepcopy(numbers)
    shown["evaluations"][0]["curves"] = {"joint_m": [0.1, 0.3, 0.2], "joint_rad": [0.01, 0.03, 0.02]}
    errors, by_iteration, by_time = re.findall(r"<svg.*?</svg>", report.render(shown, {}), re.S)
    returns = shown["policies"][0]["runs"][0]["curve"]["return"]
    expected = [
        (errors, "line-0", "xy", [(1, 0.1), (2, 0.2), (3, 0.2)]),
        (errors, "line-1", "xy", [(1, 0.01), (2, 0.02), (3, 0.02)]),
        (by_iteration, "line-0", "", list(enumerate(returns))),
        (by_time, "line-0", "", [(0, returns[0]), (0.1, returns[1])]),
    ]
    for drawn, group, log, data in expected:
        assert np.array(read_back(drawn, group, log)) == pytest.approx(np.array(data), rel=0.01, abs=1e-3)


@pytest.mark.parametrize("name", ["</text><script>alert(1)</script>", "a $x$ & $\\frac{1}{0}$", "'\"&lt;{x}%s\\"])
def test_names_in_charts_stay_text(name: str):
    """Whatever a name holds, title, labels, legend and hints show it letter by letter."""
    html = charts.chart(name, [charts.Line(name, [0, 1], [1, 2])], name, name, [charts.Mark(name, 1, 1)])
    root = ElementTree.fromstring(f"<div>{html.replace('xlink:', '')}</div>")
    assert [element.text for element in root.iter("title")] == [name, name]
    assert sum(element.text == name for element in root.iter("text")) == 2
    assert root.find("svg").get("aria-label") == name and any(
        "".join(key.itertext()) == name for key in root.iter("span")
    )
    assert not list(root.iter("script"))


def test_charts_follow_the_colour_scheme():
    """No colour is fixed in a chart, the page defines each in both schemes, and the light ones are the project's."""
    html = charts.chart("t", [charts.Line("a", [0, 1], [1, 2], color) for color in range(3)], "x", "y", [])
    css = (report.PAGE / "page.css").read_text()
    used = set(re.findall(r"var\((--\w+)\)", html))
    assert {"--c0", "--c1", "--c2", "--soft", "--line"} <= used and not re.search("#[0-9a-f]{3}|rgb", html)
    assert all(css.count(f"{name}: #") == 2 for name in used)
    for number, name in enumerate(charts.COLORS):
        assert css.index(f"--c{number}: {getattr(figures, name)}") < css.index("dark")


def test_same_report_twice_is_the_same(numbers: dict, tmp_path: Path):
    """The same results give the same page, byte for byte, in another process, too."""
    clips = {"robot": {"name": "a"}, "clips": [{"label": "b"}]}
    page, _ = report.write_report(numbers, clips, tmp_path)
    assert report.render(numbers, clips) == page.read_text()
    program = (
        "import json, sys; from nerd_isaaclab.demo import report;"
        "sys.stdout.write(report.render(*json.load(open(sys.argv[1]))))"
    )
    (tmp_path / "in.json").write_text(json.dumps([numbers, clips]))
    words = [sys.executable, "-c", program, str(tmp_path / "in.json")]
    again = subprocess.run(words, capture_output=True, text=True, check=True, env={**os.environ, "PYTHONHASHSEED": "7"})
    assert again.stdout == page.read_text()


@pytest.mark.parametrize("name", ["ant", "cartpole"])
def test_motion_holds_the_poses(name: str):
    """Packed poses are those of the forward kinematics to half a millimetre; shapes are the robot's slots."""
    spec = getattr(robots, name)()
    states = robots.random_state(spec, 6, seed=0)
    clip = motion._clip(spec, "x", states, states, open_loop=True)
    values = np.frombuffer(base64.b64decode(clip["physx"]), "<i2").reshape(3, len(spec.bodies), 7)
    poses = ForwardKinematics(spec)(states[:: motion.STRIDE])
    assert torch.allclose(torch.tensor(values[..., :3] * motion.POS_UNIT).float(), poses.pos, atol=6e-4)
    assert torch.allclose(torch.tensor(values[..., 3:] / 32767).float(), poses.quat, atol=1e-4)
    assert clip["physx"] == clip["neural"] and max(map(max, clip["errors"].values())) < 1e-3
    shapes = list(motion._shapes(spec))
    assert sum(len(shape["points"]) for shape in shapes) == len(spec.slots)


def test_motion_ends_where_the_model_diverges():
    """A roll-out that leaves the finite numbers is shown up to there."""
    spec = robots.cartpole()
    truth = robots.random_state(spec, 20, seed=0)
    states = truth.clone()
    states[10:] = math.nan
    assert motion._clip(spec, "x", states, truth, open_loop=True)["frames"] == 5


def test_card_says_what_was_measured(numbers: dict, model: Path, tmp_path: Path):
    """A shipped model can be read, has no state of training, and a card whose first sentence holds the main errors."""
    out = card.write_model(model, numbers, tmp_path / "shipped")
    assert {path.name for path in out.iterdir()} == {*card.NEEDED, "card.md"}
    text = (out / "card.md").read_text()
    first = next(line for line in text.splitlines() if line and not line.startswith("#"))
    assert first == "Passive, 500 steps: 2.5 m, inf rad."
    assert "| 100 steps | 0.505 | 0.02 |" in text and "+1.23 %" in text and "nerd generate --task T" in text


@pytest.mark.parametrize(
    ("table", "robot"), [(table, robot) for table in ("DEMO", "REPRODUCE") for robot in getattr(recipes, table)]
)
@pytest.mark.parametrize("tiny", [False, True])
def test_recipes_are_commands_that_exist(table: str, robot: str, tiny: bool, model: Path, tmp_path: Path, capsys):
    """Every command that a recipe would run is understood by the program it is meant for, in today's words."""
    recipe = getattr(recipes, table)[robot]
    recipe = smoke(recipe) if tiny else recipe
    heard = {"generate": Generate, "evaluate": Evaluate, "transfer": Transfer}
    said: list[str] = []

    class Listener(Commands):
        def nerd(self, arguments, threads, log=None, cwd=None):
            program, *rest = arguments
            said.append(program)
            if program == "train":
                train.parse(rest)
            elif program == "models":
                assert rest[0] == "init"
                tyro.cli(Init, args=rest[1:])
            elif program == "data":
                assert rest[0] == "teach"
                tyro.cli(Teach, args=rest[1:])
            elif program == "rl":
                assert rest[0] == "train" and all("=" in word for word in rest[-1:])
            else:
                tyro.cli(heard[program], args=rest)
            raise StopIteration  # there is no result to read

    listener = Listener(tmp_path)
    given = str(model) if recipe.stages == () and recipe.untrained is None else None
    phases = plan.phases_of(recipe, listener, given)
    for number in range(len(recipe.stages)):  # a later stage starts from the model of the one before
        shutil.copytree(model, tmp_path / steps.training_name(number) / "best")
    for phase in phases[:-1]:
        (tmp_path / phase.name / "logs/rsl_rl/a/b/params").mkdir(parents=True)
        if phase.name.startswith("rl-") or "-policy-" in phase.name:
            with pytest.raises(StopIteration):
                phase.run(tmp_path / phase.name, {})
            (tmp_path / phase.name / "logs/rsl_rl/a/b/params").mkdir(parents=True)
        else:
            with pytest.raises(StopIteration):
                phase.run(tmp_path / phase.name, {})
    assert len({phase.name for phase in phases}) == len(phases) == len(said) + 1
    assert "is now" not in capsys.readouterr().err


def test_a_teachers_collection_goes_on_from_the_solvers(tmp_path: Path):
    """What a model makes begins in the solver's data of the stages so far, not in a teacher's, of the stage in the air
    or of others; it needs their phases, and what it tells of the data is read from their manifest.
    """
    air, recorded = Collection("T", 10), Collection("T", 20)
    taught = Collection("T", 30, steps=4, seed=5, teacher="ant", options=("--batch", "64"))
    visited = replace(taught, visited=True)
    training = Training(minutes=1.0)
    stages = (
        Stage((air, taught), training, free_motion=True),
        Stage((recorded, taught), training),
        Stage((visited,), training),
    )
    said: list[list[str]] = []

    class Listener(Commands):
        def nerd(self, arguments, threads, log=None, cwd=None):
            said.append([word.replace(f"{tmp_path}/", "") for word in arguments])
            path = tmp_path / "collect-5/data"
            path.mkdir(parents=True)
            (path / "manifest.json").write_text(json.dumps({"transitions": 32, "trajectories": 8, "segments": []}))
            return "said"

    recipe = Recipe("ant", "Ant", stages, (), ())
    phases = {phase.name: phase for phase in plan.phases_of(recipe, Listener(tmp_path))}
    assert phases["collect-2"].needs == ("collect",) and phases["collect-4"].needs == ("collect-3",)
    assert phases["collect-5"].needs == ("collect-3", "train-2")
    found = phases["collect-5"].run(tmp_path / "collect-5", {})
    assert found == {"report": {"transitions": 32, "trajectories": 8}, "commands": ["said"]}
    words = "data teach collect-3/data --teacher ant --out collect-5/data --transitions 30 --steps 4 --seed 5"
    assert said == [[*words.split(), "--batch", "64", "--visited", "train-2/best"]]


@pytest.mark.parametrize("place", ["last", ".last.previous", None])
def test_a_training_that_was_killed_is_resumed(place: str | None, tmp_path: Path):
    """Also if the kill came while 'last' had its waiting name; without a save the training begins."""
    said: list[str] = []

    class Listener(Commands):
        def nerd(self, arguments, threads, log=None, cwd=None):
            said.extend(arguments)
            raise StopIteration

    phases = plan.phases_of(recipes.DEMO["cartpole"], Listener(tmp_path), None)
    phase = next(phase for phase in phases if phase.name == steps.training_name(0))
    if place is not None:
        (tmp_path / phase.name / place).mkdir(parents=True)
    with pytest.raises(StopIteration):
        phase.run(tmp_path / phase.name, {})
    assert said[0] == "train" and ("--resume" in said) == (place is not None) == ("--overwrite" not in said)


@pytest.mark.parametrize("robot", list(recipes.REPRODUCE))
def test_every_report_has_the_papers_figures(robot: str):
    """What a recipe measures passively can be drawn beside what the paper reports for that robot."""
    recipe = recipes.REPRODUCE[robot]
    published = find_robot(recipe.robot_name).published
    if published is None or not published.passive_errors:
        pytest.skip(f"the paper has no passive errors of '{recipe.robot_name}' that are one number a horizon")
    assert max(published.passive_errors) == recipe.evaluations[0].steps


def test_missing_model_says_what_to_do(tmp_path: Path, monkeypatch):
    """Without a shipped Ant the demo names the command that makes one, and leaves nothing running or half-done."""
    monkeypatch.setattr("nerd_core.checkpoint_names.shipped_checkpoints", dict)
    monkeypatch.setattr(plan, "shipped_checkpoints", dict)
    with pytest.raises(PhaseError, match="nerd reproduce ant"):
        run.run(recipes.DEMO["ant"], tmp_path / "out", "nerd demo --robot ant")


def test_another_model_at_the_same_place_is_measured_anew(model: Path, tmp_path: Path):
    """Settings of phases that use a given model change with its content; training in PhysX does not depend on it."""
    recipe = replace(smoke(recipes.REPRODUCE["cartpole"]), stages=())
    place = tmp_path / "model"
    settings = []
    for seed in (0, 1):
        torch.manual_seed(seed)
        checkpoint.save(place, Predictor(robots.cartpole(), PredictorCfg(network=MlpCfg())))
        phases = plan.phases_of(recipe, Commands(tmp_path), str(place))
        settings.append({phase.name: phase.settings for phase in phases})
    same = {name for name in settings[0] if settings[0][name] == settings[1][name]}
    assert same == {"rl-cartpole-physx-0", "transfer-cartpole-0"}  # the latter needs the training in the model


def test_help_lists_every_recipe(capsys):
    """The names that ``nerd demo`` and ``nerd reproduce`` accept are those of the recipes, and each stands for a
    registered robot, or for a measured mechanism.
    """
    for program, table, more in ((demo, recipes.DEMO, ()), (reproduce, recipes.REPRODUCE, reproduce.MEASURED)):
        with pytest.raises(SystemExit):
            program.main(["--help"])
        assert f"{{{','.join((*table, *more))}}}" in capsys.readouterr().out
        assert {recipe.robot_name for recipe in table.values()} <= {record.name for record in all_robots()}
        assert all(recipe.name == name for name, recipe in table.items())


@pytest.mark.parametrize("robot", list(recipes.REPRODUCE))
def test_card_of_a_given_model_says_how_it_was_made(robot):
    """The commands for a card are those that the phases run, in order: each stage collects, then trains on all data so
    far, from the model of the stage before; but a stage in the air keeps its data to itself and is built in.
    """
    recipe = recipes.REPRODUCE[robot]
    commands = arguments.making_commands(recipe)
    kinds = [line.split()[1] for line in commands]
    if recipe.untrained is not None:
        assert kinds == ["models"] and f"--task {recipe.untrained.task}" in commands[0] and not recipe.stages
        return
    expected = []
    for stage in recipe.stages:
        trained = set()  # a policy is trained once in the model of a stage, however many collections it drives
        for item in stage.collections:
            expected += ["rl"] if item.driven_by and item.driven_by not in trained else []
            expected += ["data" if item.teacher else "generate"]
            trained.add(item.driven_by)
        expected.append("train")
    assert kinds == expected
    last = commands[-1]
    assert last.count("/data") == sum(len(stage.collections) for stage in recipe.stages if not stage.free_motion)
    trainings = [line for line in commands if line.startswith("nerd train")]
    links = [next((word for word in line.split() if word in ("--start", "--free-motion")), "") for line in trainings]
    expected = ["--free-motion" if stage.free_motion else "--start" for stage in recipe.stages[:-1]]
    assert links == ["", *expected]
