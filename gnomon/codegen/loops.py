"""Loop kernels to LLVM: rows over threads, passes along each row, chains within, in canonical order.

Sums along the row use 64 virtual lanes (four vectors of sixteen) per leaf and a fixed tree; chains
run in ascending order per leaf. Neither depends on threads, registers, or what was fused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gnomon.codegen import scalar
from gnomon.codegen.block import Position, Values, kept_width, neutral
from gnomon.codegen.emitter import LANES, Emitter, Module, mask, vector
from gnomon.codegen.plan_loops import LoopPlan, Pass
from gnomon.ir.node import Node
from gnomon.schedule.kernel import LoopKernel

GROUP = 4
"""Vectors per block: with sixteen lanes each, the 64 virtual lanes of a sum."""
CHUNK = 4096
"""Elements of a row that one task takes, where rows may be cut."""
COMBINE = {"add": "add", "mul": "mul", "max": "maximum", "min": "minimum", "and": "and", "or": "or"}
PARAMETERS = (("ptr", "buffers"), ("i64", "thread"), ("i64", "threads"), ("ptr", "scratch"))


@dataclass(frozen=True)
class Code:
    """A kernel as text: its symbol, and the scratch bytes that each thread must have."""

    symbol: str
    text: str
    scratch: int


def emit_loops(kernel: LoopKernel) -> Code:
    """The code of a loop kernel; equal kernels give equal text."""
    symbol = f"k{kernel.key()}"
    module = Module()
    writer = LoopWriter(kernel, module.function(symbol, PARAMETERS))
    writer.write()
    return Code(symbol, module.text(), writer.used)


class LoopWriter:
    """Writes one loop kernel."""

    def __init__(self, kernel: LoopKernel, e: Emitter) -> None:
        self.kernel, self.e, self.plan = kernel, e, LoopPlan(kernel)
        pointers = [self._slot(k, "ptr") for k in range(len(kernel.dtypes))]
        self.values = Values(e, self.plan, pointers)
        self.values.chains = self.chains
        self.used = 0
        self.width = (
            self._slot(len(pointers), "i64") if kernel.flat else str(kernel.inner.params["size"])
        )
        if self.values.checks:
            after = len(pointers) + kernel.flat
            self.values.reports = self._slot(after, "ptr")
            self.values.first_check = self._slot(after + 1, "i64")
        self.whole_rows = any(run.folds for run in self.plan.passes) or len(self.plan.passes) > 1

    def _slot(self, k: int, kind: str) -> str:
        return self.e.load(self.e.offset("%buffers", 8 * k), kind, 8)

    def reserve(self, size: int) -> str:
        """The address of scratch memory that nothing else uses."""
        address = self.e.offset("%scratch", self.used)
        self.used += (size + 63) // 64 * 64
        return address

    def write(self) -> None:
        """The whole function."""
        room = self.kernel.inner.params["size"] + LANES * GROUP
        self.kept = {x: self.reserve(room * kept_width(x.dtype)) for x in self.plan.kept}
        if self.whole_rows or not self.plan.passes:
            self._rows(self._row)
        else:
            self._chunks()
        self.e.ret()

    # rows

    def _rows(self, body) -> None:
        """Every row of this thread, in order."""
        total = 1
        for r in self.kernel.rows:
            total *= r.params["size"]
        low, high = self._share(str(total), 1)

        def one(row: str) -> None:
            self.values.enter((Position("0", None),))
            self._set_rows(row)
            body()
            self.values.leave()

        self.e.loop(low, high, 1, one)

    def _share(self, total: str, unit: int) -> tuple[str, str]:
        """This thread's part of 0..total, cut at multiples of unit."""
        e = self.e
        units = e.value(f"add i64 {total}, {unit - 1}")
        units = e.value(f"udiv i64 {units}, {unit}")
        ends = []
        for thread in ("%thread", e.add("%thread", 1)):
            cut = e.value(f"udiv i64 {e.mul(thread, units)}, %threads")
            ends.append(e.least(e.mul(cut, unit), total))
        return ends[0], ends[1]

    def _set_rows(self, row: str) -> None:
        """Give each row range its index."""
        rest = row
        for k, r in reversed(list(enumerate(self.kernel.rows))):
            n = r.params["size"]
            if k == 0:
                self.values.rows[r] = rest
                break
            self.values.rows[r] = self.e.value(f"urem i64 {rest}, {n}")
            rest = self.e.value(f"udiv i64 {rest}, {n}")

    def _row(self) -> None:
        """All passes of one row, then what is stored once per row."""
        for run in self.plan.passes:
            self._prepare(run.targets())
            self._pass(run)
            self.values.scratch.update({n: self.kept[n] for n in run.kept})
        for store in self.plan.row_stores:
            self.values.store_row(
                store.buffer, store.place, self.values.vectors(store.value)[0], store.dtype
            )
        self.values.scratch.clear()

    def _prepare(self, targets: Sequence[Node]) -> None:
        """Compute, before a loop opens, all that does not vary in it."""
        seen: set[Node] = set()
        stack = list(targets)
        rows = set(self.kernel.rows)
        ready = []
        while stack:
            node = stack.pop()
            if node in seen:
                continue
            seen.add(node)
            if self.plan.depends[node] <= rows and node.op not in ("const", "range", "affine"):
                ready.append(node)
            else:
                stack.extend(node.inputs)
        for node in sorted(ready, key=lambda n: n.serial):
            self.values.vectors(node)
        for node in sorted(seen, key=lambda n: n.serial):
            if node.op == "load" and self.plan.depends[node] <= {*rows, self.kernel.inner}:
                self.values.address(
                    node.params["buffer"], node.inputs[0], node.dtype, Position("0", None)
                )

    def _pass(self, run: Pass) -> None:
        """One run along a row, leaf by leaf where it sums."""
        leaves = max((f.params["leaves"] for f in run.folds), default=1)
        size = self.kernel.inner.params["size"] // leaves
        if leaves == 1:
            self._finish(
                run,
                [[self._lanes(f, acc)] for f, acc in zip(run.folds, self._leaf(run, "0", size))],
            )
            return
        tables = [self.reserve(leaves * LANES * 8) for _ in run.folds]

        def leaf(k: str) -> None:
            low = self.e.mul(k, size)
            for fold, table, accs in zip(
                run.folds, tables, self._leaf(run, low, size), strict=True
            ):
                kind = scalar.register(neutral(fold)[0])
                place = self.e.offset(table, self.e.mul(k, LANES * 8))
                self._spill(self._lanes(fold, accs), place, kind)

        self.e.loop(0, leaves, 1, leaf)
        self._finish(
            run, [self._leaf_values(f, t, leaves) for f, t in zip(run.folds, tables, strict=True)]
        )

    def _leaf_values(self, fold: Node, table: str, leaves: int) -> list[str]:
        """The leaves' results, read back."""
        kind = scalar.register(neutral(fold)[0])
        return [self._unspill(self.e.offset(table, k * LANES * 8), kind) for k in range(leaves)]

    def _spill(self, value: str, place: str, kind: str) -> None:
        if kind == "i1":
            value, kind = self.e.value(f"zext {vector('i1')} {value} to {vector('i8')}"), "i8"
        self.e.store(value, place, vector(kind), 8)

    def _unspill(self, place: str, kind: str) -> str:
        if kind != "i1":
            return self.e.load(place, vector(kind), 8)
        byte = self.e.load(place, vector("i8"), 8)
        return self.e.value(f"icmp ne {vector('i8')} {byte}, zeroinitializer")

    def _finish(self, run: Pass, leaves: list[list[str]]) -> None:
        """Fold the leaves by the perfect tree; the result belongs to the row."""
        for fold, parts in zip(run.folds, leaves, strict=True):
            total = self.tree(fold, parts)
            self.values.remember(fold, [self._result(fold, total)])

    def _result(self, fold: Node, total: str) -> str:
        """A fold's value in its own dtype, rounded once."""
        return scalar.apply(self.e, "cast", [total], neutral(fold)[0], fold.dtype)

    def combine(self, fold: Node, a: str, b: str) -> str:
        """a folded with b, a the earlier."""
        dtype = neutral(fold)[0]
        return scalar.apply(self.e, COMBINE[fold.params["monoid"]], [a, b], dtype, dtype)

    def tree(self, fold: Node, parts: list[str]) -> str:
        """The perfect binary tree over a power of two of values."""
        while len(parts) > 1:
            parts = [self.combine(fold, parts[k], parts[k + 1]) for k in range(0, len(parts), 2)]
        return parts[0]

    def _lanes(self, fold: Node, accs: Sequence[str]) -> str:
        """64 lanes to one value, by halving: l with l + 32, 16, 8, 4, 2, 1."""
        a, b, c, d = accs
        total = self.combine(fold, self.combine(fold, a, c), self.combine(fold, b, d))
        kind = scalar.register(neutral(fold)[0])
        for half in (8, 4, 2, 1):
            other = self.e.shuffle(total, total, [k ^ half for k in range(LANES)], kind)
            total = self.combine(fold, total, other)
        return self.e.shuffle(total, total, [0] * LANES, kind)

    def _leaf(self, run: Pass, low: str, size: int) -> list[list[str]]:
        """The four accumulators of each fold over one leaf; stores and kept rows on the way."""
        kinds = [(vector(scalar.register(d)), start) for d, start in map(neutral, run.folds)]
        state = [kind_start for kind_start in kinds for _ in range(GROUP)]
        full = size - size % (LANES * GROUP)

        def group(i: str, *accs: str) -> list[str]:
            at = self.e.add(low, i)
            positions = [Position(self.e.add(at, LANES * u), None) for u in range(GROUP)]
            return self._body(run, positions, list(accs))

        accs = self.e.loop(0, full, LANES * GROUP, group, state) if full else [s for _, s in state]
        return self._split(self._tail(run, low, full, size, list(accs)), len(run.folds))

    def _tail(self, run: Pass, low: str, full: int, size: int, accs: list[str]) -> list[str]:
        """The last, incomplete group of a leaf."""
        if full == size:
            return accs
        positions = []
        for start in range(full, size, LANES):
            active = min(LANES, size - start)
            positions.append(
                Position(self.e.add(low, start), None if active == LANES else mask(active))
            )
        return self._body(run, positions, accs)

    def _split(self, accs: list[str], folds: int) -> list[list[str]]:
        return [accs[k * GROUP : (k + 1) * GROUP] for k in range(folds)]

    def _body(self, run: Pass, positions: Sequence[Position], accs: list[str]) -> list[str]:
        """One block of a pass: fold, keep, store."""
        self.values.enter(positions)
        for k, fold in enumerate(run.folds):
            for u, value in enumerate(self._lifted(fold)):
                place = k * GROUP + u
                accs[place] = self._accumulate(fold, accs[place], value, positions[u].mask)
        self._write(run, positions)
        self.values.leave()
        self.values.positions = (Position("0", None),)
        return accs

    def _lifted(self, fold: Node) -> list[str]:
        """What a fold takes in, in the dtype that it runs in."""
        body, dtype = fold.inputs[1], neutral(fold)[0]
        return [
            scalar.apply(self.e, "cast", [v], body.dtype, dtype) for v in self.values.vectors(body)
        ]

    def _accumulate(self, fold: Node, acc: str, value: str, on: str | None) -> str:
        """acc folded with value where lanes are on."""
        if on is not None:
            dtype, start = neutral(fold)
            kind = vector(scalar.register(dtype))
            value = self.e.value(f"select {vector('i1')} {on}, {kind} {value}, {kind} {start}")
        return self.combine(fold, acc, value)

    def _write(self, run: Pass, positions: Sequence[Position]) -> None:
        """Keep and store a block's values."""
        for node in run.kept:
            self.values.keep(node, self.kept[node])
        for store in run.stores:
            for value, at in zip(self.values.vectors(store.value), positions, strict=True):
                self.values.store(store.buffer, store.place, value, store.dtype, at)

    # rows that may be cut

    def _chunks(self) -> None:
        """Every chunk of every row of this thread: for kernels with one pass and no sum along the row."""
        if self.kernel.flat:
            low, high = self._share(self.width, LANES * GROUP)
            self.values.enter((Position("0", None),))
            self._span(low, high)
            self.values.leave()
            return
        size = self.kernel.inner.params["size"]
        chunk = LANES * GROUP if self._has_chains() else CHUNK
        chunks = max(-(-size // chunk), 1)
        total = chunks
        for r in self.kernel.rows:
            total *= r.params["size"]
        low, high = self._share(str(total), 1)

        def task(t: str) -> None:
            self.values.enter((Position("0", None),))
            row = self.e.value(f"udiv i64 {t}, {chunks}") if chunks > 1 else t
            self._set_rows(row)
            start = (
                self.e.mul(self.e.value(f"urem i64 {t}, {chunks}"), chunk) if chunks > 1 else "0"
            )
            self._span(start, self.e.least(self.e.add(start, chunk), size))
            self.values.leave()

        self.e.loop(low, high, 1, task)

    def _has_chains(self) -> bool:
        return any(n.op == "fold" for n in self.plan.nodes)

    def _span(self, low: str, high: str) -> None:
        """A stretch of a row whose ends are known at run time."""
        (run,) = self.plan.passes
        e, step = self.e, LANES * GROUP
        self._prepare(run.targets())
        count = e.value(f"sub i64 {high}, {low}")
        middle = e.add(low, e.value(f"and i64 {count}, {-step}"))
        end = e.add(low, e.value(f"and i64 {count}, {-LANES}"))

        def blocks(vectors: int):
            def body(i: str) -> None:
                self._body(run, [Position(e.add(i, LANES * u), None) for u in range(vectors)], [])

            return body

        e.loop(low, middle, step, blocks(GROUP))
        e.loop(middle, end, LANES, blocks(1))
        e.when(e.value(f"icmp slt i64 {end}, {high}"), lambda: self._last(run, end, high))

    def _last(self, run: Pass, start: str, high: str) -> None:
        """Fewer than sixteen elements."""
        e = self.e
        left = e.broadcast(e.value(f"sub i64 {high}, {start}"), "i64")
        steps = f"<{', '.join(f'i64 {k}' for k in range(LANES))}>"
        on = e.value(f"icmp slt {vector('i64')} {steps}, {left}")
        self._body(run, [Position(start, on)], [])

    # chains

    def chains(self, fold: Node) -> None:
        """Emit a chain and all that run over the same range beside it."""
        folds = self._siblings(fold)
        leaves, size = fold.params["leaves"], fold.inputs[0].params["size"]
        self._before_chain(folds)
        if leaves == 1:
            parts = [[r] for r in self._chain(folds, "0", str(size))]
        else:
            parts = self._leaves_of_chain(folds, leaves, size // leaves)
        width = len(parts) // len(folds)
        for k, each in enumerate(folds):
            mine = parts[k * width : (k + 1) * width]
            self.values.remember(each, [self._result(each, self.tree(each, p)) for p in mine])

    def _siblings(self, fold: Node) -> list[Node]:
        """Chains that may share a loop: same range, leaves and scope, none inside another."""
        wanted = (
            fold.inputs[0],
            fold.params["leaves"],
            self.plan.varies(fold),
            self.plan.level[fold],
        )
        found = []
        for node in self.plan.nodes:
            if node.op == "fold" and not self.plan.is_lane_fold(node) and node is not fold:
                here = (
                    node.inputs[0],
                    node.params["leaves"],
                    self.plan.varies(node),
                    self.plan.level[node],
                )
                if here == wanted and not inside(fold, node) and not inside(node, fold):
                    found.append(node)
        known = self.values.scopes
        return [
            fold,
            *(n for n in found if not any(n in scope for scope in known) and self._open(n)),
        ]

    def _open(self, node: Node) -> bool:
        """Whether every range that a chain depends on is running."""
        running = {*self.values.rows, self.kernel.inner}
        return self.plan.depends[node] <= running

    def _before_chain(self, folds: Sequence[Node]) -> None:
        """Compute what chains read and does not turn with them."""
        turning = folds[0].inputs[0]
        stack, seen = [f.inputs[1] for f in folds], set()
        while stack:
            node = stack.pop()
            if node in seen:
                continue
            seen.add(node)
            if turning in self.plan.depends[node] or node.op in ("const", "range", "affine"):
                stack.extend(node.inputs)
            elif self._open(node):
                self.values.vectors(node)

    def _positions_of(self, fold: Node) -> int:
        return len(self.values.positions) if self.plan.varies(fold) else 1

    def _chain(self, folds: Sequence[Node], low: str, high: str) -> list[str]:
        """One accumulator per chain and position, over low..high in ascending order."""
        state = []
        for fold in folds:
            dtype, start = neutral(fold)
            state += [(vector(scalar.register(dtype)), start)] * self._positions_of(fold)

        def step(i: str, *accs: str) -> list[str]:
            self.values.enter()
            self.values.rows[folds[0].inputs[0]] = i
            values = [v for fold in folds for v in self._lifted(fold)[: self._positions_of(fold)]]
            owners = [fold for fold in folds for _ in range(self._positions_of(fold))]
            following = [
                self.combine(f, a, v) for f, a, v in zip(owners, accs, values, strict=True)
            ]
            self.values.leave()
            del self.values.rows[folds[0].inputs[0]]
            return following

        return self.e.loop(low, high, 1, step, state)

    def _leaves_of_chain(self, folds: Sequence[Node], leaves: int, size: int) -> list[list[str]]:
        """The leaves' results of each chain and position."""
        owners = [fold for fold in folds for _ in range(self._positions_of(fold))]
        kinds = [scalar.register(neutral(fold)[0]) for fold in owners]
        tables = [self.reserve(leaves * LANES * 8) for _ in owners]

        def leaf(k: str) -> None:
            low = self.e.mul(k, size)
            results = self._chain(folds, low, self.e.add(low, size))
            for value, table, kind in zip(results, tables, kinds, strict=True):
                self._spill(value, self.e.offset(table, self.e.mul(k, LANES * 8)), kind)

        self.e.loop(0, leaves, 1, leaf)
        return [
            [self._unspill(self.e.offset(table, k * LANES * 8), kind) for k in range(leaves)]
            for table, kind in zip(tables, kinds, strict=True)
        ]


def inside(a: Node, b: Node) -> bool:
    """Whether a is among what b reads."""
    stack, seen = list(b.inputs), set()
    while stack:
        node = stack.pop()
        if node is a:
            return True
        if node not in seen:
            seen.add(node)
            stack.extend(node.inputs)
    return False
