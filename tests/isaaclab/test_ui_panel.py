# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The controls without a simulator: requests, readings, and how the window and the page pass them on."""

from __future__ import annotations

import importlib
import sys
import threading
from contextlib import nullcontext
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest
import torch

from nerd_isaaclab.ui.panel import NerdPanel, Ticker
from nerd_isaaclab.ui.viser_page import ViserPage

pytestmark = pytest.mark.unit


class FakeEnv:
    """Answers as an environment does, and writes down what was asked of it."""

    def __init__(self):
        self.calls: list[tuple[str, str]] = []
        self.nerd_mode = "physx"
        self.nerd_cfg = SimpleNamespace(checkpoint=None)
        self.nerd: Any = None

    def set_nerd_mode(self, mode: str) -> None:
        self.calls.append(("mode", mode))
        if mode == "neural" and self.nerd is None:
            raise ValueError("got nerd mode 'neural' without a checkpoint")
        self.nerd_mode = mode

    def load_nerd_checkpoint(self, path: str) -> None:
        self.calls.append(("checkpoint", path))
        if path == "missing":
            raise FileNotFoundError("no such directory")
        self.nerd_cfg.checkpoint = path
        self.nerd = SimpleNamespace(
            held=torch.tensor([True, False, True]),
            held_count=torch.tensor([5, 0, 2]),
            one_step_error=torch.zeros(3, 4),
            error_summary=lambda: {"error_joint_pos": torch.tensor(0.25)},
        )


@pytest.fixture
def panel():
    """A panel of a made-up environment."""
    return NerdPanel(FakeEnv())  # pyright: ignore[reportArgumentType]


def test_a_request_does_nothing_until_the_environment_applies_it(panel):
    """Requests of any thread wait, and are done in their order, once."""
    env = panel._env
    thread = threading.Thread(target=lambda: (panel.request_checkpoint(" a/b "), panel.request_mode("neural")))
    thread.start()
    thread.join()
    assert env.calls == []
    panel.apply()
    assert env.calls == [("checkpoint", "a/b"), ("mode", "neural")]
    panel.apply()
    assert len(env.calls) == 2


def test_a_refused_request_is_shown_and_the_run_goes_on(panel):
    """The message stands in the readings until the next request; the mode stays what it was."""
    panel.request_mode("neural")
    panel.apply()
    assert panel.read().message == "got nerd mode 'neural' without a checkpoint"
    assert panel.read().mode == "physx"
    assert "Refused" in panel.read().markdown()
    panel.request_checkpoint("missing")
    panel.apply()
    assert panel.read().message == "no such directory"
    panel.request_checkpoint("good")
    panel.apply()
    assert panel.read().message == ""
    assert panel.read().checkpoint == "good"


def test_readings_are_those_of_the_environment(panel):
    """Counters of the guard while the model steps; the one-step error only where there is a solver to compare with."""
    assert panel.read().held_total == 0
    panel.request_checkpoint("good")
    panel.request_mode("neural")
    panel.apply()
    readings = panel.read()
    assert (readings.mode, readings.held_now, readings.held_total, readings.errors) == ("neural", 2, 7, {})
    panel.request_mode("mixed")
    panel.apply()
    assert panel.read().errors == {"joint_pos": 0.25}
    assert "joint_pos: 2.50e-01" in panel.read().markdown()
    panel.request_mode("physx")
    panel.apply()
    assert (panel.read().held_now, panel.read().errors) == (0, {})


def test_a_ticker_calls_no_more_often_than_its_period():
    """Many calls within a period are one."""
    calls = []
    ticker = Ticker(lambda: calls.append(1), period=60.0)
    for _ in range(5):
        ticker()
    assert calls == [1]


class FakeControl:
    """A control of a page."""

    def __init__(self, value: Any = None):
        self.value = self.content = value
        self.changed = self.clicked = lambda _: None

    def on_update(self, function):
        self.changed = function

    def on_click(self, function):
        self.clicked = function


@pytest.fixture
def server():
    """A viser server of which only the controls are there, with one visitor."""
    controls = {name: FakeControl() for name in ("mode", "text", "button", "markdown")}

    def dropdown(_label, options, initial_value, hint):
        assert initial_value in options
        controls["mode"].value = initial_value
        return controls["mode"]

    gui = SimpleNamespace(
        add_folder=lambda _label: nullcontext(),
        add_dropdown=dropdown,
        add_text=lambda _label, initial_value, hint: controls["text"],
        add_button=lambda _label: controls["button"],
        add_markdown=lambda content: controls["markdown"],
    )
    return SimpleNamespace(gui=gui, get_clients=lambda: {0: "somebody"}, controls=controls)


def test_the_page_passes_choices_on_and_follows_what_happened(panel, server):
    """A choice becomes a request; a refused one is taken back on the page, which is no request again."""
    page, controls = ViserPage(panel, server), server.controls
    controls["mode"].value = "neural"
    controls["mode"].changed(SimpleNamespace(client="somebody", target=controls["mode"]))
    panel.apply()
    page.refresh()
    assert panel._env.calls == [("mode", "neural")]
    assert controls["mode"].value == "physx"
    assert "without a checkpoint" in controls["markdown"].content
    controls["mode"].value = "neural"
    controls["mode"].changed(SimpleNamespace(client="somebody", target=controls["mode"]))
    panel.apply()
    page.refresh()
    assert controls["mode"].value == "physx", "refused a second time for the same reason"
    controls["mode"].changed(SimpleNamespace(client=None, target=controls["mode"]))
    controls["text"].value = "good"
    controls["button"].clicked(None)
    panel.apply()
    assert panel._env.calls[2:] == [("checkpoint", "good")]


def test_the_page_reads_nothing_while_nobody_looks(panel, server):
    """Without a visitor the device is not waited for."""
    page = ViserPage(panel, server)
    server.get_clients = dict
    panel.read = lambda: pytest.fail("read")
    page.refresh()


@pytest.fixture
def window(monkeypatch):
    """The module of the window, on a made-up Omniverse."""
    omni, ui, stock = ModuleType("omni"), MagicMock(), ModuleType("isaaclab.envs.ui")
    omni.ui = ui  # pyright: ignore[reportAttributeAccessIssue]

    class Stock:
        def __init__(self, env, window_name):
            self.ui_window_elements = {"main_vstack": nullcontext()}

    stock.ManagerBasedRLEnvWindow = Stock  # pyright: ignore[reportAttributeAccessIssue]
    for name, module in (("omni", omni), ("omni.ui", ui), ("isaaclab.envs.ui", stock)):
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.delitem(sys.modules, "nerd_isaaclab.ui.window", raising=False)
    yield importlib.import_module("nerd_isaaclab.ui.window"), ui
    sys.modules.pop("nerd_isaaclab.ui.window", None)


def test_the_window_passes_choices_on_and_follows_what_happened(panel, window):
    """The frame in Omniverse asks the same panel; what it sets itself is no request."""
    module, ui = window
    callbacks = {}
    env = SimpleNamespace(
        nerd_panel=panel, sim=SimpleNamespace(add_render_callback=lambda name, f: callbacks.update({name: f}))
    )
    frame = module.NerdEnvWindow(env, "IsaacLab").nerd_frame
    mode, field = ui.ComboBox.return_value.model, ui.StringField.return_value.model
    on_mode = mode.add_item_changed_fn.call_args.args[0]
    load = ui.Button.call_args.kwargs["clicked_fn"]

    field.get_value_as_string.return_value = "good"
    load()
    mode.get_item_value_model.return_value.as_int = panel.modes.index("mixed")
    on_mode(mode, None)
    mode.get_item_value_model.return_value.set_value.side_effect = lambda _: on_mode(mode, None)
    panel.apply()
    assert panel._env.calls == [("checkpoint", "good"), ("mode", "mixed")]
    callbacks["nerd_window"]()
    mode.get_item_value_model.return_value.set_value.assert_called_once_with(panel.modes.index("mixed"))
    assert "joint_pos" in frame._text.text
    panel.apply()
    assert len(panel._env.calls) == 2
