# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Calibrations: what an identification found comes back from the file, and nothing else does."""

from __future__ import annotations

import json

import pytest
import torch

from nerd_core.identification.engine_calibration import (
    EngineCalibration,
    calibration_of,
    read_calibration,
    write_calibration,
)
from nerd_core.identification.parameterisation import IdentificationError, Parameterisation
from support.identified_arm import arm

GROUPS = ["masses", "centres", "inertias", "frictions", "stiffnesses", "gravity"]


def made() -> EngineCalibration:
    """A calibration of an arm with other parameters."""
    parameterisation = Parameterisation(arm(), GROUPS)
    free = 0.2 * torch.randn(parameterisation.dim, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    return calibration_of(arm(), parameterisation(free))


def test_a_calibration_has_what_moves_by_name(tmp_path):
    """The fixed base and gravity are left out; friction is static and dynamic; the file gives back every digit."""
    calibration = made()
    assert list(calibration.bodies) == ["upper", "lower"] and list(calibration.joints) == ["shoulder", "elbow"]
    assert set(calibration.bodies["upper"]) == {"mass", "centre_of_mass", "inertia"}
    assert set(calibration.joints["elbow"]) == {"joint_friction", "joint_dynamic_friction", "stiffness"}
    write_calibration(tmp_path / "calibration.json", calibration)
    assert read_calibration(tmp_path / "calibration.json") == calibration


def test_parameters_of_another_robot_are_refused():
    """A calibration names bodies and joints that the robot must have."""
    calibration = made()
    calibration.require_parts(["base", "upper", "lower"], ["shoulder", "elbow"])
    with pytest.raises(IdentificationError, match="the joints elbow, expected some of shoulder"):
        calibration.require_parts(["upper", "lower"], ["shoulder"])


@pytest.mark.parametrize(
    "path, value",
    [
        (("kind",), "else"),
        (("version",), 2),
        (("bodies",), []),
        (("bodies", "upper"), 3),
        (("bodies", "upper", "mass"), [0.0]),
        (("bodies", "upper", "mass"), [-1.0]),
        (("bodies", "upper", "mass"), [1e300]),
        (("bodies", "upper", "inertia"), [1.0, 2.0]),
        (("bodies", "upper", "charge"), [1.0]),
        (("joints", "elbow", "stiffness"), "soft"),
        (("joints", "elbow", "stiffness"), -1.0),
        (("joints", "elbow", "stiffness"), True),
        (("joints", "elbow", "lower_limit"), 0.0),
    ],
)
def test_what_is_no_calibration_is_one_message(tmp_path, path, value):
    """Wrong kinds, unknown parameters, and numbers that nothing can have are refused by name."""
    file = tmp_path / "calibration.json"
    write_calibration(file, made())
    told = json.loads(file.read_text())
    here = told
    for name in path[:-1]:
        here = here[name]
    here[path[-1]] = value
    file.write_text(json.dumps(told))
    with pytest.raises(IdentificationError, match=r"calibration\.json"):
        read_calibration(file)
