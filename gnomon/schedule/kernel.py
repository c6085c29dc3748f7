"""A kernel's body: scalars over loop ranges, stored into buffers.

A body is a rank-0 graph of the same nodes as a program, with four further primitives: `range` and
`affine` (gnomon/ir/symbolic.py), `load` from a buffer, and `fold` over a range.
"""

from __future__ import annotations

from dataclasses import dataclass

from gnomon.dtypes import DType
from gnomon.forking import cached_property
from gnomon.ir.memo import digest
from gnomon.ir.node import Arena, Node, primitive, row_of, topological
from gnomon.ir.symbolic import ScalarPrimitive


@primitive("load")
class Load(ScalarPrimitive):
    """buffer[place], or `fill` where a condition is false; inputs: place, at most one condition.

    With `several`, the first row range selects one of that many consecutive buffers.
    """


@primitive("fold")
class Fold(ScalarPrimitive):
    """A monoid folded over a range, in canonical order: inputs are (range, body).

    lanes: 64 virtual lanes within each leaf; without them, one chain.
    """


@primitive("checked")
class Checked(ScalarPrimitive):
    """Clamp a position to 0..last; if the guard holds, a position outside is reported.

    Inputs are the position and at most one guard.
    """


def load(
    arena: Arena, buffer: int, dtype: DType, place: Node, guard: Node | None, fill: object
) -> Node:
    """Create the load of an element of a buffer; `fill` where the guard is false."""
    inputs = (place,) if guard is None else (place, guard)
    return arena.node(
        "load", inputs, buffer=buffer, dtype=dtype, fill=None if guard is None else fill
    )


@dataclass(frozen=True)
class Store:
    """buffer[place] = value, once per index of the ranges that value or place depends on."""

    buffer: int
    place: Node
    value: Node
    dtype: DType


@dataclass(frozen=True)
class LoopKernel:
    """Stores that share ranges: rows run one by one over threads, `inner` runs in vectors.

    dtypes: one per buffer, outputs first. With `flat` there are no rows, no folds along inner, and
    the size of inner is read at run time, so that one code serves every size.
    """

    rows: tuple[Node, ...]
    inner: Node
    stores: tuple[Store, ...]
    dtypes: tuple[DType, ...]
    flat: bool
    streams: bool = False
    """Whether results are stored past the caches: they are large, and nothing reads them soon."""

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        ways = self.flat, self.streams
        return hash((self.rows, self.inner, self.stores, self.dtypes, *ways))

    @property
    def closed(self) -> LoopKernel:
        """The kernel with constants in place of runtime arguments: itself."""
        return self

    @property
    def outputs(self) -> int:
        """The number of buffers that are written."""
        return len(self.stores)

    def nodes(self) -> list[Node]:
        """Every scalar of the body, operands first."""
        return self._nodes

    @cached_property
    def _nodes(self) -> list[Node]:
        return topological([x for s in self.stores for x in (s.place, s.value)])

    def checks(self) -> list[Node]:
        """The positions that are checked; a report names one by its number, from 1."""
        return [x for x in self.nodes() if x.op == "checked"]

    def key(self) -> str:
        """A content hash of everything that code depends on; names and sites take no part."""
        place = {node: k for k, node in enumerate(self.nodes())}
        blank = {self.inner: self.inner.params} if self.flat else {}
        rows = tuple([row_of(node, place, blank.get(node, ())) for node in self.nodes()])
        stores = tuple(
            (s.buffer, place[s.place], place[s.value], s.dtype.name) for s in self.stores
        )
        ranges = tuple((place.get(r, -1), r.params["size"]) for r in self.rows)
        inner = (place.get(self.inner, -1), None if self.flat else self.inner.params["size"])
        dtypes = tuple(d.name for d in self.dtypes)
        ways = ("streams",) if self.streams else ()
        return digest((rows, stores, ranges, inner, dtypes, *ways))
