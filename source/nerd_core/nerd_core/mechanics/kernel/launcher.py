# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Runs a kernel for some environments: in one launch on a GPU, in turns on the threads of a processor."""

from __future__ import annotations

import contextlib
import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch
import warp as wp

from ...threads import kernel_threads

ENVS_A_LAUNCH = 64
"""Environments that a thread of the processor takes at a time."""


class Launcher:
    """Launches kernels whose first argument is the number of their first environment."""

    def __init__(self, device: Any):
        """Keeps the device.

        Args:
            device: Where kernels run, as Warp names it.
        """
        self._device = device
        self._pool: ThreadPoolExecutor | None = None
        self._pool_of = 0

    def __call__(self, kernel: wp.Kernel, count: int, arguments: list[Any]) -> None:
        """Runs a kernel.

        Args:
            kernel: The kernel.
            count: Environments.
            arguments: What it takes behind the number of its first environment.
        """
        if self._device.is_cpu:
            self._on_threads(kernel, count, arguments)
        else:
            stream = wp.stream_from_torch(torch.cuda.current_stream(wp.device_to_torch(self._device)))
            wp.launch(kernel, count, [0, *arguments], device=self._device, stream=stream)

    def _on_threads(self, kernel: wp.Kernel, count: int, arguments: list[Any]) -> None:
        """Steps environments on the threads that PyTorch has, each of which takes some whenever it has done the last:
        PyTorch's own threads are busy waiting for a while after its operations, and may have a core for themselves.
        """
        threads = min(kernel_threads(), -(-count // ENVS_A_LAUNCH))
        chunk = count if threads == 1 else ENVS_A_LAUNCH
        begins = iter(range(0, count, chunk))

        def work() -> None:
            command: Any = None  # arguments are packed once a thread: that takes as long as a Cartpole's step
            for first in begins:
                if command is None:
                    command = wp.launch(kernel, chunk, [first, *arguments], device=self._device, record_cmd=True)
                command.set_param_at_index(0, first)
                if first + chunk > count:
                    command.set_dim(count - first)
                command.launch()

        helpers = threads - 1
        if helpers > 0 and self._pool_of != os.getpid():  # a process that was forked has no threads of its parent
            self._pool, self._pool_of = ThreadPoolExecutor(thread_name_prefix="mechanics"), os.getpid()
        others = []
        with contextlib.suppress(RuntimeError):  # the interpreter is about to end, and starts no threads any more
            for _ in range(helpers):
                assert self._pool is not None
                others.append(self._pool.submit(work))
        work()
        for other in others:
            if not other.cancel():  # one that has not begun is not waited for: there is nothing left to do
                other.result()


__all__ = ["ENVS_A_LAUNCH", "Launcher"]
