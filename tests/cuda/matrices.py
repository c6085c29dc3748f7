"""What a warp does together with matrices: ldmatrix and mma.sync, by their layouts in PTX ISA 8.0.

Numbers of an mma follow the model of Hopper's tensor cores, which an H100 and an H200 were found
to have in 10⁶ sums (benchmarks/cuda/tensor_core.py).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.cuda.tensor_core import COLUMNS, LANES, ROWS, STEPS, model, numbers, tiles_of

__all__ = ["mma", "mma_kind", "parts_of_lines"]

LANE = np.arange(LANES)
GROUP, PAIR = LANE >> 2, 2 * (LANE & 3)


def mma_kind(more: tuple[str, ...]) -> str:
    """The type of an instruction's factors: "bf16" or "f16"."""
    *shape, result, a, b, total = more
    known = ["sync", "aligned", "m16n8k16", "row", "col"]
    assert (shape, result, total, a) == (known, "f32", "f32", b), f"ptx: mma.{'.'.join(more)}"
    return a


def halves(registers: np.ndarray) -> np.ndarray:
    """The 16-bit values of registers [warps, lanes, registers], two from each."""
    return np.ascontiguousarray(registers).view(np.uint16)


def mma(kind: str, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """The sums of a tile in each warp, lane by lane: registers [warps, 32, 4], 2 and 4."""
    warps = len(a)
    left = np.empty((warps, ROWS, STEPS), np.uint16)
    right = np.empty((warps, STEPS, COLUMNS), np.uint16)
    for k, value in enumerate(np.moveaxis(halves(a), -1, 0)):
        left[:, GROUP + 8 * (k >> 1 & 1), PAIR + (k & 1) + 8 * (k >> 2)] = value
    for k, value in enumerate(np.moveaxis(halves(b), -1, 0)):
        right[:, PAIR + (k & 1) + 8 * (k >> 1), GROUP] = value
    sums = model(numbers(left, kind), numbers(right, kind), tiles_of(c), kind)
    found = np.empty_like(c)
    for k in range(4):
        found[:, :, k] = sums[:, GROUP + 8 * (k >> 1), PAIR + (k & 1)]
    return found


def parts_of_lines(
    addresses: np.ndarray, matrix: int, turned: bool, read: Callable[[np.ndarray], np.ndarray]
) -> np.ndarray:
    """A register of each lane: two of a matrix's values, whose lines some lanes have named.

    addresses: of 16 bytes, [warps, lanes]; read: the 16-bit values at addresses.
    """
    if turned:
        lines, places = [PAIR, PAIR + 1], [GROUP, GROUP]
    else:
        lines, places = [GROUP, GROUP], [PAIR, PAIR + 1]
    low, high = (
        read(addresses[:, 8 * matrix + line] + (2 * place).astype(np.uint64)).astype(np.uint32)
        for line, place in zip(lines, places, strict=True)
    )
    return low | high << np.uint32(16)
