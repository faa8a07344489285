# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""``nerd reproduce`` of models of real mechanisms: import and train, or identify, and judge; all by plain commands,
without an engine.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from nerd_core import checkpoint
from nerd_core.files.atomic import replace_directory
from nerd_core.files.safe_files import parse_json, read_bytes

from .card import NEEDED
from .commands import Commands, network_threads
from .phases import MAX_RESULT_BYTES, Phase, explained_results, lock_folder, remove_phases, run_phases

QUANTITIES = ("position_m", "position_share_of_width", "rotation_rad", "joint_rmse_rad", "horizon_s")
"""Errors that a card shows."""


@dataclass(frozen=True)
class MeasuredRecipe:
    """All that is done for one model of a real mechanism."""

    name: str
    """Name of the recipe, and of the shipped model."""
    title: str
    """First sentence of the card."""
    recordings: str
    """Usual name of the file of the recordings."""
    training: tuple[str, ...]
    """Words for ``nerd train`` behind the data; none for a model that is identified."""
    seconds: float
    """How long the training takes on an idle core, roughly [s]."""
    judges: tuple[tuple[str, ...], ...]
    """Words for ``nerd evaluate`` behind model and data; one for each measurement."""
    limits: tuple[str, ...] = ()
    """What the model must not be expected to do."""
    held_out: str = ""
    """Usual name of the file of the validation split, where it is one of its own, beside the other."""
    identification: tuple[tuple[str, ...], ...] = ()
    """Words for ``nerd identify`` behind the files, one for each search, from the model of the one before."""

    @property
    def model(self) -> Path:
        """Where the model is in the folder of the run."""
        return Path("train") / "run" / ("model" if self.identification else "best")

    def files(self, recordings: Path) -> tuple[Path, ...]:
        """The files of the recordings, the one that is judged on last.

        Args:
            recordings: File of the training split.
        """
        return (recordings, recordings.with_name(self.held_out)) if self.held_out else (recordings,)


def run_measured(recipe: MeasuredRecipe, recordings: Path, out: Path, fresh: bool = False) -> Path:
    """Runs what is not done yet, and writes the model with its card.

    Args:
        recipe: What to do.
        recordings: File of the recordings, with the splits ``train`` and ``val``.
        out: Folder of the run.
        fresh: Whether to start over.

    Returns:
        Directory of the model as it is shipped.
    """
    for path, usual in zip(recipe.files(recordings), (recipe.recordings, recipe.held_out), strict=False):
        if not path.is_file():
            raise ValueError(f"got the recordings '{path}', expected a file such as '{usual}'")
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    with lock_folder(out) as lock:
        phases = phases_of(recipe, recordings, Commands(out, lock), out)
        if fresh:
            remove_phases(phases, out)
        found = run_phases(phases, out, console)
        with explained_results(out):
            return write_model(recipe, out / recipe.model, found, out / "model")


def phases_of(recipe: MeasuredRecipe, recordings: Path, commands: Commands, out: Path) -> list[Phase]:
    """Import, training and judging; or identification, which reads recordings itself, and judging.

    Args:
        recipe: What to do.
        recordings: File of the recordings.
        commands: Runs commands.
        out: Folder of the run.
    """
    train, valid, files = out / "import" / "train", out / "import" / "val", recipe.files(recordings)

    def shown(command: str) -> str:
        for path in files:
            command = command.replace(str(path), path.name)
        return command

    def do_import(folder: Path, _: Mapping[str, Any]) -> dict[str, Any]:
        typed = []
        for split, place in (("train", train), ("val", valid)):
            shutil.rmtree(place, ignore_errors=True)
            words = ["data", "import", str(recordings), "--split", split, "--out", str(place)]
            typed.append(commands.nerd(words, 1, folder / f"{split}.log"))
        return {"commands": [shown(each) for each in typed]}

    def do_identify(folder: Path, _: Mapping[str, Any]) -> dict[str, Any]:
        typed, start = [], []
        for number, words in enumerate(recipe.identification, 1):
            place = folder / ("run" if number == len(recipe.identification) else f"search-{number}")
            whole = ["identify", *map(str, files), *start, *words, "--out", str(place), "--overwrite"]
            typed.append(shown(commands.nerd(whole, 1, folder / f"{number}.log")))
            start = ["--start", str(place / "model")]
        return {"commands": typed}

    def do_train(folder: Path, _: Mapping[str, Any]) -> dict[str, Any]:
        words = ["train", str(train), "--valid", str(valid), *recipe.training, "--out", str(folder / "run")]
        return {"commands": [commands.nerd([*words, "--overwrite"], network_threads())]}

    def do_judge(folder: Path, _: Mapping[str, Any]) -> dict[str, Any]:
        typed, results = [], []
        for number, words in enumerate(recipe.judges):
            place = folder / f"{number}.json"
            whole = ["evaluate", "--model", str(out / recipe.model), "--data", str(files[-1]), *words]
            typed.append(commands.nerd([*whole, "--split", "val", "--json", str(place)], 1, folder / f"{number}.log"))
            results.append(parse_json(read_bytes(place, MAX_RESULT_BYTES), place.name))
        return {"commands": [shown(each) for each in typed], "judged": results}

    digest = {"recordings": recordings.name, "bytes": recordings.stat().st_size}
    judging = Phase(
        "judge", "judging", "held-out recordings", 60.0, list(map(list, recipe.judges)), do_judge, ("train",)
    )
    if recipe.identification:
        searches = {**digest, "searches": list(map(list, recipe.identification))}
        return [Phase("train", "identification", "a model of them", recipe.seconds, searches, do_identify), judging]
    return [
        Phase("import", "import", "trajectories of the recordings", 20.0, digest, do_import),
        Phase("train", "training", "a model of them", recipe.seconds, list(recipe.training), do_train, ("import",)),
        judging,
    ]


def write_model(recipe: MeasuredRecipe, model: Path, found: Mapping[str, Any], out: Path) -> Path:
    """Copies a model, without the state of its training, and gives it a card.

    Args:
        recipe: How it was made.
        model: Directory of the model.
        found: Results of the phases.
        out: Where to write it; what is there is replaced.
    """
    with replace_directory(out) as folder:
        for name in NEEDED:
            shutil.copyfile(model / name, folder / name)
        (folder / "card.md").write_text(card_of(recipe, model, found), encoding="utf-8")
    checkpoint.load(out)
    return out


def card_of(recipe: MeasuredRecipe, model: Path, found: Mapping[str, Any]) -> str:
    """The card of a model as Markdown, from measured results alone.

    Args:
        recipe: How it was made.
        model: Directory of the model.
        found: Results of the phases.
    """
    predictor = checkpoint.load(model)
    count = sum(param.numel() for param in predictor.parameters())
    commands = [each for phase in ("import", "train", "judge") if phase in found for each in found[phase]["commands"]]
    rows = ["| protocol | " + " | ".join(QUANTITIES) + " |", "| --- " * (1 + len(QUANTITIES)) + "|"]
    for words, judged in zip(recipe.judges, found["judge"]["judged"], strict=True):
        shown = [judged.get(name) for name in QUANTITIES]
        cells = ["-" if value is None else f"{float(value):.3g}" for value in shown]
        rows.append(f"| {' '.join(words).replace('--', '')} | " + " | ".join(cells) + " |")
    learned = getattr(predictor.prior, "calibration", dict)()
    parts = [
        f"# {recipe.name}",
        f"{recipe.title} {count:,} weights.",
        "## Made by",
        "```bash\n"
        + "\n".join([f"nerd reproduce {recipe.name} --recordings {recipe.recordings}", *commands])
        + "\n```",
        "## Errors on the validation split\n\nMeans over all steps and all windows or runs, given one frame.",
        "\n".join(rows),
        *(
            ["## Calibration\n\n" + "\n".join(f"- {name}: {value:.4g}" for name, value in learned.items())]
            if learned
            else []
        ),
        "## Limits\n\n" + "\n".join(f"- {each}" for each in recipe.limits),
    ]
    return "\n\n".join(parts) + "\n"


__all__ = ["MeasuredRecipe", "card_of", "phases_of", "run_measured", "write_model"]
