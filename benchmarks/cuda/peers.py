"""What torch does with the same work on the card, if it is installed: seconds of a call."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import partial
from typing import Any

Work = Callable[[], object]


class Torch:
    """torch's eager kernels on random numbers; products of float32 without TF32."""

    def __init__(self, torch: Any) -> None:
        self.torch, self.nn = torch, torch.nn.functional
        torch.backends.cuda.matmul.allow_tf32 = False

    def random(self, *shape: int, kind: str = "float32") -> Any:
        """Normal numbers on the card."""
        return self.torch.randn(*shape, device="cuda").to(getattr(self.torch, kind))

    def product(self, m: int, n: int, k: int, kind: str, is_transposed: bool = False) -> Work:
        """A [m, k] @ B [k, n]; transposed: B's steps are neighbours."""
        a, b = self.random(m, k, kind=kind), self.random(k, n, kind=kind)
        right = b.t().contiguous().t() if is_transposed else b
        return partial(self.torch.matmul, a, right, out=self.torch.empty_like(a @ right))

    def loops(self, rows: int, columns: int) -> dict[str, Work]:
        """The loops of benchmarks/cuda/rows.py and moves.py."""
        x, y, w = self.random(rows, columns), self.random(rows, columns), self.random(columns)
        return {
            "silu": lambda: self.nn.silu(x) * y,
            "softmax": lambda: self.nn.softmax(x, -1),
            "layer_norm": lambda: self.nn.layer_norm(x, (columns,), w, w),
            "sum of columns": lambda: x.sum(0),
            "transpose": lambda: x.t().contiguous(),
        }


def torch() -> Torch | None:
    """torch, where it and a card are."""
    try:
        return Torch(importlib.import_module("torch"))
    except ImportError:
        return None
