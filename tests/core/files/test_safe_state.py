# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Trees of tensors come back to the last bit, and a damaged one is refused."""

import contextlib
import itertools
import math
import os
import pickle
import random
import signal
import time

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from nerd_core.files.atomic import replace_directory
from nerd_core.files.safe_files import UnsafeFile, read_bytes
from nerd_core.files.safe_state import JSON_FILE, TENSOR_FILE, StateError, load_state, save_state

DTYPES = [torch.float32, torch.float64, torch.bfloat16, torch.int64, torch.uint8, torch.bool]

LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(min_value=-(2**140), max_value=2**140),
    st.floats(),
    st.text(max_size=8),
    st.tuples(st.sampled_from(DTYPES), st.lists(st.integers(0, 3), max_size=3)).map(
        lambda args: torch.randint(0, 100, args[1]).to(args[0])
    ),
)
KEYS = st.text(max_size=6).filter(lambda key: key not in ("$tensor", "$float"))
TREES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=3)),
    max_leaves=12,
)


def same(a, b) -> bool:
    """Whether two trees are equal to the last bit."""
    if isinstance(a, torch.Tensor):
        return isinstance(b, torch.Tensor) and a.dtype == b.dtype and a.shape == b.shape and torch.equal(a, b)
    if isinstance(a, dict):
        return isinstance(b, dict) and list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, float) and math.isnan(a):
        return isinstance(b, float) and math.isnan(b)
    return type(a) is type(b) and a == b


@settings(deadline=None, max_examples=60)
@given(tree=TREES)
def test_any_tree_comes_back_to_the_last_bit(tmp_path_factory, tree):
    """Nested dicts and lists of tensors of all types, integers beyond 64 bits, NaN and infinities survive."""
    path = tmp_path_factory.mktemp("state") / "s"
    save_state(path, tree)
    assert same(load_state(path), tree)


def test_an_optimiser_state_survives(tmp_path):
    """The state of AdamW after a step, with string keys, equals what was saved."""
    layer = torch.nn.Linear(3, 2)
    optimiser = torch.optim.AdamW(layer.parameters())
    layer(torch.ones(4, 3)).sum().backward()
    optimiser.step()
    tree = {str(key): value for key, value in optimiser.state_dict()["state"].items()}
    save_state(tmp_path / "s", tree)
    assert same(load_state(tmp_path / "s"), tree)


def test_what_cannot_be_saved_is_named():
    """An object, a number as key and the reserved keys are refused with the place where they stand."""
    from nerd_core.files.safe_state import state_files

    for tree, words in [
        ({"a": [object()]}, "'a/0'"),
        ({"a": {3: 1}}, "the key 3"),
        ({"$tensor": "x"}, "tensor"),
        ({"a": torch.eye(2).to_sparse()}, "dense"),
    ]:
        with pytest.raises(StateError, match=words.replace("$", "")):
            state_files(tree)


def test_a_failed_write_keeps_the_old_state(tmp_path):
    """If writing fails half-way, the earlier state is still there and nothing else is left behind."""
    save_state(tmp_path / "s", {"step": 1})
    with pytest.raises(RuntimeError), replace_directory(tmp_path / "s") as folder:
        (folder / JSON_FILE).write_text("half")
        raise RuntimeError
    assert load_state(tmp_path / "s") == {"step": 1}
    assert os.listdir(tmp_path) == ["s"]


def test_a_kill_between_the_renames_keeps_the_old_state(tmp_path):
    """The moment when the old directory has been moved away and the new one is not there yet can be read."""
    save_state(tmp_path / "s", {"step": 1})
    (tmp_path / "s").rename(tmp_path / ".s.previous")
    assert load_state(tmp_path / "s") == {"step": 1}
    save_state(tmp_path / "s", {"step": 2})
    assert load_state(tmp_path / "s") == {"step": 2}


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_writer_killed_at_any_moment_leaves_a_whole_state(tmp_path):
    """A process that saves again and again is killed 15 times: each time one of its states is there, whole."""
    path = tmp_path / "s"
    save_state(path, {"step": 0, "moments": torch.full((50_000,), 0.0)})
    rng = random.Random(0)
    reached = 0
    for _ in range(15):
        child = os.fork()
        if child == 0:
            try:
                for step in itertools.count(reached + 1):
                    save_state(path, {"step": step, "moments": torch.full((50_000,), float(step))})
            finally:
                os._exit(1)
        began = reached
        while began == reached:
            with contextlib.suppress(StateError):  # while it is being replaced
                began = load_state(path)["step"]
        time.sleep(rng.uniform(0.0, 0.03))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        state = load_state(path)
        assert bool((state["moments"] == state["step"]).all())
        assert state["step"] >= reached
        reached = state["step"]
    assert reached >= 15
    save_state(path, {"step": -1})
    assert os.listdir(tmp_path) == ["s"]


@pytest.mark.parametrize("name", [JSON_FILE, TENSOR_FILE])
def test_every_flipped_bit_is_noticed(tmp_path, name):
    """A bit flipped anywhere in either file gives the state itself or an error, never another state."""
    tree = {"m": torch.arange(6.0), "step": 12345, "lr": 1.5e-3}
    save_state(tmp_path / "s", tree)
    content = (tmp_path / "s" / name).read_bytes()
    for i in range(len(content)):
        damaged = bytearray(content)
        damaged[i] ^= 1 << (i % 8)
        (tmp_path / "s" / name).write_bytes(damaged)
        with contextlib.suppress(StateError):
            assert same(load_state(tmp_path / "s"), tree)


class _Bomb:
    """Leaves a trace when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (os.mkdir, (str(self.path),))


def test_a_pickle_in_disguise_runs_nothing(tmp_path):
    """A pickle under the name of the tensors is refused and its code does not run."""
    save_state(tmp_path / "s", {"m": torch.ones(2)})
    (tmp_path / "s" / TENSOR_FILE).write_bytes(pickle.dumps(_Bomb(tmp_path / "ran")))
    with pytest.raises(StateError, match="damaged"):
        load_state(tmp_path / "s")
    assert not (tmp_path / "ran").exists()


def test_links_and_pipes_are_refused_without_waiting(tmp_path):
    """A link is not followed, and a named pipe that nobody writes to does not keep the reader waiting."""
    (tmp_path / "real").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UnsafeFile, match="link"):
        read_bytes(tmp_path / "link", 10)
    with pytest.raises(UnsafeFile, match="not a plain file"):
        read_bytes(tmp_path / "pipe", 10)
    with pytest.raises(UnsafeFile, match="at most 0"):
        read_bytes(tmp_path / "real", 0)
