# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""How far a model is from measurements of the real mechanism. Starts no engine.

Example::

    result = evaluate_recordings("runs/cube/best", "cube.h5", "windows", JudgeCfg(window=80))
    print(result["position_m"], result["rotation_rad"], result["counts"]["windows"])
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nerd_core.checkpoint_names import find_checkpoint
from nerd_core.judging.config import JudgeCfg, Protocol


def evaluate_recordings(
    model: str | Path, data: str | Path, protocol: Protocol, cfg: JudgeCfg, columns: str | Path | None = None
) -> dict[str, Any]:
    """Lets a model predict recordings of a file; see :class:`~nerd_core.judging.judge.JudgeResult`.

    Args:
        model: Directory of the model, or the name of a shipped one.
        data: File of the recordings.
        protocol: Windows of equal length, or whole runs.
        cfg: Which of them.
        columns: Map of the columns of a log that is no HDF5 file. Its robot is that of the model.

    Returns:
        The errors as plain values, with what made them: command, versions, digest of the file.
    """
    from nerd_core import checkpoint
    from nerd_core.files.provenance import describe_run
    from nerd_core.judging.judge import judge
    from nerd_core.recordings.reading import HDF5, file_digest, read_recordings

    predictor = checkpoint.load(find_checkpoint(model)).eval()
    recordings = read_recordings(data, columns, None if Path(data).suffix in HDF5 else predictor.spec)
    result = judge(predictor, recordings, cfg, protocol)
    made_by = describe_run(data={Path(data).name: file_digest(data)})
    return {"model": Path(model).name, "data": Path(data).name, **result.plain(), "made_by": made_by}


__all__ = ["evaluate_recordings"]
