"""The random programs of tests/fuzz_empty.py beside PyTorch, whose control flow is Python's.

By hand:

python -m tests.parity.fuzz_empty --seconds 3600 --seed 1
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from tests.fuzz_empty import main
from tests.sized_programs import Library

torch = pytest.importorskip("torch", reason="needs torch: pip install -e '.[parity]'")

NEEDED = re.compile(
    r"out of (range|bounds)|specify the.*dim|Expected reduction dim|index \d+ is|no identity"
)
"""Errors that say what cannot be had; others say that PyTorch has no kernel for a tensor."""


class Plain(Library):
    """PyTorch, without what it needs a compiler for."""

    def excused(self, error: str) -> bool:
        return not NEEDED.search(error)

    def answers(self, channels: int) -> None:
        # its convolution of no channels has no channels, whatever its weights say
        if not channels:
            raise NotImplementedError

    def choice(self, pred: Any, then: Callable, other: Callable, *operands: Any) -> Any:
        return then(*operands) if pred else other(*operands)

    def turns(self, body: Callable, start: Any, rows: Any) -> tuple[Any, Any]:
        made = []
        for row in rows:
            start, y = body(start, row)
            made.append(y)
        return start, torch.stack(made) if made else rows * 1

    def loop(self, test: Callable, body: Callable, *carried: Any) -> tuple:
        while test(*carried):
            carried = body(*carried)
        return carried

    def grouped(self, x: Any, w: Any, ends: Any) -> Any:
        starts = [0, *ends.tolist()]
        parts = [x[a:b] @ w[k] for k, (a, b) in enumerate(pairwise(starts))]
        return torch.cat(parts)

    def logits(self, x: Any, w: Any, target: Any) -> Any:
        return torch.nn.functional.cross_entropy(x @ w.T, target)


PLAIN = (Plain(torch, torch.nn.functional), (Exception,))

if __name__ == "__main__":
    main([PLAIN])
