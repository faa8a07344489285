# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What is done differently on a machine without CUDA. With CUDA nothing in this package has any effect."""
