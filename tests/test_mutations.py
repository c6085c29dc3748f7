"""Faults planted one at a time in the tables and in what orders additions: each must be noticed.

Each kind of fault has its judge: compiled bits by the oracle (tests/witnesses.py), slopes by
central differences, signatures by dividing values, leaves by their definition, barriers by what
calls touch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest

from gnomon.codegen import block, blocks, folds, row_passes
from gnomon.codegen.emitter import splat, vector
from gnomon.codegen.kernels import scan, scatter, sort, tally
from gnomon.codegen.scalar import TEMPLATES, V1
from gnomon.dtypes import DType, bool_, float32, int32, uint32
from gnomon.errors import CompileError, IndexOutOfBounds, ShapeError
from gnomon.ir.node import PRIMITIVES, Node, Signature
from gnomon.ir.operators import constant
from gnomon.ir.symbolic import bounds, number, plus, times
from gnomon.ops import canonical
from gnomon.ops.scalars import SCALARS
from gnomon.passes import legalize
from gnomon.program import batching, buffer_assignment, steps
from gnomon.runtime.program import Call
from gnomon.schedule import lower, nest
from gnomon.schedule.lower import LOWERED, Lowering
from gnomon.schedule.memory import plan_memory
from tests.codegen.test_scalar import CASES as FUNCTIONS
from tests.codegen.test_scalar import test_every_function_has_the_bits_of_the_oracle as check_scalar
from tests.compiled import program
from tests.graphs import check_gradient
from tests.mutants import Plant, Refusal, caught
from tests.passes.on_ranks import across, by_strategy, run_local
from tests.passes.test_strategies import NODES, built, strategies, values
from tests.passes.test_strategies import evaluate as whole_value
from tests.witnesses import WITNESSES, bits, forgotten, witness


def test_without_a_fault_nothing_is_caught():
    bits()


# what orders additions, and how they begin


def swapped(table: dict[str, str], a: str, b: str) -> Plant:
    """One monoid folds as another."""
    return lambda patch: patch.setitem(table, a, table[b])


def lanes_as_neighbours(self, fold: Node, totals: list[str]) -> str:
    """Four vectors as ((a, b), (c, d)), where halving pairs a with c."""
    a, b, c, d = totals
    return RIGHT_LANES(self, fold, [a, c, b, d])


def lanes_from_one(self, fold: Node, totals: list[str]) -> str:
    """Lane l with l + 1 first."""
    a, b, c, d = totals
    total = self.combine(fold, self.combine(fold, a, c), self.combine(fold, b, d))
    kind = folds.scalar.register(block.neutral(fold)[0])
    for half in (1, 2, 4, 8):
        other = self.e.shuffle(total, total, [k ^ half for k in range(16)], kind)
        total = self.combine(fold, total, other)
    return self.e.shuffle(total, total, [0] * 16, kind)


def two_vectors(patch: pytest.MonkeyPatch) -> None:
    """32 lanes, which meet in one halving less."""
    patch.setattr(row_passes, "GROUP", 2)
    patch.setattr(folds.Folds, "sixteen", lambda self, fold, totals: self.combine(fold, *totals))


def halved_tree(self, fold: Node, parts: list[str]) -> str:
    """A tree that pairs leaf k with k + half."""
    while len(parts) > 1:
        half = len(parts) // 2
        parts = [self.combine(fold, parts[k], parts[k + half]) for k in range(half)]
    return parts[0]


def chained_leaves(self, fold: Node, parts: list[str]) -> str:
    """Leaves one after the other."""
    total = parts[0]
    for part in parts[1:]:
        total = self.combine(fold, total, part)
    return total


def from_plus_zero(fold: Node) -> tuple[DType, str]:
    """Sums that begin at +0."""
    dtype, start = RIGHT_NEUTRAL(fold)
    return dtype, start.replace("0x8000000000000000", "0x0000000000000000")


def rounded_start(fold: Node) -> tuple[DType, str]:
    """Narrow sums in their own dtype."""
    return fold.inputs[1].dtype, RIGHT_NEUTRAL(fold)[1]


def no_tree(patch: pytest.MonkeyPatch) -> None:
    """Chunks of a product in one chain: each but the first is added to what stands."""
    for name in ("additions", "sums_on_stack"):
        patch.setattr(tally, name, lambda e, letters, chunk: tally.is_nonzero(e, chunk))


def chained_blocks(self: blocks.ChainBlocks, k: str, totals: list[str]) -> None:
    """One total waits: each block is added to it."""
    self._ones = lambda number: self.e.least(number, 1)
    one = self._ones(k)
    totals = RIGHT_TAKEN(self, totals, one, one)
    for (kind, _), total, place in zip(self.state, totals, self._places("0"), strict=True):
        self.e.store(total, place, kind, 8)


def unjoined_blocks(self: blocks.ChainBlocks, k: str, totals: list[str]) -> None:
    """Blocks that are joined at the end alone, the last first."""
    for (kind, _), total, place in zip(self.state, totals, self._places(k), strict=True):
        self.e.store(total, place, kind, 8)
    self._ones = lambda number: number


def newer_first(self: blocks.ChainBlocks, totals: list[str], waiting: str, count: str) -> list[str]:
    """What waits is taken up from the oldest on."""
    right = self._places
    first = self.e.sub(waiting, count)
    self._places = lambda k: right(
        self.e.sub(self.e.sub(self.e.add(self.e.add(first, first), count), 1), self.e.sub(k, "0"))
    )
    try:
        return RIGHT_TAKEN(self, totals, waiting, count)
    finally:
        self._places = right


def numbered_by_index(self, marks: list[str], before: list[str], counted: list[str]) -> tuple:
    """Blocks of places, whatever stands there."""
    marks, counts = RIGHT_NUMBERED(self, marks, before, counted)
    return marks, [self.e.add(count, 1) for count in counts]


RIGHT_TAKEN = blocks.ChainBlocks._taken
RIGHT_NUMBERED = scatter.ScatterWriter.numbered
RIGHT_LANES, RIGHT_NEUTRAL = folds.Folds.lanes, block.neutral

ORDER: dict[str, Plant] = {
    "lanes pair neighbouring vectors": lambda p: p.setattr(
        folds.Folds, "lanes", lanes_as_neighbours
    ),
    "lanes are paired from one": lambda p: p.setattr(folds.Folds, "lanes", lanes_from_one),
    "leaves are paired by halves": lambda p: p.setattr(folds.Folds, "tree", halved_tree),
    "leaves are chained": lambda p: p.setattr(folds.Folds, "tree", chained_leaves),
    "sums begin at plus zero": lambda p: (
        p.setattr(folds, "neutral", from_plus_zero),
        p.setattr(block, "neutral", from_plus_zero),
    ),
    "narrow sums are rounded on the way": lambda p: p.setattr(folds, "neutral", rounded_start),
    "two vectors to a block": two_vectors,
    "products are not combined by a tree": no_tree,
    "scattered leaves are chained": lambda p: p.setattr(
        scatter.ScatterWriter, "meeting", lambda self, before, after: ("true", "0")
    ),
    "scattered sums wait too long": lambda p: p.setattr(
        scatter.ScatterWriter,
        "put_by",
        lambda self, waiting, below, sums: RIGHT_PUT_BY(self, waiting, "0", sums),
    ),
    "blocks of another length": lambda p: p.setattr(canonical, "BLOCK", 32),
    "blocks are chained": lambda p: p.setattr(blocks.ChainBlocks, "_put", chained_blocks),
    "blocks wait too long": lambda p: p.setattr(blocks.ChainBlocks, "_put", unjoined_blocks),
    "blocks join the newer first": lambda p: p.setattr(blocks.ChainBlocks, "_taken", newer_first),
    "the last block forgets those that wait": lambda p: p.setattr(
        blocks.ChainBlocks, "joined", lambda self, totals: list(totals)
    ),
    "running sums forget what rounding left": lambda p: p.setattr(
        scan.ScanWriter,
        "carried",
        lambda self, whole, part: [self.fold(whole, part), self.beginning()[0][1]],
    ),
    "scattered blocks are one": lambda p: p.setattr(scatter.ScatterWriter, "long", lambda self: []),
    "scattered blocks count what is not there": lambda p: p.setattr(
        scatter.ScatterWriter, "numbered", numbered_by_index
    ),
    "a scattered sum of nothing is minus zero": lambda p: p.setattr(
        scatter.ScatterWriter, "settled", lambda self, value: value
    ),
    "scattered letters do not nest": lambda p: p.setattr(
        scatter.ScatterWriter, "marks", innermost_alone
    ),
    "scattered values meet in the wrong leaf": lambda p: p.setattr(
        scatter.ScatterWriter,
        "marks",
        lambda self, position: RIGHT_MARKS(self, self.e.add(position, 1)),
    ),
    "narrow scattered sums are rounded on the way": lambda p: p.setattr(
        legalize, "sums_narrow", lambda node: False
    ),
    "equals are sorted backwards": lambda p: p.setattr(sort.SortWriter, "put", reversed_put),
}


def innermost_alone(self, position: str) -> list[str]:
    """Occurrences that differ in the innermost letter only."""
    first, *outer = RIGHT_MARKS(self, position)
    return [first, *("0" for _ in outer)]


def reversed_put(self, table: str, i: str, key: str, position: str) -> None:
    """A pair under the negated key."""
    RIGHT_PUT(self, table, i, self.e.value(f"xor i64 {key}, -1"), position)


RIGHT_PUT = sort.SortWriter.put
RIGHT_PUT_BY, RIGHT_MARKS = scatter.ScatterWriter.put_by, scatter.ScatterWriter.marks

MONOIDS: dict[str, Plant] = {
    f"{module.__name__.rsplit('.', 1)[1]}: {a} folds as {b}": swapped(module.COMBINE, a, b)
    for module in (folds, scan, scatter)
    for a, b in (
        ("add", "mul"),
        ("mul", "add"),
        ("max", "min"),
        ("min", "max"),
        ("and", "or"),
        ("or", "and"),
    )
    if a in module.COMBINE
}


# views, fusion, memory


def moved(name: str, change: Callable) -> Plant:
    """A view whose index is changed before it is lowered."""

    def wrong(self: Lowering, node: Node, index: tuple, guard, fill) -> Node:
        return RIGHT_LOWERED[name](self, node, change(node, index), guard, fill)

    return lambda p: p.setitem(LOWERED, name, wrong)


def inverse_permute(self: Lowering, node: Node, index: tuple, guard, fill) -> Node:
    """An axis goes where it should come from."""
    inner = tuple(index[k] for k in node.params["order"])
    return self.at(node.inputs[0], inner, guard, fill)


def crossed_window(self: Lowering, node: Node, index: tuple, guard, fill) -> Node:
    """Stride and dilation exchanged."""
    p, axis, inner = node.params, node.params["axis"], list(index[:-1])
    inner[axis] = plus(times(index[axis], p["dilation"]), times(index[-1], p["stride"]))
    return self.at(node.inputs[0], tuple(inner), guard, fill)


def compared_carelessly(self: Lowering, f: str, i: Node, k: Node) -> Node:
    """A test whose last value is forgotten."""
    if bounds(i)[1] <= bounds(k)[0]:
        return constant(self.arena, f == "lt", bool_)
    return self.arena.node("map", (i, k), f=f)


RIGHT_LOWERED = dict(LOWERED)

VIEWS: dict[str, Plant] = {
    "permute by the inverse": lambda p: p.setitem(LOWERED, "permute", inverse_permute),
    "slice one too far": moved("slice", lambda node, index: (*index[:-1], plus(index[-1], 1))),
    "reshape one too far": moved("reshape", lambda node, index: (*index[:-1], plus(index[-1], 1))),
    "pad one too far": moved("pad", lambda node, index: (*index[:-1], plus(index[-1], 1))),
    "window exchanges stride and dilation": lambda p: p.setitem(LOWERED, "window", crossed_window),
    "iota counts from one": moved("iota", lambda node, index: (plus(index[0], 1),)),
    "gather reads its positions at row 0": moved(
        "gather", lambda node, index: (times(index[0], 0), *index[1:])
    ),
    "guards forget the upper end": lambda p: p.setattr(
        Lowering, "inside", lambda self, i, n: [self.compare("ge", i, number(self.arena, 0))]
    ),
    "a piece is written at the beginning": lambda p: p.setattr(
        nest.DomainPiece, "element", lambda self, x, place: place
    ),
    "a comparison at its boundary is taken for known": lambda p: p.setattr(
        Lowering, "compare", compared_carelessly
    ),
    "size 1 is not repeated": lambda p: p.setattr(
        lower, "clip", lambda arena, x, node, index: index if x.shape else ()
    ),
    "kernels run in reverse": lambda p: p.setattr(
        batching, "arranged", lambda works, sizes: range(len(works))[::-1]
    ),
    "memory of living values is used again": lambda p: p.setattr(
        buffer_assignment,
        "plan_memory",
        lambda intervals, heirs: replace(
            plan_memory(intervals, heirs), offsets=(0,) * len(intervals)
        ),
    ),
}

COMPILED = ORDER | MONOIDS | VIEWS
SHOWN_BY: dict[str, tuple[str, ...]] = dict.fromkeys(
    ("kernels run in reverse", "memory of living values is used again"), ("reused memory",)
)
"""Mutant -> the witness that shows it, where another would read positions that are not there."""
REFUSED = {"kernels run in reverse": Refusal(CompileError, "before it is made")}
"""Mutants whose programs are not planned."""


@pytest.mark.parametrize("fault", COMPILED)
def test_a_fault_in_generated_code_is_caught(fault: str, monkeypatch: pytest.MonkeyPatch):
    for name in WITNESSES:
        witness(name)

    COMPILED[fault](monkeypatch)

    assert caught(lambda: bits(*SHOWN_BY.get(fault, WITNESSES)), REFUSED.get(fault))


# the scalar templates


def negated(emit: Callable, result: str) -> Callable:
    """A template whose value is turned over at the end."""

    def wrong(e, kind: str, *operands: str) -> str:
        value = emit(e, kind, *operands)
        if result == "bool":
            return e.value(f"xor {V1} {value}, {splat(1, 'i1')}")
        if kind in ("float", "double"):
            return e.value(f"fneg {vector(kind)} {value}")
        return e.value(f"xor {vector(kind)} {value}, {splat(1, kind)}")

    return wrong


TEMPLATE = [
    (name, dtype)
    for name, dtype in FUNCTIONS
    if dtype in (float32, int32, uint32, bool_)
    and name in TEMPLATES["bool" if dtype is bool_ else dtype.kind]
]


@pytest.mark.parametrize(("name", "dtype"), TEMPLATE, ids=lambda x: getattr(x, "name", x))
def test_a_fault_in_a_scalar_template_is_caught(
    name: str, dtype: DType, monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
):
    table = TEMPLATES["bool" if dtype is bool_ else dtype.kind]
    result = "bool" if dtype is bool_ else SCALARS[name].result

    monkeypatch.setitem(table, name, negated(table[name], result))

    with forgotten():
        assert caught(lambda: check_scalar(name, dtype, rng))


# derivatives


def near(name: str, count: int) -> list[np.ndarray]:
    """Arguments inside a function's domain, away from its kinks."""
    rng = np.random.default_rng(0)
    low, high = {"acosh": (1.5, 3.0)}.get(name, (0.2, 0.8))
    return [rng.uniform(low, high, (2, 3)) + 0.05 * k for k in range(count)]


SLOPES = [
    (name, k)
    for name, row in SCALARS.items()
    for k, gradient in enumerate(row.gradients)
    if gradient is not None and name not in ("where", "cast")
]


def slope(name: str) -> None:
    """A function's derivatives are what differences measure."""

    def apply(*xs: Node) -> Node:
        return xs[0].arena.node("map", xs, f=name)

    check_gradient(apply, *near(name, SCALARS[name].arity))


@pytest.mark.parametrize(("name", "k"), SLOPES)
def test_a_fault_in_a_derivative_is_caught(name: str, k: int, monkeypatch: pytest.MonkeyPatch):
    row = SCALARS[name]
    right = row.gradients[k]
    planted = list(row.gradients)
    planted[k] = lambda g, y, *xs: right(g, y, *xs) + g * 0.01
    flat = {"fmod", "remainder"}  # the second derivative is 0 between multiples
    assert not caught(lambda: slope(name)) or name in flat

    monkeypatch.setitem(SCALARS, name, row._replace(gradients=tuple(planted)))

    assert caught(lambda: slope(name))


# signatures


def divided(name: str) -> None:
    """Every strategy that a signature allows gives the whole value."""
    node, rules = built(name), across(2)
    arrays = values(node, np.random.default_rng(0))
    expected = whole_value(node, arrays)
    for strategy in strategies(node, rules):
        local = by_strategy(node, strategy, rules)
        for (found,) in run_local(local, strategy.wanted, arrays, 2):
            np.testing.assert_array_equal(found, expected)


def turned(right: Signature) -> Signature:
    """A result whose axes follow the inputs in the wrong order."""
    return Signature(right.inputs, right.output[::-1], right.reduced, right.whole)


def wrongly_folded(right: Signature) -> Signature:
    """Parts of which the largest is taken instead of their sum."""
    return Signature(right.inputs, right.output, dict.fromkeys(right.reduced, "max"), right.whole)


def exchanged(right: Signature) -> Signature:
    """A result whose first two axes follow each other's input."""
    first, second, *rest = right.output
    return Signature(right.inputs, (second, first, *rest), right.reduced, right.whole)


def nothing_whole(right: Signature) -> Signature:
    """Letters that may be cut though they must not."""
    return Signature(right.inputs, right.output, right.reduced)


SIGNATURES = {
    "map": ("add a row", turned),
    "reduce": ("sum of rows", wrongly_folded),
    "contract": ("contract rows", wrongly_folded),
    "permute": ("permute", turned),
    "slice": ("slice", exchanged),
    "pad": ("pad", turned),
    "gather": ("pick", nothing_whole),
    "scatter": ("place", wrongly_folded),
    "scan": ("scan", nothing_whole),
    "sort": ("sort", nothing_whole),
}


CUT_WRONGLY = {
    "slice": Refusal(ShapeError, "do not fit into (2, 8, 6)"),
    "gather": Refusal(IndexOutOfBounds, "gather: position 5 is outside an axis of size 4"),
}


@pytest.mark.parametrize("primitive", SIGNATURES)
def test_a_fault_in_a_signature_is_caught(primitive: str, monkeypatch: pytest.MonkeyPatch):
    name, wrong = SIGNATURES[primitive]
    kind = type(PRIMITIVES[primitive])
    right = kind.signature
    assert name in NODES
    assert not caught(lambda: divided(name))

    monkeypatch.setattr(kind, "signature", lambda self, node: wrong(right(self, node)))

    assert caught(lambda: divided(name), CUT_WRONGLY.get(primitive))


# leaves

ROLES = (canonical.ROWS, canonical.SEQUENCE, canonical.OTHERS, canonical.CONTRACTED)


def by_definition(size: int, role: canonical.Role) -> int:
    """The most leaves that the rules allow."""
    counts = [n for n in (2**d for d in range(10)) if size % n == 0]
    allowed = [n for n in counts for small, most in role if n <= most and size // n >= small]
    return max(allowed, default=1)


def leaves_are_right() -> None:
    """The counts of canonical order, by definition, and the roles' own numbers."""
    assert canonical.ROWS == ((1, 16),)
    assert canonical.SEQUENCE == ((128, 4),)
    assert canonical.OTHERS == ((128, 16),)
    assert canonical.CONTRACTED == ((32, 4), (128, 16))
    for size, role in product((1, 2, 6, 12, 96, 128, 256, 384, 640, 2048, 8192), ROLES):
        assert canonical.leaves(size, role) == by_definition(size, role)
    assert [canonical.role_in_reduce(k, 4) for k in range(4)] == [*ROLES[:2], ROLES[0], ROLES[2]]
    assert canonical.role_in_contract(0, 0, 3, 3) == canonical.ROWS
    assert canonical.role_in_contract(1, 1, 3, 3) == canonical.SEQUENCE
    assert canonical.role_in_contract(2, 1, 3, 2) == canonical.CONTRACTED


RIGHT_LEAVES = canonical.leaves

LEAVES: dict[str, Plant] = {
    "leaves half as small": lambda p: p.setattr(
        canonical,
        "leaves",
        lambda n, role: RIGHT_LEAVES(n, tuple((max(small // 2, 1), most) for small, most in role)),
    ),
    "one level less": lambda p: p.setattr(
        canonical, "leaves", lambda n, role: max(RIGHT_LEAVES(n, role) // 2, 1)
    ),
    "no limit": lambda p: p.setattr(
        canonical,
        "leaves",
        lambda n, role: RIGHT_LEAVES(n, tuple((small, 1 << 20) for small, _ in role)),
    ),
    "rows like others": lambda p: p.setattr(canonical, "ROWS", canonical.OTHERS),
    "products like others": lambda p: p.setattr(canonical, "CONTRACTED", canonical.OTHERS),
    "tokens like others": lambda p: p.setattr(canonical, "SEQUENCE", canonical.OTHERS),
    "every folded axis is rows": lambda p: p.setattr(
        canonical, "role_in_reduce", lambda axis, rank: canonical.ROWS
    ),
    "every summed letter is contracted": lambda p: p.setattr(
        canonical, "role_in_contract", lambda *places: canonical.OTHERS
    ),
}


@pytest.mark.parametrize("fault", LEAVES)
def test_a_fault_in_the_cut_into_leaves_is_caught(fault: str, monkeypatch: pytest.MonkeyPatch):
    assert not caught(leaves_are_right)

    LEAVES[fault](monkeypatch)

    assert caught(leaves_are_right)


# barriers


def waits_are_right() -> None:
    """Between two calls that touch the same memory, one of which writes it, threads wait."""
    graph, _, _ = witness("reused memory")
    executable = program(graph)
    calls = executable.program.steps
    for (i, a), (j, b) in combinations(enumerate(calls), 2):
        assert isinstance(a, Call)
        assert isinstance(b, Call)
        if not any(step.barrier for step in calls[i + 1 : j + 1]):
            assert not clash((a, executable.kernels[i]), (b, executable.kernels[j]))


def clash(one: tuple, other: tuple) -> bool:
    """Whether one call writes what the other touches."""
    pairs = product(touched(*one), touched(*other))
    return any(
        (writes or overwrites) and slot == its and low < its_high and its_low < high
        for (slot, low, high, writes), (its, its_low, its_high, overwrites) in pairs
    )


def touched(call: Call, kernel) -> list[tuple]:
    """What a call touches: memory, first byte, the one after the last, whether it writes."""
    found = []
    for k, (slot, node) in enumerate(zip(call.slots, kernel.buffers, strict=False)):
        shared = type(slot).__name__ == "Arena"
        start = slot.offset if shared else 0
        memory = "arena" if shared else slot
        found.append((memory, start, start + node.size * node.dtype.itemsize, k < kernel.outputs))
    return found


@pytest.mark.parametrize("keep", ["none", "all but the last"])
def test_a_missing_barrier_is_caught(keep: str, monkeypatch: pytest.MonkeyPatch):
    right = steps.barriers
    assert not caught(waits_are_right)

    def fewer(touches) -> list[bool]:
        found = right(touches)
        last = len(found) - 1 - found[::-1].index(True)
        return [wait and keep != "none" and k != last for k, wait in enumerate(found)]

    monkeypatch.setattr(steps, "barriers", fewer)

    assert caught(waits_are_right)


def test_no_monoid_of_the_tables_is_forgotten():
    for module in (folds, scan, scatter):
        names = [name for name in MONOIDS if name.startswith(module.__name__.rsplit(".", 1)[1])]
        assert len(names) == len(module.COMBINE)
