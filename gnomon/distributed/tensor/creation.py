"""New tensors over a mesh: each rank makes its part of what one process would have made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gnomon.distributed.device_mesh import DeviceMesh
from gnomon.distributed.tensor.dtensor import lay
from gnomon.ops.placements import Placement
from gnomon.tensor import creation, random
from gnomon.tensor.placements import layout_by
from gnomon.tensor.tensor import Tensor

__all__ = ["empty", "full", "ones", "rand", "randn", "zeros"]


def over_a_mesh(create: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """A decorator of creation functions that adds a mesh and placements."""

    def make(
        *size: Any,
        device_mesh: DeviceMesh,
        placements: Sequence[Placement] | None = None,
        requires_grad: bool = False,
        **named: Any,
    ) -> Tensor:
        whole = create(*size, **named)
        made = lay(whole, layout_by(device_mesh, placements, whole.ndim))
        return made.requires_grad_(requires_grad)

    make.__name__ = make.__qualname__ = create.__name__
    make.__doc__ = f"{(create.__doc__ or '').splitlines()[0]} Over a mesh, each rank has its part."
    return make


zeros, ones, empty, full = map(
    over_a_mesh, (creation.zeros, creation.ones, creation.empty, creation.full)
)
rand, randn = map(over_a_mesh, (random.rand, random.randn))
