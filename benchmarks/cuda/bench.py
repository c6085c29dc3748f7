"""Products at work on a card: kernels, memory, times, and what the model says of whole products."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import partial
from statistics import median
from typing import Any

import numpy as np

from benchmarks.cuda.driver import Driver, Kernel
from benchmarks.cuda.tensor_core import COLUMNS, ROWS, STEPS, model, numbers, rounded
from benchmarks.cuda.tiles import Tiling
from benchmarks.cuda.warpgroup_product import GroupShape

Sizes = tuple[int, int, int]
"""Rows, columns and steps."""
ROUNDS, REPEATS = 3, 8
MOST_SHARED, MOST_REGISTERS = 233472, 65536
"""Of a multiprocessor."""


class Launch(ctypes.Structure):
    """CUlaunchConfig: grid, block, shared memory, stream, attributes."""

    _fields_ = [
        *((name, ctypes.c_uint) for name in ("gx", "gy", "gz", "bx", "by", "bz", "shared")),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.c_void_p),
        ("count", ctypes.c_uint),
    ]


class Bench:
    """Kernels, and memory that is given back together."""

    def __init__(self, driver: Driver) -> None:
        self.driver = driver
        self.count = int(driver.describe()["multiprocessors"])  # type: ignore[call-overload]
        self.kernels: dict[Tiling, Kernel] = {}
        self.held: list[int] = []

    def put(self, array: np.ndarray) -> int:
        """An array on the card."""
        self.held.append(self.driver.allocate(array.nbytes))
        self.driver.put(self.held[-1], array)
        return self.held[-1]

    def room(self, nbytes: int) -> int:
        """Memory on the card, poisoned."""
        self.held.append(self.driver.allocate(nbytes))
        self.driver.fill(self.held[-1], 0x7D, nbytes)
        return self.held[-1]

    def free(self) -> None:
        """Give all memory back."""
        for place in self.held:
            self.driver.free(place)
        self.held.clear()

    def kernel(self, shape: Any) -> Kernel:
        """A shape's kernel, assembled once."""
        if shape not in self.kernels:
            found = self.driver.function(self.driver.load(shape.text()), "product")
            self.driver.allow(found, shape.shared)
            self.kernels[shape] = found
        return self.kernels[shape]

    def run(
        self, shape: Any, sizes: Sizes, leaves: int, places: Sequence[int]
    ) -> Callable[[], None]:
        """What starts a product; as many blocks as run at once take all tiles in turn.

        places: those of A, B and C.
        """
        m, n, k = sizes
        kernel = self.kernel(shape)
        registers = shape.threads * -(-kernel.registers // 8) * 8
        most = min(MOST_SHARED // (shape.shared + 1024), MOST_REGISTERS // registers)
        at_once = self.count * max(1, most)
        if isinstance(shape, GroupShape) and shape.pair:
            at_once = 2 * self.pairs(kernel, shape)
        blocks = min(tiles_of(shape, sizes), at_once)
        held = self.room(max(16, shape.work * blocks))
        near, far = shape.steps_first
        if isinstance(shape, GroupShape):
            ways = ((m, k), (n, k) if far else (k, n))
            maps = [self.map(*x) for x in zip(places[:2], ways, shape.boxes, strict=True)]
            given = [*maps, places[2], held, m, n, k, n, leaves]
        else:
            given = [*places, held, m, n, k, k if near else m, k if far else n, n, leaves]
        launch = self.driver.launch
        return partial(launch, kernel, blocks, shape.threads, given, shape.shared)

    def pairs(self, kernel: Kernel, shape: GroupShape) -> int:
        """How many pairs of blocks run at once; more would wait for the first to end."""
        found = ctypes.c_int()
        config = Launch(2 * self.count, 1, 1, shape.threads, 1, 1, shape.shared)
        self.driver.call(
            "cuOccupancyMaxActiveClusters",
            ctypes.byref(found),
            kernel.handle,
            ctypes.byref(config),
        )
        return found.value

    def map(self, place: int, shape: tuple[int, int], box: tuple[int, int]) -> int:
        """What the copy engine reads a matrix of 16 bits by, on the card."""
        room = (ctypes.c_uint8 * 256)()
        at = -ctypes.addressof(room) % 64
        wide, tall = ctypes.c_uint64 * 2, ctypes.c_uint32 * 2
        (lines, width), (down, across) = shape, box
        self.driver.call(
            "cuTensorMapEncodeTiled",
            ctypes.c_void_p(ctypes.addressof(room) + at),
            1,  # UINT16
            2,
            ctypes.c_void_p(place),
            wide(width, lines),
            (ctypes.c_uint64 * 1)(2 * width),
            tall(across, down),
            tall(1, 1),
            0,  # no interleave
            3,  # 128 bytes are turned
            2,  # 128 bytes at once into the second cache
            0,  # zeros outside
        )
        return self.put(np.frombuffer(room, np.uint8)[at : at + 128].copy())

    def seconds(self, works: dict[str, Any]) -> dict[str, float]:
        """The card's time of each, the median of rounds in turns."""
        times: dict[str, list[float]] = {name: [] for name in works}
        for work in works.values():
            work()
        for _ in range(ROUNDS):
            for name, work in works.items():
                times[name].append(self.driver.seconds(work, REPEATS))
        return {name: median(each) for name, each in times.items()}


def tiles_of(shape: Tiling, sizes: Sizes) -> int:
    """Tiles of a product, of both blocks of a pair."""
    pairs = 2 if isinstance(shape, GroupShape) and shape.pair else 1
    return pairs * -(-sizes[0] // (pairs * shape.rows)) * -(-sizes[1] // shape.columns)


# the model of a whole product


def expected(a: np.ndarray, b: np.ndarray, leaves: int, kind: str) -> np.ndarray:
    """A [m, k] B [k, n] of 16 bits in the canonical order, as float32."""
    rows, columns = a.shape[0], b.shape[1]
    parts = []
    for first in range(0, a.shape[1], a.shape[1] // leaves):
        x = padded(numbers(a[:, first : first + a.shape[1] // leaves], kind), ROWS, STEPS)
        y = padded(numbers(b[first : first + a.shape[1] // leaves], kind), STEPS, COLUMNS)
        down, across = x.shape[0] // ROWS, y.shape[1] // COLUMNS
        sums = np.zeros((down * across, ROWS, COLUMNS), np.float32)
        for k in range(0, x.shape[1], STEPS):
            left = np.repeat(x[:, k : k + STEPS].reshape(down, ROWS, STEPS), across, 0)
            right = y[k : k + STEPS].reshape(STEPS, across, COLUMNS).swapaxes(0, 1)
            sums = model(left, np.tile(right, (down, 1, 1)), sums, kind)
        whole = sums.reshape(down, across, ROWS, COLUMNS).swapaxes(1, 2)
        parts.append(whole.reshape(down * ROWS, across * COLUMNS)[:rows, :columns])
    while len(parts) > 1:
        parts = [x + y for x, y in zip(parts[::2], parts[1::2], strict=True)]
    return parts[0]


def padded(x: np.ndarray, rows: int, columns: int) -> np.ndarray:
    """Zeros behind, up to whole tiles."""
    return np.pad(x, ((0, -x.shape[0] % rows), (0, -x.shape[1] % columns)))


def factors(sizes: Sizes, kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Normal numbers of 16 bits."""
    r, (m, n, k) = np.random.default_rng(0), sizes
    a, b = (r.standard_normal(shape, np.float32) for shape in ((m, k), (k, n)))
    return rounded(a, kind), rounded(b, kind)


def laid(a: np.ndarray, b: np.ndarray, steps_first: tuple[bool, bool]) -> list[np.ndarray]:
    """Factors as they lie in memory."""
    left, right = (a if steps_first[0] else a.T), (b.T if steps_first[1] else b)
    return [np.ascontiguousarray(left), np.ascontiguousarray(right)]
