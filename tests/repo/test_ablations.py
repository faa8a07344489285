# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The choices that only the ablations have mean what they say, and the page says what the evidence does."""

from __future__ import annotations

import importlib
import json
import math
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import torch

from nerd_core.network.token_config import TokenCfg
from nerd_core.network.tokens import Tokenizer
from nerd_core.robot.frames import ChangeCfg, ChangeCodec
from support.robots import ant, cartpole, move_state, random_state, yaw

pytestmark = pytest.mark.unit
QUANTITY = "joint_rad"


@pytest.fixture
def program(repo_root: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The benchmark, imported as it is when it runs."""
    monkeypatch.syspath_prepend(str(repo_root / "benchmarks"))
    return importlib.import_module("ablations")


@pytest.fixture
def variants(program: ModuleType) -> ModuleType:
    """The choices that the library does not offer."""
    return importlib.import_module("ablation_variants")


@pytest.fixture
def chance(program: ModuleType) -> ModuleType:
    """What judges rows beside the base."""
    return importlib.import_module("ablation_chance")


@pytest.mark.parametrize("robot", [ant, cartpole])
@pytest.mark.parametrize("kind", ["AbsoluteCodec", "WorldCodec"])
def test_every_codec_leads_back_to_the_next_state(variants: ModuleType, robot: Any, kind: str):
    """What is written leads to the state that it was written of, so that a perfect network would be perfect."""
    spec = robot()
    if kind == "WorldCodec" and not spec.floating_base:
        pytest.skip("a robot with a fixed base has no frame but the world's")
    codec = getattr(variants, kind)(spec, ChangeCfg(integration="none"))
    first, second = (random_state(spec, 64, seed, spread=0.5, dtype=torch.float64) for seed in (0, 1))
    found = codec.apply(first, codec.encode(first, second))
    quat = spec.state.root_quat if spec.floating_base else slice(0, 0)
    sign = (found[:, quat] * second[:, quat]).sum(-1, keepdim=True).sign()
    second[:, quat] *= sign if spec.floating_base else 1.0
    assert torch.allclose(found, second, atol=1e-9)


def test_an_absolute_codec_writes_the_next_velocities(variants: ModuleType):
    """Where others write differences, joints and velocities stand as they will be."""
    spec = cartpole()
    codec = variants.AbsoluteCodec(spec, ChangeCfg(integration="none"))
    first, second = (random_state(spec, 8, seed, spread=0.3) for seed in (0, 1))
    assert torch.allclose(codec.encode(first, second), second, atol=1e-6)


def test_a_turned_world_shows_the_same_robot_otherwise_only_in_the_world(variants: ModuleType):
    """A turn of everything about gravity changes nothing in the robot's axes, and all vectors in the world's."""
    spec = ant()
    first, second = (random_state(spec, 16, seed, dtype=torch.float64) for seed in (0, 1))
    turn, shift = yaw(0.7).double(), torch.tensor([1.0, -2.0, 0.0]).double()
    turned = [move_state(spec, state, turn, shift) for state in (first, second)]
    own, world = (kind(spec, ChangeCfg(integration="none")) for kind in (ChangeCodec, variants.WorldCodec))
    assert torch.allclose(own.encode(first, second), own.encode(*turned), atol=1e-9)
    assert not torch.allclose(world.encode(first, second), world.encode(*turned), atol=1e-2)
    cfg = TokenCfg(contacts=False, root="published")
    control = torch.zeros(16, spec.control_dim).double()
    seen = [
        kind(spec, cfg)(state, control) for kind in (Tokenizer, variants.WorldTokenizer) for state in (first, turned[0])
    ]
    assert torch.allclose(seen[0], seen[1], atol=1e-6) and not torch.allclose(seen[2], seen[3], atol=1e-2)
    where = Tokenizer(spec, cfg).slices
    assert torch.allclose(seen[2][:, where["root_pos"]], first[:, spec.state.root_pos])
    lin_vel = seen[3][:, where["root_lin_vel"]]
    assert torch.allclose(lin_vel, turned[0][:, spec.state.root_lin_vel], atol=1e-6)


def rows(errors: dict[str, float]) -> list[dict[str, Any]]:
    """Finished rows with an error at the horizon 100, and a tenth of it at 10; None failed."""
    found = []
    for name, error in errors.items():
        spread = {
            h: {QUANTITY: {"mean": part * error, "median": 0.0, "q90": 0.0}} for h, part in (("10", 0.1), ("100", 1))
        }
        numbers = {
            "updates": 1000,
            "processor_seconds": 3.0,
            "transitions": 5,
            "trajectories": 4,
            "lost": 2,
            "failure": "",
            "errors": spread,
        }
        found.append({"group": "a group", "name": name, **numbers})
    return found


def numbers(errors: dict[str, float], again: tuple[float, ...] = (), smoke: bool = False) -> dict[str, Any]:
    """The numbers of a robot: rows, of which the first is the base, and further trainings of the base."""
    found = rows(errors)
    found[0]["group"] = "base"
    more = [{**rows({"base": error})[0], "group": "base"} for error in again]
    return {"robot": "pendulum", "seconds": 1.0, "smoke": smoke, "rows": found, "base_again": more}


def test_rows_are_judged_by_their_means_beside_the_base(chance: ModuleType):
    """Over several quantities it is the geometric mean, and a row that failed is infinitely worse."""
    base, other = rows({"base": 0.2, "other": 0.6})
    assert chance.relative(other, base, "100") == pytest.approx(3.0)
    other["errors"]["100"]["joint_m"], base["errors"]["100"]["joint_m"] = {"mean": 1.2}, {"mean": 0.1}
    assert chance.relative(other, base, "100") == pytest.approx(6.0)
    assert chance.relative(base | {"failure": "no numbers any more"}, base, "100") == math.inf


def test_chance_holds_what_differs_by_chance(chance: ModuleType):
    """Of trainings that differ by their seeds alone 95 in 100 are within the factor of the mean of a few others."""
    generator = torch.Generator().manual_seed(0)
    inside, trials = 0, 2000
    for _ in range(trials):
        one, *others = (0.4 * torch.randn(5, generator=generator)).exp().tolist()
        told = numbers({"base": others[0], "other": one}, again=tuple(others[1:]))
        inside += chance.judged(told, "100")["other"][1] == "chance"
    assert inside / trials == pytest.approx(0.95, abs=0.015)
    by_hand = 3.182446 * 0.1 * math.sqrt(1.0 + 1.0 / 4)  # Student's t, 3 degrees of freedom, two-sided 95 %
    assert chance.Chance(0.1, 4).factor == pytest.approx(math.exp(by_hand), rel=1e-5)


def test_rows_count_beyond_chance_alone(chance: ModuleType):
    """Better and worse are told by a factor either way; the base is the geometric mean of its trainings, those that
    failed left out; one training tells nothing.
    """
    told = numbers({"base": 0.2, "good": 0.05, "bad": 0.9, "like it": 0.21}, again=(0.21, 0.19))
    told["base_again"].append({**rows({"base": 9.0})[0], "group": "base", "failure": "no numbers", "errors": {}})
    found = chance.judged(told, "100")
    assert {name: verdict for name, (_, verdict) in found.items()} == {
        "good": "better",
        "bad": "worse",
        "like it": "chance",
    }
    assert found["bad"][0] == pytest.approx(0.9 / (0.2 * 0.21 * 0.19) ** (1 / 3))
    spread = math.sqrt(sum(math.log(each / (0.2 * 0.21 * 0.19) ** (1 / 3)) ** 2 for each in (0.2, 0.21, 0.19)) / 2)
    assert chance.chance_of(chance.bases_of(told), "100") == chance.Chance(pytest.approx(spread), 3)
    text = chance.conclusions(told, "100")
    assert "3 trainings" in text and "Worse: bad (4.50)." in text and "Better: good (0.25)." in text
    assert "Not told from chance: like it (1.05)." in text
    alone = numbers({"base": 0.2, "bad": 0.9})
    assert chance.judged(alone, "100") == {} and "trained once" in chance.conclusions(alone, "100")


def test_what_holds_for_all_robots(chance: ModuleType):
    """A row counts that says the same of each; one that says the opposite is named; one robot alone says nothing."""
    one = {
        "a": (2.0, "worse"),
        "b": (0.5, "better"),
        "c": (1.0, "chance"),
        "d": (2.0, "worse"),
        "only here": (9.0, "worse"),
    }
    two = {"a": (3.0, "worse"), "b": (1.0, "chance"), "c": (1.0, "chance"), "d": (0.3, "better")}
    text = chance.in_common({"pendulum": one, "ant": two})
    assert text == (
        "Worse for all of them: a. Better for all of them: none. Not told from chance for all of them: c. "
        "Better for one and worse for another: d."
    )
    assert chance.in_common({"ant": two}) == ""


def test_the_page_has_every_row_and_says_what_is_missing(program: ModuleType, tmp_path: Path):
    """Numbers are those of the files; a tiny run is said to mean nothing; nothing at all is refused."""
    page = importlib.import_module("ablation_page")
    with pytest.raises(SystemExit, match="run without --page first"):
        page.write_page(tmp_path, tmp_path / "page.md")
    told = numbers({"base": 0.2, "GRU": 0.5}, smoke=True)
    told["rows"].append(
        {**told["rows"][0], "group": "network", "name": "LSTM", "failure": "weights are no numbers", "errors": {}}
    )
    (tmp_path / "ablations_pendulum.json").write_text(json.dumps(told))
    page.write_page(tmp_path, tmp_path / "page.md")
    text = (tmp_path / "page.md").read_text()
    assert "| GRU | 1,000 | 3 | 0.05 | 0.5 | 2 | 2.50 | 2.50 |" in text
    assert "| LSTM | 1,000 | 3 | - | - | - | failed | failed |" in text
    assert "its numbers say nothing" in text and "Not run: " in text and "perceptron" in text and "Worse" not in text
    assert (tmp_path / "images/ablations-pendulum.png").stat().st_size > 1000


def test_the_page_concludes_from_real_sizes(program: ModuleType, tmp_path: Path):
    """Rows beyond chance are marked, further trainings of the base stand below, and what robots have in common."""
    page = importlib.import_module("ablation_page")
    for robot in ("pendulum", "ant"):
        told = numbers({"base": 0.2, "GRU": 0.9, "LSTM": 0.2}, again=(0.21, 0.19))
        told["rows"][2]["errors"]["10"] = {QUANTITY: {"mean": 0.2}}
        told["rows"].append({**told["rows"][1], "name": "window 5", "failure": "weights are no numbers", "errors": {}})
        (tmp_path / f"ablations_{robot}.json").write_text(json.dumps(told))
    page.write_page(tmp_path, tmp_path / "page.md")
    text = (tmp_path / "page.md").read_text()
    assert "| GRU | 1,000 | 3 | 0.09 | 0.9 | 2 | 4.50 worse | 4.50 worse |" in text
    assert "| LSTM | 1,000 | 3 | 0.2 | 0.2 | 2 | 10 worse | 1.00 |" in text and text.count("| base | 1,000 |") == 6
    assert "## What holds for pendulum and ant" in text and "Worse for all of them: GRU; window 5." in text
    assert "| window 5 | 1,000 | 3 | - | - | - | failed | failed |" in text and "Worse: window 5 (failed); GRU" in text


def test_the_base_is_trained_again_with_the_next_seeds(program: ModuleType, monkeypatch, tmp_path: Path):
    """Only it is, each in a file of its own; what is there already is not run again."""
    ran: list[tuple[str, str]] = []
    work = tmp_path / "pendulum"
    work.mkdir()

    def run(command: list[str], **_: Any) -> None:
        seed, row = command[command.index("--seed") + 1], command[command.index("--row") + 1]
        ran.append((row, seed))
        options = program.Options(robot="pendulum", seconds=2.0, seed=int(seed))
        chosen = next(each for each in program.ROWS if each.name == row)
        program.place(work, chosen, options).write_text(json.dumps({**rows({row: 0.1})[0], "group": chosen.group}))

    monkeypatch.setattr(program, "subprocess", SimpleNamespace(run=run))
    monkeypatch.setattr(program, "generate", lambda options: None)
    words = ["ablations.py", "--seconds", "2", "--work", str(tmp_path), "--only", "base", "GRU", "--again", "2"]
    monkeypatch.setattr(program.sys, "argv", [*words, "--json", str(tmp_path / "a.json")])
    assert program.main() == 0
    assert ran == [("base", "0"), ("GRU", "0"), ("base", "1"), ("base", "2")]
    told = json.loads((tmp_path / "a.json").read_text())
    assert [each["name"] for each in told["rows"]] == ["base", "GRU"] and len(told["base_again"]) == 2
    assert program.main() == 0 and len(ran) == 4


def test_each_row_changes_the_model_or_its_training(program: ModuleType):
    """No two rows make the same model with the same training and the same units, codec and loss."""
    for name, spec in (("ant", ant()), ("cartpole", cartpole())):
        robot, made = program.ROBOTS[name], []
        for row in program.ROWS:
            fits = {"any": True, "ground": robot.touches, "frame": robot.floating}[row.needs]
            if fits and not row.changes.get("mechanics"):
                torch.manual_seed(0)
                predictor, training = program.build(row, robot, spec)
                own = tuple(vars(each).get("finalise") is not None for each in normalisers(predictor))
                made.append((predictor.cfg, training, type(predictor.codec), own, "squares" in row.changes))
        assert all(made.count(each) == 1 for each in made)


def normalisers(predictor: Any) -> tuple[Any, Any]:
    """Those of what a model sees and says."""
    return predictor.residual.token_normaliser, predictor.change_normaliser
