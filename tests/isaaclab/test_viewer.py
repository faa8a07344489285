# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The page of the viser viewer: what it shows in neural mode, and its controls in a headless Chromium.

Needs viser and Chromium. ``NERD_SCREENSHOT=<file>`` keeps a picture of the page, which is how the one in ``docs`` was
made; ``NERD_SCREENSHOT_MODEL`` names the model in it.
"""

from __future__ import annotations

import os
import socket
import time
from pathlib import Path

import pytest
import torch

from nerd_core import checkpoint
from support.browser import Browser, find_chromium
from support.seam import make_env, untrained_predictor, use_predictor

pytest.importorskip("viser", reason="needs viser: pip install 'isaaclab[viser]==3.0.0'")

NUM_ENVS = 4
PATIENCE = 90.0
"""How long the page may take [s]; WebGL runs by software here."""


@pytest.fixture(scope="module")
def port() -> int:
    """A free port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture(scope="module")
def env(port):
    """Some Ants with a viewer."""

    def show(cfg):
        from isaaclab_visualizers.viser import ViserVisualizerCfg  # pyright: ignore[reportMissingImports]

        viewer = ViserVisualizerCfg(port=port, bind_address="127.0.0.1", eye=(1.0, -6.5, 3.0), lookat=(-0.5, 0.0, 0.3))
        cfg.sim.visualizer_cfgs = [viewer]

    env = make_env("NeRD-Ant-Run", NUM_ENVS, change=show)
    env.reset(seed=0)
    yield env
    env.close()


@pytest.fixture(scope="module")
def model(env, tmp_path_factory) -> Path:
    """A checkpoint for the Ant."""
    path = tmp_path_factory.mktemp("models") / "untrained-ant"
    checkpoint.save(path, untrained_predictor(env))
    return path


def test_the_viewer_shows_the_models_motion(env, model):
    """The poses that go to the page are those of the links that the model has moved, in every environment."""
    viewer = env.sim.visualizers[0]
    use_predictor(env, checkpoint.load(model).eval())
    paths = [f"/World/envs/env_{i}/Robot/{body}" for i in range(NUM_ENVS) for body in env.robot.body_names]
    rows = [list(viewer.backend.model.body_label).index(path) for path in paths]
    moved = []
    with pytest.MonkeyPatch.context() as patch:  # nothing is drawn while nobody looks
        patch.setattr(viewer._viewer._server, "get_clients", lambda: {0: None})
        patch.setattr(viewer, "_apply_pending_camera_pose", lambda: None)
        for _ in range(5):
            env.step(torch.zeros(NUM_ENVS, 8))
            shown = torch.from_numpy(viewer.backend.state_0.body_q.numpy())[rows]
            kept = (env.episode_length_buf > 0).repeat_interleave(len(env.robot.body_names))
            assert kept.any()
            links = env.robot.data.body_link_pose_w.torch.flatten(0, 1)
            torch.testing.assert_close(shown[kept], links[kept], atol=1e-5, rtol=0.0)
            moved.append(shown.clone())
    assert env.nerd_mode == "neural"
    assert (moved[-1] - moved[0]).abs().max() > 1e-3
    env.set_nerd_mode("physx")
    env.step(torch.zeros(NUM_ENVS, 8))


@pytest.mark.skipif(find_chromium() is None, reason="needs Chromium: apt-get install chromium")
def test_the_controls_work_in_a_browser(env, model, port, tmp_path, monkeypatch):
    """A model is loaded and the modes are changed from the page; the page shows the mode, the error and a refusal."""
    screenshot = os.environ.get("NERD_SCREENSHOT") and Path(os.environ["NERD_SCREENSHOT"]).resolve()
    monkeypatch.chdir(model.parent)  # so that a short name stands on the page
    model = os.environ.get("NERD_SCREENSHOT_MODEL") or model.name
    generator = torch.Generator().manual_seed(0)

    def run_until(done) -> None:
        end = time.monotonic() + PATIENCE
        while not done():
            assert time.monotonic() < end, page.evaluate("document.body?.innerText")
            env.step(torch.rand(NUM_ENVS, 8, generator=generator) * 2.0 - 1.0)

    def wait(seconds: float) -> None:
        end = time.monotonic() + seconds
        run_until(lambda: time.monotonic() > end)

    def shows(text: str):
        return lambda: text in (page.evaluate("document.body?.innerText") or "")

    def choose(mode: str) -> None:
        page.click(
            "document.querySelector('input[type=hidden][value=physx], input[type=hidden][value=neural]')"
            ".parentElement.querySelector('input[role=combobox]')"
        )
        run_until(lambda: page.evaluate(f"!!document.querySelector('[role=option][value={mode}]')"))
        page.click(f"document.querySelector('[role=option][value={mode}]')")

    def load(path: str) -> None:
        inputs = "document.querySelectorAll('input[type=text], input:not([type])')"
        page.write(f"Array.from({inputs}).filter(e => !e.readOnly).pop()", path)
        wait(0.5)  # the page sends text a moment after the last key
        page.click("Array.from(document.querySelectorAll('button')).find(e => e.innerText.trim() == 'Load model')")

    with Browser(f"http://127.0.0.1:{port}", tmp_path / "profile", patience=PATIENCE) as page:
        run_until(shows("Load model"))
        wait(2.0)  # until the page has settled
        load("no/such/model")
        run_until(shows("Refused"))
        assert env.nerd_mode == "physx"
        load(model)
        run_until(lambda: env.nerd is not None and env.nerd_cfg.checkpoint == model)
        choose("neural")
        run_until(shows("Mode neural"))
        assert env.nerd_mode == "neural"
        choose("mixed")
        run_until(shows("joint_pos:"))
        assert env.nerd_mode == "mixed"
        if screenshot:
            page.evaluate("document.querySelector('[class*=Notification] button')?.click()")
            wait(3.0)
            page.screenshot(screenshot)
