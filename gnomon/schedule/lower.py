"""A node at an index, as a scalar: views change the index, maps apply, folds open ranges.

Stored nodes become loads; gnomon/schedule/partition.py decides which are stored.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gnomon.dtypes import bool_, int64
from gnomon.ir.node import Arena, Node, topological
from gnomon.ir.operators import Scalar, cast, constant
from gnomon.ir.symbolic import (
    bounds,
    divide,
    flatten,
    is_quotient,
    modulo,
    number,
    plus,
    times,
    unflatten,
)
from gnomon.ops.primitives import identity_of, split_spec

Index = tuple[Node, ...]
ReadScalar = Callable[[Node, Index, Node | None, object], Node | None]
"""A function of node, index, guard, fill: the scalar of a stored or known node, else None."""


class Lowering:
    """Lowerer of nodes into one kernel's arena; `read` gives the scalars of stored nodes."""

    def __init__(self, arena: Arena, read: ReadScalar, fold_ranges: dict[Node, Node]) -> None:
        self.arena, self.read, self.fold_ranges = arena, read, fold_ranges
        self.known: dict[tuple[Any, ...], Node] = {}

    def at(self, node: Node, index: Index, guard: Node | None = None, fill: object = None) -> Node:
        """Lower a node at an index to a scalar; where guard is false, nothing is accessed.

        There a load returns `fill`, and other nodes an arbitrary value.
        """
        key = (node, index, guard, fill if guard is not None else None)
        if key not in self.known:
            self.known[key] = self._lower(node, index, guard, fill)
        return self.known[key]

    def _lower(self, node: Node, index: Index, guard: Node | None, fill: object) -> Node:
        stored = self.read(node, index, guard, fill)
        return stored if stored is not None else LOWERED[node.op](self, node, index, guard, fill)

    def const(self, node: Node, index: Index, guard: Node | None, fill: object) -> Node:
        """Lower a constant."""
        return constant(self.arena, node.params["value"], node.dtype)

    def iota(self, node: Node, index: Index, guard: Node | None, fill: object) -> Node:
        """Lower iota: the index itself, as a number."""
        return cast(index[0], node.dtype)

    def map(self, node: Node, index: Index, guard: Node | None, fill: object) -> Node:
        """Lower a scalar function; operands of size 1 are read at 0."""
        f, operands = node.params["f"], node.inputs

        def operand(x: Node) -> Node:
            return self.at(x, clip(self.arena, x, node, index), guard, zero_of(x))

        if f == "where" and (known := operand(operands[0])).op == "const":
            x = operands[1 if known.params["value"] else 2]
            return self.at(x, clip(self.arena, x, node, index), guard, fill)
        inputs = tuple(map(operand, operands))
        if f in ("ge", "lt") and all(map(is_index, inputs)):
            return self.compare(f, *inputs)
        params = {"dtype": node.dtype} if "dtype" in node.params else {}
        return self.arena.node("map", inputs, f=f, **params)

    def same(self, node: Node, index: Index, guard: Node | None, fill: object) -> Node:
        """Lower an identity: its operand at the same index."""
        return self.at(node.inputs[0], index, guard, fill)

    def permute(self, node: Node, index: Index, guard: Node | None, fill: object) -> Node:
        """Lower a permutation: its operand at the permuted index."""
        order: tuple[int, ...] = node.params["order"]
        inner = tuple(index[order.index(k)] for k in range(len(order)))
        return self.at(node.inputs[0], inner, guard, fill)

    def reshape(self, node: Node, index: Index, guard: Node | None, fill: object) -> Node:
        """Read a reshaped node: the element at the same row-major position."""
        place = flatten(self.arena, index, node.shape)
        return self.at(node.inputs[0], unflatten(place, node.inputs[0].shape), guard, fill)

    def expand(self, node: Node, index: Index, guard: Node | None, fill: object) -> Node:
        """Lower a broadcast: axes of size 1 are read at 0."""
        return self.at(node.inputs[0], clip(self.arena, node.inputs[0], node, index), guard, fill)

    def slice(self, node: Node, index: Index, guard: Node | None, fill: object) -> Node:
        """Lower a slice: its operand at start + i * step."""
        moved = tuple(
            plus(times(i, step), start)
            for i, (start, _, step) in zip(index, node.params["bounds"], strict=True)
        )
        return self.at(node.inputs[0], moved, guard, fill)

    def window(self, node: Node, index: Index, guard: Node | None, fill: object) -> Node:
        """Lower a window: its operand at i * stride + j * dilation."""
        p = node.params
        axis: int = p["axis"]
        moved = list(index[:-1])
        moved[axis] = plus(times(index[axis], p["stride"]), times(index[-1], p["dilation"]))
        return self.at(node.inputs[0], tuple(moved), guard, fill)

    def pad(self, node: Node, index: Index, guard: Node | None, fill: object) -> Node:
        """Lower a pad: the operand's value inside, the constant outside."""
        (x,), p = node.inputs, node.params
        inner: list[Node] = []
        tests: list[Node] = []
        for i, n, low, gap in zip(index, x.shape, p["low"], p["between"], strict=True):
            moved = plus(i, -low)
            if gap:
                rest = modulo(moved, gap + 1)
                tests.append(self.arena.node("map", (rest, number(self.arena, 0)), f="eq"))
                moved = divide(moved, gap + 1)
            inner.append(moved)
            tests += self.inside(moved, n)
        if not x.size or any(t.op == "const" and not t.params["value"] for t in tests):
            return constant(self.arena, p["value"], x.dtype)
        condition = self.all_of([t for t in tests if t.op != "const"])
        if condition is None:
            return self.at(x, tuple(inner), guard, fill)
        return self.choose(x, tuple(inner), condition, guard, p["value"])

    def choose(
        self, x: Node, inner: Index, condition: Node, guard: Node | None, value: Scalar
    ) -> Node:
        """Select x where a condition holds, else the constant."""
        both = condition if guard is None else self.all_of([guard, condition])
        found = self.at(x, inner, both, value)
        if guard is None and found.op == "load":
            return found  # a guarded access gives the constant by itself
        other = constant(self.arena, value, x.dtype)
        return self.arena.node("map", (condition, found, other), f="where")

    def inside(self, i: Node, n: int) -> list[Node]:
        """The tests of 0 <= i < n."""
        ends = (("ge", 0), ("lt", n))
        return [self.compare(f, i, number(self.arena, end)) for f, end in ends]

    def compare(self, f: str, i: Node, k: Node) -> Node:
        """Compare two indices by ge or lt; a constant where their bounds prove the result."""
        (low, high), (least, most) = bounds(i), bounds(k)
        if low >= most or high < least:
            return constant(self.arena, (f == "ge") == (low >= most), bool_)
        return self.arena.node("map", (i, k), f=f)

    def all_of(self, tests: Sequence[Node]) -> Node | None:
        """The conjunction of tests; None if there are none."""
        if not tests:
            return None
        total = tests[0]
        for test in tests[1:]:
            total = self.arena.node("map", (total, test), f="and")
        assert total.dtype is bool_, "a guard is a truth value"
        return total

    def gather(self, node: Node, index: Index, guard: Node | None, fill: object) -> Node:
        """Lower a lookup; positions are checked, so that none reads outside of its buffer."""
        table, own, out = split_spec(node.params["spec"])
        place = dict(zip(out, index, strict=True))
        found = self.at(node.inputs[1], tuple(place[c] for c in own), guard, 0)
        looked_up = next(c for c in table if c not in out)
        last = node.inputs[0].shape[table.index(looked_up)] - 1
        inputs = (cast(found, int64),) if guard is None else (cast(found, int64), guard)
        checked = self.arena.node("checked", inputs, last=max(last, 0))
        place[looked_up] = checked
        return self.beside(
            checked, self.at(node.inputs[0], tuple(place[c] for c in table), guard, fill)
        )

    def beside(self, checked: Node, value: Node) -> Node:
        """Combine a value that does not depend on a checked position with the check."""
        if checked in topological([value]):
            return value
        true = self.arena.node("map", (checked, number(self.arena, 0)), f="ge")
        return self.arena.node("map", (true, value, value), f="where")

    def reduce(self, node: Node, index: Index, guard: Node | None, fill: object) -> Node:
        """Lower a reduction to a fold over the range of the reduced axis."""
        p, axis, (x,) = node.params, node.params["axis"], node.inputs
        if x.shape[axis] == 0:
            return constant(self.arena, identity_of(p["monoid"], node.dtype), node.dtype)
        if x.shape[axis] == 1:
            zero = number(self.arena, 0)
            return cast(self.at(x, (*index[:axis], zero, *index[axis:]), guard, fill), node.dtype)
        turning = self.fold_ranges[node]
        body = self.at(x, (*index[:axis], turning, *index[axis:]), guard, zero_of(x))
        folded = self.arena.node(
            "fold",
            (turning, body),
            monoid=p["monoid"],
            leaves=p["leaves"],
            lanes=p["lanes"],
            dtype=node.dtype,
        )
        return folded


INDICES = frozenset({"range", "affine", "const"})
"""Operations of scalars with known bounds, besides quotients and remainders of such."""

LOWERED = {
    "const": Lowering.const,
    "iota": Lowering.iota,
    "map": Lowering.map,
    "detach": Lowering.same,
    "barrier": Lowering.same,
    "permute": Lowering.permute,
    "reshape": Lowering.reshape,
    "expand": Lowering.expand,
    "slice": Lowering.slice,
    "window": Lowering.window,
    "pad": Lowering.pad,
    "gather": Lowering.gather,
    "reduce": Lowering.reduce,
}


def is_index(x: Node) -> bool:
    """Whether the bounds of a scalar are known."""
    return x.op in INDICES or is_quotient(x)


def clip(arena: Arena, x: Node, node: Node, index: Index) -> Index:
    """The index of an input that broadcasts to node: 0 along axes of size 1, nothing for rank 0."""
    if not x.shape:
        return ()
    zero = number(arena, 0)
    return tuple(
        zero if n == 1 and m != 1 else i for n, m, i in zip(x.shape, node.shape, index, strict=True)
    )


def zero_of(x: Node) -> Scalar:
    """The Python number 0 in a value's dtype, which guarded loads give where they are off."""
    return False if x.dtype is bool_ else 0.0 if x.dtype.is_floating_point else 0
