# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Hostile files of every format that may come from somebody else, made from sound ones by what knows the format.

Each format makes sound files, spoils them (bytes, headers, JSON, links in place of files, see :mod:`support.damage`,
and values in places where they mean something), and opens them as the commands do. To repeat cases by hand::

    PYTHONPATH=tests python tests/support/hostile_files.py FOLDER COUNT FIRST_SEED [FORMAT]
"""

from __future__ import annotations

import contextlib
import copy
import io
import json
import os
import random
import resource
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import safetensors.torch
import torch

from nerd_core import checkpoint
from nerd_core.cli import main as nerd
from nerd_core.files.safe_state import state_files
from nerd_core.files.safe_tensors import tensor_bytes
from nerd_core.network.architectures.residual import ResidualMlpCfg
from nerd_core.predictor.config import PredictorCfg
from nerd_core.predictor.predictor import Predictor
from nerd_core.training.config import TrainCfg
from nerd_core.training.run import train
from nerd_isaaclab.demo import phases, recipes, report, results
from nerd_isaaclab.demo.recipe import smoke
from nerd_isaaclab.physics import guard_dump
from nerd_isaaclab.policies.load import load_policy
from nerd_isaaclab.policies.policy import Policy
from nerd_isaaclab.policies.runs import load_task
from nerd_isaaclab.programs.replay import main as replay
from support import robots
from support.checkpoints import Files, sound_checkpoints
from support.damage import Damage, mend_digests, write_case
from support.demo_results import phase_results
from support.testbed_cartpole import SPEC, make_data

EXTRA_MEMORY = 2**30
"""Address space [bytes] that the process may take beyond what it has when all formats were opened once."""

LONGEST_MESSAGE = 4000
"""Longest message of a refusal [characters]."""

VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2**31, 2**53, 2**63, 2**64, 10**40, int("9" * 4000), 1e300, -1e300, 1e-320, 0.5),
    *("", "x" * 5000, "inf", "nan", "\x1b[2J\u202e", "\ud800", "<script>alert(1)</script>", "../../etc/passwd", "$x$"),
    *([], {}, [[]], [None], {"": {}}, [0] * 5000, {"\x1b[31m": 1}),
)
"""What stands in a place where something else was."""


@dataclass(frozen=True)
class Format:
    """A kind of files."""

    sound: Callable[[Path], list[Files]]
    """Makes sound files of it."""
    open: Callable[[Path], None]
    """Opens a folder of it, as the commands do; raises ValueError or OSError, or returns."""
    craft: Callable[[random.Random, Files], None]
    """Changes values in places where they mean something."""
    tensors: tuple[str, ...] = ()
    """Files of tensors, whose headers are spoiled."""
    documents: tuple[str, ...] = ()
    """Files of JSON or YAML, whose text is spoiled."""


# -- changes ---------------------------------------------------------------------------------------------------


def places(tree: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """All places in a tree of objects and lists."""
    found = []
    keys: list[Any] = []
    if isinstance(tree, dict):
        keys += tree
    elif isinstance(tree, list):
        keys += range(min(len(tree), 20))
    for key in keys:
        found += [(*path, key), *places(tree[key], (*path, key))]
    return found


def changed(rng: random.Random, tree: Any) -> Any:
    """A copy of a tree with one to three values replaced, removed or added."""
    tree = copy.deepcopy(tree)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        where = rng.choice(places(tree) or [()])
        if not where:
            return _value(rng)
        holder = tree
        for key in where[:-1]:
            holder = holder[key]
        key, old, action = where[-1], holder[where[-1]], rng.randrange(8)
        if action == 0 and isinstance(holder, dict):
            del holder[key]
        elif action == 1 and isinstance(holder, dict):
            holder[rng.choice(["x", "\x1b[2J", "environments", "k" * 5000, ""])] = _value(rng)
        elif isinstance(old, torch.Tensor) and action < 6:
            holder[key] = _spoiled(rng, old)
        else:
            holder[key] = _value(rng)
    return tree


def _value(rng: random.Random) -> Any:
    """A hostile value of its own, which later changes may spoil further."""
    return copy.deepcopy(rng.choice(VALUES))


def _spoiled(rng: random.Random, tensor: torch.Tensor) -> torch.Tensor:
    """A tensor of another shape or type, or with other numbers."""
    ways: list[Callable[[], torch.Tensor]] = [
        lambda: tensor.reshape(-1)[:-1],
        lambda: tensor.unsqueeze(0),
        lambda: tensor.to(rng.choice([torch.float64, torch.float16, torch.int64, torch.bool])),
        lambda: torch.full_like(tensor, rng.choice([-1, 0, 1])),
        lambda: torch.full_like(tensor.float(), rng.choice([torch.nan, torch.inf, 1e38, -1e38])),
        lambda: torch.zeros(0),
    ]
    return rng.choice(ways)()


def _change_json(rng: random.Random, files: Files, names: tuple[str, ...]) -> None:
    name = rng.choice(names)
    files[name] = json.dumps(changed(rng, json.loads(files[name]))).encode()


# -- formats ---------------------------------------------------------------------------------------------------


def _files_of(folder: Path) -> Files:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def _open_checkpoint(path: Path) -> None:
    if nerd(["checkpoint", "verify", str(path)]):
        raise ValueError("refused by verify, which has said why")
    nerd(["checkpoint", "info", str(path)])


def _craft_checkpoint(rng: random.Random, files: Files) -> None:
    _change_json(rng, files, ("spec.json", "spec.json", "config.json", "manifest.json"))
    mend_digests(files)


SMALL = PredictorCfg(network=ResidualMlpCfg(width=8, hidden=8, layers=1))
CFG = TrainCfg(
    updates=4, batch_size=4, ema_decay=0.9, validations=2, validation_horizons=(3,), validation_trajectories=2
)


def _train(out: Path, resume: bool) -> None:
    torch.manual_seed(0)
    predictor = Predictor(SPEC, SMALL)
    data, valid = make_data(4, 6, seed=0), make_data(2, 6, seed=1, passive=True)
    train(predictor, data, valid, CFG, out, resume=resume, quiet=True)


def _sound_run(folder: Path) -> list[Files]:
    _train(folder / "run", resume=False)
    shutil.rmtree(folder / "run" / "logs")
    return [_files_of(folder / "run")]


def _craft_run(rng: random.Random, files: Files) -> None:
    last = {name.removeprefix("last/"): content for name, content in files.items() if name.startswith("last/")}
    with tempfile.TemporaryDirectory() as folder:
        write_case(Path(folder, "last"), last)
        state = checkpoint.load_training_state(Path(folder, "last"))
    for name, content in state_files(changed(rng, state)).items():
        last[f"training/{name}"] = content
    mend_digests(last)
    files.update({f"last/{name}": content for name, content in last.items()})


def _actor() -> dict[str, Any]:
    shapes = {"mlp.0.weight": (4, 3), "mlp.0.bias": (4,), "mlp.2.weight": (2, 4), "mlp.2.bias": (2,)}
    actor = {name: torch.ones(shape) for name, shape in shapes.items()}
    return {**actor, "obs_normalizer._mean": torch.zeros(1, 3), "obs_normalizer._std": torch.ones(1, 3)}


def _policy() -> Policy:
    layers = [(torch.ones(4, 3), torch.zeros(4)), (torch.ones(2, 4), torch.zeros(2))]
    return Policy(layers, torch.zeros(3), torch.ones(3), "elu", 1.0, {"task": "T", "seed": 1})


def _sound_policy(folder: Path) -> list[Files]:
    _policy().save(folder / "p" / "policy.safetensors")
    return [_files_of(folder / "p")]


def _craft_policy(rng: random.Random, files: Files) -> None:
    policy = _policy()
    header = changed(rng, {"activation": "elu", "clip": 1.0, "facts": policy.facts})
    tensors = changed(rng, dict(policy.state_dict())) if rng.random() < 0.5 else policy.state_dict()
    sound = {name: tensor.contiguous() for name, tensor in tensors.items() if isinstance(tensor, torch.Tensor)}
    files["policy.safetensors"] = safetensors.torch.save(sound, {"nerd_policy": json.dumps(header)})


AGENT = "actor:\n  activation: elu\n  hidden: [4]\nclip_actions: 1.0\nseed: 3\n"


def _sound_log(folder: Path) -> list[Files]:
    return [{"model_7.pt": _pickled({"actor_state_dict": _actor(), "iter": 7}), "params/agent.yaml": AGENT.encode()}]


def _pickled(tree: Any) -> bytes:
    content = io.BytesIO()
    torch.save(tree, content)
    return content.getvalue()


def _craft_log(rng: random.Random, files: Files) -> None:
    if rng.random() < 0.6:
        files["model_7.pt"] = _pickled(changed(rng, {"actor_state_dict": _actor(), "iter": 7}))
    else:
        agent = {"actor": {"activation": "elu"}, "clip_actions": 1.0, "seed": 3}
        files["params/agent.yaml"] = json.dumps(changed(rng, agent)).encode()  # JSON is YAML
    files["run.json"] = json.dumps(changed(rng, {"task": "T"})).encode()


def _open_log(path: Path) -> None:
    load_policy(path)
    load_task(path)


def _dump_tensors() -> dict[str, torch.Tensor]:
    spec = robots.cartpole()
    return {
        "env_ids": torch.tensor([3, 7]),
        "length": torch.tensor([4, 2]),
        "state": torch.full((2, 4, spec.state.dim), 0.5),
        "control": torch.zeros(2, 4, spec.control_dim),
        "refused": torch.full((2, spec.state.dim), 1e4),
    }


def _sound_dump(folder: Path) -> list[Files]:
    facts = {"task": "T", "checkpoint": "bad", "step": 70, "held": 2, "memory": 4}
    guard_dump.save(folder / "d", guard_dump.GuardDump(robots.cartpole(), facts, **_dump_tensors()))
    return [_files_of(folder / "d")]


def _craft_dump(rng: random.Random, files: Files) -> None:
    if rng.random() < 0.5:
        _change_json(rng, files, ("spec.json", "dump.json"))
    else:
        tensors = changed(rng, _dump_tensors())
        files["steps.safetensors"] = tensor_bytes({k: v for k, v in tensors.items() if isinstance(v, torch.Tensor)})


def _open_dump(path: Path) -> None:
    replay([str(path)])
    replay([str(path), "--json", "-"])


def _sound_report(folder: Path) -> list[Files]:
    model = checkpoint.save(folder / "model", Predictor(robots.cartpole(), SMALL))
    numbers = results.gather(smoke(recipes.DEMO["cartpole"]), phase_results(), model, ["nerd demo --smoke"])
    for evaluation in numbers["evaluations"]:
        evaluation["curves"] = {name: values[:5] for name, values in evaluation["curves"].items()}
        evaluation["horizons"] = {"5": {"base_position_m": 0.5, "base_orientation_rad": None, "joint_rad": 0.02}}
    cost = {"num_envs": 512, "ant_512": 0.7, "ant_ms": {"physx": 3.0, "neural": 2.0}, "ant_model": "a"}
    clips = {"robot": {"name": "a"}, "clips": [{"label": "b"}]}
    found = {"seconds": 1.0, "results": numbers, "clips": clips}
    return [{"result.json": json.dumps(found).encode(), "key": b"key", "cost.json": json.dumps(cost).encode()}]


def _open_report(path: Path) -> None:
    found = phases.read_result(path, "key")
    if found is None:
        raise ValueError("the phase counts as not done, and is run again")
    with phases.explained_results(path):
        cost = results.read_step_cost(path / "cost.json")
        page = report.render({**found["results"], "step_cost": cost}, found["clips"])
    assert "<script>alert" not in page, "a script came into the page"


FORMATS = {
    "checkpoint": Format(
        sound_checkpoints,
        _open_checkpoint,
        _craft_checkpoint,
        ("model.safetensors", "training/tensors.safetensors"),
        ("spec.json", "config.json", "manifest.json", "training/state.json"),
    ),
    "training state": Format(
        _sound_run,
        lambda path: _train(path, resume=True),
        _craft_run,
        ("last/model.safetensors", "last/training/tensors.safetensors"),
        ("last/training/state.json", "last/config.json", "best/config.json"),
    ),
    "policy": Format(_sound_policy, lambda path: _ignore(load_policy(path)), _craft_policy, ("policy.safetensors",)),
    "log of RSL-RL": Format(_sound_log, _open_log, _craft_log, (), ("params/agent.yaml",)),
    "guard dump": Format(_sound_dump, _open_dump, _craft_dump, ("steps.safetensors",), ("spec.json", "dump.json")),
    "results and step costs": Format(
        _sound_report,
        _open_report,
        lambda rng, files: _change_json(rng, files, ("result.json", "cost.json")),
        (),
        ("result.json", "cost.json"),
    ),
}
"""All formats, by name."""


def _ignore(_: Any) -> None:
    """Nothing: a callable for a result that nobody needs."""


# -- the process that opens them -------------------------------------------------------------------------------


def make_case(name: str, sound: list[Files], seed: int) -> Files:
    """A hostile folder of a format."""
    form, rng = FORMATS[name], random.Random(seed)
    files: Files = dict(rng.choice(sound))
    if rng.random() < 0.6:
        with contextlib.suppress(ValueError, OverflowError):  # JSON and safetensors do not hold everything
            form.craft(rng, files)
            return files
    damage = Damage(rng, sound, form.tensors, form.documents)
    for _ in range(rng.choice([1, 1, 2])):
        damage.spoil(files)
    if name == "checkpoint" and rng.random() < 0.75:
        mend_digests(files)
    return files


def run(folder: Path, count: int, first_seed: int, only: str = "") -> dict[str, Any]:
    """Opens ``count`` hostile folders, the formats in turn, and returns what happened."""
    torch.set_num_threads(1)
    sound = {}
    for name, form in FORMATS.items():
        (folder / name).mkdir(parents=True)
        sound[name] = form.sound(folder / name)
        for files in sound[name]:
            outcome = open_case(folder / "case", form, files)[0]
            assert outcome == "taken", f"the sound {name} is not taken: {outcome}"
    taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (taken + EXTRA_MEMORY, taken + EXTRA_MEMORY))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    outcomes: dict[str, Counter[str]] = {name: Counter() for name in FORMATS}
    problems: list[str] = []
    slowest = {name: 0.0 for name in FORMATS}
    names = [only] if only else list(FORMATS)
    for seed in range(first_seed, first_seed + count):
        name = names[seed % len(names)]
        (folder / "seed").write_text(f"{seed} ({name})")
        outcome, seconds = open_case(folder / "case", FORMATS[name], make_case(name, sound[name], seed))
        slowest[name] = max(slowest[name], seconds)
        outcomes[name][outcome] += 1
        if outcome not in ("taken", "refused"):
            problems.append(f"seed {seed} ({name}): {outcome}")
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    return {"outcomes": outcomes, "problems": problems, "slowest": slowest, "grown_mib": grown}


def open_case(path: Path, form: Format, files: Files) -> tuple[str, float]:
    """What opening does: taken, refused, or what must not be. And how long it takes [s]."""
    shutil.rmtree(path, ignore_errors=True)
    write_case(path, files)
    said, start = io.StringIO(), time.process_time()
    try:
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            form.open(path)
        outcome = "taken"
    except (ValueError, OSError) as error:
        explained = 10 < len(str(error)) < LONGEST_MESSAGE and type(error) is not UnicodeError
        outcome = "refused" if explained else f"a poor message: {str(error)[:100]!r}"
    except BaseException as error:  # everything else is what this looks for
        outcome = f"{type(error).__name__}: {str(error)[:300]}"
    shown = said.getvalue()
    if not all(letter.isprintable() or letter in "\n\t\r" for letter in shown):
        outcome = "what could steer a terminal was printed"
    if "9" * 200 in shown:
        outcome = "hundreds of digits were printed"
    return outcome, time.process_time() - start


if __name__ == "__main__":
    os.environ.pop("NERD_DEBUG", None)
    print(json.dumps(run(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), *sys.argv[4:])))
