"""Idioms: small functions of the code that the emitter writes, with their results by numpy.

They cover every type, lane count and kind of mask that kernels use. conformance.py runs them and
provides the memory.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from gnomon.codegen import scalar
from gnomon.codegen.emitter import LANES, Emitter, splat, vector
from gnomon.codegen.llvm_algebra import LlvmAlgebra
from gnomon.dtypes import (
    DType,
    bfloat16,
    bool_,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)

__all__ = ["Idiom", "converted", "idioms", "samples", "suspects"]

SIGNED, UNSIGNED = (int8, int16, int32, int64), (uint8, uint16, uint32, uint64)
DTYPES = (bool_, *SIGNED, *UNSIGNED, float16, bfloat16, float32, float64)
NARROWING = ((int32, int8), (int64, int32), (int64, int16), (float32, bfloat16), (float64, float16))
"""Conversions that `gnomon doctor` tests; LLVM 22.1.0 gets the first three wrong."""
IdiomReference = Callable[[np.ndarray, np.ndarray], np.ndarray]
Masks = Sequence[frozenset[int]]


@dataclass(frozen=True)
class Idiom:
    """A function that writes `out` from `a` and a mask, and the result that it should have.

    `expected(a, on)` is every lane's value; inactive lanes keep their old contents, unless `whole`.
    """

    name: str
    given: np.dtype
    made: np.dtype
    lanes: int
    emit: Callable[[Emitter], None]
    expected: IdiomReference
    masks: Masks
    whole: bool = False


def everything(lanes: int) -> frozenset[int]:
    """The set of all lanes."""
    return frozenset(range(lanes))


def masks_of(lanes: int, seed: int = 0) -> list[frozenset[int]]:
    """Masks as sets of lanes: none, one, all but one, random ones, all, half, every other."""
    chosen = random.Random(seed)
    return [
        frozenset(),
        frozenset({0}),
        frozenset({lanes - 1}),
        everything(lanes - 1),
        frozenset(chosen.sample(range(lanes), chosen.randint(2, lanes))),
        everything(lanes),
        frozenset(range(max(lanes // 2, 1))),
        frozenset(range(0, lanes, 2)),
    ]


KNOWN = 5
"""The number of masks, from the first on, that are also tried as constants."""


def constant_mask(on: frozenset[int], lanes: int) -> str:
    """The text of a mask as a constant, which LLVM can fold."""
    return f"<{', '.join('i1 true' if k in on else 'i1 false' for k in range(lanes))}>"


def dynamic_mask(e: Emitter, lanes: int) -> str:
    """Emit a mask that is read from memory, so that LLVM cannot fold it."""
    kind = vector("i8", lanes)
    return e.value(f"icmp ne {kind} {e.load('%m', kind, 1)}, zeroinitializer")


def mask_kinds(lanes: int) -> Iterator[tuple[str, Callable[[Emitter], str], Masks]]:
    """Yield kinds of masks: each of the first as a constant, and all of them read at run time."""
    masks = masks_of(lanes)
    for on in masks[:KNOWN]:
        text = constant_mask(on, lanes)
        yield f"constant {sorted(on)}", lambda e, text=text: text, [on]
    yield "dynamic", lambda e: dynamic_mask(e, lanes), masks


# what numpy says


def converted(x: np.ndarray, made: DType) -> np.ndarray:
    """Cast numbers by numpy as Gnomon defines it (codegen/scalar.py); narrow floats round once."""
    kind = made.numpy
    with np.errstate(all="ignore"):
        if made is bool_:
            return x != 0
        if kind.kind in "iu" and x.dtype.kind in "fV":
            return cut(np.trunc(x.astype(np.float64)), made)
        if made in (float16, bfloat16):
            return x.astype(np.float32).astype(kind)
        return x.astype(kind)


def cut(x: np.ndarray, made: DType) -> np.ndarray:
    """Convert whole numbers as floats to integers of a dtype, as Gnomon defines it."""
    low, high = made.limits
    most = float(high + 1 if made in (int32, int64) else 1 << (31 if made.bits <= 16 else 63))
    found = np.where(np.abs(x) < most, x, 0).astype(np.int64).astype(made.numpy)
    if made in (int32, int64):
        return np.where(x >= most, high, np.where(x <= -most, low, found)).astype(made.numpy)
    upper = (x >= most) & (x < 2.0**64) & (made.bits == 64)
    return np.where(upper, np.where(upper, x, 0).astype(np.uint64).astype(made.numpy), found)


def samples(dtype: np.dtype, lanes: int, seed: int) -> np.ndarray:
    """Random numbers of a dtype, special values among them."""
    chosen = np.random.default_rng(seed)
    if dtype.kind == "b":
        return chosen.integers(0, 2, lanes).astype(dtype)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return chosen.integers(limits.min, limits.max, lanes, dtype, endpoint=True)
    found = chosen.normal(0, 300, lanes)
    odd = (np.nan, -0.0, 1e30, -1e30, 0.5)
    found[: min(lanes // 2, len(odd))] = odd[: lanes // 2]
    with np.errstate(all="ignore"):
        return chosen.permutation(found).astype(dtype)


# the idioms


def moves(given: DType, made: DType) -> Iterator[Idiom]:
    """Yield idioms that load, convert and store elements: plainly, masked, past the caches."""
    reads, writes = scalar.memory(given), scalar.memory(made)
    size = made.itemsize

    def value(e: Emitter, on: str | None) -> str:
        kind, align = vector(reads), given.itemsize
        raw = e.load_masked("%a", on, reads) if on else e.load("%a", kind, align)
        computed = scalar.cast(e, scalar.widen(e, raw, given), given, made)
        return scalar.narrow(e, computed, made)

    def plain(e: Emitter) -> None:
        e.store(value(e, None), "%out", vector(writes), size)

    def far(e: Emitter) -> None:
        e.store_far(value(e, None), "%out", vector(writes), size)
        e.settle()

    def all_lanes(a: np.ndarray, on: np.ndarray) -> np.ndarray:
        return converted(a, made)

    def read_lanes(a: np.ndarray, on: np.ndarray) -> np.ndarray:
        return converted(np.where(on, a, np.zeros_like(a)), made)

    label, full = f"{given.name} to {made.name}", [everything(LANES)]
    kinds = given.numpy, made.numpy, LANES
    yield Idiom(f"{label}, stored", *kinds, plain, all_lanes, full)
    yield Idiom(f"{label}, stored past the caches", *kinds, far, all_lanes, full)
    for name, mask, masks in mask_kinds(LANES):

        def stored(e: Emitter, mask: Callable = mask) -> None:
            e.store_masked(value(e, None), "%out", mask(e), writes)

        def both(e: Emitter, mask: Callable = mask) -> None:
            on = mask(e)
            e.store_masked(value(e, on), "%out", on, writes)

        def loaded(e: Emitter, mask: Callable = mask) -> None:
            e.store(value(e, mask(e)), "%out", vector(writes), size)

        yield Idiom(f"{label}, masked store, {name}", *kinds, stored, all_lanes, masks)
        yield Idiom(f"{label}, masked both, {name}", *kinds, both, read_lanes, masks)
        yield Idiom(f"{label}, masked load, {name}", *kinds, loaded, read_lanes, masks, whole=True)


def truncations(given: DType, made: DType, lanes: int) -> Iterator[Idiom]:
    """Yield idioms that truncate integers and store them under masks, at several lane counts."""
    wide, thin = f"i{given.bits}", f"i{made.bits}"
    for name, mask, masks in mask_kinds(lanes):

        def cut(e: Emitter, mask: Callable = mask) -> None:
            raw = e.load("%a", vector(wide, lanes), given.itemsize)
            kept = e.value(f"trunc {vector(wide, lanes)} {raw} to {vector(thin, lanes)}")
            e.store_masked(kept, "%out", mask(e), thin, lanes)

        label = f"{wide} cut to {thin}, {lanes} lanes, {name}"
        kinds = given.numpy, made.numpy, lanes
        yield Idiom(label, *kinds, cut, lambda a, on: a.astype(made.numpy), masks)


def lookups(dtype: DType) -> Iterator[Idiom]:
    """Yield idioms of a gather whose lanes that are off are filled."""
    kind, size = scalar.memory(dtype), dtype.itemsize
    order = [(5 * k + 3) % LANES for k in range(LANES)]
    places = f"<{', '.join(f'i64 {k}' for k in order)}>"
    for name, mask, masks in mask_kinds(LANES):

        def gathered(e: Emitter, mask: Callable = mask) -> None:
            on = mask(e)
            reach = e.value(f"getelementptr {kind}, ptr %a, {vector('i64')} {places}")
            e.store(e.gather(reach, on, "%a", kind), "%out", vector(kind), size)

        def expected(a: np.ndarray, on: np.ndarray) -> np.ndarray:
            return np.where(on, a[order], np.zeros_like(a))

        kinds = dtype.numpy, dtype.numpy, LANES
        yield Idiom(f"{dtype.name} gathered, {name}", *kinds, gathered, expected, masks, whole=True)


def binaries(dtype: DType) -> Iterator[Idiom]:
    """Yield idioms of a function of neighbouring lanes: minimum, maximum, sum, product."""
    kind, size = scalar.memory(dtype), dtype.itemsize
    turned = [(k + 1) % LANES for k in range(LANES)]
    rows = {"minimum": np.minimum, "maximum": np.maximum, "add": np.add, "mul": np.multiply}

    for name, function in rows.items():

        def emit(e: Emitter, name: str = name) -> None:
            x = scalar.widen(e, e.load("%a", vector(kind), size), dtype)
            y = e.shuffle(x, x, turned, scalar.register(dtype))
            made = scalar.apply(e, name, [x, y], dtype, dtype)
            e.store(scalar.narrow(e, made, dtype), "%out", vector(kind), size)

        def expected(a: np.ndarray, on: np.ndarray, function: Callable = function) -> np.ndarray:
            wide = a.astype(np.float32) if dtype in (float16, bfloat16) else a
            with np.errstate(all="ignore"):
                return function(wide, wide[turned]).astype(a.dtype)

        kinds = dtype.numpy, dtype.numpy, LANES
        yield Idiom(f"{name} of {dtype.name}", *kinds, emit, expected, [everything(LANES)])


def mask_algebra() -> Iterator[Idiom]:
    """Yield idioms that combine a mask with a comparison, and that branch if any lane is on."""

    def joined(e: Emitter) -> None:
        x, kind = e.load("%a", vector("i32"), 4), vector("i32")
        small = e.value(f"icmp slt {kind} {x}, zeroinitializer")
        on = e.both(small, dynamic(e))
        e.store(e.load_masked("%a", on, "i32"), "%out", kind, 4)

    def rare(e: Emitter) -> None:
        x = e.load("%a", vector("float"), 4)
        zero = splat(0.0, "float")
        chosen = LlvmAlgebra(e, "float").rarely(dynamic(e), lambda: [zero], [x])
        e.store(chosen[0], "%out", vector("float"), 4)

    def dynamic(e: Emitter) -> str:
        return dynamic_mask(e, LANES)

    masks = masks_of(LANES)
    for name, kind, emit, expected in (
        ("masks joined", int32, joined, lambda a, on: np.where(on & (a < 0), a, 0)),
        ("a branch for any lane", float32, rare, lambda a, on: np.where(on, 0, a)),
    ):
        yield Idiom(name, kind.numpy, kind.numpy, LANES, emit, expected, masks, whole=True)


def suspects() -> list[Idiom]:
    """The idioms that an LLVM is known to get wrong: narrow stores under a mask of one lane."""
    return [x for x in idioms(thorough=False) if [len(mask) for mask in x.masks] == [1]]


def idioms(thorough: bool = True) -> Iterator[Idiom]:
    """Yield all idioms; if not `thorough`, those of the most important conversions."""
    pairs = product(DTYPES, DTYPES) if thorough else NARROWING
    for given, made in pairs:
        yield from moves(given, made)
    for given, made in product(SIGNED, SIGNED):
        if given.bits > made.bits:
            for lanes in (2, 4, 8, 32) if thorough else (8,):
                yield from truncations(given, made, lanes)
    for dtype in DTYPES if thorough else ():
        yield from lookups(dtype)
        if dtype is not bool_:
            yield from binaries(dtype)
    yield from mask_algebra()
