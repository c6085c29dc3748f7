"""Loop kernels to LLVM: rows over threads, passes along each row, all sums in canonical order.

Sums along the row use 64 virtual lanes (four vectors of sixteen) per leaf and a fixed tree; chains
ascend, both in blocks if long. Neither depends on threads, registers, or what was fused.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from gnomon.codegen.block import kept_width
from gnomon.codegen.emitter import KERNEL, LANES, LLVMModule
from gnomon.codegen.indices import Position
from gnomon.codegen.lifted import Lifted, is_lifted
from gnomon.codegen.plan_loops import overwritable
from gnomon.codegen.row_passes import GROUP, RowWriter
from gnomon.schedule.kernel import LoopKernel


@dataclass(frozen=True)
class Code:
    """A kernel as text: its symbol, and the scratch bytes that each thread must have.

    `parts` are functions that it calls and that others may call as well.
    """

    symbol: str
    text: str
    scratch: int
    parts: tuple[Code, ...] = ()


def emit_loops(kernel: LoopKernel, *shares: str) -> Code:
    """The code of a loop kernel; equal kernels give equal text."""
    symbol, module = "_".join([f"k{kernel.key()}", *shares]), LLVMModule()
    scratch = emit_kernel(module, symbol, kernel, *shares)
    return Code(symbol, module.text(), scratch)


def emit_kernel(
    module: LLVMModule, symbol: str, kernel: LoopKernel, shares: str = "contiguous"
) -> int | Lifted:
    """Define a loop kernel in the module; gives the bytes of scratch that each thread needs.

    shares: how threads share its work (shares.py).
    """
    writer = LoopWriter(kernel, module.function(symbol, KERNEL), shares)
    writer.write()
    return writer.used


class LoopWriter(RowWriter):
    """Writes one loop kernel."""

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
        """Emit every row, or every chunk, of this thread."""
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

    def _rows(self, body) -> None:
        """Emit a loop over the rows of this thread."""

        def one(row: str) -> None:
            self.values.enter((Position("0", None),))
            self._set_rows(row)
            body()
            self.values.leave()

        self.shares.tasks(self.e, self._count(), one)

    def _count(self) -> int | Lifted:
        """The number of rows."""
        return prod(map(self.numbers.size, self.kernel.rows))

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
        """Emit all passes of one row, then the stores of values that it has once."""
        for run in self.plan.passes:
            self._prepare(run.targets())
            self._pass(run)
            self.values.scratch.update({n: self.kept[n] for n in run.kept})
            if run.kept or run.folds:
                self.team.meet()
        for store in self.plan.row_stores:
            self.values.store_row(
                store.buffer, store.place, self.values.vectors(store.value)[0], store.dtype
            )
        if self.values.scratch:
            self.team.meet()
        self.values.scratch.clear()

    def _chunks(self) -> None:
        """Emit every chunk of every row of this thread, for one pass without sums along the row."""
        if self.kernel.flat:
            self._flat()
            return
        chunk = self.shares.columns if self._has_chains() else self.shares.chunk
        chunks = -(-self.size // chunk)
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

        self.shares.tasks(self.e, self._count() * chunks, task)

    def _flat(self) -> None:
        """Emit the one row of a kernel whose size is a runtime argument."""
        self.values.enter((Position("0", None),))
        if self.shares.strided:
            (run,) = self.plan.passes
            self._prepare(run.targets())
            self._strided(run, "%thread", "%threads")
        else:
            self._span(*self.shares.stretch(self.e, str(self.size), LANES * GROUP))
        self.values.leave()

    def _span(self, low: str, high: str) -> None:
        """Emit a part of a row whose ends are runtime values."""
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
