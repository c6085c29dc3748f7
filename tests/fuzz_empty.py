"""Random programs whose axes have no elements as often as one: run, compiled, differentiated.

Not a test. Each program (tests/sized_programs.py) is run at several sizes in turn, so that code
comes to serve them all. Everything lies between fences (tests/fenced.py), and every run is compared
with the interpreter. By hand:

    python -m tests.fuzz_empty --seconds 3600 --seed 1
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from random import Random
from typing import Any

import numpy as np

import gnomon as gn
from gnomon.errors import GnomonError
from gnomon.nn import functional
from tests.fenced import Arrays, Doubts, Wrong, close, doubts, fenced, judged, near
from tests.sized_programs import AXES, Call, Library, Program, programs

OURS = Library(gn, functional)
SIZES = (0, 0, 0, 1, 1, 1, 2, 3, 5, 9, 33)
TURNS = 5
"""Sizes that a program is run at, one after the other."""
MOST = 4000
"""Elements of a value."""


def sizes(rng: Random) -> dict[str, int]:
    """A size for each axis that inputs name."""
    return {axis: rng.choice(SIZES) for axis in AXES}


def arrays(program: Program, size: dict[str, int], seed: int) -> list[np.ndarray]:
    """Numbers for the inputs."""
    rng = np.random.default_rng(seed)
    shapes = [tuple(size[a] for a in x.axes) for x in program.values[: program.inputs]]
    return [rng.standard_normal(shape, dtype=np.float32) for shape in shapes]


def lawful(self: Any, found: Arrays, expected: Arrays, doubts: Doubts) -> None:
    """The interpreter's values, by kernels none of which reads or writes what has no elements.

    A call of another library is given them: it may make something of nothing, as an identity.
    """
    close(self, found, expected, doubts)
    if self._block is not None:
        for kernel in self._block.kernels():
            if kernel.external is None and not all(x.size for x in kernel.buffers):
                raise Wrong(f"{kernel.name} of {self.title}: {kernel.buffers} has no elements")


Errors = type[Exception] | tuple[type[Exception], ...]
Outcome = list[np.ndarray | None] | str
"""What a program gives: values and gradients, or the name of an error."""


def outcome(lib: Library, run: Call, given: Sequence[np.ndarray], errors: Errors) -> Outcome:
    """Results and gradients of a run."""
    tensors = [lib.from_numpy(x.copy()).requires_grad_() for x in given]
    try:
        results = run(*tensors)
        loss = sum(((y * (k + 1)).sum() for k, y in enumerate(results)), lib.zeros(()))
        if loss.requires_grad:
            loss.backward()
        found = [*results, *(x.grad for x in tensors)]
        return [None if x is None else x.detach().numpy().copy() for x in found]
    except errors as error:
        return f"{type(error).__name__}: {error}"


def alike(
    mine: Outcome, theirs: Outcome, again: Callable[[], Outcome], lib: Library = OURS
) -> bool:
    """Whether two outcomes agree; no gradient is one of zeros, and some errors are excused."""
    if isinstance(mine, str) or isinstance(theirs, str):
        refused = isinstance(mine, str) and isinstance(theirs, str)
        return refused or unread(mine, theirs) or (isinstance(theirs, str) and lib.excused(theirs))
    if all(same(x, y) for x, y in zip(mine, theirs, strict=True)):
        return True
    off = doubts(lambda: [np.zeros(()) if x is None else x for x in again()])
    return all(same(*three) for three in zip(mine, theirs, off, strict=True))


def unread(mine: Outcome, theirs: Outcome) -> bool:
    """Whether nothing with elements is made of a position outside its axis: nobody reads it."""
    outside = isinstance(theirs, str) and theirs.startswith("IndexOutOfBounds")
    return outside and not any(x is not None and x.size for x in mine)


def same(x: np.ndarray | None, y: np.ndarray | None, doubt: np.ndarray | float = 0.0) -> bool:
    """Whether two results agree."""
    if x is None or y is None:
        found = x if y is None else y
        return found is None or not np.any(found)
    return x.shape == y.shape and near(x, y, doubt)


def apart(mine: Outcome, theirs: Outcome) -> str:
    """The first results that differ, shortly."""
    if isinstance(mine, str) or isinstance(theirs, str):
        return f"{str(mine)[:300]}\n{str(theirs)[:300]}"
    k = next(k for k, pair in enumerate(zip(mine, theirs, strict=True)) if not same(*pair))
    return f"result {k}\n{mine[k]}\n{theirs[k]}"


def told_apart(where: str, which: str, mine: Outcome, theirs: Outcome) -> str:
    """Where and how two outcomes differ."""
    return f"{where}\n{which}:\n{apart(mine, theirs)}"


def check(seed: int, others: Sequence[tuple[Library, Errors]] = ()) -> int:
    """Run one program in every way; gives how many runs there were."""
    program, rng, runs = programs(seed), Random(seed + 1), 0
    compiled = gn.compile(lambda *xs: program.run(OURS, xs))
    for turn in range(TURNS):
        given = arrays(program, sizes(rng), seed + turn)
        if sum(x.size for x in given) > MOST:
            continue
        shapes = [x.shape for x in given]
        where = f"seed {seed}, turn {turn}, {shapes}:\n{program}"
        try:
            again = partial(outcome, OURS, lambda *xs: program.run(OURS, xs), given, GnomonError)
            eager = again()
            found = outcome(OURS, compiled, given, GnomonError)
        except Exception as error:
            raise AssertionError(f"{where}\n{type(error).__name__}: {error}") from error
        assert alike(found, eager, again), told_apart(where, "compiled, plain", found, eager)
        for lib, errors in others:
            told = outcome(lib, lambda *xs, lib=lib: program.run(lib, xs), given, errors)
            assert alike(eager, told, again, lib), told_apart(where, "ours, theirs", eager, told)
        runs += 2
    return runs


Check = Callable[[int, Sequence[tuple[Library, Errors]]], int]
"""Runs the program of a seed; gives how many runs there were."""


def main(others: Sequence[tuple[Library, Errors]] = (), check: Check = check) -> None:
    """Run programs for some time."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", action="store_true", help="go on after a finding")
    asked = parser.parse_args()
    start, seed, runs, findings = time.monotonic(), asked.seed, 0, 0
    with fenced(), judged(lawful):
        while time.monotonic() - start < asked.seconds:
            try:
                runs += check(seed, others)
            except AssertionError as error:
                findings += 1
                print(f"--- {error}", flush=True)
                if not asked.keep:
                    break
            seed += 1
            if seed % 50 == 0:
                gc.collect()
    print(f"{seed - asked.seed} programs, {runs} runs, {findings} findings, next seed {seed}")
    sys.exit(findings > 0)


if __name__ == "__main__":
    main()
