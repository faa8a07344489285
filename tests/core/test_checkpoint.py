# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Checkpoints come back as they were, and whatever is not one is refused with a message that helps."""

import json
import os
import pickle
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import safetensors.torch
import torch

from nerd_core import checkpoint, checkpoint_limits
from nerd_core.checkpoint import CONFIG, MANIFEST, SPEC, WEIGHTS, CheckpointError
from nerd_core.checkpoint_limits import expected_tensors
from nerd_core.files.provenance import describe_run, file_digest
from nerd_core.files.safe_files import digest
from nerd_core.network.architectures.mlp import MlpCfg
from nerd_core.network.architectures.recurrent import RecurrentCfg
from nerd_core.network.architectures.transformer import TransformerCfg
from nerd_core.network.token_config import TokenCfg
from nerd_core.predictor.config import PredictorCfg
from nerd_core.predictor.predictor import Predictor
from nerd_core.robot.comparison import SpecMismatch
from support.checkpoints import SMALL, crawler, pendulum

CONFIGS = {
    "transformer": PredictorCfg(network=SMALL, force_head=True, variance_head=True),
    "published": PredictorCfg(network=replace(SMALL, rotary=False), token=TokenCfg.published()),
    "ensemble": PredictorCfg(network=SMALL, ensemble=3),
    "mlp": PredictorCfg(network=MlpCfg(hidden=(8, 4), window=2)),
    "lstm": PredictorCfg(network=RecurrentCfg(cell="lstm", hidden=8)),
}


def make(cfg: PredictorCfg = CONFIGS["transformer"], spec=None) -> Predictor:
    """A predictor whose normalisers are not the identity."""
    torch.manual_seed(1)
    predictor = Predictor(spec or crawler(), cfg).eval()
    for normaliser in (predictor.residual.token_normaliser, predictor.change_normaliser):
        normaliser.mean.normal_()
        normaliser.std.uniform_(0.5, 2.0)
    return predictor


def rewrite(path, name: str, change) -> None:
    """Changes a JSON file of a checkpoint (or its bytes) and makes the manifest true again, as an attacker would."""
    content = (path / name).read_bytes()
    if name.endswith(".json"):
        document = json.loads(content)
        change(document)
        content = json.dumps(document).encode()
    else:
        content = change(content)
    (path / name).write_bytes(content)
    if name != MANIFEST:
        manifest = json.loads((path / MANIFEST).read_bytes())
        manifest["files"][name] = {"bytes": len(content), "sha256": digest(content)}
        (path / MANIFEST).write_text(json.dumps(manifest))


@pytest.fixture
def saved(tmp_path):
    """A sound checkpoint with a state of training."""
    return checkpoint.save(tmp_path / "model", make(), state={"step": 3, "moments": torch.ones(4)})


# -- what is saved comes back ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CONFIGS)
def test_every_kind_of_model_comes_back_to_the_last_bit(tmp_path, name):
    """Settings, robot and every tensor survive, so the loaded model predicts the very same numbers."""
    predictor = make(CONFIGS[name])
    path = checkpoint.save(tmp_path / "model", predictor)
    loaded = checkpoint.load(path)
    assert loaded.cfg == predictor.cfg and loaded.spec == predictor.spec and not loaded.training
    assert list(loaded.state_dict()) == list(predictor.state_dict())
    assert all(torch.equal(loaded.state_dict()[key], tensor) for key, tensor in predictor.state_dict().items())


def test_the_state_of_training_comes_back_and_its_absence_is_said(saved, tmp_path):
    """What was given as state is returned; a checkpoint without one says that no run can go on from it."""
    state = checkpoint.load_training_state(saved)
    assert state["step"] == 3 and torch.equal(state["moments"], torch.ones(4))
    plain = checkpoint.save(tmp_path / "plain", make())
    with pytest.raises(CheckpointError, match="no run can go on"):
        checkpoint.load_training_state(plain)


def test_loading_does_not_move_the_random_numbers(saved):
    """A seeded program draws the same numbers whether or not it loads a model in between."""
    torch.manual_seed(5)
    first = torch.rand(3)
    torch.manual_seed(5)
    checkpoint.load(saved)
    assert torch.equal(first, torch.rand(3))


def test_the_card_and_the_config_tell_where_it_came_from(tmp_path):
    """Command, seeds, data digests, host, versions and results stand in both; infinities do not break the JSON."""
    (tmp_path / "data.h5").write_bytes(b"abc")
    data = {"data.h5": file_digest(tmp_path / "data.h5")}
    origin = describe_run(["/usr/bin/nerd", "train", "my data", "--lr", "1"], {"training": 4}, data)
    path = checkpoint.save(
        tmp_path / "m", make(), training={"lr": 1e-3, "stop": float("inf")}, provenance=origin, results={"m": 0.00123}
    )
    config = checkpoint.read(path).config
    assert config.provenance["command"] == "nerd train 'my data' --lr 1"
    assert config.provenance["data"] == {"data.h5": digest(b"abc")}
    assert config.provenance["seeds"] == {"training": 4} and config.provenance["host"]["cores"] >= 1
    assert config.training == {"lr": 1e-3, "stop": "inf"}
    card = (path / "card.md").read_text()
    assert "nerd train 'my data' --lr 1" in card and "m: 0.00123" in card and crawler().content_hash[:16] in card


def test_the_card_may_be_edited(saved):
    """The model card belongs to people: changing or removing it does not spoil the checkpoint."""
    (saved / "card.md").write_text("mine")
    checkpoint.load(saved)
    (saved / "card.md").unlink()
    checkpoint.load(saved)


def test_overwriting_keeps_the_old_one_until_the_new_one_is_whole(saved, monkeypatch):
    """If saving dies half-way the old checkpoint still loads, and nothing else is left behind."""
    monkeypatch.setattr(checkpoint, "model_card", lambda *args: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        checkpoint.save(saved, make(CONFIGS["mlp"]))
    assert checkpoint.load(saved).cfg == CONFIGS["transformer"]
    assert os.listdir(saved.parent) == ["model"]
    monkeypatch.undo()
    checkpoint.save(saved, make(CONFIGS["mlp"]))
    assert checkpoint.load(saved).cfg == CONFIGS["mlp"] and not (saved / "training").exists()


def test_a_model_that_diverged_is_not_saved(tmp_path):
    """NaN in the weights is an error at saving time, with the name of the tensor."""
    predictor = make()
    predictor.change_normaliser.mean[0] = float("nan")
    with pytest.raises(CheckpointError, match=r"change_normaliser\.mean"):
        checkpoint.save(tmp_path / "m", predictor)
    assert not (tmp_path / "m").exists()


def test_what_could_not_be_read_back_is_not_saved(tmp_path, monkeypatch):
    """Settings beyond the caps and a state of training beyond its limit are errors when saving, not when loading."""
    with monkeypatch.context() as patch, pytest.raises(CheckpointError, match="at most 100"):
        patch.setattr(checkpoint_limits, "MAX_PARTS", 100)
        checkpoint.save(tmp_path / "m", make(PredictorCfg(network=RecurrentCfg(hidden=1, layers=99))))
    monkeypatch.setattr(checkpoint, "MAX_STATE_BYTES", 1000)
    monkeypatch.setattr(checkpoint, "MAX_STATE_RATIO", 1)
    with pytest.raises(CheckpointError, match="read back"):
        checkpoint.save(tmp_path / "m", make(), state={"a": torch.zeros(100_000)})
    assert not (tmp_path / "m").exists()


# -- another robot ---------------------------------------------------------------------------------------------


def test_another_robot_is_refused_with_the_differences(saved):
    """The message names what differs, in words."""
    checkpoint.load(saved, expected_spec=crawler())
    with pytest.raises(SpecMismatch, match="decimation: got 4, expected 2"):
        checkpoint.load(saved, expected_spec=replace(crawler(), decimation=2))


# -- what is not a checkpoint ----------------------------------------------------------------------------------


def test_a_flipped_bit_anywhere_is_found(saved, tmp_path):
    """One bit flipped at any of some twenty places of each file: the load is refused."""
    for file in [file for file in saved.rglob("*") if file.is_file() and file.name not in ("card.md", MANIFEST)]:
        content = file.read_bytes()
        for i in range(0, len(content), max(1, len(content) // 20)):
            damaged = bytearray(content)
            damaged[i] ^= 1 << (i % 8)
            file.write_bytes(damaged)
            with pytest.raises(CheckpointError, match="SHA-256"):
                checkpoint.load_training_state(saved) if file.parent.name == "training" else checkpoint.read(saved)
        file.write_bytes(content)
    checkpoint.load(saved)


@pytest.mark.parametrize("name", [SPEC, CONFIG, WEIGHTS, MANIFEST])
def test_a_missing_or_cut_file_is_named(saved, name):
    """The message says which file is missing, or that it was cut."""
    content = (saved / name).read_bytes()
    (saved / name).write_bytes(content[: len(content) // 2])
    with pytest.raises(CheckpointError, match=name):
        checkpoint.load(saved)
    (saved / name).unlink()
    with pytest.raises(CheckpointError, match=name):
        checkpoint.load(saved)


def test_foreign_things_are_refused_with_advice(tmp_path):
    """A missing path, a pickled model, an empty directory and another program's weights each get their own answer."""
    with pytest.raises(CheckpointError, match="there is no checkpoint"):
        checkpoint.load(tmp_path / "nothing")
    torch.save({"a": torch.ones(2)}, tmp_path / "model.pt")
    with pytest.raises(CheckpointError, match="Pickled models"):
        checkpoint.load(tmp_path / "model.pt")
    (tmp_path / "empty").mkdir()
    with pytest.raises(CheckpointError, match="not a checkpoint of nerd_core"):
        checkpoint.load(tmp_path / "empty")
    safetensors.torch.save_file({"a": torch.ones(2)}, tmp_path / "empty" / WEIGHTS)
    with pytest.raises(CheckpointError, match="not a checkpoint of nerd_core"):
        checkpoint.load(tmp_path / "empty")


class _Bomb:
    """Leaves a trace when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (os.mkdir, (str(self.path),))


def test_a_pickle_in_disguise_runs_nothing(saved, tmp_path):
    """A pickle under the name of any file, with a true manifest, is refused and its code does not run."""
    for name in (WEIGHTS, "training/tensors.safetensors"):
        path = tmp_path / "copy"
        shutil.copytree(saved, path)
        rewrite(path, name, lambda _: pickle.dumps(_Bomb(tmp_path / "ran")))
        with pytest.raises(CheckpointError):
            checkpoint.load(path)
            checkpoint.load_training_state(path)
        assert not (tmp_path / "ran").exists()
        shutil.rmtree(path)


def test_weights_of_another_model_are_refused(saved, tmp_path):
    """Weights whose names or shapes are not those of the settings are refused, however true the manifest."""
    for cfg, words in [
        (CONFIGS["mlp"], "are missing"),
        (replace(CONFIGS["transformer"], network=replace(SMALL, head_hidden=4)), "has shape"),
    ]:
        other = checkpoint.save(tmp_path / "other", make(cfg))
        path = tmp_path / "copy"
        shutil.copytree(saved, path)
        rewrite(path, WEIGHTS, lambda _, source=other: (source / WEIGHTS).read_bytes())
        with pytest.raises(CheckpointError, match=words):
            checkpoint.load(path)
        shutil.rmtree(path)


def test_numbers_that_are_not_finite_and_empty_deviations_are_refused(saved):
    """A NaN weight and a zero standard deviation are found although the digests agree."""
    sound = (saved / WEIGHTS).read_bytes()

    def with_value(name: str, value: float) -> bytes:
        tensors = safetensors.torch.load(sound)
        tensors[name].view(-1)[0] = value
        return safetensors.torch.save(tensors)

    for name, value, words in [
        ("residual.network.embed.weight", float("nan"), "not finite"),
        ("residual.token_normaliser.mean", float("inf"), "not finite"),
        ("change_normaliser.std", 0.0, "must be positive"),
    ]:
        rewrite(saved, WEIGHTS, lambda _, name=name, value=value: with_value(name, value))
        with pytest.raises(CheckpointError, match=words):
            checkpoint.load(saved)


@pytest.mark.parametrize(
    ("field", "value"),
    [("width", 10**9), ("layers", 10**9), ("window", 10**12), ("heads", 0), ("width", 1.5), ("width", None)],
)
def test_absurd_settings_are_refused_before_memory_is_taken(saved, field, value):
    """A width of a thousand million is refused in well under the time and memory that building it would take."""
    import tracemalloc

    rewrite(saved, CONFIG, lambda document: document["predictor"]["network"].update({field: value}))
    tracemalloc.start()
    with pytest.raises(CheckpointError, match=f"{field}|expected"):
        checkpoint.load(saved)
    assert tracemalloc.get_traced_memory()[1] < 64 * 2**20
    tracemalloc.stop()


def test_the_largest_settings_that_pass_the_caps_meet_the_size_of_the_file(saved):
    """Settings within the caps that need terabytes are refused because the file of weights does not hold them."""
    model = {"width": 65536, "layers": 64, "heads": 64, "block_size": 65536}
    rewrite(saved, CONFIG, lambda document: document["predictor"]["network"].update(model))
    with pytest.raises(CheckpointError, match="has shape|are missing"):
        checkpoint.load(saved)


def test_a_huge_sparse_file_is_not_read(saved):
    """A file of weights that claims a terabyte, without using the disk, is refused by its size alone."""
    manifest = json.loads((saved / MANIFEST).read_text())
    manifest["files"][WEIGHTS]["bytes"] = 2**40
    (saved / MANIFEST).write_text(json.dumps(manifest))
    os.truncate(saved / WEIGHTS, 2**40)
    with pytest.raises(CheckpointError, match="at most"):
        checkpoint.load(saved)


def test_another_version_is_named(saved):
    """A later format is refused with the format that this version reads."""
    rewrite(saved, CONFIG, lambda document: document.update(schema="nerd.checkpoint/3"))
    with pytest.raises(CheckpointError, match="nerd.checkpoint/2"):
        checkpoint.load(saved)


def test_paths_cannot_leave_the_directory(saved, tmp_path):
    """A manifest that lists another path, a linked file and a linked directory are refused."""
    outside = tmp_path / "outside"
    shutil.copytree(saved, outside)
    manifest = (saved / MANIFEST).read_text()
    (saved / MANIFEST).write_text(manifest.replace('"model.safetensors"', '"../outside/model.safetensors"'))
    with pytest.raises(CheckpointError, match="lists"):
        checkpoint.load(saved)
    (saved / MANIFEST).write_text(manifest)
    (saved / WEIGHTS).unlink()
    (saved / WEIGHTS).symlink_to(outside / WEIGHTS)
    with pytest.raises(CheckpointError, match="link"):
        checkpoint.load(saved)
    shutil.rmtree(saved / "training")
    (saved / "training").symlink_to(outside / "training")
    with pytest.raises(CheckpointError, match="link"):
        checkpoint.load_training_state(saved)


def test_hostile_numbers_in_the_robot_are_refused(saved):
    """A decimation with 400 digits, which would overflow later, is refused while reading."""
    rewrite(saved, SPEC, lambda document: document.update(decimation=10**400))
    with pytest.raises(CheckpointError, match="decimation"):
        checkpoint.load(saved)


def test_a_larger_model_is_not_hindered_by_the_caps(tmp_path):
    """The published sizes are far inside the caps: their shapes are computed without building them."""
    cfg = PredictorCfg(network=TransformerCfg(width=384, layers=6, heads=12, window=10))
    shapes = expected_tensors(pendulum(), cfg)
    assert sum(torch.Size(info.shape).numel() for info in shapes.values()) > 10_000_000


def test_a_model_that_cannot_be_built_is_refused(tmp_path):
    """Masses of zero, of which mechanics cannot be made, are the checkpoint's fault, in a sentence that names it."""
    path = tmp_path / "model"
    shutil.copytree(Path(__file__).parent / "data_v1" / "mechanics", path)

    def no_mass(document):
        for body in document["bodies"]:
            body["inertia"]["mass"] = 0

    rewrite(path, SPEC, no_mass)
    with pytest.raises(CheckpointError, match="model' cannot be loaded: .* moves no mass"):
        checkpoint.load(path)
