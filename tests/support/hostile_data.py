# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Datasets that mean harm: made from sound ones with knowledge of the formats; checksums are made right again."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import random
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from nerd_core.data.dataset import TrajectoryDataset
from nerd_core.data.fields import FIELDS, shape_for
from nerd_core.data.layout import ShardMeta
from nerd_core.data.manifest import write_manifest
from nerd_core.data.shards import MANIFEST, ShardWriter
from nerd_core.files.serialization import from_plain
from nerd_core.robot.spec import RobotSpec

from .damage import _places
from .trajectories import SPEC, make_batch

Files = dict[str, bytes]

HUGE = (0, -1, 1, 2**31, 2**40, 2**53, 2**62, 2**63, 2**64 - 1, 2**64, 10**30, 10**400, 10**4000)
NAUGHTY = (
    "\x1b[2J\x1b]0;owned\x07",
    "\u202egnihton",
    "\ud800",
    "\x9b31m",
    "../../etc/passwd",
    "\0",
    "x" * 10**5,
    "$\\frac{",
)
WORDS: tuple[Any, ...] = (*HUGE, *NAUGHTY, 1e308, -1e308, 0.5, 1e-320, True, None, "", "inf", [], {}, [[]], "a\nb")
SPOILED = (LookupError, ValueError, TypeError, ArithmeticError, AttributeError, RecursionError, OSError, struct.error)
"""What happens to those who change what somebody has spoiled already."""
NUMBERS = (np.nan, np.inf, -np.inf, 3e38, -3e38, 1e-45, 0.0)


def sound_datasets(folder: Path) -> list[Files]:
    """Small complete datasets of every kind, each with a flat copy.

    Args:
        folder: An empty folder to make them in.
    """
    cube = RobotSpec("cube", True, SPEC.joints[:0], SPEC.bodies[:1], (), physics_dt=0.005, decimation=1)
    found = []
    for compression in ("none", "gzip"):
        for recorded in (False, True):
            root = folder / f"{compression}-{recorded}"
            for shard in range(2):
                with ShardWriter(root, SPEC, ShardMeta(task="hop"), shard=shard, compression=compression) as writer:
                    for seed in range(2 - shard):
                        writer.append_trajectories(make_batch(4, 7, 10 * shard + seed, recorded))
            found.append(root)
    found.append(folder / "cube")
    with ShardWriter(found[-1], cube, ShardMeta()) as writer:
        writer.append(np.ones((3, 6, 13), "<f4"), np.ones((3, 5, 0), "<f4"))
    for root in found:
        write_manifest(root)
        TrajectoryDataset.open(root, storage="mapped")
    return [_read(root) for root in found]


def _read(root: Path) -> Files:
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}


class Segment:
    """The parts of a segment file: sizes, header, table of chunks, and the rest."""

    def __init__(self, content: bytes):
        text, chunks = struct.unpack_from("<QQ", content, 16)
        self.header: dict[str, Any] = json.loads(content[64 : 64 + text])
        self.table = np.frombuffer(content, "<i8", 2 * chunks, 64 + text).reshape(-1, 2).copy()
        self.block = content.index(b"\x89HDF\r\n")
        self.image = content[self.block :]

    def content(self) -> bytes:
        """The file again, with all sizes and the seal made right."""
        text = json.dumps(self.header, separators=(",", ":")).encode()
        block = max(512, 1 << (64 + len(text) + self.table.nbytes - 1).bit_length())
        table = self.table.copy()
        with contextlib.suppress(OverflowError):
            table[:, 0] += block - self.block
        front = struct.pack("<8sQQQ32s", b"NERDSEG1", block + len(self.image), len(text), len(table), bytes(32))
        return seal((front + text + table.tobytes()).ljust(block, b"\0") + self.image)

    def fill(self, count: int, steps: int) -> None:
        """Puts zeros in the place of all numbers. All chunks of an array are the same one: the file stays small.

        Args:
            count: Number of trajectories.
            steps: Number of transitions of all of them.
        """
        spec = from_plain(RobotSpec, self.header["spec"])
        self.header |= {"trajectories": count, "transitions": steps, "compression": "gzip"}
        table, image, size = [], bytearray(self.image[:512]), 0
        for field, entry in self.header["arrays"].items():
            shape = shape_for(field, spec, count, steps)
            dtype = np.dtype(FIELDS[field].dtype)
            row = int(np.prod(shape[1:])) * dtype.itemsize
            rows = max(1, min(shape[0], 2**20 // max(1, row)))
            entry |= {"shape": list(shape), "chunk_rows": rows}
            if 0 in shape:
                continue
            chunk = np.full(rows, steps // count, "<i8") if field == "length" else np.zeros(rows * row, "u1")
            packed = zlib.compress(chunk.view("u1").reshape(-1, dtype.itemsize).T.tobytes(), 9)
            table += [(self.block + len(image), len(packed))] * min(-(-shape[0] // rows), 10**5)
            image += packed
            size += shape[0] * row
        # As long as deflate would make it: else the claim is known for a lie.
        self.table, self.image = np.array(table, "<i8").reshape(-1, 2), bytes(image) + bytes(min(size // 1000, 2**20))

    def mend_spec(self) -> None:
        """Makes the hash of the robot right, if there still is a robot."""
        with contextlib.suppress(ValueError, TypeError, OverflowError):
            self.header["spec_hash"] = from_plain(RobotSpec, self.header["spec"]).content_hash


def seal(content: bytes) -> bytes:
    """The same with its checksum made right."""
    if len(content) < 64:
        return content
    return content[:32] + hashlib.sha256(content[:32] + bytes(32) + content[64:]).digest() + content[64:]


class Hostility:
    """Ways to spoil a dataset. Each changes the files that it is given in place."""

    def __init__(self, rng: random.Random):
        self.rng = rng

    # -- segments ----------------------------------------------------------------------------------------------

    def damage_bytes(self, files: Files) -> None:
        """Bits, cuts and additions, sealed or not."""
        name = self._segment(files)
        out, rng = bytearray(files[name]), self.rng
        at = rng.randrange(len(out))
        what = rng.randrange(5)
        if what == 0:
            for _ in range(rng.choice([1, 8, 200])):
                out[rng.randrange(len(out))] ^= 1 << rng.randrange(8)
        elif what == 1:
            del out[rng.choice([0, 8, 31, 64, at]) :]
        elif what == 2:
            out += rng.randbytes(rng.randrange(1, 4096))
        elif what == 3:
            out[at : at + 512] = bytes(len(out[at : at + 512]))
        else:
            struct.pack_into("<Q", out, rng.choice([8, 16, 24]), rng.choice([0, 1, 2**20, 2**40, 2**63, 2**64 - 1]))
        if rng.random() < 0.7:
            if len(out) > 16 and what != 4:
                struct.pack_into("<Q", out, 8, len(out))
            out = bytearray(seal(bytes(out)))
        files[name] = bytes(out)

    def change_header(self, files: Files) -> None:
        """Values of the header, robot included, in place of which anything may stand."""
        name, segment = self._open(files)
        for _ in range(self.rng.choice([1, 1, 2, 4])):
            holder, key = self.rng.choice(list(_places(segment.header)))
            self._change(holder, key)
        if self.rng.random() < 0.8:
            segment.mend_spec()
        files[name] = segment.content()

    def rename(self, files: Files) -> None:
        """A name that stands in several places, everywhere: the robot stays sound, its names are naughty."""
        word = self.rng.choice(NAUGHTY)
        old = self.rng.choice([b"hip", b"leg", b"torso", b"foot", b"hop"])
        for name in [name for name in files if name.endswith(".h5")]:
            segment = Segment(files[name])
            text = json.dumps(segment.header).replace(f'"{old.decode()}"', json.dumps(word))
            segment.header = json.loads(text)
            segment.mend_spec()
            files[name] = segment.content()

    def make_a_bomb(self, files: Files) -> None:
        """Some KB that unpack to as much as the header claims."""
        name, segment = self._open(files)
        count = self.rng.choice([1, 1, 50])
        segment.fill(count, count * (self.rng.choice([10**4, 10**4, 10**5, 5 * 10**5, 10**6, 10**7, 10**9]) // count))
        files[name] = segment.content()

    def move_chunks(self, files: Files) -> None:
        """Entries of the chunk table that lead elsewhere."""
        name, segment = self._open(files)
        for _ in range(self.rng.choice([1, 3, 50])):
            row, column = self.rng.randrange(len(segment.table)), self.rng.randrange(2)
            segment.table[row, column] = self.rng.choice([-1, 0, 7, 2**31, 2**62, -(2**63), len(segment.image), 64])
        if self.rng.random() < 0.2:
            self.rng.shuffle(rows := segment.table.tolist())
            segment.table = np.array(rows, "<i8")
        files[name] = segment.content()

    def change_numbers(self, files: Files) -> None:
        """Numbers inside the arrays: none, infinite, enormous."""
        name, segment = self._open(files)
        image = bytearray(segment.image)
        for offset, size in segment.table.tolist():
            if size >= 4 and self.rng.random() < 0.5:
                at = offset - segment.block + 4 * self.rng.randrange(size // 4)
                struct.pack_into("<f", image, at, self.rng.choice(NUMBERS))
        segment.image = bytes(image)
        files[name] = segment.content()

    def exchange_arrays(self, files: Files) -> None:
        """Entries of two arrays take each other's place, or one is missing or of another name."""
        name, segment = self._open(files)
        arrays = segment.header["arrays"]
        one, other = self.rng.choice(list(arrays)), self.rng.choice(list(arrays))
        what = self.rng.randrange(3)
        if what == 0:
            arrays[one], arrays[other] = arrays[other], arrays[one]
        elif what == 1:
            del arrays[one]
        else:
            arrays[self.rng.choice([*NAUGHTY, "__class__", "contact_active", "body_force"])] = arrays.pop(one)
        files[name] = segment.content()

    def make_a_giant_robot(self, files: Files) -> None:
        """A robot with thousands of joints, which is sound."""
        name, segment = self._open(files)
        spec = segment.header["spec"]
        if not spec["joints"]:
            return
        for index in range(self.rng.choice([50, 100, 200, 900, 8000])):
            spec["joints"].append(spec["joints"][0] | {"name": f"j{index}"})
            spec["bodies"].append(spec["bodies"][1] | {"name": f"b{index}", "joint": f"j{index}"})
        if self.rng.random() < 0.5:
            spec["slots"] *= self.rng.choice([100, 1000])
        segment.mend_spec()
        segment.fill(2, self.rng.choice([10, 400]))
        segment.header |= {"shard": "shard-000", "first_trajectory": 0, "batch": 0}
        for other in [other for other in files if other.endswith(".h5")]:
            del files[other]
        files["shard-000/000000.h5"] = segment.content()

    # -- manifest and flat copy --------------------------------------------------------------------------------

    def change_manifest(self, files: Files) -> None:
        """Values of the manifest."""
        if MANIFEST in files:
            plain = json.loads(files[MANIFEST])
            for _ in range(self.rng.choice([1, 1, 3])):
                self._change(*self.rng.choice(list(_places(plain))))
            files[MANIFEST] = json.dumps(plain).encode()

    def write_hostile_json(self, files: Files) -> None:
        """Documents that are hard to parse, in the place of the manifest or of the index of the flat copy."""
        names = [name for name in files if name.endswith(".json")]
        if not names:
            return
        name = self.rng.choice(names)
        text = files[name].decode("utf-8", "replace")
        files[name] = self.rng.choice(
            [
                b"",
                b"null",
                b"[]",
                b"\xff\xfe",
                b"[" * 100000 + b"]" * 100000,
                b'{"a":' * 70 + b"1" + b"}" * 70,
                text.replace(": ", ": NaN, ", 1).encode(),
                text.replace("{", '{"schema": "x",', 1).encode(),
                text.replace("1", "9" * 5000, 1).encode(),
                b'"' + b"x" * 5 * 2**20 + b'"',
                text.replace('"', '"\\ud800\\u001b[2J', 3).encode(),
            ]
        )

    def forge_copy(self, files: Files) -> None:
        """Arrays of the flat copy, with its index made right."""
        name = self.rng.choice([name for name in files if name.endswith(".bin")] or [""])
        if not name:
            return
        content, what = files[name], self.rng.randrange(5)
        if name.endswith("length.bin"):
            values = np.frombuffer(content, "<i8").copy()
            values[self.rng.randrange(len(values))] = self.rng.choice([0, -1, 10**6, 2**62, -(2**62)])
            content = values.tobytes()
        elif what == 0:
            content = content[: len(content) // 2]
        elif what == 1:
            content = content * 2
        elif what == 2:
            content = b""
        else:
            content = self.rng.randbytes(len(content))
        files[name] = content
        index = os.path.dirname(name) + "/index.json"
        with contextlib.suppress(KeyError, ValueError, TypeError):
            plain = json.loads(files[index])
            plain["arrays"][os.path.basename(name)[:-4]]["sha256"] = hashlib.sha256(content).hexdigest()
            files[index] = json.dumps(plain).encode()

    def change_index(self, files: Files) -> None:
        """Values of the index of the flat copy."""
        for name in [name for name in files if name.endswith("index.json")]:
            with contextlib.suppress(ValueError):
                plain = json.loads(files[name])
                self._change(*self.rng.choice(list(_places(plain))))
                files[name] = json.dumps(plain).encode()

    # -- the folder --------------------------------------------------------------------------------------------

    def move_files(self, files: Files) -> None:
        """Segments that are missing, stand twice, or stand in another place."""
        name, what = self._segment(files), self.rng.randrange(5)
        target = self.rng.choice(["shard-000/000001.h5", "shard-001/000001.h5", "shard-007/000000.h5", "shard-000"])
        if what == 0:
            del files[name]
        elif what == 1:
            files.pop(MANIFEST, None)
        elif what == 2 and target != "shard-000":
            files[target] = files[name]
        elif what == 3:
            files["shard-\x1b[2J/000000.h5"] = files[name]
        else:
            files["shard-000/999999.h5"] = files.pop(name)

    def all(self) -> list[Callable[[Files], None]]:
        """Every way to spoil; what is rich in possibilities stands there more often."""
        return [
            *(self.damage_bytes, self.damage_bytes, self.change_header, self.change_header, self.change_header),
            *(self.rename, self.make_a_bomb, self.move_chunks, self.change_numbers, self.exchange_arrays),
            *(self.make_a_giant_robot, self.change_manifest, self.change_manifest, self.write_hostile_json),
            *(self.forge_copy, self.forge_copy, self.change_index, self.move_files),
        ]

    def _segment(self, files: Files) -> str:
        return self.rng.choice(sorted(name for name in files if name.endswith(".h5")))

    def _open(self, files: Files) -> tuple[str, Segment]:
        name = self._segment(files)
        return name, Segment(files[name])

    def _change(self, holder: Any, key: Any) -> None:
        what, value = self.rng.randrange(5), self.rng.choice(WORDS)
        if what == 0 and isinstance(holder, dict):
            del holder[key]
        elif what == 1 and isinstance(holder, dict):
            holder[self.rng.choice(NAUGHTY)] = value
        elif what == 2 and isinstance(holder[key], list):
            holder[key] = holder[key] * self.rng.choice([2, 50])
        else:
            holder[key] = value


def mend_manifest(files: Files) -> None:
    """Makes the manifest say what the segments say, as an attacker would."""
    names = sorted(name for name in files if name.endswith(".h5"))
    plain = json.loads(files[MANIFEST])
    headers = [Segment(files[name]).header for name in names]
    plain["segments"] = [
        {
            "file": name,
            "bytes": len(files[name]),
            "seal": files[name][32:64].hex(),
            "trajectories": header["trajectories"],
            "transitions": header["transitions"],
        }
        for name, header in zip(names, headers, strict=True)
    ]
    text = "\n".join(f"{entry['file']} {entry['seal']}" for entry in plain["segments"])
    plain["dataset_hash"] = hashlib.sha256(text.encode()).hexdigest()
    plain |= {key: sum(header[key] for header in headers) for key in ("trajectories", "transitions")}
    plain |= {"robot": headers[0]["spec"]["name"], "spec_hash": headers[0]["spec_hash"]}
    files[MANIFEST] = json.dumps(plain).encode()


def write_hostile(root: Path, seed: int, sound: list[Files]) -> None:
    """Writes one hostile dataset.

    Args:
        root: Folder to write it to.
        seed: Which one.
        sound: The datasets that it is made from.
    """
    rng = random.Random(seed)
    files = dict(rng.choice(sound))
    hostility = Hostility(rng)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        # What is spoiled too much already cannot be spoiled in this way, too.
        with contextlib.suppress(*SPOILED):
            rng.choice(hostility.all())(files)
    if rng.random() < 0.6:
        with contextlib.suppress(*SPOILED):
            mend_manifest(files)
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    _mend_identity(root)
    if rng.random() < 0.08:
        _put_no_plain_file(rng, rng.choice(sorted(path for path in root.rglob("*") if path.is_file())))


def _mend_identity(root: Path) -> None:
    """Makes the files of the flat copy those that its index names, as only a program on this machine can."""
    for index in root.glob(".cache/*/index.json"):
        with contextlib.suppress(*SPOILED):
            plain = json.loads(index.read_bytes())
            for name, entry in plain["arrays"].items():
                status = (index.parent / f"{name}.bin").stat()
                entry |= {"inode": status.st_ino, "changed_ns": status.st_ctime_ns}
            index.write_text(json.dumps(plain))


def _put_no_plain_file(rng: random.Random, path: Path) -> None:
    path.unlink()
    rng.choice(
        [
            Path.mkdir,
            os.mkfifo,
            lambda target: target.symlink_to("/dev/zero"),
            lambda target: target.symlink_to("/etc/passwd"),
            lambda target: target.symlink_to(target.parent),
            lambda target: target.symlink_to("nowhere"),
        ]
    )(path)
