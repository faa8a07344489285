# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What happens before a physics engine starts, and the processes that engines run in.

Ids of tasks are checked without importing Isaac Lab, physics presets are checked, and Isaac Lab's programs get the
arguments that a machine without CUDA needs. PhysX starts only once in a process, so what needs an engine runs in a
process of its own::

    from nerd_isaaclab.launch.task_ids import find_tasks
    print([task.id for task in find_tasks()])
"""
