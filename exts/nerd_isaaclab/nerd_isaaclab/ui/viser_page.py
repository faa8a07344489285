# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The controls on the page of Isaac Lab's viser viewer, for runs without Kit: ``--viz viser``."""

from __future__ import annotations

from typing import Any

from .panel import NerdPanel, PanelEnv, Ticker


class ViserPage:
    """A folder on the page: mode, model, error, counters."""

    def __init__(self, panel: NerdPanel, server: Any):
        """Adds the folder.

        Args:
            panel: What is asked and shown.
            server: The ``viser.ViserServer`` of the page.
        """
        self._panel, self._server = panel, server
        readings = panel.read()
        with server.gui.add_folder("Neural dynamics"):
            self._mode = server.gui.add_dropdown(
                "Mode",
                options=panel.modes,
                initial_value=readings.mode,
                hint="Who steps the robots: the solver, the model, or each its share",
            )
            self._checkpoint = server.gui.add_text(
                "Model",
                initial_value=readings.checkpoint,
                hint="Directory of a checkpoint, or the name of a shipped one",
            )
            load = server.gui.add_button("Load model")
            self._text = server.gui.add_markdown(readings.markdown())
        self._shown = readings
        self._mode.on_update(self._on_mode)
        load.on_click(lambda _: panel.request_checkpoint(self._checkpoint.value))

    def refresh(self) -> None:
        """Shows the present readings if the page is open anywhere."""
        if not self._server.get_clients():
            return
        readings = self._panel.read()
        if readings == self._shown:
            return
        self._text.content = readings.markdown()
        # The dropdown follows what happened, also a request that was refused, or one that came from elsewhere.
        if readings.mode != self._shown.mode or readings.answered != self._shown.answered:
            self._mode.value = readings.mode
        if readings.checkpoint != self._shown.checkpoint:
            self._checkpoint.value = readings.checkpoint
        self._shown = readings

    def _on_mode(self, event: Any) -> None:
        """Passes a choice on; setting the dropdown from here is none."""
        if event.client is not None:
            self._panel.request_mode(event.target.value)


def add_viser_pages(env: PanelEnv) -> list[ViserPage]:
    """Adds the controls to the page of every viser viewer of an environment, and keeps them up to date.

    Args:
        env: Environment whose viewers are running.
    """
    pages = []
    for number, visualizer in enumerate(env.sim.visualizers):
        server = _server_of(visualizer)
        if server is not None:
            page = ViserPage(env.nerd_panel, server)
            env.sim.add_render_callback(f"nerd_viser_{number}", Ticker(page.refresh))
            pages.append(page)
    return pages


def _server_of(visualizer: Any) -> Any:
    """The server behind a viewer's page; None for other viewers. Isaac Lab has no public way to it."""
    if type(visualizer).__name__ != "ViserVisualizer":
        return None
    return getattr(getattr(visualizer, "_viewer", None), "_server", None)
