# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Checkpoints of format 1 give the numbers that the version which wrote them gave.

``data_v1`` holds one tiny untrained model of each kind, with inputs and what that version computed from them.
"""

from pathlib import Path

import pytest
import safetensors.torch
import torch
from torch import Tensor

from nerd_core import checkpoint
from nerd_core.checkpoint import CheckpointError
from nerd_core.contact.contacts import Contacts
from nerd_core.contact.grounds import PlaneGround
from nerd_core.predictor.predictor import Predictor

DATA = Path(__file__).parent / "data_v1"
KINDS = sorted(path.name for path in DATA.iterdir())


def close(got: Tensor, expected: Tensor, relative: float) -> None:
    """Raises if numbers differ by more than a share of the largest of their kind."""
    torch.testing.assert_close(got, expected, rtol=0, atol=relative * float(expected.abs().max()))


def contacts_of(predictor: Predictor, state: Tensor) -> Contacts | None:
    """Contacts with level ground."""
    return predictor.contacts(state, PlaneGround.flat())


@pytest.fixture(params=KINDS)
def old(request, monkeypatch) -> tuple[Path, dict[str, Tensor]]:
    """A checkpoint of format 1 and the numbers beside it, which PyTorch computed."""
    monkeypatch.setenv("NERD_FUSED", "0")
    return DATA / request.param, safetensors.torch.load_file(DATA / request.param / "numbers.safetensors")


def test_there_is_one_of_each_kind():
    """Networks with memory and without, heads, ensembles, and every prior with a network and without."""
    assert len(KINDS) == 8


def test_predictions_are_those_of_the_version_that_wrote_it(old):
    """Whole sequences, a roll-out step by step, and gradients, to 1e-6 of the largest number (gradients to 1e-5)."""
    path, numbers = old
    predictor = checkpoint.load(path)
    state, control = numbers["state"].requires_grad_(), numbers["control"].requires_grad_()
    prediction = predictor(state, control, contacts_of(predictor, state))
    for part in ("change", "log_var", "force"):
        if f"forward.{part}" in numbers:
            expected = numbers[f"forward.{part}"]
            if part == "force" and prediction.near is not None:  # today nothing acts on a body that nothing is near
                expected = expected.where(prediction.near.unsqueeze(-1), 0.0)
            close(getattr(prediction, part), expected, 1e-6)
        else:
            assert getattr(prediction, part) is None
    prediction.change.square().sum().backward()
    assert state.grad is not None and control.grad is not None
    close(state.grad, numbers["grad.state"], 1e-5)
    close(control.grad, numbers["grad.control"], 1e-5)
    cache, now = predictor.init_cache(len(state)), state[:, 0].detach()
    for step in range(control.shape[1]):
        now = predictor.next_state(
            now, predictor.step(now, control[:, step].detach(), contacts_of(predictor, now), cache)
        )
        close(now, numbers["rollout"][:, step], 1e-6)


def test_saved_again_it_is_of_todays_format_and_the_same(old, tmp_path):
    """What was read is written in the format of today, with the same settings and tensors."""
    path, _ = old
    predictor = checkpoint.load(path)
    again = checkpoint.read(checkpoint.save(tmp_path / "again", predictor))
    before = checkpoint.read(path)
    assert (before.schema, again.schema) == (checkpoint.EARLIER_SCHEMA, checkpoint.SCHEMA)
    assert again.config.predictor == before.config.predictor == predictor.cfg
    assert again.tensors.keys() == before.tensors.keys()
    assert all(torch.equal(tensor, before.tensors[name]) for name, tensor in again.tensors.items())


def test_no_run_goes_on_from_an_old_one():
    """A state of training of format 1 is refused with what to do instead; the model itself can be used."""
    assert not checkpoint.read(DATA / "lstm").has_training_state
    with pytest.raises(CheckpointError, match="start a new one from its weights"):
        checkpoint.load_training_state(DATA / "lstm")
