# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Mechanics as a program: the exported step gives the numbers of this library, with contacts, stops and drives."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from nerd_core.export import CachedStep, ExportError, compare, export, onnx_runner
from nerd_core.mechanics import multibody
from nerd_core.mechanics.contact_patches import find_patches
from nerd_core.mechanics.elementary import inverse_by_columns
from nerd_core.network.architectures.residual import ResidualMlpCfg
from nerd_core.predictor.calibrated_mechanics import CalibratedMechanicsCfg
from nerd_core.predictor.config import PredictorCfg
from nerd_core.predictor.mechanics_prior import MechanicsPriorCfg
from nerd_core.predictor.predictor import Predictor
from nerd_core.predictor.transmission_prior import TransmissionCfg
from nerd_core.robot.spec import Actuator, ActuatorLaw, RobotSpec
from support.checkpoints import pendulum
from support.robots import ant, cartpole, cube, driven, random_tree, with_inertias

pytest.importorskip("onnxruntime")

QUICK = MechanicsPriorCfg(substeps=1, hidden=0)


def make(spec: RobotSpec, cfg: PredictorCfg) -> Predictor:
    """A predictor with weights that matter."""
    torch.manual_seed(2)
    predictor = Predictor(spec, cfg).eval()
    for name, parameter in predictor.named_parameters():
        parameter.data.add_(0.1 * torch.randn_like(parameter) * (0.3 if "constants" in name else 1.0))
    return predictor


def swinging() -> RobotSpec:
    """A pendulum with a drive, stepped once in a control step: the smallest program."""
    return replace(driven(with_inertias(pendulum())), decimation=1)


def test_an_inverse_by_columns_is_the_inverse():
    """Of symmetric matrices whose sizes of numbers differ by orders, to rounding; no number where there is none."""
    torch.manual_seed(0)
    factor = torch.randn(7, 6, 6, dtype=torch.double) * torch.logspace(-2, 1, 6, dtype=torch.double)
    matrices = factor @ factor.transpose(1, 2) + 0.1 * torch.eye(6)
    assert torch.allclose(inverse_by_columns(matrices) @ matrices, torch.eye(6).double().expand(7, 6, 6), atol=1e-9)
    assert inverse_by_columns(-matrices).isnan().any()


def test_both_formats_give_the_numbers_of_mechanics_for_any_batch(tmp_path):
    """A driven pendulum by rules of a substep: the export's own comparison, and batches of one and eight. Several
    substeps are in the longer programs below.
    """
    predictor = make(swinging(), PredictorCfg(network=None, prior=MechanicsPriorCfg(substeps=1, hidden=4)))
    report = export(predictor, tmp_path / "out", check_steps=50)
    assert len(report) == 2 and max(report.values()) < 1e-5
    program = torch.export.load(tmp_path / "out" / "step.pt2").module()
    for batch in (1, 8):
        for run in (onnx_runner(tmp_path / "out" / "step.onnx"), lambda inputs: program(*inputs)):
            assert compare(CachedStep(predictor), run, steps=20, batch=batch) < 1e-5


OTHERS = {
    "calibrated": (
        replace(with_inertias(cube()), decimation=1),
        PredictorCfg(network=None, prior=CalibratedMechanicsCfg(hidden=0, substeps=1, slots=1)),
    ),
    "transmission": (
        swinging(),
        PredictorCfg(network=None, prior=TransmissionCfg(hidden=0, substeps=1, torque_hidden=4)),
    ),
}


@pytest.mark.parametrize("name", OTHERS)
def test_mechanics_of_what_was_measured_are_exported_for_any_batch(tmp_path, name):
    """Calibrated mechanics, which make mechanics with other numbers on the way, and those behind a transmission, which
    change efforts: the program of PyTorch is not tied to the batch with which it was traced.
    """
    predictor = make(*OTHERS[name])
    export(predictor, tmp_path / "out", formats=("torch",), check_steps=5)
    program = torch.export.load(tmp_path / "out" / "step.pt2").module()
    assert compare(CachedStep(predictor), lambda inputs: program(*inputs), steps=5, batch=8) < 1e-4


def test_patches_are_the_same_in_onnx(tmp_path):
    """Which corners of a box rub: as in PyTorch. Whether any of nothing is true has another answer in ONNX."""

    class Found(torch.nn.Module):
        def forward(self, points, shapes, in_reach):
            return tuple(find_patches(points, shapes, in_reach))

    generator = torch.Generator().manual_seed(0)

    def corners(batch: int):
        shapes = torch.randint(2, (8, batch), generator=generator)
        return (
            torch.randn(8, 3, batch, generator=generator),
            shapes,
            (torch.rand(8, batch, generator=generator) < 0.6).float(),
        )

    program = torch.onnx.export(Found(), corners(40), dynamo=True, verbose=False)
    program.save(tmp_path / "patches.onnx")
    given = corners(40)
    for found, expected in zip(onnx_runner(tmp_path / "patches.onnx")(given), find_patches(*given), strict=True):
        torch.testing.assert_close(found, expected)


@pytest.mark.long  # 6 s to make a program that is refused; what is refused before has a test below
def test_an_operator_that_onnx_lacks_is_named(tmp_path, monkeypatch):
    """Factorising by an operator of its own is possible in torch.export alone; ONNX says which operator it is."""
    monkeypatch.setattr(
        multibody, "inverse_by_columns", lambda matrix: torch.cholesky_inverse(torch.linalg.cholesky_ex(matrix)[0])
    )
    predictor = make(swinging(), PredictorCfg(network=None, prior=QUICK))
    with pytest.raises(ExportError, match="linalg_cholesky_ex.*--format"):
        export(predictor, tmp_path / "out", formats=("onnx",), check_steps=2)
    assert not (tmp_path / "out").exists()


def test_actuators_that_are_objects_of_a_task_are_refused(tmp_path):
    """What delays or networks of a task do is in no program: the error names the joint and says what to do."""
    spec = swinging()
    law = Actuator("DelayedPDActuator", law=ActuatorLaw(10.0, 1.0, max_delay=2))
    delayed = replace(spec.joints[0], actuator=law, stiffness=0.0, damping=0.0)
    predictor = make(replace(spec, joints=(delayed,)), PredictorCfg(network=None, prior=QUICK))
    with pytest.raises(ExportError, match=f"can hold the actuators of .*{delayed.name}.*export a model of efforts"):
        export(predictor, tmp_path / "out")


LONG = {
    "cartpole": (with_inertias(cartpole()), PredictorCfg(network=None, prior=MechanicsPriorCfg(substeps=2))),
    "arm with drives": (
        replace(driven(with_inertias(random_tree(3, bodies=8, floating=False))), decimation=1, slots=()),
        PredictorCfg(network=None, prior=MechanicsPriorCfg(substeps=1)),
    ),
    "ant with a network behind": (
        replace(with_inertias(ant()), decimation=1),
        PredictorCfg(network=ResidualMlpCfg(width=8, hidden=8), prior=MechanicsPriorCfg(substeps=1, slots=4)),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", LONG)
def test_longer_programs_agree_as_well(tmp_path, name):
    """Slides and hinges, drives, floating robots with contacts, with a network behind: both programs by the export's
    own measure, that of PyTorch to a ten-thousandth. Slow, for a program has thousands of operators; the pendulum above
    is its small twin.
    """
    report = export(make(*LONG[name]), tmp_path / "out", check_steps=50)
    assert report["step.pt2"] < 1e-4 and report["step.onnx"] < 1e-2
