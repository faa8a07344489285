# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""A dataset of trajectories that a window of any length can be cut from at once."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch

from ..contact.contacts import Contacts
from ..robot.comparison import require_same_spec
from ..robot.spec import RobotSpec
from .fields import FIELDS, group_members
from .flat import CACHE, FINITE, finite_trajectories, flat_bytes, load_flat, map_flat, wanted_fields, with_last_row
from .layout import DataError, ShardMeta, pack_trajectories, split_groups
from .manifest import Contents, find_segments

Storage = Literal["auto", "memory", "mapped"]
SplitName = Literal["train", "valid", "test"]

MEMORY_BYTES = 512 * 2**20
"""With ``storage="auto"``, a dataset up to this size is read into memory, a larger one is mapped [bytes]."""

SPLIT_FRACTIONS = (0.9, 0.05, 0.05)
"""Shares of the trajectories in training, validation and test."""


class TrajectoryBatch:
    """Windows of equal length, cut from trajectories. ``B`` windows of ``L`` transitions.

    Each field of :data:`~nerd_core.data.fields.FIELDS` is an attribute; one that was not recorded or not loaded is
    None. Those of a state have the shape (B, L + 1, ...), those of a step (B, L, ...), those of a trajectory (B, ...).
    """

    arrays: dict[str, torch.Tensor]
    """The tensors that are there, by the name of the field."""
    state: torch.Tensor
    """States, shape (B, L + 1, S)."""
    control: torch.Tensor
    """Controls held during each step, shape (B, L, C)."""
    memory: torch.Tensor | None = None
    """What a model's prior remembers before each step, shape (B, L, ...), which is not recorded; None for nothing, see
    :mod:`nerd_core.training.remembered`."""

    def __init__(self, state: torch.Tensor, control: torch.Tensor, ground: torch.Tensor | None = None, **recorded: Any):
        """Takes tensors as they are.

        Args:
            state: See :attr:`state`.
            control: See :attr:`control`.
            ground: Plane under each window: unit normal and offset [m], environment frame, shape (B, 4).
            recorded: Other fields by name; ``contacts`` takes :class:`~nerd_core.contact.contacts.Contacts` with the
                leading dimensions (B, L).
        """
        self.arrays = split_groups({"state": state, "control": control, "ground": ground, **recorded})

    def __getattr__(self, name: str) -> Any:
        if name in FIELDS:
            return self.arrays.get(name)
        raise AttributeError(f"windows have no field '{name}'")

    @property
    def contacts(self) -> Contacts | None:
        """Recorded contacts before each step, leading dimensions (B, L); None when they are to be computed from state
        and ground.
        """
        if "contact_active" not in self.arrays:
            return None
        members = {member: self.arrays[name] for name, member in group_members("contacts").items()}
        return Contacts(**{**members, "active": members["active"].bool()})

    def to(self, device: torch.device | str, non_blocking: bool = False) -> TrajectoryBatch:
        """The same windows on another device."""
        return self._map(lambda tensor: tensor.to(device, non_blocking=non_blocking))

    def pin_memory(self) -> TrajectoryBatch:
        """The same windows in page-locked memory, from where a GPU copies while it computes."""
        return self._map(torch.Tensor.pin_memory)

    def _map(self, change: Callable[[torch.Tensor], torch.Tensor]) -> TrajectoryBatch:
        found = TrajectoryBatch(**{name: change(tensor) for name, tensor in self.arrays.items()})
        found.memory = None if self.memory is None else change(self.memory)
        return found


class TrajectoryDataset:
    """Trajectories of one robot, in memory, mapped from a file, or on a GPU.

    Trajectories with a NaN or an infinity are left out and counted in :attr:`excluded`. :meth:`split` and
    :meth:`select` give views that share the tensors.
    """

    spec: RobotSpec
    """The robot."""
    arrays: dict[str, torch.Tensor]
    """Flat arrays, see :mod:`nerd_core.data.flat`: ``state`` (R, S), ``control`` (R, C), ..., ``ground`` (N, 4)."""
    length: np.ndarray
    """Number of transitions of each trajectory of this view, int64, shape (n,)."""
    first_row: np.ndarray
    """Row of the first state of each trajectory of this view, int64, shape (n,)."""
    number: np.ndarray
    """Number of each trajectory of this view among all in :attr:`arrays`, int64, shape (n,)."""
    key: np.ndarray
    """A hash of shard and index of each trajectory of this view, by which it is split, uint64, shape (n,)."""
    excluded: int
    """Number of trajectories that were left out because they hold a NaN or an infinity."""
    meta: tuple[ShardMeta, ...]
    """Origins of the shards."""
    complete: bool
    """Whether a manifest says that the dataset is complete."""
    dataset_hash: str
    """Content hash; empty for tensors."""

    def __init__(
        self,
        spec: RobotSpec,
        arrays: dict[str, torch.Tensor],
        key: np.ndarray,
        *,
        meta: tuple[ShardMeta, ...] = (),
        complete: bool = True,
        dataset_hash: str = "",
    ):
        """Not to be called by users: see :meth:`open` and :meth:`from_tensors`."""
        lengths = arrays["length"].numpy()
        finite = arrays[FINITE].numpy().astype(bool)
        self.spec = spec
        self.arrays = {name: value for name, value in arrays.items() if name not in ("length", FINITE)}
        self.number = finite.nonzero()[0]
        self.length = lengths[self.number]
        self.first_row = np.concatenate(([0], np.cumsum(lengths + 1)[:-1]))[self.number]
        self.key = key[self.number]
        self.excluded = int((~finite).sum())
        self.meta, self.complete, self.dataset_hash = meta, complete, dataset_hash
        if not len(self.length):
            raise DataError(f"all {self.excluded} trajectories hold a NaN or an infinity: nothing is left")

    @classmethod
    def open(
        cls,
        path: str | Path,
        spec: RobotSpec | None = None,
        *,
        storage: Storage = "auto",
        recorded: tuple[str, ...] = (),
        cache: str | Path | None = None,
        verify: bool = True,
    ) -> TrajectoryDataset:
        """Opens a dataset.

        Args:
            path: Folder of the dataset, of one of its shards, or a single segment.
            spec: The robot in use; data of another are refused with the differences.
            storage: ``memory`` reads everything; ``mapped`` keeps it on disk, in a flat copy made once; ``auto`` maps
                what is larger than :data:`MEMORY_BYTES`.
            recorded: Optional fields or groups to load, for instance ``("contacts", "body_force")``. Contacts that are
                not loaded are computed from state and ground.
            cache: Folder for flat copies; by default ``.cache`` in the dataset.
            verify: Whether to compare the checksums of a flat copy that is there already.
        """
        contents = find_segments(path)
        if spec is not None:
            require_same_spec(contents.spec, spec, f"dataset '{Path(path).name}'")
        names = wanted_fields(contents, recorded)
        size = flat_bytes(contents, names)
        if storage == "mapped" or (storage == "auto" and size > MEMORY_BYTES):
            root = Path(path) if Path(path).is_dir() else Path(path).parent
            if cache is None and (root / CACHE).is_symlink():
                raise DataError(
                    f"'{CACHE}' in '{root.name}' is a link, which may lead anywhere: remove it, or give a place with "
                    "cache=..."
                )
            arrays, _ = map_flat(contents, names, root / CACHE if cache is None else Path(cache), verify)
        else:
            arrays = load_flat(contents, names)
        return cls(
            contents.spec,
            arrays,
            _keys(contents),
            meta=tuple({segment.header.shard: segment.header.meta for segment in contents.segments}.values()),
            complete=contents.complete,
            dataset_hash=contents.dataset_hash,
        )

    @classmethod
    def from_tensors(
        cls,
        spec: RobotSpec,
        state: Any,
        control: Any,
        *,
        length: Any = None,
        name: str = "memory",
        **recorded: Any,
    ) -> TrajectoryDataset:
        """A dataset from padded tensors or arrays.

        Args:
            spec: The robot.
            state: States, shape (N, T + 1, S).
            control: Controls held during each step, shape (N, T, C).
            length: Number of transitions of each trajectory, shape (N,); all ``T`` when left out.
            name: Takes the place of the shard's name in the split.
            recorded: Other fields by name, for instance ``ground``; see
                :func:`~nerd_core.data.layout.pack_trajectories`.
        """
        batch = pack_trajectories(spec, state, control, length=length, **recorded)
        arrays = {key: with_last_row(key, value, batch.length) for key, value in batch.arrays.items()}
        arrays[FINITE] = finite_trajectories(batch).view(np.uint8)
        tensors = {key: torch.from_numpy(value) for key, value in arrays.items()}
        return cls(spec, tensors, trajectory_keys(name, 0, batch.count))

    @classmethod
    def join(cls, parts: Sequence[TrajectoryDataset]) -> TrajectoryDataset:
        """All trajectories of several datasets of one robot, in memory.

        Args:
            parts: Whole datasets, not views of some of their trajectories.
        """
        first = parts[0]
        if len(parts) == 1:
            return first
        for part in parts[1:]:
            require_same_spec(part.spec, first.spec, "the datasets to join")
            if part.arrays.keys() != first.arrays.keys():
                raise DataError(
                    f"got datasets to join with {sorted(part.arrays)} and {sorted(first.arrays)}, expected the same "
                    "fields: collect them with the same --contacts and --ground"
                )
        joined = object.__new__(cls)
        joined.spec = first.spec
        joined.arrays = {name: torch.cat([part.arrays[name] for part in parts]) for name in first.arrays}
        rows = np.cumsum([0, *(len(part.arrays["state"]) for part in parts)])
        counts = np.cumsum([0, *(len(part) + part.excluded for part in parts)])
        joined.length = np.concatenate([part.length for part in parts])
        joined.first_row = np.concatenate([part.first_row + row for part, row in zip(parts, rows, strict=False)])
        joined.number = np.concatenate([part.number + count for part, count in zip(parts, counts, strict=False)])
        # Shards of different datasets have the same names: their trajectories shall not be split alike.
        joined.key = np.concatenate([mix(part.key + np.uint64(index)) for index, part in enumerate(parts)])
        joined.excluded = sum(part.excluded for part in parts)
        joined.meta = tuple(meta for part in parts for meta in part.meta)
        joined.complete = all(part.complete for part in parts)
        joined.dataset_hash = hashlib.sha256("".join(part.dataset_hash for part in parts).encode()).hexdigest()
        return joined

    # -- views -------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        """Number of trajectories."""
        return len(self.length)

    @property
    def transitions(self) -> int:
        """Number of transitions."""
        return int(self.length.sum())

    @property
    def device(self) -> torch.device:
        """Where the arrays are."""
        return self.arrays["state"].device

    def select(self, which: np.ndarray) -> TrajectoryDataset:
        """A view of some trajectories.

        Args:
            which: Indices (or a mask) of trajectories of this view.
        """
        view = object.__new__(TrajectoryDataset)
        view.__dict__.update(self.__dict__)
        for name in ("length", "first_row", "number", "key"):
            setattr(view, name, getattr(self, name)[which])
        return view

    def split(self, name: SplitName, fractions: tuple[float, float, float] = SPLIT_FRACTIONS) -> TrajectoryDataset:
        """The trajectories of one split.

        Where a trajectory belongs follows from the name of its shard and its index there alone: more shards, longer
        shards and other readers do not move it.

        Args:
            name: ``train``, ``valid`` or ``test``.
            fractions: Shares of the three, which add up to 1.
        """
        names = ("train", "valid", "test")
        if name not in names or len(fractions) != 3 or min(fractions) < 0 or abs(sum(fractions) - 1) > 1e-6:
            raise DataError(f"got the split '{name}' of {fractions}, expected one of {names} and three shares of 1")
        borders = np.cumsum((0.0, *fractions))
        borders[-1] = 1.0
        place = (self.key >> np.uint64(11)).astype(np.float64) * 2.0**-53
        which = names.index(name)
        view = self.select((place >= borders[which]) & (place < borders[which + 1]))
        if not len(view):
            raise DataError(
                f"none of the {len(self)} trajectories falls into the split '{name}' ({fractions[which]:.1%}): collect "
                "more, or give that split a larger share"
            )
        return view

    def to(self, device: torch.device | str) -> TrajectoryDataset:
        """The same dataset with its arrays on another device."""
        view = self.select(np.arange(len(self)))
        view.arrays = {name: value.to(device) for name, value in self.arrays.items()}
        return view

    # -- reading -----------------------------------------------------------------------------------------------

    def gather(self, trajectory: np.ndarray, start: np.ndarray, length: int) -> TrajectoryBatch:
        """Cuts windows out of trajectories.

        Args:
            trajectory: Indices of trajectories of this view, int64, shape (B,).
            start: First step of each window in its trajectory, int64, shape (B,).
            length: Number of transitions of a window.
        """
        if len(start) and (start.min() < 0 or (start + length > self.length[trajectory]).any()):
            raise DataError(f"a window of {length} transitions passes the end of its trajectory")
        rows = torch.from_numpy(self.first_row[trajectory] + start).to(self.device)
        cut = {}
        for name, value in self.arrays.items():
            if FIELDS[name].rows == "trajectory":
                cut[name] = value[torch.from_numpy(self.number[trajectory]).to(self.device)]
            else:
                cut[name] = _windows(value, rows, length + (FIELDS[name].rows == "state"))
        return TrajectoryBatch(**cut)

    def beginnings(self, length: int, count: int | None = None) -> TrajectoryBatch:
        """The first ``length`` transitions of the trajectories that are long enough, at most ``count`` of them.

        For roll-outs on held-out data: always the same windows, in the order of the data.
        """
        enough = (self.length >= length).nonzero()[0][:count]
        if not len(enough):
            raise DataError(
                f"got windows of {length} transitions, the longest of {len(self)} trajectories has {self.length.max()}"
            )
        return self.gather(enough, np.zeros_like(enough), length)

    def trajectory(self, index: int) -> TrajectoryBatch:
        """One whole trajectory as a window."""
        which = np.array([index % len(self)])
        return self.gather(which, np.zeros_like(which), int(self.length[which[0]]))

    def __repr__(self) -> str:
        return (
            f"TrajectoryDataset({self.spec.name}: {len(self)} trajectories, {self.transitions} transitions, "
            f"{', '.join(self.arrays)} on {self.device})"
        )


def trajectory_keys(shard: str, first: int, count: int) -> np.ndarray:
    """Well-mixed 64-bit hashes of ``count`` trajectories of a shard from ``first`` on, uint64, shape (count,)."""
    seed = int.from_bytes(hashlib.sha256(shard.encode()).digest()[:8], "little")
    return mix(np.uint64(seed) + np.arange(first, first + count, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15))


def mix(value: np.ndarray) -> np.ndarray:
    """The finaliser of SplitMix64 (Steele et al. 2014): a bijection of 64-bit numbers that looks random."""
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


def _keys(contents: Contents) -> np.ndarray:
    headers = [segment.header for segment in contents.segments]
    return np.concatenate([trajectory_keys(h.shard, h.first_trajectory, h.trajectories) for h in headers])


def _windows(array: torch.Tensor, rows: torch.Tensor, count: int) -> torch.Tensor:
    """``count`` consecutive rows from each of ``rows`` on: shape (B, count, ...)."""
    tail = array.shape[1:]
    width = tail.numel()
    # Rows that follow each other lie together in memory: a window is one long row of an overlapping view. The view ends
    # where the array does, so that rows which are not there raise an IndexError.
    size, stride = (max(0, len(array) - count + 1), count * width), (width, 1)
    if array.device.type == "cpu":
        # numpy copies a long row at once, torch element by element: two to three times slower.
        plain = array.numpy()
        view = np.lib.stride_tricks.as_strided(plain, size, [step * plain.itemsize for step in stride])
        return torch.from_numpy(view[rows.numpy()]).reshape(len(rows), count, *tail)
    return array.as_strided(size, stride)[rows].reshape(len(rows), count, *tail)


__all__ = ["SPLIT_FRACTIONS", "TrajectoryBatch", "TrajectoryDataset", "mix", "trajectory_keys"]
