"""One pass along a row of a loop kernel: what is folded, kept and stored, block by block.

Sums use 64 virtual lanes (four vectors of sixteen) per leaf and a fixed tree; neither depends on
threads, on registers, or on what was fused.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from gnomon.codegen.block import ScalarValues
from gnomon.codegen.blocks import ChainBlocks, is_cut
from gnomon.codegen.chains import Chains
from gnomon.codegen.emitter import LANE_NUMBERS, LANES, Emitter, mask, vector
from gnomon.codegen.folds import SLOT, Folds
from gnomon.codegen.indices import Position
from gnomon.codegen.lifted import Lifted, is_lifted
from gnomon.codegen.plan_loops import LoopPlan, Pass
from gnomon.codegen.shares import SHARES, WorkTeam
from gnomon.ir.node import Node
from gnomon.ops import canonical
from gnomon.schedule.kernel import LoopKernel

GROUP = 4
"""Vectors per block: with sixteen lanes each, the 64 virtual lanes of a sum."""


class RowWriter:
    """Writes the passes of a loop kernel along its rows."""

    def __init__(self, kernel: LoopKernel, e: Emitter, shares: str) -> None:
        self.kernel, self.e, self.plan = kernel, e, LoopPlan(kernel)
        self.shares = SHARES[shares]
        one = {s.buffer for s in kernel.stores} | {
            x.params["buffer"] for x in self.plan.nodes if x.op == "load"
        } - self.plan.tables
        pointers = [self._slot(k, "ptr") if k in one else "" for k in range(len(kernel.dtypes))]
        self.values = ScalarValues(e, self.plan, pointers)
        self.numbers = self.values.numbers
        self.used: int | Lifted = 0
        self.folds = Folds(e)
        self.team = WorkTeam(e, self.shares, self.shares.members(self.plan, self.numbers))
        self.values.chains = Chains(
            self.plan, self.values, self.folds, (self.reserve, self.own), self.team
        )
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
        """The number of vectors computed together: one for long bodies."""
        values = [s.value for s in self.kernel.stores]
        if self._has_chains():
            return self.shares.columns // LANES
        if self.shares.strided:
            return GROUP
        return 1 if any(self.plan.costly[x] and self.plan.varies(x) for x in values) else 2

    def _has_chains(self) -> bool:
        return any(n.op == "fold" for n in self.plan.nodes)

    def _slot(self, k: int, kind: str) -> str:
        return self.e.load(self.e.offset("%buffers", 8 * k), kind, 8)

    def reserve(self, size: int | Lifted) -> str:
        """The address of scratch memory that nothing else uses."""
        address = self.e.offset("%scratch", self.used)
        self.used = self.used + (size + 63) // 64 * 64
        return address

    def own(self, size: int | Lifted) -> str:
        """The address of scratch memory of each member of a team."""
        first = self.reserve(size * self.team.members)
        return self.e.offset(first, self.e.mul(self.team.member, size))

    def _prepare(self, targets: Sequence[Node]) -> None:
        """Emit, before a loop opens, all that does not vary in it."""
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
        """Emit one pass along a row, leaf by leaf where it sums."""
        if not run.folds and not is_lifted(self.size):
            if self.team.members > 1:
                self._strided(run, self.team.member, self.team.members)
            else:
                self._all_of(run, self.size)
            return
        leaves = self.numbers.leaves(run.folds[0]) if run.folds else 1
        size = self.size // leaves
        if self.team.members > 1 and leaves == 1:
            totals = self._by_members(run)
        elif not is_lifted(leaves) and leaves == 1:
            parts = self._leaf(run, "0", size)
            totals = [self.folds.lanes(f, t) for f, t in zip(run.folds, parts, strict=True)]
        else:
            totals = self._by_leaves(run, leaves, size)
        for fold, total in zip(run.folds, totals, strict=True):
            self.values.remember(fold, [self.folds.result(fold, total)])

    def _by_members(self, run: Pass) -> list[str]:
        """The total of each fold that is independent of order, over blocks that members share."""
        e, team, folds, step = self.e, self.team, self.folds, LANES * GROUP
        state = [folds.start(fold) for fold in run.folds for _ in range(GROUP)]
        full = self.size - self.size % step
        ends = e.mul(team.member, step), full, team.members * step
        accs = e.loop(*ends, partial(self._group, run, "0"), state)
        first = e.value(f"icmp eq i64 {team.member}, 0")
        rest = e.value(f"select i1 {first}, i64 {full}, i64 {self.size}")
        parts = self._split(self._open_tail(run, "0", rest, self.size, accs), len(run.folds))
        tables = [self.reserve(team.members * SLOT) for _ in run.folds]
        for fold, table, lanes in zip(run.folds, tables, parts, strict=True):
            folds.spill(fold, folds.lanes(fold, lanes), table, team.member)
        team.meet()
        pairs = zip(run.folds, tables, strict=True)
        return team.taken([folds.spilled(fold, table, team.members) for fold, table in pairs])

    def _by_leaves(self, run: Pass, leaves: int | Lifted, size: int | Lifted) -> list[str]:
        """The total of each fold over its leaves."""
        tables, folds = [self.reserve(leaves * SLOT) for _ in run.folds], self.folds
        narrowed = is_lifted(leaves) or self.shares.strided
        narrow = folds.lanes if narrowed else folds.sixteen

        def leaf(k: str) -> None:
            totals = self._leaf(run, self.e.mul(k, size), size)
            for fold, table, lanes in zip(run.folds, tables, totals, strict=True):
                folds.spill(fold, narrow(fold, lanes), table, k)

        self.team.each(leaves, leaf)
        pairs = zip(run.folds, tables, strict=True)
        if narrowed:
            return self.team.taken([folds.spilled(fold, table, leaves) for fold, table in pairs])
        return [folds.whole(fold, folds.row(fold, table, leaves)) for fold, table in pairs]

    def _leaf(self, run: Pass, low: str, size: int | Lifted) -> list[list[str]]:
        """The four accumulators of each fold over one leaf, also storing results and saved rows."""
        owners = [fold for fold in run.folds for _ in range(GROUP)]
        state = [self.folds.start(fold) for fold in owners]
        full = size - size % (LANES * GROUP)

        def groups(first: str | int, end: str | int | Lifted) -> list[str]:
            return self.e.loop(first, end, LANES * GROUP, partial(self._group, run, low), state)

        length, blocks = canonical.BLOCK * LANES * GROUP, None
        if is_cut(owners, -(-size // (LANES * GROUP))):
            blocks = ChainBlocks.of(self.folds, owners, self.own)
            accs = blocks.over(-(-size // length), length, str(full), groups)
        else:
            accs = groups(0, full) if is_lifted(full) or full else [start for _, start in state]
        tail = self._open_tail if is_lifted(size) else self._tail
        accs = tail(run, low, full, size, list(accs))
        return self._split(blocks.joined(accs) if blocks else accs, len(run.folds))

    def _group(self, run: Pass, low: str, i: str, *accs: str) -> list[str]:
        """Emit a complete group of a leaf."""
        at = self.e.add(low, i)
        positions = [Position(self.e.add(at, LANES * u), None) for u in range(GROUP)]
        return self._body(run, positions, list(accs))

    def _open_tail(
        self, run: Pass, low: str, full: Lifted | str, size: Lifted | int, accs: list[str]
    ) -> list[str]:
        """Emit the incomplete last group of a leaf with a runtime size, if there is one."""
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
        """Emit the incomplete last group of a leaf."""
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
        """Emit the stores of a block's values to scratch and results.

        If all members of a team have the values, none stores before the others have read.
        """
        if self.team.members > 1 and not self.whole_rows:
            for store in run.stores:
                self.values.vectors(store.value)
            self.team.meet()
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

    def _all_of(self, run: Pass, size: int) -> None:
        """Emit a row of constant size, without vectors that would never run."""
        full = size - size % (LANES * self.group)
        if full:
            self._vectors(run, "0", str(full), self.group)
        self._tail(run, "0", full, size, [])

    def _strided(self, run: Pass, number: str, count: str | int) -> None:
        """Emit every count-th block of vectors of a row, from the number-th on, then the rest."""
        e, step, size = self.e, LANES * self.group, str(self.size)
        middle = e.value(f"and i64 {size}, {-step}")

        def block(i: str) -> None:
            starts = [e.add(i, LANES * u) for u in range(self.group)]
            self._body(run, [Position(start, None) for start in starts], [])

        e.loop(e.mul(number, step), middle, e.mul(count, step), block)
        first = e.add(middle, e.mul(number, LANES))
        e.loop(first, size, e.mul(count, LANES), lambda i: self._last(run, i, size))

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
