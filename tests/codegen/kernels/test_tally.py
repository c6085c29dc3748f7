"""What is computed when code runs is what the order's tables say."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest

from gnomon.codegen.emitter import KERNEL, LLVMModule
from gnomon.codegen.kernels.order import combine_counts, depths
from gnomon.codegen.kernels.tally import additions, sums_on_stack
from tests.codegen.kernels.jit import Kernel

NESTS = [[(8, 4)], [(5, 1), (6, 2)], [(4, 4), (8, 2)], [(6, 2), (3, 1), (4, 4)], [(7, 1)], []]
NESTS += [[(12, 4), (48, 2)], [(16, 16), (256, 2)], [(3, 1), (2, 2), (3, 1)]]


@pytest.mark.parametrize("letters", NESTS, ids=str)
def test_every_chunk_owes_and_finds_what_the_order_says(letters):
    counts = combine_counts(letters)
    e = (module := LLVMModule()).function("tell", KERNEL)
    numbers, goals = (e.load(e.offset("%buffers", 8 * k), "ptr", 8) for k in range(2))
    given = [e.load(e.offset(numbers, 8 * k), "i64", 8) for k in range(2 * len(letters))]
    # sizes are operands; their quotients are needed too
    own = [Pair(e, *given[2 * k : 2 * k + 2]) for k in range(len(letters))]
    walks = [(pair.size, pair.leaves) for pair in own]

    def chunk(index: str) -> None:
        for k, found in enumerate((additions(e, walks, index), sums_on_stack(e, walks, index))):
            place = e.add(e.mul(index, 16), 8 * k)
            e.store(found, e.offset(goals, place), "i64", 8)

    e.loop(0, len(counts), 1, chunk)
    e.ret()
    told = np.full((len(counts), 2), -1, np.int64)
    flat = np.array([n for letter in letters for n in letter] or [0], np.int64)

    Kernel(module.text(), "tell", 64)([flat, told])

    assert len(counts) == prod(
        [size for size, _ in letters[:-1]] + [leaves for _, leaves in letters[-1:]]
    )
    assert told[:, 0].tolist() == counts
    assert told[:, 1].tolist() == depths(counts)[:-1]


class Operand:
    """A number that is known when code runs: its name, and what is computed of it."""

    def __init__(self, e, name: str) -> None:
        self.e, self.name = e, name

    def __str__(self) -> str:
        return self.name

    def __floordiv__(self, other: object) -> Operand:
        return Operand(self.e, self.e.value(f"udiv i64 {self}, {other}"))


class Pair:
    """A letter of such numbers."""

    def __init__(self, e, size: str, leaves: str) -> None:
        self.size, self.leaves = Operand(e, size), Operand(e, leaves)
