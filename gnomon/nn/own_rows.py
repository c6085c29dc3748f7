"""Statistics over a rank's own rows, inside a fully sharded module.

Tensors there show the rows of all ranks, while PyTorch's modules see only their rank's. So what
mixes rows is computed from this rank's rows alone, everything else from all.
"""

from __future__ import annotations

from collections.abc import Callable

from gnomon.ops.layouts import MeshLayout, OwnRows
from gnomon.ops.placements import Split
from gnomon.tensor.layouts import own_rows, part_of, spread, value_layout
from gnomon.tensor.tensor import Tensor

__all__ = ["layout_of_rows", "normalized_apart"]


def layout_of_rows(x: Tensor) -> MeshLayout:
    """The layout of x along the mesh axes that shard its rows by rank; empty without such."""
    axes = own_rows.get()
    if not axes:
        return ()
    return tuple(each for each in value_layout(x) if each[0] in axes and each[2] == Split(0))


def normalized_apart(
    x: Tensor,
    layout: MeshLayout,
    normalize: Callable[[Tensor], Tensor],
    weight: Tensor | None,
    bias: Tensor | None,
) -> Tensor:
    """x with each rank's rows normalized separately, then scaled and shifted per channel.

    Shapes: x (n, c, *s), weight (c), bias (c) -> (n, c, *s)
    """
    rows = OwnRows(tuple(name for name, _, _ in layout))
    y = spread(normalize(part_of(x, rows.axes, rows=rows)), layout, rows=rows)
    shape = (-1, *(1,) * (x.ndim - 2))
    y = y if weight is None else y * weight.reshape(shape)
    return y if bias is None else y + bias.reshape(shape)
