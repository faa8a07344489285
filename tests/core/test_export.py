# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The exported step gives the numbers of this library, for hundreds of steps, resets and other batches included."""

import json
from dataclasses import replace

import pytest
import torch

from nerd_core import checkpoint
from nerd_core.cli import main
from nerd_core.export import INTERFACE, ONNX, PROGRAM, CachedStep, ExportError, compare, export, onnx_runner
from nerd_core.network.architectures.mlp import MlpCfg
from nerd_core.network.architectures.recurrent import RecurrentCfg
from nerd_core.network.architectures.residual import ResidualMlpCfg
from nerd_core.network.token_config import TokenCfg
from nerd_core.predictor.config import PredictorCfg
from nerd_core.predictor.predictor import Predictor
from support.checkpoints import SMALL, crawler, pendulum
from support.robots import symmetric_ant

pytest.importorskip("onnxruntime")

FORCES = (crawler(), PredictorCfg(network=SMALL, force_head=True))
OTHERS = {
    "ensemble of perceptrons": (pendulum(), PredictorCfg(network=MlpCfg(hidden=(8,), window=2), ensemble=2)),
    "ensemble of transformers": (crawler(), PredictorCfg(network=SMALL, ensemble=2, variance_head=True)),
    "absolute positions": (crawler(), PredictorCfg(network=replace(SMALL, rotary=False))),
    "views of a symmetric robot": (
        symmetric_ant(),
        PredictorCfg(network=ResidualMlpCfg(width=8, hidden=8), token=TokenCfg(symmetric=True, told_view=True)),
    ),
    "bounded": (crawler(), PredictorCfg(network=ResidualMlpCfg(width=8, hidden=8), within_data=True)),
    "lstm": (crawler(), PredictorCfg(network=RecurrentCfg(cell="lstm", hidden=8))),
}


def make(spec, cfg) -> Predictor:
    """A predictor with weights that make the history matter."""
    torch.manual_seed(2)
    predictor = Predictor(spec, cfg).eval()
    for parameter in predictor.parameters():
        parameter.data.mul_(3.0)
    if predictor.bounds is not None:  # narrow ones, which steps meet
        for name, bound in predictor.bounds.named_buffers(recurse=False):
            if not name.startswith("_"):
                bound.copy_(-torch.ones_like(bound) if name.endswith("lower") else torch.ones_like(bound))
    return predictor


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """A floating robot with contacts and forces, exported in both formats from the command line."""
    folder = tmp_path_factory.mktemp("export")
    path = checkpoint.save(folder / "model", make(*FORCES))
    assert main(["checkpoint", "export", str(path), "--out", str(folder / "out"), "--check-steps", "300"]) == 0
    return folder / "out"


def test_both_formats_agree_over_300_steps_with_resets(exported):
    """The largest relative difference of states and forces, as the export reports it, stays below 1e-5."""
    check = json.loads((exported / INTERFACE).read_text())["check"]
    assert check["steps"] == 300 and set(check["largest_difference"]) == {PROGRAM, ONNX}
    assert max(check["largest_difference"].values()) < 1e-5
    assert sorted(file.name for file in exported.iterdir()) == sorted((INTERFACE, ONNX, PROGRAM))


def test_the_batch_is_free(exported):
    """One file serves any number of environments, one and more than it was made with."""
    program = torch.export.load(exported / PROGRAM).module()
    for batch in (1, 8):
        for run in (onnx_runner(exported / ONNX), lambda inputs: program(*inputs)):
            assert compare(CachedStep(make(*FORCES)), run, steps=30, batch=batch) < 1e-5


def test_the_comparison_notices_other_weights_and_a_lost_history(exported):
    """A weight changed by a percent, and a runner that forgets the history, are both told apart."""
    other = make(*FORCES)
    other.get_parameter("residual.network.embed.weight").data.mul_(1.01)
    run = onnx_runner(exported / ONNX)
    assert compare(CachedStep(other), run, steps=20) > 1e-4

    def forgetful(inputs):
        outputs = run(inputs)
        kept = len(outputs) - 2
        return (*outputs[:2], *(torch.zeros_like(tensor) for tensor in outputs[-kept:]))

    assert compare(CachedStep(make(*FORCES)), forgetful, steps=20) > 1e-4


def test_the_inputs_are_left_as_they_were(exported):
    """Neither the wrapped step nor the ONNX file writes to what it is given."""
    step = CachedStep(make(*FORCES))
    state = torch.randn(2, crawler().state.dim)
    contacts = (torch.zeros(2, 2), torch.zeros(2, 2, 3), torch.zeros(2, 2, 3), torch.zeros(2, 2, dtype=torch.bool))
    history = tuple(tensor + 1 for tensor in step.predictor.init_cache(2).values())
    inputs = (state, torch.randn(2, 1), *contacts, torch.tensor([True, False]), *history)
    copies = tuple(tensor.clone() for tensor in inputs)
    for run in (lambda given: step(*given), onnx_runner(exported / ONNX)):
        run(inputs)
        assert all(torch.equal(tensor, copy) for tensor, copy in zip(inputs, copies, strict=True))


def test_the_interface_describes_the_file(exported):
    """Names, order and ranks of all inputs and outputs are those of the ONNX file; units and frames are named."""
    import onnxruntime as ort

    document = json.loads((exported / INTERFACE).read_text())
    session = ort.InferenceSession(str(exported / ONNX), providers=["CPUExecutionProvider"])
    for entries, items in [(document["inputs"], session.get_inputs()), (document["outputs"], session.get_outputs())]:
        assert [entry["name"] for entry in entries] == [item.name for item in items]
        for entry, item in zip(entries, items, strict=True):
            assert len(entry["shape"]) == len(item.shape)
            fixed = [(a, b) for a, b in zip(entry["shape"], item.shape, strict=True) if a != "N"]
            assert all(a == b for a, b in fixed)
            assert isinstance(item.shape[entry["shape"].index("N")], str)
    assert document["spec_hash"] == crawler().content_hash and document["conventions"]["quaternion"] == "xyzw"
    assert [part["name"] for part in document["state"]][:3] == ["root_pos", "root_quat", "joint_pos"]
    assert document["contact_slots"][0]["gate_m"] == pytest.approx(0.4)


@pytest.mark.long  # two more programs, ten seconds to make; the comparison's measure is tested above
def test_a_steep_network_may_differ_as_its_own_rounding_does(tmp_path):
    """Where single precision is further from double than 1e-5, that is the measure, and it stands in the file."""
    token = TokenCfg(contact_motion=True, contact_fine=True)
    steep = make(crawler(), PredictorCfg(network=ResidualMlpCfg(width=8, hidden=8), token=token))
    torch.manual_seed(0)
    for parameter in steep.parameters():
        parameter.data.normal_(std=0.3)
    report = export(steep, tmp_path / "out", check_steps=30)
    check = json.loads((tmp_path / "out" / INTERFACE).read_text())["check"]
    assert 1e-5 < max(report.values()) <= check["allowed_difference"] < 1e-3


def test_an_existing_place_is_protected(tmp_path):
    """Without overwriting nothing is touched; and only an earlier export can be overwritten."""
    predictor = make(*FORCES)
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.tex").write_text("years")
    for overwrite in (False, True):
        with pytest.raises(ExportError, match="exists"):
            export(predictor, tmp_path / "thesis", overwrite=overwrite)
    assert (tmp_path / "thesis" / "chapter.tex").read_text() == "years"
    with pytest.raises(ExportError, match="formats"):
        export(predictor, tmp_path / "new", formats=())


@pytest.mark.slow
@pytest.mark.parametrize("name", OTHERS)
def test_every_kind_of_model_can_be_exported(tmp_path, name):
    """Perceptrons, recurrent networks, absolute positions and ensembles agree as well."""
    report = export(make(*OTHERS[name]), tmp_path / "out", check_steps=300)
    assert max(report.values()) < 1e-5


def test_a_model_that_says_no_numbers_is_refused(tmp_path):
    """A step that is not finite agrees with nothing: the refusal says so, and leaves no folder."""
    predictor = make(pendulum(), PredictorCfg(network=MlpCfg(hidden=(8,))))
    with torch.no_grad():
        for param in predictor.parameters():
            param.fill_(torch.inf)
    with pytest.raises(ExportError, match="cannot be compared"):
        export(predictor, tmp_path / "out", formats=("torch",), check_steps=2)
    assert not (tmp_path / "out").exists()
