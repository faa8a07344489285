# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The controls in Isaac Lab's window in Omniverse. Imported only in Kit, by ``cfg.ui_window_class_type``."""

from __future__ import annotations

from typing import Any

import omni.ui
from isaaclab.envs.ui import ManagerBasedRLEnvWindow

from .panel import NerdPanel, Ticker


class NerdEnvWindow(ManagerBasedRLEnvWindow):
    """Isaac Lab's window with a frame for the neural step."""

    def __init__(self, env: Any, window_name: str = "IsaacLab"):
        """Adds the frame.

        Args:
            env: The environment, which has a panel (:class:`~nerd_isaaclab.ui.panel.PanelEnv`).
            window_name: Title of the window.
        """
        super().__init__(env, window_name)
        with self.ui_window_elements["main_vstack"]:
            self.nerd_frame = NerdFrame(env.nerd_panel)
        env.sim.add_render_callback("nerd_window", Ticker(self.nerd_frame.refresh))


class NerdFrame:
    """A frame in a window: mode, model, error, counters."""

    def __init__(self, panel: NerdPanel):
        """Builds the frame into the container that is open.

        Args:
            panel: What is asked and shown.
        """
        self._panel = panel
        self._shown = panel.read()
        self._is_following = False
        modes = panel.modes
        with omni.ui.CollapsableFrame(title="Neural Dynamics", height=0), omni.ui.VStack(spacing=5, height=0):
            with omni.ui.HStack(height=20):
                omni.ui.Label("Mode", width=80)
                self._mode: Any = omni.ui.ComboBox(modes.index(self._shown.mode), *modes).model
            with omni.ui.HStack(height=20):
                omni.ui.Label("Model", width=80)
                self._checkpoint: Any = omni.ui.StringField().model
                omni.ui.Button("Load", width=60, clicked_fn=self._load)
            self._text = omni.ui.Label(self._lines(), word_wrap=True, alignment=omni.ui.Alignment.LEFT_TOP)
        self._checkpoint.set_value(self._shown.checkpoint)
        self._mode.add_item_changed_fn(self._on_mode)

    def refresh(self) -> None:
        """Shows the present readings."""
        readings = self._panel.read()
        if readings == self._shown:
            return
        before, self._shown = self._shown, readings
        self._text.text = self._lines()
        if readings.mode != before.mode or readings.answered != before.answered:
            self._is_following = True
            self._mode.get_item_value_model().set_value(self._panel.modes.index(readings.mode))
            self._is_following = False
        if readings.checkpoint != before.checkpoint:
            self._checkpoint.set_value(readings.checkpoint)

    def _lines(self) -> str:
        return self._shown.markdown().replace("**", "")

    def _load(self) -> None:
        self._panel.request_checkpoint(self._checkpoint.get_value_as_string())

    def _on_mode(self, model: Any, _item: Any) -> None:
        if not self._is_following:
            self._panel.request_mode(self._panel.modes[model.get_item_value_model().as_int])
