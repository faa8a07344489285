# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The kernels of mechanics compile for GPUs, also where there is none.

Commands to measure how long each takes::

    python -m pytest tests/core/mechanics/test_kernel_architectures.py --slow --durations=0
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from nerd_core.mechanics.config import MechanicsCfg
from nerd_core.mechanics.kernel.verification import trial_parameters
from nerd_core.mechanics.step import Mechanics
from nerd_core.robot.frames import ChangeCodec
from nerd_core.robot.spec import RobotSpec
from support.robots import ant, cartpole, with_inertias

warp = pytest.importorskip("warp", reason="needs Warp, which Isaac Lab brings")

ARCHITECTURES = (80, 86, 90, 120)
"""Ampere of data centres and of desks, Hopper, Blackwell."""

KERNELS = ("step", "forces", "kept", "adjoint")


def compile_for(
    spec: RobotSpec, kernel: str, architecture: int, folder: Path, monkeypatch, use_ptx: bool
) -> list[Path]:
    """Compiles a kernel of a robot for a GPU; nothing is compiled for this machine."""
    from nerd_core.mechanics.kernel.adjoint.step import make_adjoint
    from nerd_core.mechanics.kernel.robot import RobotKernel
    from nerd_core.mechanics.kernel.step import make_kernel

    monkeypatch.setattr(RobotKernel, "load", lambda self, kernel: None)
    cfg = MechanicsCfg(substeps=4, hidden=16, slots=8, self_contacts=4)
    mechanics = Mechanics(spec, ChangeCodec(spec), cfg, has_contacts=bool(spec.slots))
    parameters = trial_parameters(spec, drives=True) if "parameters" in kernel else None
    robot = RobotKernel(spec, mechanics.solver, 0.625, torch.device("cpu"), parameters)
    if kernel.startswith("adjoint"):
        made = make_adjoint(robot.sizes, robot.types)[0]
    else:
        options = {"is_kept": kernel == "kept", "tells_forces": kernel == "forces"}
        made = make_kernel(robot.sizes, robot.types, **options)
    return warp.compile_aot_module(made.module, arch=architecture, module_dir=folder, use_ptx=use_ptx)


def test_the_step_compiles_for_one_gpu(tmp_path, monkeypatch):
    """The step of a small robot becomes a program for GPUs of one architecture; the others take longer."""
    (found,) = compile_for(with_inertias(cartpole()), "step", 80, tmp_path, monkeypatch, use_ptx=True)
    text = found.read_text()
    assert ".target sm_80" in text and ".entry" in text and "advance" in text


@pytest.mark.long  # 5 s of compiling
def test_a_robot_whose_bodies_touch_each_other_compiles_for_gpus(tmp_path, monkeypatch):
    """So does the step of a robot with contact between its bodies, which is a part of the program."""
    spec = replace(with_inertias(ant()), touching_bodies=(("leg_0", "foot_1"),))
    (found,) = compile_for(spec, "step", 80, tmp_path, monkeypatch, use_ptx=True)
    assert ".target sm_80" in found.read_text()
    (alone,) = compile_for(with_inertias(ant()), "step", 80, tmp_path / "alone", monkeypatch, use_ptx=True)
    assert len(found.read_text()) > 1.05 * len(alone.read_text())


@pytest.mark.long  # 5 s of compiling for a step, 17 s for an adjoint, of which the oldest and the newest stand for all
@pytest.mark.parametrize(
    ("architecture", "kernel"),
    [
        pytest.param(architecture, kernel, marks=() if is_quick else pytest.mark.slow)
        for architecture in ARCHITECTURES
        for kernel, is_quick in (
            ("step", True),
            ("adjoint", architecture in (ARCHITECTURES[0], ARCHITECTURES[-1])),
            ("adjoint by parameters", architecture in (ARCHITECTURES[0], ARCHITECTURES[-1])),
        )
    ],
)
def test_step_and_adjoint_compile_for_all_gpus(kernel, architecture, tmp_path, monkeypatch):
    """Both directions of a small robot become programs for each architecture."""
    (found,) = compile_for(with_inertias(cartpole()), kernel, architecture, tmp_path, monkeypatch, use_ptx=True)
    assert f".target sm_{architecture}" in found.read_text()


@pytest.mark.slow  # 15 to 40 s of compiling each
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_all_kernels_of_the_ant_compile_to_binaries(kernel, architecture, tmp_path, monkeypatch):
    """Forward, with forces, kept for the adjoint, and the adjoint, with contacts, as binaries for each architecture."""
    (found,) = compile_for(with_inertias(ant()), kernel, architecture, tmp_path, monkeypatch, use_ptx=False)
    assert f"sm{architecture}" in found.name and found.stat().st_size > 10_000
