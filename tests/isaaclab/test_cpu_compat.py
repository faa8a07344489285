# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The cures of ``compat``: for a machine without CUDA (in force on every way in), and for ctrl-C that gets lost."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from types import ModuleType, SimpleNamespace

import pytest

from nerd_isaaclab.compat import engine_threads, no_cuda, pinned_memory

pytestmark = pytest.mark.unit

FAKE_WARP = """
class array:
    def __init__(self, shape=None, pinned=False):
        self.pinned = pinned
def is_cuda_available():
    return False
"""


def fake_warp(cuda: bool) -> ModuleType:
    """Return a module with the part of Warp's surface that the cure touches."""

    class array:  # noqa: N801  (Warp's own spelling)
        def __init__(self, shape: int | None = None, pinned: bool = False):
            self.pinned = pinned

    module = ModuleType("warp")
    module.__dict__.update(array=array, is_cuda_available=lambda: cuda)
    return module


def run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run Python code in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **environment}, capture_output=True, text=True, timeout=120
    )


@pytest.mark.parametrize("cuda", [False, True])
def test_pinned_request_is_changed_only_without_cuda(cuda: bool):
    """Without CUDA 'pinned=True' becomes False; with CUDA the constructor gets exactly what the caller gave."""
    warp = fake_warp(cuda)
    assert pinned_memory.unpin_without_cuda(warp)
    assert warp.array(3, pinned=True).pinned is cuda
    assert warp.array(3).pinned is False


def test_cure_is_applied_once():
    """A second application leaves the first in place instead of wrapping it again."""
    warp = fake_warp(False)
    pinned_memory.unpin_without_cuda(warp)
    first = warp.array.__init__
    assert pinned_memory.unpin_without_cuda(warp)
    assert warp.array.__init__ is first


def test_a_warp_without_the_class_or_the_argument_is_left_alone():
    """A later Warp that moved 'array', or made it a function, or lost 'pinned', works as if there were no cure."""
    assert not pinned_memory.unpin_without_cuda(ModuleType("warp"))
    moved = ModuleType("warp")
    moved.__dict__["array"] = lambda shape: shape
    assert not pinned_memory.unpin_without_cuda(moved)
    assert moved.array(3) == 3

    class array:  # noqa: N801
        def __init__(self, shape: int, memory: str = "host"):
            self.memory = memory

    changed = ModuleType("warp")
    changed.__dict__.update(array=array, is_cuda_available=lambda: False)
    assert pinned_memory.unpin_without_cuda(changed)
    assert changed.array(3, memory="pinned").memory == "pinned"


def test_cure_waits_for_the_import_of_warp_and_leaves(tmp_path):
    """Installed before Warp, the cure survives a mere look for Warp, acts at its import, and is gone afterwards."""
    (tmp_path / "warp.py").write_text(FAKE_WARP)
    done = run(
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "from nerd_isaaclab.compat import pinned_memory as cure\n"
        "import importlib.util\n"
        "cure.install(); cure.install()\n"
        "waiting = [f for f in sys.meta_path if isinstance(f, cure._AfterWarpImport)]\n"
        "assert len(waiting) == 1 and 'warp' not in sys.modules\n"
        "importlib.util.find_spec('warp')\n"
        "import warp\n"
        "assert warp.array(3, pinned=True).pinned is False\n"
        "assert not [f for f in sys.meta_path if isinstance(f, cure._AfterWarpImport)]\n"
    )
    assert done.returncode == 0, done.stderr


def test_import_torch_brings_the_cure_without_isaac_lab_or_warp():
    """Whoever imports torch has the cure, and has imported neither Warp nor Isaac Lab for it."""
    done = run(
        "import sys, torch\n"
        "assert any(type(f).__name__ == '_AfterWarpImport' for f in sys.meta_path)\n"
        "assert not {'warp', 'isaaclab', 'isaaclab_tasks', 'gymnasium'} & set(sys.modules)\n"
    )
    assert done.returncode == 0, done.stderr


def test_real_warp_allocates_pinned_arrays_without_cuda():
    """With the cure Warp gives usable arrays where they are asked for pinned; without it the same line fails."""
    if no_cuda.has_cuda():
        pytest.skip("there is CUDA here: pinned memory works by itself")
    code = (
        "import torch, warp as wp\n"
        "a = wp.zeros(5, dtype=wp.float32, device='cpu', pinned=True)\n"
        "b = wp.clone(wp.full(5, 2.0, dtype=wp.float32, device='cpu', pinned=True), pinned=True)\n"
        "assert a.numpy().sum() == 0 and wp.to_torch(b).sum() == 10\n"
    )
    cured = run(code)
    assert cured.returncode == 0, cured.stderr
    plain = run(code, TORCH_DEVICE_BACKEND_AUTOLOAD="0")
    if plain.returncode == 0:
        pytest.skip("this Warp needs no cure any more")
    assert "Failed to allocate" in plain.stderr


def test_with_cuda_nothing_is_added(monkeypatch):
    """Where there is CUDA no argument is added to any program, and no task is looked up."""
    monkeypatch.setattr(no_cuda, "has_cuda", lambda: True)
    monkeypatch.setattr(no_cuda, "_spec", lambda task: pytest.fail("a task was looked up"))
    for program in no_cuda.PROGRAMS:
        assert no_cuda.complete_arguments(program, ["--task", "Isaac-Cartpole"]) == []
    argv = ["isaaclab", "train", "--task", "Isaac-Cartpole"]
    assert no_cuda.complete_isaaclab_command(argv) == [] and len(argv) == 4


@pytest.fixture
def without_cuda(monkeypatch):
    """A machine without CUDA, one stock task that needs a choice of physics and one of ours that does not."""
    monkeypatch.setattr(no_cuda, "has_cuda", lambda: False)
    monkeypatch.setattr(no_cuda, "_needs_ovphysx", lambda task: task == "Stock")
    monkeypatch.setattr(no_cuda, "_spec", lambda task: SimpleNamespace(kwargs={"default_agent": "rsl_rl"}))


@pytest.mark.parametrize(
    ("program", "given", "added"),
    [
        ("train", "--rl_library rsl_rl --task Stock", "--device cpu agent.device=cpu physics=ovphysx"),
        ("train", "--task Stock", "--device cpu agent.device=cpu physics=ovphysx"),
        ("play", "--task Ours", "--device cpu agent.device=cpu"),
        ("train", "--rl_library skrl --task Ours", "--device cpu"),
        ("zero_agent", "--task Stock", "--device cpu physics=ovphysx"),
        ("train", "--task Stock --device cpu physics=newton_mjwarp", "agent.device=cpu"),
        ("train", "--task Stock --device=cpu agent.device=cpu presets=newton_mjwarp", ""),
        ("train", "--task Ours --device cuda:1", ""),
        ("train", "--task Stock env.sim.physics=ovphysx", "--device cpu agent.device=cpu"),
        ("train", "--task Stock --help", ""),
    ],
)
def test_only_what_is_missing_is_added(without_cuda, program: str, given: str, added: str):
    """What a person gave stays and is not given twice; the rest of what a CPU needs is added."""
    assert no_cuda.complete_arguments(program, given.split()) == added.split()


@pytest.mark.parametrize(
    ("command", "changed"),
    [
        ("/env/bin/isaaclab train --task Ours", True),
        ("/site-packages/isaaclab/__main__.py play --task Ours", True),
        ("isaaclab list_envs --all", False),
        ("isaaclab", False),
        ("my_script.py train --task Ours", False),
        ("/usr/bin/pytest train", False),
    ],
)
def test_only_the_isaaclab_command_is_completed(without_cuda, command: str, changed: bool):
    """The arguments of a process are touched only if it is 'isaaclab' and runs one of the programs."""
    argv = command.split()
    added = no_cuda.complete_isaaclab_command(argv)
    assert bool(added) is changed
    assert argv == command.split() + added


def test_stock_task_needs_ovphysx_and_ours_does_not():
    """The stock Cartpole starts Newton by default but offers PhysX without Kit; NeRD-Cartpole starts PhysX itself."""
    import nerd_isaaclab.tasks  # noqa: F401

    assert no_cuda._needs_ovphysx("Isaac-Cartpole")
    assert not no_cuda._needs_ovphysx("NeRD-Cartpole")
    assert not no_cuda._needs_ovphysx("No-Such-Task")


def test_engine_threads_are_set_only_when_asked_for(monkeypatch):
    """The variable decides the number of PhysX's workers over what Isaac Lab asks; unset, nothing is touched."""
    import ovphysx

    stock = ovphysx.PhysXConfig
    monkeypatch.setattr(ovphysx, "PhysXConfig", stock)
    assert engine_threads.install({}) is None
    assert ovphysx.PhysXConfig is stock
    assert engine_threads.install({engine_threads.VARIABLE: "0"}) == 0
    assert engine_threads.install({engine_threads.VARIABLE: "2"}) == 2
    assert ovphysx.PhysXConfig(num_threads=8).num_threads == 2
    with pytest.raises(ValueError, match=r"NERD_PHYSX_THREADS=many, expected a number"):
        engine_threads.install({engine_threads.VARIABLE: "many"})


LOSES_CTRL_C = """
import ctypes, signal, sys, time
from nerd_isaaclab.compat import interrupts
if {cured}:
    interrupts.install()
    interrupts.install()
signal.signal(signal.SIGINT, signal.default_int_handler)
@ctypes.CFUNCTYPE(None)
def callback():
    signal.raise_signal(signal.SIGINT)
callback()
time.sleep({patience})
print("the program went on")
"""


@pytest.mark.parametrize(("cured", "patience"), [(True, 20), (False, 0.2)])
def test_ctrl_c_in_a_callback_from_c_is_not_lost(cured: bool, patience: float):
    """A ctrl-C that falls into a callback from C, where nobody can catch it, ends the program at once, also in the wait
    that follows; uncured it is lost.
    """
    began = time.monotonic()
    done = run(LOSES_CTRL_C.format(cured=cured, patience=patience))
    assert time.monotonic() - began < 15.0
    assert ("the program went on" in done.stdout) is not cured
    assert (done.returncode != 0) is cured, done.stderr
    assert ("KeyboardInterrupt" in done.stderr) and ("ignored" in done.stderr) is not cured


def test_other_reports_of_python_stay():
    """What else Python reports as ignored is reported as before."""
    code = "from nerd_isaaclab.compat import interrupts\ninterrupts.install()\n"
    code += "class A:\n    def __del__(self): raise ValueError('in a finaliser')\nA()"
    done = run(code)
    assert done.returncode == 0 and "in a finaliser" in done.stderr
