# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Where stock assets come from: NVIDIA's server, or, when it cannot be reached, the folder ``nerd assets build`` fills.

Isaac Lab reads ``ISAACSIM_ASSET_ROOT`` once, when ``isaaclab.utils.assets`` is imported, and every stock configuration
puts the result into its paths as soon as *it* is imported. So the decision has to fall before either, and
:func:`install_fallback` is called by the first line of ours that Isaac Lab imports (the entry-point group
``isaaclab.tasks``, which ``isaaclab train``, ``play`` and the others load before any task). A script that imports stock
tasks first and ours later is caught too: the three functions through which Isaac Lab reads a file are wrapped, and a
path that still begins with the server's address is looked up in the local folder.

A user's own ``ISAACSIM_ASSET_ROOT`` is never touched, and where the server can be reached nothing changes at all.
``NERD_ASSET_FALLBACK=never|always`` decides without asking the network.
"""

from __future__ import annotations

import functools
import json
import logging
import os
import socket
import sys
import threading
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from nerd_core.files.atomic import write_text

from ..usd.asset import assets_dir
from .build import stale
from .catalogue import all_assets

logger = logging.getLogger(__name__)

ROOT_VARIABLE = "ISAACSIM_ASSET_ROOT"
"""Isaac Lab's and Isaac Sim's own variable for the root of all stock assets."""
MODE_VARIABLE = "NERD_ASSET_FALLBACK"
"""Ours: ``auto`` (ask the network), ``never``, ``always``."""
PROBE_TIMEOUT = 2.0
"""Longest time [s] the question to the server may take, name resolution included."""
_VALID_FOR = {True: 24 * 3600.0, False: 3600.0}  # an answer "not reachable" may be a cable, so it is kept for less
_PROBE_FILE = "Isaac/IsaacLab/Environments/Grid/default_ground_plane_checker_v1/default_ground_plane.usda"
_READERS = ("retrieve_file_path", "check_file_path", "read_file")
_MARK = "_nerd_asset_fallback"

MISSING = """\
asset file not found: {path}
Two ways to get it:
  nerd assets build{name}
      {buildable}
  export ISAACSIM_ASSET_ROOT=<folder or address>
      uses a copy of NVIDIA's assets, or their server (now: {root})"""


def install_fallback() -> bool:
    """Make stock assets load from the local folder if they cannot be had from NVIDIA, and say so once.

    Harmless to call again. Must run in the process that loads assets, best before any other Isaac Lab import.

    Returns:
        Whether the local folder is in force.
    """
    import isaaclab.utils.assets as stock  # light: neither torch nor pxr

    if hasattr(stock, _MARK):
        return getattr(stock, _MARK)
    stock_root = stock.NUCLEUS_ASSET_ROOT_DIR
    local_root = str(assets_dir())
    fall_back = not os.environ.get(ROOT_VARIABLE) and not _use_server(stock_root)
    setattr(stock, _MARK, fall_back)
    if fall_back:
        os.environ[ROOT_VARIABLE] = local_root  # for Kit and for child processes
        for name, value in list(vars(stock).items()):
            if name.isupper() and isinstance(value, str) and value.startswith(stock_root):
                setattr(stock, name, local_root + value[len(stock_root) :])
        logger.warning(
            "NVIDIA's asset server (%s) cannot be reached: stock assets come from %s. Set %s to use others.",
            stock_root,
            local_root,
            ROOT_VARIABLE,
        )
    if old := stale():
        logger.warning("%s: made from other sources than those installed; run `nerd assets build`", ", ".join(old))
    for name in _READERS:
        _replace_everywhere(getattr(stock, name), _wrapped(getattr(stock, name), stock_root, fall_back))
    return fall_back


def missing_message(path: str) -> str:
    """Return what to tell a user whose asset file is not there.

    Args:
        path: Absolute path of the file that was looked for.
    """
    root = os.environ.get(ROOT_VARIABLE) or str(assets_dir())
    known = next((asset.name for asset in all_assets() if Path(path) == asset.file), None)
    if known is None:
        names = ", ".join(asset.name for asset in all_assets())
        return MISSING.format(path=path, name="", buildable=f"does not make this file, only: {names}", root=root)
    return MISSING.format(path=path, name=f" {known}", buildable="makes it from its sources", root=root)


def server_reachable(root: str, timeout: float = PROBE_TIMEOUT) -> bool:
    """Return whether a file can be had from an asset server, asked over the network now.

    Args:
        root: Address of the asset root.
        timeout: Longest time [s] to wait; slow name resolution counts.
    """
    answer: list[bool] = []

    def ask() -> None:
        request = urllib.request.Request(f"{root}/{_PROBE_FILE}", method="HEAD")
        try:
            with urllib.request.urlopen(request, timeout=timeout) as response:
                answer.append(response.status == 200)
        except (OSError, ValueError):
            answer.append(False)

    # in a thread, because looking up a name has no timeout of its own; a late answer is left behind
    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(timeout)
    return bool(answer) and answer[0]


def _use_server(root: str) -> bool:
    """Return whether stock assets should come from the server at ``root``."""
    mode = os.environ.get(MODE_VARIABLE, "auto")
    if mode not in ("auto", "never", "always"):
        raise ValueError(f"{MODE_VARIABLE} is '{mode}', expected auto, never or always")
    if mode != "auto":
        return mode == "never"
    if not root.startswith(("http://", "https://")):
        return True  # a folder, or a server of the user's own that only Omniverse can talk to: not ours to judge
    cache = assets_dir().parent / "asset_server.json"
    key = f"{socket.gethostname()} {root}"  # a home folder may be shared by machines that see different networks
    known = _read_cache(cache)
    entry = known.get(key, {})
    if isinstance(entry.get("reachable"), bool):
        age = time.time() - entry.get("time", 0.0)
        if 0 <= age < _VALID_FOR[entry["reachable"]]:
            return entry["reachable"]
    reachable = server_reachable(root)
    _write_cache(cache, {**known, key: {"reachable": reachable, "time": time.time()}})
    return reachable


def _read_cache(path: Path) -> dict[str, Any]:
    """Return the remembered answers; none when they cannot be read."""
    try:
        known = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}


def _write_cache(path: Path, answers: dict[str, Any]) -> None:
    """Remember answers; a folder that cannot be written only costs the next process a question."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, json.dumps(answers), many_writers=True)
    except OSError:
        logger.debug("could not remember whether the asset server can be reached", exc_info=True)


def _wrapped(read: Callable[..., Any], stock_root: str, fall_back: bool) -> Callable[..., Any]:
    """Return one of Isaac Lab's file readers with our two additions: the local folder, and a useful error."""

    @functools.wraps(read)
    def reader(path: str, *args: Any, **kwargs: Any) -> Any:
        if fall_back and path.startswith(stock_root):
            path = str(assets_dir()) + path[len(stock_root) :]
        try:
            return read(path, *args, **kwargs)
        except FileNotFoundError as error:
            roots = (str(assets_dir()), os.environ.get(ROOT_VARIABLE) or str(assets_dir()))
            if path.startswith(roots) and not str(error).startswith("asset file not found"):
                raise FileNotFoundError(missing_message(path)) from error
            raise

    return reader


def _replace_everywhere(old: Callable[..., Any], new: Callable[..., Any]) -> None:
    """Put ``new`` in the place of ``old`` in every Isaac Lab module that has imported it by name."""
    for name, module in list(sys.modules.items()):
        if name.startswith("isaaclab") and getattr(module, "__dict__", {}).get(old.__name__) is old:
            setattr(module, old.__name__, new)
