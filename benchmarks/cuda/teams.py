"""Programs whose kernels teams of threads run, at sizes of many tiles: for bits and seconds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gnomon as gn
from gnomon.nn import functional as F

Program = tuple[Callable[..., Any], tuple[gn.Tensor, ...]]


def with_gradients(f: Callable[..., gn.Tensor]) -> Callable[..., tuple[gn.Tensor, ...]]:
    """A function that gives f's result, and the gradients of what it was given."""

    def both(*given: gn.Tensor) -> tuple[gn.Tensor, ...]:
        leaves = [x.detach().requires_grad_(x.is_floating_point()) for x in given]
        made = f(*leaves)
        wanted = [x for x in leaves if x.requires_grad]
        return (made.detach(), *gn.autograd.grad(made.square().sum(), wanted))

    return both


def causal(q: gn.Tensor, k: gn.Tensor, v: gn.Tensor) -> gn.Tensor:
    """Causal attention, whose keys heads may share."""
    return F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)


def functions(scale: int = 16) -> dict[str, Program]:
    """Programs by name; `scale` times as many rows, heads or pixels."""
    gn.manual_seed(0)
    draw, wide = gn.randn, 16 * scale
    ends = gn.tensor([scale, scale, 3 * scale, 4 * scale], dtype=gn.int32)
    linear = with_gradients(lambda x, w: F.gelu(F.linear(x, w)))
    return {
        "tiles of a layer": (linear, (draw(8 * scale, wide), draw(4 * wide, wide))),
        "tiles of float64": (
            lambda x, w: x.double() @ w.double(),
            (draw(wide, wide), draw(wide, wide)),
        ),
        "tiles of bf16": (
            lambda x, w: x.bfloat16() @ w.bfloat16(),
            (draw(wide, wide), draw(wide, wide)),
        ),
        "tiles of images": (
            with_gradients(lambda x, w: F.conv2d(x, w, padding=1)),
            (draw(2, 8, 2 * scale, 2 * scale), draw(2 * scale, 8, 3, 3)),
        ),
        "rows of experts": (
            with_gradients(lambda x, w, ends: gn.grouped_mm(x, w, offs=ends)),
            (draw(5 * scale, wide), draw(4, wide, wide), ends),
        ),
        "one row": (lambda x, w: F.linear(x, w), (draw(1, 16 * wide), draw(wide, 16 * wide))),
        "attention with gradients": (
            with_gradients(causal),
            (draw(2, 4, 8 * scale, 64), draw(2, 2, 8 * scale, 64), draw(2, 2, 8 * scale, 64)),
        ),
    }
