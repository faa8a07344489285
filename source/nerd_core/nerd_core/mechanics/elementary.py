# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Linear algebra by elementary operations, for programs that are exported: ONNX has no operator that factorises.

Example::

    inverse = inverse_by_columns(mass_matrix)
"""

from __future__ import annotations

import torch
from torch import Tensor


def inverse_by_columns(matrices: Tensor) -> Tensor:
    """Inverses of symmetric positive definite matrices, by their Cholesky factors, column by column; not a number where
    a matrix is not positive definite.

    Args:
        matrices: Shape (M, N, N), N a number that is known when the program is made.
    """
    size = matrices.shape[1]
    rest, columns = matrices, []
    for k in range(size):
        column = rest[:, :, k] / rest[:, k : k + 1, k].sqrt()
        columns.append(column)
        rest = rest - column.unsqueeze(2) * column.unsqueeze(1)
    # Rows of the inverse of the factor: what is left of the identity, row by row.
    eye, rows = torch.eye(size, dtype=matrices.dtype, device=matrices.device), []
    for k in range(size):
        row = eye[k].expand(matrices.shape[0], -1)
        for i, above in enumerate(rows):
            row = row - columns[i][:, k : k + 1] * above
        rows.append(row / columns[k][:, k : k + 1])
    factor = torch.stack(rows, 1)
    return factor.transpose(1, 2) @ factor


__all__ = ["inverse_by_columns"]
