"""Memory in which mistakes show: pages without access around every block, and 0xA5 in every byte.

Not a test. What a program reads or writes outside of a buffer ends the process, at either end of
it; what it does not write is seen in its results. `judged` also runs each program a second time, by
the interpreter, and compares.
"""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import count
from typing import Any
from unittest.mock import patch

import numpy as np

from gnomon.errors import GnomonError, IndexOutOfBounds
from gnomon.ops import interpret as interpreter
from gnomon.ops.interpret import interpret_graph
from gnomon.passes.empty import empty
from gnomon.passes.inline import inline
from gnomon.program.executable import Executable
from gnomon.runtime import program, threads
from gnomon.runtime.buffer import Allocator, DeviceBuffer, others
from gnomon.settings import current, override
from gnomon.tensor.evaluate import evaluate_all

POISON = 0xA5
PAGE = mmap.PAGESIZE
UNIT = 8
"""Bytes of the widest element: what lies against the page after it begins at a multiple."""

PRIVATE, NOTHING, ALL = 0x22, 0, 3
"""MAP_PRIVATE | MAP_ANONYMOUS, PROT_NONE, PROT_READ | PROT_WRITE."""


def system() -> ctypes.CDLL:
    """The system's calls on pages."""
    library = ctypes.CDLL(None, use_errno=True)
    library.mmap.restype = ctypes.c_void_p
    library.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    library.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    library.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    return library


class Fences:
    """Blocks between pages without access, mostly against the one after, else the one before."""

    device, read, write = Allocator.device, Allocator.read, Allocator.write
    copy = Allocator.copy

    def __init__(self) -> None:
        self.system, self.turn = system(), count()
        self.mapped: dict[int, tuple[int, int]] = {}

    def take(self, nbytes: int) -> int:
        """The address of a block of just so many bytes, all poisoned."""
        inner = max(-(-nbytes // PAGE), 1) * PAGE
        start = self.system.mmap(None, inner + 2 * PAGE, NOTHING, PRIVATE, -1, 0)
        assert start not in (None, 2**64 - 1), "no room for fences"
        assert not self.system.mprotect(start + PAGE, inner, ALL)
        ctypes.memset(start + PAGE, POISON, inner)
        behind = next(self.turn) % 4
        address = start + PAGE + (inner - -(-nbytes // UNIT) * UNIT if behind else 0)
        self.mapped[address] = start, inner + 2 * PAGE
        return address

    def give(self, address: int, size: int = 0) -> bool:
        """Hand a block back, after which nobody may touch it; whether it is one of ours."""
        if address not in self.mapped:
            return False
        self.system.munmap(*self.mapped.pop(address))
        return True


def whole_programs() -> override:
    """A block in which nothing runs in pieces, which have kernels of one operation."""
    return override(without=",".join(filter(None, (current().without, "pieces"))))


@contextmanager
def fenced() -> Iterator[Fences]:
    """Inside, every block lies between fences, and scratch memory holds nothing but poison.

    What waits is computed before: tensors that other tests made while they were collected would
    have fenced memory, which no program of theirs may read.
    """
    with suppress(GnomonError):
        evaluate_all()
    fences, give, acquire = Fences(), Allocator.give, threads.acquire
    # fenced blocks are the host's, whatever devices earlier tests of this process took memory of
    known = {*others}
    others.clear()

    def given(self: Allocator, address: int, size: int) -> None:
        if not fences.give(address):
            give(self, address, size)

    def block(self: Allocator, nbytes: int, size: int, taken: int = 0) -> DeviceBuffer:
        made = DeviceBuffer.__new__(DeviceBuffer)
        made.address = taken or fences.take(nbytes)
        made.nbytes, made.owner, made.readonly, made.lent = nbytes, None, False, 0
        made.memory, made._size = fences, size
        return made

    def poisoned(scratch: int, alone: bool = False) -> Any:
        team = acquire(scratch, alone)
        ctypes.memset(team.scratch, POISON, team.stride * team.threads)
        return team

    with (
        patch.object(Allocator, "take", lambda self, size: fences.take(size)),
        patch.object(Allocator, "blank", lambda self, size: (fences.take(size), False)),
        patch.object(Allocator, "give", given),
        patch.object(Allocator, "block", block),
        patch.object(program.threads, "acquire", poisoned),
        whole_programs(),
    ):
        try:
            yield fences
        finally:
            others.update(known)


class Wrong(AssertionError):
    """A program gave other values than the interpreter."""


Arrays = Sequence[np.ndarray]
Doubts = Callable[[], Arrays]
"""Gives by how much rounding alone may move each result."""
Check = Callable[[Executable, Arrays, Arrays, Doubts], None]


@contextmanager
def judged(check: Check) -> Iterator[None]:
    """Inside, `check` is told of every run: the program, its results, the interpreter's."""
    run = Executable.run

    def again(
        self: Executable, inputs: Sequence[DeviceBuffer], *rest: Any, **more: Any
    ) -> list[DeviceBuffer]:
        graph = self.source
        pairs = zip(inputs, graph.inputs, strict=True)
        given = [b.numpy(x.dtype.numpy, x.shape).copy() for b, x in pairs]
        made = run(self, inputs, *rest, **more)
        with np.errstate(all="ignore"):
            try:
                expected = interpret_graph(graph, given)
            except IndexOutOfBounds:
                # what has no elements is not computed, and finds no position outside its axis
                whole = inline(graph, lambda _: False)
                expected = interpret_graph(empty(whole), given)
        found = [
            b.numpy(x.dtype.numpy, x.shape).copy() for b, x in zip(made, graph.outputs, strict=True)
        ]
        check(self, found, expected, lambda: doubts(lambda: interpret_graph(graph, given)))
        return made

    with patch.object(Executable, "run", again), whole_programs():
        yield


def close(self: Executable, found: Arrays, expected: Arrays, doubts: Doubts) -> None:
    """The same values up to rounding."""
    for k, (x, found_, right) in enumerate(zip(self.source.outputs, found, expected, strict=True)):
        if not near(found_, right) and not near(found_, right, doubts()[k]):
            raise Wrong(f"{x!r} of {self.title}: {found_} where {right} is right")


def near(found: np.ndarray, right: np.ndarray, doubt: np.ndarray | float = 0.0) -> bool:
    """Whether two arrays agree: integers to the last, floats to a thousandth and a doubt."""
    if right.dtype.kind not in "fV":
        return bool(np.array_equal(found, right))
    a, b = (x.astype(np.float64) for x in (found, right))
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    with np.errstate(invalid="ignore"):
        return bool(np.all(same | (np.abs(a - b) <= 1e-4 + 1e-3 * np.abs(b) + doubt)))


# what rounding may do: every operand and every result is moved a little, at random

MOVED = 2.0
"""Units in the last place by which a value is moved at most."""
SHAKES = 8
ROUNDS = frozenset({"map", "reduce", "scan", "contract", "scatter"})


@contextmanager
def shaken(rng: np.random.Generator) -> Iterator[None]:
    """Inside, the interpreter rounds at random, and programs are run by it."""
    evaluate = interpreter.evaluate

    def moved(x: np.ndarray) -> np.ndarray:
        if x.dtype.kind != "f" or x.dtype.itemsize < 4:
            return x
        unit = MOVED * np.finfo(x.dtype).eps / 2
        return x * (1 + rng.uniform(-unit, unit, x.shape)).astype(x.dtype)

    def rounded(node: Any, inputs: Arrays) -> np.ndarray:
        if node.op not in ROUNDS:
            return evaluate(node, inputs)
        return np.asarray(moved(evaluate(node, [moved(x) for x in inputs])))

    def run(
        self: Executable, inputs: Sequence[DeviceBuffer], *rest: Any, **more: Any
    ) -> list[DeviceBuffer]:
        pairs = zip(inputs, self.source.inputs, strict=True)
        given = [b.numpy(x.dtype.numpy, x.shape).copy() for b, x in pairs]
        made = interpret_graph(self.source, given)
        return [DeviceBuffer.of(np.array(x, order="C")) for x in made]

    with (
        patch.object(interpreter, "evaluate", rounded),
        patch.object(Executable, "run", run),
        np.errstate(all="ignore"),
    ):
        yield


def doubts(run: Callable[[], Arrays]) -> Arrays:
    """By how much each result of a computation may be off, told by what random rounding does."""
    found = []
    for seed in range(SHAKES):
        with shaken(np.random.default_rng(seed)):
            found.append([np.asarray(x, np.float64) for x in run()])
    with np.errstate(invalid="ignore"):
        return [np.ptp(np.stack(each), 0) for each in zip(*found, strict=True)]
