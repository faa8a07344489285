# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Ways to spoil a folder of files such as a checkpoint, by accident or on purpose."""

from __future__ import annotations

import contextlib
import enum
import json
import os
import pickle
import random
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from nerd_core.files.safe_files import digest

from .checkpoints import Files

WEIGHTS, SPEC, CONFIG, MANIFEST = "model.safetensors", "spec.json", "config.json", "manifest.json"
STATE, STATE_TENSORS = "training/state.json", "training/tensors.safetensors"


DOCUMENTS = (SPEC, CONFIG, CONFIG, MANIFEST, STATE)


class NotPlain(enum.Enum):
    """What may stand in the place of a file."""

    DIRECTORY = "directory"
    LINK = "link"
    PIPE = "pipe"


class Damage:
    """Ways to spoil a folder. Every method changes the files it is given in place."""

    def __init__(
        self,
        rng: random.Random,
        others: list[Files],
        tensors: tuple[str, ...] = (WEIGHTS, STATE_TENSORS),
        documents: tuple[str, ...] = DOCUMENTS,
    ):
        """Keeps what it needs.

        Args:
            rng: Chooses.
            others: Sound folders, to take files from.
            tensors: Names of the files that are safetensors; headers of the first are changed.
            documents: Names of the files that are JSON.
        """
        self.rng, self.others, self.tensors, self.documents = rng, others, tensors, documents

    def spoil(self, files: Files) -> None:
        """Spoils in one way. What is spoiled too much already cannot be spoiled in every way too."""
        with contextlib.suppress(
            KeyError, ValueError, IndexError, struct.error, AttributeError, TypeError, RecursionError
        ):
            self.rng.choice(self.all())(files)

    def flip_bits(self, files: Files) -> None:
        name, content = self._pick(files)
        for _ in range(self.rng.choice([1, 1, 1, 4, 64])):
            if content:
                content[self.rng.randrange(len(content))] ^= 1 << self.rng.randrange(8)
        files[name] = bytes(content)

    def flip_bits_of_header(self, files: Files) -> None:
        name = self.rng.choice([name for name in self.tensors if name in files])
        content = bytearray(files[name])
        for _ in range(self.rng.choice([1, 2, 8])):
            content[self.rng.randrange(min(len(content), 600))] ^= 1 << self.rng.randrange(8)
        files[name] = bytes(content)

    def cut(self, files: Files) -> None:
        name, content = self._pick(files)
        files[name] = bytes(content[: self.rng.choice([0, 1, 7, 8, 9, self.rng.randrange(len(content) + 1)])])

    def replace_by_what_is_no_file(self, files: Files) -> None:
        files[self.rng.choice(sorted(files))] = self.rng.choice(list(NotPlain))

    def append(self, files: Files) -> None:
        name, content = self._pick(files)
        files[name] = bytes(content) + self.rng.randbytes(self.rng.choice([1, 8, 4096]))

    def remove(self, files: Files) -> None:
        files.pop(self.rng.choice(sorted(files)))

    def replace(self, files: Files) -> None:
        name, content = self._pick(files)
        files[name] = self.rng.choice(
            [
                b"",
                b"\0" * 64,
                b"null",
                b"{}",
                b"[]",
                b'"x"',
                b"\xff\xfe",
                pickle.dumps({"a": [1, 2]}),
                self.rng.randbytes(99),
            ]
        )

    def exchange_files(self, files: Files) -> None:
        first, second = self.rng.choice(sorted(files)), self.rng.choice(sorted(files))
        files[first], files[second] = files[second], files[first]

    def take_from_another(self, files: Files) -> None:
        other = self.rng.choice(self.others)
        name = self.rng.choice(sorted(other))
        files[name] = other[name]

    def exchange_tensors(self, files: Files) -> None:
        header, body = self._header(files)
        names = sorted(header)
        first, second = self.rng.choice(names), self.rng.choice(names)
        header[first], header[second] = header[second], header[first]
        self._join(files, header, body)

    def change_header(self, files: Files) -> None:
        header, body = self._header(files)
        entry = header[self.rng.choice(sorted(header))]
        huge = self.rng.choice([2**31, 2**40, 2**62, 2**63, 2**64, 2**65, 10**30, -1, 0, 1.5, True, None, "9"])
        change = self.rng.randrange(7)
        if change == 0:
            entry["shape"] = [huge]
        elif change == 1:
            entry["shape"] = [0, huge]
        elif change == 2:
            entry["data_offsets"] = [0, huge]
        elif change == 3:
            entry["data_offsets"] = [huge, huge]
        elif change == 4:
            entry["dtype"] = self.rng.choice(["F64", "F16", "BOOL", "F8_E4M3", "X", "", 5, None])
        elif change == 5:
            entry["shape"] = list(entry["shape"]) + [1] * self.rng.choice([1, 3, 100, 5000])
        else:
            header["extra" * self.rng.choice([1, 10000])] = {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}
        self._join(files, header, body)

    def lie_about_header_length(self, files: Files) -> None:
        length = self.rng.choice([0, 1, 2**20, 2**31, 2**40, 2**63, 2**64 - 1, self.rng.randrange(2**64)])
        files[self.tensors[0]] = struct.pack("<Q", length) + files[self.tensors[0]][8:]

    def spoil_numbers(self, files: Files) -> None:
        header, body = self._header(files)
        word = self.rng.choice(
            [b"\x00\x00\xc0\x7f", b"\x00\x00\x80\x7f", b"\x00\x00\x80\xff", b"\xff\xff\xff\xff", b"\x00" * 4]
        )
        spoiled = bytearray(body)
        for _ in range(self.rng.choice([1, 10, 1000])):
            at = 4 * self.rng.randrange(len(body) // 4)
            spoiled[at : at + 4] = word
        self._join(files, header, bytes(spoiled))

    def change_json(self, files: Files) -> None:
        name = self.rng.choice([name for name in self.documents if name in files])
        try:
            document = json.loads(files[name])
        except ValueError:
            return
        for _ in range(self.rng.choice([1, 1, 2, 5])):
            places = list(_places(document))
            if not places:
                return
            holder, key = self.rng.choice(places)
            self._change_value(holder, key)
        files[name] = json.dumps(document).encode()

    def write_hostile_json(self, files: Files) -> None:
        name = self.rng.choice([name for name in self.documents if name in files])
        text = files[name].decode(errors="replace")
        digits = "9" * self.rng.choice([400, 4000, 5000, 200000])
        depth = self.rng.choice([70, 900, 100000])
        files[name] = self.rng.choice(
            [
                "[" * depth + "]" * depth,
                '{"a":' * depth + "1" + "}" * depth,
                text.replace("4", digits, 1),
                text.replace(":", ": NaN,", 1),
                text.replace(" 1", " NaN"),
                text.replace(" 1", " -Infinity"),
                text.replace(" 1", " 1e999"),
                text.replace("{", '{"schema": "x",', 1),
                "[" + "0," * 10**6 + "0]",
                '"' + "x" * 5 * 2**20 + '"',
                text.replace('"', '"\\ud800', 1),
            ]
        ).encode()

    def ask_for_the_absurd(self, files: Files) -> None:
        config = json.loads(files[CONFIG])
        predictor = config["predictor"]
        number = self.rng.choice([10**4, 10**5, 2**20, 10**9, 2**31, 2**63, 10**18, 10**300, 0, -1, -(10**9)])
        holder = self.rng.choice([predictor, predictor["network"], predictor["network"]])
        keys = [key for key, value in holder.items() if isinstance(value, (int, float, list))]
        key = self.rng.choice(keys)
        holder[key] = [number] * self.rng.choice([1, 3, 2000]) if isinstance(holder[key], list) else number
        files[CONFIG] = json.dumps(config).encode()

    def all(self) -> list[Callable[[Files], None]]:
        """Every way to spoil."""
        return [
            *(self.flip_bits, self.flip_bits_of_header, self.cut, self.append, self.remove, self.replace),
            *(self.exchange_files, self.take_from_another, self.exchange_tensors, self.change_header),
            *(self.lie_about_header_length, self.spoil_numbers, self.change_json, self.change_json),
            *(self.write_hostile_json, self.ask_for_the_absurd, self.replace_by_what_is_no_file),
        ]

    def _pick(self, files: Files) -> tuple[str, bytearray]:
        name = self.rng.choice(sorted(files))
        return name, bytearray(files[name])

    def _change_value(self, holder: Any, key: Any) -> None:
        rng = self.rng
        values = [
            0,
            -1,
            1,
            2**20,
            2**53,
            2**64,
            10**40,
            1e308,
            -1e308,
            1e-320,
            0.5,
            True,
            None,
            "",
            "inf",
            "x" * 5000,
            [],
            {},
        ]
        action = rng.randrange(4)
        if action == 0 and isinstance(holder, dict):
            holder.pop(key)
        elif action == 1 and isinstance(holder, dict):
            holder[rng.choice(["x", "__class__", "$tensor", "../../etc/passwd", "schema"])] = rng.choice(values)
        elif action == 2 and isinstance(holder[key], list):
            holder[key] = holder[key] * rng.choice([2, 50])
        else:
            holder[key] = rng.choice(values)

    def _header(self, files: Files) -> tuple[dict[str, Any], bytes]:
        content = files[self.tensors[0]]
        (length,) = struct.unpack("<Q", content[:8])
        return json.loads(content[8 : 8 + length]), content[8 + length :]

    def _join(self, files: Files, header: dict[str, Any], body: bytes) -> None:
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        files[self.tensors[0]] = struct.pack("<Q", len(text)) + text + body


def _places(document: Any) -> Iterator[tuple[Any, Any]]:
    """Every place in a JSON document, as holder and key."""
    stack = [document]
    while stack:
        holder = stack.pop()
        keys = list(holder) if isinstance(holder, dict) else range(len(holder)) if isinstance(holder, list) else []
        for key in keys:
            yield holder, key
            stack.append(holder[key])


def mend_digests(files: Files) -> None:
    """Makes the manifest and the state's digests true, as an attacker would, so that the later checks are reached."""
    try:
        state = json.loads(files[STATE])
        state["tensors_sha256"] = digest(files[STATE_TENSORS])
        state["tree_sha256"] = digest(json.dumps(state["tree"], separators=(",", ":")).encode())
        files[STATE] = json.dumps(state).encode()
    except (KeyError, TypeError, ValueError, RecursionError):
        pass
    try:
        manifest = json.loads(files[MANIFEST])
        for name in manifest["files"]:
            manifest["files"][name] = {"bytes": len(files[name]), "sha256": digest(files[name])}
        files[MANIFEST] = json.dumps(manifest).encode()
    except (KeyError, TypeError, ValueError, RecursionError, AttributeError):
        pass


def write_case(path: Path, files: Files) -> None:
    """Writes the files of a folder, and what stands in the place of some."""
    for name, content in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        if content is NotPlain.DIRECTORY:
            (path / name).mkdir()
        elif content is NotPlain.LINK:
            (path / name).symlink_to("/proc/self/environ")
        elif content is NotPlain.PIPE:
            os.mkfifo(path / name)
        else:
            (path / name).write_bytes(content)


def damaged(seed: int, sound: list[Files]) -> tuple[Files, Files, bool]:
    """A spoiled checkpoint, the sound one that it was made from, and whether its digests were mended."""
    rng = random.Random(seed)
    original = rng.choice(sound)
    files = dict(original)
    damage = Damage(rng, sound)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        damage.spoil(files)
    mended = rng.random() < 0.75
    if mended:
        mend_digests(files)
    return files, original, mended
