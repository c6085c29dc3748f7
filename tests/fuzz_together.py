"""Random programs at many sizes side by side in one function, so that kernels serve several.

Not a test. Programs are those of tests/fuzz_empty.py, with their gradients; everything lies between
fences, and every run is compared with the interpreter, and to the bit with one in which no kernels
are shared. By hand:

    python -m tests.fuzz_together --seconds 3600 --seed 1
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import numpy as np

import gnomon as gn
from gnomon.errors import GnomonError
from tests.fuzz_empty import MOST, OURS, Errors, Outcome, arrays, main, outcome, told_apart
from tests.sized_programs import AXES, Library, programs

SIZES = (1, 2, 3, 5, 7, 9, 15, 16, 17, 31, 33, 40, 64)
TOGETHER = 11
"""Sizes of a program in one function: some are left to share a kernel, whatever the others are."""


def draws(seed: int) -> list[np.ndarray]:
    """The inputs of a program at many sizes, one after the other."""
    program, rng, found = programs(seed), Random(seed), list[np.ndarray]()
    for turn in range(20 * TOGETHER):
        given = arrays(program, {axis: rng.choice(SIZES) for axis in AXES}, seed + turn)
        if sum(x.size for x in given) <= MOST:
            found += given
        if len(found) == TOGETHER * program.inputs:
            break
    return found


def check(seed: int, others: Sequence[tuple[Library, Errors]] = ()) -> int:
    """Run one program with shared kernels and without; gives how many runs there were."""
    program, given, each = programs(seed), draws(seed), programs(seed).inputs
    places = range(0, len(given), each)

    def run(*xs: gn.Tensor) -> list[gn.Tensor]:
        return [y for k in places for y in program.run(OURS, xs[k : k + each])]

    shared, alone = (
        outcome(OURS, gn.compile(run, options={"share": share}), given, GnomonError)
        for share in (True, False)
    )
    where = f"seed {seed}:\n{program}"
    assert same(shared, alone), told_apart(where, "shared, alone", shared, alone)
    return 2


def same(shared: Outcome, alone: Outcome) -> bool:
    """Whether two outcomes have the same bits."""
    if isinstance(shared, str) or isinstance(alone, str):
        return shared == alone
    return all(bits(x) == bits(y) for x, y in zip(shared, alone, strict=True))


def bits(x: np.ndarray | None) -> tuple | None:
    """A result's bits; of values that are no numbers only their places."""
    if x is None:
        return None
    unknown = np.isnan(x)
    return x.shape, np.where(unknown, np.float32(0), x).tobytes(), unknown.tobytes()


if __name__ == "__main__":
    main(check=check)
