# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""HDF5 files that are cut short, changed, or made to harm are refused by one message that names them."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest

from nerd_core.cli import main as nerd
from nerd_core.recordings import hdf5
from nerd_core.recordings.reading import read_recordings
from nerd_core.recordings.recording import RecordingError
from support.recorded_files import driven_pendulum_file, passive_pendulum_file, toss_file

LONGEST = 1500
"""Longest message [characters]."""


def refused(path: Path) -> str:
    """The message by which a file is refused."""
    with pytest.raises(RecordingError) as error:
        read_recordings(path)
    said = str(error.value)
    assert path.name in said and len(said) < LONGEST
    return said


def changed(path: Path, change: Callable[[h5py.File], None]) -> Path:
    """A toss file after a change."""
    toss_file(path)
    with h5py.File(path, "r+") as file:
        change(file)
    return path


def replaced(name: str, values: np.ndarray) -> Callable[[h5py.File], None]:
    """The change that puts other values in the place of an array."""

    def change(file: h5py.File) -> None:
        del file[name]
        file[name] = values

    return change


@pytest.mark.parametrize(
    ("name", "values", "said"),
    [
        ("pos", np.zeros((4, 30, 2), "f4"), "'pos' has the shape"),
        ("pos", np.zeros((4, 30, 3), "i4"), "expected real numbers"),
        ("quat", np.zeros((4, 29, 4), "f4"), "'quat' has the shape"),
        ("quat", np.full((4, 30, 4), 0.7, "f4"), "quaternion of length 1.4"),
        ("ang_vel", np.full((4, 30, 3), np.nan, "f4"), "'root_ang_vel' is NaN"),
        ("length", np.array([20, 25, 31, 22], "i4"), "expected 2 to 30 frames"),
        ("length", np.array([20, 25, -3, 22], "i4"), "expected 2 to 30 frames"),
        ("toss_id", np.zeros(4, "i4"), "two recordings of the name 'toss_000'"),
        ("split", np.zeros(4, "i4"), "expected short texts"),
    ],
)
def test_arrays_that_contradict_the_schema(name: str, values: np.ndarray, said: str, tmp_path: Path):
    """Other shapes and types, lengths beyond the arrays, NaN and wrong quaternions: the message says what is wrong."""
    assert said in refused(changed(tmp_path / "cube.h5", replaced(name, values)))


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("sampling_rate_hz", -1.0, "sampling rate of -1"),
        ("sampling_rate_hz", np.nan, "one finite number"),
        ("sampling_rate_hz", "fast", "one finite number"),
        ("mass_kg", 0.0, "expected a positive number"),
        ("mass_kg", 1e300, "describe no robot"),
        ("physical_json", "{", "not sound JSON"),
        ("physical_json", "[1]", "expected an object"),
        ("physical_json", '{"inertia_diag_kg_m2": [1, 2]}', "no three numbers"),
        ("schema", "realdata.toss.rigidbody.v2\x1b[2J", "got the schema"),
        ("schema", 3.0, "expected a text"),
    ],
)
def test_facts_that_describe_nothing(name: str, value: object, said: str, tmp_path: Path):
    """Rates, masses and documents that cannot be: the message says which."""
    path = changed(tmp_path / "cube.h5", lambda file: file.attrs.__setitem__(name, value))
    assert said in refused(path)


def test_nothing_outside_of_the_file_is_read(tmp_path: Path):
    """External links, external storage and virtual arrays are not followed."""
    shutil.copy(toss_file(tmp_path / "secret.h5"), tmp_path / "other.h5")
    layout = h5py.VirtualLayout((4, 30, 3), "f4")
    layout[:] = h5py.VirtualSource(str(tmp_path / "secret.h5"), "pos", (4, 30, 3))
    (tmp_path / "raw").write_bytes(bytes(4 * 30 * 3 * 4))

    def link(file: h5py.File) -> None:
        del file["pos"]
        file["pos"] = h5py.ExternalLink(str(tmp_path / "secret.h5"), "pos")

    def virtual(file: h5py.File) -> None:
        del file["pos"]
        file.create_virtual_dataset("pos", layout)

    def external(file: h5py.File) -> None:
        del file["pos"]
        file.create_dataset("pos", (4, 30, 3), "f4", external=[(str(tmp_path / "raw"), 0, h5py.h5f.UNLIMITED)])

    assert "link to elsewhere" in refused(changed(tmp_path / "link.h5", link))
    for change in (virtual, external):
        assert "lies in another file" in refused(changed(tmp_path / f"{change.__name__}.h5", change))


def test_memory_is_not_taken_for_what_a_file_claims(tmp_path: Path):
    """An array of a terabyte without content, in a file of some kilobytes, is refused."""

    def change(file: h5py.File) -> None:
        del file["pos"]
        file.create_dataset("pos", (4, 2**34, 3), "f4", chunks=(1, 1024, 3))

    path = changed(tmp_path / "cube.h5", change)
    assert path.stat().st_size < 100_000 and "claims 824,633,720,832 bytes" in refused(path)


def test_files_that_are_cut_short_or_foreign(tmp_path: Path):
    """Half a file, an empty one, another format, a link, a folder: one message each."""
    whole = toss_file(tmp_path / "cube.h5").read_bytes()
    for name, content in (("half", whole[: len(whole) // 2]), ("empty", b""), ("text", b"time,pos\n1,2\n")):
        (tmp_path / f"{name}.h5").write_bytes(content)
        refused(tmp_path / f"{name}.h5")
    (tmp_path / "link.h5").symlink_to(tmp_path / "cube.h5")
    (tmp_path / "folder.h5").mkdir()
    assert "is a link" in refused(tmp_path / "link.h5") and "directory" in refused(tmp_path / "folder.h5")
    assert "is not there" in refused(tmp_path / "missing.h5")


def test_reading_that_does_not_end_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The library turns in circles on some damaged files: the process that reads is ended, and the file is named."""
    monkeypatch.setattr(hdf5, "SECONDS", 1)
    monkeypatch.setattr(hdf5, "CHILD", tmp_path / "child.py")
    (tmp_path / "child.py").write_text(
        "import resource, sys\nresource.setrlimit(resource.RLIMIT_CPU, (int(sys.argv[3]), 9))\n"
        "sys.stdin.buffer.read()\nwhile True: pass\n"
    )
    assert "does not end" in refused(toss_file(tmp_path / "cube.h5"))


@pytest.mark.parametrize("seed", range(12))
def test_bytes_that_were_changed(seed: int, tmp_path: Path):
    """Changed bytes anywhere in a file are noticed or harmless: a set of recordings, or one message."""
    rng = random.Random(seed)
    kinds = (toss_file, lambda path: toss_file(path, links=2), driven_pendulum_file, passive_pendulum_file)
    path = tmp_path / "file.h5"
    content = bytearray(rng.choice(kinds)(path).read_bytes())
    for _ in range(rng.choice([1, 2, 8])):
        at = rng.randrange(8, min(len(content), 6000))
        content[at : at + 4] = rng.choice([b"\xff" * 4, b"\0" * 4, rng.randbytes(4)])
    path.write_bytes(content)
    try:
        read_recordings(path)
    except RecordingError as error:
        assert path.name in str(error) and len(str(error)) < LONGEST


def test_the_command_says_it_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """``nerd data import`` of a damaged file ends with code 2 and one line, and leaves no dataset."""
    path = toss_file(tmp_path / "cube.h5")
    path.write_bytes(path.read_bytes()[:3000])
    assert nerd(["data", "import", str(path), "--out", str(tmp_path / "data")]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "cube.h5" in said and not (tmp_path / "data").exists()
