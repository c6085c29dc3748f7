"""Tensors stored in blocks of quantized numbers, which are decoded where they are read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gnomon.lazy import integer_blocks
from gnomon.ops.registry import OPS, Op
from gnomon.tensor.overrides import is_overriding
from gnomon.tensor.strides import unviewed
from gnomon.tensor.tensor import Tensor, alias, raw
from gnomon.tensor.views import DECODING, full_chain

__all__ = ["from_blocks", "layer_of"]


def from_blocks(blocks: Tensor, kind: str, activations: str = "") -> Tensor:
    """A tensor of float32 over rows of blocks (gnomon/ops/blocks.py): a view, which decodes.

    blocks: uint8, a row of blocks for each row. kind: the name of GGUF's format. Products and
    lookups read blocks as they are, and have the bits of decoded numbers; nothing is written to
    such a tensor, and it wants no gradient. activations: "int8" has a linear layer round its input,
    and multiply whole numbers (gnomon/ops/integer_blocks.py).

    Raises ArgumentError for an unknown format, DtypeError for what is no bytes, and ShapeError for
    rows of no whole blocks.

    >>> from_blocks(Tensor([[0, 60, *range(32)]]).to("uint8"), "Q8_0")[0, :4]
    Tensor([0., 1., 2., 3.])
    """
    said = {"kind": kind, "activations": activations} if activations else {"kind": kind}
    made = alias(blocks, ((DECODING, said),), True)
    raw(made)  # what does not fit is refused here
    return made


def format_of(weight: Any) -> str | None:
    """The format of a weight for int8 products; None for others, and for parts of one."""
    if not isinstance(weight, Tensor) or weight._view is None:
        return None
    chain = full_chain(weight)
    said = chain[0][1] if len(chain) == 1 and chain[0][0] == DECODING else {}
    return said["kind"] if said.get("activations") else None


def layer_of(call: Callable, op: Op, args: Sequence, kwargs: dict[str, Any], weights: Any) -> Any:
    """A call of a layer, by int8 products if its weight, or one of several, has such a format."""
    several = isinstance(weights, (list, tuple))
    asked = any(map(format_of, weights)) if several else format_of(weights)
    if not asked or is_overriding(args[0] if args else None):
        return call(op, args, kwargs)
    named = dict(zip(op.words, args, strict=False)) | op.respell(kwargs or {})
    x = named.pop("x")
    if not several:
        return call_linear(call, x, *named.values())
    biases = named.get("biases") or [None] * len(weights)
    return tuple(call_linear(call, x, w, b) for w, b in zip(weights, biases, strict=True))


def call_linear(call: Callable, x: Any, weight: Any, bias: Any = None) -> Any:
    """The call of one linear layer, with a weight of any kind."""
    kind = format_of(weight)
    if kind is None:
        return call(OPS["linear"], (x, weight, bias), {})
    return call(integer_blocks.linear_int8, (x, unviewed(weight), bias), {"kind": kind})
