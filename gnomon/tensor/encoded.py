"""Tensors stored in blocks of quantized numbers, which are decoded where they are read."""

from __future__ import annotations

from gnomon.tensor.tensor import Tensor, alias, raw
from gnomon.tensor.views import DECODING

__all__ = ["from_blocks"]


def from_blocks(blocks: Tensor, kind: str) -> Tensor:
    """A tensor of float32 over rows of blocks (gnomon/ops/blocks.py): a view, which decodes.

    blocks: uint8, a row of blocks for each row. kind: the name of GGUF's format. Products and
    lookups read blocks as they are, and have the bits of decoded numbers; nothing is written to
    such a tensor, and it wants no gradient.

    Raises ArgumentError for an unknown format, DtypeError for what is no bytes, and ShapeError for
    rows of no whole blocks.

    >>> from_blocks(Tensor([[0, 60, *range(32)]]).to("uint8"), "Q8_0")[0, :4]
    Tensor([0., 1., 2., 3.])
    """
    made = alias(blocks, ((DECODING, {"kind": kind}),), True)
    raw(made)  # what does not fit is refused here
    return made
