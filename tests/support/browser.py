# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""A headless Chromium, driven over its debugging protocol: enough to press what a person presses, and to look."""

from __future__ import annotations

import base64
import itertools
import json
import shutil
import subprocess
import time
import urllib.request
from pathlib import Path
from typing import Any

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
)
"""WebGL by software, and no connection but to the page."""


def find_chromium() -> str | None:
    """Path of a Chromium; None where there is none."""
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Browser:
    """One page in a headless Chromium. Close it, or use it in a ``with`` statement."""

    def __init__(self, url: str, folder: Path, size: tuple[int, int] = (1100, 700), patience: float = 60.0):
        """Opens a page.

        Args:
            url: The page.
            folder: Empty folder for the browser's profile.
            size: Width and height of the page [pixel].
            patience: How long the browser may take to start or to answer [s].
        """
        from websockets.sync.client import connect

        program = find_chromium()
        assert program is not None, "there is no Chromium"
        command = [program, *FLAGS, f"--user-data-dir={folder}", f"--window-size={size[0]},{size[1]}"]
        self._process = subprocess.Popen(
            [*command, "--remote-debugging-port=0", url], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        self._patience = patience
        self._numbers = itertools.count(1)
        try:
            self._socket = connect(self._page(folder / "DevToolsActivePort"), max_size=None, open_timeout=patience)
            self.call(
                "Emulation.setDeviceMetricsOverride", width=size[0], height=size[1], deviceScaleFactor=1, mobile=False
            )
        except BaseException:
            self._process.kill()
            raise

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the browser."""
        self._socket.close()
        self._process.terminate()
        self._process.wait(20)

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Calls a method of the protocol and returns its result."""
        number = next(self._numbers)
        self._socket.send(json.dumps({"id": number, "method": method, "params": params}))
        while True:
            answer = json.loads(self._socket.recv(timeout=self._patience))
            if answer.get("id") == number:
                assert "error" not in answer, answer["error"]
                return answer["result"]

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression in the page."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, result["exceptionDetails"]
        return result["result"].get("value")

    def click(self, element: str) -> None:
        """Clicks in the middle of an element, given as a JavaScript expression."""
        place = self.evaluate(
            f"(() => {{ const e = {element}; e.scrollIntoView({{block: 'center'}});"
            " const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=place[0], y=place[1], button="left", clickCount=1)

    def write(self, element: str, text: str) -> None:
        """Writes over the text of a control, given as a JavaScript expression."""
        self.evaluate(f"(() => {{ const e = {element}; e.focus(); e.select(); }})()")
        self.call("Input.insertText", text=text)

    def screenshot(self, path: Path) -> None:
        """Takes a picture of the page."""
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))

    def _page(self, port_file: Path) -> str:
        """Address of the page's debugging socket, once the browser has written its port."""
        end = time.monotonic() + self._patience
        while time.monotonic() < end:
            if port_file.exists() and (words := port_file.read_text().split()):
                with urllib.request.urlopen(f"http://127.0.0.1:{words[0]}/json/list", timeout=self._patience) as answer:
                    pages = [entry for entry in json.load(answer) if entry["type"] == "page"]
                if pages:
                    return pages[0]["webSocketDebuggerUrl"]
            time.sleep(0.1)
        raise TimeoutError("the browser did not start")
