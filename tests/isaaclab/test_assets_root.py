# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Where stock assets come from: the user's choice first, NVIDIA's server if it answers, else the local folder."""

from __future__ import annotations

import http.server
import os
import socket
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from nerd_isaaclab.assets import root

pytestmark = pytest.mark.unit

GROUND = "IsaacLab/Environments/Grid/default_ground_plane_checker_v1/default_ground_plane.usda"


def fresh_python(code: str, folder: Path, **variables: str) -> str:
    """Run code in a fresh interpreter, which has not read the asset root yet, and return what it prints."""
    env = {key: value for key, value in os.environ.items() if key not in (root.ROOT_VARIABLE, root.MODE_VARIABLE)}
    env |= {"NERD_ASSETS_DIR": str(folder / "assets"), **variables}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], env=env, capture_output=True, text=True, cwd=folder
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def test_users_own_root_is_never_touched(tmp_path: Path):
    """With ISAACSIM_ASSET_ROOT set nothing is replaced, nothing is asked, nothing is said."""
    shown = fresh_python(
        """
        import os
        from nerd_isaaclab.assets import root
        root.server_reachable = lambda address: 1 / 0
        assert root.install_fallback() is False
        import isaaclab.utils.assets as stock
        assert stock.ISAAC_NUCLEUS_DIR == "/my/assets/Isaac" and os.environ["ISAACSIM_ASSET_ROOT"] == "/my/assets/"
        """,
        tmp_path,
        ISAACSIM_ASSET_ROOT="/my/assets/",
    )
    assert shown == ""


def test_reachable_server_is_used(tmp_path: Path):
    """Where the server answers, the root stays NVIDIA's and nothing is said."""
    shown = fresh_python(
        """
        import os
        from nerd_isaaclab.assets import root
        root.server_reachable = lambda address: True
        assert root.install_fallback() is False
        import isaaclab.utils.assets as stock
        assert stock.NUCLEUS_ASSET_ROOT_DIR.startswith("https://") and "ISAACSIM_ASSET_ROOT" not in os.environ
        """,
        tmp_path,
    )
    assert shown == ""


def test_fallback_is_said_once_and_reaches_children(tmp_path: Path):
    """Without the server all roots are local, the log says so once, and a child process inherits it in silence."""
    shown = fresh_python(
        f"""
        import os, subprocess, sys
        from nerd_isaaclab.assets import root
        root.server_reachable = lambda address: False
        assert root.install_fallback() is True and root.install_fallback() is True
        from isaaclab.utils.assets import ISAAC_NUCLEUS_DIR, NVIDIA_NUCLEUS_DIR
        assert ISAAC_NUCLEUS_DIR == r"{tmp_path}/assets/Isaac" and NVIDIA_NUCLEUS_DIR == r"{tmp_path}/assets/NVIDIA"
        child = "from nerd_isaaclab.assets import root; root.install_fallback();"
        child += "from isaaclab.utils.assets import ISAAC_NUCLEUS_DIR; print('child', ISAAC_NUCLEUS_DIR)"
        subprocess.run([sys.executable, "-c", child], check=True)
        """,
        tmp_path,
    )
    assert shown.count("cannot be reached") == 1
    assert f"child {tmp_path}/assets/Isaac" in shown


def test_fallback_also_after_stock_paths_were_made(tmp_path: Path):
    """A module that took NVIDIA's address and Isaac Lab's reader before us still reads the local file."""
    fresh_python(
        f"""
        import sys, types
        from isaaclab.utils.assets import ISAAC_NUCLEUS_DIR, retrieve_file_path
        early = types.ModuleType("isaaclab_early")
        early.retrieve_file_path, path = retrieve_file_path, f"{{ISAAC_NUCLEUS_DIR}}/{GROUND}"
        sys.modules["isaaclab_early"] = early
        from nerd_isaaclab.assets import build, root
        build.build(["flat_ground"])
        root.server_reachable = lambda address: False
        root.install_fallback()
        assert path.startswith("https://")
        assert early.retrieve_file_path(path) == r"{tmp_path}/assets/Isaac/{GROUND}"
        """,
        tmp_path,
    )


def test_stale_assets_are_pointed_out(tmp_path: Path):
    """Assets made from other sources than those installed are named once, with the command that remakes them."""
    code = """
        from nerd_isaaclab.assets import build, root
        from nerd_isaaclab.assets.catalogue import find
        build.build(["cube", "ant"])
        stamp = build.assets_dir() / build.STAMP
        stamp.write_text(stamp.read_text().replace(build.source_key(find("ant")), "0"))
        root.install_fallback()
        root.install_fallback()
        """
    shown = fresh_python(code, tmp_path, NERD_ASSET_FALLBACK="never")
    assert shown.count("ant: made from other sources than those installed; run `nerd assets build`") == 1


def test_isaaclab_command_loads_us_before_it_reads_the_root(tmp_path: Path):
    """`isaaclab train` imports the entry-point group of tasks before any module that reads the asset root."""
    fresh_python(
        """
        import sys
        import isaaclab.cli
        early = [name for name in sys.modules if name in ("isaaclab.utils.assets", "isaaclab_assets", "isaaclab_tasks")]
        assert not early, early
        import importlib.metadata
        names = [entry.value for entry in importlib.metadata.entry_points(group=isaaclab.cli._TASK_ENTRY_POINT_GROUP)]
        assert "nerd_isaaclab.tasks" in names, names
        """,
        tmp_path,
    )


@pytest.mark.parametrize(
    "wanted,words",
    [
        ("Isaac/" + GROUND, ["nerd assets build flat_ground", "ISAACSIM_ASSET_ROOT"]),
        ("Isaac/Robots/Unknown/robot.usd", ["does not make this file", "ISAACSIM_ASSET_ROOT"]),
    ],
)
def test_missing_asset_names_the_file_and_the_two_ways(tmp_path: Path, wanted: str, words: list[str]):
    """The error of a missing file names it, the command that builds it (or that none does), and the variable."""
    shown = fresh_python(
        f"""
        from nerd_isaaclab.assets import root
        root.install_fallback()
        from isaaclab.utils.assets import NUCLEUS_ASSET_ROOT_DIR, retrieve_file_path
        try:
            retrieve_file_path(NUCLEUS_ASSET_ROOT_DIR + "/{wanted}")
        except FileNotFoundError as error:
            print(error)
        """,
        tmp_path,
        NERD_ASSET_FALLBACK="always",
    )
    assert f"{tmp_path}/assets/{wanted}" in shown
    for word in words:
        assert word in shown


def test_answer_is_remembered_for_a_while(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The server is asked once; a yes holds for a day, a no for an hour, and then it is asked again."""
    monkeypatch.setenv("NERD_ASSETS_DIR", str(tmp_path / "assets"))
    monkeypatch.delenv(root.MODE_VARIABLE, raising=False)
    asked, answers = [], []
    monkeypatch.setattr(root, "server_reachable", lambda address: asked.append(address) or answers[-1])
    start = time.time()
    for hours, answer, expected, questions in (
        (0.0, False, False, 1),
        (0.5, True, False, 1),
        (1.5, True, True, 2),
        (25.0, False, True, 2),
        (26.0, False, False, 3),
    ):
        answers.append(answer)
        monkeypatch.setattr(root.time, "time", lambda hours=hours: start + hours * 3600)
        assert root._use_server("https://assets.example") is expected, hours
        assert len(asked) == questions, hours


@pytest.mark.parametrize("mode,expected", [("never", True), ("always", False)])
def test_mode_decides_without_asking(monkeypatch: pytest.MonkeyPatch, mode: str, expected: bool):
    """NERD_ASSET_FALLBACK=never uses the server, =always the local folder, and the network is left alone."""
    monkeypatch.setenv(root.MODE_VARIABLE, mode)
    monkeypatch.setattr(root, "server_reachable", lambda address: pytest.fail("asked"))
    assert root._use_server("https://assets.example") is expected


def test_wrong_mode_lists_the_right_ones(monkeypatch: pytest.MonkeyPatch):
    """Another word says what was got and what is expected."""
    monkeypatch.setenv(root.MODE_VARIABLE, "sometimes")
    with pytest.raises(ValueError, match="'sometimes', expected auto, never or always"):
        root._use_server("https://assets.example")


class _Server(http.server.BaseHTTPRequestHandler):
    def do_HEAD(self) -> None:  # noqa: N802
        if self.path.startswith("/slow"):
            time.sleep(2.0)
        self.send_response(200 if self.path.startswith("/good") else 404)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """A web server that has the file below /good, has not below /bad, and takes its time below /slow."""
    running = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Server)
    threading.Thread(target=running.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{running.server_address[1]}"
    running.shutdown()
    running.server_close()


def test_question_to_the_server(server: str, monkeypatch: pytest.MonkeyPatch):
    """An answer 200 counts; another answer, no answer in time and a closed port do not, and none takes long."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    assert root.server_reachable(f"{server}/good")
    assert not root.server_reachable(f"{server}/bad")
    started = time.perf_counter()
    assert not root.server_reachable(f"{server}/slow", timeout=0.3)
    assert time.perf_counter() - started < 1.0
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    assert not root.server_reachable(f"http://127.0.0.1:{port}")
