# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Tables, maps of columns and URDF files with changed bytes: recordings that are whole, or one message."""

from __future__ import annotations

import json
import random
import warnings
from pathlib import Path

import pytest

from nerd_core.recordings.conversion import in_memory
from nerd_core.recordings.plausibility import check_physics
from nerd_core.recordings.reading import read_recordings

VALUES = (
    *(b"nan", b"inf", b"-1e400", b"1e308", b"1e-320", b"9" * 400, b"-", b"", b",", b'"', b"\n", b"\0", b"\xff\xfe"),
    *(b"{}", b"[]", b"null", b"true", b"<a>", b"</robot>", b"\x1b[2J"),
)
"""What stands in a place where something else was."""

ARM = """<robot name="arm"><link name="base"/><link name="upper"><inertial><mass value="1.5"/>
<inertia ixx="0.02" iyy="0.03" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><geometry><cylinder radius="0.1" length="0.4"/></geometry></collision></link>
<joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><origin xyz="0 0 -0.4" rpy="0 0 1"/>
<axis xyz="0 2 0"/><limit lower="-2" upper="2" effort="9" velocity="7"/></joint></robot>"""


def changed(rng: random.Random, content: bytes) -> bytes:
    """One to five changes: a value, a byte, a part from elsewhere, a cut."""
    spoiled = bytearray(content)
    for _ in range(rng.choice([1, 1, 1, 2, 5])):
        at, kind = rng.randrange(max(1, len(spoiled))), rng.randrange(4)
        if kind == 0:
            spoiled[at : at + rng.randrange(8)] = rng.choice(VALUES)
        elif kind == 1:
            spoiled[at : at + 1] = rng.randbytes(1)
        elif kind == 2:
            other, length = rng.randrange(max(1, len(spoiled))), rng.randrange(40)
            spoiled[at : at + length] = spoiled[other : other + length]
        elif rng.random() < 0.3:
            del spoiled[at:]
    return bytes(spoiled)


@pytest.mark.parametrize("spoiled", ["run.csv", "run.columns.json", "arm.urdf"])
def test_changed_files_are_whole_or_refused(spoiled: str, tmp_path: Path):
    """A hundred changes of each file: what is read can be checked and converted; what is not is refused in few words
    that cannot steer a terminal.
    """
    rows = "\n".join(f"{0.01 * row:.3f},{0.1 * row % 3:.4f},{row % 5},{row // 30}" for row in range(60))
    columns = {"time": "t", "joint_pos": ["q"], "controls": {"measured": ["u"]}, "run": "trial"}
    sound = {"run.csv": f"t,q,u,trial\n{rows}\n", "run.columns.json": json.dumps(columns), "arm.urdf": ARM}
    for name, text in sound.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    read_recordings(tmp_path / "run.csv", robot=tmp_path / "arm.urdf")
    refused = 0
    for seed in range(100):
        (tmp_path / spoiled).write_bytes(changed(random.Random(seed), sound[spoiled].encode()))
        try:
            with warnings.catch_warnings(action="ignore", category=RuntimeWarning):  # numbers beyond all sizes
                recordings = read_recordings(tmp_path / "run.csv", robot=tmp_path / "arm.urdf")
                check_physics(recordings)
                in_memory(recordings)
        except ValueError as error:
            refused += 1
            assert len(str(error)) < 2000 and "\x1b" not in str(error)
    assert refused > 20
