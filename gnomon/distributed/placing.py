"""A batch that every rank holds, of which each computes with its own rows."""

from __future__ import annotations

from gnomon.distributed.device_mesh import DeviceMesh
from gnomon.ops.layouts import place
from gnomon.ops.placements import REPLICATED, Split
from gnomon.tensor.functions import apply
from gnomon.tensor.tensor import Tensor

__all__ = ["split_rows"]


def split_rows(x: Tensor, mesh: DeviceMesh, *axes: str) -> Tensor:
    """x, which all ranks hold, of which each rank computes with its own rows from here on.

    The value is the same; where it is read, programs are divided along these mesh axes.
    """
    placed = {name: Split(0) for name in axes}
    layout = tuple((name, n, placed.get(name, REPLICATED)) for name, n in mesh.divided)
    if not layout:
        return x
    return apply(lambda node: place(node, layout, stays=True), (x,))
