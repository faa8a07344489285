# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""docs/real-data.md is followed to the letter on the real logs that it names: files are written, commands run."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path

import pytest

from nerd_core.cli import main as nerd
from support.recorded_files import real_file

PAGE = Path(__file__).resolve().parents[2] / "docs" / "real-data.md"
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.long  # a quarter of a minute of identification and training on real logs
def test_the_page_runs_as_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """Every block in its order: commands end with zero, models come out, errors are those of one that has learned."""
    for name in ("dfki_double_pendulum_train.h5", "dfki_double_pendulum_val.h5"):
        shutil.copy(real_file(name), tmp_path / name)
    monkeypatch.chdir(tmp_path)
    ran = []
    for language, block in _BLOCK.findall(PAGE.read_text(encoding="utf-8")):
        if language == "python":
            exec(compile(block, "real-data.md", "exec"), {})
        elif language in ("json", "xml"):
            (tmp_path / {"json": "run.columns.json", "xml": "arm.urdf"}[language]).write_text(block, encoding="utf-8")
        else:
            for line in block.strip().splitlines():
                assert nerd(shlex.split(line)[1:]) == 0, f"{line}\n{capsys.readouterr().err}"
                ran.append(line)
    assert len(ran) == 10
    result = json.loads((tmp_path / "arm.json").read_text())
    assert result["counts"]["windows"] == 477 and result["counts"]["diverged"] == 0
    assert result["joint_rmse_rad"] < 0.25 and result["families"]["sysid_both_driven"]["joint_rmse_rad"] < 0.2
    assert (tmp_path / "runs" / "own" / "best" / "config.json").is_file()
