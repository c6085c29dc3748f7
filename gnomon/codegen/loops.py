"""Loop kernels to LLVM: rows over threads, passes along each row, all sums in canonical order.

Sums along the row use 64 virtual lanes (four vectors of sixteen) per leaf and a fixed tree; chains
ascend, both in blocks if long. Neither depends on threads, registers, or what was fused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from gnomon.codegen.block import ScalarValues, kept_width
from gnomon.codegen.blocks import ChainBlocks, is_cut
from gnomon.codegen.chains import Chains
from gnomon.codegen.emitter import KERNEL, LANE_NUMBERS, LANES, Emitter, LLVMModule, mask, vector
from gnomon.codegen.folds import SLOT, Folds
from gnomon.codegen.indices import Position
from gnomon.codegen.lifted import Lifted, is_lifted
from gnomon.codegen.plan_loops import LoopPlan, Pass, overwritable
from gnomon.ir.node import Node
from gnomon.ops import canonical
from gnomon.schedule.kernel import LoopKernel

GROUP = 4
"""Vectors per block: with sixteen lanes each, the 64 virtual lanes of a sum."""
CHUNK = 4096
"""Elements of a row that one task takes, where rows may be cut."""


@dataclass(frozen=True)
class Code:
    """A kernel as text: its symbol, and the scratch bytes that each thread must have.

    `parts` are functions that it calls and that others may call as well.
    """

    symbol: str
    text: str
    scratch: int
    parts: tuple[Code, ...] = ()


def emit_loops(kernel: LoopKernel) -> Code:
    """The code of a loop kernel; equal kernels give equal text."""
    symbol, module = f"k{kernel.key()}", LLVMModule()
    scratch = emit_kernel(module, symbol, kernel)
    return Code(symbol, module.text(), scratch)


def emit_kernel(module: LLVMModule, symbol: str, kernel: LoopKernel) -> int | Lifted:
    """Define a loop kernel in the module; gives the bytes of scratch that each thread needs."""
    writer = LoopWriter(kernel, module.function(symbol, KERNEL))
    writer.write()
    return writer.used


class LoopWriter:
    """Writes one loop kernel."""

    def __init__(self, kernel: LoopKernel, e: Emitter) -> None:
        self.kernel, self.e, self.plan = kernel, e, LoopPlan(kernel)
        one = {s.buffer for s in kernel.stores} | {
            x.params["buffer"] for x in self.plan.nodes if x.op == "load"
        } - self.plan.tables
        pointers = [self._slot(k, "ptr") if k in one else "" for k in range(len(kernel.dtypes))]
        self.values = ScalarValues(e, self.plan, pointers)
        self.numbers = self.values.numbers
        self.used: int | Lifted = 0
        self.folds = Folds(e)
        self.values.chains = Chains(self.plan, self.values, self.folds, self.reserve)
        self.size = (
            self._slot(len(pointers), "i64") if kernel.flat else self.numbers.size(kernel.inner)
        )
        if self.values.checks:
            after = len(pointers) + kernel.flat
            self.values.reports = self._slot(after, "ptr")
            self.values.first_check = self._slot(after + 1, "i64")
        self.kept: dict[Node, str] = {}
        self.group = self._side_by_side()
        """Vectors per block where nothing is summed along the row."""
        self.whole_rows = any(run.folds for run in self.plan.passes) or len(self.plan.passes) > 1

    def _side_by_side(self) -> int:
        """Long bodies have enough to do with one vector; chains take turns."""
        values = [s.value for s in self.kernel.stores]
        if self._has_chains():
            return GROUP
        return 1 if any(self.plan.costly[x] and self.plan.varies(x) for x in values) else 2

    def _slot(self, k: int, kind: str) -> str:
        return self.e.load(self.e.offset("%buffers", 8 * k), kind, 8)

    def reserve(self, size: int | Lifted) -> str:
        """The address of scratch memory that nothing else uses."""
        address = self.e.offset("%scratch", self.used)
        self.used = self.used + (size + 63) // 64 * 64
        return address

    def write(self) -> None:
        """Write the kernel."""
        for x in self.plan.kept:
            length = self.size + LANES * GROUP
            self.kept[x] = self.reserve(length * kept_width(x.dtype))
        if self.kernel.streams:
            self._streamed()
        else:
            self._all()
        self.e.ret()

    def _all(self) -> None:
        """Every row, or every chunk, of this thread."""
        if self.whole_rows or not self.plan.passes:
            self._rows(self._row)
        else:
            self._chunks()

    def _streamed(self) -> None:
        """Results to store past the caches; none if one aliases an operand, which is cached."""
        e, over = self.e, "false"
        for pair in overwritable(self.kernel.closed):
            here, there = (self.values.pointers[slot] for slot in pair)
            over = e.value(f"or i1 {over}, {e.value(f'icmp eq ptr {here}, {there}')}")
        e.when(over, self._all)
        self.values.streams = True
        e.when(e.value(f"xor i1 {over}, true"), self._all)
        e.settle()

    # rows

    def _rows(self, body) -> None:
        """Emit a loop over the rows of this thread."""
        low, high = self._share(str(self._count()), 1)

        def one(row: str) -> None:
            self.values.enter((Position("0", None),))
            self._set_rows(row)
            body()
            self.values.leave()

        self.e.loop(low, high, 1, one)

    def _count(self) -> int | Lifted:
        """The number of rows."""
        return prod(map(self.numbers.size, self.kernel.rows))

    def _share(self, total: str, unit: int) -> tuple[str, str]:
        """The thread's part of 0..total, cut at multiples of unit."""
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
            n = self.numbers.size(r)
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
            if node.op == "load":
                self.values.pointer(node.params["buffer"])
            if not self.plan.depends[node] <= {*rows, self.kernel.inner}:
                continue
            if node.op == "load":
                self.values.base(node.params["buffer"], node.inputs[0], node.dtype)
            elif node.op == "affine":
                self.values.fixed(node)

    def _pass(self, run: Pass) -> None:
        """One run along a row, leaf by leaf where it sums."""
        if not run.folds and not is_lifted(self.size):
            self._all_of(run, self.size)
            return
        leaves = self.numbers.leaves(run.folds[0]) if run.folds else 1
        size = self.size // leaves
        if not is_lifted(leaves) and leaves == 1:
            parts = self._leaf(run, "0", size)
            totals = [self.folds.lanes(f, t) for f, t in zip(run.folds, parts, strict=True)]
        else:
            totals = self._by_leaves(run, leaves, size)
        for fold, total in zip(run.folds, totals, strict=True):
            self.values.remember(fold, [self.folds.result(fold, total)])

    def _by_leaves(self, run: Pass, leaves: int | Lifted, size: int | Lifted) -> list[str]:
        """The total of each fold over its leaves."""
        tables, folds = [self.reserve(leaves * SLOT) for _ in run.folds], self.folds
        narrow = folds.lanes if is_lifted(leaves) else folds.sixteen

        def leaf(k: str) -> None:
            totals = self._leaf(run, self.e.mul(k, size), size)
            for fold, table, lanes in zip(run.folds, tables, totals, strict=True):
                folds.spill(fold, narrow(fold, lanes), table, k)

        self.e.loop(0, leaves, 1, leaf)
        pairs = zip(run.folds, tables, strict=True)
        if is_lifted(leaves):
            return [folds.spilled(fold, table, leaves) for fold, table in pairs]
        return [folds.whole(fold, folds.row(fold, table, leaves)) for fold, table in pairs]

    def _leaf(self, run: Pass, low: str, size: int | Lifted) -> list[list[str]]:
        """The four accumulators of each fold over one leaf, also storing results and saved rows."""
        owners = [fold for fold in run.folds for _ in range(GROUP)]
        state = [self.folds.start(fold) for fold in owners]
        full = size - size % (LANES * GROUP)

        def group(i: str, *accs: str) -> list[str]:
            at = self.e.add(low, i)
            positions = [Position(self.e.add(at, LANES * u), None) for u in range(GROUP)]
            return self._body(run, positions, list(accs))

        def groups(first: str | int, end: str | int | Lifted) -> list[str]:
            return self.e.loop(first, end, LANES * GROUP, group, state)

        length, blocks = canonical.BLOCK * LANES * GROUP, None
        if is_cut(owners, -(-size // (LANES * GROUP))):
            blocks = ChainBlocks.of(self.folds, owners, self.reserve)
            accs = blocks.over(-(-size // length), length, str(full), groups)
        else:
            accs = groups(0, full) if is_lifted(full) or full else [start for _, start in state]
        tail = self._open_tail if is_lifted(size) else self._tail
        accs = tail(run, low, full, size, list(accs))
        return self._split(blocks.joined(accs) if blocks else accs, len(run.folds))

    def _open_tail(
        self, run: Pass, low: str, full: Lifted, size: Lifted, accs: list[str]
    ) -> list[str]:
        """The last, incomplete group of a leaf whose size is read at run time, if there is one."""
        e = self.e

        def group(i: str, *accs: str) -> list[str]:
            positions = []
            for u in range(GROUP):
                on = self._first_lanes(e.sub(e.sub(size, i), LANES * u))
                positions.append(Position(e.add(e.add(low, i), LANES * u), on))
            return self._body(run, positions, list(accs))

        kinds = [self.folds.start(fold)[0] for fold in run.folds for _ in range(GROUP)]
        return e.loop(full, size, LANES * GROUP, group, list(zip(kinds, accs, strict=True)))

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
        """Emit one block of a pass: fold and store its values."""
        self.values.enter(positions)
        for k, fold in enumerate(run.folds):
            for u, value in enumerate(self.folds.lifted(fold, self.values)):
                place = k * GROUP + u
                accs[place] = self.folds.accumulate(fold, accs[place], value, positions[u].mask)
        self._write(run, positions)
        self.values.leave()
        self.values.positions = (Position("0", None),)
        return accs

    def _write(self, run: Pass, positions: Sequence[Position]) -> None:
        """Keep and store a block's values."""
        for node in run.kept:
            self.values.keep(node, self.kept[node])
        for store in run.stores:
            for value, at in zip(self.values.vectors(store.value), positions, strict=True):
                self.values.store(store.buffer, store.place, value, store.dtype, at)
            if self.values.streams and len(self.plan.passes) > 1:
                self._ask_for_next(store.place, positions)

    def _ask_for_next(self, place: Node, positions: Sequence[Position]) -> None:
        """Prefetch the next row of operands that are read at the result's positions."""
        for node in self.plan.nodes:
            if node.op == "load" and node.inputs[0] is place:
                size = self.size * node.dtype.itemsize
                for at in positions:
                    reach = self.values.address(node.params["buffer"], place, node.dtype, at)
                    if reach is not None:
                        self.e.prefetch(self.e.offset(reach[0], size))

    # rows that may be cut

    def _chunks(self) -> None:
        """Every chunk of every row of this thread, for one pass that sums nothing along the row."""
        if self.kernel.flat:
            low, high = self._share(str(self.size), LANES * GROUP)
            self.values.enter((Position("0", None),))
            self._span(low, high)
            self.values.leave()
            return
        chunk = LANES * GROUP if self._has_chains() else CHUNK
        chunks = -(-self.size // chunk)
        low, high = self._share(str(self._count() * chunks), 1)
        cut = is_lifted(chunks) or chunks > 1

        def task(t: str) -> None:
            self.values.enter((Position("0", None),))
            self._set_rows(self.e.value(f"udiv i64 {t}, {chunks}") if cut else t)
            if not is_lifted(self.size) and not cut:
                (run,) = self.plan.passes
                self._prepare(run.targets())
                self._all_of(run, self.size)
            else:
                start = self.e.mul(self.e.value(f"urem i64 {t}, {chunks}"), chunk) if cut else "0"
                self._span(start, self.e.least(self.e.add(start, chunk), self.size))
            self.values.leave()

        self.e.loop(low, high, 1, task)

    def _has_chains(self) -> bool:
        return any(n.op == "fold" for n in self.plan.nodes)

    def _all_of(self, run: Pass, size: int) -> None:
        """A row whose size is known: no vectors that never run."""
        full = size - size % (LANES * self.group)
        if full:
            self._vectors(run, "0", str(full), self.group)
        self._tail(run, "0", full, size, [])

    def _span(self, low: str, high: str) -> None:
        """A stretch of a row whose ends are known at run time."""
        (run,) = self.plan.passes
        e, step = self.e, LANES * self.group
        self._prepare(run.targets())
        count = e.value(f"sub i64 {high}, {low}")
        middle = e.add(low, e.value(f"and i64 {count}, {-step}"))
        self._vectors(run, low, middle, self.group)
        if self.kernel.flat:
            e.loop(middle, high, LANES, lambda i: self._last(run, i, high))
            return
        size = 0 if is_lifted(self.size) else self.size
        end = e.add(low, e.value(f"and i64 {count}, {-LANES}"))
        if not size or size % step:
            self._vectors(run, middle, end, 1)
        if not size or size % LANES:
            e.when(e.value(f"icmp slt i64 {end}, {high}"), lambda: self._last(run, end, high))

    def _vectors(self, run: Pass, low: str, high: str, count: int) -> None:
        """Emit full vectors from low to high, `count` at a time."""

        def body(i: str) -> None:
            starts = [self.e.add(i, LANES * u) for u in range(count)]
            self._body(run, [Position(start, None) for start in starts], [])

        self.e.loop(low, high, LANES * count, body)

    def _last(self, run: Pass, start: str, high: str) -> None:
        """Emit the last iteration of a vectorized loop, with lanes past the end masked off."""
        on = self._first_lanes(self.e.value(f"sub i64 {high}, {start}"))
        self._body(run, [Position(start, on)], [])

    def _first_lanes(self, count: str) -> str:
        """A mask of the first `count` lanes; all or none if that is out of range."""
        bound = self.e.broadcast(count, "i64")
        return self.e.value(f"icmp slt {vector('i64')} {LANE_NUMBERS}, {bound}")
